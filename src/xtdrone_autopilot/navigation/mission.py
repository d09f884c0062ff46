"""Flies the missions of a fleet: AUTO.MISSION, item by item, as PX4's navigator.

The compiled navigator flies each leg and raises an event where it ends or a wait is over; only
then does anything here run. So a hundred vehicles on missions cost little more than a hundred
that hover.
"""

import dataclasses
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from xtdrone_core.contracts import Snapshot
from xtdrone_core.frames import yaw_enu_ned
from xtdrone_core.mavlink.dialect import mavlink
from xtdrone_core.modes import Mode
from xtdrone_core.runs.snapshot import Memory
from xtdrone_dynamics.abilities.vehicle_type import FIXED_WING, MULTICOPTER, NOT_VTOL, ROVER
from xtdrone_dynamics.compiled import Record

from ..interfaces import Estimator
from ..parameters.store import ParameterStore
from ..state.clock import StepClock
from ..state.fence import Fence
from ..state.flight_state import FlightState, ModeTask
from ..state.outbox import CRITICAL, INFO, WARNING, Outbox
from ..state.vehicle_status import (
    HOVERS,
    NEVER,
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
    WATCH_TIME,
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
    FENCE,
    FLYING,
    LAND,
    LOITER_TIME,
    LOITER_TO_ALT,
    LOITER_TURNS,
    LOITER_UNLIM,
    MISSION,
    PLACED,
    RALLY,
    RTL,
    TAKEOFF,
    VTOL_LAND,
    VTOL_TAKEOFF,
    WAYPOINT,
    Item,
    fence_of,
)
from .navigator import OPEN, Navigator

REPEAT_US = 10_500_000  # for so long MISSION_ITEM_REACHED is repeated [us]
_ID = {MISSION: "mission_id", FENCE: "fence_id", RALLY: "rally_points_id"}
_AUTOPILOT = mavlink.MAV_COMP_ID_AUTOPILOT1
_RADIUS = {LOITER_UNLIM: 2, LOITER_TIME: 2, LOITER_TO_ALT: 1}  # parameter with the radius
_AT_CIRCLE = 1.0  # a turn begins this near to its circle [m]
# Work on the current item: the item itself, a climb or an approach before it, a circle, or a turn
# towards the course of a VTOL's transition, and the transition.
_ITEM, _CLIMB, _APPROACH, _LEVEL, _CIRCLE, _ALIGN, _TRANSITION = range(7)

MISSION_STATUS = np.dtype(
    [
        ("seq", "u2"),  # the current item
        ("total", "u2"),  # items of the mission
        ("last_reached", "i4"),  # the item that was reached last, -1 = none yet
        ("reached_t", "i8"),  # when that was [us]
        ("finished", "?"),
        ("valid", "?"),  # there is a mission, and it can be flown from home
        ("mission_id", "u4"),  # checksum of its items, as in PX4,
        ("fence_id", "u4"),  # the geofence's,
        ("rally_points_id", "u4"),  # and of the rally points
    ],
    align=True,
)


class _Own(NamedTuple):
    """Source of commands that are mission items: the autopilot itself."""

    vehicle: int
    source: tuple[int, int]  # system and component id


@dataclass
class _Flown:
    """Progress of one vehicle in its mission."""

    index: int = 0
    work: int = _ITEM
    disarmed: bool = False  # disarmed since it was flown
    climb_to: float = math.nan  # height to climb to before it goes on, world z [m]
    speed: float = math.nan  # speed that DO_CHANGE_SPEED has set [m/s]
    last: tuple[float, ...] = ()  # where the last leg ended [m]
    jumps: dict[int, int] = field(default_factory=dict)  # item number -> jumps made


def _speed(speed: float) -> float:
    """A speed of DO_CHANGE_SPEED [m/s], NaN = none given."""
    return speed if speed > 0 else math.nan


def _state_of(item: Item) -> int:
    """The state of a VTOL after the transition of an item."""
    if item.command == DO_VTOL_TRANSITION:
        return int(item.params[0])
    return ON_WINGS if item.command == VTOL_TAKEOFF else HOVERS


def _no_transition(i: int, state: int) -> None:
    """Without VTOLs there is none to make."""


class Missions(Memory, ModeTask):
    """Items of each vehicle, and the flight along them.

    Attributes:
        records: (N,) of MISSION_STATUS; its fields are attributes as well.
        fences: For each vehicle a Fence, or None.
        on_transition: Called with a vehicle and its new state, HOVERS or ON_WINGS, where an item
            wants a transition.
    """

    records: np.ndarray
    seq: np.ndarray
    total: np.ndarray
    last_reached: np.ndarray
    reached_t: np.ndarray
    finished: np.ndarray
    valid: np.ndarray
    mission_id: np.ndarray
    fence_id: np.ndarray
    rally_points_id: np.ndarray

    MEMORY = ("records",)

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
        self._look_at, self._payload = look_at, payload
        self._status, self._parameters, self._estimator = status, parameters, estimator
        self._navigator, self._flight = navigator, flight
        self._clock, self._origin, self._outbox = clock, origin, outbox
        flight.tasks[Mode.MISSION] = self
        flight.on_disarm.append(self._disarmed)
        n = len(status)
        self._items: dict[int, list[list[Item]]] = {
            MISSION: [[] for _ in range(n)],
            FENCE: [[] for _ in range(n)],
            RALLY: [[] for _ in range(n)],
        }
        self._flown = [_Flown() for _ in range(n)]
        self.fences: list[Fence | None] = [None] * n  # a Fence where there is one
        self.on_transition: Callable[[int, int], None] = _no_transition
        self.records = np.zeros(n, dtype=MISSION_STATUS)
        for name in MISSION_STATUS.names or ():
            setattr(self, name, self.records[name])
        self.last_reached[:] = -1
        self.remember_start()

    # Storage ----------------------------------------------------------------------------------

    def items(self, i: int, kind: int) -> list:
        """The items of vehicle i; kind is MISSION, FENCE or RALLY of mission_items."""
        return self._items[kind][i]

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
        for seq in self._flown[i].jumps:
            target, count = items[seq].params[:2]
            if count < 0 and target <= seq:
                return seq
        return None

    def _stays(self, i: int) -> bool:
        """Returns whether vehicle i stays at its current item until it is ordered on."""
        if not self._flies(i):
            return False
        flown = self._flown[i]
        item = self._items[MISSION][i][flown.index]
        if item.command != LOITER_UNLIM:
            return items_of.stays_at(item) and bool(self.last_reached[i] == flown.index)
        return flown.work == _ITEM and self._is_near(i, item.params[2])

    def _is_near(self, i: int, radius: float) -> bool:
        """Returns whether vehicle i is at its target, or on the circle that it flies there."""
        status = self._status[i]
        circle = self._radius(i, radius) if status["vehicle_type"] != MULTICOPTER else 0.0
        away = math.hypot(*(status["target"] - self._estimator.pos[i])[:2])
        return bool(away <= status["accept"] + circle)

    def replace(self, i: int, kind: int, items: list) -> None:
        """Puts checked items in place of the old ones, in flight too."""
        self._items[kind][i] = list(items)
        self.records[_ID[kind]][i] = items_of.opaque_id(items)
        if kind == FENCE:
            self._make_fence(i, tells=True)
        self.validate(i)
        if kind != MISSION:
            return
        self._flown[i] = _Flown()
        self.last_reached[i], self.finished[i] = -1, False
        self.total[i] = len(items)
        self._parameters.mission_checked[i] |= bool(items)
        self._set_seq(i, 0)
        status = self._status[i]
        if status["mode"] == Mode.MISSION:
            reason = self.why_not(i)
            if reason:
                self._flight.enter(i, Mode.LOITER)
                self._outbox.say(i, WARNING, f"Mission changed, loitering: {reason}")
            else:
                self.begin(i)

    def validate(self, i: int) -> None:
        """Finds out anew whether the mission of vehicle i can be flown; as from another home."""
        self.valid[i] = bool(self._items[MISSION][i]) and not self.why_not(i)

    def load_items(self, i: int, items: dict) -> None:
        """Items from a file, {kind: list}; kinds that are not given are emptied.

        Raises:
            ItemError: An item that cannot be flown; nothing has changed then.
        """
        for kind, group in items.items():
            for seq, item in enumerate(group):
                items_of.check_item(kind, seq, item, self.is_for_vtol(i))
            items_of.check_all(kind, group)
        for kind in (FENCE, RALLY, MISSION):
            self.replace(i, kind, items.get(kind, []))

    def is_for_vtol(self, i: int) -> bool:
        """Returns whether the missions of vehicle i may hold items of VTOLs."""
        return bool(self._status["vtol_type"][i] != NOT_VTOL)

    def current(self, i: int) -> int:
        """Number of the item being flown."""
        return self._flown[i].index

    def rally_points(self, i: int) -> np.ndarray:
        """(K, 3) rally points of vehicle i [m]."""
        home = self._status["home"][i]
        points = [item.position(self._origin, home) for item in self._items[RALLY][i]]
        return np.array(points).reshape(-1, 3)

    # What it remembers -------------------------------------------------------------------------

    def remember_start(self) -> None:
        """Stores the present items for reset()."""
        super().remember_start()
        self._start_items = {
            kind: [list(one) for one in group] for kind, group in self._items.items()
        }

    def reset(self, mask: np.ndarray | None = None) -> None:
        """These vehicles have the items of remember_start(), and have flown none."""
        super().reset(mask)
        n = len(self._flown)
        for i in range(n) if mask is None else np.flatnonzero(mask).tolist():
            for kind, group in self._start_items.items():
                self._items[kind][i] = list(group[i])
            self._flown[i] = _Flown()
            self._make_fence(i)

    def save(self) -> dict:
        """Returns copies of the state, with the items and the progress of each vehicle."""
        items = [
            [kind, [[dataclasses.astuple(item) for item in one] for one in group]]
            for kind, group in self._items.items()
        ]
        flown = [dataclasses.astuple(one) for one in self._flown]
        return {**super().save(), "items": items, "flown": flown}

    def load(self, snapshot: Snapshot) -> None:
        """Restores a state returned by save()."""
        super().load(snapshot)
        self._items = {
            kind: [[items_of.Item(*item) for item in one] for one in group]
            for kind, group in snapshot["items"]
        }
        self._flown = [
            _Flown(index, work, disarmed, climb_to, speed, tuple(last), dict(jumps))
            for index, work, disarmed, climb_to, speed, last, jumps in snapshot["flown"]
        ]
        for i in range(len(self._flown)):
            self._make_fence(i)

    def _make_fence(self, i: int, tells: bool = False) -> None:
        """Makes the fence of vehicle i; areas without its home do not count, as in PX4."""
        items = self._items[FENCE][i]
        self.fences[i] = fence = fence_of(items, self._origin) if items else None
        status = self._status[i]
        if fence is not None and status["home_set"]:
            if fence.discard(status["home"][0], status["home"][1]) and tells:
                self._outbox.say(i, CRITICAL, "Geofence invalid, doesn't contain Home position")

    # What users ask for ------------------------------------------------------------------------

    def why_not(self, i: int) -> str:
        """Why the mission of vehicle i cannot be flown, or an empty string."""
        items = self._items[MISSION][i]
        if not items:
            return "there is no mission: upload one first"
        status = self._status[i]
        fence = self.fences[i]
        acts = fence is not None and self._parameters.get(i, "GF_ACTION") > 0
        first = True
        for seq, item in enumerate(items):
            if item.command in FLYING and status["vehicle_type"] == ROVER:
                return (
                    f"mission item {seq} is for what flies: give a rover waypoints and places "
                    "to loiter at"
                )
            if item.command not in PLACED or not item.has_place:
                continue
            position = item.position(self._origin, status["home"])
            if acts and fence is not None and not fence.contains(position[0], position[1]):
                return f"mission item {seq} lies outside the geofence"
            far = math.hypot(*(position - status["home"])[:2])
            limit = self._parameters.get(i, "MIS_DIST_1WP")
            if first and 0 <= limit < far:
                return (
                    f"mission item {seq} is {far:.0f} m from home, MIS_DIST_1WP allows "
                    f"{limit:g} m for the first waypoint"
                )
            first = False
        if (
            self._runs_off(status)
            and status["landed"]
            and not any(item.command == TAKEOFF for item in items)
        ):
            return "a fixed wing on the ground needs a mission with a take-off (NAV_TAKEOFF)"
        return ""

    def landing(self, i: int) -> tuple[np.ndarray, np.ndarray] | None:
        """Returns start and end of the landing in vehicle i's mission, (3,) each [m]; or None."""
        before = None
        for item in self._items[MISSION][i]:
            if item.command not in PLACED or not item.has_place:
                continue
            position = item.position(self._origin, self._status["home"][i])
            if item.command == LAND and before is not None:
                return before, position
            before = position
        return None

    def set_current(self, i: int, seq: int) -> str:
        """Continues at another item; returns the reason of a rejection, or an empty string."""
        count = len(self._items[MISSION][i])
        if not 0 <= seq < count:
            allowed = f"give 0 to {count - 1}" if count else "there is no mission"
            return f"mission item {seq} does not exist: {allowed}"
        flown = self._flown[i]
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
        self._flown[i].speed = speed
        if self._status["mode"][i] == Mode.LOITER:
            self._navigator.loiter_speed[i] = speed
        if at_once and speed > 0.0:
            self._status["target_speed"][i] = speed

    def begin(self, i: int) -> None:
        """Starts or resumes the mission of a vehicle that is in AUTO.MISSION, once it is armed."""
        if not self._status["armed"][i]:
            return
        flown, items = self._flown[i], self._items[MISSION][i]
        if self.finished[i] or (flown.disarmed and flown.index + 1 >= len(items)):
            flown.index, flown.jumps = 0, {}
        self.finished[i], self.last_reached[i] = False, -1
        flown.disarmed, flown.work, flown.last = False, _ITEM, ()
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
        place = self._next_place(i, flown.index)
        hovers = status["vehicle_type"] == MULTICOPTER
        rises = items[first].command == VTOL_TAKEOFF  # by itself
        low = (
            hovers
            and not rises
            and place is not None
            and (place[2] - self._estimator.pos[i, 2] > self._parameters.get(i, "NAV_MC_ALT_RAD"))
        )
        flown.climb_to = float(place[2]) if low and place is not None else math.nan
        self._go_on(i)

    # What the flight raises --------------------------------------------------------------------

    def reached(self, i: int) -> None:
        """The navigator has reached the target of vehicle i, or waited for long enough."""
        if not self._flies(i):
            return
        flown = self._flown[i]
        item = self._items[MISSION][i][flown.index]
        if flown.work == _LEVEL:
            self._change_height(i, item)
            return
        if self._goes_on_to_transition(i, flown, item):
            return
        if flown.work != _CLIMB:
            self._has_reached(i)
        if item.autocontinue:
            if flown.work in (_ITEM, _CIRCLE, _TRANSITION):
                flown.work = _ITEM
                self._advance(i, flown)
            self._go_on(i)
        self._outbox.stream_now(i, "MISSION_ITEM_REACHED")

    def transition_over(self, i: int) -> None:
        """Vehicle i, a VTOL, hovers or flies on its wings now."""
        if not self._flies(i) or self._flown[i].work != _TRANSITION:
            return
        flown = self._flown[i]
        item = self._items[MISSION][i][flown.index]
        if self._status["vtol_state"][i] != _state_of(item):
            return  # a quad-chute; its failsafe decides
        if item.command == DO_VTOL_TRANSITION:
            self.reached(i)
            return
        flown.work, flown.last = _ITEM, ()
        if item.command == VTOL_TAKEOFF:
            self._leg(i, flown, item, self._place(i, item), TARGET_POSITION)
        else:
            self._land(i, flown, self._place(i, item))

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
            flown, items = self._flown[i], self._items[MISSION][i]
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
        self._flown[i].disarmed = True
        self.leave(i)

    # Item by item ------------------------------------------------------------------------------

    def _go_on(self, i: int) -> None:
        """Executes immediate items, and begins the next one that takes time."""
        flown, items = self._flown[i], self._items[MISSION][i]
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

    def _advance(self, i: int, flown: _Flown) -> None:
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

    def _begin_item(self, i: int, flown: _Flown, item: Item) -> bool:
        """Begins the current item; False where it was over at once."""
        command = item.command
        if command in PLACED:
            if command in (LAND, VTOL_LAND) and self._status["landed"][i]:
                return False
            self._fly(i, flown, item)
            return True
        if command == DO_VTOL_TRANSITION:
            return self._begin_transition(i, flown, item)
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
        index = self._flown[i].index
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

    # Legs --------------------------------------------------------------------------------------

    def _fly(self, i: int, flown: _Flown, item: Item) -> None:
        status = self._status[i]
        position = self._place(i, item)
        if math.isfinite(flown.climb_to) and flown.work == _ITEM:
            self._climb(i, flown)
        elif self._runs_off(status) and item.command in (TAKEOFF, LAND):
            self._by_runway(i, flown, item, position)
        elif item.command == VTOL_TAKEOFF and status["vehicle_type"] == MULTICOPTER:
            self._rise(i, flown, position)
        elif item.command in (LAND, VTOL_LAND):
            self._land(i, flown, position)
        elif item.command == LOITER_TURNS:
            self._circle(i, flown, item, position)
        elif item.command == LOITER_TO_ALT:
            flown.work = _LEVEL
            position[2] = self._estimator.pos[i, 2]
            self._leg(i, flown, item, position, TARGET_LOITER)
            self._navigator.watch(
                i, reach=status["accept"] + self._radius(i, item.params[1]), faced=True
            )
        else:
            flown.work = _ITEM
            loiters = item.command in (LOITER_TIME, LOITER_UNLIM)
            self._leg(i, flown, item, position, TARGET_LOITER if loiters else TARGET_POSITION)
            if item.command == LOITER_UNLIM:
                status["watch"] = WATCH_NOTHING

    def _place(self, i: int, item: Item) -> np.ndarray:
        """(3,) where an item is [m]; what it leaves open is as it is now."""
        status = self._status[i]
        position = item.position(self._origin, status["home"])
        return np.where(np.isfinite(position), position, status["target"])

    def _by_runway(self, i: int, flown: _Flown, item: Item, position: np.ndarray) -> None:
        """Take-off of a fixed wing towards an item, or its landing from the last leg's end."""
        if item.command == TAKEOFF:
            self._navigator.fly_to(i, position, TARGET_TAKEOFF, speed=flown.speed)
            self._navigator.watch(i, WATCH_HEIGHT)
            flown.last = ()
        else:
            self._navigator.fly_to(i, position, TARGET_LAND, previous=flown.last or OPEN)

    def _radius(self, i: int, given: float) -> float:
        """Radius of an item's circle [m]."""
        return (
            abs(given)
            if math.isfinite(given) and given
            else self._parameters.get(i, "NAV_LOITER_RAD")
        )

    def _leg(self, i: int, flown: _Flown, item: Item, position: np.ndarray, kind: int) -> None:
        hold = item.params[0] if item.command in (WAYPOINT, LOITER_TIME) else 0.0
        following = None
        if item.autocontinue and not hold > 0:
            following = self._next_place(i, flown.index + 1)
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

    def _climb(self, i: int, flown: _Flown) -> None:
        """Up to the height of the first place, before the mission goes there."""
        flown.work = _CLIMB
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
            self._navigator.watch(i, reach=self._status["accept"][i] + self._radius(i, 0.0))

    def _change_height(self, i: int, item: Item) -> None:
        """LOITER_TO_ALT is there: now to its height."""
        flown, status = self._flown[i], self._status[i]
        flown.work = _ITEM
        status["target"][2] = self._place(i, item)[2]
        flown.last = tuple(status["target"])
        self._navigator.watch(i, reach=status["reach"])

    def _land(self, i: int, flown: _Flown, position: np.ndarray) -> None:
        """Above the place first, at the height flown so far, then down."""
        status, pos = self._status[i], self._estimator.pos[i]
        radius = self._parameters.get(i, "NAV_ACC_RAD")
        on_wings = status["vehicle_type"] == FIXED_WING
        if flown.work != _APPROACH and (on_wings or math.hypot(*(position - pos)[:2]) > radius):
            flown.work = _APPROACH
            height = status["target"][2] if status["target_type"] == TARGET_POSITION else pos[2]
            self._navigator.fly_to(
                i,
                [*position[:2], height],
                TARGET_POSITION,
                previous=flown.last or OPEN,
                speed=flown.speed,
            )
            self._navigator.watch(i, WATCH_STOP if on_wings else WATCH_PLACE)
        else:
            flown.work = _ITEM
            self._navigator.fly_to(
                i, position, TARGET_LAND, previous=flown.last or OPEN, speed=flown.speed
            )

    def _runs_off(self, status: Record) -> bool:
        """Returns whether it takes off and lands as a fixed wing: no VTOL does."""
        return status["vehicle_type"] == FIXED_WING and status["vtol_type"] == NOT_VTOL

    def _rise(self, i: int, flown: _Flown, position: np.ndarray) -> None:
        """VTOL_TAKEOFF: up in a hover to the height of its place."""
        flown.work, flown.last = _CLIMB, ()
        place = np.array([*self._estimator.pos[i, :2], position[2]])
        on_ground = self._status["landed"][i]
        self._navigator.fly_to(i, place, TARGET_TAKEOFF if on_ground else TARGET_LOITER)
        if on_ground:
            self._navigator.watch(
                i, WATCH_HEIGHT, height=self._navigator.height_reached(i, place[2])
            )
        else:
            self._navigator.watch(i)

    def _begin_transition(self, i: int, flown: _Flown, item: Item) -> bool:
        """DO_VTOL_TRANSITION; False where the vehicle is in that state already."""
        status = self._status[i]
        if status["vtol_state"] == item.params[0]:
            return False
        if item.params[0] == ON_WINGS and not status["landed"]:
            self._align(i, flown, item)
        else:
            self._transition(i, flown, item)
        return True

    def _align(self, i: int, flown: _Flown, item: Item) -> None:
        """Turns towards the course of a transition to fixed-wing flight."""
        flown.work = _ALIGN
        place = np.array([*self._estimator.pos[i, :2], self._status["target"][i, 2]])
        ahead = (
            self._place(i, item)
            if item.command == VTOL_TAKEOFF
            else self._next_place(i, flown.index + 1)
        )
        offset = np.zeros(2) if ahead is None else (ahead - place)[:2]
        yaw = math.atan2(offset[1], offset[0]) if math.hypot(*offset) > _AT_CIRCLE else math.nan
        self._navigator.fly_to(i, place, TARGET_POSITION, yaw=yaw)
        self._navigator.watch(i)

    def _transition(self, i: int, flown: _Flown, item: Item) -> None:
        flown.work = _TRANSITION
        self.on_transition(i, _state_of(item))

    def _goes_on_to_transition(self, i: int, flown: _Flown, item: Item) -> bool:
        """Begins what an item with a transition does next, if there is something."""
        on_wings = self._status["vehicle_type"][i] == FIXED_WING
        if item.command == VTOL_TAKEOFF and flown.work == _CLIMB:
            self._align(i, flown, item)
        elif flown.work == _ALIGN or (flown.work == _APPROACH and on_wings):
            self._transition(i, flown, item)
        else:
            return False
        return True

    def _circle(self, i: int, flown: _Flown, item: Item, centre: np.ndarray) -> None:
        status, pos = self._status[i], self._estimator.pos[i]
        radius = math.copysign(self._radius(i, item.params[2]), item.params[2])
        if flown.work == _APPROACH or status["vehicle_type"] == FIXED_WING:
            flown.work = _CIRCLE
            self._navigator.fly_to(i, centre, TARGET_ORBIT, speed=flown.speed)
            self._navigator.watch(i)
            turns = item.params[0]
            status["orbit_left"] = 2 * math.pi * (turns if math.isfinite(turns) else 1.0)
        else:
            flown.work = _APPROACH
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

    def _next_place(self, i: int, index: int) -> np.ndarray | None:
        """(3,) position of the first placed item from one on [m], or None."""
        item = self._next_placed(i, index)
        return None if item is None else self._place(i, item)

    def _lands_next(self, i: int, index: int) -> bool:
        """Returns whether the first placed item from one on is a fixed wing's landing."""
        item = self._next_placed(i, index)
        return item is not None and item.command == LAND and bool(self._runs_off(self._status[i]))

    def _next_placed(self, i: int, index: int) -> Item | None:
        """The first placed item from one on, or None."""
        items, jumps = self._items[MISSION][i], dict(self._flown[i].jumps)
        for _ in range(len(items) + 1):
            following = self._after(i, index, jumps)
            if following is None:
                return None
            index = following
            if items[index].command in PLACED:
                return items[index]
            index += 1
        return None

    # Bookkeeping -------------------------------------------------------------------------------

    def _set_seq(self, i: int, seq: int) -> None:
        if self.seq[i] != seq:
            self.seq[i] = seq
            self._outbox.stream_now(i, "MISSION_CURRENT")
