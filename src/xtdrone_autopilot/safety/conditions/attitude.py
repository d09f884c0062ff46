"""The attitude."""

from typing import ClassVar

import numpy as np

from xtdrone_core.modes import Mode
from xtdrone_dynamics.abilities.vehicle_type import HALF_WINGED, TAILSITTER

from ...fixed_wing.axes import turned_forwards
from ...state.vehicle_status import ON_WINGS, TO_FIXED_WING, TO_HOVER
from ..checks import Check, Component, Level
from .condition import PERIOD_US, Action, Condition, Watched

_NO_FLIGHT_TERMINATION = 121212  # value of CBRK_FLIGHTTERM


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
        status = self.watched.status
        quat = self.watched.estimator.quat
        judged = status["mode"] != Mode.ACRO
        kind = status["vtol_type"]
        tailsitter = (kind == TAILSITTER) | (kind == HALF_WINGED)
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
