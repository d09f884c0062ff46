"""How the items of missions are flown: each as legs of the navigator, as PX4's.

An item may need work before it: a climb, an approach, a turn towards the course of a VTOL's
transition. The navigator raises an event where a leg ends; mission.py goes on from there.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from xtdrone_core.frames import yaw_enu_ned
from xtdrone_dynamics.abilities.vehicle_type import HALF_WINGED

from ..interfaces import Estimator
from ..parameters.store import ParameterStore
from ..state.outbox import INFO, Outbox
from ..state.vehicle_status import (
    HOVERS,
    ON_WINGS,
    TARGET_LAND,
    TARGET_LOITER,
    TARGET_ORBIT,
    TARGET_POSITION,
    TARGET_TAKEOFF,
    WATCH_HEIGHT,
    WATCH_NOTHING,
    WATCH_PLACE,
    WATCH_STOP,
    on_wings,
    runs_off,
)
from .mission_items import (
    DO_VTOL_TRANSITION,
    LAND,
    LOITER_TIME,
    LOITER_TO_ALT,
    LOITER_TURNS,
    LOITER_UNLIM,
    TAKEOFF,
    VTOL_LAND,
    VTOL_TAKEOFF,
    WAYPOINT,
    Item,
)
from .navigator import OPEN, Navigator

_RADIUS = {LOITER_UNLIM: 2, LOITER_TIME: 2, LOITER_TO_ALT: 1}  # parameter with the radius
_PRECISE = (1.0, 2.0)  # values of param2 of NAV_LAND: opportunistic, required
_AT_CIRCLE = 1.0  # a turn begins this near to its circle [m]
# Work on the current item: the item itself, a climb or an approach before it, a circle, or a turn
# towards the course of a VTOL's transition, and the transition.
ITEM, CLIMB, APPROACH, LEVEL, CIRCLE, ALIGN, TRANSITION = range(7)


@dataclass
class Progress:
    """Progress of one vehicle in its mission."""

    index: int = 0
    work: int = ITEM
    disarmed: bool = False  # disarmed since it was flown
    climb_to: float = math.nan  # height to climb to before it goes on, world z [m]
    speed: float = math.nan  # speed that DO_CHANGE_SPEED has set [m/s]
    last: tuple[float, ...] = ()  # where the last leg ended [m]
    jumps: dict[int, int] = field(default_factory=dict)  # item number -> jumps made


def vtol_state_after(item: Item) -> int:
    """Returns the state of a VTOL after the transition of an item."""
    if item.command == DO_VTOL_TRANSITION:
        return int(item.params[0])
    return ON_WINGS if item.command == VTOL_TAKEOFF else HOVERS


def _no_transition(i: int, state: int) -> None:
    """Without VTOLs there is none to make."""


def _no_precision_landing(i: int, kind: int) -> None:
    """It lands where the item says."""


class MissionLegs:
    """Legs of a fleet.

    Attributes:
        on_transition: Called with a vehicle and its new state, HOVERS or ON_WINGS, where an item
            wants a transition.
        on_precision_landing: Called with a vehicle and the precision land mode of its NAV_LAND, 1
            or 2, where it begins to land.
    """

    def __init__(
        self,
        status: np.ndarray,
        parameters: ParameterStore,
        estimator: Estimator,
        navigator: Navigator,
        origin: Sequence[float],
        outbox: Outbox,
        next_placed: Callable[[int, int], Item | None],
    ) -> None:
        """Takes the parts of the flight stack; see Missions.

        Args:
            status, parameters, estimator, navigator, origin, outbox: Those of Missions.
            next_placed: Returns the first item with a place of a vehicle from a number on.
        """
        self._status, self._parameters, self._estimator = status, parameters, estimator
        self._navigator, self._origin, self._outbox = navigator, origin, outbox
        self._next_placed = next_placed
        self.on_transition: Callable[[int, int], None] = _no_transition
        self.on_precision_landing: Callable[[int, int], None] = _no_precision_landing

    def fly(self, i: int, flown: Progress, item: Item) -> None:
        status = self._status[i]
        position = self.place(i, item)
        if math.isfinite(flown.climb_to) and flown.work == ITEM:
            self._climb(i, flown)
        elif runs_off(status) and item.command in (TAKEOFF, LAND):
            self._by_runway(i, flown, item, position)
        elif item.command == VTOL_TAKEOFF and not on_wings(status):
            self._rise(i, flown, position)
        elif item.command in (LAND, VTOL_LAND):
            self.land(i, flown, item, position)
        elif item.command == LOITER_TURNS:
            self._circle(i, flown, item, position)
        elif item.command == LOITER_TO_ALT:
            flown.work = LEVEL
            position[2] = self._estimator.pos[i, 2]
            self.leg(i, flown, item, position, TARGET_LOITER)
            self._navigator.watch(
                i, reach=status["accept"] + self.radius(i, item.params[1]), faced=True
            )
        else:
            flown.work = ITEM
            loiters = item.command in (LOITER_TIME, LOITER_UNLIM)
            self.leg(i, flown, item, position, TARGET_LOITER if loiters else TARGET_POSITION)
            if item.command == LOITER_UNLIM:
                status["watch"] = WATCH_NOTHING

    def place(self, i: int, item: Item) -> np.ndarray:
        """(3,) where an item is [m]; what it leaves open is as it is now."""
        status = self._status[i]
        position = item.position(self._origin, status["home"])
        return np.where(np.isfinite(position), position, status["target"])

    def _by_runway(self, i: int, flown: Progress, item: Item, position: np.ndarray) -> None:
        """Take-off of a fixed wing towards an item, or its landing from the last leg's end."""
        if item.command == TAKEOFF:
            self._navigator.fly_to(i, position, TARGET_TAKEOFF, speed=flown.speed)
            self._navigator.watch(i, WATCH_HEIGHT)
            flown.last = ()
        else:
            self._navigator.fly_to(i, position, TARGET_LAND, previous=flown.last or OPEN)

    def radius(self, i: int, given: float) -> float:
        """Radius of an item's circle [m]."""
        return (
            abs(given)
            if math.isfinite(given) and given
            else self._parameters.get(i, "NAV_LOITER_RAD")
        )

    def leg(self, i: int, flown: Progress, item: Item, position: np.ndarray, kind: int) -> None:
        hold = item.params[0] if item.command in (WAYPOINT, LOITER_TIME) else 0.0
        following = None
        if item.autocontinue and not hold > 0:
            following = self.next_place(i, flown.index + 1)
        accept = item.params[1] if item.command == WAYPOINT and item.params[1] > 0 else None
        # PX4 faces north while it loiters to a height.
        yaw = 0.0 if item.command == LOITER_TO_ALT else item.params[3]
        if item.command in (TAKEOFF, VTOL_TAKEOFF):
            yaw = math.nan
        radius = item.params[_RADIUS[item.command]] if item.command in _RADIUS else 0.0
        self._navigator.fly_to(
            i,
            position,
            kind,
            yaw=yaw_enu_ned(math.radians(yaw)),
            accept=accept,
            previous=flown.last or OPEN,
            following=OPEN if following is None else following,
            speed=flown.speed,
            radius=radius if math.isfinite(radius) else 0.0,
        )
        self._navigator.watch(i, WATCH_PLACE, hold=hold)
        self._status["lands_next"][i] = self._lands_next(i, flown.index + 1)
        flown.last = tuple(position)

    def _climb(self, i: int, flown: Progress) -> None:
        """Up to the height of the first place, before the mission goes there."""
        flown.work = CLIMB
        above = flown.climb_to - self._status["home"][i, 2]
        self._outbox.say(i, INFO, f"Climb to {above:.1f} meters above home\t")
        position = np.array([*self._estimator.pos[i, :2], flown.climb_to])
        flown.last, flown.climb_to = tuple(position), math.nan
        if self._status["landed"][i]:
            self._navigator.fly_to(i, position, TARGET_TAKEOFF, speed=flown.speed)
            self._navigator.watch(
                i, WATCH_HEIGHT, height=self._navigator.height_reached(i, position[2])
            )
        else:
            self._navigator.fly_to(i, position, TARGET_LOITER, speed=flown.speed)
            self._navigator.watch(i, reach=self._status["accept"][i] + self.radius(i, 0.0))

    def change_height(self, i: int, flown: Progress, item: Item) -> None:
        """LOITER_TO_ALT is there: now to its height."""
        status = self._status[i]
        flown.work = ITEM
        status["target"][2] = self.place(i, item)[2]
        flown.last = tuple(status["target"])
        self._navigator.watch(i, reach=status["reach"])

    def land(self, i: int, flown: Progress, item: Item, position: np.ndarray) -> None:
        """Above the place first, at the height flown so far, then down."""
        status, pos = self._status[i], self._estimator.pos[i]
        radius = self._parameters.get(i, "NAV_ACC_RAD")
        flies = on_wings(status)
        if flown.work != APPROACH and (flies or math.hypot(*(position - pos)[:2]) > radius):
            flown.work = APPROACH
            height = status["target"][2] if status["target_type"] == TARGET_POSITION else pos[2]
            self._navigator.fly_to(
                i,
                [*position[:2], height],
                TARGET_POSITION,
                previous=flown.last or OPEN,
                speed=flown.speed,
            )
            self._navigator.watch(i, WATCH_STOP if flies else WATCH_PLACE)
        else:
            flown.work = ITEM
            self._navigator.fly_to(
                i, position, TARGET_LAND, previous=flown.last or OPEN, speed=flown.speed
            )
            if item.command == LAND and not flies and item.params[1] in _PRECISE:
                self.on_precision_landing(i, int(item.params[1]))

    def _rise(self, i: int, flown: Progress, position: np.ndarray) -> None:
        """VTOL_TAKEOFF: up in a hover to the height of its place."""
        flown.work, flown.last = CLIMB, ()
        place = np.array([*self._estimator.pos[i, :2], position[2]])
        on_ground = self._status["landed"][i]
        self._navigator.fly_to(i, place, TARGET_TAKEOFF if on_ground else TARGET_LOITER)
        if on_ground:
            self._navigator.watch(
                i, WATCH_HEIGHT, height=self._navigator.height_reached(i, place[2])
            )
        else:
            self._navigator.watch(i)

    def begin_transition(self, i: int, flown: Progress, item: Item) -> bool:
        """DO_VTOL_TRANSITION; False where the vehicle is in that state already."""
        status = self._status[i]
        if status["vtol_state"] == item.params[0]:
            return False
        if item.params[0] == ON_WINGS and not status["landed"]:
            self._align(i, flown, item)
        else:
            self._transition(i, flown, item)
        return True

    def _align(self, i: int, flown: Progress, item: Item) -> None:
        """Turns towards the course of a transition to fixed-wing flight."""
        flown.work = ALIGN
        place = np.array([*self._estimator.pos[i, :2], self._status["target"][i, 2]])
        ahead = (
            self.place(i, item)
            if item.command == VTOL_TAKEOFF
            else self.next_place(i, flown.index + 1)
        )
        offset = np.zeros(2) if ahead is None else (ahead - place)[:2]
        yaw = math.atan2(offset[1], offset[0]) if math.hypot(*offset) > _AT_CIRCLE else math.nan
        self._navigator.fly_to(i, place, TARGET_POSITION, yaw=yaw)
        # Half wings that are edge-on to the wind cannot turn there, and need not.
        self._navigator.watch(i, faced=bool(self._status["vtol_type"][i] == HALF_WINGED))

    def _transition(self, i: int, flown: Progress, item: Item) -> None:
        flown.work = TRANSITION
        self.on_transition(i, vtol_state_after(item))

    def goes_on_to_transition(self, i: int, flown: Progress, item: Item) -> bool:
        """Begins what an item with a transition does next, if there is something."""
        flies = on_wings(self._status[i])
        if item.command == VTOL_TAKEOFF and flown.work == CLIMB:
            self._align(i, flown, item)
        elif flown.work == ALIGN or (flown.work == APPROACH and flies):
            self._transition(i, flown, item)
        else:
            return False
        return True

    def _circle(self, i: int, flown: Progress, item: Item, centre: np.ndarray) -> None:
        status, pos = self._status[i], self._estimator.pos[i]
        radius = math.copysign(self.radius(i, item.params[2]), item.params[2])
        if flown.work == APPROACH or on_wings(status):
            flown.work = CIRCLE
            self._navigator.fly_to(i, centre, TARGET_ORBIT, speed=flown.speed)
            self._navigator.watch(i)
            turns = item.params[0]
            status["orbit_left"] = 2 * math.pi * (turns if math.isfinite(turns) else 1.0)
        else:
            flown.work = APPROACH
            out = pos[:2] - centre[:2]
            distance = np.hypot(*out)
            out = out / distance if distance > 0.1 else np.array([1.0, 0.0])
            start = [*(centre[:2] + abs(radius) * out), centre[2]]
            self._navigator.fly_to(
                i,
                start,
                TARGET_POSITION,
                accept=_AT_CIRCLE,
                speed=flown.speed,
                yaw=math.atan2(-out[1], -out[0]),
            )
            self._navigator.watch(i)
        status["centre"], status["orbit_radius"] = centre, radius
        flown.last = ()

    def next_place(self, i: int, index: int) -> np.ndarray | None:
        """(3,) position of the first placed item from one on [m], or None."""
        item = self._next_placed(i, index)
        return None if item is None else self.place(i, item)

    def _lands_next(self, i: int, index: int) -> bool:
        """Returns whether the first placed item from one on is a fixed wing's landing."""
        item = self._next_placed(i, index)
        return item is not None and item.command == LAND and bool(runs_off(self._status[i]))
