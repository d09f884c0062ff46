"""Flies the missions of a fleet: AUTO.MISSION, item by item, as PX4's navigator.

The compiled navigator flies each leg and raises an event where it ends or a wait is over; only
then does anything here run. So a hundred vehicles on missions cost little more than a hundred
that hover.
"""

import dataclasses
import math
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from xtdrone_core.contracts import Snapshot
from xtdrone_core.mavlink.dialect import mavlink
from xtdrone_core.modes import Mode
from xtdrone_dynamics.abilities.vehicle_type import MULTICOPTER

from ..interfaces import Estimator
from ..parameters.store import ParameterStore
from ..state.clock import StepClock
from ..state.flight_state import FlightState, ModeTask
from ..state.outbox import INFO, WARNING, Outbox
from ..state.vehicle_status import (
    NEVER,
    TARGET_LAND,
    TARGET_LOITER,
    TARGET_POSITION,
    WATCH_NOTHING,
    WATCH_TIME,
    on_wings,
)
from . import mission_items as items_of
from .mission_items import (
    CONDITION_DELAY,
    DELAY,
    DO_CHANGE_SPEED,
    DO_JUMP,
    DO_LAND_START,
    DO_SET_HOME,
    DO_SET_ROI,
    DO_SET_ROI_LOCATION,
    DO_SET_ROI_NONE,
    DO_VTOL_TRANSITION,
    LAND,
    LOITER_UNLIM,
    MISSION,
    PLACED,
    RTL,
    VTOL_LAND,
    VTOL_TAKEOFF,
    Item,
)
from .mission_legs import (
    CIRCLE,
    CLIMB,
    ITEM,
    LEVEL,
    TRANSITION,
    MissionLegs,
    Progress,
    vtol_state_after,
)
from .mission_store import StoredItems
from .navigator import Navigator

REPEAT_US = 10_500_000  # for so long MISSION_ITEM_REACHED is repeated [us]
_AUTOPILOT = mavlink.MAV_COMP_ID_AUTOPILOT1


class _Own(NamedTuple):
    """Source of commands that are mission items: the autopilot itself."""

    vehicle: int
    source: tuple[int, int]  # system and component id


def _speed(speed: float) -> float:
    """A speed of DO_CHANGE_SPEED [m/s], NaN = none given."""
    return speed if speed > 0 else math.nan


class Missions(StoredItems, ModeTask):
    """Items of each vehicle, and the flight along them.

    Attributes:
        legs: How the items are flown.
    """

    def __init__(
        self,
        status: np.ndarray,
        parameters: ParameterStore,
        estimator: Estimator,
        navigator: Navigator,
        flight: FlightState,
        clock: StepClock,
        origin: Sequence[float],
        outbox: Outbox,
        look_at: Callable[[int, np.ndarray | None], None],
        payload: Mapping[int, Callable[["_Own", list[float]], object]],
    ) -> None:
        """No mission, no geofence, no rally points.

        Args:
            status: (N,) of VEHICLE_STATUS.
            parameters: Parameters of the fleet.
            estimator: Its state.
            navigator: Flies the legs.
            flight: Changes modes.
            clock: Time of the flight stack.
            origin: Latitude, longitude [rad] and height [m] of the world's origin.
            outbox: Sends STATUSTEXTs and progress messages.
            look_at: Turns the camera of a vehicle to a region of interest, (3,) world [m], None =
                straight ahead.
            payload: Handlers of the items with these commands.
        """
        super().__init__(status, parameters, origin, outbox)
        self._look_at, self._payload = look_at, payload
        self._estimator, self._navigator, self._flight = estimator, navigator, flight
        self._clock = clock
        flight.tasks[Mode.MISSION] = self
        flight.on_disarm.append(self._disarmed)
        self._progress = [Progress() for _ in range(len(status))]
        self.legs = MissionLegs(
            status, parameters, estimator, navigator, origin, outbox, self._next_placed
        )
        self.remember_start()

    def waypoints(self, i: int) -> tuple[int, int]:
        """Returns how many placed items vehicle i has reached, and how many its mission has."""
        placed = [item.command in PLACED for item in self._items[MISSION][i]]
        # A loiter without an end is never reported as reached, but is where it stays.
        last = self.current(i) if self._stays(i) else self.last_reached[i]
        return sum(placed[: last + 1]), sum(placed)

    def stays(self, i: int) -> bool:
        """Returns whether vehicle i does nothing new until it is ordered on.

        It stays at an item or after a return, or goes round by a jump without an end.
        """
        if self._goes_round(i) is not None:
            return True
        status = self._status[i]
        returned = status["mode"] == Mode.RTL and status["target_type"] == TARGET_LOITER
        waits_for_nothing = status["armed"] and status["watch"] == WATCH_NOTHING
        return self._stays(i) or bool(returned and waits_for_nothing and self._is_near(i, 0.0))

    def ends_early(self, i: int) -> str:
        """Why the mission of vehicle i does not go on by itself, or an empty string.

        It stays at an item or goes round, in AUTO.MISSION, or has returned before its last item.
        """
        items, k = self._items[MISSION][i], self.current(i)
        if not items:
            return ""
        jump = self._goes_round(i)
        if jump is not None:
            return f"mission item {jump} ({items[jump].name}) goes round for ever"
        name = f"mission item {k} ({items[k].name})"
        if self._stays(i):
            endless = items[k].command == LOITER_UNLIM
            return f"{name} {'has no end' if endless else 'has autoContinue false'}"
        returns = self._status["mode"][i] == Mode.RTL and items[k].command == RTL
        return f"{name} comes before the last item" if returns and k + 1 < len(items) else ""

    def _goes_round(self, i: int) -> int | None:
        """Number of the jump back without an end that vehicle i has taken; None = none."""
        if not self._flies(i):
            return None
        items = self._items[MISSION][i]
        for seq in self._progress[i].jumps:
            target, count = items[seq].params[:2]
            if count < 0 and target <= seq:
                return seq
        return None

    def _stays(self, i: int) -> bool:
        """Returns whether vehicle i stays at its current item until it is ordered on."""
        if not self._flies(i):
            return False
        flown = self._progress[i]
        item = self._items[MISSION][i][flown.index]
        if item.command != LOITER_UNLIM:
            return items_of.stays_at(item) and bool(self.last_reached[i] == flown.index)
        return flown.work == ITEM and self._is_near(i, item.params[2])

    def _is_near(self, i: int, radius: float) -> bool:
        """Returns whether vehicle i is at its target, or on the circle that it flies there."""
        status = self._status[i]
        hovers = status["vehicle_type"] == MULTICOPTER and not on_wings(status)
        circle = 0.0 if hovers else self.legs.radius(i, radius)
        away = math.hypot(*(status["target"] - self._estimator.pos[i])[:2])
        return bool(away <= status["accept"] + circle)

    def replace(self, i: int, kind: int, items: list) -> None:
        """Puts checked items in place of the old ones, in flight too."""
        super().replace(i, kind, items)
        if kind != MISSION:
            return
        self._progress[i] = Progress()
        self._set_seq(i, 0)
        if self._status["mode"][i] == Mode.MISSION:
            reason = self.why_not(i)
            if reason:
                self._flight.enter(i, Mode.LOITER)
                self._outbox.say(i, WARNING, f"Mission changed, loitering: {reason}")
            else:
                self.begin(i)

    def current(self, i: int) -> int:
        """Number of the item being flown."""
        return self._progress[i].index

    def reset(self, mask: np.ndarray | None = None) -> None:
        """These vehicles have the items of remember_start(), and have flown none."""
        super().reset(mask)
        for i in self._chosen(mask):
            self._progress[i] = Progress()

    def save(self) -> dict:
        """Returns copies of the state, with the items and the progress of each vehicle."""
        return {**super().save(), "flown": [dataclasses.astuple(one) for one in self._progress]}

    def load(self, snapshot: Snapshot) -> None:
        """Restores a state returned by save()."""
        super().load(snapshot)
        self._progress = [
            Progress(index, work, disarmed, climb_to, speed, tuple(last), dict(jumps))
            for index, work, disarmed, climb_to, speed, last, jumps in snapshot["flown"]
        ]

    def set_current(self, i: int, seq: int) -> str:
        """Continues at another item; returns the reason of a rejection, or an empty string."""
        count = len(self._items[MISSION][i])
        if not 0 <= seq < count:
            allowed = f"give 0 to {count - 1}" if count else "there is no mission"
            return f"mission item {seq} does not exist: {allowed}"
        flown = self._progress[i]
        flown.index, flown.jumps, flown.disarmed = seq, {}, False
        self.finished[i] = False
        self._set_seq(i, seq)
        if self._flies(i):
            self.begin(i)
        return ""

    def set_roi(self, i: int, position: np.ndarray | None) -> None:
        """Sets what the camera looks at, and in a mission the vehicle faces.

        Other modes do not turn the vehicle, as in PX4.

        Args:
            i: The vehicle.
            position: (3,) world [m], NaN where it leaves an axis open; None = nothing any more.
        """
        if self._status["in_mission"][i]:
            self._status["roi"][i] = np.nan if position is None else position
        self._look_at(i, position)

    def change_speed(self, i: int, speed: float, at_once: bool = True) -> None:
        """Sets the speed of vehicle i in the legs to come.

        Args:
            i: The vehicle.
            speed: Horizontal [m/s]; 0 or less = MPC_XY_CRUISE.
            at_once: Also in this leg, where the speed is above 0.
        """
        speed = _speed(speed)
        self._progress[i].speed = speed
        if self._status["mode"][i] == Mode.LOITER:
            self._navigator.loiter_speed[i] = speed
        if at_once and speed > 0.0:
            self._status["target_speed"][i] = speed

    def begin(self, i: int) -> None:
        """Starts or resumes the mission of a vehicle that is in AUTO.MISSION, once it is armed."""
        if not self._status["armed"][i]:
            return
        flown, items = self._progress[i], self._items[MISSION][i]
        if self.finished[i] or (flown.disarmed and flown.index + 1 >= len(items)):
            flown.index, flown.jumps = 0, {}
        self.finished[i], self.last_reached[i] = False, -1
        flown.disarmed, flown.work, flown.last = False, ITEM, ()
        flown.speed = math.nan
        for item in items[: flown.index]:
            if item.command == DO_CHANGE_SPEED:
                flown.speed = _speed(item.params[1])
        self._outbox.say(i, INFO, "Executing Mission\t")
        status = self._status[i]
        status["in_mission"], status["roi"] = True, np.nan
        self._navigator.begin(i)
        first = self._after(i, flown.index, flown.jumps)
        if first is None:
            self._finish_round(i)
            return
        flown.index = first
        place = self.legs.next_place(i, flown.index)
        hovers = status["vehicle_type"] == MULTICOPTER and not on_wings(status)
        rises = items[first].command == VTOL_TAKEOFF  # by itself
        low = (
            hovers
            and not rises
            and place is not None
            and (place[2] - self._estimator.pos[i, 2] > self._parameters.get(i, "NAV_MC_ALT_RAD"))
        )
        flown.climb_to = float(place[2]) if low and place is not None else math.nan
        self._go_on(i)

    def reached(self, i: int) -> None:
        """The navigator has reached the target of vehicle i, or waited for long enough."""
        if not self._flies(i):
            return
        flown = self._progress[i]
        item = self._items[MISSION][i][flown.index]
        if flown.work == LEVEL:
            self.legs.change_height(i, flown, item)
            return
        if self.legs.goes_on_to_transition(i, flown, item):
            return
        if flown.work != CLIMB:
            self._has_reached(i)
        if item.autocontinue:
            if flown.work in (ITEM, CIRCLE, TRANSITION):
                flown.work = ITEM
                self._advance(i, flown)
            self._go_on(i)
        self._outbox.stream_now(i, "MISSION_ITEM_REACHED")

    def transition_over(self, i: int) -> None:
        """Vehicle i, a VTOL, hovers or flies on its wings now."""
        if not self._flies(i) or self._progress[i].work != TRANSITION:
            return
        flown = self._progress[i]
        item = self._items[MISSION][i][flown.index]
        if self._status["vtol_state"][i] != vtol_state_after(item):
            return  # a quad-chute; its failsafe decides
        if item.command == DO_VTOL_TRANSITION:
            self.reached(i)
            return
        flown.work, flown.last = ITEM, ()
        if item.command == VTOL_TAKEOFF:
            self.legs.leg(i, flown, item, self.legs.place(i, item), TARGET_POSITION)
        else:
            self.legs.land(i, flown, item, self.legs.place(i, item))

    def landed(self, i: int) -> None:
        """Vehicle i has touched down."""
        if self._flies(i) and self._status["target_type"][i] == TARGET_LAND:
            self.reached(i)

    def abort_landing(self, i: int) -> np.ndarray:
        """Vehicle i, a fixed wing, aborts the landing of its plan, which begins anew later.

        Returns:
            Where it waits, (3,) [m]: above the touch-down, by MIS_LND_ABRT_ALT at least.
        """
        place = self._status["target"][i].copy()
        ground = place[2]
        place[2] = max(
            ground + self._parameters.get(i, "MIS_LND_ABRT_ALT"), self._estimator.pos[i, 2]
        )
        above = float(place[2] - ground)
        self._outbox.say(
            i,
            INFO,
            f"Holding at {int(above)} m above landing waypoint.\t",
            ("mission_holding_above_landing", above),
        )
        if self._flies(i):
            flown, items = self._progress[i], self._items[MISSION][i]
            starts = [k for k in range(flown.index) if items[k].command == DO_LAND_START]
            before = [k for k in range(flown.index) if items[k].command in PLACED]
            flown.index = (starts or before or [flown.index])[-1]
            self._set_seq(i, flown.index)
        return place

    def _flies(self, i: int) -> bool:
        status = self._status[i]
        return bool(
            status["mode"] == Mode.MISSION
            and status["armed"]
            and self.total[i]
            and not self.finished[i]
        )

    def leave(self, i: int) -> None:
        """Vehicle i leaves AUTO.MISSION."""
        self._status["in_mission"][i], self._status["roi"][i] = False, np.nan
        if self.reached_t[i] == self._clock.t_us:  # the item before the mode changed by the mission
            self._outbox.stream_now(i, "MISSION_ITEM_REACHED")
        self.reached_t[i] = -NEVER  # it is not repeated

    def _disarmed(self, i: int) -> None:
        self._progress[i].disarmed = True
        self.leave(i)

    def _go_on(self, i: int) -> None:
        """Executes immediate items, and begins the next one that takes time."""
        flown, items = self._progress[i], self._items[MISSION][i]
        for _ in range(len(items) + 1):
            if self.finished[i]:
                self._finish(i)
                return
            if self._begin_item(i, flown, items[flown.index]):
                self._set_seq(i, flown.index)
                return
            self._has_reached(i)
            self._advance(i, flown)
        self._finish_round(i)

    def _advance(self, i: int, flown: Progress) -> None:
        """The next item that is no jump; none where the mission is over."""
        following = self._after(i, flown.index + 1, flown.jumps)
        self.finished[i] = following is None
        if following is not None:
            flown.index = following

    def _after(self, i: int, index: int, jumps: dict[int, int]) -> int | None:
        """Number of the item at or after one, jumps taken and counted in jumps; None = none."""
        items = self._items[MISSION][i]
        for _ in range(len(items) + 1):
            if index >= len(items):
                return None
            item = items[index]
            if item.command != DO_JUMP:
                return index
            made = jumps.get(index, 0)
            if item.params[1] < 0 or made < item.params[1]:
                jumps[index] = made + 1
                index = int(item.params[0])
            else:
                index += 1
        return None

    def _begin_item(self, i: int, flown: Progress, item: Item) -> bool:
        """Begins the current item; False where it was over at once."""
        command = item.command
        if command in PLACED:
            if command in (LAND, VTOL_LAND) and self._status["landed"][i]:
                return False
            self.legs.fly(i, flown, item)
            return True
        if command == DO_VTOL_TRANSITION:
            return self.legs.begin_transition(i, flown, item)
        if command == RTL:
            self._set_seq(i, flown.index)
            self._outbox.stream_now(i, "MISSION_ITEM_REACHED")
            self._outbox.say(i, INFO, "Returning to launch\t")
            self._flight.enter(i, Mode.RTL)
            return True
        if command in (DELAY, CONDITION_DELAY):
            self._navigator.watch(i, WATCH_TIME, hold=item.params[0])
            return True
        if command == DO_CHANGE_SPEED:
            self.change_speed(i, item.params[1])
        elif command == DO_SET_HOME:
            self._set_home(i, item)
        elif command in (DO_SET_ROI_LOCATION, DO_SET_ROI_NONE, DO_SET_ROI):
            self._begin_roi(i, item)
        elif command in self._payload:
            own = _Own(i, (int(self._parameters.get(i, "MAV_SYS_ID")), _AUTOPILOT))
            self._payload[command](own, [*item.params, item.x, item.y, item.z])
        return False

    def _set_home(self, i: int, item: Item) -> None:
        position = item.position(self._origin, self._status["home"][i])
        if item.params[0] == 1 or not np.isfinite(position).all():
            position = self._estimator.pos[i].copy()
        self._status["home"][i] = position

    def _begin_roi(self, i: int, item: Item) -> None:
        located = item.command == DO_SET_ROI_LOCATION or (
            item.command == DO_SET_ROI and item.params[0] == mavlink.MAV_ROI_LOCATION
        )
        self.set_roi(i, item.position(self._origin, self._status["home"][i]) if located else None)

    def _has_reached(self, i: int) -> None:
        index = self._progress[i].index
        if index != self.last_reached[i]:
            self.last_reached[i], self.reached_t[i] = index, self._clock.t_us

    def _finish_round(self, i: int) -> None:
        self._finish(i)
        self._outbox.say(i, WARNING, "Mission ends: its jumps go round without a waypoint")

    def _finish(self, i: int) -> None:
        """The mission is over: on the ground it waits to be disarmed, in the air it loiters."""
        self.finished[i] = True
        status = self._status[i]
        status["in_mission"] = False
        if status["landed"]:
            self._outbox.say(i, INFO, "Mission finished, landed\t")
            return
        self._outbox.say(i, INFO, "Mission finished, loitering\t")
        if status["target_type"] != TARGET_LOITER:
            self._navigator.fly_to(i, self._estimator.pos[i], TARGET_LOITER)
        self._flight.enter(i, Mode.LOITER)

    def _next_placed(self, i: int, index: int) -> Item | None:
        """The first placed item from one on, or None."""
        items, jumps = self._items[MISSION][i], dict(self._progress[i].jumps)
        for _ in range(len(items) + 1):
            following = self._after(i, index, jumps)
            if following is None:
                return None
            index = following
            if items[index].command in PLACED:
                return items[index]
            index += 1
        return None

    def _set_seq(self, i: int, seq: int) -> None:
        if self.seq[i] != seq:
            self.seq[i] = seq
            self._outbox.stream_now(i, "MISSION_CURRENT")
