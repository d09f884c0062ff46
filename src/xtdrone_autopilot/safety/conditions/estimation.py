"""What the estimator cannot give any more."""

import numpy as np

from xtdrone_core.modes import MODES, Mode

from ...state.estimator_flags import ALIGNED, GPS_USED, POSITION_VALID, VISION_USED
from ...state.vehicle_status import TRAJECTORY
from .condition import Action, Condition, sticks_held

_BY_POSITION = np.array([MODES[mode].by_position for mode in Mode])


class PositionLost(Condition):
    """No aid source gives the position any more, in a mode that needs it."""

    text, advice = "the position is lost", "bring GPS or vision back, or land by ALTCTL"
    name, waits = "position", False

    def check(self, flying: np.ndarray, params: np.ndarray) -> np.ndarray:
        estimator, status = self.watched.estimator, self.watched.status
        aided = estimator.flags & (GPS_USED | VISION_USED) != 0
        by_position = _BY_POSITION[status["mode"]]
        by_position &= (status["mode"] != Mode.OFFBOARD) | (status["offboard_kind"] == TRAJECTORY)
        vague = (
            np.hypot(estimator.pos_std[:, 0], estimator.pos_std[:, 1]) > params["COM_POS_FS_EPH"]
        )
        vague &= params["COM_POS_FS_EPH"] >= 0
        return flying & (~aided | vague) & by_position & (estimator.flags & POSITION_VALID != 0)

    def why(self, i: int) -> str:
        return "position lost: " + (self.watched.estimator.why_not_ready(i) or "no aid")

    def action(self, i: int) -> Action:
        return Action.DESCEND

    def mode_instead(self, i: int) -> Mode | None:
        by_sticks = self.get(i, "COM_POSCTL_NAVL") == 0 and sticks_held(self.watched, i)
        return Mode.ALTCTL if by_sticks else None


class EstimatorFailure(Condition):
    """The estimator has no attitude, or NaN."""

    text, advice = "the estimator has failed", "look at 'xtdrone plot' of its flight log"
    name = "estimator"

    def check(self, flying: np.ndarray, params: np.ndarray) -> np.ndarray:
        estimator = self.watched.estimator
        finite = np.isfinite(estimator.pos).all(axis=1) & np.isfinite(estimator.quat).all(axis=1)
        return flying & ~(finite & (estimator.flags & ALIGNED != 0))

    def why(self, i: int) -> str:
        return "the estimator has failed"

    def action(self, i: int) -> Action:
        return Action.TERMINATE
