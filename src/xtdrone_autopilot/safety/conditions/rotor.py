"""Rotors."""

from typing import ClassVar

import numpy as np

from ..checks import Check, Component, Level
from .condition import Action, Condition, Watched


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
