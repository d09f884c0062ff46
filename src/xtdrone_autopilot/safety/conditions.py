"""Failsafe conditions: each is one class, listed in CONDITIONS.

A new failsafe is a new class here. It defines when it holds, the action (by one of PX4's
parameters), the message, and the arming checks that go with it; failsafes.py does it, `xtdrone
doctor` reports it, and arming_checks.py, which lists the checks in order, tells ground stations.
"""

import math
from dataclasses import dataclass
from enum import IntEnum
from typing import ClassVar

import numpy as np

from xtdrone_core.modes import MODES, Mode, Requirement, custom_mode
from xtdrone_core.runs.snapshot import Memory
from xtdrone_dynamics.abilities.vehicle_type import TAILSITTER
from xtdrone_dynamics.compiled import Record

from ..fixed_wing.axes import turned_forwards
from ..interfaces import Estimator
from ..navigation.mission import Missions
from ..navigation.trajectory import stopping_distance
from ..parameters.store import ParameterStore
from ..state.clock import StepClock
from ..state.estimator_flags import ALIGNED, GPS_USED, POSITION_VALID, VISION_USED
from ..state.reasons import QUADCHUTES
from ..state.vehicle_status import ON_WINGS, TO_FIXED_WING, TO_HOVER, TRAJECTORY, station_away
from .battery import Battery
from .checks import ALL, Check, CheckTable, Component, Level, modes_with

PERIOD_US = 100_000  # period of checking the conditions [us]


class Action(IntEnum):
    """Actions of failsafes, by severity."""

    NONE = 0
    WARN = 1
    HOLD = 2
    RETURN = 3
    LAND = 4
    DESCEND = 5  # level, without a position
    DISARM = 6
    TERMINATE = 7


_LINK_ACTION = {
    0: Action.NONE,
    1: Action.HOLD,
    2: Action.RETURN,
    3: Action.LAND,
    5: Action.TERMINATE,
    6: Action.DISARM,
}  # values of NAV_DLL_ACT and NAV_RCL_ACT
_BY_POSITION = np.array([MODES[mode].by_position for mode in Mode])
_RC_EXCEPTION = np.array([MODES[mode].rc_exception for mode in Mode])
_NO_FLIGHT_TERMINATION = 121212  # value of CBRK_FLIGHTTERM
_WARNINGS = {  # events of causes that have one of their own
    "Low battery level": "commander_failsafe_enter_low_bat",
    "Critical battery level": "commander_failsafe_enter_crit_bat_warn",
    "Emergency battery level": "commander_failsafe_enter_crit_low_bat_warn",
}


@dataclass(frozen=True)
class Watched:
    """The inputs of conditions."""

    status: np.ndarray  # (N,) of VEHICLE_STATUS
    parameters: ParameterStore
    estimator: Estimator
    battery: Battery
    missions: Missions
    clock: StepClock
    checks: CheckTable


class Condition(Memory):
    """One condition of a fleet.

    Attributes:
        holds: (N,) bool, now.
        failing: (N, C) bool, a column for each of `checks`, written by check().
    """

    name = ""
    text = ""  # what is wrong where it holds
    advice = ""  # what its user can do
    parameter = ""  # PX4's parameter that decides on the action; "" = action() alone does
    actions: ClassVar[dict[int, Action]] = {}  # the parameter's value -> Action; other values warn
    px4 = ""  # PX4's name of the cause in its events; "" = it has none
    waits = True  # a return or a landing comes after COM_FAIL_ACT_T
    comes_back = ""  # what does when it ends during that wait, and the mode before with it
    checks: ClassVar[tuple[Check, ...]] = ()  # checks before and while flying, as PX4 reports them
    MEMORY: ClassVar[tuple[str, ...] | None] = ("holds",)

    def __init__(self, watched: Watched) -> None:
        self._watched = watched
        self.holds = np.zeros(len(watched.status), dtype=bool)
        if self.checks:
            self.failing = watched.checks.columns(self.checks)
            watched.checks.explain(self.checks, self.why_not_arm, self.argument)

    def check(self, flying: np.ndarray, params: np.ndarray) -> np.ndarray:
        """(N,) bool, whether it holds for vehicles that fly.

        Args:
            flying: (N,) bool.
            params: (N,) records of the parameters.
        """
        raise NotImplementedError

    def check_due(
        self, due: np.ndarray | None, flying: np.ndarray, params: np.ndarray
    ) -> np.ndarray:
        """Calls check() for the vehicles that are due (N,) bool; the others keep their state."""
        if due is None:
            return self.check(flying, params)
        before = {name: getattr(self, name).copy() for name in self.MEMORY or ()}
        now = np.where(due, self.check(flying, params), self.holds)
        for name, array in before.items():
            getattr(self, name)[~due] = array[~due]
        return now

    def why(self, i: int) -> str:
        """The reason for vehicle i, where it holds."""
        raise NotImplementedError

    def action(self, i: int) -> Action:
        """The action for vehicle i."""
        return self.actions.get(int(self.get(i, self.parameter)), Action.WARN)

    def warning_event(self, i: int) -> tuple:
        """Name and arguments of PX4's event where the action for vehicle i is a warning."""
        if self.px4 in _WARNINGS:
            return (_WARNINGS[self.px4],)
        mode = custom_mode(Mode(self._watched.status["mode"][i]))
        if not self.px4:
            return "commander_failsafe_enter_generic_warn", mode
        return "commander_failsafe_enter_warn", mode, self.px4

    def mode_instead(self, i: int) -> Mode | None:
        """A mode that vehicle i changes to in place of the action."""
        return None

    def why_not_arm(self, i: int) -> str:
        """Why vehicle i may not be armed, if one of the checks that forbid it fails."""
        return self.why(i)

    def argument(self, i: int) -> float:
        """Argument of the events of the checks that have one."""
        raise NotImplementedError

    def armed(self, i: int) -> None:
        """Vehicle i has just been armed."""

    def get(self, i: int, name: str) -> float:
        """A parameter of vehicle i."""
        return self._watched.parameters.get(i, name)


class DataLink(Condition):
    """The ground station link is lost."""

    text, advice = "the ground station link is lost", "start one, or set NAV_DLL_ACT to 0"
    name, parameter, actions = "data_link", "NAV_DLL_ACT", _LINK_ACTION
    comes_back = "ground station"
    px4 = "GCS connection loss"
    checks: ClassVar[tuple[Check, ...]] = tuple(
        Check(
            "check_rc_dl_no_dllink",
            "No connection to the ground control station",
            Component.COMMUNICATION_LINKS,
            level,
            blocks=blocks,
            text=text,
            severity=Level.WARNING,
        )
        for level, blocks, text in (
            (Level.ERROR, ALL, "Preflight Fail: No connection to the ground control station\t"),
            (Level.INFO, 0, ""),
        )
    )  # required by NAV_DLL_ACT, or not

    def check(self, flying: np.ndarray, params: np.ndarray) -> np.ndarray:
        silent = (
            station_away(self._watched.status, self._watched.clock.t_us) > params["COM_DL_LOSS_T"]
        )
        required = params["NAV_DLL_ACT"] > 0
        self.failing[:, 0] = silent & required
        self.failing[:, 1] = silent & ~required
        return flying & self.failing[:, 0]

    def why(self, i: int) -> str:
        return f"no ground station for {self.get(i, 'COM_DL_LOSS_T'):g} s"

    def why_not_arm(self, i: int) -> str:
        return "the ground station link is lost, and NAV_DLL_ACT requires one"


class Sticks(Condition):
    """Manual control was received in this flight and is lost."""

    text, advice = "manual control is lost", "send MANUAL_CONTROL again, or choose an AUTO mode"
    name, parameter, actions = "sticks", "NAV_RCL_ACT", _LINK_ACTION
    comes_back = "manual control"
    px4 = "Manual control loss"
    MEMORY = ("holds", "_used")

    def __init__(self, watched: Watched) -> None:
        super().__init__(watched)
        self._used = np.zeros(len(self.holds), dtype=bool)

    def check(self, flying: np.ndarray, params: np.ndarray) -> np.ndarray:
        status = self._watched.status
        lost = (self._watched.clock.t_us - status["stick_t"]) * 1e-6 > params["COM_RC_LOSS_T"]
        self._used |= ~lost
        excepted = params["COM_RCL_EXCEPT"] & _RC_EXCEPTION[status["mode"]] != 0
        return flying & lost & self._used & ~excepted

    def why(self, i: int) -> str:
        return "manual control lost"

    def armed(self, i: int) -> None:
        self._used[i] = sticks_held(self._watched, i)


class BatteryLow(Condition):
    """The battery is below a threshold; a level that recovers is ignored."""

    text, advice = "the battery is low", "go home"
    name, threshold, word = "battery_low", "BAT_LOW_THR", "low"
    px4 = "Low battery level"
    checks: ClassVar[tuple[Check, ...]] = (
        Check(
            "check_battery_low",
            "Low battery",
            Component.BATTERY,
            Level.WARNING,
            blocks=0,
            text="Low battery level\t",
            severity=Level.EMERGENCY,
        ),
    )

    def check(self, flying: np.ndarray, params: np.ndarray) -> np.ndarray:
        below = self._watched.battery.level < params[self.threshold]
        holds = flying & (below | self.holds)
        if self.checks:
            self.failing[:, 0] = below | holds
        return holds

    def why(self, i: int) -> str:
        return f"battery {self.word}, {self._watched.battery.level[i]:.0%} left"

    def action(self, i: int) -> Action:
        return Action.WARN


class BatteryCritical(BatteryLow):
    """The battery is below the next threshold."""

    text, advice = "the battery is critical", "land"
    name, threshold, word = "battery_critical", "BAT_CRIT_THR", "critical"
    px4 = "Critical battery level"
    checks: ClassVar[tuple[Check, ...]] = (
        Check(
            "check_battery_low",
            "Low battery",
            Component.BATTERY,
            Level.CRITICAL,
            text="Low battery level\t",
            severity=Level.EMERGENCY,
        ),
    )
    parameter = "COM_LOW_BAT_ACT"
    actions = {0: Action.WARN, 2: Action.LAND, 3: Action.RETURN}
    action = Condition.action

    def why_not_arm(self, i: int) -> str:
        return f"battery at {self._watched.battery.level[i]:.0%}, below BAT_CRIT_THR: charge it"


class BatteryEmergency(BatteryLow):
    """The battery is almost empty."""

    text, advice = "the battery is at emergency level", "land at once"
    name, threshold, word = "battery_emergency", "BAT_EMERGEN_THR", "at emergency level"
    px4 = "Emergency battery level"
    checks: ClassVar[tuple[Check, ...]] = ()
    waits = False

    def action(self, i: int) -> Action:
        return Action.LAND if self.get(i, "COM_LOW_BAT_ACT") in (2, 3) else Action.WARN


class Geofence(Condition):
    """It is outside the geofence, or would leave it before it could stop."""

    text, advice = "it is outside the geofence", "fly it back inside, or change the fence"
    name, parameter = "fence", "GF_ACTION"
    actions = {
        0: Action.NONE,
        1: Action.WARN,
        2: Action.HOLD,
        3: Action.RETURN,
        4: Action.TERMINATE,
        5: Action.LAND,
    }
    checks: ClassVar[tuple[Check, ...]] = tuple(
        Check(
            f"check_gf_violation_{name}",
            f"Geofence violation: {what}",
            Component.SYSTEM,
            Level.ERROR,
            text=f"Geofence violation: {what}",
        )
        for name, what in (
            ("max_hor_dist", "exceeding maximum distance to Home"),
            ("max_alt", "exceeding maximum altitude above Home"),
            ("custom_gf", "approaching or outside geofence"),
        )
    )
    MEMORY = ("holds", "fenced", "outside")

    def __init__(self, watched: Watched) -> None:
        super().__init__(watched)
        self.fenced = np.zeros(len(self.holds), dtype=bool)  # there is a geofence, and it acts
        self.outside = np.zeros(len(self.holds), dtype=bool)  # outside of the geofence

    def check(self, flying: np.ndarray, params: np.ndarray) -> np.ndarray:
        watched = self._watched
        pos = watched.estimator.pos
        if params["GF_PREDICT"].any():
            pos = np.where(params["GF_PREDICT"][:, None] > 0, self._stop(params), pos)
        offset = pos - watched.status["home"]
        distance = np.hypot(offset[:, 0], offset[:, 1])
        far = (params["GF_MAX_HOR_DIST"] > 0) & (distance > params["GF_MAX_HOR_DIST"])
        high = (params["GF_MAX_VER_DIST"] > 0) & (offset[:, 2] > params["GF_MAX_VER_DIST"])
        left = np.zeros(len(far), dtype=bool)
        fenced = (params["GF_MAX_HOR_DIST"] > 0) | (params["GF_MAX_VER_DIST"] > 0)
        for i, fence in enumerate(watched.missions.fences):
            if fence is not None:
                fenced[i] = True
                if watched.estimator.flags[i] & POSITION_VALID:
                    left[i] = not fence.contains(pos[i, 0], pos[i, 1])
        home, acts = watched.status["home_set"], params["GF_ACTION"] > 0
        for k, broken in enumerate((far & home, high & home, left)):
            self.failing[:, k] = broken & acts
        self.outside[:] = self.failing.any(axis=1)
        self.fenced[:] = fenced & acts
        return flying & self.outside

    def _stop(self, params: Record) -> np.ndarray:
        """(N, 3) where each vehicle can come to rest, or the trajectory that it follows [m]."""
        estimator, status = self._watched.estimator, self._watched.status
        follows = status["on_trajectory"][:, None]
        pos = np.where(follows, status["smooth_pos"], estimator.pos)
        vel = np.where(follows, status["smooth_vel"], estimator.vel)
        acc = np.where(follows, status["smooth_acc"], status["acc_filtered"])
        speed = np.maximum(np.linalg.norm(vel, axis=1), 1e-6)
        along = (acc * vel).sum(axis=1) / speed
        out = pos + vel * (2 * PERIOD_US * 1e-6)  # until the next check, and as much margin
        for i in np.flatnonzero(params["GF_PREDICT"]):
            out[i] += (
                vel[i]
                / speed[i]
                * stopping_distance(
                    speed[i], along[i], params["MPC_ACC_HOR"][i], params["MPC_JERK_AUTO"][i]
                )
            )
        return out

    def why(self, i: int) -> str:
        return f"geofence broken, {self._text(i)}"

    def why_not_arm(self, i: int) -> str:
        return "it is outside the geofence: " + self._text(i)

    def _text(self, i: int) -> str:
        offset = self._watched.estimator.pos[i] - self._watched.status["home"][i]
        for name, distance in (
            ("GF_MAX_HOR_DIST", math.hypot(offset[0], offset[1])),
            ("GF_MAX_VER_DIST", offset[2]),
        ):
            limit = self.get(i, name)
            if 0 < limit < distance:
                return f"{distance:.0f} m from home, {name} allows {limit:g} m"
        if self.get(i, "GF_PREDICT") and not self._watched.status["landed"][i]:
            return "it would leave the area before it could stop"
        return "it has left the area"


class WindHigh(Condition):
    """The estimated wind is above the limit."""

    text, advice = "the wind is above COM_WIND_MAX", "land, or raise COM_WIND_MAX"
    name, parameter, limit = "wind_high", "COM_WIND_MAX_ACT", "COM_WIND_MAX"
    actions = {
        0: Action.NONE,
        1: Action.WARN,
        2: Action.HOLD,
        3: Action.RETURN,
        4: Action.TERMINATE,
        5: Action.LAND,
    }
    checks: ClassVar[tuple[Check, ...]] = (
        Check(
            "check_wind_too_high",
            "Wind speed is above limit ({3:.1m/s})",
            Component.SYSTEM,
            Level.WARNING,
            stops=modes_with(Requirement.LIMITS),
            argument="f",
        ),
    )
    warning = "check_above_wind_limits_warning"

    def check(self, flying: np.ndarray, params: np.ndarray) -> np.ndarray:
        wind = self._watched.estimator.wind  # NaN where it is not known
        speed = np.hypot(wind[:, 0], wind[:, 1])
        holds = flying & (params[self.limit] > 0) & (speed > params[self.limit])
        if self.checks:
            self.failing[:, 0] = holds & (params["COM_WIND_MAX_ACT"] > 1)
        return holds

    def why(self, i: int) -> str:
        speed = self.argument(i)
        return f"wind of {speed:.1f} m/s, {self.limit} allows {self.get(i, self.limit):g} m/s"

    def argument(self, i: int) -> float:
        return math.hypot(*self._watched.estimator.wind[i])

    def warning_event(self, i: int) -> tuple:
        return self.warning, self.argument(i)


class WindWarning(WindHigh):
    """The estimated wind is above the limit of the warning."""

    text, advice = "the wind is above COM_WIND_WARN", "land"
    name, parameter, limit = "wind_warning", "", "COM_WIND_WARN"
    checks, warning = (), "check_high_wind_warning"

    def action(self, i: int) -> Action:
        return Action.WARN


class FlightTime(Condition):
    """It has been in the air for longer than it may."""

    text, advice = "the time of flight is over", "land, or raise COM_FLT_TIME_MAX"
    name = "flight_time"
    checks: ClassVar[tuple[Check, ...]] = (
        Check(
            "check_flight_time_limit",
            "Maximum flight time reached",
            Component.SYSTEM,
            Level.ERROR,
            stops=modes_with(Requirement.LIMITS),
            text="Maximum flight time reached\t",
        ),
    )
    MEMORY = ("holds", "_since")

    def __init__(self, watched: Watched) -> None:
        super().__init__(watched)
        self._since = np.zeros(len(self.holds), dtype=np.int64)  # when it was last on the ground

    def check(self, flying: np.ndarray, params: np.ndarray) -> np.ndarray:
        self._since[~flying] = self._watched.clock.t_us
        maximum = params["COM_FLT_TIME_MAX"]
        self.failing[:, 0] = (
            flying & (maximum > 0) & ((self._watched.clock.t_us - self._since) * 1e-6 > maximum)
        )
        return self.failing[:, 0].copy()

    def why(self, i: int) -> str:
        return f"maximum flight time reached, {self.get(i, 'COM_FLT_TIME_MAX')} s"

    def action(self, i: int) -> Action:
        return Action.RETURN


class PositionLost(Condition):
    """No aid source gives the position any more, in a mode that needs it."""

    text, advice = "the position is lost", "bring GPS or vision back, or land by ALTCTL"
    name, waits = "position", False

    def check(self, flying: np.ndarray, params: np.ndarray) -> np.ndarray:
        estimator, status = self._watched.estimator, self._watched.status
        aided = estimator.flags & (GPS_USED | VISION_USED) != 0
        by_position = _BY_POSITION[status["mode"]]
        by_position &= (status["mode"] != Mode.OFFBOARD) | (status["offboard_kind"] == TRAJECTORY)
        vague = (
            np.hypot(estimator.pos_std[:, 0], estimator.pos_std[:, 1]) > params["COM_POS_FS_EPH"]
        )
        vague &= params["COM_POS_FS_EPH"] >= 0
        return flying & (~aided | vague) & by_position & (estimator.flags & POSITION_VALID != 0)

    def why(self, i: int) -> str:
        return "position lost: " + (self._watched.estimator.why_not_ready(i) or "no aid")

    def action(self, i: int) -> Action:
        return Action.DESCEND

    def mode_instead(self, i: int) -> Mode | None:
        by_sticks = self.get(i, "COM_POSCTL_NAVL") == 0 and sticks_held(self._watched, i)
        return Mode.ALTCTL if by_sticks else None


class AttitudeFailure(Condition):
    """It is tilted beyond FD_FAIL_R or FD_FAIL_P for long enough."""

    text, advice = "it is tilted beyond FD_FAIL_R or FD_FAIL_P", "level it by the sticks"
    name = "attitude"
    checks: ClassVar[tuple[Check, ...]] = tuple(
        Check(
            f"check_failure_detector_{axis}",
            "Attitude failure detected",
            Component.SYSTEM,
            Level.CRITICAL,
            text=f"Preflight Fail: Attitude failure ({axis})",
        )
        for axis in ("roll", "pitch")
    )
    MEMORY = ("holds", "_tilted_s")

    def __init__(self, watched: Watched) -> None:
        super().__init__(watched)
        self._tilted_s = np.zeros((len(self.holds), 2))  # roll, pitch beyond the limit since [s]

    def check(self, flying: np.ndarray, params: np.ndarray) -> np.ndarray:
        status = self._watched.status
        quat = self._watched.estimator.quat
        judged = status["mode"] != Mode.ACRO
        tailsitter = status["vtol_type"] == TAILSITTER
        if tailsitter.any():
            on_wings = tailsitter & (status["vtol_state"] == ON_WINGS)
            quat = np.where(on_wings[:, None], turned_forwards(quat), quat)
            # They are not judged while they change over.
            judged &= ~(tailsitter & np.isin(status["vtol_state"], (TO_FIXED_WING, TO_HOVER)))
        x, y, z, w = quat.T
        roll = np.arctan2(2 * (w * x + y * z), 1 - 2 * (x * x + y * y))
        pitch = np.arcsin(np.clip(2 * (w * y - z * x), -1.0, 1.0))
        for k, (angle, name) in enumerate(((roll, "R"), (pitch, "P"))):
            limit = params[f"FD_FAIL_{name}"]
            beyond = (limit > 0) & (np.abs(np.degrees(angle)) > limit) & judged
            self._tilted_s[:, k] = np.where(beyond, self._tilted_s[:, k] + PERIOD_US * 1e-6, 0.0)
            self.failing[:, k] = beyond & (self._tilted_s[:, k] >= params[f"FD_FAIL_{name}_TTRI"])
        return flying & self.failing.any(axis=1)

    def why(self, i: int) -> str:
        return "attitude failure, tilted beyond FD_FAIL_R or FD_FAIL_P"

    def action(self, i: int) -> Action:
        may = self.get(i, "CBRK_FLIGHTTERM") != _NO_FLIGHT_TERMINATION
        return Action.TERMINATE if may else Action.WARN

    def why_not_arm(self, i: int) -> str:
        return "it is tilted beyond FD_FAIL_R or FD_FAIL_P: put it upright"


class EstimatorFailure(Condition):
    """The estimator has no attitude, or NaN."""

    text, advice = "the estimator has failed", "look at 'xtdrone plot' of its flight log"
    name = "estimator"

    def check(self, flying: np.ndarray, params: np.ndarray) -> np.ndarray:
        estimator = self._watched.estimator
        finite = np.isfinite(estimator.pos).all(axis=1) & np.isfinite(estimator.quat).all(axis=1)
        return flying & ~(finite & (estimator.flags & ALIGNED != 0))

    def why(self, i: int) -> str:
        return "the estimator has failed"

    def action(self, i: int) -> Action:
        return Action.TERMINATE


class Quadchute(Condition):
    """A VTOL has given fixed-wing flight up, and hovers."""

    text, advice = "it has given fixed-wing flight up", "see VT_QC_* and VT_TRANS_TIMEOUT"
    name, parameter = "quadchute", "COM_QC_ACT"
    actions = {-1: Action.WARN, 0: Action.RETURN, 1: Action.LAND, 2: Action.HOLD}

    def check(self, flying: np.ndarray, params: np.ndarray) -> np.ndarray:
        return flying & (self._watched.status["quadchute"] != 0)

    def why(self, i: int) -> str:
        reason, _ = QUADCHUTES.get(
            int(self._watched.status["quadchute"][i]), ("of no known cause", "")
        )
        return f"quad-chute: {reason}"


class RotorFailure(Condition):
    """The rotor monitor has found a rotor that gives no thrust."""

    text, advice = "a rotor has failed", "land; CA_FAILURE_MODE 1 flies on without it"
    name, parameter, waits = "rotor", "COM_ACT_FAIL_ACT", False
    actions = {
        0: Action.WARN,
        1: Action.HOLD,
        2: Action.LAND,
        3: Action.RETURN,
        4: Action.TERMINATE,
    }
    checks: ClassVar[tuple[Check, ...]] = (
        Check(
            "check_failure_detector_motor",
            "Motor failure detected",
            Component.MOTORS_ESCS,
            Level.CRITICAL,
            text="Preflight Fail: Motor failure detected",
            health=True,
        ),
    )
    MEMORY = ("holds", "failed")

    def __init__(self, watched: Watched) -> None:
        super().__init__(watched)
        self.failed = np.full(len(self.holds), -1, dtype=np.int16)  # rotor that failed, -1 = none

    def check(self, flying: np.ndarray, params: np.ndarray) -> np.ndarray:
        self.failing[:, 0] = flying & (self.failed >= 0)
        return self.failing[:, 0].copy()

    def why(self, i: int) -> str:
        # SDF files and disturbances count rotors from 0, MAVLink and PX4 motors from 1.
        return f"rotor {self.failed[i]} (motor {self.failed[i] + 1}) has failed"


CONDITIONS = (
    DataLink,
    Sticks,
    BatteryLow,
    BatteryCritical,
    BatteryEmergency,
    Geofence,
    WindWarning,
    WindHigh,
    FlightTime,
    Quadchute,
    PositionLost,
    AttitudeFailure,
    EstimatorFailure,
    RotorFailure,
)


def sticks_held(watched: Watched, i: int) -> bool:
    """Returns whether vehicle i receives manual control."""
    age = (watched.clock.t_us - watched.status["stick_t"][i]) * 1e-6
    return bool(age <= watched.parameters.get(i, "COM_RC_LOSS_T"))
