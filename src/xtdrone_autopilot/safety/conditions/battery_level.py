"""Levels of the battery."""

from typing import ClassVar

import numpy as np

from ..checks import Check, Component, Level
from .condition import Action, Condition


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
        below = self.watched.battery.level < params[self.threshold]
        holds = flying & (below | self.holds)
        if self.checks:
            self.failing[:, 0] = below | holds
        return holds

    def why(self, i: int) -> str:
        return f"battery {self.word}, {self.watched.battery.level[i]:.0%} left"

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
        return f"battery at {self.watched.battery.level[i]:.0%}, below BAT_CRIT_THR: charge it"


class BatteryEmergency(BatteryLow):
    """The battery is almost empty."""

    text, advice = "the battery is at emergency level", "land at once"
    name, threshold, word = "battery_emergency", "BAT_EMERGEN_THR", "at emergency level"
    px4 = "Emergency battery level"
    checks: ClassVar[tuple[Check, ...]] = ()
    waits = False

    def action(self, i: int) -> Action:
        return Action.LAND if self.get(i, "COM_LOW_BAT_ACT") in (2, 3) else Action.WARN
