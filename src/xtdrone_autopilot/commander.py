"""Who may arm, disarm and change modes, why not, and what follows from an event.

Every refusal carries a reason in words that a user can act on; it goes out as
STATUSTEXT and with the acknowledgement.
"""

import math
from dataclasses import dataclass

from xtdrone_core.modes import ROS_NAME, Mode

from .mavlink_dialect import mavlink
from .pilot import (EVENT_DISARM_LANDED, EVENT_DISARM_PREFLIGHT, EVENT_FAILSAFE_DELAY_OVER,
                    EVENT_LANDED, EVENT_OFFBOARD_LOST, EVENT_TAKEN_OFF, EVENT_TAKEOFF_DONE)

ACCEPTED = mavlink.MAV_RESULT_ACCEPTED
REJECTED = mavlink.MAV_RESULT_TEMPORARILY_REJECTED
DENIED = mavlink.MAV_RESULT_DENIED

INFO, NOTICE, WARNING, CRITICAL = (mavlink.MAV_SEVERITY_INFO, mavlink.MAV_SEVERITY_NOTICE,
                                   mavlink.MAV_SEVERITY_WARNING, mavlink.MAV_SEVERITY_CRITICAL)

_FLOWN_HERE = frozenset(Mode) - {Mode.MISSION, Mode.FOLLOW_TARGET}
_STICK_MODES = frozenset({Mode.MANUAL, Mode.STABILIZED, Mode.ACRO, Mode.ALTCTL})
# What to do when offboard set-points stop: values of COM_OBL_RC_ACT (0, 1, 2 need sticks).
_OFFBOARD_LOSS = {1: Mode.ALTCTL, 2: Mode.STABILIZED, 3: Mode.RTL, 4: Mode.LAND, 5: Mode.LOITER}


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
        return ""

    def arm(self, i: int, t_us: int, force: bool = False) -> Answer:
        """Arms vehicle i, or says why not."""
        v = self._a.pilots[i]
        if v["armed"]:
            return Answer(ACCEPTED)
        mode = Mode(v["mode"])
        reason = self.checks(i)
        if not reason and mode in (Mode.RTL, Mode.LAND):
            reason = f"mode {ROS_NAME[mode]} is not for take-off: change to AUTO.TAKEOFF or OFFBOARD"
        if not reason and mode == Mode.OFFBOARD and not self._has_offboard(i, t_us):
            reason = self._offboard_reason(i)
        if not reason and mode in _STICK_MODES and not self._has_sticks(i, t_us):
            reason = f"no MANUAL_CONTROL, which mode {ROS_NAME[mode]} needs"
        if not reason and mode in _STICK_MODES and v["stick_up"] > -0.8:
            reason = "the throttle stick is not down"
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
        self._say(i, INFO, "Armed")
        return Answer(ACCEPTED)

    def disarm(self, i: int, force: bool = False, why: str = "") -> Answer:
        """Disarms vehicle i; in the air only by force."""
        v = self._a.pilots[i]
        if not v["armed"]:
            return Answer(ACCEPTED)
        if not v["landed"] and not force:
            return self._refuse(i, "Disarming denied", "it is flying: land first, or force it")
        v["armed"] = False
        v["landed"] = True
        v["failsafe"] = False
        if v["mode"] in (Mode.LAND, Mode.RTL, Mode.TAKEOFF):
            self._enter(i, Mode.LOITER, self._a.t_us)
        self._say(i, INFO, f"Disarmed {why}".rstrip())
        return Answer(ACCEPTED)

    def set_mode(self, i: int, mode: Mode, t_us: int) -> Answer:
        """Changes the mode of vehicle i, or says why not."""
        v = self._a.pilots[i]
        reason = ""
        if mode not in _FLOWN_HERE:
            reason = "there is no mission" if mode == Mode.MISSION else "there is no target"
        elif mode == Mode.OFFBOARD and not self._has_offboard(i, t_us):
            reason = self._offboard_reason(i)
        elif mode in _STICK_MODES and not self._has_sticks(i, t_us):
            reason = "no MANUAL_CONTROL comes in"
        elif mode != Mode.MANUAL and not self._a.estimator.ready[i]:
            reason = "the estimator is not ready: " + self._a.estimator.why_not_ready(i)
        if reason:
            return self._refuse(i, f"Mode {ROS_NAME[mode]} refused", reason)
        v["failsafe"] = False
        if mode != v["mode"]:
            if mode == Mode.TAKEOFF:
                self._set_takeoff_height(i, math.nan)
            self._enter(i, mode, t_us)
        return Answer(ACCEPTED)

    def take_off(self, i: int, altitude: float, t_us: int) -> Answer:
        """NAV_TAKEOFF: mode AUTO.TAKEOFF to a height above mean sea level [m], NaN = the parameter's."""
        answer = self.set_mode(i, Mode.TAKEOFF, t_us)
        if answer.accepted:
            self._set_takeoff_height(i, altitude - self._a.origin[2])
            self._a.pilots[i]["phase"] = -1
        return answer

    def reposition(self, i: int, target, yaw: float, speed: float, t_us: int) -> Answer:
        """DO_REPOSITION: fly to a place (3,) [m] and hold it; NaN keeps a value."""
        answer = self.set_mode(i, Mode.LOITER, t_us)
        if answer.accepted:
            self._a.reposition(i, target, yaw, speed)
        return answer

    def handle_events(self, t_us: int) -> None:
        """Deals with the events that the compiled loops raised."""
        pilots = self._a.pilots
        for i in pilots["events"].nonzero()[0]:
            events, pilots["events"][i] = int(pilots["events"][i]), 0
            if events & EVENT_TAKEN_OFF:
                self._say(i, INFO, "Takeoff detected")
            if events & EVENT_TAKEOFF_DONE:
                self._enter(i, Mode.LOITER, t_us)
                pilots["phase"][i] = 0  # it goes on to the place that the take-off aimed at
            if events & EVENT_LANDED:
                self._say(i, INFO, "Landing detected")
            if events & EVENT_DISARM_LANDED:
                self.disarm(i, why="by landing")
            if events & EVENT_DISARM_PREFLIGHT:
                self.disarm(i, why="by auto preflight disarming")
            if events & EVENT_OFFBOARD_LOST:
                self._offboard_lost(i, t_us)
            if events & EVENT_FAILSAFE_DELAY_OVER:
                self._failsafe_acts(i, t_us)

    def _offboard_lost(self, i, t_us):
        v = self._a.pilots[i]
        if not v["armed"]:
            self._enter(i, Mode.LOITER, t_us)
            self._say(i, WARNING, "Offboard set-points stopped: mode AUTO.LOITER")
            return
        delay = self._a.parameters.get(i, "COM_FAIL_ACT_T")
        self._say(i, CRITICAL, f"Failsafe: offboard set-points lost, hold for {delay:g} s")
        self._enter(i, Mode.LOITER, t_us)
        v["failsafe"] = True

    def _failsafe_acts(self, i, t_us):
        v = self._a.pilots[i]
        v["failsafe"] = False
        action = self._a.parameters.get(i, "COM_OBL_RC_ACT")
        sticks = self._has_sticks(i, t_us)
        if action == 7:
            self.disarm(i, force=True, why="by failsafe")
            return
        mode = _OFFBOARD_LOSS.get(action, Mode.POSCTL)
        if mode in _STICK_MODES | {Mode.POSCTL} and not sticks:
            mode = Mode.RTL  # PX4's last resort where nobody holds the sticks
        self._say(i, CRITICAL, f"Failsafe: mode {ROS_NAME[mode]}")
        self._enter(i, mode, t_us)

    def _enter(self, i, mode, t_us):
        v = self._a.pilots[i]
        v["mode"] = mode
        v["mode_t"] = t_us
        v["phase"] = -1

    def _set_takeoff_height(self, i, height):
        if not math.isfinite(height):
            height = self._a.estimator.pos[i, 2] + self._a.parameters.get(i, "MIS_TAKEOFF_ALT")
        self._a.pilots[i]["takeoff_height"] = height

    def _has_offboard(self, i, t_us):
        v = self._a.pilots[i]
        age = (t_us - v["offboard_t"]) * 1e-6
        return v["offboard_kind"] != 0 and age <= self._a.parameters.get(i, "COM_OF_LOSS_T")

    def _has_sticks(self, i, t_us):
        age = (t_us - self._a.pilots[i]["stick_t"]) * 1e-6
        return age <= self._a.parameters.get(i, "COM_RC_LOSS_T")

    def _offboard_reason(self, i):
        seconds = self._a.parameters.get(i, "COM_OF_LOSS_T")
        return f"no offboard set-point in the last {seconds:g} s: stream them at 2 Hz or more first"

    def _refuse(self, i, what, reason):
        self._say(i, CRITICAL, f"{what}: {reason}")
        return Answer(REJECTED, reason)
