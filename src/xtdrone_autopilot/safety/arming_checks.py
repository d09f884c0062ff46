"""Health and arming checks of a fleet, and their reports to ground stations.

CHECKS has them in PX4's order, further ones behind them. Those of failsafes are declared, and
found, by their conditions; the others are declared here, and one kernel finds them. A report is
PX4's: a summary of what may be armed and flown, an event for each check that fails, and a summary
of the parts' health. It goes out when it has changed, at most every two seconds, and when a ground
station asks for it.
https://mavlink.io/en/services/events.html
"""

import struct
from collections.abc import Callable, Sequence

import numpy as np

from xtdrone_core.modes import NAV_STATES, Mode, Requirement, may_arm
from xtdrone_core.runs.snapshot import Memory
from xtdrone_dynamics.compiled import Record, njit

from ..interfaces import Estimator
from ..navigation.mission import Missions
from ..parameters.store import ParameterStore
from ..state.clock import StepClock
from ..state.estimator_flags import ALIGNED, GPS_USED
from ..state.events import event_number
from ..state.outbox import Outbox
from ..state.vehicle_status import NO_SET_POINT, TRAJECTORY
from .battery import Battery
from .checks import ALL, Check, Component, Level, modes_with, of_mode
from .conditions import (
    CONDITIONS,
    AttitudeFailure,
    BatteryCritical,
    BatteryLow,
    DataLink,
    FlightTime,
    Geofence,
    RotorFailure,
    WindHigh,
)

REPORT_US = 2_000_000  # least time between two reports [us]
ARMING_SUMMARY, HEALTH_SUMMARY = "commander_arming_check_summary", "commander_health_summary"
_RETURN = 3  # value of GF_ACTION
_EXTERNAL = modes_with(Requirement.REGISTRATION)
_OF_STICKS = modes_with(Requirement.MANUAL_CONTROL)
_SYSTEM = Component.SYSTEM

_OF_MODES = (
    Check(
        "check_modes_cannot_takeoff",
        "Mode not suitable for arming",
        _SYSTEM,
        Level.INFO,
        modes_with(Requirement.ANOTHER_TO_ARM),
    ),
    of_mode(
        Requirement.ATTITUDE, "check_modes_attitude", "No valid attitude estimate", Level.CRITICAL
    ),
    of_mode(
        Requirement.LOCAL_POSITION,
        "check_modes_local_pos",
        "No valid local position estimate",
        Level.ERROR,
    ),
    of_mode(
        Requirement.GLOBAL_POSITION,
        "check_modes_global_pos",
        "No valid global position estimate",
        Level.ERROR,
    ),
    of_mode(
        Requirement.ALTITUDE, "check_modes_local_alt", "No valid altitude estimate", Level.CRITICAL
    ),
    of_mode(Requirement.MISSION, "check_modes_mission", "No valid mission available", Level.INFO),
    of_mode(
        Requirement.OFFBOARD_SIGNAL,
        "check_modes_offboard_signal",
        "No offboard signal",
        Level.ERROR,
    ),
    of_mode(Requirement.HOME, "check_modes_home_position", "Home position not set", Level.INFO),
    Check(
        "check_modes_manual_control",
        "No manual control input",
        Component.REMOTE_CONTROL,
        Level.WARNING,
        blocks=_OF_STICKS,
        stops=_OF_STICKS,
    ),
)
# This stack cannot fly every vehicle that it loads, which PX4 has no event for.
_CANNOT_FLY = Check(
    "check_vehicle_cannot_fly", "This vehicle cannot be flown", _SYSTEM, Level.ERROR
)
# As PX4's with COM_ARM_WO_GPS 0: this stack needs a position to be armed in any mode.
_NO_POSITION = Check(
    "check_system_no_global_pos",
    "Global position required",
    _SYSTEM,
    Level.ERROR,
    text="Preflight Fail: Global position required",
)
_BATTERY_PREFLIGHT = Check(
    "check_battery_preflight_low",
    "Low battery",
    Component.BATTERY,
    Level.CRITICAL,
    text="Low battery level\t",
    severity=Level.EMERGENCY,
)
_FENCE_NO_HOME = Check(
    "check_gf_no_home",
    "Geofence RTL requires valid home",
    _SYSTEM,
    Level.ERROR,
    text="Preflight Fail: Geofence RTL requires valid home",
)
_IN_ORDER = (
    _CANNOT_FLY,
    *AttitudeFailure.checks,
    *RotorFailure.checks,
    *_OF_MODES,
    _NO_POSITION,
    *BatteryLow.checks,
    *BatteryCritical.checks,
    _BATTERY_PREFLIGHT,
    *WindHigh.checks,
    *Geofence.checks,
    _FENCE_NO_HOME,
    *FlightTime.checks,
    *DataLink.checks,
)
CHECKS = (
    *_IN_ORDER,
    *(check for condition in CONDITIONS for check in condition.checks if check not in _IN_ORDER),
)

# Columns of what the kernel finds.
_CANNOT_TAKE_OFF, _ATTITUDE, _LOCAL, _GLOBAL, _ALTITUDE, _MISSION, _OFFBOARD, _HOME, _STICKS = (
    CHECKS.index(check) for check in _OF_MODES
)
_POSITION, _PREFLIGHT, _NO_HOME = (
    CHECKS.index(check) for check in (_NO_POSITION, _BATTERY_PREFLIGHT, _FENCE_NO_HOME)
)
_LOW, _CRITICAL = CHECKS.index(BatteryLow.checks[0]), CHECKS.index(BatteryCritical.checks[0])
_LINKS = tuple(CHECKS.index(check) for check in DataLink.checks)
# Bits of what is present behind those of the checks.
_SHIFT = len(CHECKS)
_FOUND = (
    Component.GPS,
    Component.REMOTE_CONTROL,
    Component.MOTORS_ESCS,
    Component.COMMUNICATION_LINKS,
)
_GPS, _RADIO, _ESCS, _STATION = (1 << _SHIFT + k for k in range(len(_FOUND)))
# What PX4 finds on every vehicle of the simulation; its simulated accelerometer is not reported.
_FITTED = sum(
    1 << component
    for component in (
        Component.ABSOLUTE_PRESSURE,
        Component.BATTERY,
        Component.LOCAL_POSITION_ESTIMATE,
        Component.MAGNETOMETER,
        Component.GYRO,
    )
)
_BLOCKING = sum(1 << k for k, check in enumerate(CHECKS) if check.blocked == ALL)
_MAY_ARM = np.array(
    [number not in NAV_STATES or may_arm(number) for number in range(max(NAV_STATES) + 1)]
)
_IN_OFFBOARD = int(Mode.OFFBOARD)


class ArmingChecks(Memory):
    """The checks of a fleet.

    Attributes:
        failing: (N, C) bool, a column for each of CHECKS.
        ready: (N,) bool, none forbids arming in every mode.
    """

    MEMORY = ("failing", "ready", "_found", "_reported_t", "_pending", "_no_sticks", "_sticks_t")

    def __init__(
        self,
        status: np.ndarray,
        parameters: ParameterStore,
        estimator: Estimator,
        battery: Battery,
        missions: Missions,
        clock: StepClock,
        outbox: Outbox,
        cannot_fly: Sequence[str] = (),
    ) -> None:
        """The checks of a fleet, none of them made yet.

        Args:
            status: (N,) of VEHICLE_STATUS.
            parameters: Parameters of the fleet.
            estimator: Its state.
            battery: Its batteries.
            missions: Missions of the fleet.
            clock: Time of the flight stack.
            outbox: Sends the reports.
            cannot_fly: Why each vehicle cannot be flown at all, or an empty string.
        """
        self._status, self._parameters, self._estimator = status, parameters, estimator
        self._battery, self._missions, self._clock, self._outbox = battery, missions, clock, outbox
        n = len(status)
        self._cannot_fly = list(cannot_fly) or [""] * n
        self.failing = np.zeros((n, len(CHECKS)), dtype=np.bool_)
        self.columns((_CANNOT_FLY,))[:, 0] = [bool(why) for why in self._cannot_fly]
        self.ready = np.zeros(n, dtype=np.bool_)
        self._found = np.full(n, -1, dtype=np.int64)  # bits: what failed last, and was present
        self._reported_t = np.zeros(n, dtype=np.int64)  # [us]
        self._pending = np.zeros(n, dtype=np.bool_)  # it has changed since
        self._no_sticks = np.ones(n, dtype=np.bool_)
        self._sticks_t = np.zeros(n, dtype=np.int64)  # when manual control came last, or 0 [us]
        self._reasons: dict[str, Callable[[int], str]] = {
            _CANNOT_FLY.name: self._why_not_flown,
            _NO_POSITION.name: self._why_no_position,
            _BATTERY_PREFLIGHT.name: self._why_battery,
            _FENCE_NO_HOME.name: _why_no_home,
        }
        self._arguments: dict[str, Callable[[int], float]] = {}
        self.remember_start()

    def columns(self, checks: Sequence[Check]) -> np.ndarray:
        """(N, len(checks)) of `failing`, to write to; they must follow each other in CHECKS."""
        first = CHECKS.index(checks[0])
        return self.failing[:, first : first + len(checks)]

    def explain(
        self,
        checks: Sequence[Check],
        why: Callable[[int], str],
        argument: Callable[[int], float] | None = None,
    ) -> None:
        """Sets who tells why vehicle i may not be armed, and the argument of the events."""
        for check in checks:
            self._reasons[check.name] = why
            if check.argument and argument is not None:
                self._arguments[check.name] = argument

    def reset(self, mask: np.ndarray | None = None) -> None:
        """Resets vehicles; their next report comes two seconds after the new start."""
        super().reset(mask)
        chosen = slice(None) if mask is None else mask
        self._reported_t[chosen] = self._clock.epoch_us[chosen]

    def why_not(self, i: int) -> str:
        """The first reason why vehicle i may not be armed in any mode, or an empty string."""
        self._find()
        for k in np.flatnonzero(self.failing[i]):
            if _BLOCKING >> int(k) & 1:
                return self._reasons[CHECKS[k].name](i)
        return ""

    def step(self, due: np.ndarray) -> None:
        """Makes the checks, and reports what has changed; call it at 10 Hz of a vehicle.

        Args:
            due: (N,) bool, the vehicles meant.
        """
        t_us = self._clock.t_us
        found = self._find()
        self._pending |= due & (found != self._found)
        self._found[due] = found[due]
        self.ready[due] = (found[due] & _BLOCKING) == 0
        self._watch_sticks(due)
        wanted = due & self._pending & (t_us - self._reported_t >= REPORT_US)
        for i in wanted.nonzero()[0]:
            self._report(int(i))

    def report(self, i: int) -> None:
        """Reports the checks of vehicle i now, changed or not."""
        self._found[i] = self._find()[i]
        self._report(i)

    def _find(self) -> np.ndarray:
        """(N,) int64, bits of what fails and is present now."""
        return _find(
            self._status,
            self._estimator.records,
            self._parameters.values,
            self._clock.t_us,
            self._battery.level,
            self._missions.valid,
            self._no_sticks,
            self.failing,
        )

    def _watch_sticks(self, due: np.ndarray) -> None:
        """Manual control counts from the next checks on, as in PX4; its loss is an event."""
        stick_t = self._status["stick_t"]
        lost = self._clock.t_us - stick_t > self._parameters.values["COM_RC_LOSS_T"] * 1e6
        for i in (due & (lost != self._no_sticks) & (self._sticks_t > 0)).nonzero()[0]:
            if lost[i]:
                self._outbox.tell(i, "commander_rc_lost")
            else:
                self._outbox.tell(
                    i, "commander_rc_regained", (self._clock.t_us - self._sticks_t[i]) * 1e-6
                )
        self._no_sticks[due] = lost[due]
        heard = due & ~lost
        self._sticks_t[heard] = stick_t[heard]

    def _report(self, i: int) -> None:
        self._reported_t[i], self._pending[i] = self._clock.t_us, False
        failing = [check for check, fails in zip(CHECKS, self.failing[i].tolist()) if fails]
        self._outbox.send_events(
            i,
            report(
                failing,
                int(self._found[i]) >> _SHIFT,
                {name: argument(i) for name, argument in self._arguments.items()},
            ),
        )
        for check in failing:
            if check.text:
                self._outbox.say(i, check.severity, check.text)

    def _why_not_flown(self, i: int) -> str:
        return f"the vehicle cannot be flown: {self._cannot_fly[i]}"

    def _why_no_position(self, i: int) -> str:
        return "the estimator is not ready: " + self._estimator.why_not_ready(i)

    def _why_battery(self, i: int) -> str:
        minimum, level = self._parameters.get(i, "COM_ARM_BAT_MIN"), self._battery.level[i]
        return f"battery at {level:.0%}, COM_ARM_BAT_MIN asks for {minimum:.0%}: charge it"


def _why_no_home(i: int) -> str:
    return "home is not known, and GF_ACTION is 3"


def report(failing: Sequence[Check], found: int, arguments: dict) -> list:
    """PX4's events of a report: (number, levels, arguments as they are sent).

    Args:
        failing: Checks, in order.
        found: Bits of what is present, of _FOUND.
        arguments: Name of a check -> further argument of its event.
    """
    flags = {False: [0, 0], True: [0, 0]}  # errors and warnings: of arming, of health
    can_arm = can_run = ALL & ~_EXTERNAL
    events = []
    for check in failing:
        if check.level <= Level.WARNING:
            flags[check.health][check.level > Level.ERROR] |= 1 << check.component
        can_arm &= ~check.blocked
        can_run &= ~check.stops
        extra = struct.pack(f"<{check.argument}", arguments[check.name]) if check.argument else b""
        events.append(
            (
                check.number,
                _levels(check.level),
                struct.pack("<IB", check.modes, check.component) + extra,
            )
        )
    present = _FITTED | sum(1 << component for k, component in enumerate(_FOUND) if found >> k & 1)
    return [
        _summary(ARMING_SUMMARY, *flags[False], can_arm, can_run),
        *events,
        _summary(HEALTH_SUMMARY, present, *flags[True]),
    ]


def _summary(name: str, *fields: int) -> tuple[int, int, bytes]:
    return (
        event_number(name),
        _levels(Level.PROTOCOL),
        struct.pack(f"<B{len(fields)}I", 0, *fields),
    )


def _levels(level: int) -> int:
    """Returns the level for users, and in the upper bits that for logs."""
    return level << 4 | level


@njit
def _find(
    status: np.ndarray,
    estimates: np.ndarray,
    parameters: np.ndarray,
    t_us: int,
    level: np.ndarray,
    mission: np.ndarray,
    no_sticks: np.ndarray,
    failing: np.ndarray,
) -> np.ndarray:
    """Fills the columns of failing (N, C) that no failsafe fills.

    Args:
        status: (N,) of VEHICLE_STATUS.
        estimates: (N,) of ESTIMATE.
        parameters: (N,) of the parameters.
        t_us: Now [us].
        level: (N,) of the batteries, 0..1.
        mission: (N,) bool, there is one that can be flown.
        no_sticks: (N,) bool, manual control was missing at the checks before.
        failing: Written.

    Returns:
        (N,) int64, bit k says that check k fails, those from _SHIFT on what is present.
    """
    bits = np.zeros(len(status), dtype=np.int64)
    for i in range(len(status)):
        vehicle, estimate, params, failing_now = status[i], estimates[i], parameters[i], failing[i]
        _find_of_modes(vehicle, estimate, params, t_us, failing_now)
        failing_now[_LOW] = failing_now[_LOW] and not failing_now[_CRITICAL]
        failing_now[_MISSION] = not mission[i]
        failing_now[_STICKS] = no_sticks[i]
        failing_now[_PREFLIGHT] = (
            not vehicle.armed
            and level[i] < params.COM_ARM_BAT_MIN
            and not (failing_now[_LOW] or failing_now[_CRITICAL])
        )
        failing_now[_NO_HOME] = params.GF_ACTION == _RETURN and not vehicle.home_set
        for k in range(_SHIFT):
            if failing_now[k]:
                bits[i] |= 1 << k
        if estimate.flags & GPS_USED:
            bits[i] |= _GPS
        if (t_us - vehicle.stick_t) * 1e-6 <= params.COM_RC_LOSS_T:
            bits[i] |= _RADIO
        # PX4 hears nothing of its motors while all its controllers are off.
        if not (vehicle.mode == _IN_OFFBOARD and vehicle.offboard_kind == NO_SET_POINT):
            bits[i] |= _ESCS
        if not (failing_now[_LINKS[0]] or failing_now[_LINKS[1]]):
            bits[i] |= _STATION
    return bits


@njit
def _find_of_modes(
    vehicle: Record, estimate: Record, params: Record, t_us: int, failing: np.ndarray
) -> None:
    """Finds which requirements of modes one vehicle does not meet."""
    aligned = estimate.flags & ALIGNED != 0
    failing[_CANNOT_TAKE_OFF] = not vehicle.armed and not _MAY_ARM[vehicle.nav_state]
    failing[_ATTITUDE] = failing[_ALTITUDE] = not aligned
    failing[_LOCAL] = failing[_GLOBAL] = not estimate.ready
    failing[_HOME] = not vehicle.home_set
    failing[_POSITION] = not vehicle.armed and not estimate.ready
    recent = (t_us - vehicle.offboard_t) * 1e-6 <= params.COM_OF_LOSS_T
    failing[_OFFBOARD] = (
        not recent
        or vehicle.offboard_kind == NO_SET_POINT
        or (vehicle.offboard_kind == TRAJECTORY and not estimate.ready)
    )
