"""Disturbances of a vehicle in flight: payload, draining tank, broken rotor, battery's charge.

A list is a string with entries separated by ';'. An entry is a simulated time [s], a colon,
the kind of disturbance, the vehicle's name, and values:

    12: payload iris_0 0.3            attaches a mass [kg] to the vehicle; 0 removes it
    12: payload iris_0 0.3 0,0,-0.1   the same, offset from the centre of gravity, body [m]
    15: drain iris_0 0.02             the payload loses this much [kg/s] until it is gone
    20: rotor iris_0 2 0.0            rotor 2 gives this fraction of its forces, 0 to 1
    25: charge iris_0 0.1             state of charge of the battery, 0 to 1

The flight stack is not informed of any of them.
"""

import math
from collections.abc import Collection
from dataclasses import dataclass

from ..errors import ScenarioError, unknown_name

_FORMS = {
    "payload": "payload NAME MASS [X,Y,Z]",
    "drain": "drain NAME RATE",
    "rotor": "rotor NAME INDEX SHARE",
    "charge": "charge NAME CHARGE",
}
_MAX = {"payload": 1000.0, "drain": 1000.0, "rotor": 1.0, "charge": 1.0}  # value
_FARTHEST = 100.0  # offset of a payload [m]


@dataclass(frozen=True)
class Disturbance:
    """One disturbance of one vehicle."""

    t_us: int  # simulated time at which it takes effect [us]
    kind: str  # payload, drain, rotor or charge
    vehicle: int  # its index
    value: float  # mass [kg], rate [kg/s], fraction of the forces, state of charge
    pos: tuple[float, float, float] = (0.0, 0.0, 0.0)  # position of a payload, body FLU [m]
    rotor: int = -1  # index of the rotor that breaks


def parse_disturbances(text: str, names: Collection[str]) -> tuple[Disturbance, ...]:
    """The disturbances of a list, in the order of their times.

    Args:
        text: Entries as above; empty for none.
        names: Names of the vehicles, in the order of the fleet.

    Raises:
        ScenarioError: An entry cannot be parsed.
    """
    disturbances: list[Disturbance] = []
    for entry in filter(None, map(str.strip, text.split(";"))):
        when, colon, rest = entry.partition(":")
        t = _number(when, entry) if colon else math.nan
        if not 0.0 <= t < 1e9:
            raise ScenarioError(
                f"disturbance '{entry}' has no time: write for example '12: {entry}'"
            )
        disturbances.append(parse_disturbance(rest, names, round(t * 1e6)))
    return tuple(sorted(disturbances, key=lambda each: each.t_us))


def parse_disturbance(text: str, names: Collection[str], t_us: int) -> Disturbance:
    """One entry without its time.

    Args:
        text: For example `rotor iris_0 2 0.5`.
        names: Names of the vehicles, in the order of the fleet.
        t_us: When it takes effect [us].

    Raises:
        ScenarioError: It cannot be parsed.
    """
    fields = text.split()
    kind = fields[0] if fields else ""
    if kind not in _FORMS:
        raise ScenarioError(unknown_name("disturbance", kind, _FORMS))
    wanted = {"rotor": (4,), "payload": (3, 4)}.get(kind, (3,))
    if len(fields) not in wanted:
        raise ScenarioError(f"cannot read disturbance '{text.strip()}': write {_FORMS[kind]}")
    if fields[1] not in names:
        raise ScenarioError(unknown_name("vehicle", fields[1], names))
    vehicle, rotor = list(names).index(fields[1]), -1
    pos: tuple[float, ...] = (0.0, 0.0, 0.0)
    value = _number(fields[3] if kind == "rotor" else fields[2], text)
    if kind == "rotor":
        if not (fields[2].isdecimal() and len(fields[2]) < 4):
            raise ScenarioError(
                f"rotor '{fields[2]}' of disturbance '{text.strip()}' is not a "
                "number: rotors count from 0"
            )
        rotor = int(fields[2])
    elif len(fields) == 4:
        pos = tuple(_number(x, text) for x in fields[3].split(","))
        if len(pos) != 3:
            raise ScenarioError(
                f"offset '{fields[3]}' of disturbance '{text.strip()}' is not X,Y,Z [m]"
            )
    top = _MAX[kind]
    if not 0.0 <= value <= top:
        raise ScenarioError(
            f"disturbance '{text.strip()}' has the value {value:g}: give a number from 0 to {top:g}"
        )
    if max(map(abs, pos)) > _FARTHEST:
        raise ScenarioError(
            f"offset '{fields[3]}' of disturbance '{text.strip()}' is more than "
            f"{_FARTHEST:g} m from the vehicle"
        )
    return Disturbance(t_us, kind, vehicle, value, (pos[0], pos[1], pos[2]), rotor)


def _number(word: str, entry: str) -> float:
    try:
        value = float(word)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise ScenarioError(f"'{word.strip()}' in disturbance '{entry.strip()}' is not a number")
    return value
