"""Links to the ground station and to the sticks."""

from typing import ClassVar

import numpy as np

from xtdrone_core.modes import MODES, Mode

from ...state.vehicle_status import station_away
from ..checks import ALL, Check, Component, Level
from .condition import Action, Condition, Watched, sticks_held

_LINK_ACTION = {
    0: Action.NONE,
    1: Action.HOLD,
    2: Action.RETURN,
    3: Action.LAND,
    5: Action.TERMINATE,
    6: Action.DISARM,
}  # values of NAV_DLL_ACT and NAV_RCL_ACT
_RC_EXCEPTION = np.array([MODES[mode].rc_exception for mode in Mode])


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
            station_away(self.watched.status, self.watched.clock.t_us) > params["COM_DL_LOSS_T"]
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
        status = self.watched.status
        lost = (self.watched.clock.t_us - status["stick_t"]) * 1e-6 > params["COM_RC_LOSS_T"]
        self._used |= ~lost
        excepted = params["COM_RCL_EXCEPT"] & _RC_EXCEPTION[status["mode"]] != 0
        return flying & lost & self._used & ~excepted

    def why(self, i: int) -> str:
        return "manual control lost"

    def armed(self, i: int) -> None:
        self._used[i] = sticks_held(self.watched, i)
