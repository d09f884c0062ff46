"""The vehicles of a scenario: types, names and starts, and the texts that stand for them."""

import dataclasses
import math
import os
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from .. import resources
from ..errors import ScenarioError, shown, unknown_name
from .options import Option, checked, number

if TYPE_CHECKING:
    import numpy as np

MAX_FLEET = 10_000  # vehicles of one scenario; MAVLink links allow fewer, see ports.MAX_VEHICLES
_TURN = 100.0  # largest yaw at start, in either direction [rad]
MIN_SPACING = 0.6  # two vehicles may not start closer than this [m]
# Within which a vehicle may start, east and north, and up [m]: the local frame is a plane, and the
# atmosphere's model ends at the tropopause.
FARTHEST = 100e3
HEIGHTS = -500.0, 10e3
GRID_SPACING = 3.0  # spacing of vehicles without a pose of their own [m], as in XTDrone


@dataclass(frozen=True)
class VehicleSpec:
    """One vehicle of a scenario.

    Examples:
        >>> import xtdrone as xd
        >>> xd.VehicleSpec("iris", "leader", (0.0, 0.0, 0.0), yaw=1.57).name
        'leader'
    """

    type: str  # a name from models/, or a path to an SDF file (any os.PathLike is made one)
    name: str  # ROS namespace, for example iris_0
    pos: tuple[float, float, float]  # origin of the model at start, world [m]
    yaw: float = 0.0  # at start, counter-clockwise from east [rad]
    autopilot: str = ""  # flight stack, module:Class or FILE.py:Class; empty: the scenario's
    number: int = -1  # its ports and system id follow from it; -1: its place in the fleet

    def __post_init__(self) -> None:
        if isinstance(self.type, os.PathLike):
            object.__setattr__(self, "type", os.fspath(self.type))


_KEYS = {field.name for field in dataclasses.fields(VehicleSpec)}


class _Entry(NamedTuple):
    """A vehicle of a list."""

    kind: str  # a type, or NAME=TYPE
    pos: Sequence[float] | None = None  # [m]; None = on the grid
    yaw: float | None = None  # [rad]
    counted: bool = True  # NAME is followed by the vehicle's index


# Short forms of `vehicles`, on command lines, in launch files and in YAML.
FLEET = {
    "vehicle": Option(
        "type of every vehicle: a name from models/, or a path to a model; NAME=TYPE "
        "names them NAME_0 and so on",
        names=resources.vehicle_names,
        unset="iris",
    ),
    "n": Option(
        "number of vehicles; with MAVLink links at most 250",
        minimum=1,
        maximum=MAX_FLEET,
        unset="1",
    ),
    "vehicles": Option(
        "mixed fleet instead of vehicle and n: 'iris*4, typhoon_h480*2' or "
        "'iris@0,0,0; NAME=TYPE@3,0,0,1.57'; NAME=TYPE*2 names them NAME_0, NAME_1",
        metavar="LIST",
        unset="n vehicles of that type",
    ),
}


def grid(n: int, spacing: float = GRID_SPACING) -> "np.ndarray":
    """n positions on a square grid on the ground, row by row from the origin: (n, 3) [m]."""
    import numpy as np  # here, so that the command starts at once

    side = max(1, math.ceil(math.sqrt(n)))
    index = np.arange(n)
    return np.stack([index % side * spacing, index // side * spacing, 0.0 * index], axis=1)


def fleet(kind: str, n: int) -> tuple[VehicleSpec, ...]:
    """n vehicles of one type on the grid, named type_0 to type_(n-1); NAME=TYPE names them NAME_0.

    Raises:
        ScenarioError: n outside 1 to MAX_FLEET.
    """
    count = checked("n", int, FLEET["n"], n)
    return _placed([_Entry(kind)] * count)


# A type, or a path, which may have spaces; then a count or a pose.
_ENTRY = re.compile(r"\s*([^*@\s]+|[^*@]*/[^*@]*?)\s*(?:\*\s*(\d+)|@([-+.eE\d\s,]+))?\s*")


def _named(kind: str) -> tuple[str, str]:
    """Returns the name of the vehicles and their type, from NAME=TYPE, a type, or a path."""
    match = re.fullmatch(r"([A-Za-z]\w*)=(.+)", kind)
    if match:
        return match[1], match[2]
    path = Path(kind)
    folder = path if "/" not in kind or path.expanduser().is_dir() else path.parent
    # Folders have names that ROS allows for no topic, as 3dr-iris.
    label = re.sub(r"\W", "_", folder.name, flags=re.ASCII)[:90]
    return label if re.match("[A-Za-z]", label) else f"vehicle_{label}".rstrip("_"), kind


def parse_vehicles(text: str) -> tuple[VehicleSpec, ...]:
    """The vehicles of a list like `iris*4, typhoon_h480*2` or `iris@0,0,0; iris@3,0,0,1.57`.

    Entries are separated by ';' (or by ',' where no entry has a pose). An entry is
    a type, then `*COUNT` or `@X,Y[,Z[,YAW]]` [m, m, m, rad]. A type is a name
    from models/, or a path to an SDF file or a model's folder. Names are type_index, counted over
    the whole list, so that the index is also the MAVLink instance. NAME=TYPE names one vehicle so,
    as `uav0=iris`; of NAME=TYPE*COUNT they are NAME_index, so that `iris=iris_stereo*1` is iris_0.

    Raises:
        ScenarioError: An entry that cannot be read.
    """
    return _placed(_entries(text))


def _entries(text: str) -> list[_Entry]:
    """Each vehicle of a list."""
    entries: list[_Entry] = []
    for entry in re.split(r";" if "@" in text or ";" in text else r",", text):
        match = _ENTRY.fullmatch(entry)
        if not match:
            raise ScenarioError(
                f"cannot read vehicle '{shown(entry)}': write TYPE, TYPE*COUNT or "
                "TYPE@X,Y,Z,YAW, separated by ';'"
            )
        kind, count, pose = match.groups()
        times = (
            1
            if count is None
            else number(f"count in '{shown(entry)}'", count, 1, MAX_FLEET, whole=True)
        )
        try:
            numbers = [float(x) for x in pose.split(",")] if pose else None
        except ValueError:
            numbers = []
        if numbers is not None and not 2 <= len(numbers) <= 4:
            raise ScenarioError(
                f"cannot read the pose in '{entry.strip()}': give X,Y[,Z[,YAW]] in "
                "metres and radians"
            )
        pos = (
            None
            if numbers is None
            else tuple((numbers + [0.0])[:3] if len(numbers) < 3 else numbers[:3])
        )
        yaw = numbers[3] if numbers and len(numbers) == 4 else 0.0
        entries += [_Entry(kind, pos, yaw, count is not None)] * times
        if len(entries) > MAX_FLEET:
            raise ScenarioError(
                f"{len(entries)} vehicles and more are not allowed: give 1 to {MAX_FLEET}"
            )
    return entries


def specs_in(given: object) -> tuple[VehicleSpec, ...]:
    """The vehicles of a text, of one that is a path, or of a sequence of these and of specs."""
    items = [given] if isinstance(given, (str, os.PathLike)) else given
    if not isinstance(items, Iterable):
        raise ScenarioError(
            f"vehicles {shown(given)} are not allowed: give a text such as "
            "'iris*4', or a list of vehicles"
        )
    entries: list[_Entry | VehicleSpec] = []
    for item in items:
        if isinstance(item, VehicleSpec):
            entries.append(item)
        elif isinstance(item, os.PathLike):
            entries.append(_Entry(os.fspath(item)))
        elif isinstance(item, str):
            entries += _entries(item)
        else:
            raise ScenarioError(
                f"vehicle {shown(item)} is not allowed: give a text, a vehicle "
                "composed in Python, or a VehicleSpec"
            )
    placed = iter(
        _placed(
            [
                _Entry(entry.type, entry.pos, entry.yaw)
                if isinstance(entry, VehicleSpec)
                else entry
                for entry in entries
            ]
        )
    )
    return tuple(
        entry if isinstance(entry, VehicleSpec) else spec for entry, spec in zip(entries, placed)
    )


def _placed(entries: Sequence[_Entry]) -> tuple[VehicleSpec, ...]:
    """Specs of entries; those without a pose go on the grid."""
    positions = iter(grid(sum(entry.pos is None for entry in entries)))
    specs = []
    for i, entry in enumerate(entries):
        x, y, z = (float(x) for x in (next(positions) if entry.pos is None else entry.pos))
        label, kind = _named(entry.kind)
        name = f"{label}_{i}" if entry.counted or kind == entry.kind else label
        specs.append(VehicleSpec(kind, name, (x, y, z), entry.yaw or 0.0))
    return tuple(specs)


def _check_pose(vehicle: VehicleSpec) -> None:
    """Refuses a start that is not on this part of the Earth."""
    for axis, value, minimum, maximum in zip(
        ("x", "y", "z", "yaw"),
        (*vehicle.pos, vehicle.yaw),
        (-FARTHEST, -FARTHEST, HEIGHTS[0], -_TURN),
        (FARTHEST, FARTHEST, HEIGHTS[1], _TURN),
    ):
        number(
            f"{axis} of '{vehicle.name}'",
            value,
            minimum,
            maximum,
            unit="rad" if axis == "yaw" else "m",
        )


def specs_of(items: list) -> tuple[VehicleSpec, ...]:
    entries = []
    for item in items:
        if not isinstance(item, dict) or not isinstance(item.get("type"), str):
            raise ScenarioError(
                f"vehicle {shown(item)} has no type: write {{type: iris, pos: [0, 0, 0]}}"
            )
        unknown = set(item) - _KEYS
        if unknown:
            raise ScenarioError(unknown_name("vehicle key", unknown.pop(), _KEYS))
        pos = item.get("pos")
        if pos is not None and not (isinstance(pos, list) and len(pos) == 3):
            raise ScenarioError(f"pos {shown(pos)} of a vehicle must be three numbers [m]")
        entries.append(
            _Entry(
                item["type"],
                pos and [number("pos of a vehicle", x) for x in pos],
                number("yaw of a vehicle", item.get("yaw", 0.0)),
                counted=False,
            )
        )
    own = {"name", "autopilot", "number"}
    return tuple(
        dataclasses.replace(spec, **{key: item[key] for key in own & item.keys()})
        for spec, item in zip(_placed(entries), items)
    )


def plain_vehicle(i: int, values: dict[str, Any]) -> dict[str, Any]:
    """A vehicle for YAML, with autopilot and number where they do not go without saying."""
    plain = {**values, "pos": list(values["pos"])}
    if not plain["autopilot"]:
        del plain["autopilot"]
    if plain["number"] == i:
        del plain["number"]
    return plain


def check_vehicles(vehicles: Sequence[VehicleSpec]) -> None:
    """Refuses vehicles that cannot start side by side.

    Raises:
        ScenarioError: A name, a type or a start that is not allowed, or too many vehicles.
    """
    if not 1 <= len(vehicles) <= MAX_FLEET:
        raise ScenarioError(f"{len(vehicles)} vehicles are not allowed: give 1 to {MAX_FLEET}")
    seen = set()
    for vehicle in vehicles:
        if not (isinstance(vehicle.type, str) and isinstance(vehicle.name, str)):
            raise ScenarioError(
                f"type '{shown(vehicle.type)}' and name '{shown(vehicle.name)}'"
                " of a vehicle are not allowed: give strings"
            )
        if not re.fullmatch(r"[A-Za-z][A-Za-z0-9_]{0,99}", vehicle.name):
            raise ScenarioError(
                f"vehicle name '{shown(vehicle.name)}' is not a ROS name: use "
                "letters, digits and '_', at most 100, the first one a letter"
            )
        if vehicle.name in seen:
            raise ScenarioError(
                f"two vehicles are called '{vehicle.name}': give each a name of its own, or "
                f"write {vehicle.name}=TYPE*1 to have it followed by its number"
            )
        seen.add(vehicle.name)
        _check_pose(vehicle)
    for type_ in {vehicle.type for vehicle in vehicles}:
        resources.vehicle_sdf(type_)
    import numpy as np  # as above

    pos = np.array([vehicle.pos for vehicle in vehicles])
    for i in range(len(pos) - 1):
        gap = np.linalg.norm(pos[i + 1 :] - pos[i], axis=1)
        j = int(np.argmin(gap))
        if gap[j] < MIN_SPACING:
            a, b = vehicles[i].name, vehicles[i + 1 + j].name
            raise ScenarioError(
                f"'{a}' and '{b}' start {gap[j]:.2f} m apart: give poses at "
                f"least {MIN_SPACING} m apart"
            )
