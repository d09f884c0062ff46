"""The parameters of the flight stack: PX4's names, types and units where the meaning is PX4's.

The table is parameters.csv. Names that begin with XT_ are ours, where PX4's own
has another meaning. Values live in one structured array over the fleet, which
the compiled control loops read directly.
"""

import csv
import functools
import math
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from xtdrone_core.errors import unknown_name
from xtdrone_core.snapshot import Memory

from ..errors import AutopilotError


@dataclass(frozen=True)
class Parameter:
    """One row of parameters.csv."""

    name: str
    type: type  # int or float, as on MAVLink (INT32, REAL32)
    default: float
    min: float
    max: float
    unit: str
    description: str


@functools.cache
def table() -> dict[str, Parameter]:
    """Every parameter by name, in the order of its index on MAVLink (alphabetic, as PX4's)."""
    with open(Path(__file__).parent / "parameters.csv", newline="") as file:
        rows = sorted(csv.DictReader(file), key=lambda row: row["name"])
    kinds = {"int": int, "float": float}
    return {row["name"]: Parameter(row["name"], kinds[row["type"]], float(row["default"]),
                                   float(row["min"]), float(row["max"]), row["unit"],
                                   row["description"]) for row in rows}


@functools.cache
def dtype() -> np.dtype:
    """The record of one vehicle's parameters: a field of each name, int32 or float32."""
    return np.dtype([(p.name, np.int32 if p.type is int else np.float32)
                     for p in table().values()], align=True)


# From the vehicle's own file; its defaults differ from the table's.
_OF_THE_VEHICLE = frozenset({"MAV_SYS_ID", "MAV_TYPE", "BAT1_N_CELLS", "BAT1_CAPACITY",
                             "BAT1_R_INTERNAL"})


class ParameterStore(Memory):
    """Parameters of a fleet: `values` is a record array (N,) with a field for each name."""

    MEMORY = ("values",)

    def __init__(self, n: int):
        self.values = np.zeros(n, dtype=dtype())
        for p in table().values():
            self.values[p.name] = p.default
        self.values["MAV_SYS_ID"] = np.arange(1, n + 1)

    def get(self, i: int, name: str) -> float:
        """The value of one parameter of vehicle i.

        Raises:
            AutopilotError: No such parameter.
        """
        if name not in table():
            raise AutopilotError(unknown_name("parameter", name, table()))
        return self.values[i][name].item()

    def set(self, i: int, name: str, value: float) -> float:
        """Sets a parameter of vehicle i and returns the value that is now in force.

        Raises:
            AutopilotError: No such parameter, or a value out of its range.
        """
        if name not in table():
            raise AutopilotError(unknown_name("parameter", name, table()))
        p = table()[name]
        if not math.isfinite(value) or not p.min <= value <= p.max:
            raise AutopilotError(f"{name} = {value:g} is not allowed: give {p.min:g} to "
                                 f"{p.max:g} {p.unit}".rstrip())
        self.values[name][i] = p.type(value)
        return self.get(i, name)

    def set_defaults(self, i: int) -> None:
        """Resets vehicle i to the defaults, except its id, type and battery."""
        for p in table().values():
            if p.name not in _OF_THE_VEHICLE:
                self.values[p.name][i] = p.default
