"""What all failsafe conditions share, and the actions of failsafes."""

from dataclasses import dataclass
from enum import IntEnum
from typing import ClassVar

import numpy as np

from xtdrone_core.modes import Mode, custom_mode
from xtdrone_core.runs.snapshot import Memory

from ...interfaces import Estimator
from ...navigation.mission import Missions
from ...parameters.store import ParameterStore
from ...state.clock import StepClock
from ..battery import Battery
from ..checks import Check, CheckTable

PERIOD_US = 100_000  # period of checking the conditions [us]
_WARNINGS = {  # events of causes that have one of their own
    "Low battery level": "commander_failsafe_enter_low_bat",
    "Critical battery level": "commander_failsafe_enter_crit_bat_warn",
    "Emergency battery level": "commander_failsafe_enter_crit_low_bat_warn",
}


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
        watched: The inputs.
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
        self.watched = watched
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
        mode = custom_mode(Mode(self.watched.status["mode"][i]))
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
        return self.watched.parameters.get(i, name)


def sticks_held(watched: Watched, i: int) -> bool:
    """Returns whether vehicle i receives manual control."""
    age = (watched.clock.t_us - watched.status["stick_t"][i]) * 1e-6
    return bool(age <= watched.parameters.get(i, "COM_RC_LOSS_T"))
