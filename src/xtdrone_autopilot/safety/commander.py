"""Who may arm, disarm and change modes, why not, and what follows from an event.

Every refusal carries a reason in words that a user can act on; it goes out as
STATUSTEXT and with the acknowledgement.
"""

import math
from dataclasses import dataclass

import numpy as np

from xtdrone_core.modes import ROS_NAME, Mode

from ..mavlink.dialect import mavlink
from ..vehicle_status import (
    EVENT_DISARM_LANDED,
    EVENT_DISARM_PREFLIGHT,
    EVENT_FAILSAFE_DELAY_OVER,
    EVENT_LANDED,
    EVENT_OFFBOARD_LOST,
    EVENT_TAKEN_OFF,
    EVENT_TAKEOFF_DONE,
    EVENT_TARGET_REACHED,
    TASK_ORBIT,
)

ACCEPTED = mavlink.MAV_RESULT_ACCEPTED
REJECTED = mavlink.MAV_RESULT_TEMPORARILY_REJECTED
DENIED = mavlink.MAV_RESULT_DENIED

INFO, NOTICE, WARNING, CRITICAL = (mavlink.MAV_SEVERITY_INFO, mavlink.MAV_SEVERITY_NOTICE,
                                   mavlink.MAV_SEVERITY_WARNING, mavlink.MAV_SEVERITY_CRITICAL)

_STICK_MODES = frozenset({Mode.MANUAL, Mode.STABILIZED, Mode.ACRO, Mode.ALTCTL})
_FREE_OF_POSITION = frozenset({Mode.MANUAL, Mode.STABILIZED, Mode.ACRO, Mode.ALTCTL})


@dataclass(frozen=True)
class Answer:
    """Result of a wish: a MAV_RESULT, and the reason where it was refused."""

    result: int
    reason: str = ""

    @property
    def accepted(self) -> bool:
        """Whether the wish was granted."""
        return self.result == ACCEPTED


class Commander:
    """Arming, modes and events of a fleet."""

    def __init__(self, autopilot, say):
        """say(i, severity, text) sends a STATUSTEXT from vehicle i."""
        self._a = autopilot
        self._say = say

    def checks(self, i: int) -> str:
        """The first reason why vehicle i may not arm, or an empty text."""
        a = self._a
        if not a.estimator.ready[i]:
            return "the estimator is not ready: " + a.estimator.why_not_ready(i)
        least = a.parameters.get(i, "COM_ARM_BAT_MIN")
        if a.battery.level[i] < least:
            return (f"battery at {a.battery.level[i]:.0%}, COM_ARM_BAT_MIN asks for "
                    f"{least:.0%}: charge it")
        return a.failsafes.why_not_arm(i)

    def arm(self, i: int, t_us: int, force: bool = False) -> Answer:
        """Arms vehicle i, or says why not."""
        v = self._a.status[i]
        if v["armed"]:
            return Answer(ACCEPTED)
        mode = Mode(v["mode"])
        reason = self.checks(i)
        if not reason and mode in (Mode.RTL, Mode.LAND):
            reason = (f"mode {ROS_NAME[mode]} is not for take-off: change to AUTO.TAKEOFF or "
                      "OFFBOARD")
        if not reason and mode == Mode.OFFBOARD and not self._has_offboard(i, t_us):
            reason = self._offboard_reason(i)
        if not reason and mode in _STICK_MODES and not self._has_sticks(i, t_us):
            reason = f"no MANUAL_CONTROL, which mode {ROS_NAME[mode]} needs"
        if not reason and mode in _STICK_MODES and v["stick_up"] > -0.8:
            reason = "the throttle stick is not down"
        if not reason and mode == Mode.MISSION:
            reason = self._a.missions.why_not(i)
        if reason and not force:
            return self._refuse(i, "Arming denied", reason)
        v["armed"] = True
        v["armed_t"] = v["landed_t"] = t_us
        v["phase"] = -1
        v["home"] = self._a.estimator.pos[i]
        v["home_yaw"] = self._a.estimator.yaw(i)
        v["home_set"] = True
        if mode == Mode.TAKEOFF:
            self._set_takeoff_height(i, math.nan)
        self._a.announce(i)
        self._say(i, INFO, "Armed")
        self._a.failsafes.armed(i)
        if mode == Mode.MISSION:
            self._a.missions.begin(i)
        return Answer(ACCEPTED)

    def disarm(self, i: int, force: bool = False, why: str = "") -> Answer:
        """Disarms vehicle i; in the air only by force."""
        v = self._a.status[i]
        if not v["armed"]:
            return Answer(ACCEPTED)
        if not v["landed"] and not force:
            return self._refuse(i, "Disarming denied", "it is flying: land first, or force it")
        v["armed"] = False
        v["landed"] = True
        v["failsafe"] = False
        if v["mode"] in (Mode.LAND, Mode.RTL, Mode.TAKEOFF):
            self.enter(i, Mode.LOITER)
        self._a.failsafes.taken_over(i)
        self._a.announce(i)
        self._say(i, INFO, f"Disarmed {why}".rstrip())
        return Answer(ACCEPTED)

    def set_mode(self, i: int, mode: Mode, t_us: int) -> Answer:
        """Changes the mode of vehicle i, or says why not."""
        v = self._a.status[i]
        reason = self._why_not(i, mode, t_us)
        if reason:
            return self._refuse(i, f"Mode {ROS_NAME[mode]} refused", reason)
        v["failsafe"] = False
        self._a.failsafes.taken_over(i)
        if mode != v["mode"]:
            if mode == Mode.TAKEOFF:
                self._set_takeoff_height(i, math.nan)
            self.enter(i, mode)
            v["blind"] = mode == Mode.LAND and not self._a.estimator.ready[i]
        return Answer(ACCEPTED)

    def _why_not(self, i, mode, t_us):
        """Why vehicle i may not change to a mode, or an empty text."""
        v, estimator = self._a.status[i], self._a.estimator
        if mode == Mode.MISSION and not self._a.missions.total[i]:
            return self._a.missions.why_not(i)
        if mode == Mode.OFFBOARD and not self._has_offboard(i, t_us):
            return self._offboard_reason(i)
        if mode in _STICK_MODES and not self._has_sticks(i, t_us):
            return "no MANUAL_CONTROL comes in"
        needless = mode == Mode.MANUAL or (not v["landed"] and (
            mode in _FREE_OF_POSITION or mode == Mode.LAND))
        if not needless and not estimator.ready[i]:
            return "the estimator is not ready: " + estimator.why_not_ready(i)
        if mode == Mode.MISSION:
            return self._a.missions.why_not(i)
        if mode == Mode.FOLLOW_TARGET:
            return self._a.follow.why_not(i)
        return ""

    def take_off(self, i: int, altitude: float, t_us: int) -> Answer:
        """NAV_TAKEOFF: mode AUTO.TAKEOFF to a height above sea level [m], NaN = the parameter's."""
        answer = self.set_mode(i, Mode.TAKEOFF, t_us)
        if answer.accepted:
            self._set_takeoff_height(i, altitude - self._a.origin[2])
            self._a.status[i]["phase"] = -1
        return answer

    def reposition(self, i: int, target, yaw: float, speed: float, t_us: int) -> Answer:
        """DO_REPOSITION: fly to a place (3,) [m] and hold it; NaN keeps a value."""
        answer = self.set_mode(i, Mode.LOITER, t_us)
        if answer.accepted:
            self._a.reposition(i, target, yaw, speed)
        return answer

    def orbit(self, i: int, centre, radius: float, speed: float, t_us: int) -> Answer:
        """DO_ORBIT: AUTO.LOITER on a circle, nose to its centre.

        Args:
            i: The vehicle.
            centre: (3,) [m]; NaN keeps the present place or height.
            radius: Positive = clockwise seen from above [m]; NaN = NAV_LOITER_RAD.
            speed: [m/s]; NaN = MPC_XY_CRUISE.
            t_us: Now [us].
        """
        answer = self.set_mode(i, Mode.LOITER, t_us)
        if answer.accepted:
            self._a.begin_way(i)
            v = self._a.status[i]
            centre = np.where(np.isfinite(centre), centre, v["target"])
            v["centre"] = centre
            v["target"][2] = centre[2]
            v["orbit_radius"] = (radius if math.isfinite(radius)
                                 else self._a.parameters.get(i, "NAV_LOITER_RAD"))
            v["orbit_left"] = math.inf
            v["target_speed"] = speed if speed > 0 else math.nan
            v["task"] = TASK_ORBIT
        return answer

    def handle_events(self, t_us: int) -> None:
        """Deals with the events that the compiled loops raised."""
        status = self._a.status
        for i in status["events"].nonzero()[0]:
            events, status["events"][i] = int(status["events"][i]), 0
            if events & EVENT_TAKEN_OFF:
                self._say(i, INFO, "Takeoff detected")
            if events & EVENT_TAKEOFF_DONE:
                self.enter(i, Mode.LOITER)
                status["phase"][i] = 0  # it goes on to the place that the take-off aimed at
            if events & EVENT_LANDED:
                self._say(i, INFO, "Landing detected")
                self._a.missions.landed(i)
            if events & EVENT_TARGET_REACHED:
                self._a.missions.reached(i)
            if events & EVENT_DISARM_LANDED:
                self.disarm(i, why="by landing")
            if events & EVENT_DISARM_PREFLIGHT:
                self.disarm(i, why="by auto preflight disarming")
            if events & EVENT_OFFBOARD_LOST:
                self._a.failsafes.offboard_lost(i)
            if events & EVENT_FAILSAFE_DELAY_OVER:
                self._a.failsafes.delay_over(i)

    def enter(self, i: int, mode: Mode) -> None:
        """Changes the mode of vehicle i without asking whether it may."""
        v = self._a.status[i]
        v["mode"] = mode
        v["mode_t"] = self._a.t_us
        v["phase"] = -1
        v["blind"] = False
        self._a.announce(i)
        if mode == Mode.RTL:
            v["rtl_place"] = self._nearest_safe_place(i)
        if v["armed"] and mode == Mode.MISSION:
            self._a.missions.begin(i)
        elif v["armed"] and mode == Mode.FOLLOW_TARGET:
            self._a.follow.begin(i)

    def _nearest_safe_place(self, i):
        """Home or the rally point nearest to vehicle i, (3,) [m]."""
        places = np.vstack([self._a.status["home"][i], self._a.missions.rally_points(i)])
        way = places[:, :2] - self._a.estimator.pos[i, :2]
        return places[np.argmin((way * way).sum(axis=1))]

    def _set_takeoff_height(self, i, height):
        if not math.isfinite(height):
            height = self._a.estimator.pos[i, 2] + self._a.parameters.get(i, "MIS_TAKEOFF_ALT")
        self._a.status[i]["takeoff_height"] = height

    def _has_offboard(self, i, t_us):
        v = self._a.status[i]
        age = (t_us - v["offboard_t"]) * 1e-6
        return v["offboard_kind"] != 0 and age <= self._a.parameters.get(i, "COM_OF_LOSS_T")

    def _has_sticks(self, i, t_us):
        age = (t_us - self._a.status[i]["stick_t"]) * 1e-6
        return age <= self._a.parameters.get(i, "COM_RC_LOSS_T")

    def _offboard_reason(self, i):
        seconds = self._a.parameters.get(i, "COM_OF_LOSS_T")
        return f"no offboard set-point in the last {seconds:g} s: stream them at 2 Hz or more first"

    def _refuse(self, i, what, reason):
        self._say(i, CRITICAL, f"{what}: {reason}")
        return Answer(REJECTED, reason)
