"""A sensor of one's own, in one module: the air's temperature at the vehicle's nose."""

from dataclasses import dataclass

from sensor_models.geometry import due
from sensor_models.noise import NoiseParameters, reading, set_channels
from sensor_models.parameters import Tags, noise_of, values_of
from sensor_models.sensor import STEP_US, Sensor, period_steps
from xtdrone_core.state import Topic
from xtdrone_dynamics.compiled import njit
from xtdrone_dynamics.earth import atmosphere

TAGS = Tags(
    kind="thermometer",
    preset="usual",
    presets={"usual": {"rate": 10.0, "noise_density": 0.01, "resolution": 0.0}},
)


@dataclass(frozen=True)
class ThermometerParameters:
    """A thermometer."""

    noise: NoiseParameters  # [K]
    rate: float  # [Hz]

    @classmethod
    def from_block(cls, block):
        """From an SDF block of kind thermometer."""
        values = values_of(block, TAGS)
        return cls(noise_of(values), values["rate"])


def _fill(vehicle, channels, block, p, rng):
    vehicle["period"] = period_steps(p.rate)
    set_channels(channels, p.noise, vehicle["period"] * STEP_US * 1e-6)


@njit
def sample(
    step,
    chosen,
    memory,
    channels,
    streams,
    world,
    pos,
    quat,
    vel,
    ang_vel,
    acc,
    wind,
    distance,
    readings,
):
    """The readings of a fleet; see Sensor."""
    for i in range(memory.shape[0]):
        if chosen[i]:
            readings[i].new = due(step, memory[i].period, memory[i].epoch)
            if readings[i].new:
                true = atmosphere.temperature(world.origin[2] + pos[i, 2])
                readings[i].temperature = reading(channels[i, 0], streams[i], true)


SENSOR = Sensor(
    tags=TAGS,
    parameters=ThermometerParameters,
    fill=_fill,
    sample=sample,
    channels=1,
    readings=[("temperature", "f8"), ("new", "?")],
    flag="new",
    types=("thermometer",),
    log=Topic(
        "air_temperature", 10.0, {"temperature": ("float", lambda rows, t_us: rows["temperature"])}
    ),
    mavlink=Topic(
        "HYGROMETER_SENSOR",
        2.0,
        {"temperature": ("", lambda rows, t_us: (rows["temperature"] - 273.15) * 100)},
    ),
)
