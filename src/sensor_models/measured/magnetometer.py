"""Three-axis magnetometer."""

from dataclasses import dataclass

import numpy as np

from xtdrone_core import SensorBlock
from xtdrone_dynamics.compiled import Record, fleet_kernel
from xtdrone_dynamics.quaternion import rotate_inverse

from ..geometry import due
from ..noise import NoiseParameters, reading, set_channels
from ..parameters import Tags, noise_of, values_of
from ..sensor import STEP_US, Sensor, period_steps

_GAUSS = 1e-4  # [T]
_IDENTITY = (1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0)

TAGS = Tags(
    kind="magnetometer",
    preset="lis3mdl",
    lists={"hard_iron": 3, "soft_iron": 9},
    sitl={
        "pubRate": ("rate", 1.0),
        "update_rate": ("rate", 1.0),
        "noiseDensity": ("noise_density", _GAUSS),
        "randomWalk": ("random_walk", _GAUSS),
        "biasCorrelationTime": ("bias_correlation_time", 1.0),
    },
)


@dataclass(frozen=True)
class MagnetometerParameters:
    """Three-axis magnetometer."""

    noise: NoiseParameters  # [T]
    range: float  # largest reading on either side [T]
    resolution: float  # one bit [T]
    rate: float  # [Hz]
    hard_iron: tuple = (0.0, 0.0, 0.0)  # hard-iron field, body FLU [T]
    soft_iron: tuple = _IDENTITY  # (3, 3) by rows: soft-iron matrix, body FLU

    @classmethod
    def from_block(cls, block: SensorBlock) -> "MagnetometerParameters":
        """Reads an SDF block of kind magnetometer; sitl_gazebo's tags are in gauss.

        Raises:
            SensorError: A invalid value.
        """
        values = values_of(block, TAGS)
        return cls(
            noise_of(values),
            values["range"],
            values["resolution"],
            values["rate"],
            values.get("hard_iron", cls.hard_iron),
            values.get("soft_iron", cls.soft_iron),
        )


def _fill(
    vehicle: Record,
    channels: np.ndarray,
    block: SensorBlock,
    parameters: MagnetometerParameters,
    rng: np.random.Generator,
) -> None:
    steps = vehicle["period"] = period_steps(parameters.rate)
    vehicle["hard_iron"] = parameters.hard_iron
    vehicle["soft_iron"] = np.reshape(parameters.soft_iron, (3, 3))
    set_channels(
        channels,
        parameters.noise,
        steps * STEP_US * 1e-6,
        parameters.resolution,
        -parameters.range,
        parameters.range,
    )


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
    field = world.field
    for i in range(memory.shape[0]):
        if not chosen[i]:
            continue
        vehicle, q, out = memory[i], quat[i], readings[i]
        out.mag_new = due(step, vehicle.period, vehicle.epoch)
        if out.mag_new:
            body = rotate_inverse(q[0], q[1], q[2], q[3], field[0], field[1], field[2])
            m = vehicle.soft_iron
            for k in range(3):
                value = (
                    m[k, 0] * body[0] + m[k, 1] * body[1] + m[k, 2] * body[2] + vehicle.hard_iron[k]
                )
                out.mag[k] = reading(channels[i, k], streams[i], value)


SENSOR = Sensor(
    tags=TAGS,
    parameters=MagnetometerParameters,
    fill=_fill,
    sample=sample,
    channels=3,
    stream=1,
    memory=[("soft_iron", "f8", (3, 3)), ("hard_iron", "f8", (3,))],  # [T]
    flag="mag_new",
    plugins=("gazebo_magnetometer_plugin",),
    types=("magnetometer",),
)
