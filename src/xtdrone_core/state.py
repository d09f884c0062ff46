"""The arrays exchanged between engine, sensors, autopilot and Agents.

World frame ENU, body frame FLU, SI units, radians, quaternions xyzw (body to
world). The vehicle is the leading axis everywhere, also for one vehicle.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, TypedDict

import numpy as np

from .runs.snapshot import Memory
from .sealing import sealed


@dataclass(slots=True)
class FleetState:
    """True state of the fleet, from the engine.

    A fleet of one-body vehicles has B = 1; its body arrays are views of the first four.

    Examples:
        >>> import xtdrone as xd
        >>> xd.FleetState.zeros(2, actuators=4).quat[0].tolist()
        [0.0, 0.0, 0.0, 1.0]
    """

    t_us: int  # simulated time [us]
    pos: np.ndarray  # (N, 3) the base's origin, the centre of gravity with joints at zero [m]
    quat: np.ndarray  # (N, 4) xyzw, base to world
    vel: np.ndarray  # (N, 3) of that point, world [m/s]
    ang_vel: np.ndarray  # (N, 3) body frame [rad/s]
    acc: np.ndarray  # (N, 3) mean acceleration over the last step, world [m/s^2]
    actuator: np.ndarray  # (N, A) speed of rotors and wheels [rad/s], position of others [rad], [m]
    joint_pos: np.ndarray  # (N, J) [rad] or [m]
    joint_vel: np.ndarray  # (N, J) [rad/s] or [m/s]
    body_pos: np.ndarray  # (N, B, 3) origin of each body, world [m]
    body_quat: np.ndarray  # (N, B, 4) xyzw, body to world
    body_vel: np.ndarray  # (N, B, 3) of the origin, world [m/s]
    body_ang_vel: np.ndarray  # (N, B, 3) body's own frame [rad/s]
    tyre_load: np.ndarray  # (N, T, 3) force of the ground on each tyre along its normal, world [N]

    @classmethod
    def zeros(
        cls, n: int, actuators: int, joints: int = 0, bodies: int = 1, tyres: int = 0
    ) -> "FleetState":
        """A level fleet of n vehicles at rest at the origin.

        Args:
            n: Number of vehicles.
            actuators, joints, bodies, tyres: The most that one of them has.
        """
        shapes = (n, 3), (n, 4), (n, 3), (n, 3)
        base = [np.zeros(shape) for shape in shapes]
        base[1][:, 3] = 1.0
        if bodies == 1:
            every = [array[:, None, :] for array in base]
        else:
            every = [np.zeros((n, bodies, width)) for _, width in shapes]
            every[1][..., 3] = 1.0
        return cls(
            0,
            base[0],
            base[1],
            base[2],
            base[3],
            np.zeros((n, 3)),
            np.zeros((n, actuators)),
            np.zeros((n, joints)),
            np.zeros((n, joints)),
            every[0],
            every[1],
            every[2],
            every[3],
            np.zeros((n, tyres, 3)),
        )

    def copy(self) -> "FleetState":
        """A deep copy, to keep a state beyond the step."""
        n, bodies = self.body_pos.shape[:2]
        state = FleetState.zeros(
            n, self.actuator.shape[1], self.joint_pos.shape[1], bodies, self.tyre_load.shape[1]
        )
        state.t_us = self.t_us
        for name in ARRAYS_OF_STATE:
            getattr(state, name)[:] = getattr(self, name)
        return state


ARRAYS_OF_STATE = tuple(entry.name for entry in fields(FleetState))[1:]


@dataclass(frozen=True, slots=True)
class Contacts:
    """Contact points between vehicles and models of the world, from the engine."""

    names: tuple[str, ...]  # names of vehicles and models, sorted
    pairs: np.ndarray  # (K, 2) indices into names, the smaller first
    normals: np.ndarray  # (K, 3) unit vectors from the first to the second, world

    def by_name(self) -> list[tuple[str, str]]:
        """Sorted pairs of names that are in contact, each once."""
        return [(self.names[a], self.names[b]) for a, b in sorted(set(map(tuple, self.pairs)))]


SENSORS = np.dtype(
    [
        ("gyro", "f8", (3,)),  # angular rate, body [rad/s]
        ("accel", "f8", (3,)),  # specific force, body [m/s^2]; +9.8 on z at rest
        ("mag", "f8", (3,)),  # magnetic field, body [T]
        ("mag_new", "?"),
        ("baro_pressure", "f8"),  # static pressure [Pa]
        ("baro_temperature", "f8"),  # air temperature [K]
        ("baro_new", "?"),
        ("gps_t_us", "i8"),  # time at which the fix was true [us]
        ("gps_latency", "f8"),  # from then to its arrival, as the receiver's data sheet says [s]
        ("gps_lat", "f8"),  # geodetic latitude [rad]
        ("gps_lon", "f8"),  # longitude [rad]
        ("gps_alt", "f8"),  # height above mean sea level [m]
        ("gps_vel", "f8", (3,)),  # world ENU [m/s]
        ("gps_eph", "f8"),  # horizontal position standard deviation [m]
        ("gps_epv", "f8"),  # vertical position standard deviation [m]
        ("gps_fix", "i1"),  # 0 none, 3 three-dimensional, 6 RTK fixed
        ("gps_sats", "i1"),  # satellites used
        ("gps_new", "?"),
        ("gps_hdop", "f8"),  # horizontal dilution of precision
        ("gps_vdop", "f8"),  # vertical dilution of precision
        ("airspeed_pressure", "f8"),  # pitot's differential pressure [Pa]
        ("airspeed_new", "?"),
        ("range_distance", "f8"),  # [m]; inf beyond the longest, -inf below the shortest
        ("range_new", "?"),
        ("battery_voltage", "f8"),  # at the terminals [V]; NaN for a vehicle without a pack
        ("battery_current", "f8"),  # [A]; NaN for a vehicle without a pack
    ],
    align=True,
)


@dataclass(frozen=True)
class Topic:
    """How readings of an additional kind of sensor are logged (ULog) or sent (MAVLink)."""

    name: str  # name of the ULog topic, or of the message of MAVLink's common dialect
    rate: float  # [Hz]
    # Name of each field: its ULog type (not used for MAVLink), and a function that gives its
    # values (N,) or (N, k) from the records (N,) and the time [us].
    fields: Mapping[str, tuple[str, Callable[[np.ndarray, int], Any]]]


@dataclass(frozen=True)
class ExtraReadings:
    """Readings of an additional kind of sensor, and their topics."""

    records: np.ndarray  # (N,)
    fitted: np.ndarray  # (N,) bool, the vehicles that have one
    log: Topic | None = None
    mavlink: Topic | None = None


class SensorBatch(Memory):
    """Sensor readings of the fleet at one step; a flag (`*_new`) marks new ones.

    Readings keep their last value until the next one. The IMU is new at every
    step. An estimator sees this and nothing else.

    Attributes:
        t_us: Simulated time [us].
        records: (N,) of SENSORS, what compiled kernels take.
        extra: ExtraReadings of each further kind of sensor, by kind; see sensor_models.sensor.
        gyro, accel and so on: views of the records' fields, (N,) or (N, 3).

    Examples:
        >>> import xtdrone as xd
        >>> with xd.Simulation(xd.Scenario(vehicles="iris")) as sim:
        ...     sim.run(0.1)
        ...     bool(9.0 < sim.sensors.accel[0, 2] < 10.5)
        True
    """

    MEMORY = ("records", "t_us")

    if TYPE_CHECKING:  # the views are named by SENSORS

        def __getattr__(self, name: str) -> np.ndarray: ...

    def __init__(self, records: np.ndarray, t_us: int = 0):
        """A batch over existing records, which it does not copy."""
        self.t_us = t_us
        self.records = records
        self.extra: dict[str, ExtraReadings] = {}
        for name in SENSORS.names or ():
            setattr(self, name, records[name])

    @classmethod
    def empty(cls, n: int) -> "SensorBatch":
        """A batch without any reading for n vehicles."""
        records = np.zeros(n, dtype=SENSORS)
        records["battery_voltage"] = records["battery_current"] = np.nan
        return cls(records)


@dataclass(frozen=True)
class Reading:
    """One reading of a sensor that sees the scene: images or a scan."""

    kind: str  # camera, stereo, depth, lidar, or that of another RenderedSensor
    vehicle: str  # name
    sensor: str  # name
    t_us: int  # simulated time of the measurement [us]
    data: dict  # array by name: image | left, right | image, depth [m] | ranges [m]


ReadingArray = tuple[str, str, list[int]]  # name, dtype such as <f4, and shape of an array


class SensorDescription(TypedDict):
    """A sensor that sees the scene, in plain data: what other processes know of it."""

    kind: str  # kind of its readings
    vehicle: str  # name
    namespace: str  # what its topics begin with: /NAME, or nothing
    sensor: str  # name
    period_us: int  # between two readings [us]
    latency_us: int  # from the measurement to the reading's arrival [us]
    arrays: list[ReadingArray]  # arrays of a reading
    tags: dict[str, str]  # names of topics and frames from its Gazebo plugins
    parameters: list[dict[str, Any]]  # parameters of each camera or scanner in it


@dataclass(slots=True)
class Estimates:
    """The autopilot's state estimate and status; the only input of an Agent.

    Examples:
        >>> import xtdrone as xd
        >>> with xd.Simulation(xd.Scenario(vehicles="iris*2")) as sim:
        ...     sim.estimates.pos.shape, sim.estimates.armed.any()
        ((2, 3), False)
    """

    t_us: int  # simulated time [us]
    pos: np.ndarray  # (N, 3) world, from the world's origin [m]
    quat: np.ndarray  # (N, 4) xyzw
    vel: np.ndarray  # (N, 3) world [m/s]
    ang_vel: np.ndarray  # (N, 3) body [rad/s]
    armed: np.ndarray  # (N,) bool
    landed: np.ndarray  # (N,) bool
    mode: np.ndarray  # (N,) int8, a Mode
    ready: np.ndarray  # (N,) bool, the arming checks pass


KEEP, DISARM, ARM = -1, 0, 1  # values of SetPoints.arm; KEEP also of SetPoints.mode


SET_POINT = np.dtype(
    [
        ("pos", "f8", (3,)),  # world [m]
        ("vel", "f8", (3,)),  # world [m/s]
        ("acc", "f8", (3,)),  # world [m/s^2]
        ("yaw", "f8"),  # counter-clockwise from east [rad]
        ("yaw_rate", "f8"),  # [rad/s]
        ("quat", "f8", (4,)),  # attitude xyzw, body to world
        ("rates", "f8", (3,)),  # body rates [rad/s]
        ("force", "f8", (3,)),  # body force [N]; a conventional multirotor has thrust along z only
        ("mode", "i1"),  # a Mode to change to, or KEEP
        ("arm", "i1"),  # ARM, DISARM or KEEP
    ],
    align=True,
)


@sealed
class SetPoints(Memory):
    """Set-points of an Agent, from position to actuator level; NaN means 'not controlled'.

    The lowest level that is given is flown: actuators; attitude (with `yaw_rate`) and force;
    body rates and force; or position, velocity, acceleration, yaw and yaw rate.

    Attributes:
        records: (N,) of SET_POINT.
        actuators: (N, A) commands, 0..1 or -1..1 as PX4 has them; A may be 0 where none is given.
            Those of servos that steer nothing may be given beside any level.
        pos, vel and so on: views of the records' fields.

    Examples:
        >>> import xtdrone as xd
        >>> wish = xd.SetPoints.empty(2)
        >>> wish.vel[:] = 0.0, 0.0, 1.0
        >>> bool(wish.pos[0, 0] == wish.pos[0, 0])  # NaN: not controlled
        False
    """

    MEMORY = ("records", "actuators")

    if TYPE_CHECKING:  # the views are named by SET_POINT

        def __getattr__(self, name: str) -> np.ndarray: ...

    def __init__(self, records: np.ndarray, actuators: np.ndarray):
        """Set-points over existing arrays, which it does not copy."""
        self.records, self.actuators = records, actuators
        for name in SET_POINT.names or ():
            setattr(self, name, records[name])

    @classmethod
    def empty(cls, n: int, actuators: int = 0) -> "SetPoints":
        """Set-points that control nothing: n vehicles continue as they are.

        Args:
            n: Number of vehicles.
            actuators: Number of actuators of each vehicle, A, for an Agent that commands them.
        """
        made = cls(np.zeros(n, dtype=SET_POINT), np.zeros((n, actuators)))
        made.clear()
        return made

    def clear(self) -> None:
        """Sets everything to 'not controlled', in place."""
        self.records[:] = _UNCONTROLLED
        self.actuators.fill(np.nan)


def _uncontrolled() -> np.ndarray:
    """A record without set-points or requests."""
    record = np.zeros((), dtype=SET_POINT)
    for name in SET_POINT.names or ():
        record[name] = KEEP if SET_POINT[name].kind == "i" else np.nan
    return record


_UNCONTROLLED = _uncontrolled()
