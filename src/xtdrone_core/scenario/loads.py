"""Loads that hang on cables below vehicles.

A list is a string with entries separated by ';'. An entry has the vehicles, the mass, the length of
each cable, and where several vehicles carry it the length of the bar:

    iris_0 0.5 1.5                a box of 0.5 kg on 1.5 m
    iris_0+iris_1 0.8 1.5 2.0     a bar of 0.8 kg and 2 m between two vehicles, a cable at each end
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from ..errors import ScenarioError

_FORM = "NAME MASS LENGTH, or NAME+NAME MASS LENGTH BAR"
_LIMITS = (("mass", 0.001, 1000.0, "kg"), ("length", 0.1, 100.0, "m"), ("bar", 0.2, 100.0, "m"))


@dataclass(frozen=True)
class SlungLoad:
    """A load below one vehicle, or a bar between two.

    Attributes:
        name: Name of its model.
        vehicles: Indices of those that carry it: one, or two.
        mass: Of the load [kg].
        length: Of each cable [m].
        bar: Length of the bar [m]; 0 for a box.
    """

    name: str
    vehicles: tuple[int, ...]
    mass: float
    length: float
    bar: float = 0.0


def parse_loads(text: str, names: Sequence[str]) -> tuple[SlungLoad, ...]:
    """The loads of a list.

    Args:
        text: Entries as above; empty for none.
        names: Names of the vehicles, in the order of the fleet.

    Raises:
        ScenarioError: An entry cannot be parsed.
    """
    loads: list[SlungLoad] = []
    taken: set[str] = set()
    for k, entry in enumerate(filter(None, map(str.strip, text.split(";")))):
        carriers, *words = entry.split()
        those = carriers.split("+")
        if len(words) != len(those) + 1 or len(those) > 2:
            raise ScenarioError(f"load '{entry}' is not allowed: write {_FORM}")
        for name in those:
            if name not in names:
                raise ScenarioError(
                    f"load '{entry}': there is no vehicle '{name}', only {', '.join(names)}"
                )
            if name in taken:
                raise ScenarioError(f"load '{entry}': {name} carries another one already")
            taken.add(name)
        values = [_number(word, entry, *limits) for word, limits in zip(words, _LIMITS)]
        loads.append(SlungLoad(f"load_{k}", tuple(map(names.index, those)), *values))
    return tuple(loads)


def _number(word: str, entry: str, what: str, least: float, most: float, unit: str) -> float:
    try:
        value = float(word)
    except ValueError:
        value = math.nan
    if not least <= value <= most:
        raise ScenarioError(
            f"load '{entry}': {what} '{word}' is not allowed: give {least:g} to {most:g} {unit}"
        )
    return value
