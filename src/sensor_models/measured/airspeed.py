"""Pitot tube with a differential pressure sensor."""

from dataclasses import dataclass

import numpy as np

from xtdrone_core import SensorBlock
from xtdrone_dynamics.compiled import Record, fleet_kernel, njit
from xtdrone_dynamics.earth import atmosphere
from xtdrone_dynamics.quaternion import rotate, rotate_inverse

from ..geometry import due, lever
from ..noise import NoiseParameters, reading, set_channels
from ..parameters import Tags, noise_of, values_of
from ..sensor import STEP_US, Sensor, period_steps

TAGS = Tags(
    kind="airspeed", preset="sdp33", sitl={"pubRate": ("rate", 1.0), "update_rate": ("rate", 1.0)}
)


@dataclass(frozen=True)
class AirspeedParameters:
    """Pitot tube along the block's x axis, with a differential pressure sensor."""

    noise: NoiseParameters  # [Pa]
    range: float  # largest reading on either side [Pa]
    resolution: float  # one bit [Pa]
    rate: float  # [Hz]

    @classmethod
    def from_block(cls, block: SensorBlock) -> "AirspeedParameters":
        """Reads an SDF block of kind airspeed. Raises SensorError for a bad value."""
        values = values_of(block, TAGS)
        return cls(noise_of(values), values["range"], values["resolution"], values["rate"])


def _fill(
    vehicle: Record,
    channels: np.ndarray,
    block: SensorBlock,
    parameters: AirspeedParameters,
    rng: np.random.Generator,
) -> None:
    steps = vehicle["period"] = period_steps(parameters.rate)
    vehicle["pos"] = block.pos
    vehicle["axis"] = rotate(*block.quat, 1.0, 0.0, 0.0)
    set_channels(
        channels,
        parameters.noise,
        steps * STEP_US * 1e-6,
        parameters.resolution,
        -parameters.range,
        parameters.range,
    )


@njit
def _ram_pressure(
    vehicle: Record,
    height: float,
    quat: np.ndarray,
    vel: np.ndarray,
    ang_vel: np.ndarray,
    wind: np.ndarray,
) -> float:
    """Dynamic pressure of the air that streams into the pitot; none comes in from behind [Pa]."""
    _, _, _, vx, vy, vz = lever(quat, ang_vel, vehicle.pos)
    ux, uy, uz = rotate_inverse(
        quat[0],
        quat[1],
        quat[2],
        quat[3],
        vel[0] + vx - wind[0],
        vel[1] + vy - wind[1],
        vel[2] + vz - wind[2],
    )
    axis = vehicle.axis
    speed = max(0.0, ux * axis[0] + uy * axis[1] + uz * axis[2])
    return 0.5 * atmosphere.density(height) * speed * speed


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
        out.airspeed_new = due(step, vehicle.period, vehicle.epoch)
        if out.airspeed_new:
            out.airspeed_pressure = reading(
                channels[i, 0],
                streams[i],
                _ram_pressure(
                    vehicle, world.origin[2] + pos[i, 2], quat[i], vel[i], ang_vel[i], wind[i]
                ),
            )


SENSOR = Sensor(
    tags=TAGS,
    parameters=AirspeedParameters,
    fill=_fill,
    sample=sample,
    channels=1,
    stream=4,
    memory=[("pos", "f8", (3,)), ("axis", "f8", (3,))],  # body, from the centre of gravity [m]
    flag="airspeed_new",
    plugins=("gazebo_airspeed_plugin",),
    types=("air_speed", "airspeed"),
)
