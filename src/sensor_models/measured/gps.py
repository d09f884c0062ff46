"""GNSS receiver: delayed fixes, reported accuracy, loss of fix."""

import math
from dataclasses import dataclass

import numpy as np

from xtdrone_core import SensorBlock
from xtdrone_dynamics.compiled import Record, fleet_kernel, njit
from xtdrone_dynamics.earth.geodesy import to_geodetic

from ..errors import SensorError
from ..geometry import due, lever
from ..noise import NoiseParameters, reading, set_channels
from ..parameters import Tags, noise_of, number_of, preset_of, values_of
from ..sensor import STEP_US, Sensor, period_steps
from ..streams import next_uniform

_SITL_STEP = 0.004  # step of sitl_gazebo's GPS plugin, that its densities depend on [s]
_SITL_CORRELATION = 60.0  # decay of its bias, in steps
_PENDING = 8  # largest number of fixes in the delay line
_PLACE, _SPEED = 0, 3  # channels

_SITL_TAGS = {  # our name and the plugin's default; None where there is no value to take
    "gpsNoise": (None, None),
    "gpsXYRandomWalk": ("horizontal_random_walk", 2.0),
    "gpsZRandomWalk": ("vertical_random_walk", 4.0),
    "gpsXYNoiseDensity": ("horizontal_noise_density", 2e-4),
    "gpsZNoiseDensity": ("vertical_noise_density", 4e-4),
    "gpsVXYNoiseDensity": ("horizontal_velocity_noise_density", 0.2),
    "gpsVZNoiseDensity": ("vertical_velocity_noise_density", 0.4),
}


def _sitl_densities(block: SensorBlock) -> dict[str, float]:
    """Densities of sitl_gazebo's GPS tags as this model has them.

    That plugin multiplies its densities by the square root of its step where
    the density of a sampled noise asks for division, and steps its bias by
    `b += density sqrt(dt) w dt - b / 60` per step of dt. Written as (12), the
    walk is density dt and the correlation time 60 dt: at 4 ms its random walk
    of 2 stands for a bias of 3 mm, where the same number in (12) is metres.
    """
    tags = block.parameters
    if not any(tag.startswith("gps") for tag in tags if tag in _SITL_TAGS):
        return {}
    word = str(tags.get("gpsNoise", "false")).strip().lower()
    if word not in ("0", "1", "false", "true"):
        raise SensorError(f"<gpsNoise> of '{block.name}' is '{word}': give true or false")
    noisy = word in ("1", "true")
    rate = number_of(block, "updateRate", tags.get("updateRate", tags.get("pubRate", 5.0)))
    white = _SITL_STEP**0.5 / rate**0.5  # density times this, per reading at this rate
    values = {"rate": rate}
    for tag, (name, default) in _SITL_TAGS.items():
        if name:
            density = number_of(block, tag, tags.get(tag, default))
            values[name] = noisy * density * (_SITL_STEP if name.endswith("random_walk") else white)
    for axis in ("horizontal_", "vertical_"):
        values[axis + "bias_correlation_time"] = _SITL_CORRELATION * _SITL_STEP
    return values


TAGS = Tags(
    kind="gps",
    preset="m8n",
    sitl=dict.fromkeys(("pubRate", "updateRate", "update_rate"), ("rate", 1.0)),
    prefixes=("horizontal_", "vertical_", "horizontal_velocity_", "vertical_velocity_"),
    read_apart=tuple(_SITL_TAGS),
    more=_sitl_densities,
)


@dataclass(frozen=True)
class GpsParameters:
    """GNSS receiver. Its fix arrives `latency` after the time at which it was true."""

    horizontal: NoiseParameters  # position, each axis [m]
    vertical: NoiseParameters  # [m]
    horizontal_velocity: NoiseParameters  # each axis [m/s]
    vertical_velocity: NoiseParameters  # [m/s]
    rate: float  # [Hz]
    latency: float  # [s]
    eph: float  # horizontal accuracy that it reports [m]
    epv: float  # vertical accuracy that it reports [m]
    fix: int  # kind of fix that it reports: 3 three-dimensional, 6 RTK fixed
    satellites: int  # number that it reports
    hdop: float  # horizontal dilution of precision
    vdop: float  # vertical dilution of precision
    dropout_rate: float  # times that it loses its fix, on average [1/s]
    dropout_duration: float  # length of a loss, on average [s]

    @classmethod
    def from_block(cls, block: SensorBlock) -> "GpsParameters":
        """Reads an SDF block of kind gps.

        A preset's errors belong to its dilution of precision: a block that names
        another hdop or vdop has errors and reported accuracy larger by the ratio.

        Raises:
            SensorError: Unknown preset, or a invalid value.
        """
        values = values_of(block, TAGS)
        usual = preset_of(block, TAGS)
        for name, maximum in (("fix", 8), ("satellites", 100)):
            if not (values[name] == int(values[name]) <= maximum):
                raise SensorError(
                    f"{name} {values[name]:g} of '{block.name}' is not allowed: give "
                    f"a whole number from 0 to {maximum}"
                )
        across, up = values["hdop"] / usual["hdop"], values["vdop"] / usual["vdop"]
        return cls(
            noise_of(values, "horizontal_", across),
            noise_of(values, "vertical_", up),
            noise_of(values, "horizontal_velocity_", across),
            noise_of(values, "vertical_velocity_", up),
            values["rate"],
            values["latency"],
            values["eph"] * across,
            values["epv"] * up,
            int(values["fix"]),
            int(values["satellites"]),
            values["hdop"],
            values["vdop"],
            values["dropout_rate"],
            values["dropout_duration"],
        )


def _fill(
    vehicle: Record,
    channels: np.ndarray,
    block: SensorBlock,
    parameters: GpsParameters,
    rng: np.random.Generator,
) -> None:
    steps = vehicle["period"] = period_steps(parameters.rate)
    latency = round(parameters.latency * 1e6 / STEP_US)
    if latency >= (_PENDING - 1) * steps:
        raise SensorError(
            f"latency {parameters.latency:g} s of '{block.name}' is too long: give less than "
            f"{_PENDING - 1} of its periods"
        )
    vehicle["latency"] = latency
    vehicle["pos"] = block.pos
    vehicle["fix"], vehicle["satellites"] = parameters.fix, parameters.satellites
    vehicle["loss"] = -math.expm1(-parameters.dropout_rate * steps * STEP_US * 1e-6)
    vehicle["loss_duration"] = parameters.dropout_duration * 1e6 / (steps * STEP_US)
    vehicle["pending"]["t_us"] = -1
    dt = steps * STEP_US * 1e-6
    set_channels(channels[_PLACE : _PLACE + 2], parameters.horizontal, dt)
    set_channels(channels[_PLACE + 2 : _SPEED], parameters.vertical, dt)
    set_channels(channels[_SPEED : _SPEED + 2], parameters.horizontal_velocity, dt)
    set_channels(channels[_SPEED + 2 :], parameters.vertical_velocity, dt)


def _begin(readings: Record, parameters: GpsParameters) -> None:
    """The initial report of a receiver."""
    readings["gps_latency"] = parameters.latency
    readings["gps_eph"], readings["gps_epv"] = parameters.eph, parameters.epv
    readings["gps_hdop"], readings["gps_vdop"] = parameters.hdop, parameters.vdop
    readings["gps_fix"], readings["gps_sats"] = parameters.fix, parameters.satellites


@njit
def _take_fix(
    vehicle: Record,
    channels: np.ndarray,
    stream: np.ndarray,
    fix: Record,
    t_us: int,
    origin: np.ndarray,
    pos: np.ndarray,
    quat: np.ndarray,
    vel: np.ndarray,
    ang_vel: np.ndarray,
) -> None:
    """Measures position and velocity now, to be reported later; Pegasus (13)-(16)."""
    px, py, pz, vx, vy, vz = lever(quat, ang_vel, vehicle.pos)
    east = reading(channels[_PLACE], stream, pos[0] + px)
    north = reading(channels[_PLACE + 1], stream, pos[1] + py)
    up = reading(channels[_PLACE + 2], stream, pos[2] + pz)
    if vehicle.lost > 0:
        vehicle.lost -= 1
    elif vehicle.loss > 0.0 and next_uniform(stream) < vehicle.loss:
        vehicle.lost = math.ceil(-vehicle.loss_duration * math.log(1.0 - next_uniform(stream)))
    fix.good = vehicle.lost == 0
    fix.t_us = t_us
    fix.lat, fix.lon = to_geodetic(east, north, origin[0], origin[1])
    fix.alt = origin[2] + up
    fix.vel[0] = reading(channels[_SPEED], stream, vel[0] + vx)
    fix.vel[1] = reading(channels[_SPEED + 1], stream, vel[1] + vy)
    fix.vel[2] = reading(channels[_SPEED + 2], stream, vel[2] + vz)


@fleet_kernel
def sample(
    step: int,
    chosen: np.ndarray,
    memory: np.ndarray,
    channels: np.ndarray,
    streams: np.ndarray,
    world: Record,
    pos: np.ndarray,
    quat: np.ndarray,
    vel: np.ndarray,
    ang_vel: np.ndarray,
    acc: np.ndarray,
    wind: np.ndarray,
    distance: np.ndarray,
    readings: np.ndarray,
) -> None:
    """The readings of a fleet; see Sensor."""
    for i in range(memory.shape[0]):
        if not chosen[i]:
            continue
        vehicle, out = memory[i], readings[i]
        out.gps_new = False
        if vehicle.period == 0:
            continue
        age = step - vehicle.epoch
        if due(step, vehicle.period, vehicle.epoch):
            _take_fix(
                vehicle,
                channels[i],
                streams[i],
                vehicle.pending[age // vehicle.period % _PENDING],
                step * STEP_US,
                world.origin,
                pos[i],
                quat[i],
                vel[i],
                ang_vel[i],
            )
        taken = age - vehicle.latency
        if taken >= 0 and taken % vehicle.period == 0:
            fix = vehicle.pending[taken // vehicle.period % _PENDING]
            if fix.t_us == (taken + vehicle.epoch) * STEP_US:
                out.gps_new = fix.good
                out.gps_fix = vehicle.fix if fix.good else 0
                out.gps_sats = vehicle.satellites if fix.good else 0
            if out.gps_new:
                out.gps_t_us = fix.t_us
                out.gps_lat, out.gps_lon, out.gps_alt = fix.lat, fix.lon, fix.alt
                for k in range(3):
                    out.gps_vel[k] = fix.vel[k]


SENSOR = Sensor(
    tags=TAGS,
    parameters=GpsParameters,
    fill=_fill,
    begin=_begin,
    sample=sample,
    channels=6,
    stream=3,
    memory=[
        ("latency", "i8"),  # [steps]
        ("pos", "f8", (3,)),  # antenna, from the centre of gravity, body [m]
        ("fix", "i1"),
        ("satellites", "i1"),
        ("loss", "f8"),
        ("loss_duration", "f8"),  # probability per fix, mean length [fixes]
        ("lost", "i8"),  # fixes until the receiver has one again
        (
            "pending",
            [
                ("t_us", "i8"),
                ("good", "?"),
                ("lat", "f8"),
                ("lon", "f8"),
                ("alt", "f8"),
                ("vel", "f8", (3,)),
            ],
            (_PENDING,),
        ),
    ],
    flag="gps_new",
    plugins=("gazebo_gps_plugin",),
    types=("gps", "navsat"),
)
