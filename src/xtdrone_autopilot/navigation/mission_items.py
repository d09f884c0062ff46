"""Items of missions, geofences and rally points: what each means, and which are refused.

An item is kept as MAVLink carries it (degrees times 1e7), so that a download
gives back what was uploaded, to the bit. Places become world ENU when used.
"""

import math
import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from xtdrone_core.mavlink.checksum import crc32
from xtdrone_core.mavlink.dialect import MavlinkMessage, mavlink
from xtdrone_dynamics.earth.geodesy import to_local_array

from ..errors import AutopilotError
from ..state.fence import Fence

MISSION, FENCE, RALLY, ALL = (
    mavlink.MAV_MISSION_TYPE_MISSION,
    mavlink.MAV_MISSION_TYPE_FENCE,
    mavlink.MAV_MISSION_TYPE_RALLY,
    mavlink.MAV_MISSION_TYPE_ALL,
)
PARAM_MAX = 2e9  # parameter of a command, so that it fits every type that it may end in
CAPACITY = {MISSION: 2000, FENCE: 500, RALLY: 100}  # items of each kind
TYPE_NAME = {MISSION: "mission", FENCE: "geofence", RALLY: "rally points"}

WAYPOINT, LOITER_UNLIM, LOITER_TURNS, LOITER_TIME = 16, 17, 18, 19  # MAV_CMD_NAV_...
RTL, LAND, TAKEOFF, LOITER_TO_ALT, DELAY = 20, 21, 22, 31, 93
VTOL_TAKEOFF, VTOL_LAND, DO_VTOL_TRANSITION = 84, 85, 3000
CONDITION_DELAY, DO_JUMP, DO_CHANGE_SPEED, DO_SET_HOME, DO_LAND_START = 112, 177, 178, 179, 189
DO_SET_ROI_LOCATION, DO_SET_ROI_NONE, DO_SET_ROI = 195, 197, 201
CONDITION_GATE = 4501  # surveys have it: what follows it is done once it is passed
RETURN_POINT, POLYGON_INCLUSION, POLYGON_EXCLUSION = 5000, 5001, 5002
CIRCLE_INCLUSION, CIRCLE_EXCLUSION, RALLY_POINT = 5003, 5004, 5100

PLACED = frozenset(
    {
        WAYPOINT,
        LOITER_UNLIM,
        LOITER_TURNS,
        LOITER_TIME,
        LOITER_TO_ALT,
        LAND,
        TAKEOFF,
        VTOL_TAKEOFF,
        VTOL_LAND,
    }
)  # flown to
_PLACE_OPTIONAL = frozenset(
    {TAKEOFF, LAND, LOITER_UNLIM, LOITER_TURNS, LOITER_TIME, LOITER_TO_ALT}
)  # latitude 0 and longitude 0 mean: where it is
_FLOWN = PLACED | {
    RTL,
    DELAY,
    CONDITION_DELAY,
    DO_JUMP,
    DO_CHANGE_SPEED,
    DO_SET_HOME,
    DO_LAND_START,
    DO_SET_ROI_LOCATION,
    DO_SET_ROI_NONE,
    DO_SET_ROI,
    DO_VTOL_TRANSITION,
    CONDITION_GATE,
}
# What rovers and boats cannot do.
FLYING = frozenset({TAKEOFF, LAND, LOITER_TO_ALT, LOITER_TURNS})
OF_VTOLS = frozenset({VTOL_TAKEOFF, VTOL_LAND, DO_VTOL_TRANSITION})
GIMBAL = frozenset({204, 205, 1000, 1001})  # obeyed by a camera mount
GRIPPER = frozenset({211})  # obeyed by a gripper
# What cameras, servos and winches do: missions pass them by.
PAYLOAD = frozenset(
    {183, 187, 196, 200, 203, 206, 214, 260, 530, 531, 532, 2000, 2001, 2003, 2500, 2501, 42600}
)
FENCE_ITEMS = frozenset(
    {RETURN_POINT, POLYGON_INCLUSION, POLYGON_EXCLUSION, CIRCLE_INCLUSION, CIRCLE_EXCLUSION}
)
_LASTING = PLACED | {DELAY, CONDITION_DELAY, DO_VTOL_TRANSITION}  # they take time
_WAITS = frozenset({WAYPOINT, LOITER_TIME, DELAY, CONDITION_DELAY})  # waits of param1 [s]
LONGEST_S = 86400.0  # longest wait of an item: a day [s]
# As PX4, a geofence may hold places that bound nothing.
_COMMANDS = {
    MISSION: _FLOWN | GIMBAL | GRIPPER | PAYLOAD,
    FENCE: FENCE_ITEMS | PLACED | {RALLY_POINT},
    RALLY: frozenset({RALLY_POINT}),
}

_ABSOLUTE = frozenset({mavlink.MAV_FRAME_GLOBAL, mavlink.MAV_FRAME_GLOBAL_INT})
_RELATIVE = frozenset(
    {mavlink.MAV_FRAME_GLOBAL_RELATIVE_ALT, mavlink.MAV_FRAME_GLOBAL_RELATIVE_ALT_INT}
)
GEOGRAPHIC = _ABSOLUTE | _RELATIVE  # frames of latitudes and longitudes
HIGHEST = 1e5  # largest height of an item, up or down [m]
_OFF_EARTH = 200.0  # [deg]
_UNKNOWN_PLACE = 0x7FFFFFFF  # x or y that means NaN


@dataclass(frozen=True)
class Item:
    """One item as on MAVLink."""

    command: int  # MAV_CMD
    frame: int  # MAV_FRAME
    params: tuple  # param1 to param4
    x: int  # latitude [deg * 1e7], or param5
    y: int  # longitude [deg * 1e7], or param6
    z: float  # height [m], or param7
    autocontinue: int = 1

    @property
    def has_place(self) -> bool:
        """Returns whether it says where; some commands may leave that open."""
        return _UNKNOWN_PLACE not in (self.x, self.y) and not (
            self.command in _PLACE_OPTIONAL and self.x == self.y == 0
        )

    def is_somewhere(self, at_zero: bool = False) -> bool:
        """Returns whether it has a place on Earth.

        Args:
            at_zero: Whether latitude 0 and longitude 0 are a place, and do not leave it open.
        """
        if self.x == self.y == 0:
            return at_zero
        return _UNKNOWN_PLACE not in (self.x, self.y)

    @property
    def relative(self) -> bool:
        """Returns whether its height counts from home."""
        return self.frame in _RELATIVE

    @property
    def name(self) -> str:
        """MAV_CMD name."""
        return command_name(self.command)

    def position(self, origin: Sequence[float], home: np.ndarray) -> np.ndarray:
        """(3,) world [m], NaN where it leaves an axis open.

        Args:
            origin: Latitude, longitude [rad] and height [m] of the world's origin.
            home: (3,) world [m].
        """
        out = np.full(3, math.nan)
        if self.has_place:
            geo = [[math.radians(self.x * 1e-7), math.radians(self.y * 1e-7), 0.0]]
            out[:2] = to_local_array(geo, *origin)[0, :2]
        if math.isfinite(self.z):
            out[2] = self.z + (home[2] if self.relative else -origin[2])
        return out


def command_name(number: int) -> str:
    """The name of a MAV_CMD, or its number."""
    entry = mavlink.enums["MAV_CMD"].get(number)
    return entry.name if entry else str(number)


def stays_at(item: Item) -> bool:
    """Returns whether a mission stays at an item until a vehicle is ordered on."""
    return item.command == LOITER_UNLIM or not (item.autocontinue or item.command not in _LASTING)


def from_degrees(item: Item, latitude: float, longitude: float) -> Item:
    """The item at a place [deg]; NaN leaves it open."""
    # What is not on Earth stays so, within 32 bits, and is refused by check_item().
    x, y = (
        round(min(max(v, -_OFF_EARTH), _OFF_EARTH) * 1e7) if math.isfinite(v) else _UNKNOWN_PLACE
        for v in (latitude, longitude)
    )
    return replace(item, x=x, y=y)


def opaque_id(items: Sequence[Item]) -> int:
    """PX4's number of a set of items: stations need not fetch what they know by it; 0 = none."""
    crc = 0
    for item in items:
        crc = crc32(
            struct.pack(
                "<BHB4fiif",
                item.frame,
                item.command,
                item.autocontinue,
                *item.params,
                item.x,
                item.y,
                item.z,
            ),
            crc,
        )
    return crc


def of_message(message: MavlinkMessage) -> Item:
    """The item of a MISSION_ITEM_INT or MISSION_ITEM."""
    params = (message.param1, message.param2, message.param3, message.param4)
    item = Item(message.command, message.frame, params, 0, 0, message.z, message.autocontinue)
    if message.get_type() == "MISSION_ITEM_INT":
        return replace(item, x=message.x, y=message.y)
    if message.frame in _ABSOLUTE | _RELATIVE:
        return from_degrees(item, message.x, message.y)
    x, y = (int(v) if math.isfinite(v) and abs(v) < 2**31 else 0 for v in (message.x, message.y))
    return replace(item, x=x, y=y)


def fields_of(item: Item) -> dict[str, Any]:
    """The fields of a MISSION_ITEM_INT, without whose, which and of what kind it is."""
    params = dict(zip(("param1", "param2", "param3", "param4"), item.params))
    return {
        "frame": item.frame,
        "command": item.command,
        "current": 0,
        "autocontinue": item.autocontinue,
        **params,
        "x": item.x,
        "y": item.y,
        "z": item.z,
    }


class ItemError(AutopilotError):
    """An item that is refused, with the MAV_MISSION_RESULT that says so."""

    def __init__(self, result: int, text: str) -> None:
        super().__init__(text)
        self.result = result


def check_item(kind: int, seq: int, item: Item, vtol: bool = True) -> None:
    """Refuses an item that cannot be flown.

    Args:
        kind: MISSION, FENCE or RALLY.
        seq: Its number, for the text.
        item: The item.
        vtol: Whether it is for a VTOL, or for any vehicle.

    Raises:
        ItemError: With the reason.
    """
    where = f"{TYPE_NAME[kind]} item {seq} ({item.name})"
    if item.command not in _COMMANDS[kind]:
        raise ItemError(mavlink.MAV_MISSION_UNSUPPORTED, f"{where}: not supported")
    if item.command in OF_VTOLS and not vtol:
        raise ItemError(mavlink.MAV_MISSION_UNSUPPORTED, f"{where}: the vehicle is no VTOL")
    placed = (
        item.command in PLACED
        or kind != MISSION
        or (item.command == DO_SET_HOME and item.params[0] != 1)
    )
    if placed and item.frame not in _ABSOLUTE | _RELATIVE:
        raise ItemError(
            mavlink.MAV_MISSION_UNSUPPORTED_FRAME,
            f"{where}: frame {item.frame} is not supported, use 0 or 5 (height above "
            "sea), 3 or 6 (height above home)",
        )
    for k, value in enumerate(item.params):
        if abs(value) > PARAM_MAX:
            raise ItemError(
                mavlink.MAV_MISSION_INVALID_PARAM1 + k,
                f"{where}: param{k + 1} has to be a number up to {PARAM_MAX:g}",
            )
    if placed:
        _check_place(kind, item, where)
    elif abs(item.z) > PARAM_MAX:
        raise ItemError(
            mavlink.MAV_MISSION_INVALID_PARAM7,
            f"{where}: param7 has to be a number up to {PARAM_MAX:g}",
        )
    _check_parameters(item, where)


def _check_place(kind: int, item: Item, where: str) -> None:
    if item.has_place:
        if abs(item.x) > 90e7:
            raise ItemError(
                mavlink.MAV_MISSION_INVALID_PARAM5_X,
                f"{where}: latitude {item.x * 1e-7:g} is not on Earth",
            )
        if abs(item.y) > 180e7:
            raise ItemError(
                mavlink.MAV_MISSION_INVALID_PARAM6_Y,
                f"{where}: longitude {item.y * 1e-7:g} is not on Earth",
            )
    elif item.command not in _PLACE_OPTIONAL:
        raise ItemError(mavlink.MAV_MISSION_INVALID_PARAM5_X, f"{where}: it has no position")
    if (
        math.isinf(item.z)
        or (math.isnan(item.z) and item.command not in (LAND, RETURN_POINT) and kind == MISSION)
        or abs(item.z) > HIGHEST
    ):
        raise ItemError(
            mavlink.MAV_MISSION_INVALID_PARAM7, f"{where}: height {item.z:g} m is not allowed"
        )


def _check_parameters(item: Item, where: str) -> None:
    p1, p2, p3, _ = item.params
    first_at_least_zero = {
        WAYPOINT: "hold",
        LOITER_TIME: "time",
        DELAY: "delay",
        CONDITION_DELAY: "delay",
        LOITER_TURNS: "number of turns",
        DO_JUMP: "target",
    }.get(item.command)
    if first_at_least_zero and p1 < 0:
        raise ItemError(
            mavlink.MAV_MISSION_INVALID_PARAM1, f"{where}: {first_at_least_zero} {p1:g} is negative"
        )
    if item.command in _WAITS and p1 > LONGEST_S:
        raise ItemError(
            mavlink.MAV_MISSION_INVALID_PARAM1,
            f"{where}: {first_at_least_zero} {p1:g} s is longer than {LONGEST_S:g} s",
        )
    if item.command == WAYPOINT and p2 < 0:
        raise ItemError(
            mavlink.MAV_MISSION_INVALID_PARAM2, f"{where}: acceptance radius {p2:g} m is negative"
        )
    if item.command == DO_VTOL_TRANSITION and p1 not in (3, 4):
        raise ItemError(
            mavlink.MAV_MISSION_INVALID_PARAM1,
            f"{where}: state {p1:g} is not allowed: 3 is hover, 4 fixed-wing flight",
        )
    if item.command == LOITER_TURNS and not abs(p3) <= 1000:
        raise ItemError(
            mavlink.MAV_MISSION_INVALID_PARAM3, f"{where}: radius {p3:g} m is more than 1000"
        )
    if item.command == DO_JUMP and not (math.isfinite(p1) and p1 == int(p1)):
        raise ItemError(
            mavlink.MAV_MISSION_INVALID_PARAM1, f"{where}: target {p1:g} is no number of an item"
        )
    if item.command == DO_JUMP and not math.isfinite(p2):
        raise ItemError(mavlink.MAV_MISSION_INVALID_PARAM2, f"{where}: repeat {p2:g} is no number")
    if item.command == DO_CHANGE_SPEED and not (math.isfinite(p2) and (p2 > 0 or p2 in (-1, -2))):
        raise ItemError(
            mavlink.MAV_MISSION_INVALID_PARAM2,
            f"{where}: speed {p2:g} m/s is not allowed, give more than 0",
        )
    if item.command in (CIRCLE_INCLUSION, CIRCLE_EXCLUSION) and not 0 <= p1 < 1e6:
        raise ItemError(
            mavlink.MAV_MISSION_INVALID_PARAM1,
            f"{where}: radius {p1:g} m is not allowed, give 0 or more",
        )


def check_all(kind: int, items: Sequence[Item]) -> None:
    """Refuses a set of items that contradict each other; each was checked alone before.

    Raises:
        ItemError: With the reason.
    """
    if kind == MISSION:
        for seq, item in enumerate(items):
            if item.command == DO_JUMP and item.params[0] >= len(items):
                raise ItemError(
                    mavlink.MAV_MISSION_INVALID_PARAM1,
                    f"mission item {seq} (MAV_CMD_DO_JUMP): there is no item "
                    f"{item.params[0]:g}, only 0 to {len(items) - 1}",
                )
    elif kind == FENCE:
        list(polygons(items))


def polygons(items: Sequence[Item]) -> Iterator[tuple[bool, Sequence[Item]]]:
    """Yields (inclusion, items of its vertices) of each polygon of a geofence.

    Raises:
        ItemError: A polygon without as many vertices as it says, or fewer than three.
    """
    k = 0
    while k < len(items):
        item = items[k]
        if item.command not in (POLYGON_INCLUSION, POLYGON_EXCLUSION):
            k += 1
            continue
        count = item.params[0]
        group = items[k : k + int(count)] if math.isfinite(count) and count >= 3 else []
        if (
            len(group) < 3
            or any((v.command, v.params[0]) != (item.command, count) for v in group)
            or len(group) != count
        ):
            raise ItemError(
                mavlink.MAV_MISSION_INVALID_PARAM1,
                f"geofence item {k}: a polygon needs three vertices or more, and as "
                f"many as its param1 says ({count:g})",
            )
        yield item.command == POLYGON_INCLUSION, group
        k += len(group)


def fence_of(items: Sequence[Item], origin: Sequence[float]) -> Fence:
    """The geofence of checked items.

    Args:
        items: Items of the fence.
        origin: Latitude, longitude [rad] and height [m] of the world's origin.
    """
    home = np.zeros(3)  # only heights are relative to it
    groups = [
        (inclusion, np.array([v.position(origin, home)[:2] for v in group]))
        for inclusion, group in polygons(items)
    ]
    circles = [
        (item.command == CIRCLE_INCLUSION, item.position(origin, home)[:2], item.params[0])
        for item in items
        if item.command in (CIRCLE_INCLUSION, CIRCLE_EXCLUSION)
    ]
    return Fence(groups, circles)
