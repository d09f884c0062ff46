"""QGroundControl's .plan files: missions, geofences and rally points as JSON."""

import json
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from xtdrone_core import files, outputs, resources
from xtdrone_core.errors import shown
from xtdrone_core.mavlink.dialect import mavlink
from xtdrone_core.scenario.options import number
from xtdrone_core.scenario.vehicles import MAX_FLEET
from xtdrone_dynamics.earth.geodesy import to_geodetic, to_local

from ..errors import AutopilotError
from .mission_items import (
    CIRCLE_EXCLUSION,
    CIRCLE_INCLUSION,
    DO_JUMP,
    FENCE,
    HIGHEST,
    MISSION,
    PLACED,
    POLYGON_EXCLUSION,
    POLYGON_INCLUSION,
    RALLY,
    RALLY_POINT,
    RETURN_POINT,
    Item,
    check_all,
    check_item,
    from_degrees,
    polygons,
)

_RELATIVE = mavlink.MAV_FRAME_GLOBAL_RELATIVE_ALT
_GEOGRAPHIC = frozenset(
    {
        mavlink.MAV_FRAME_GLOBAL,
        mavlink.MAV_FRAME_GLOBAL_INT,
        _RELATIVE,
        mavlink.MAV_FRAME_GLOBAL_RELATIVE_ALT_INT,
    }
)
_MAX = 16 << 20  # largest file, which is read in a second [bytes]
_FLOAT_MAX = 3.4028234e38
_NO_PLACE = 0x7FFFFFFF


@dataclass(frozen=True)
class Plan:
    """Contents of a .plan file."""

    items: dict[int, list[Item]] = field(
        default_factory=dict
    )  # MISSION, FENCE, RALLY of mission_items -> list
    home: tuple[float, float, float] | None = (
        None  # planned: latitude, longitude [deg], height [m]; None = not given
    )


def load(path: Path | str) -> Plan:
    """Reads and checks a .plan file; a name alone is one from docs/missions.

    Args:
        path: The file; it may have items for VTOLs.

    Raises:
        AutopilotError: No such file, not a plan, or an item that no vehicle can fly.
    """
    path = resources.mission_plan(path)
    data = files.read_json(path, "plan", _MAX, AutopilotError)
    if not isinstance(data, dict) or data.get("fileType") != "Plan":
        raise AutopilotError(f"'{shown(path)}' is not a plan: its fileType has to be 'Plan'")
    try:
        mission = data.get("mission") or {}
        plan = Plan(
            {
                MISSION: _mission(mission.get("items", ())),
                FENCE: _fence(data.get("geoFence") or {}),
                RALLY: _rally(data.get("rallyPoints") or {}),
            },
            _home(mission.get("plannedHomePosition")),
        )
    except (KeyError, TypeError, ValueError, IndexError, AttributeError, OverflowError) as error:
        raise AutopilotError(
            f"cannot read plan '{shown(path)}': {type(error).__name__} "
            f"{shown(error)}; save it again in QGroundControl"
        ) from error
    for kind, items in plan.items.items():
        for seq, item in enumerate(items):
            check_item(kind, seq, item)
        check_all(kind, items)
    return plan


def descriptions() -> dict[str, str]:
    """A line on each plan of docs/missions, for `xtdrone list`."""
    counts = {name: load(name).items for name in resources.mission_names()}
    return {
        name: f"{len(items[MISSION])} mission items, {len(items[FENCE])} of the geofence, "
        f"{len(items[RALLY])} rally points"
        for name, items in counts.items()
    }


def _home(values: Sequence[float | None] | None) -> tuple[float, float, float] | None:
    if values is None:
        return None
    latitude, longitude, height = (0.0 if value is None else float(value) for value in values)
    if abs(latitude) > 90 or abs(longitude) > 180 or not abs(height) <= HIGHEST:
        raise ValueError("plannedHomePosition is not on Earth")
    return latitude, longitude, height


def _number(value: float | None) -> float:
    """A parameter of an item, which MAVLink carries in 32 bits; NaN for none."""
    number = math.nan if value is None else float(value)
    if abs(number) > _FLOAT_MAX:
        raise ValueError(f"{number:g} is too large")
    return number


def _simple_items(entries: Iterable[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Yields the simple items of a list, those inside surveys and corridors too."""
    for entry in entries:
        if entry["type"] == "SimpleItem":
            yield entry
            continue
        inner = entry.get("TransectStyleComplexItem", entry).get("Items")
        if inner is None:
            kind = shown(entry.get("complexItemType", entry["type"]))
            raise AutopilotError(
                f"plan item '{kind}' is not for multirotors: take it out of the plan"
            )
        yield from _simple_items(inner)


def _mission(entries: Iterable[dict[str, Any]]) -> list[Item]:
    entries = list(_simple_items(entries))
    number = {entry["doJumpId"]: seq for seq, entry in enumerate(entries) if "doJumpId" in entry}
    items = []
    for seq, entry in enumerate(entries):
        p = [_number(value) for value in entry["params"]]
        command = int(entry["command"])
        if command == DO_JUMP:
            if p[0] not in number:
                raise AutopilotError(
                    f"mission item {seq} of the plan jumps to item {p[0]:g}, which does not exist"
                )
            p[0] = float(number[p[0]])
        item = Item(
            command,
            int(entry["frame"]),
            tuple(p[:4]),
            0,
            0,
            p[6],
            int(entry.get("autoContinue", True)),
        )
        if item.frame in _GEOGRAPHIC:
            item = from_degrees(item, p[4], p[5])
        else:
            x, y = (int(value) if abs(value) < 2**31 else 0 for value in p[4:6])
            item = Item(command, item.frame, item.params, x, y, p[6], item.autocontinue)
        items.append(item)
    return items


def _placed(
    command: int, params: tuple[float, ...], latitude: float, longitude: float, height: float = 0.0
) -> Item:
    item = Item(command, _RELATIVE, params, 0, 0, float(height))
    return from_degrees(item, float(latitude), float(longitude))


def _fence(data: Mapping[str, Any]) -> list[Item]:
    items = []
    for polygon in data.get("polygons", ()):
        command = POLYGON_INCLUSION if polygon["inclusion"] else POLYGON_EXCLUSION
        params = (float(len(polygon["polygon"])), 0.0, 0.0, 0.0)
        items += [_placed(command, params, *vertex[:2]) for vertex in polygon["polygon"]]
    for circle in data.get("circles", ()):
        command = CIRCLE_INCLUSION if circle["inclusion"] else CIRCLE_EXCLUSION
        params = (float(circle["circle"]["radius"]), 0.0, 0.0, 0.0)
        items.append(_placed(command, params, *circle["circle"]["center"][:2]))
    if data.get("breachReturn"):
        items.append(_placed(RETURN_POINT, (0.0,) * 4, *data["breachReturn"]))
    return items


def _rally(data: Mapping[str, Any]) -> list[Item]:
    return [_placed(RALLY_POINT, (0.0,) * 4, *point) for point in data.get("points", ())]


def save(path: Path | str, plan: Plan) -> None:
    """Writes a .plan file that QGroundControl opens.

    Raises:
        AutopilotError: The file cannot be written, or is there and no plan.
    """
    data = {
        "fileType": "Plan",
        "version": 1,
        "groundStation": "QGroundControl",
        "mission": {
            "version": 2,
            "firmwareType": mavlink.MAV_AUTOPILOT_PX4,
            "vehicleType": mavlink.MAV_TYPE_QUADROTOR,
            "cruiseSpeed": 15,
            "hoverSpeed": 5,
            "globalPlanAltitudeMode": 1,
            "plannedHomePosition": list(plan.home or _first_place(plan)),
            "items": [_entry(seq, item) for seq, item in enumerate(plan.items.get(MISSION, ()))],
        },
        "geoFence": _fence_entries(plan.items.get(FENCE, ())),
        "rallyPoints": {
            "version": 2,
            "points": [[*_degrees(item), item.z] for item in plan.items.get(RALLY, ())],
        },
    }
    path = outputs.free_for(
        path, "plan", lambda ends: b'"fileType": "Plan"' in ends, AutopilotError
    )
    try:
        path.write_text(json.dumps(data, indent=4, allow_nan=False) + "\n")
    except OSError as error:
        raise AutopilotError(f"cannot write plan '{path}': {error.strerror}") from error


def _degrees(item: Item) -> tuple[float, float]:
    return round(item.x * 1e-7, 7), round(item.y * 1e-7, 7)


def _first_place(plan: Plan) -> tuple[float, float, float]:
    for item in plan.items.get(MISSION, ()):
        if item.command in PLACED and item.has_place:
            return *_degrees(item), 0.0
    return 0.0, 0.0, 0.0


def _json(value: float) -> float | None:
    return value if math.isfinite(value) else None


def _entry(seq: int, item: Item) -> dict[str, Any]:
    params: list[float | None] = [_json(value) for value in item.params]
    if item.command == DO_JUMP:
        params[0] = int(item.params[0]) + 1  # the file counts from 1
    if item.frame in _GEOGRAPHIC:
        params += [None if v == _NO_PLACE else round(v * 1e-7, 7) for v in (item.x, item.y)]
    else:
        params += [item.x, item.y]
    return {
        "type": "SimpleItem",
        "autoContinue": bool(item.autocontinue),
        "command": item.command,
        "doJumpId": seq + 1,
        "frame": item.frame,
        "params": [*params, _json(item.z)],
    }


def _fence_entries(items: Sequence[Item]) -> dict[str, Any]:
    out: dict[str, Any] = {"version": 2, "polygons": [], "circles": []}
    for inclusion, group in polygons(list(items)):
        out["polygons"].append(
            {
                "version": 1,
                "inclusion": inclusion,
                "polygon": [list(_degrees(item)) for item in group],
            }
        )
    for item in items:
        if item.command in (CIRCLE_INCLUSION, CIRCLE_EXCLUSION):
            out["circles"].append(
                {
                    "version": 1,
                    "inclusion": item.command == CIRCLE_INCLUSION,
                    "circle": {"center": list(_degrees(item)), "radius": item.params[0]},
                }
            )
        elif item.command == RETURN_POINT:
            out["breachReturn"] = [*_degrees(item), item.z]
    return out


def of_fleet(text: str, starts: Sequence[Sequence[float]], origin: Sequence[float]) -> list[Plan]:
    """The plan of each vehicle of a fleet.

    A single plan is for all vehicles, each one's moved by its start relative to the first one.
    Plans separated by commas are one for each vehicle, as they are written; PLAN*COUNT is that plan
    for COUNT vehicles, each one's moved from the planned home to its start.

    Args:
        text: As in the option `mission`.
        starts: (N, 2 or more) where the vehicles start, world [m].
        origin: Latitude, longitude [rad] and more of the world's origin.

    Raises:
        XtdroneError: A plan that cannot be read or moved, or not one for each vehicle.
    """
    entries = [_counted(entry) for entry in text.split(",")]
    if len(entries) == 1 and entries[0][1] is None:
        plan = load(entries[0][0])
        return [_moved(plan, x - starts[0][0], y - starts[0][1]) for x, y, *_ in starts]
    total = sum(count or 1 for _, count in entries)
    if total != len(starts):
        raise AutopilotError(
            f"{total} plans for {len(starts)} vehicles: give one for all, or one "
            "for each, as in 'square*3, plane'"
        )
    plans: list[Plan] = []
    for name, count in entries:
        plan = load(name)
        if count is None:
            plans.append(plan)
            continue
        east, north = _home_in(plan, name, origin)
        plans += [
            _moved(plan, x - east, y - north)
            for x, y, *_ in starts[len(plans) : len(plans) + count]
        ]
    return plans


def _counted(entry: str) -> tuple[str, int | None]:
    """A plan and how often it is repeated, None where that is not said."""
    match = re.fullmatch(r"\s*([^*]*[^*\s])\s*(?:\*\s*(\d+)\s*)?", entry)
    if not match:
        raise AutopilotError(
            f"cannot read plan '{shown(entry.strip())}': write PLAN or PLAN*COUNT, separated by ','"
        )
    if match[2] is None:
        return match[1], None
    return match[1], number(
        f"count in '{shown(entry.strip())}'", match[2], 1, MAX_FLEET, whole=True
    )


def _home_in(plan: Plan, name: str, origin: Sequence[float]) -> tuple[float, float]:
    """Planned home of a plan, east and north of the world's origin [m]."""
    if plan.home is None:
        raise AutopilotError(
            f"plan '{shown(name)}' has no plannedHomePosition to be moved from: "
            "save it with one in QGroundControl, or give a plan for each vehicle"
        )
    east, north, *_ = to_local(math.radians(plan.home[0]), math.radians(plan.home[1]), *origin[:2])
    return east, north


def _moved(plan: Plan, east: float, north: float) -> Plan:
    return replace(plan, items=shifted(plan.items, east, north))


def shifted(items: dict, east: float, north: float) -> dict:
    """Returns the items with every position moved by east and north [m]."""

    def moved(item: Item) -> Item:
        if item.frame not in _GEOGRAPHIC or not item.has_place:
            return item
        here = math.radians(item.x * 1e-7), math.radians(item.y * 1e-7)
        lat, lon = to_geodetic(east, north, *here)
        return from_degrees(item, math.degrees(lat), math.degrees(lon))

    return {kind: [moved(item) for item in group] for kind, group in items.items()}
