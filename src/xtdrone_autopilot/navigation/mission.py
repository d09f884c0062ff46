"""Flies the missions of a fleet: AUTO.MISSION, item by item.

The compiled navigator flies each leg and raises an event where it ends; only
then, and when a wait is over, does anything here run. So a hundred vehicles on
missions cost little more than a hundred that hover.
"""

import dataclasses
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from xtdrone_core.frames import yaw_enu_ned
from xtdrone_core.modes import Mode
from xtdrone_core.snapshot import Memory

from ..interfaces import Estimator
from ..mavlink.dialect import mavlink
from ..now import Now
from ..outbox import INFO, WARNING, Outbox
from ..parameters.store import ParameterStore
from ..safety.fence import Fence
from ..safety.flight_state import FlightState
from ..vehicle_status import TARGET_LAND, TARGET_ORBIT, TARGET_POSITION, TARGET_TAKEOFF
from . import mission_items as items_of
from .mission_items import (
    CONDITION_DELAY,
    DELAY,
    DO_CHANGE_SPEED,
    DO_JUMP,
    DO_LAND_START,
    DO_SET_HOME,
    FENCE,
    LAND,
    LOITER_TIME,
    LOITER_TURNS,
    LOITER_UNLIM,
    MISSION,
    PAYLOAD,
    PLACED,
    RALLY,
    RTL,
    TAKEOFF,
    WAYPOINT,
)
from .navigator import Navigator, speed_to_stop

NO_MISSION, NOT_STARTED, ACTIVE, PAUSED, COMPLETE = range(1, 6)  # MISSION_STATE of MAVLink
_NEVER = 1 << 62
_FLY, _CLIMB, _APPROACH, _TOUCH_DOWN, _ENTER_CIRCLE, _CIRCLE = range(6)  # stages of an item
_HEADED = frozenset({WAYPOINT, TAKEOFF, LAND, LOITER_UNLIM})  # param4 is a heading
_INSIDE = 0.8  # share of the acceptance radius that is used; the rest is for errors of the estimate
_AT_CIRCLE = 1.0  # a turn begins this near to its circle [m]

MISSION_STATUS = np.dtype([
    ("seq", "u2"),  # the current item
    ("total", "u2"),  # items of the mission
    ("last_reached", "i4"),  # the item flown last, -1 = none yet
    ("finished", "?"),
], align=True)


@dataclass
class _Flown:
    """Progress of one vehicle in its mission."""

    index: int = 0
    stage: int = _FLY
    started: bool = False
    speed: float = math.nan  # of DO_CHANGE_SPEED [m/s]
    jumps: dict = field(default_factory=dict)  # item number -> jumps made


class Missions(Memory):
    """Items of each vehicle, and the flight along them.

    Attributes:
        records: (N,) of MISSION_STATUS; its fields are attributes as well.
        fences: For each vehicle a Fence, or None.
    """

    MEMORY = ("records", "_due", "_next_due")

    def __init__(self, status: np.ndarray, parameters: ParameterStore, estimator: Estimator,
                 navigator: Navigator, flight: FlightState, now: Now, origin: Sequence[float],
                 outbox: Outbox):
        """No mission, no geofence, no rally points.

        Args:
            status: (N,) of VEHICLE_STATUS.
            parameters: Of the fleet.
            estimator: Its state.
            navigator: Flies the legs.
            flight: Changes modes.
            now: Time.
            origin: Latitude, longitude [rad] and height [m] of the world's origin.
            outbox: Sends STATUSTEXTs and progress messages.
        """
        self._status, self._parameters, self._estimator = status, parameters, estimator
        self._navigator, self._flight = navigator, flight
        self._now, self._origin, self._outbox = now, origin, outbox
        flight.on_enter[Mode.MISSION] = self.begin
        n = len(status)
        self._items = {MISSION: [[] for _ in range(n)], FENCE: [[] for _ in range(n)],
                       RALLY: [[] for _ in range(n)]}
        self._flown = [_Flown() for _ in range(n)]
        self._due = np.full(n, _NEVER, dtype=np.int64)  # end of a wait [us]
        self._next_due = _NEVER
        self.fences = [None] * n  # a Fence where there is one
        self.records = np.zeros(n, dtype=MISSION_STATUS)
        for name in MISSION_STATUS.names:
            setattr(self, name, self.records[name])
        self.last_reached[:] = -1
        self.remember_start()

    # Storage ----------------------------------------------------------------------------------

    def items(self, i: int, kind: int) -> list:
        """The items of vehicle i; kind is MISSION, FENCE or RALLY of mission_items."""
        return self._items[kind][i]

    def replace(self, i: int, kind: int, items: list) -> None:
        """Puts checked items in place of the old ones, in flight too."""
        self._items[kind][i] = list(items)
        if kind == FENCE:
            self._make_fence(i)
        if kind != MISSION:
            return
        self._flown[i] = _Flown()
        self.last_reached[i], self.finished[i] = -1, False
        self._wait(i, _NEVER)
        self.total[i] = len(items)
        self._set_seq(i, 0)
        v = self._status[i]
        if v["mode"] == Mode.MISSION:
            reason = self.why_not(i)
            if reason:
                self._flight.enter(i, Mode.LOITER)
                self._outbox.say(i, WARNING, f"Mission changed, loitering: {reason}")
            else:
                self.begin(i)

    def load_items(self, i: int, items: dict) -> None:
        """Items from a file, {kind: list}; kinds that are not given are emptied.

        Raises:
            ItemError: An item that cannot be flown; nothing has changed then.
        """
        for kind, group in items.items():
            for seq, item in enumerate(group):
                items_of.check_item(kind, seq, item)
            items_of.check_all(kind, group)
        for kind in (FENCE, RALLY, MISSION):
            self.replace(i, kind, items.get(kind, []))

    def state(self) -> np.ndarray:
        """(N,) MISSION_STATE of each vehicle."""
        out = np.full(len(self._flown), NO_MISSION, dtype=np.uint8)
        for i in np.flatnonzero(self.total):
            f = self._flown[i]
            flying = self._status["mode"][i] == Mode.MISSION and self._status["armed"][i]
            out[i] = (COMPLETE if self.finished[i] else ACTIVE if flying else
                      PAUSED if f.started else NOT_STARTED)
        return out

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
        self._start_items = {kind: [list(one) for one in group]
                             for kind, group in self._items.items()}

    def reset(self, mask: np.ndarray | None = None) -> None:
        """These vehicles have the items of remember_start(), and have flown none."""
        super().reset(mask)
        n = len(self._flown)
        for i in range(n) if mask is None else np.flatnonzero(mask).tolist():
            for kind, group in self._start_items.items():
                self._items[kind][i] = list(group[i])
            self._flown[i] = _Flown()
            self._make_fence(i)
        self._next_due = int(self._due.min())

    def save(self) -> dict:
        """As of Memory, with the items and the progress of each vehicle."""
        items = [[kind, [[dataclasses.astuple(item) for item in one] for one in group]]
                 for kind, group in self._items.items()]
        flown = [dataclasses.astuple(one) for one in self._flown]
        return {**super().save(), "items": items, "flown": flown}

    def load(self, snapshot: Mapping[str, Any]) -> None:
        """Restores a state returned by save()."""
        super().load(snapshot)
        self._items = {kind: [[items_of.Item(*item) for item in one] for one in group]
                       for kind, group in snapshot["items"]}
        self._flown = [_Flown(*one[:-1], dict(one[-1])) for one in snapshot["flown"]]
        for i in range(len(self._flown)):
            self._make_fence(i)

    def _make_fence(self, i):
        items = self._items[FENCE][i]
        self.fences[i] = Fence.of(items, self._origin) if items else None

    # What users ask for ------------------------------------------------------------------------

    def why_not(self, i: int) -> str:
        """Why the mission of vehicle i cannot be flown, or an empty string."""
        items = self._items[MISSION][i]
        if not items:
            return "there is no mission: upload one first"
        v = self._status[i]
        fence = self.fences[i]
        acts = fence is not None and self._parameters.get(i, "GF_ACTION") > 0
        first = True
        for seq, item in enumerate(items):
            if item.command not in PLACED or not item.has_place:
                continue
            position = item.position(self._origin, v["home"])
            if acts and not fence.contains(position[0], position[1]):
                return f"mission item {seq} lies outside the geofence"
            far = math.hypot(*(position - v["home"])[:2])
            limit = self._parameters.get(i, "MIS_DIST_1WP")
            if first and 0 <= limit < far:
                return (f"mission item {seq} is {far:.0f} m from home, MIS_DIST_1WP allows "
                        f"{limit:g} m for the first waypoint")
            first = False
        return ""

    def set_current(self, i: int, seq: int) -> str:
        """Continues at another item; returns the reason of a rejection, or an empty string."""
        count = len(self._items[MISSION][i])
        if not 0 <= seq < count:
            allowed = f"give 0 to {count - 1}" if count else "there is no mission"
            return f"mission item {seq} does not exist: {allowed}"
        f = self._flown[i]
        f.index, f.jumps = seq, {}
        self.finished[i] = False
        self._set_seq(i, seq)
        if self._flies(i):
            self.begin(i)
        return ""

    def begin(self, i: int) -> None:
        """Starts or resumes the mission of a vehicle that is in AUTO.MISSION, once it is armed."""
        if not self._status["armed"][i]:
            return
        f = self._flown[i]
        if self.finished[i]:
            f.index, f.jumps, f.speed = 0, {}, math.nan
            self.last_reached[i], self.finished[i] = -1, False
        f.started, f.stage = True, _FLY
        self._wait(i, _NEVER)
        self._navigator.begin(i)
        self._go_on(i)

    # What the flight raises --------------------------------------------------------------------

    def step(self, t_us: int) -> None:
        """Ends the waits that are over."""
        if t_us < self._next_due:
            return
        for i in np.flatnonzero(self._due <= t_us):
            self._wait(i, _NEVER)
            if self._flies(i):
                self._item_done(i)
                self._go_on(i)

    def reached(self, i: int) -> None:
        """The navigator has reached the target of vehicle i."""
        if not self._flies(i):
            return
        f = self._flown[i]
        item = self._items[MISSION][i][f.index]
        hold = 0.0
        if f.stage == _CLIMB and item.command != TAKEOFF:
            f.stage = _FLY
        elif f.stage == _APPROACH:
            f.stage = _TOUCH_DOWN
        elif f.stage == _ENTER_CIRCLE:
            f.stage = _CIRCLE
        elif item.command == LOITER_UNLIM:
            return
        else:
            if item.command in (WAYPOINT, LOITER_TIME):
                hold = item.params[0]
            if hold > 0:
                self._wait(i, self._now.t_us + round(hold * 1e6))
                return
            self._item_done(i)
        self._go_on(i)

    def landed(self, i: int) -> None:
        """Vehicle i has touched down."""
        if self._flies(i) and self._flown[i].stage == _TOUCH_DOWN:
            self._item_done(i)
            self._go_on(i)

    def _flies(self, i):
        v = self._status[i]
        return bool(v["mode"] == Mode.MISSION and v["armed"] and self.total[i])

    # Item by item ------------------------------------------------------------------------------

    def _go_on(self, i):
        """Executes immediate items, and begins the next one that takes time."""
        f, items = self._flown[i], self._items[MISSION][i]
        for _ in range(len(items) + 1):
            if f.index >= len(items):
                self._finish(i, "Mission finished, loitering")
                return
            self._set_seq(i, f.index)
            if self._begin_item(i, f, items[f.index]):
                return
        self._finish(i, "Mission ends, loitering: its jumps go round without a waypoint")

    def _begin_item(self, i, f, item):
        """Begins the current item; False where it was over at once."""
        command = item.command
        down = command == LAND and self._status["landed"][i]
        if command in PLACED and not down:
            self._fly(i, f, item)
            return True
        if command == RTL:
            self._item_done(i)
            self.finished[i] = f.index >= len(self._items[MISSION][i])
            self._flight.enter(i, Mode.RTL)
            return True
        if command in (DELAY, CONDITION_DELAY):
            if item.params[0] > 0:
                self._wait(i, self._now.t_us + round(item.params[0] * 1e6))
                return True
        elif command == DO_CHANGE_SPEED:
            self._change_speed(f, item.params[1])
        elif command == DO_SET_HOME:
            self._set_home(i, item)
        elif command in PAYLOAD:
            self._outbox.say(i, INFO, f"Mission item {f.index} ({item.name}) passed by: this "
                                      "vehicle has no such device")
        self._item_done(i)
        if command == DO_JUMP:
            self._jump(i, f, item)
        return False

    def _jump(self, i, f, item):
        at = f.index - 1
        made = f.jumps.get(at, 0)
        if item.params[1] < 0 or made < item.params[1]:
            f.jumps[at] = made + 1
            f.index = int(item.params[0])

    def _change_speed(self, f, speed):
        if speed > 0:
            f.speed = speed
        elif speed == -2:
            f.speed = math.nan

    def _set_home(self, i, item):
        position = item.position(self._origin, self._status["home"][i])
        if item.params[0] == 1 or not np.isfinite(position).all():
            position = self._estimator.pos[i].copy()
        self._status["home"][i] = position

    def _item_done(self, i):
        f = self._flown[i]
        self._outbox.broadcast(i, mavlink.MAVLink_mission_item_reached_message(f.index))
        self.last_reached[i] = f.index
        f.index += 1
        f.stage = _FLY

    def _finish(self, i, text):
        self.finished[i] = True
        self._flight.enter(i, Mode.LOITER)
        self._outbox.say(i, INFO, text)

    # Legs --------------------------------------------------------------------------------------

    def _fly(self, i, f, item):
        v, pos = self._status[i], self._estimator.pos[i]
        position = item.position(self._origin, v["home"])
        position = np.where(np.isfinite(position), position, v["target"])
        v["climb"] = v["accept_yaw"] = math.nan
        v["pass_speed"] = 0.0
        v["target_speed"] = f.speed
        v["target_type"], v["watch"] = TARGET_POSITION, True
        v["accept"] = self._accept(i, item)
        if item.command == TAKEOFF or (v["landed"] and item.command != LAND):
            f.stage = _CLIMB
            self._climb(v, pos, item, position, self._parameters.get(i, "MIS_TAKEOFF_ALT"))
        elif item.command == LAND:
            self._land(i, f, item, position)
        elif item.command == LOITER_TURNS:
            self._circle(i, f, item, position)
        else:
            self._leg(i, f, item, position)

    def _accept(self, i, item):
        if item.command == WAYPOINT and item.params[1] > 0:
            return _INSIDE * item.params[1]
        return _INSIDE * self._parameters.get(i, "NAV_ACC_RAD")

    def _climb(self, v, pos, item, position, least):
        v["target_type"] = TARGET_TAKEOFF
        if v["landed"]:
            v["smooth_vel"] = 0.0
            v["target"][:2] = pos[:2]
        if item.command == TAKEOFF:
            self._look(v, item)
            v["target"][2] = position[2] if v["landed"] else max(position[2], pos[2])
        else:
            v["target"][2] = pos[2] + least

    def _land(self, i, f, item, position):
        v = self._status[i]
        v["accept"] = min(v["accept"], 0.5)  # the touch-down shall be where the item says
        if f.stage == _FLY and item.has_place:
            f.stage = _APPROACH
            v["target"][:2] = position[:2]
            self._look(v, item)
            return
        f.stage = _TOUCH_DOWN
        v["target_type"], v["watch"] = TARGET_LAND, False

    def _circle(self, i, f, item, centre):
        v, pos = self._status[i], self._estimator.pos[i]
        radius = item.params[2]
        if not radius:
            radius = self._parameters.get(i, "NAV_LOITER_RAD")
        if f.stage == _CIRCLE:
            v["target_type"] = TARGET_ORBIT
            v["target"][2] = centre[2]
            turns = item.params[0]
            v["orbit_left"] = 2 * math.pi * (turns if math.isfinite(turns) else 1.0)
            return
        f.stage = _ENTER_CIRCLE
        out = pos[:2] - centre[:2]
        distance = np.hypot(*out)
        out = out / distance if distance > 0.1 else np.array([1.0, 0.0])
        v["centre"], v["orbit_radius"] = centre, radius
        v["accept"] = _AT_CIRCLE
        v["target"][:2] = centre[:2] + abs(radius) * out
        v["target"][2] = centre[2]
        v["target_yaw"] = math.atan2(-out[1], -out[0])

    def _leg(self, i, f, item, position):
        v = self._status[i]
        v["target"] = position
        self._look(v, item)
        if item.command != WAYPOINT:
            return
        if math.isfinite(item.params[3]):
            v["accept_yaw"] = math.radians(self._parameters.get(i, "MIS_YAW_ERR"))
        elif not item.params[0] > 0:
            v["pass_speed"] = self._pass_speed(i, f, position)

    def _look(self, v, item):
        """Sets the heading to the item's, or along the leg."""
        if math.isfinite(item.params[3]) and item.command in _HEADED:
            v["target_yaw"] = yaw_enu_ned(math.radians(item.params[3]))
            return
        leg = (v["target"] - v["smooth_pos"])[:2]
        if np.hypot(*leg) > 1.0:
            v["target_yaw"] = math.atan2(leg[1], leg[0])

    def _pass_speed(self, i, f, position):
        """Speed that may be left when a waypoint is passed without a stop.

        The corner is cut inside the acceptance radius, at the acceleration of AUTO modes.
        """
        following = self._next_place(i, f)
        if following is None:
            return 0.0
        v, get = self._status[i], self._parameters.get
        come, go = (position - v["smooth_pos"])[:2], (following - position)[:2]
        lengths = np.hypot(*come), np.hypot(*go)
        if min(lengths) < 1e-3:
            return 0.0
        cosine = np.clip(come @ go / (lengths[0] * lengths[1]), -1.0, 1.0)  # 1 = straight on
        acc, jerk = get(i, "MPC_ACC_HOR"), get(i, "MPC_JERK_AUTO")
        cruise = f.speed if math.isfinite(f.speed) else get(i, "MPC_XY_CRUISE")
        half = math.sqrt((1.0 + cosine) / max(1.0 - cosine, 1e-6))  # tangent of half the angle
        corner = math.sqrt(acc * v["accept"] * half)
        return min(cruise, corner, speed_to_stop(lengths[1], acc, jerk))

    def _next_place(self, i, f):
        """Position of the item after the current one, unless the vehicle stops before it."""
        items = self._items[MISSION][i]
        k, jumps = f.index + 1, dict(f.jumps)
        for _ in range(len(items)):
            if k >= len(items):
                return None
            item = items[k]
            if item.command == DO_JUMP:
                made = jumps.get(k, 0)
                jumps[k] = made + 1
                again = item.params[1] < 0 or made < item.params[1]
                k = int(item.params[0]) if again else k + 1
            elif item.command in PAYLOAD | {DO_CHANGE_SPEED, DO_SET_HOME, DO_LAND_START}:
                k += 1
            elif item.command in PLACED and item.has_place and item.command != LOITER_TURNS:
                return item.position(self._origin, self._status["home"][i])
            else:
                return None
        return None

    # Bookkeeping -------------------------------------------------------------------------------

    def _wait(self, i, until):
        self._due[i] = until
        self._next_due = int(self._due.min())

    def _set_seq(self, i, seq):
        if self.seq[i] != seq:
            self.seq[i] = seq
            self._outbox.stream_now(i, "MISSION_CURRENT")
