"""Arming, mode changes and their preconditions, and reactions to events.

Every rejection carries a reason that a user can act on; it goes out as
STATUSTEXT and with the acknowledgement.
"""

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from xtdrone_core.modes import MODES, NAV_STATES, ORBIT, ROS_NAME, VTOL_TAKEOFF, Mode, Need, may_arm
from xtdrone_core.state import ARM, DISARM, KEEP, SetPoints
from xtdrone_dynamics.abilities.vehicle_type import FIXED_WING, ROVER

from ..interfaces import Estimator
from ..navigation.mission import Missions
from ..navigation.navigator import OPEN, Navigator
from ..navigation.orbit import Orbits
from ..parameters.store import ParameterStore
from ..state.answer import ACCEPTED, REJECTED, Answer
from ..state.clock import StepClock
from ..state.flight_state import FlightState
from ..state.outbox import CRITICAL, INFO, WARNING, Outbox
from ..state.reasons import ABORTED_BY_OPERATOR, ABORTED_LANDINGS, QUADCHUTES
from ..state.vehicle_status import (
    EVENT_DISARM_LANDED,
    EVENT_DISARM_PREFLIGHT,
    EVENT_FAILSAFE_DELAY_OVER,
    EVENT_LANDED,
    EVENT_LANDING_ABORTED,
    EVENT_OFFBOARD_LOST,
    EVENT_QUADCHUTE,
    EVENT_TAKEN_OFF,
    EVENT_TARGET_REACHED,
    EVENT_TRANSITION_OVER,
    NEW_MODE,
    TARGET_LAND,
)
from .arming_checks import ArmingChecks
from .failsafes import Failsafes

_THROTTLE_DOWN = -0.8  # throttle stick, -1..1: above it nothing is armed that flies


class Commander:
    """Arming, modes and events of a fleet."""

    def __init__(
        self,
        status: np.ndarray,
        parameters: ParameterStore,
        estimator: Estimator,
        checks: ArmingChecks,
        failsafes: Failsafes,
        missions: Missions,
        navigator: Navigator,
        orbits: Orbits,
        flight: FlightState,
        clock: StepClock,
        origin: Sequence[float],
        outbox: Outbox,
    ) -> None:
        """The commander of a fleet.

        Args:
            status: (N,) of VEHICLE_STATUS.
            parameters: Parameters of the fleet.
            estimator: Its state.
            checks: Those that may prevent arming.
            failsafes: Told of arming and of modes.
            missions: Notified of reached targets.
            navigator: Flies to requested targets.
            orbits: Flies round them.
            flight: Changes mode and arming.
            clock: Time of the flight stack.
            origin: Latitude, longitude [rad] and height [m] of the world's origin.
            outbox: Sends STATUSTEXTs.
        """
        self._status, self._parameters, self._estimator = status, parameters, estimator
        self._checks, self._failsafes, self._missions = checks, failsafes, missions
        self._navigator, self._orbits, self._flight = navigator, orbits, flight
        self._clock, self._origin, self._outbox = clock, origin, outbox

    def checks(self, i: int) -> str:
        """The first reason why vehicle i may not arm, or an empty string."""
        return self._checks.why_not(i)

    def report_checks(self, i: int) -> None:
        """Reports the arming checks of vehicle i to ground stations."""
        self._checks.report(i)

    def arm(self, i: int, t_us: int, force: bool = False) -> Answer:
        """Arms vehicle i, or rejects it with a reason."""
        status = self._status[i]
        if status["armed"]:
            return Answer(ACCEPTED)
        mode = Mode(status["mode"])
        reason = self.checks(i) or self._why_not_in(i, mode, t_us)
        if reason and not force:
            self._outbox.say(i, CRITICAL, "Arming denied: Resolve system health failures first\t")
            return self._refuse(i, "Arming denied", reason)
        status["armed"] = True
        status["armed_t"] = status["landed_t"] = t_us
        status["mode_stage"] = NEW_MODE
        self.set_home(i)
        self._outbox.announce(i)
        self._outbox.say(i, INFO, "Armed by external command\t")
        self._failsafes.armed(i)
        self._flight.task(i).begin(i)
        return Answer(ACCEPTED)

    def set_home(self, i: int) -> None:
        """Home of vehicle i is where it is."""
        status = self._status[i]
        status["home"], status["home_yaw"] = self._estimator.pos[i], self._estimator.yaw(i)
        status["home_set"] = True
        self._missions.validate(i)

    def move_home(self, due: np.ndarray) -> None:
        """Home of disarmed vehicles follows where it is new, or farther off than it is known.

        Args:
            due: (N,) bool, the vehicles meant.
        """
        status, estimator = self._status, self._estimator
        offset, std = estimator.pos - status["home"], estimator.pos_std
        moved = (np.hypot(offset[:, 0], offset[:, 1]) > 2 * np.hypot(std[:, 0], std[:, 1])) | (
            np.abs(offset[:, 2]) > 2 * std[:, 2]
        )
        new = ~status["home_set"] & status["ready"]
        follows = new | (status["home_set"] & status["landed"] & moved & estimator.ready)
        for i in np.flatnonzero(due & follows & ~status["armed"]):
            self.set_home(i)
            if new[i]:
                self._outbox.announce(int(i))

    def _why_not_in(self, i: int, mode: Mode, t_us: int) -> str:
        """Why vehicle i may not arm in a mode, or an empty string."""
        needs = MODES[mode].needs
        rover = self._status["vehicle_type"][i] == ROVER
        if rover and not MODES[mode].rovers:
            return _no_height(mode)
        if not may_arm(self._status["nav_state"][i]):
            return f"mode {ROS_NAME[mode]} is not for take-off: change to AUTO.TAKEOFF or OFFBOARD"
        if Need.SET_POINTS in needs and not self._has_offboard(i, t_us):
            return self._offboard_reason(i)
        if Need.STICKS in needs and not self._has_sticks(i, t_us):
            return f"no MANUAL_CONTROL, which mode {ROS_NAME[mode]} needs"
        if Need.STICKS in needs and not rover and self._status["stick_up"][i] > _THROTTLE_DOWN:
            return "the throttle stick is not down"
        return self._flight.why_not(i, mode)

    def disarm(self, i: int, force: bool = False, why: str = "external command") -> Answer:
        """Disarms vehicle i; in the air only by force."""
        status = self._status[i]
        if (
            status["armed"]
            and not status["landed"]
            and not force
            and status["vehicle_type"] != ROVER
        ):
            self._outbox.say(i, CRITICAL, "Disarming denied: not landed\t")
            return self._refuse(i, "Disarming denied", "it is flying: land first, or force it")
        self._flight.disarm(i, why)
        return Answer(ACCEPTED)

    def take_requests(self, set_points: SetPoints) -> None:
        """Takes the requests of an Agent's set-points: first modes, then arming and disarming."""
        t_us = self._clock.t_us
        for i in np.flatnonzero(set_points.mode != KEEP):
            self.set_mode(int(i), Mode(set_points.mode[i]), t_us)
        for i in np.flatnonzero(set_points.arm == ARM):
            self.arm(int(i), t_us)
        for i in np.flatnonzero(set_points.arm == DISARM):
            self.disarm(int(i))

    def set_mode(
        self, i: int, mode: Mode, t_us: int, text: str = "", shown: int | None = None
    ) -> Answer:
        """Changes the mode of vehicle i, or rejects it with a reason.

        As with PX4, any mode can be chosen before arming; what it lacks is said, and denies arming.

        Args:
            i: The vehicle.
            mode: The wanted one.
            t_us: Now [us].
            text: Said if it is accepted, before the mode's own texts.
            shown: The variant of it that clients see, by PX4's number; None = the mode itself.
        """
        status = self._status[i]
        shown = MODES[mode].nav_state if shown is None else shown
        reason = self._why_not(i, mode, t_us)
        if reason and status["armed"]:
            self.say_unavailable(i, shown)
            return self._refuse(i, f"Mode {ROS_NAME[mode]} refused", reason)
        if reason:
            self._outbox.say(i, WARNING, f"Mode {ROS_NAME[mode]} cannot be armed: {reason}")
        status["failsafe"] = False
        self._failsafes.taken_over(i)
        if text:
            self._outbox.say(i, INFO, text)
        if mode != status["mode"]:
            self._flight.enter(i, mode)
            status["descend"] = mode == Mode.LAND and not self._estimator.ready[i]
        self._flight.show(i, shown)
        return Answer(ACCEPTED)

    def say_unavailable(self, i: int, nav_state: int) -> None:
        """Says that vehicle i cannot change to a mode, by PX4's number, now."""
        state = NAV_STATES[nav_state]
        self._outbox.say(
            i,
            CRITICAL,
            f"Switching to {state.name} is currently not available\t",
            ("commander_modeswitch_not_avail", state.custom_mode, state.name),
        )

    def _why_not(self, i: int, mode: Mode, t_us: int) -> str:
        """Why vehicle i may not change to a mode, or an empty string."""
        needs = MODES[mode].needs
        if self._status["vehicle_type"][i] == ROVER and not MODES[mode].rovers:
            return _no_height(mode)
        if Need.MISSION in needs and not self._missions.total[i]:
            return self._missions.why_not(i)
        if Need.SET_POINTS in needs and not self._has_offboard(i, t_us):
            return self._offboard_reason(i)
        if Need.STICKS in needs and not self._has_sticks(i, t_us):
            return "no MANUAL_CONTROL comes in"
        needs_position = Need.POSITION in needs or (
            Need.POSITION_ON_GROUND in needs and self._status["landed"][i]
        )
        if needs_position and not self._estimator.ready[i]:
            return self._estimator_reason(i)
        return self._flight.why_not(i, mode)

    def take_off(self, i: int, altitude: float, t_us: int, place: npt.ArrayLike = OPEN) -> Answer:
        """NAV_TAKEOFF: mode AUTO.TAKEOFF to a height, and a place where one is given.

        Args:
            i: The vehicle.
            altitude: Above sea level [m]; NaN = the parameter's above the vehicle.
            t_us: Now [us].
            place: (3,) of which east and north count [m]; NaN = where the vehicle is.
        """
        status = self._status[i]
        again = status["mode"] == Mode.TAKEOFF and status["armed"]
        status["takeoff_height"], status["centre"] = altitude - self._origin[2], place
        answer = self.set_mode(i, Mode.TAKEOFF, t_us)
        if not answer.accepted:
            status["takeoff_height"] = math.nan
        elif again:
            self._flight.task(i).begin(i)
        return answer

    def vtol_take_off(self, i: int, place: npt.ArrayLike, t_us: int) -> Answer:
        """NAV_VTOL_TAKEOFF: up in a hover, transition, and a loiter VTO_LOITER_ALT above home.

        Args:
            i: The vehicle, a VTOL.
            place: (3,) where it loiters, and the height at which it changes over [m]; NaN = where
                it is, and MIS_TAKEOFF_ALT.
            t_us: Now [us].
        """
        status, place = self._status[i], np.asarray(place, float)
        status["takeoff_height"], status["centre"] = place[2], math.nan
        answer = self.set_mode(i, Mode.TAKEOFF, t_us, shown=VTOL_TAKEOFF)
        if not answer.accepted:
            status["takeoff_height"] = math.nan
            return answer
        here = self._estimator.pos[i]
        status["centre"] = np.where(np.isfinite(place), place, here)
        return answer

    def reposition(
        self, i: int, target: npt.ArrayLike, yaw: float, speed: float, t_us: int
    ) -> Answer:
        """DO_REPOSITION: fly to a position (3,) [m] and hold it; NaN keeps a value."""
        answer = self.set_mode(i, Mode.LOITER, t_us)
        if answer.accepted:
            self._navigator.reposition(i, target, yaw, speed)
        return answer

    def orbit(
        self, i: int, centre: npt.ArrayLike, radius: float, speed: float, heading: float, t_us: int
    ) -> Answer:
        """DO_ORBIT: AUTO.LOITER on a circle; the arguments are those of Orbits.begin()."""
        goes_round = bool(self._status["nav_state"][i] == ORBIT)
        answer = self.set_mode(i, Mode.LOITER, t_us, shown=ORBIT)
        if answer.accepted:
            self._orbits.begin(i, centre, radius, speed, heading, goes_round)
        return answer

    def handle_events(self) -> None:
        """Handles the events raised by the compiled loops."""
        status = self._status
        for i in status["events"].nonzero()[0]:
            events, status["events"][i] = int(status["events"][i]), 0
            for bit, deal in _EVENTS:
                if events & bit:
                    deal(self, i)

    def _taken_off(self, i: int) -> None:
        self._outbox.say(i, INFO, "Takeoff detected\t")
        self.set_home(i)

    def _landed(self, i: int) -> None:
        self._outbox.say(i, INFO, "Landing detected\t")
        self._missions.landed(i)

    def _reached(self, i: int) -> None:
        self._flight.task(i).reached(i)

    def _transition_over(self, i: int) -> None:
        self._flight.task(i).transition_over(i)

    def _quadchute(self, i: int) -> None:
        words, name = QUADCHUTES[int(self._status["quadchute"][i])]
        self._outbox.say(
            i, CRITICAL, "Quad-chute triggered\t", (f"vtol_att_ctrl_quadchute_{name}",)
        )
        self._outbox.say(i, CRITICAL, f"Quad-chute: {words}; it hovers from now on")

    def go_around(self, i: int) -> None:
        """Aborts the landing of vehicle i if it is a fixed wing that lands by itself."""
        status = self._status[i]
        if (
            status["armed"]
            and not status["landed"]
            and status["vehicle_type"] == FIXED_WING
            and MODES[Mode(status["mode"])].by_target
            and status["target_type"] == TARGET_LAND
        ):
            status["landing_abort"] = ABORTED_BY_OPERATOR
            self._landing_aborted(i)

    def _landing_aborted(self, i: int) -> None:
        """It waits above the touch-down of a plan, or above where it is."""
        status = self._status[i]
        words, name = ABORTED_LANDINGS[int(status["landing_abort"])]
        self._outbox.say(
            i,
            CRITICAL,
            f"Landing aborted{words}\t",
            (f"fixedwing_position_control_landing_abort_status_{name}",),
        )
        place = self._estimator.pos[i].copy()
        if status["mode"] == Mode.LAND:
            place[2] += self._parameters.get(i, "MIS_LND_ABRT_ALT")
        else:
            place = self._missions.abort_landing(i)
        self.reposition(i, place, math.nan, math.nan, self._clock.t_us)

    def _has_offboard(self, i: int, t_us: int) -> bool:
        status = self._status[i]
        age = (t_us - status["offboard_t"]) * 1e-6
        return status["offboard_kind"] != 0 and age <= self._parameters.get(i, "COM_OF_LOSS_T")

    def _has_sticks(self, i: int, t_us: int) -> bool:
        age = (t_us - self._status[i]["stick_t"]) * 1e-6
        return age <= self._parameters.get(i, "COM_RC_LOSS_T")

    def _estimator_reason(self, i: int) -> str:
        return "the estimator is not ready: " + self._estimator.why_not_ready(i)

    def _offboard_reason(self, i: int) -> str:
        seconds = self._parameters.get(i, "COM_OF_LOSS_T")
        return f"no offboard set-point in the last {seconds:g} s: stream them at 2 Hz or more first"

    def _refuse(self, i: int, what: str, reason: str) -> Answer:
        self._outbox.say(i, CRITICAL, f"{what}: {reason}")
        return Answer(REJECTED, reason)


def _no_height(mode: Mode) -> str:
    return f"rovers and boats stay at their height: {ROS_NAME[mode]} is for what flies"


# Event: what follows from it, in this order.
_EVENTS = (
    (EVENT_TAKEN_OFF, Commander._taken_off),
    (EVENT_LANDED, Commander._landed),
    (EVENT_TARGET_REACHED, Commander._reached),
    (EVENT_DISARM_LANDED, lambda c, i: c.disarm(i, why="landing")),
    (EVENT_DISARM_PREFLIGHT, lambda c, i: c.disarm(i, why="auto preflight disarming")),
    (EVENT_QUADCHUTE, Commander._quadchute),
    (EVENT_TRANSITION_OVER, Commander._transition_over),
    (EVENT_LANDING_ABORTED, Commander._landing_aborted),
    (EVENT_OFFBOARD_LOST, lambda c, i: c._failsafes.offboard_lost(i)),
    (EVENT_FAILSAFE_DELAY_OVER, lambda c, i: c._failsafes.delay_over(i)),
)
