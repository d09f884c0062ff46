"""The wind."""

import math
from typing import ClassVar

import numpy as np

from xtdrone_core.modes import Requirement

from ..checks import Check, Component, Level, modes_with
from .condition import Action, Condition


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
        wind = self.watched.estimator.wind  # NaN where it is not known
        speed = np.hypot(wind[:, 0], wind[:, 1])
        holds = flying & (params[self.limit] > 0) & (speed > params[self.limit])
        if self.checks:
            self.failing[:, 0] = holds & (params["COM_WIND_MAX_ACT"] > 1)
        return holds

    def why(self, i: int) -> str:
        speed = self.argument(i)
        return f"wind of {speed:.1f} m/s, {self.limit} allows {self.get(i, self.limit):g} m/s"

    def argument(self, i: int) -> float:
        return math.hypot(*self.watched.estimator.wind[i])

    def warning_event(self, i: int) -> tuple:
        return self.warning, self.argument(i)


class WindWarning(WindHigh):
    """The estimated wind is above the limit of the warning."""

    text, advice = "the wind is above COM_WIND_WARN", "land"
    name, parameter, limit = "wind_warning", "", "COM_WIND_WARN"
    checks, warning = (), "check_high_wind_warning"

    def action(self, i: int) -> Action:
        return Action.WARN
