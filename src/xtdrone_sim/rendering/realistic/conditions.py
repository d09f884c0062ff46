"""What lights a world during a run: its sun, sky and air, by its file and the scenario."""

from dataclasses import dataclass

import numpy as np

from xtdrone_core.scenario.weather import Weather, hour_of, parse_weather

from ...world import World
from ...world.sky import Fog
from . import fog, sun
from .sky import Sky, sky_of

_HAZE = np.full(3, -1.0)  # fog of the horizon's colour
_KINDS = {"linear": fog.LINEAR, "exp": fog.EXPONENTIAL, "exp2": fog.SQUARED}
_OVERCAST = {"clear": 0.0, "fog": 0.8, "rain": 1.0}


@dataclass(frozen=True)
class Conditions:
    """Light and air of a run.

    Attributes:
        sky: The sky.
        air: Density, start, end and kind, as fog.transmittance() takes them.
        veil: (3,) luminance of fog [cd/m^2]; negative for the horizon's.
        rain: Rate [mm/h].
        shadows: Whether the sun casts any.
    """

    sky: Sky
    air: tuple[float, float, float, int]
    veil: np.ndarray
    rain: float
    shadows: bool


def conditions_of(world: World, time_of_day: str = "", weather: str = "") -> Conditions:
    """The conditions of a run.

    Args:
        world: The World.
        time_of_day, weather: Of the scenario; empty for what the world's file says.

    Raises:
        ScenarioError: They cannot be read.
    """
    hour = hour_of(time_of_day) if time_of_day else world.sky_hour
    lights = [light for light in world.lights if light.kind == "directional"]
    if hour is not None:
        towards = sun.towards(hour, world.latitude)
    elif lights:
        towards = -np.array(lights[0].direction) / np.linalg.norm(lights[0].direction)
    else:
        towards = sun.towards(12.0, world.latitude)
    given = parse_weather(weather) if weather else None
    sky = sky_of(towards, _OVERCAST[given.kind if given else "clear"])
    air, veil = _air(given, world.fog, sky)
    return Conditions(
        sky,
        air,
        veil,
        given.rain if given else 0.0,
        any(light.cast_shadows for light in lights) or not lights,
    )


def _air(given: Weather | None, of_file: Fog | None, sky: Sky) -> tuple:
    level = sky.ambient + sky.sun * max(float(sky.towards[2]), 0.0)
    if given is None and of_file is not None:
        colour = np.array(of_file.colour)
        air = of_file.density, of_file.start, of_file.end, _KINDS[of_file.kind]
        return air, colour * float(level.mean()) / np.pi
    if given is None or given.kind == "clear":
        return fog.clear(), _HAZE
    visibility = given.visibility if given.kind == "fog" else fog.of_rain(given.rain)
    return (fog.density_of(visibility), 0.0, 0.0, fog.EXPONENTIAL), level / np.pi
