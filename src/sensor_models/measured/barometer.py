"""Static pressure sensor."""

from dataclasses import dataclass

import numpy as np

from xtdrone_core import SensorBlock
from xtdrone_dynamics.compiled import Record, fleet_kernel
from xtdrone_dynamics.earth import atmosphere

from ..geometry import due
from ..noise import NoiseParameters, reading, set_channels
from ..parameters import Tags, check_limits, noise_of, values_of
from ..sensor import STEP_US, Sensor, period_steps

TAGS = Tags(
    kind="barometer",
    preset="ms5611",
    signed=("drift",),
    sitl={
        "pubRate": ("rate", 1.0),
        "update_rate": ("rate", 1.0),
        "baroDriftPaPerSec": ("drift", 1.0),
    },
)


@dataclass(frozen=True)
class BarometerParameters:
    """Static pressure sensor."""

    noise: NoiseParameters  # [Pa]
    drift: float  # steady drift of the pressure [Pa/s]
    minimum: float  # smallest reading [Pa]
    maximum: float  # largest reading [Pa]
    resolution: float  # one bit [Pa]
    rate: float  # [Hz]

    @classmethod
    def from_block(cls, block: SensorBlock) -> "BarometerParameters":
        """Reads an SDF block of kind barometer. Raises SensorError for a bad value."""
        values = values_of(block, TAGS)
        check_limits(block, values)
        return cls(
            noise_of(values),
            values["drift"],
            values["minimum"],
            values["maximum"],
            values["resolution"],
            values["rate"],
        )


def _fill(
    vehicle: Record,
    channels: np.ndarray,
    block: SensorBlock,
    parameters: BarometerParameters,
    rng: np.random.Generator,
) -> None:
    steps = vehicle["period"] = period_steps(parameters.rate)
    vehicle["drift"] = parameters.drift * STEP_US * 1e-6
    set_channels(
        channels,
        parameters.noise,
        steps * STEP_US * 1e-6,
        parameters.resolution,
        parameters.minimum,
        parameters.maximum,
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
    for i in range(memory.shape[0]):
        if not chosen[i]:
            continue
        vehicle, out = memory[i], readings[i]
        out.baro_new = due(step, vehicle.period, vehicle.epoch)
        if out.baro_new:
            height = world.origin[2] + pos[i, 2]
            pressure = atmosphere.pressure(height) + vehicle.drift * (step - vehicle.epoch)
            out.baro_pressure = reading(channels[i, 0], streams[i], pressure)
            out.baro_temperature = atmosphere.temperature(height)


SENSOR = Sensor(
    tags=TAGS,
    parameters=BarometerParameters,
    fill=_fill,
    sample=sample,
    channels=1,
    stream=2,
    memory=[("drift", "f8")],  # [Pa per step]
    flag="baro_new",
    plugins=("gazebo_barometer_plugin",),
    types=("altimeter", "air_pressure"),
)
