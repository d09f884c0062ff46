"""What a task is: vehicles, an action level, what is observed, what is rewarded.

A task is one file in tasks/. Its kernel goes once over the environments after each step, so that
observation, reward and end cost one pass over the arrays.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from xtdrone_batch.control import LEVELS
from xtdrone_batch.randomisation import Randomisation
from xtdrone_dynamics import quaternion
from xtdrone_dynamics.compiled import njit

MEASURED = (  # what observe() writes: name, numbers, bound
    ("position_error", 3, 20.0),  # goal less position, world [m]
    ("rotation", 9, 1.0),  # matrix, body to world, row by row
    ("velocity", 3, 30.0),  # world [m/s]
    ("body_rates", 3, 40.0),  # [rad/s]
)
FAR, FAST, SPIN = MEASURED[0][2], MEASURED[2][2], MEASURED[3][2]
OBSERVED = sum(count for _, count, _ in MEASURED)


@dataclass(frozen=True, eq=False)
class Task:
    """One task, with one vehicle in each environment."""

    name: str  # with its version: Position-v0
    text: str  # what is to be done, in a line
    action: str  # of xtdrone_batch.control.LEVELS
    low: tuple[float, ...]  # bounds of an action, in its units
    high: tuple[float, ...]
    sub_steps: int  # of 4 ms in a step
    seconds: float  # until an episode is truncated
    start: tuple[float, float, float]  # [m]
    randomisation: Randomisation
    goal: tuple[tuple[float, ...], tuple[float, ...]]  # lowest and highest that is drawn
    evaluate: Callable[..., None]  # see tasks/position.py

    @property
    def observation(self) -> tuple[tuple[str, int, float], ...]:
        """Name, numbers and bound of each part of an observation; the last action comes last."""
        bounds = max(map(abs, (*self.low, *self.high)))
        return (*MEASURED, ("last_action", len(self.low), bounds))

    @property
    def action_names(self) -> tuple[str, ...]:
        """As LEVELS names them."""
        return LEVELS[self.action].fields


@njit(inline="always")
def observe(e: int, s: Any, goal: np.ndarray, action: np.ndarray, out: np.ndarray) -> None:
    """Writes MEASURED, within its bounds, and the last action of environment e."""
    for k in range(3):
        out[e, k] = min(max(goal[e, k] - s.pos[e, 0, k], -FAR), FAR)
        out[e, 12 + k] = min(max(s.vel[e, 0, k], -FAST), FAST)
        out[e, 15 + k] = min(max(s.ang_vel[e, 0, k], -SPIN), SPIN)
    m = quaternion.to_matrix(s.quat[e, 0, 0], s.quat[e, 0, 1], s.quat[e, 0, 2], s.quat[e, 0, 3])
    for k in range(9):
        out[e, 3 + k] = min(max(m[k], -1.0), 1.0)
    for k in range(action.shape[2]):
        out[e, OBSERVED + k] = action[e, 0, k]
