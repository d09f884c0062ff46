"""Range finder: one beam."""

import math
from dataclasses import dataclass

import numpy as np

from xtdrone_core import SensorBlock
from xtdrone_dynamics.compiled import Record, fleet_kernel
from xtdrone_dynamics.quaternion import rotate

from ..geometry import due
from ..noise import NoiseParameters, reading, set_channels
from ..parameters import Tags, check_limits, noise_of, values_of
from ..sensor import STEP_US, Sensor, period_steps

TAGS = Tags(
    kind="range",
    preset="sf11c",
    sitl={
        "update_rate": ("rate", 1.0),
        "pubRate": ("rate", 1.0),
        "min_distance": ("minimum", 1.0),
        "max_distance": ("maximum", 1.0),
    },
)
_RAY_TAGS = {"min": "minimum", "max": "maximum", "resolution": "resolution"}


@dataclass(frozen=True)
class RangeParameters:
    """Range finder along the block's x axis: one beam."""

    noise: NoiseParameters  # [m]
    minimum: float  # shortest distance [m]
    maximum: float  # longest distance [m]
    resolution: float  # one bit [m]
    rate: float  # [Hz]

    @classmethod
    def from_block(cls, block: SensorBlock) -> "RangeParameters":
        """Reads an SDF block of kind range: the workspace's tags, sitl_gazebo's, or a <ray> of SDF.

        Raises:
            SensorError: A invalid value.
        """
        ray = block.parameters.get("ray", {})
        scope = ray.get("range", {}) if isinstance(ray, dict) else {}
        tags = {
            **{_RAY_TAGS[tag]: value for tag, value in scope.items() if tag in _RAY_TAGS},
            **{tag: value for tag, value in block.parameters.items() if tag != "ray"},
        }
        values = values_of(SensorBlock(block.kind, block.name, block.pos, block.quat, tags), TAGS)
        check_limits(block, values)
        return cls(
            noise_of(values),
            values["minimum"],
            values["maximum"],
            values["resolution"],
            values["rate"],
        )


def _fill(
    vehicle: Record,
    channels: np.ndarray,
    block: SensorBlock,
    parameters: RangeParameters,
    rng: np.random.Generator,
) -> None:
    steps = vehicle["period"] = period_steps(parameters.rate)
    vehicle["pos"] = block.pos
    vehicle["axis"] = rotate(*block.quat, 1.0, 0.0, 0.0)
    vehicle["shortest"], vehicle["longest"] = parameters.minimum, parameters.maximum
    set_channels(channels, parameters.noise, steps * STEP_US * 1e-6, parameters.resolution)


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
        out.range_new = due(step, vehicle.period, vehicle.epoch)
        if out.range_new:
            value = reading(channels[i, 0], streams[i], distance[i])
            if distance[i] > vehicle.longest:
                value = math.inf
            elif distance[i] < vehicle.shortest:
                value = -math.inf
            out.range_distance = value


SENSOR = Sensor(
    tags=TAGS,
    parameters=RangeParameters,
    fill=_fill,
    sample=sample,
    channels=1,
    stream=5,
    memory=[
        ("pos", "f8", (3,)),
        ("axis", "f8", (3,)),  # direction of the beam, body
        ("shortest", "f8"),
        ("longest", "f8"),
    ],  # [m]
    flag="range_new",
    casts=True,
    plugins=("gazebo_lidar_plugin", "gazebo_sonar_plugin"),
    types=("sonar",),
)
