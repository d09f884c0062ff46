"""Time of day and weather of a scenario, which realistic camera images show."""

import re
from dataclasses import dataclass

from ..errors import ScenarioError, shown
from .options import number

KINDS = ("clear", "fog", "rain")
_VISIBILITY = 200.0, 5.0, 20_000.0  # visibility in fog: default, least and most [m]
_RATE = 10.0, 0.1, 200.0  # rain: default, least and most [mm/h]


@dataclass(frozen=True)
class Weather:
    """The weather of a run."""

    kind: str  # one of KINDS
    visibility: float = 0.0  # in fog [m]; 0 = as the rest says
    rain: float = 0.0  # [mm/h]


def parse_weather(text: str) -> Weather:
    """The weather of a text: clear, fog=VISIBILITY [m] or rain=RATE [mm/h].

    Raises:
        ScenarioError: It cannot be read.
    """
    kind, equals, value = (part.strip() for part in text.partition("="))
    if kind not in KINDS or (kind == "clear" and equals):
        raise ScenarioError(
            f"weather '{shown(text)}' is not allowed: give clear, fog=200 "
            "(visibility in m) or rain=10 (mm/h)"
        )
    if kind == "fog":
        first, minimum, maximum = _VISIBILITY
        return Weather(
            kind,
            visibility=number("visibility of weather fog", value, minimum, maximum, unit="m")
            if equals
            else first,
        )
    if kind == "rain":
        first, minimum, maximum = _RATE
        return Weather(
            kind,
            rain=number("rate of weather rain", value, minimum, maximum, unit="mm/h")
            if equals
            else first,
        )
    return Weather(kind)


def hour_of(text: str) -> float:
    """Hours since midnight of a text like 18:30 or 18.5.

    Raises:
        ScenarioError: It cannot be read.
    """
    match = re.fullmatch(r"(\d{1,2}):([0-5]\d)", text.strip())
    hour = int(match[1]) + int(match[2]) / 60.0 if match else _number(text)
    if not 0.0 <= hour <= 24.0:
        raise ScenarioError(
            f"time_of_day '{shown(text)}' is not allowed: give 0:00 to 24:00, as in 18:30"
        )
    return hour


def check_rendering(rendering: str, time_of_day: str, weather: str, engine: str) -> None:
    """Checks the options of these names.

    Raises:
        ScenarioError: One cannot be read, or they do not go together.
    """
    if time_of_day:
        hour_of(time_of_day)
    if weather:
        parse_weather(weather)
    for name, value in (("time_of_day", time_of_day), ("weather", weather)):
        if value and rendering != "realistic":
            raise ScenarioError(
                f"{name} '{shown(value)}' needs realistic images: give --rendering "
                "realistic (rendering:=realistic), or leave it out"
            )
    if rendering == "realistic" and engine == "gazebo":
        raise ScenarioError(
            "rendering realistic cannot be used with engine gazebo, which draws "
            "the images itself: leave one of them out"
        )


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return -1.0
