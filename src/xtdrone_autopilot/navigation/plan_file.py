"""QGroundControl's .plan files: missions, geofences and rally points as JSON; and text missions."""

import json
import logging
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from xtdrone_core import files, outputs, resources
from xtdrone_core.errors import shown
from xtdrone_core.mavlink.dialect import mavlink

from ..errors import AutopilotError
from . import waypoint_file
from .complex_items import Entry, expanded
from .mission_items import (
    CIRCLE_EXCLUSION,
    CIRCLE_INCLUSION,
    DO_JUMP,
    FENCE,
    FENCE_ITEMS,
    GEOGRAPHIC,
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
_MAX = 16 << 20  # largest file, which is read in a second [bytes]
_FLOAT_MAX = 3.4028234e38
_NO_PLACE = 0x7FFFFFFF


# Versions that QGroundControl reads; what it skips is read by no one any more.
_VERSION, _MISSION_VERSION, _SECTION_VERSION, _SKIPPED_VERSION, _SHAPE_VERSION = 1, 2, 2, 1, 1
_HOME_NOTE = "row 0 of the file is its home position; items are counted from row 1, as 0, 1, ..."
_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Plan:
    """Contents of a .plan file, or of a text mission.

    Attributes:
        items: The items of each kind: MISSION, FENCE and RALLY of mission_items.
        home: Where it is planned from: latitude, longitude [deg], height [m]; None = not given.
        note: What a user should know of how it was read.
        mav_type: MAV_TYPE of the vehicle that it was planned for; None = not given.
    """

    items: dict[int, list[Item]] = field(default_factory=dict)
    home: tuple[float, float, float] | None = None
    note: str = ""
    mav_type: int | None = None


def load(path: Path | str) -> Plan:
    """Reads and checks a .plan file or text mission; a name alone is one from docs/missions.

    Args:
        path: The file; it may have items for VTOLs.

    Raises:
        AutopilotError: No such file, not a plan, or an item that no vehicle can fly.
    """
    path = resources.mission_plan(path)
    name = f"plan '{shown(path)}'"
    text = files.read_text(path, "plan", _MAX, AutopilotError)
    try:
        if waypoint_file.is_waypoint_file(text):
            plan = _of_rows(*waypoint_file.read(text, str(path)))
        else:
            plan = _of_data(files.parse_json(text, name, AutopilotError), name)
    except (KeyError, TypeError, ValueError, IndexError, AttributeError, OverflowError) as error:
        raise AutopilotError(
            f"cannot read {name}: {type(error).__name__} "
            f"{shown(error)}; save it again in QGroundControl"
        ) from error
    for kind, items in plan.items.items():
        for seq, item in enumerate(items):
            check_item(kind, seq, item)
        check_all(kind, items)
    return plan


def _of_data(data: object, name: str) -> Plan:
    """The plan of the plain data of a .plan file, or of a .mission file before it."""
    if isinstance(data, dict) and "fileType" not in data and "items" in data:
        return _of_old_mission(data, name)
    if not isinstance(data, dict) or data.get("fileType") != "Plan":
        raise AutopilotError(f"{name} is not a plan: its fileType has to be 'Plan'")
    station = data.get("groundStation", "")
    if not isinstance(station, str):
        raise AutopilotError(f"{name}: its groundStation is {shown(station)!r}, give a text")
    if "version" not in data:
        raise AutopilotError(f"{name} has no version: {_VERSION} is supported")
    _check_version(data, name, _VERSION)
    mission = _section(data, "mission", name)
    _check_version(mission, f"{name}, mission", _MISSION_VERSION)
    return Plan(
        {
            MISSION: _mission(mission.get("items", ())),
            FENCE: _fence(_shapes(data, "geoFence", name), name),
            RALLY: _rally(_shapes(data, "rallyPoints", name)),
        },
        _home(mission.get("plannedHomePosition")),
        mav_type=_mav_type(mission.get("vehicleType")),
    )


def _of_old_mission(data: Mapping[str, Any], name: str) -> Plan:
    """The plan of a .mission file, as QGroundControl wrote it before version 3.2."""
    if data.get("complexItems"):
        raise AutopilotError(
            f"{name} has surveys of an old form: save the plan again in QGroundControl"
        )
    home = data.get("plannedHomePosition")
    place = home.get("coordinate") if isinstance(home, dict) else home
    return Plan({MISSION: _mission(data["items"]), FENCE: [], RALLY: []}, _home(place))


def _of_rows(rows: list[Entry], home: list[float] | None) -> Plan:
    """The plan of a text mission, which Mission Planner also uses for fences and rally points."""
    of_kind: dict[int, list[Entry]] = {MISSION: [], FENCE: [], RALLY: []}
    for row in rows:
        command = row["command"]
        kind = FENCE if command in FENCE_ITEMS else RALLY if command == RALLY_POINT else MISSION
        of_kind[kind].append(row)
    items = {kind: _mission(group) for kind, group in of_kind.items()}
    return Plan(items, _home(home), _HOME_NOTE if home else "")


def _section(data: Mapping[str, Any], key: str, name: str) -> Mapping[str, Any]:
    """A part of a plan; empty where it has none."""
    section = data.get(key, {})
    if not isinstance(section, dict):
        raise AutopilotError(f"{name}: its {key} is {shown(section)!r}, it has to be a mapping")
    return section


def _shapes(data: Mapping[str, Any], key: str, name: str) -> Mapping[str, Any]:
    """Geofence or rally points; those of version 1 are skipped, as by QGroundControl."""
    section = _section(data, key, name)
    if section.get("version") == _SKIPPED_VERSION:
        if len(section) > 1:
            _log.warning(
                "%s: its %s is of version %d and is skipped, as by QGroundControl: draw it again",
                name,
                key,
                _SKIPPED_VERSION,
            )
        return {}
    _check_version(section, f"{name}, {key}", _SECTION_VERSION)
    return section


def _check_version(section: Mapping[str, Any], name: str, supported: int) -> None:
    version = section.get("version", supported)
    if isinstance(version, bool) or version != supported:
        raise AutopilotError(
            f"{name}: version {shown(version)} is not supported, {supported} is: "
            "save the plan again in QGroundControl"
        )


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
    if not (abs(latitude) <= 90 and abs(longitude) <= 180 and abs(height) <= HIGHEST):
        raise ValueError("plannedHomePosition is not on Earth")
    return latitude, longitude, height


def _mav_type(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _number(value: float | None) -> float:
    """A parameter of an item, which MAVLink carries in 32 bits; NaN for none."""
    number = math.nan if value is None else float(value)
    if abs(number) > _FLOAT_MAX:
        raise ValueError(f"{number:g} is too large")
    return number


def _mission(entries: Iterable[Entry]) -> list[Item]:
    given = list(entries)
    simple = list(expanded(given))
    target = _jump_targets(simple, given)
    items = []
    for seq, entry in enumerate(simple):
        # Old plans have the place apart from the parameters.
        p = [_number(value) for value in (*entry["params"], *entry.get("coordinate", ()))]
        command = int(entry["command"])
        if command == DO_JUMP:
            if p[0] not in target:
                raise AutopilotError(
                    f"mission item {seq} of the plan jumps to item {p[0]:g}, which does not exist"
                )
            p[0] = float(target[p[0]])
        item = Item(
            command,
            int(entry["frame"]),
            tuple(p[:4]),
            0,
            0,
            p[6],
            int(entry.get("autoContinue", True)),
        )
        if item.frame in GEOGRAPHIC:
            item = from_degrees(item, p[4], p[5])
        else:
            x, y = (int(value) if abs(value) < 2**31 else 0 for value in p[4:6])
            item = Item(command, item.frame, item.params, x, y, p[6], item.autocontinue)
        items.append(item)
    return items


def _jump_targets(simple: Sequence[Entry], given: Sequence[Entry]) -> dict[object, int]:
    """The index of each doJumpId; those of a survey's items come last, and the first of two."""
    outer = set(map(id, given))
    targets: dict[object, int] = {}
    for wanted in (True, False):
        for seq, entry in enumerate(simple):
            if (id(entry) in outer) == wanted and "doJumpId" in entry:
                targets.setdefault(entry["doJumpId"], seq)
    return targets


def _placed(
    command: int, params: tuple[float, ...], latitude: float, longitude: float, height: float = 0.0
) -> Item:
    item = Item(command, _RELATIVE, params, 0, 0, float(height))
    return from_degrees(item, float(latitude), float(longitude))


def _fence(data: Mapping[str, Any], name: str) -> list[Item]:
    items = []
    for shape in (*data.get("polygons", ()), *data.get("circles", ())):
        _check_version(shape, f"{name}, a shape of its geoFence", _SHAPE_VERSION)
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
            "vehicleType": plan.mav_type or mavlink.MAV_TYPE_QUADROTOR,
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
    if item.frame in GEOGRAPHIC:
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
