"""The parameters of the flight stack: those of PX4 v1.15, by its names, types and units.

px4.csv holds all of them with their values for the iris in PX4's simulation;
scripts/make_parameters.py writes it. effects.csv names those that do something here, with a
default where it differs, and limits where the code needs them. fixed_wing.csv, standard_vtol.csv,
tailsitter.csv and tiltrotor.csv have the defaults of PX4's airframes 1030, 1040, 1041 and 1042 (and
of rc.fw_defaults and rc.vtol_defaults), but for what these models need otherwise.
Their values in force live in one structured array over the fleet, which the compiled control loops
read directly. The others are held, so that they can be set, listed, saved and read back.
"""

import csv
import functools
import math
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from xtdrone_core.errors import unknown_name
from xtdrone_core.mavlink.checksum import crc32
from xtdrone_core.runs.snapshot import Memory
from xtdrone_dynamics.abilities.vehicle_type import (
    FIXED_WING,
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
        type: int or float, as on MAVLink (INT32, REAL32).
        default: Its value in an iris of PX4's simulation, if effects.csv names no other.
        min, max: The range that PX4 recommends; it takes any value.
        group, description: Of PX4's documentation.
        listed: PX4 uses it in a multirotor, and lists it over MAVLink.
        volatile: PX4 changes it by itself, and leaves it out of the hash.
        effect: What it does in this flight stack; empty where it is only held.
        least, most: Limits of the value in force.
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
    least: float = -math.inf
    most: float = math.inf

    def in_force(self, value: float) -> float:
        """The value that is used where this one is set."""
        return min(max(value, self.least), self.most)


@functools.cache
def table() -> dict[str, Parameter]:
    """Every parameter by name, in alphabetic order as PX4 has them."""
    effects = {row["name"]: row for row in _rows("effects.csv")}
    found = {row["name"]: _parameter(row, effects.pop(row["name"], {})) for row in _rows("px4.csv")}
    if effects:
        raise AutopilotError(f"effects.csv: PX4 has no parameter '{min(effects)}'")
    return found


def descriptions() -> dict[str, str]:
    """A line on each parameter, for `xtdrone list`."""
    return {
        p.name: f"{p.default:g}{' ' * bool(p.unit)}{p.unit}: {p.effect or p.description}"
        for p in table().values()
    }


def _rows(name):
    with open(Path(__file__).parent / name, newline="") as file:
        return list(csv.DictReader(file))


def _parameter(row, effect):
    kind = {"int": int, "float": float}[row["type"]]
    low, high = float(row["min"] or "-inf"), float(row["max"] or "inf")
    # Whole numbers choose between actions: one outside of the range has no meaning.
    least, most = (low, high) if kind is int else (-math.inf, math.inf)
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
        float(effect.get("least") or least),
        float(effect.get("most") or most),
    )


_MULTIROTOR = (MULTICOPTER, NOT_VTOL)
# Defaults of a vehicle type and VTOL type.
_AIRFRAMES = {
    (FIXED_WING, NOT_VTOL): "fixed_wing.csv",
    (MULTICOPTER, STANDARD_VTOL): "standard_vtol.csv",
    (MULTICOPTER, TAILSITTER): "tailsitter.csv",
    (MULTICOPTER, TILTROTOR): "tiltrotor.csv",
}
_OF_FIXED_WINGS = ("FW_", "LNDFW_", "NPFG_", "RWTO_", "TRIM_")  # listed in what has wings
_OF_VTOLS = ("VT_",)

# Of no use in a multirotor; PX4 reads them where it checks a mission, and lists them from then on.
_READ_BY_MISSION_CHECK = frozenset({"FW_LND_ANG", "MIS_TKO_LAND_REQ"})


@functools.cache
def listed(
    mission_checked: bool = False, kind: tuple[int, int] = _MULTIROTOR
) -> dict[str, Parameter]:
    """Those that PX4 lists over MAVLink, in the order of their index: in use in the vehicle.

    Args:
        mission_checked: Whether the vehicle has had a mission.
        kind: Vehicle type and VTOL type, of xtdrone_dynamics.abilities.vehicle_type.
    """
    return {
        name: p
        for name, p in table().items()
        if p.listed
        or (mission_checked and name in _READ_BY_MISSION_CHECK)
        or (kind in _AIRFRAMES and name.startswith(_OF_FIXED_WINGS))
        or (kind[1] != NOT_VTOL and name.startswith(_OF_VTOLS))
    }


@functools.cache
def dtype() -> np.dtype:
    """The record of one vehicle's parameters in force: int32 or float32 for each with an effect."""
    return np.dtype(
        [(p.name, np.int32 if p.type is int else np.float32) for p in table().values() if p.effect],
        align=True,
    )


@functools.cache
def _columns() -> dict[str, int]:
    return {name: k for k, name in enumerate(table())}


@functools.cache
def _defaults(kind: tuple[int, int] = _MULTIROTOR) -> tuple[np.ndarray, np.ndarray]:
    """One row of values, and one of held, of a vehicle type and VTOL type."""
    found = {name: p.default for name, p in table().items()}
    if kind in _AIRFRAMES:
        for row in _rows(_AIRFRAMES[kind]):
            found[row["name"]] = float(row["value"])
    values = np.zeros(1, dtype=dtype())
    for name in dtype().names:
        values[name] = table()[name].in_force(found[name])
    held = [to_bits(p, found[name]) for name, p in table().items()]
    return values, np.array(held, dtype=np.uint32)


def to_bits(p: Parameter, value: float) -> int:
    """A value as the four bytes that MAVLink and PX4's hash have of it.

    Raises:
        AutopilotError: It is not finite, or beyond 32 bits.
    """
    if math.isfinite(value):
        if p.type is int and -(2**31) <= value < 2**31:
            return int(value) & 0xFFFFFFFF
        if p.type is float and abs(value) <= _LARGEST:
            return int(np.float32(value).view(np.uint32))
    raise AutopilotError(
        f"{p.name} = {value:g} is not allowed: give a "
        f"{'whole ' if p.type is int else ''}number of 32 bits"
    )


def of_bits(p: Parameter, bits: int) -> float:
    """The value of these four bytes; the inverse of to_bits()."""
    number = np.uint32(bits).view(np.int32 if p.type is int else np.float32)
    return number.item()


_LARGEST = float(np.finfo(np.float32).max)

# From the vehicle's own file; its defaults differ from the table's.
_OF_THE_VEHICLE = ("MAV_SYS_ID", "MAV_TYPE", "BAT1_N_CELLS", "BAT1_CAPACITY", "BAT1_R_INTERNAL")


class ParameterStore(Memory):
    """Parameters of a fleet.

    Attributes:
        values: Record array (N,), in force: a field for each name with an effect.
        held: (N, P) uint32, as they were set: the bits of each name of table().
        mission_checked: (N,) bool, whether the vehicle has had a mission; see listed().
        listeners: Called with (i, Parameter) when set() has changed a value.
    """

    MEMORY = ("values", "held", "mission_checked")

    def __init__(
        self, n: int, vehicle_type: np.ndarray | None = None, vtol_type: np.ndarray | None = None
    ):
        """The defaults of n vehicles.

        Args:
            n: Their number.
            vehicle_type: (N,) of each, None = multicopters.
            vtol_type: (N,) of each, None = no VTOLs.
        """
        types = [MULTICOPTER] * n if vehicle_type is None else vehicle_type.tolist()
        vtols = [NOT_VTOL] * n if vtol_type is None else vtol_type.tolist()
        self._kinds = list(zip(types, vtols, strict=True))
        rows = [_defaults(kind) for kind in self._kinds]
        self.values = np.concatenate([_defaults()[0][:0], *(values for values, _ in rows)])
        self.held = np.array([held for _, held in rows]).reshape(n, -1)
        self.mission_checked = np.zeros(n, dtype=bool)
        self.listeners: list[Callable[[int, Parameter], None]] = []
        self.values["MAV_SYS_ID"] = np.arange(1, n + 1)

    def get(self, i: int, name: str) -> float:
        """The value of one parameter of vehicle i that is in force.

        Raises:
            AutopilotError: No such parameter.
        """
        p = parameter(name)
        if p.effect:
            return self.values[i][name].item()
        return of_bits(p, self.held[i, _columns()[name]])

    def reported(self, i: int, name: str) -> float:
        """The value of one parameter as it was set, which may be beyond what is in force.

        Raises:
            AutopilotError: No such parameter.
        """
        p = parameter(name)
        value = of_bits(p, self.held[i, _columns()[name]])
        if p.effect:
            used = self.values[name][i]
            if used.dtype.type(p.in_force(value)) != used:
                return used.item()
        return value

    def bits(self, rows: slice = slice(None)) -> np.ndarray:
        """What reported() gives of all parameters of some vehicles: (N, P) uint32, as held."""
        found = self.held[rows].copy()
        for name in self.values.dtype.names:
            p, used, column = table()[name], self.values[name][rows], found[:, _columns()[name]]
            limited = np.clip(column.view(used.dtype), p.least, p.most).astype(used.dtype)
            column[:] = np.where(limited == used, column, used.view(np.uint32))
        return found

    def set(self, i: int, name: str, value: float) -> float:
        """Sets a parameter of vehicle i and returns the value that it now reports.

        Any finite value is accepted, as in PX4; what is in force stays within the parameter's
        limits.

        Raises:
            AutopilotError: No such parameter, or a value that is no number of 32 bits.
        """
        p = parameter(name)
        bits = to_bits(p, value)
        value = of_bits(p, bits)
        before = self.reported(i, name)
        self.held[i, _columns()[name]] = bits
        if p.effect:
            self.values[name][i] = p.in_force(value)
        if value != before:
            for tell in self.listeners:
                tell(i, p)
        return value

    def set_defaults(self, i: int) -> None:
        """Resets vehicle i to the defaults, except its id, type and battery."""
        kept = {name: self.reported(i, name) for name in _OF_THE_VEHICLE}
        values, held = _defaults(self._kinds[i])
        self.values[i], self.held[i] = values[0], held
        for name, value in kept.items():
            self.set(i, name, value)

    def listed(self, i: int) -> dict[str, Parameter]:
        """Those that vehicle i lists over MAVLink, in the order of their index."""
        return listed(bool(self.mission_checked[i]), self._kinds[i])

    def hash(self, i: int) -> int:
        """What PX4 answers to a request for _HASH_CHECK.

        The CRC-32 of PX4, which begins with 0 and is not inverted at the end, over names and
        bytes of the listed parameters that are not volatile.
        """
        row = self.bits(slice(i, i + 1))[0]
        data = b"".join(
            name.encode() + row[_columns()[name]].tobytes()
            for name, p in self.listed(i).items()
            if not p.volatile
        )
        return crc32(data)


def parameter(name: str) -> Parameter:
    """One parameter of the table.

    Raises:
        AutopilotError: No such parameter; the message names the nearest.
    """
    found = table().get(name)
    if found is None:
        raise AutopilotError(unknown_name("parameter", name, table()))
    return found
