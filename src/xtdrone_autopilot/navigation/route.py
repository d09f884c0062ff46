"""The route of a mission before it is flown: its legs and circles, and how long they take."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from xtdrone_dynamics.abilities.vehicle_type import FIXED_WING, MULTICOPTER, NOT_VTOL, ROVER

from ..state.vehicle_status import ON_WINGS
from .mission_items import (
    CONDITION_DELAY,
    DELAY,
    DO_CHANGE_SPEED,
    DO_JUMP,
    DO_VTOL_TRANSITION,
    LAND,
    LOITER_TIME,
    LOITER_TO_ALT,
    LOITER_TURNS,
    LOITER_UNLIM,
    PLACED,
    RTL,
    TAKEOFF,
    VTOL_LAND,
    VTOL_TAKEOFF,
    WAYPOINT,
    Item,
    stays_at,
)

_WAITS = frozenset({WAYPOINT, LOITER_TIME, DELAY, CONDITION_DELAY})  # waits of param1 [s]
_RADIUS = {LOITER_UNLIM: 2, LOITER_TURNS: 2, LOITER_TIME: 2, LOITER_TO_ALT: 1}  # its parameter
_MAX_PATHS = 10_000  # most legs and circles of a mission with jumps
_MAX_POINTS = 10_000  # most points of a leg or circle
_RINGS = 5.0  # height between two of the rings for a circle that climbs [m]


@dataclass(frozen=True)
class Leg:
    """A straight line of a mission.

    Attributes:
        seq: The item that it leads to.
        start, end: (3,) world [m].
        seconds: For the leg and the wait at its end.
    """

    seq: int
    start: np.ndarray
    end: np.ndarray
    seconds: float

    @property
    def name(self) -> str:
        """What it is, for messages."""
        return f"the leg to item {self.seq}"

    @property
    def length(self) -> float:
        """Of its path [m]."""
        return float(np.linalg.norm(self.end - self.start))

    def points(self, step: float) -> np.ndarray:
        """Returns (K, 3) places on it, at most a step apart if they are not too many [m]."""
        count = min(2 + int(self.length / step), _MAX_POINTS)
        return np.linspace(self.start, self.end, count)


@dataclass(frozen=True)
class Circle:
    """What a vehicle circles at an item, perhaps while it changes its height.

    Attributes:
        seq: The item.
        start, end: (3,) the centre at the heights at which it begins and ends, world [m].
        radius: Positive = clockwise, seen from above [m].
        bearing: Where on the circle it begins, counter-clockwise from east [rad].
        seconds: Time on the circle; of one turn, where it does not end.
        length: Of the path [m].
    """

    seq: int
    start: np.ndarray
    end: np.ndarray
    radius: float
    bearing: float
    seconds: float
    length: float

    @property
    def name(self) -> str:
        """What it is, for messages."""
        east, north = np.round(self.end[:2]) + 0.0  # no -0
        return (
            f"the circle of item {self.seq} (radius {abs(self.radius):.0f} m about "
            f"({east:.0f}, {north:.0f}) m)"
        )

    def points(self, step: float) -> np.ndarray:
        """Returns (K, 3) places on it, a whole turn at each height [m]; as of a Leg."""
        rise = self.end[2] - self.start[2]
        heights = np.linspace(
            self.start[2], self.end[2], 1 + math.ceil(min(abs(rise), 1e3) / _RINGS)
        )
        around = math.ceil(math.tau * abs(self.radius) / step)
        count = min(max(around, 12), max(_MAX_POINTS // len(heights), 12))
        turn = -math.copysign(math.tau, self.radius)
        angles = self.bearing + np.linspace(0.0, turn, count + 1)
        ring = abs(self.radius) * np.column_stack([np.cos(angles), np.sin(angles)])
        return np.concatenate(
            [np.column_stack([self.end[:2] + ring, np.full(count + 1, z)]) for z in heights]
        )

    def at(self, bearing: float) -> np.ndarray:
        """Returns (3,) the place at a bearing, where it ends [m]."""
        out = abs(self.radius) * np.array([math.cos(bearing), math.sin(bearing), 0.0])
        return self.end + out

    def towards(self, place: np.ndarray) -> np.ndarray:
        """Returns (3,) where a fixed wing leaves it along the tangent to a place [m]."""
        offset = (place - self.end)[:2]
        distance, bearing = math.hypot(*offset), math.atan2(offset[1], offset[0])
        ratio = min(abs(self.radius) / distance, 1.0) if distance > 0.0 else 1.0
        return self.at(bearing + math.copysign(math.acos(ratio), self.radius))


Path: TypeAlias = Leg | Circle


@dataclass(frozen=True)
class Route:
    """How a mission is flown.

    Attributes:
        paths: Legs and circles in their order.
        begun: Numbers of the items that are begun.
        stays: Number of the item that keeps the vehicle, or takes it out of the mission, so that
            none follows; None = the mission comes to its end.
        last: Number of the last item that moves the vehicle; None = none does.
    """

    paths: list[Path]
    begun: frozenset[int]
    stays: int | None
    last: int | None


def route(
    items: Sequence[Item],
    origin: Sequence[float],
    home: np.ndarray,
    parameter: Callable[[str], float],
    vehicle_type: int = MULTICOPTER,
    vtol_type: int = NOT_VTOL,
) -> Route:
    """The route of a mission that starts at home.

    Speeds are those of the parameters, without the time to accelerate. A landing ends at the
    height of home; a return flies at its height to home, not to a rally point. A fixed wing climbs
    and lands along its legs, a multicopter straight up and down; a rover stays on the ground.

    Args:
        items: Items of the mission.
        origin: Latitude, longitude [rad] and height [m] of the world's origin.
        home: (3,) where the vehicle starts, world [m].
        parameter: PX4's parameters by name.
        vehicle_type: MULTICOPTER, FIXED_WING or ROVER; of a VTOL how it starts.
        vtol_type: Of a VTOL, else NOT_VTOL.
    """
    return _Route(items, origin, home, parameter, vehicle_type, vtol_type).route()


class _Route:
    """The state of a mission while its route is collected."""

    def __init__(
        self,
        items: Sequence[Item],
        origin: Sequence[float],
        home: np.ndarray,
        parameter: Callable[[str], float],
        vehicle_type: int,
        vtol_type: int,
    ) -> None:
        self._items, self._origin = items, origin
        self._home = np.array(home, dtype=float)
        self._parameter = parameter
        self._drives = vehicle_type == ROVER
        self._on_wings = vehicle_type == FIXED_WING
        self._runs_off = self._on_wings and vtol_type == NOT_VTOL  # takes off and lands on wheels
        self._ordered_speed = math.nan
        self._paths: list[Path] = []
        self._at = self._home
        self._leaves: Circle | None = None  # circle that a fixed wing leaves with its next leg

    def route(self) -> Route:
        jumps: dict[int, int] = {}
        begun: set[int] = set()
        stays = last = None
        seq = 0
        if not self._runs_off:
            self._climb()
        while seq < len(self._items) and len(self._paths) < _MAX_PATHS:
            item = self._items[seq]
            if item.command == DO_JUMP:
                begun.add(seq)
                target, made = int(item.params[0]), jumps.get(seq, 0)
                if item.params[1] < 0 and target in begun:
                    stays = seq
                    break
                if item.params[1] < 0 or made < item.params[1]:
                    jumps[seq] = made + 1
                    seq = target
                else:
                    seq += 1
                continue
            begun.add(seq)
            self._fly(seq, item)
            if item.command in PLACED or item.command == RTL:
                last = seq
            if item.command == RTL or stays_at(item):
                stays = seq
                break
            seq += 1
        if stays is None and seq >= len(self._items) and last is not None:
            self._end(last)
        return Route(self._paths, frozenset(begun), stays, last)

    def _end(self, last: int) -> None:
        """A fixed wing whose mission ends in the air circles there."""
        command = self._items[last].command
        if self._on_wings and command not in (LAND, VTOL_LAND, LOITER_TIME, LOITER_TO_ALT):
            self._circle(last, self._at, self._parameter("NAV_LOITER_RAD"))

    @property
    def _speed(self) -> float:
        if math.isfinite(self._ordered_speed):
            return self._ordered_speed
        if self._drives:
            return self._parameter("GND_SPEED_TRIM")
        return self._parameter("FW_AIRSPD_TRIM" if self._on_wings else "MPC_XY_CRUISE")

    def _rate(self, up: float) -> float:
        """Speed of a climb or descent [m/s]."""
        if self._on_wings:
            return self._parameter("FW_T_CLMB_R_SP" if up > 0.0 else "FW_T_SINK_R_SP")
        return self._parameter("MPC_Z_V_AUTO_UP" if up > 0.0 else "MPC_Z_V_AUTO_DN")

    def _climb(self) -> None:
        """A mission begins with a vertical climb to the height of its first position."""
        for seq, item in enumerate(self._items):
            if item.command in PLACED and item.command not in (LAND, VTOL_LAND):
                top = self._position(item)[2]
                if top > self._at[2]:
                    self._go(seq, (self._at[0], self._at[1], top))
                return

    def _fly(self, seq: int, item: Item) -> None:
        wait = item.params[0] if item.command in _WAITS and item.params[0] > 0.0 else 0.0
        command = item.command
        if command == DO_CHANGE_SPEED and item.params[1] > 0.0:
            self._ordered_speed = item.params[1]
        elif command == DO_VTOL_TRANSITION:
            self._on_wings = item.params[0] == ON_WINGS
        elif command in _RADIUS and (self._on_wings or command == LOITER_TURNS):
            self._loiter(seq, item, wait)
        elif command == LOITER_TO_ALT:
            place = self._position(item)
            self._go(seq, (place[0], place[1], self._at[2]))
            self._go(seq, place)
        elif command in (LAND, VTOL_LAND):
            place = self._position(item)
            if not self._runs_off:
                self._go(seq, (place[0], place[1], max(self._at[2], place[2])))
                self._on_wings = False
            self._go(seq, (place[0], place[1], self._home[2]))
        elif command == RTL:
            self._return(seq)
        elif command in PLACED:
            place = self._position(item)
            self._on_wings |= command == VTOL_TAKEOFF
            self._go(seq, place, wait, circles=self._on_wings and command == WAYPOINT)
        elif wait:
            self._go(seq, self._at, wait)

    def _return(self, seq: int) -> None:
        top = self._home[2] + self._parameter("RTL_RETURN_ALT")
        if self._drives:
            self._go(seq, self._home)
            return
        above = np.array([self._at[0], self._at[1], max(self._at[2], top)])
        radius = self._parameter("NAV_LOITER_RAD")
        if self._on_wings and above[2] > self._at[2]:
            self._circle(seq, above, radius)
        else:
            self._go(seq, above)
        over_home = np.array([self._home[0], self._home[1], above[2]])
        if self._on_wings:
            self._enter(seq, over_home, radius)
            low = self._home[2] + self._parameter("RTL_DESCEND_ALT")
            over_home[2] = min(above[2], low)
            self._circle(seq, over_home, radius)
        self._go(seq, over_home)
        self._go(seq, self._home)

    def _loiter(self, seq: int, item: Item, wait: float) -> None:
        """Flies to the circle of an item, and round it."""
        given = item.params[_RADIUS[item.command]]
        default = self._parameter("NAV_LOITER_RAD")
        radius = given if math.isfinite(given) and given else default
        place, turns = self._position(item), 1.0
        centre = np.array([*place[:2], self._at[2] if item.command == LOITER_TO_ALT else place[2]])
        if item.command == LOITER_TURNS and math.isfinite(item.params[0]):
            turns = item.params[0]
        elif item.command == LOITER_TIME:
            turns = wait * self._speed / (math.tau * abs(radius))
        elif item.command == LOITER_TO_ALT:
            turns = 0.0
        self._enter(seq, centre, radius)
        self._circle(seq, place, radius, turns)

    def _enter(self, seq: int, centre: np.ndarray, radius: float) -> None:
        """Flies to the nearest place of a circle."""
        out = (self._at - centre)[:2]
        distance = math.hypot(*out)
        out = out / distance if distance > 0.0 else np.array([1.0, 0.0])
        self._go(seq, (*(centre[:2] + abs(radius) * out), centre[2]))

    def _circle(self, seq: int, centre: np.ndarray, radius: float, turns: float = 1.0) -> None:
        """Circles from where it is to the height of the centre."""
        offset, rise = (self._at - centre)[:2], centre[2] - self._at[2]
        bearing = math.atan2(offset[1], offset[0])
        around = turns * math.tau * abs(radius)
        seconds = max(around / self._speed, abs(rise) / self._rate(rise))
        length = max(around, self._speed * seconds) if self._on_wings else math.hypot(around, rise)
        start = np.array([*centre[:2], self._at[2]])
        circle = Circle(seq, start, np.array(centre), radius, bearing, seconds, length)
        self._paths.append(circle)
        self._at = circle.at(bearing - math.copysign(math.tau * (turns % 1.0), radius))
        self._leaves = circle if self._on_wings else None

    def _position(self, item: Item) -> np.ndarray:
        """Returns the position of an item; an axis that it leaves open keeps its value."""
        place = item.position(self._origin, self._home)
        if item.command == TAKEOFF and not item.has_place:
            place[:2] = self._at[:2]
        if self._drives:
            place[2] = self._home[2]
        return np.where(np.isfinite(place), place, self._at)

    def _go(
        self, seq: int, end: Sequence[float] | np.ndarray, wait: float = 0.0, circles: bool = False
    ) -> None:
        """Flies straight; circles at the end until its height is reached, if it has to."""
        end = np.array(end, dtype=float)
        if self._leaves is not None:
            self._at, self._leaves = self._leaves.towards(end), None
        far, up = math.hypot(*(end - self._at)[:2]), end[2] - self._at[2]
        time, rate = far / self._speed, self._rate(up)
        lacking = abs(up) - rate * time
        if circles and lacking > self._parameter("NAV_FW_ALT_RAD"):
            low = np.array([*end[:2], end[2] - math.copysign(lacking, up)])
            self._paths.append(Leg(seq, self._at, low, time))
            self._at = low
            self._circle(seq, end, self._parameter("NAV_LOITER_RAD"))
            return
        self._paths.append(Leg(seq, self._at, end, max(time, abs(up) / rate) + wait))
        self._at = end
