"""The time in the air."""

from typing import ClassVar

import numpy as np

from xtdrone_core.modes import Requirement

from ..checks import Check, Component, Level, modes_with
from .condition import Action, Condition, Watched


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
        self._since[~flying] = self.watched.clock.t_us
        maximum = params["COM_FLT_TIME_MAX"]
        self.failing[:, 0] = (
            flying & (maximum > 0) & ((self.watched.clock.t_us - self._since) * 1e-6 > maximum)
        )
        return self.failing[:, 0].copy()

    def why(self, i: int) -> str:
        return f"maximum flight time reached, {self.get(i, 'COM_FLT_TIME_MAX')} s"

    def action(self, i: int) -> Action:
        return Action.RETURN
