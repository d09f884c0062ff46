"""The sensors of a fleet: one compiled pass per step from the true state to the readings."""

import math

import numpy as np

from xtdrone_core import FleetState, SensorBatch
from xtdrone_dynamics import atmosphere
from xtdrone_dynamics.compiled import njit
from xtdrone_dynamics.constants import GRAVITY
from xtdrone_dynamics.geodesy import to_geodetic
from xtdrone_dynamics.quaternion import rotate, rotate_inverse

from .errors import SensorError
from .parameters import (
    AirspeedParameters,
    BarometerParameters,
    GpsParameters,
    ImuParameters,
    MagnetometerParameters,
    RangeParameters,
)
from .streams import new_stream, next_normals, next_uniform

STEP_US = 4_000  # of engine and sensors [us]
_RATE_TOLERANCE = 0.01  # a period counts as a whole number of steps if it is this near to one

# Sensors by number: the row of their stream and of their period.
_IMU, _MAG, _BARO, _GPS, _AIRSPEED, _RANGE = range(6)
_SENSORS = 6
_MOUNTING = 100  # number of the stream of what is fixed when a vehicle is built

# Channels: each has a bias and a white noise of its own.
_GYRO, _ACCEL, _FIELD, _PRESSURE, _PLACE, _SPEED, _PITOT, _DISTANCE = 0, 3, 6, 9, 10, 13, 16, 17
_CHANNELS = 18

_PENDING = 8  # fixes that may be on their way

_CHANNEL = np.dtype([
    ("decay", "f8"), ("drive", "f8"),  # of the bias over one period: XTDrone (12)
    ("white", "f8"),  # standard deviation of one reading's white noise
    ("bias", "f8"),
    ("resolution", "f8"),  # one bit, or 0
    ("low", "f8"), ("high", "f8"),  # range
])

_FIX = np.dtype([("t_us", "i8"), ("good", "?"), ("lat", "f8"), ("lon", "f8"), ("alt", "f8"),
                 ("vel", "f8", (3,))])

_VEHICLE = np.dtype([
    ("period", "i8", (_SENSORS,)),  # [steps], 0 where the vehicle lacks the sensor
    ("latency", "i8"),  # of the GPS [steps]
    ("drift", "f8"),  # of the barometer [Pa per step]
    ("imu_pos", "f8", (3,)), ("gps_pos", "f8", (3,)),  # from the centre of gravity, body [m]
    ("pitot_pos", "f8", (3,)), ("pitot_axis", "f8", (3,)),
    ("beam_pos", "f8", (3,)), ("beam_axis", "f8", (3,)), ("shortest", "f8"), ("longest", "f8"),
    ("gyro_matrix", "f8", (3, 3)), ("accel_matrix", "f8", (3, 3)),  # misalignment and gain
    ("soft_iron", "f8", (3, 3)), ("hard_iron", "f8", (3,)),  # [T]
    ("gps_fix", "i1"), ("gps_sats", "i1"),
    ("loss", "f8"), ("loss_duration", "f8"),  # probability per fix, mean length [fixes]
    ("lost", "i8"),  # fixes until the receiver has one again
    ("last_ang_vel", "f8", (3,)),  # a step ago [rad/s]
    ("started", "?"),  # last_ang_vel is known
])


class SensorSuite:
    """IMU, magnetometer, barometer, GPS, pitot and range finder of every vehicle.

    Readings are those of SensorBatch. A sensor whose period is no whole number
    of steps has its readings at the next step, as PX4's plugins in lockstep:
    100 Hz becomes 83.3 Hz.

    Errors are XTDrone (11)(12) on each axis. What a vehicle's sensors say depends
    on the seed and on how many vehicles came before it, not on the fleet's size.
    """

    def __init__(self, fleet_blocks, origin, magnetic_field_enu, seed: int, gps_preset: str = "",
                 gravity: float = GRAVITY, cast=None):
        """Builds the sensors of a fleet.

        Args:
            fleet_blocks: Per vehicle, its SensorBlocks. Cameras and the like are not ours.
            origin: The world's latitude, longitude [rad] and height [m].
            magnetic_field_enu: (3,) field over the world [T].
            seed: The scenario's.
            gps_preset: A preset in place of every vehicle's GPS parameters, or "".
            gravity: The engine's [m/s^2].
            cast: What range finders measure with: cast(vehicle, point (3,), direction (3,))
                gives the distance [m] from a point of the world to the first surface that is
                not the vehicle's own, or inf. None: the plane z = 0.

        Raises:
            SensorError: Parameters, a preset or a rate that make no sense.
        """
        self._origin = tuple(float(x) for x in origin)
        self._field = np.array(magnetic_field_enu, dtype=np.float64)
        self._seed = seed
        self._gps_preset = gps_preset
        self._gravity = float(gravity)
        self._cast = _to_ground if cast is None else cast
        fleet_blocks = list(fleet_blocks)
        n = len(fleet_blocks)
        self._fleet = np.zeros(n, dtype=_VEHICLE)
        self._channels = np.zeros((n, _CHANNELS), dtype=_CHANNEL)
        self._channels["low"], self._channels["high"] = -math.inf, math.inf
        self._streams = np.array([[new_stream(seed, i, s) for s in range(_SENSORS)]
                                  for i in range(n)], dtype=np.uint64).reshape(n, _SENSORS, 4)
        self._fixes = np.zeros((n, _PENDING), dtype=_FIX)
        self._fixes["t_us"] = -1
        self._batch = SensorBatch.empty(n)
        for i, blocks in enumerate(fleet_blocks):
            self._build(i, blocks)
        self._still = np.zeros((n, 3))
        self._distance = np.zeros(n)
        self._with_range = np.flatnonzero(self._fleet["period"][:, _RANGE]).tolist()

    @property
    def n(self) -> int:
        """Number of vehicles."""
        return len(self._fleet)

    @property
    def gps_pos(self) -> np.ndarray:
        """Antennas from the centres of gravity, (N, 3) body FLU [m]."""
        return self._fleet["gps_pos"].copy()

    def _build(self, i, blocks):
        """The sensors of vehicle i, with their turn-on biases, and what never changes in a batch.

        Raises:
            SensorError: As the constructor.
        """
        vehicle = self._fleet[i]
        self._fill(vehicle, self._channels[i], blocks)
        self._mount(i, blocks)
        _turn_on(self._channels, self._streams, i)
        if vehicle["period"][_GPS]:
            gps = next(block for block in blocks if block.kind == "gps")
            p = GpsParameters.from_block(gps, self._gps_preset)
            fresh = self._batch.records[i]
            fresh["gps_eph"], fresh["gps_epv"] = p.eph, p.epv
            fresh["gps_hdop"], fresh["gps_vdop"] = p.hdop, p.vdop
            fresh["gps_fix"], fresh["gps_sats"] = p.fix, p.satellites

    def step(self, state: FleetState, t_us: int, wind=None) -> SensorBatch:
        """What the sensors say of a state.

        Args:
            state: The true state at t_us.
            t_us: Simulated time, a multiple of 4 ms [us].
            wind: (N, 3) velocity of the air at each vehicle, world [m/s]; None for still air.

        Returns:
            The readings. The suite owns them and overwrites them at the next step.

        Raises:
            SensorError: A time between two steps.
        """
        step, rest = divmod(t_us, STEP_US)
        if rest:
            raise SensorError(f"t_us = {t_us} is not allowed: sensors step every {STEP_US} us")
        b = self._batch
        b.t_us = t_us
        if wind is None:
            wind = self._still
        self._look(state, step)
        _step(step, self._fleet, self._channels, self._streams, self._fixes, self._origin,
              self._field, self._gravity, state.pos, state.quat, state.vel, state.ang_vel,
              state.acc, wind, self._distance, b.records)
        return b

    def _look(self, state, step):
        """True distances of the range finders that are due."""
        for i in self._with_range:
            vehicle = self._fleet[i]
            if step % vehicle["period"][_RANGE] == 0:
                point = state.pos[i] + rotate(*state.quat[i], *vehicle["beam_pos"])
                self._distance[i] = self._cast(
                    i, point, np.array(rotate(*state.quat[i], *vehicle["beam_axis"])))

    def _mount(self, i, blocks):
        """How the axes of the IMU of vehicle i lie and what their gains are, drawn once."""
        p = ImuParameters.from_block(next(block for block in blocks if block.kind == "imu"))
        rng = np.random.default_rng(np.random.SeedSequence(self._seed,
                                                           spawn_key=(i, _MOUNTING)))
        for name, tilt, gain in (
                ("gyro_matrix", p.gyroscope_misalignment, p.gyroscope_scale_error),
                ("accel_matrix", p.accelerometer_misalignment, p.accelerometer_scale_error)):
            draw = rng.standard_normal((3, 3))
            self._fleet[name][i] = np.eye(3) + np.where(np.eye(3, dtype=bool), gain, tilt) * draw

    def _fill(self, vehicle, channels, blocks):
        """Puts the parameters of a vehicle's blocks into its rows."""
        found = {}
        for block in blocks:
            if block.kind in _FILL:
                if block.kind in found:
                    raise SensorError(f"'{block.name}' is a second {block.kind}: give a vehicle "
                                      "one")
                found[block.kind] = block
        if "imu" not in found:
            raise SensorError("a vehicle without an imu cannot be flown: give its SDF one")
        for kind, block in found.items():
            if kind == "gps":
                _fill_gps(vehicle, channels, block, self._gps_preset)
            else:
                _FILL[kind](vehicle, channels, block)


def _to_ground(vehicle, point, direction) -> float:
    """Distance along a beam to the plane z = 0 [m]."""
    if direction[2] == 0.0 or point[2] * direction[2] > 0.0:
        return math.inf
    return -point[2] / direction[2]


def whole_steps(kind: str, name: str, rate: float) -> int:
    """Steps between two readings of a sensor whose rate must be a whole number of them.

    Raises:
        SensorError: It is not.
    """
    steps = 1e6 / (rate * STEP_US) if rate > 0 else 0.0
    whole = round(steps)
    if whole < 1 or abs(steps - whole) > _RATE_TOLERANCE * whole:
        near = sorted({1e6 / STEP_US / max(1, math.floor(steps) + k) for k in (0, 1)})
        raise SensorError(f"rate {rate:g} Hz of {kind} '{name}' is not a whole number of {STEP_US} "
                          "us steps: give " + " or ".join(f"{hertz:.5g}" for hertz in near) + " Hz")
    return whole


def period_steps(rate: float) -> int:
    """Steps between two readings of a rate [Hz], the next whole number of them."""
    steps = 1e6 / (rate * STEP_US)
    return max(1, math.ceil(steps - _RATE_TOLERANCE * round(steps)))


def _set(channels, first, count, noise, steps, resolution=0.0, low=-math.inf, high=math.inf):
    """Parameters of count like channels, with the turn-on sigma in place of the bias."""
    dt = steps * STEP_US * 1e-6
    decay, drive = noise.bias_step(dt)
    channels[first:first + count] = (decay, drive, noise.white_sigma(dt),
                                     noise.turn_on_bias_sigma, resolution, low, high)


def _fill_imu(vehicle, channels, block):
    p = ImuParameters.from_block(block)
    vehicle["period"][_IMU] = 1
    vehicle["imu_pos"] = block.pos
    _set(channels, _GYRO, 3, p.gyroscope, 1, p.gyroscope_resolution,
         -p.gyroscope_range, p.gyroscope_range)
    _set(channels, _ACCEL, 3, p.accelerometer, 1, p.accelerometer_resolution,
         -p.accelerometer_range, p.accelerometer_range)


def _fill_magnetometer(vehicle, channels, block):
    p = MagnetometerParameters.from_block(block)
    steps = vehicle["period"][_MAG] = period_steps(p.rate)
    vehicle["hard_iron"] = p.hard_iron
    vehicle["soft_iron"] = np.reshape(p.soft_iron, (3, 3))
    _set(channels, _FIELD, 3, p.noise, steps, p.resolution, -p.range, p.range)


def _fill_barometer(vehicle, channels, block):
    p = BarometerParameters.from_block(block)
    steps = vehicle["period"][_BARO] = period_steps(p.rate)
    vehicle["drift"] = p.drift * STEP_US * 1e-6
    _set(channels, _PRESSURE, 1, p.noise, steps, p.resolution, p.minimum, p.maximum)


def _fill_gps(vehicle, channels, block, preset):
    p = GpsParameters.from_block(block, preset)
    steps = vehicle["period"][_GPS] = period_steps(p.rate)
    latency = round(p.latency * 1e6 / STEP_US)
    if latency >= (_PENDING - 1) * steps:
        raise SensorError(f"latency {p.latency:g} s of '{block.name}' is too long: give less than "
                          f"{_PENDING - 1} of its periods")
    vehicle["latency"] = latency
    vehicle["gps_pos"] = block.pos
    vehicle["gps_fix"], vehicle["gps_sats"] = p.fix, p.satellites
    vehicle["loss"] = -math.expm1(-p.dropout_rate * steps * STEP_US * 1e-6)
    vehicle["loss_duration"] = p.dropout_duration * 1e6 / (steps * STEP_US)
    _set(channels, _PLACE, 2, p.horizontal, steps)
    _set(channels, _PLACE + 2, 1, p.vertical, steps)
    _set(channels, _SPEED, 2, p.horizontal_velocity, steps)
    _set(channels, _SPEED + 2, 1, p.vertical_velocity, steps)


def _fill_airspeed(vehicle, channels, block):
    p = AirspeedParameters.from_block(block)
    steps = vehicle["period"][_AIRSPEED] = period_steps(p.rate)
    vehicle["pitot_pos"] = block.pos
    vehicle["pitot_axis"] = rotate(*block.quat, 1.0, 0.0, 0.0)
    _set(channels, _PITOT, 1, p.noise, steps, p.resolution, -p.range, p.range)


def _fill_range(vehicle, channels, block):
    p = RangeParameters.from_block(block)
    steps = vehicle["period"][_RANGE] = period_steps(p.rate)
    vehicle["beam_pos"] = block.pos
    vehicle["beam_axis"] = rotate(*block.quat, 1.0, 0.0, 0.0)
    vehicle["shortest"], vehicle["longest"] = p.minimum, p.maximum
    _set(channels, _DISTANCE, 1, p.noise, steps, p.resolution)


_FILL = {"imu": _fill_imu, "magnetometer": _fill_magnetometer, "barometer": _fill_barometer,
         "gps": _fill_gps, "airspeed": _fill_airspeed, "range": _fill_range}


@njit
def _sensor_of(channel):
    return _IMU if channel < _FIELD else _MAG if channel < _PRESSURE \
        else _BARO if channel < _PLACE else _GPS if channel < _PITOT \
        else _AIRSPEED if channel < _DISTANCE else _RANGE


@njit
def _turn_on(channels, streams, i):
    """Draws the biases at start; until here they hold their standard deviations."""
    for c in range(_CHANNELS):
        first, _ = next_normals(streams[i, _sensor_of(c)])
        channels[i, c].bias *= first


@njit
def _reading(channel, stream, value):
    """A value with its errors, XTDrone (11)(12), cut to range and resolution."""
    walk, white = next_normals(stream)
    channel.bias = channel.decay * channel.bias + channel.drive * walk
    value += channel.bias + channel.white * white
    if channel.resolution > 0.0:
        value = channel.resolution * math.floor(value / channel.resolution + 0.5)
    return min(max(value, channel.low), channel.high)


@njit
def _lever(quat, ang_vel, arm):
    """World position and velocity of a point of the body, relative to its centre of gravity."""
    px, py, pz = rotate(quat[0], quat[1], quat[2], quat[3], arm[0], arm[1], arm[2])
    vx, vy, vz = rotate(quat[0], quat[1], quat[2], quat[3],
                        ang_vel[1] * arm[2] - ang_vel[2] * arm[1],
                        ang_vel[2] * arm[0] - ang_vel[0] * arm[2],
                        ang_vel[0] * arm[1] - ang_vel[1] * arm[0])
    return px, py, pz, vx, vy, vz


@njit
def _specific_force(vehicle, quat, ang_vel, acc, gravity):
    """What an accelerometer without errors feels at its place, body frame; Pegasus (12)."""
    fx, fy, fz = rotate_inverse(quat[0], quat[1], quat[2], quat[3],
                                acc[0], acc[1], acc[2] + gravity)
    rx, ry, rz = vehicle.imu_pos
    wx, wy, wz = ang_vel
    if vehicle.started:
        rate = 1e6 / STEP_US
        ax = (wx - vehicle.last_ang_vel[0]) * rate
        ay = (wy - vehicle.last_ang_vel[1]) * rate
        az = (wz - vehicle.last_ang_vel[2]) * rate
        fx += ay * rz - az * ry
        fy += az * rx - ax * rz
        fz += ax * ry - ay * rx
    along, square = wx * rx + wy * ry + wz * rz, wx * wx + wy * wy + wz * wz
    vehicle.last_ang_vel[0], vehicle.last_ang_vel[1], vehicle.last_ang_vel[2] = wx, wy, wz
    vehicle.started = True
    return (fx + wx * along - rx * square, fy + wy * along - ry * square,
            fz + wz * along - rz * square)


@njit
def _take_fix(vehicle, channels, stream, fix, t_us, origin, pos, quat, vel, ang_vel):
    """Measures place and velocity now, to be told later; Pegasus (13)-(16)."""
    px, py, pz, vx, vy, vz = _lever(quat, ang_vel, vehicle.gps_pos)
    east = _reading(channels[_PLACE], stream, pos[0] + px)
    north = _reading(channels[_PLACE + 1], stream, pos[1] + py)
    up = _reading(channels[_PLACE + 2], stream, pos[2] + pz)
    if vehicle.lost > 0:
        vehicle.lost -= 1
    elif vehicle.loss > 0.0 and next_uniform(stream) < vehicle.loss:
        vehicle.lost = math.ceil(-vehicle.loss_duration * math.log(1.0 - next_uniform(stream)))
    fix.good = vehicle.lost == 0
    fix.t_us = t_us
    fix.lat, fix.lon = to_geodetic(east, north, origin[0], origin[1])
    fix.alt = origin[2] + up
    fix.vel[0] = _reading(channels[_SPEED], stream, vel[0] + vx)
    fix.vel[1] = _reading(channels[_SPEED + 1], stream, vel[1] + vy)
    fix.vel[2] = _reading(channels[_SPEED + 2], stream, vel[2] + vz)


@njit
def _ram_pressure(vehicle, height, quat, vel, ang_vel, wind):
    """Dynamic pressure of the air that streams into the pitot; none comes in from behind [Pa]."""
    _, _, _, vx, vy, vz = _lever(quat, ang_vel, vehicle.pitot_pos)
    ux, uy, uz = rotate_inverse(quat[0], quat[1], quat[2], quat[3], vel[0] + vx - wind[0],
                                vel[1] + vy - wind[1], vel[2] + vz - wind[2])
    axis = vehicle.pitot_axis
    speed = max(0.0, ux * axis[0] + uy * axis[1] + uz * axis[2])
    return 0.5 * atmosphere.density(height) * speed * speed


@njit
def _step(step, fleet, channels, streams, fixes, origin, field, gravity, pos, quat, vel, ang_vel,
          acc, wind, distance, readings):
    """One step of the whole fleet; readings is (N,) of SENSORS."""
    for i in range(fleet.shape[0]):
        vehicle, channel, q, out = fleet[i], channels[i], quat[i], readings[i]
        stream = streams[i, _IMU]
        force = _specific_force(vehicle, q, ang_vel[i], acc[i], gravity)
        m = vehicle.gyro_matrix
        for k in range(3):
            value = m[k, 0] * ang_vel[i, 0] + m[k, 1] * ang_vel[i, 1] + m[k, 2] * ang_vel[i, 2]
            out.gyro[k] = _reading(channel[_GYRO + k], stream, value)
        m = vehicle.accel_matrix
        for k in range(3):
            value = m[k, 0] * force[0] + m[k, 1] * force[1] + m[k, 2] * force[2]
            out.accel[k] = _reading(channel[_ACCEL + k], stream, value)

        period = vehicle.period[_MAG]
        out.mag_new = period > 0 and step % period == 0
        if out.mag_new:
            body = rotate_inverse(q[0], q[1], q[2], q[3], field[0], field[1], field[2])
            m = vehicle.soft_iron
            for k in range(3):
                value = (m[k, 0] * body[0] + m[k, 1] * body[1] + m[k, 2] * body[2]
                         + vehicle.hard_iron[k])
                out.mag[k] = _reading(channel[_FIELD + k], streams[i, _MAG], value)

        period = vehicle.period[_BARO]
        out.baro_new = period > 0 and step % period == 0
        if out.baro_new:
            height = origin[2] + pos[i, 2]
            pressure = atmosphere.pressure(height) + vehicle.drift * step
            out.baro_pressure = _reading(channel[_PRESSURE], streams[i, _BARO], pressure)
            out.baro_temperature = atmosphere.temperature(height)

        period = vehicle.period[_GPS]
        out.gps_new = False
        if period > 0:
            if step % period == 0:
                _take_fix(vehicle, channel, streams[i, _GPS], fixes[i, step // period % _PENDING],
                          step * STEP_US, origin, pos[i], q, vel[i], ang_vel[i])
            taken = step - vehicle.latency
            if taken >= 0 and taken % period == 0:
                fix = fixes[i, taken // period % _PENDING]
                if fix.t_us == taken * STEP_US:
                    out.gps_new = fix.good
                    out.gps_fix = vehicle.gps_fix if fix.good else 0
                    out.gps_sats = vehicle.gps_sats if fix.good else 0
                if out.gps_new:
                    out.gps_t_us = fix.t_us
                    out.gps_lat, out.gps_lon, out.gps_alt = fix.lat, fix.lon, fix.alt
                    for k in range(3):
                        out.gps_vel[k] = fix.vel[k]

        period = vehicle.period[_AIRSPEED]
        out.airspeed_new = period > 0 and step % period == 0
        if out.airspeed_new:
            out.airspeed_pressure = _reading(channel[_PITOT], streams[i, _AIRSPEED], _ram_pressure(
                vehicle, origin[2] + pos[i, 2], q, vel[i], ang_vel[i], wind[i]))

        period = vehicle.period[_RANGE]
        out.range_new = period > 0 and step % period == 0
        if out.range_new:
            reading = _reading(channel[_DISTANCE], streams[i, _RANGE], distance[i])
            if distance[i] > vehicle.longest:
                reading = math.inf
            elif distance[i] < vehicle.shortest:
                reading = -math.inf
            out.range_distance = reading
