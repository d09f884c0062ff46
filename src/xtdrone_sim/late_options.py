"""Options of a scenario whose values are read when the simulation is built: read them before."""

from collections.abc import Mapping
from typing import Any

LATE = ("wind", "waves", "sensors", "gps")


def read(name: str, value: Any) -> None:  # value: of the option's own type
    """Reads the value of an option, where that would otherwise happen as the simulation starts.

    Raises:
        XtdroneError: The value is not one of the option.
    """
    if name == "wind":
        from .plant.wind import WindParameters

        WindParameters.parse(value)
    elif name == "waves":
        from .world.waves import Waves

        Waves.parse(value)
    elif name == "sensors":
        from sensor_models.changes import parse_changes

        parse_changes(value)
    elif name == "gps":
        from sensor_models.parameters import preset

        preset("gps", value)


def read_given(values: Mapping[str, Any]) -> None:
    """Reads those of the given options that have a value.

    Raises:
        XtdroneError: As read().
    """
    for name in LATE:
        if values.get(name):
            read(name, values[name])
