"""QGroundControl's complex items as the simple items that it sends to a vehicle for them.

Surveys and corridor scans carry their simple items in the file; landing patterns and structure
scans are computed from their settings.
"""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np

from xtdrone_core.errors import shown
from xtdrone_core.mavlink.dialect import mavlink
from xtdrone_dynamics.earth.geodesy import to_geodetic, to_local

from ..errors import AutopilotError
from .mission_items import (
    CAPACITY,
    DO_CHANGE_SPEED,
    DO_LAND_START,
    DO_SET_ROI_NONE,
    LAND,
    LOITER_TO_ALT,
    MISSION,
    VTOL_LAND,
    WAYPOINT,
)

Entry: TypeAlias = dict[str, Any]  # an item of a plan: plain data of JSON
_TRANSECTS = "TransectStyleComplexItem"  # part of surveys and corridor scans
_ROI_AT_NEXT, _TRIGGER_DISTANCE = 196, 206  # MAV_CMD_DO_SET_ROI_WPNEXT_OFFSET, ..._CAM_TRIGG_DIST
_STOP_PHOTOS, _STOP_VIDEO = 2001, 2501  # MAV_CMD_IMAGE_STOP_CAPTURE, MAV_CMD_VIDEO_STOP_CAPTURE
_SURVEY_WITH_ITEMS = 4  # first version with the simple items
_TO_STRUCTURE = 90.0  # yaw of the camera at a structure that is flown round clockwise [deg]
_SIMPLE = "SimpleItem", "missionItem"  # types; the second before QGroundControl 3.2
_SPIKE = 1e-6  # 1 + cosine of the angle between two edges that turn back


def expanded(entries: Iterable[Entry]) -> Iterator[Entry]:
    """Yields the simple items of a plan's items, in the order in which they are flown.

    Raises:
        AutopilotError: A complex item that is not known, of another version, or incomplete.
    """
    for entry in entries:
        if entry["type"] in _SIMPLE:
            yield _with_params(entry)
            continue
        kind = entry.get("complexItemType", entry["type"])
        expand = _COMPLEX.get(kind) if isinstance(kind, str) else None
        if expand is None:
            raise AutopilotError(
                f"plan item '{shown(kind)}' is not known: give simple items, or one of "
                + ", ".join(_COMPLEX)
            )
        yield from expand(_Settings(entry, f"plan item '{kind}'"))


def _with_params(entry: Entry) -> Entry:
    """A simple item with its parameters in a list; files before QGroundControl 3.2 name each."""
    if "params" in entry or "param1" not in entry:
        return entry
    entry["params"] = [entry[f"param{k}"] for k in range(1, 5)]
    entry.setdefault("doJumpId", entry.get("id"))
    return entry


class _Settings:
    """Values of a complex item by their names; errors name the item."""

    def __init__(self, values: object, name: str) -> None:
        if not isinstance(values, Mapping):
            raise AutopilotError(f"{name} is {shown(values)!r}: it has to be a mapping")
        self._values, self.name = values, name

    def __contains__(self, key: str) -> bool:
        return key in self._values

    def part(self, key: str) -> "_Settings":
        """Returns the settings in a setting."""
        return _Settings(self._value(key), f"{key} of {self.name}")

    def flag(self, key: str, default: bool | None = None) -> bool:
        """Returns a true or false."""
        value = self._value(key) if default is None else self._values.get(key, default)
        if not isinstance(value, bool):
            raise AutopilotError(f"{key} of {self.name} is {shown(value)!r}: give true or false")
        return value

    def number(self, key: str) -> float:
        """Returns a finite number."""
        return self._finite(self._value(key), key)

    def sequence(self, key: str) -> list[Any]:
        """Returns a list of plain data."""
        value = self._value(key)
        if not isinstance(value, list):
            raise AutopilotError(f"{key} of {self.name} is {shown(value)!r}: give a list")
        return value

    def place(self, key: str) -> tuple[float, float, float]:
        """Returns latitude, longitude [deg] and height [m]."""
        values = self.sequence(key)
        if len(values) != 3:
            raise AutopilotError(f"{key} of {self.name} needs latitude, longitude and height")
        latitude, longitude, height = (self._finite(value, key) for value in values)
        return latitude, longitude, height

    def outline(self, key: str) -> np.ndarray:
        """Returns a polygon of three vertices or more, (K, 2) latitude, longitude [rad]."""
        vertices = [vertex[:2] for vertex in self.sequence(key) if isinstance(vertex, list)]
        if len(vertices) < 3 or any(len(vertex) != 2 for vertex in vertices):
            raise AutopilotError(f"{key} of {self.name} needs three vertices or more")
        return np.radians([[self._finite(value, key) for value in each] for each in vertices])

    def check_version(self, *allowed: int) -> int:
        """Returns the version.

        Raises:
            AutopilotError: It is not one of those allowed.
        """
        version = self._values.get("version", allowed[0])
        if version not in allowed:
            raise AutopilotError(
                f"{self.name}: version {shown(version)} is not supported, "
                f"{', '.join(map(str, sorted(allowed)))} {'is' if len(allowed) == 1 else 'are'}: "
                "save the plan again in QGroundControl"
            )
        return int(version)

    def _value(self, key: str) -> Any:  # plain data of JSON
        if key not in self._values:
            raise AutopilotError(f"{self.name} has no {key}: save the plan again in QGroundControl")
        return self._values[key]

    def _finite(self, value: object, key: str) -> float:
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            raise AutopilotError(f"{key} of {self.name} is {shown(value)!r}: give a number")
        return float(value)


def _simple(command: int, frame: int, *params: float) -> Entry:
    """A simple item with seven parameters, of which those that are not given are 0."""
    return {
        "type": "SimpleItem",
        "command": command,
        "frame": frame,
        "params": [*params, *[0.0] * (7 - len(params))],
        "autoContinue": True,
    }


def _order(command: int, *params: float) -> Entry:
    """A simple item without a place."""
    return _simple(command, mavlink.MAV_FRAME_MISSION, *params)


def _survey(settings: _Settings) -> list[Entry]:
    """The simple items of a survey."""
    if settings.check_version(5, 4, 3, 2) < _SURVEY_WITH_ITEMS:
        raise AutopilotError(
            f"{settings.name} is of a version before {_SURVEY_WITH_ITEMS}, which has no waypoints: "
            "save the plan again in QGroundControl"
        )
    return _transects(settings)


def _corridor(settings: _Settings) -> list[Entry]:
    """The simple items of a corridor scan."""
    settings.check_version(2)
    return _transects(settings)


def _transects(settings: _Settings) -> list[Entry]:
    """The simple items of a survey or corridor scan, which QGroundControl has stored."""
    inner = settings.part(_TRANSECTS) if _TRANSECTS in settings else settings
    if "Items" not in inner:
        raise AutopilotError(
            f"{settings.name} has no Items, the waypoints that QGroundControl stores in it: "
            "save the plan again in QGroundControl"
        )
    inner.check_version(1, 2)
    return inner.sequence("Items")


def _landing(settings: _Settings, relative: bool, land: int, yaw: float) -> Iterator[Entry]:
    """Yields start, camera commands, approach and touch-down of a landing pattern."""
    frame = mavlink.MAV_FRAME_GLOBAL_RELATIVE_ALT if relative else mavlink.MAV_FRAME_GLOBAL
    yield _order(DO_LAND_START)
    if settings.flag("useDoChangeSpeed", False):
        speed = float(int(settings.number("finalApproachSpeed")))  # as QGroundControl sends it
        yield _order(DO_CHANGE_SPEED, mavlink.SPEED_TYPE_AIRSPEED, speed, -1.0)
    if settings.flag("stopTakingPhotos", False):
        yield _order(_TRIGGER_DISTANCE)
        yield _order(_STOP_PHOTOS, 0.0, *[math.nan] * 6)
    if settings.flag("stopVideoPhotos", False):
        yield _order(_STOP_VIDEO, 0.0, *[math.nan] * 6)
    # The name before QGroundControl 4.1.
    old = "landingApproachCoordinate" not in settings and "loiterCoordinate" in settings
    approach = settings.place("loiterCoordinate" if old else "landingApproachCoordinate")
    if settings.flag("useLoiterToAlt", True):
        clockwise = settings.flag("loiterClockwise")
        radius = settings.number("loiterRadius") * (1.0 if clockwise else -1.0)
        yield _simple(LOITER_TO_ALT, frame, 1.0, radius, 0.0, 1.0, *approach)
    else:
        yield _simple(WAYPOINT, frame, 0.0, 0.0, 0.0, math.nan, *approach)
    yield _simple(land, frame, 0.0, 0.0, 0.0, yaw, *settings.place("landCoordinate"))


def _fixed_wing_landing(settings: _Settings) -> Iterator[Entry]:
    if settings.check_version(2, 1) == 2:
        relative = settings.flag("altitudesAreRelative")
    else:  # heights that are counted differently are taken as relative, as by QGroundControl
        loiter, land = map(settings.flag, ("loiterAltitudeRelative", "landAltitudeRelative"))
        relative = loiter or land
    return _landing(settings, relative, LAND, 0.0)


def _vtol_landing(settings: _Settings) -> Iterator[Entry]:
    settings.check_version(1)
    return _landing(settings, settings.flag("altitudesAreRelative"), VTOL_LAND, math.nan)


def _structure_scan(settings: _Settings) -> Iterator[Entry]:
    """Yields the layers round a structure, between an entrance and an exit at the same place."""
    settings.check_version(3)
    camera = settings.part("CameraCalc")
    outline = _wider(settings.outline("polygon"), camera.number("DistanceToSurface"))
    places = [tuple(map(math.degrees, vertex)) for vertex in outline]
    layers, thickness = settings.number("Layers"), camera.number("AdjustedFootprintFrontal")
    if not 1 <= layers * len(places) <= CAPACITY[MISSION]:
        raise AutopilotError(
            f"{settings.name} has {layers:g} layers of {len(places)} waypoints: "
            f"a mission may have {CAPACITY[MISSION]} items"
        )
    if settings.flag("StartFromTop"):
        height, thickness = settings.number("StructureHeight"), -thickness
    else:
        height = settings.number("ScanBottomAlt")
    gate = _waypoint(places[0], settings.number("EntranceAltitude"))
    yield gate
    pitch = settings.number("GimbalPitch")
    yield _order(_ROI_AT_NEXT, 0.0, 0.0, 0.0, 0.0, pitch, 0.0, _TO_STRUCTURE)
    for layer in range(int(layers)):
        first, *others = (
            _waypoint(place, height + (layer + 0.5) * thickness) for place in (*places, places[0])
        )
        yield first
        yield _order(_TRIGGER_DISTANCE, camera.number("AdjustedFootprintSide"), 0.0, 1.0)
        yield from others
        yield _order(_TRIGGER_DISTANCE)
    yield _order(DO_SET_ROI_NONE)
    yield gate


def _waypoint(place: Sequence[float], height: float) -> Entry:
    frame = mavlink.MAV_FRAME_GLOBAL_RELATIVE_ALT
    return _simple(WAYPOINT, frame, 0.0, 0.0, 0.0, math.nan, *place, height)


def _wider(outline: np.ndarray, distance: float) -> np.ndarray:
    """A polygon whose edges lie farther out.

    Args:
        outline: (K, 2) its vertices, latitude and longitude [rad].
        distance: How far the edges are moved [m].

    Returns:
        (K, 2) vertices [rad].
    """
    origin = outline[0]
    vertices = np.array([to_local(*vertex, *origin) for vertex in outline])
    edges = np.roll(vertices, -1, axis=0) - vertices
    lengths = np.linalg.norm(edges, axis=1)
    if not (lengths > 0.0).all():
        raise AutopilotError("polygon of a structure scan has a vertex twice: take one out")
    area = vertices[:, 0] @ np.roll(vertices[:, 1], -1) - vertices[:, 1] @ np.roll(
        vertices[:, 0], -1
    )
    outwards = math.copysign(1.0, area) * edges[:, ::-1] * [1.0, -1.0] / lengths[:, None]
    before = np.roll(outwards, 1, axis=0)
    corner = 1.0 + (before * outwards).sum(axis=1, keepdims=True)
    shift = np.where(corner > _SPIKE, (before + outwards) / np.maximum(corner, _SPIKE), outwards)
    return np.array([to_geodetic(*vertex, *origin) for vertex in vertices + distance * shift])


_COMPLEX: dict[str, Callable[[_Settings], Iterable[Entry]]] = {
    "survey": _survey,
    "CorridorScan": _corridor,
    "StructureScan": _structure_scan,
    "fwLandingPattern": _fixed_wing_landing,
    "vtolLandingPattern": _vtol_landing,
}
