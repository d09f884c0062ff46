"""Failsafe actions, selected by PX4's parameters.

Conditions of the whole fleet are checked at 10 Hz; each triggers its action when it
begins. An action is only replaced by a more severe one, and a mode that a user selects
ends all failsafe actions.
"""

from collections.abc import Callable

import numpy as np

from xtdrone_core.contracts import Snapshot
from xtdrone_core.modes import ROS_NAME, Mode, custom_mode
from xtdrone_core.runs.snapshot import Memory

from ..state.estimator_flags import GPS_USED, VISION_USED
from ..state.flight_state import FlightState
from ..state.outbox import CRITICAL, INFO, WARNING, Outbox
from .conditions import CONDITIONS, Action, Condition, Geofence, RotorFailure, Watched, sticks_held

_WORDS = {
    Action.NONE: "nothing",
    Action.WARN: "warn",
    Action.HOLD: "hold",
    Action.RETURN: "return",
    Action.LAND: "land",
    Action.DESCEND: "descend without position",
    Action.DISARM: "disarm",
    Action.TERMINATE: "terminate",
}
_PX4_ACTION = {
    Action.HOLD: "Hold",
    Action.RETURN: "RTL",
    Action.LAND: "Land",
    Action.DESCEND: "Descend",
    Action.DISARM: "disarm",
    Action.TERMINATE: "terminate",
}
_MODE = {Action.HOLD: Mode.LOITER, Action.RETURN: Mode.RTL, Action.LAND: Mode.LAND}
# Values of COM_OBL_RC_ACT; 0, 1 and 2 need sticks.
_OFFBOARD_MODE = {0: Mode.POSCTL, 1: Mode.ALTCTL, 2: Mode.STABILIZED}
_OFFBOARD_ACTION = {
    3: Action.RETURN,
    4: Action.LAND,
    5: Action.HOLD,
    6: Action.TERMINATE,
    7: Action.DISARM,
}
_OFFBOARD = "offboard"  # the condition that set-points have stopped, which the navigator finds
_NO_ROTOR = -1


class Failsafes(Memory):
    """Conditions and actions of a fleet."""

    MEMORY = ("_level", "_pending")

    def __init__(
        self,
        watched: Watched,
        flight: FlightState,
        outbox: Outbox,
        fly_without: Callable[[int, int], None],
    ) -> None:
        """Nothing has failed yet.

        Args:
            watched: The inputs of the conditions.
            flight: Changes mode and arming.
            outbox: Sends STATUSTEXTs.
            fly_without: Called as fly_without(vehicle, rotor) to take a rotor out of the mixer,
                -1 for none.
        """
        self._watched, self._flight, self._outbox = watched, flight, outbox
        self._fly_without = fly_without
        self._status, self._parameters = watched.status, watched.parameters
        n = len(watched.status)
        self._fence, self._rotor = Geofence(watched), RotorFailure(watched)
        made = {Geofence: self._fence, RotorFailure: self._rotor}
        self.conditions: dict[str, Condition] = {
            kind.name: made.get(kind) or kind(watched) for kind in CONDITIONS
        }
        self._level = np.zeros(n, dtype=np.int8)  # Action in force
        self._pending: dict[
            int, tuple[str, Action, Mode | None]
        ] = {}  # vehicle -> (condition, Action, mode before)
        flight.on_disarm.append(self.taken_over)
        for part in (self, *self.conditions.values()):
            part.remember_start()

    @property
    def fenced(self) -> np.ndarray:
        """(N,) bool, there is a geofence, and it acts."""
        return self._fence.fenced

    @property
    def outside(self) -> np.ndarray:
        """(N,) bool, outside the geofence."""
        return self._fence.outside

    @property
    def failed_rotor(self) -> np.ndarray:
        """(N,) int16, the rotor that the rotor monitor has found, -1 = none; it writes here."""
        return self._rotor.failed

    def active(self) -> np.ndarray:
        """(N,) bool, a failsafe has chosen what the vehicle does."""
        return self._level >= Action.HOLD

    def failing(self, i: int) -> dict:
        """Conditions of vehicle i that hold now: name -> text and advice for its user."""
        return {
            name: [condition.text, condition.advice]
            for name, condition in self.conditions.items()
            if condition.holds[i]
        }

    def answers(self, i: int) -> dict:
        """Configured actions of vehicle i: condition -> action."""
        return {
            name: _WORDS[condition.action(i)]
            for name, condition in self.conditions.items()
            if condition.parameter
        }

    def save(self) -> dict:
        """Includes the conditions; see Memory."""
        return {
            **super().save(),
            "conditions": {name: condition.save() for name, condition in self.conditions.items()},
        }

    def load(self, snapshot: Snapshot) -> None:
        """Includes the conditions; see Memory."""
        super().load(snapshot)
        for name, condition in self.conditions.items():
            condition.load(snapshot["conditions"][name])

    def reset(self, mask: np.ndarray | None = None) -> None:
        """Nothing has failed on these vehicles."""
        super().reset(mask)
        for i in np.arange(len(self._level)) if mask is None else np.flatnonzero(mask):
            self._pending.pop(int(i), None)
        for condition in self.conditions.values():
            condition.reset(mask)

    def step(self, due: np.ndarray | None = None) -> None:
        """Checks every condition, and acts; call it each PERIOD_US of a vehicle.

        Args:
            due: (N,) bool, the vehicles meant; None for all.
        """
        self.act(self.check(due))

    def check(self, due: np.ndarray | None = None) -> list:
        """Checks every condition; returns what has changed, for act()."""
        params, flying = self._parameters.values, self._status["armed"] & ~self._status["landed"]
        begun, ended = [], []
        for condition in self.conditions.values():
            now = condition.check_due(due, flying, params)
            changed = now != condition.holds
            if changed.any():
                begun += [(self.begin, int(i), condition) for i in np.flatnonzero(changed & now)]
                ended += [(self._ended, int(i), condition) for i in np.flatnonzero(changed & ~now)]
                condition.holds[:] = now
        return ended + begun

    def act(self, changes: list) -> None:
        """Does what follows from the changes that check() has found."""
        for follow, i, condition in changes:
            follow(i, condition)

    def armed(self, i: int) -> None:
        """Vehicle i has just been armed."""
        for condition in self.conditions.values():
            condition.armed(i)
        self._fly_without(i, _NO_ROTOR)
        self.taken_over(i)

    def taken_over(self, i: int) -> None:
        """A user has chosen the mode of vehicle i, or it was disarmed."""
        self._level[i] = Action.NONE
        self._pending.pop(i, None)

    def offboard_lost(self, i: int) -> None:
        """Offboard set-points have stopped."""
        status = self._status[i]
        delay = self._get(i, "COM_FAIL_ACT_T")
        self._outbox.say(i, CRITICAL, f"Failsafe: offboard set-points lost, hold for {delay:g} s")
        self._flight.enter(i, Mode.LOITER, failsafe=True)
        status["failsafe"] = True
        self._pending[i] = (_OFFBOARD, Action.HOLD, Mode.LOITER)

    def delay_over(self, i: int) -> None:
        """COM_FAIL_ACT_T has passed since the hold began."""
        self._status["failsafe"][i] = False
        condition, action, _ = self._pending.pop(i, ("", Action.NONE, None))
        if condition == _OFFBOARD:
            self._after_offboard(i)
        elif action != Action.NONE:
            self._perform(i, action)

    def _get(self, i: int, name: str) -> float:
        return self._parameters.get(i, name)

    def begin(self, i: int, condition: Condition) -> None:
        """Acts on a condition that begins to hold for vehicle i."""
        why, mode = condition.why(i), condition.mode_instead(i)
        if mode is not None:
            self._outbox.say(i, CRITICAL, f"Failsafe: {why}: mode {ROS_NAME[mode]}")
            self._flight.enter(i, mode, failsafe=True)
            return
        if condition is self._rotor and self._get(i, "CA_FAILURE_MODE") == 1:
            self._fly_without(i, self._rotor.failed[i])
        self._act(i, condition, condition.action(i), why)

    def _act(self, i: int, condition: Condition, action: Action, why: str) -> None:
        status = self._status[i]
        if action == Action.NONE:
            return
        under_way = action != Action.HOLD and status["mode"] == _MODE.get(action)
        # A vehicle that is landing already does not climb to return, as in PX4.
        under_way |= action == Action.RETURN and status["mode"] == Mode.LAND
        under_way |= action in (Action.RETURN, Action.LAND) and status["mode"] == Mode.PRECLAND
        if action == Action.WARN or action <= self._level[i] or under_way:
            if action == Action.WARN:
                self._tell_warning(i, condition)
            self._outbox.say(i, CRITICAL if action > Action.WARN else WARNING, f"Warning: {why}")
            self._level[i] = max(self._level[i], action)
            return
        self._level[i] = action
        delay = self._get(i, "COM_FAIL_ACT_T")
        if condition.waits and delay > 0 and action in (Action.RETURN, Action.LAND):
            self._tell(i, condition, action, delay)
            self._outbox.say(
                i, CRITICAL, f"Failsafe: {why}: hold for {delay:g} s, then {_WORDS[action]}"
            )
            self._pending[i] = (condition.name, action, Mode(status["mode"]))
            self._flight.enter(i, Mode.LOITER, failsafe=True)
            status["failsafe"] = True
            return
        self._tell(i, condition, action)
        self._pending.pop(i, None)
        status["failsafe"] = False
        self._outbox.say(i, CRITICAL, f"Failsafe: {why}: {_WORDS[action]}")
        self._perform(i, action)

    def _tell_warning(self, i: int, condition: Condition) -> None:
        """PX4's event, and its text where it sees a failsafe in it."""
        event = condition.warning_event(i)
        if event[0].startswith("commander_failsafe"):
            self._outbox.say(i, CRITICAL, "Failsafe activated\t", event)
        else:
            self._outbox.tell(i, *event)

    def _tell(self, i: int, condition: Condition, action: Action, delay: float = 0.0) -> None:
        """PX4's text and event: a hold for a delay [s], or the action at once."""
        held = delay > 0.0
        known = (condition.px4,) if condition.px4 else ()
        name = "commander_failsafe_enter" + "_generic" * (not known) + "_hold" * held
        self._outbox.say(
            i,
            CRITICAL,
            f"Failsafe activated: entering Hold for {delay:.0f} seconds\t"
            if held
            else "Failsafe activated\t",
            (
                name,
                custom_mode(Mode(self._status["mode"][i])),
                _PX4_ACTION[action],
                *(delay,) * held,
                *known,
            ),
        )

    def _perform(self, i: int, action: Action) -> None:
        if action in (Action.DISARM, Action.TERMINATE):
            self._flight.disarm(i, "failsafe")
            return
        aided = self._watched.estimator.flags[i] & (GPS_USED | VISION_USED)
        if action == Action.DESCEND or not aided:
            self._flight.enter(i, Mode.LAND, failsafe=True)
            self._status["descend"][i] = True
            return
        self._flight.enter(i, _MODE[action], failsafe=True)
        self._outbox.say(i, CRITICAL, f"Failsafe: mode {ROS_NAME[_MODE[action]]}")

    def _after_offboard(self, i: int) -> None:
        choice = int(self._get(i, "COM_OBL_RC_ACT"))
        action = _OFFBOARD_ACTION.get(choice)
        if action is None and sticks_held(self._watched, i):
            mode = _OFFBOARD_MODE[choice]
            self._outbox.say(i, CRITICAL, f"Failsafe: mode {ROS_NAME[mode]}")
            self._flight.enter(i, mode, failsafe=True)
            return
        action = action or Action.RETURN  # PX4's last resort without manual control
        self._level[i] = action
        self._perform(i, action)

    def _ended(self, i: int, condition: Condition) -> None:
        """A condition holds no more for vehicle i: the mode before the hold comes back."""
        pending = self._pending.get(i)
        if pending is None or pending[0] != condition.name or not condition.comes_back:
            return
        mode = pending[2] or Mode.LOITER
        if mode in (Mode.OFFBOARD, Mode.TAKEOFF):  # its set-points may have stopped as well
            mode = Mode.LOITER
        self.taken_over(i)
        self._status["failsafe"][i] = False
        self._outbox.say(i, INFO, f"The {condition.comes_back} is back: mode {ROS_NAME[mode]}")
        self._flight.enter(i, mode, failsafe=True)
