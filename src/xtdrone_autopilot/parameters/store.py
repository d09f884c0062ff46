"""Parameters of the flight stack: those of PX4 v1.15, with its names, types and units.

px4.csv lists all of them with their values for the iris in PX4's simulation;
scripts/make_parameters.py writes it. effects.csv lists those that have an effect here, with another
default or limits where the code needs them. fixed_wing.csv, standard_vtol.csv, tailsitter.csv and
tiltrotor.csv hold the defaults of PX4's airframes 1030, 1040, 1041 and 1042 (and of rc.fw_defaults
and rc.vtol_defaults), except where these models need other values.

Parameters with an effect are fields of one record per vehicle, which compiled control loops read.
The others are only held, so that they can be set, listed, saved and read back.
"""

import csv
import functools
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from xtdrone_core.errors import unknown_name
from xtdrone_core.mavlink.checksum import crc32
from xtdrone_core.runs.snapshot import Memory
from xtdrone_dynamics.abilities.vehicle_type import (
    FIXED_WING,
    HALF_WINGED,
    MULTICOPTER,
    NOT_VTOL,
    STANDARD_VTOL,
    TAILSITTER,
    TILTROTOR,
)

from ..errors import AutopilotError


@dataclass(frozen=True)
class Parameter:
    """One parameter of PX4.

    Attributes:
        name: PX4's name.
        type: int or float, on MAVLink INT32 and REAL32.
        default: Value for the iris in PX4's simulation, unless effects.csv gives another.
        min, max: Range that PX4 recommends; PX4 accepts any value.
        unit: Unit in PX4's notation.
        group, description: From PX4's documentation.
        listed: PX4 uses it in a multirotor, and lists it over MAVLink.
        volatile: PX4 changes it by itself, and leaves it out of the hash.
        effect: Its effect in this flight stack; empty if it is only held.
        active_min, active_max: Limits of the active value, which the flight stack uses.
    """

    name: str
    type: type
    default: float
    min: float
    max: float
    unit: str
    group: str
    description: str
    listed: bool = True
    volatile: bool = False
    effect: str = ""
    active_min: float = -math.inf
    active_max: float = math.inf

    def active(self, value: float) -> float:
        """Returns the active value for a value that is set."""
        return min(max(value, self.active_min), self.active_max)


@functools.cache
def table() -> dict[str, Parameter]:
    """Returns all parameters by name, in PX4's alphabetic order."""
    effects = {row["name"]: row for row in _rows("effects.csv")}
    parameters = {
        row["name"]: _parameter(row, effects.pop(row["name"], {})) for row in _rows("px4.csv")
    }
    if effects:
        raise AutopilotError(f"effects.csv: PX4 has no parameter '{min(effects)}'")
    return parameters


def descriptions() -> dict[str, str]:
    """Returns a line for each parameter, for `xtdrone list`."""
    return {
        p.name: f"{p.default:g}{' ' * bool(p.unit)}{p.unit}: {p.effect or p.description}"
        for p in table().values()
    }


def _rows(name: str) -> list[dict[str, str]]:
    """Returns the rows of a CSV file of this folder."""
    with open(Path(__file__).parent / name, newline="") as file:
        return list(csv.DictReader(file))


def _parameter(row: Mapping[str, str], effect: Mapping[str, str]) -> Parameter:
    """Returns the parameter of a row of px4.csv and its row of effects.csv, which may be empty."""
    kind = int if row["type"] == "int" else float
    low, high = float(row["min"] or "-inf"), float(row["max"] or "inf")
    # Integers select an action, and one outside the range has no meaning.
    active_min, active_max = (low, high) if kind is int else (-math.inf, math.inf)
    return Parameter(
        row["name"],
        kind,
        float(effect.get("default") or row["default"]),
        low,
        high,
        row["unit"],
        row["group"],
        row["description"],
        bool(row["listed"]),
        bool(row["volatile"]),
        effect.get("effect", ""),
        float(effect.get("min") or active_min),
        float(effect.get("max") or active_max),
    )


_MULTIROTOR = (MULTICOPTER, NOT_VTOL)
# File of defaults by vehicle type and VTOL type.
_AIRFRAMES = {
    (FIXED_WING, NOT_VTOL): "fixed_wing.csv",
    (MULTICOPTER, STANDARD_VTOL): "standard_vtol.csv",
    (MULTICOPTER, TAILSITTER): "tailsitter.csv",
    (MULTICOPTER, TILTROTOR): "tiltrotor.csv",
    (MULTICOPTER, HALF_WINGED): "half_wings.csv",
}
# Prefixes of parameters that only vehicles with wings, and only VTOLs, list.
_FIXED_WING_PREFIXES = ("FW_", "LNDFW_", "NPFG_", "RWTO_", "TRIM_")
_VTOL_PREFIXES = ("VT_",)

# A multirotor does not use these, but PX4 reads them to check a mission, and lists them afterwards.
_READ_BY_MISSION_CHECK = frozenset({"FW_LND_ANG", "MIS_TKO_LAND_REQ"})


@functools.cache
def listed(
    mission_checked: bool = False, kind: tuple[int, int] = _MULTIROTOR
) -> dict[str, Parameter]:
    """Returns the parameters that PX4 lists over MAVLink, in the order of their index.

    Args:
        mission_checked: Whether the vehicle has had a mission.
        kind: Vehicle type and VTOL type, from xtdrone_dynamics.abilities.vehicle_type.
    """
    return {
        name: p
        for name, p in table().items()
        if p.listed
        or (mission_checked and name in _READ_BY_MISSION_CHECK)
        or (kind in _AIRFRAMES and name.startswith(_FIXED_WING_PREFIXES))
        or (kind[1] != NOT_VTOL and name.startswith(_VTOL_PREFIXES))
    }


@functools.cache
def dtype() -> np.dtype:
    """Returns the record of active values: int32 or float32 for each parameter with an effect."""
    return np.dtype(
        [(p.name, np.int32 if p.type is int else np.float32) for p in table().values() if p.effect],
        align=True,
    )


@functools.cache
def _columns() -> dict[str, int]:
    """Returns the column of each parameter in ParameterStore.held."""
    return {name: k for k, name in enumerate(table())}


@functools.cache
def _defaults(kind: tuple[int, int] = _MULTIROTOR) -> tuple[np.ndarray, np.ndarray]:
    """Returns the default rows of ParameterStore.values and held, for vehicle and VTOL type."""
    defaults = {name: p.default for name, p in table().items()}
    if kind in _AIRFRAMES:
        for row in _rows(_AIRFRAMES[kind]):
            defaults[row["name"]] = float(row["value"])
    values = np.zeros(1, dtype=dtype())
    for name in values.dtype.names or ():
        values[name] = table()[name].active(defaults[name])
    held = [to_bits(p, defaults[name]) for name, p in table().items()]
    return values, np.array(held, dtype=np.uint32)


def to_bits(parameter: Parameter, value: float) -> int:
    """Returns the four bytes of a value as an integer, as MAVLink and PX4's hash encode it.

    Raises:
        AutopilotError: The value is not finite, or does not fit in 32 bits.
    """
    if math.isfinite(value):
        if parameter.type is int and -(2**31) <= value < 2**31:
            return int(value) & 0xFFFFFFFF
        if parameter.type is float and abs(value) <= _MAX_FLOAT32:
            return int(np.float32(value).view(np.uint32))
    raise AutopilotError(
        f"{parameter.name} = {value:g} is not allowed: give a "
        f"{'whole ' if parameter.type is int else ''}number of 32 bits"
    )


def of_bits(parameter: Parameter, bits: int) -> float:
    """Returns the value of four bytes; the inverse of to_bits()."""
    number = np.uint32(bits).view(np.int32 if parameter.type is int else np.float32)
    return number.item()


_MAX_FLOAT32 = float(np.finfo(np.float32).max)

# Set from the vehicle's model and kept when defaults are restored.
_VEHICLE_PARAMETERS = ("MAV_SYS_ID", "MAV_TYPE", "BAT1_N_CELLS", "BAT1_CAPACITY", "BAT1_R_INTERNAL")


class ParameterStore(Memory):
    """Parameters of a fleet.

    Attributes:
        values: (N,) of dtype(), active values of the parameters with an effect.
        held: (N, P) uint32, bits of the values as they were set, in the order of table().
        mission_checked: (N,) bool, whether the vehicle has had a mission; see listed().
        listeners: Functions that are called with (i, Parameter) after set() changed a value.
    """

    MEMORY = ("values", "held", "mission_checked")

    def __init__(
        self, n: int, vehicle_type: np.ndarray | None = None, vtol_type: np.ndarray | None = None
    ):
        """Starts with the defaults of n vehicles.

        Args:
            n: Number of vehicles.
            vehicle_type: (N,) vehicle types; None = multicopters.
            vtol_type: (N,) VTOL types; None = no VTOLs.
        """
        types = [MULTICOPTER] * n if vehicle_type is None else vehicle_type.tolist()
        vtols = [NOT_VTOL] * n if vtol_type is None else vtol_type.tolist()
        self._kinds = list(zip(types, vtols, strict=True))
        kinds = list(dict.fromkeys(self._kinds))  # few, and NumPy joins records slowly
        rows = [_defaults(kind) for kind in kinds]
        which = np.array([kinds.index(kind) for kind in self._kinds], dtype=int)
        self.values = np.concatenate([_defaults()[0][:0], *(values for values, _ in rows)])[which]
        self.held = np.array([held for _, held in rows]).reshape(len(kinds), -1)[which]
        self.mission_checked = np.zeros(n, dtype=bool)
        self.listeners: list[Callable[[int, Parameter], None]] = []
        self.values["MAV_SYS_ID"] = np.arange(1, n + 1)

    def get(self, i: int, name: str) -> float:
        """Returns the active value of a parameter of vehicle i.

        Raises:
            AutopilotError: There is no such parameter.
        """
        p = parameter(name)
        if p.effect:
            return self.values[i][name].item()
        return of_bits(p, self.held[i, _columns()[name]])

    def reported(self, i: int, name: str) -> float:
        """Returns the value of a parameter as it was set, which may exceed its active limits.

        Raises:
            AutopilotError: There is no such parameter.
        """
        p = parameter(name)
        value = of_bits(p, self.held[i, _columns()[name]])
        if p.effect:
            active = self.values[name][i]
            if active.dtype.type(p.active(value)) != active:
                return active.item()
        return value

    def bits(self, rows: slice = slice(None)) -> np.ndarray:
        """Returns the bits of reported() of all parameters of some vehicles: (N, P) uint32."""
        bits = self.held[rows].copy()
        for name in self.values.dtype.names or ():
            p, active, column = table()[name], self.values[name][rows], bits[:, _columns()[name]]
            limited = np.clip(column.view(active.dtype), p.active_min, p.active_max)
            held = limited.astype(active.dtype) == active
            column[:] = np.where(held, column, active.view(np.uint32))
        return bits

    def set(self, i: int, name: str, value: float) -> float:
        """Sets a parameter of vehicle i, and returns the value that it reports now.

        As in PX4, any finite value is accepted; the active value stays within its limits.

        Raises:
            AutopilotError: There is no such parameter, or the value does not fit in 32 bits.
        """
        p = parameter(name)
        bits = to_bits(p, value)
        value = of_bits(p, bits)
        before = self.reported(i, name)
        self.held[i, _columns()[name]] = bits
        if p.effect:
            self.values[name][i] = p.active(value)
        if value != before:
            for listener in self.listeners:
                listener(i, p)
        return value

    def set_defaults(self, i: int) -> None:
        """Resets vehicle i to the defaults, except its id, type and battery."""
        kept = {name: self.reported(i, name) for name in _VEHICLE_PARAMETERS}
        values, held = _defaults(self._kinds[i])
        self.values[i], self.held[i] = values[0], held
        for name, value in kept.items():
            self.set(i, name, value)

    def listed(self, i: int) -> dict[str, Parameter]:
        """Returns the parameters that vehicle i lists over MAVLink, in the order of their index."""
        return listed(bool(self.mission_checked[i]), self._kinds[i])

    def hash(self, i: int) -> int:
        """Returns PX4's answer to a request for _HASH_CHECK.

        It is the CRC-32, starting from 0 and not inverted at the end, of names and bytes of the
        listed parameters that are not volatile.
        """
        row = self.bits(slice(i, i + 1))[0]
        data = b"".join(
            name.encode() + row[_columns()[name]].tobytes()
            for name, p in self.listed(i).items()
            if not p.volatile
        )
        return crc32(data)


def parameter(name: str) -> Parameter:
    """Returns the parameter of a name.

    Raises:
        AutopilotError: There is no such parameter; the message names the nearest.
    """
    p = table().get(name)
    if p is None:
        raise AutopilotError(unknown_name("parameter", name, table()))
    return p
