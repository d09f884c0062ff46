"""The Agent behind the commands of xtdrone.Simulation: what its user asks of each vehicle."""

import numpy as np

from xtdrone_core.agent import BaseAgent
from xtdrone_core.modes import Mode
from xtdrone_core.state import ARM, Estimates, SetPoints

_RETRY_US = 500_000  # after which a request that was not granted is repeated [us]
_IDLE, _HOLD, _FLY, _LAND = range(4)


class Operator(BaseAgent):
    """Keeps each vehicle to what was asked of it last.

    Attributes:
        pads: (N, 3) where each vehicle stood when it was asked to arm [m]; NaN before.
        wish: The standing set-points, NaN where nothing is asked.
    """

    MEMORY = ("pads", "wish", "_task", "_asked_us", "_out")

    def __init__(self, n: int, actuators: int = 0) -> None:
        """n vehicles that stand, with at most so many actuators each."""
        self.pads = np.full((n, 3), np.nan)
        self.wish = SetPoints.empty(n, actuators)
        self._out = SetPoints.empty(n, actuators)
        self._task = np.zeros(n, dtype=np.int8)
        self._asked_us = np.full(n, -_RETRY_US, dtype=np.int64)
        self.remember_start()

    def hold(self, mask: np.ndarray, pos: np.ndarray) -> None:
        """Arms these vehicles (N,) bool, each at its place pos (N, 3) [m]."""
        self.pads[mask] = pos[mask]
        self._ask(mask, _HOLD, pos=pos)

    def fly(self, mask: np.ndarray, **wish: np.ndarray) -> None:
        """Set-points by name, (N, ...), for these vehicles; what is not named is not controlled."""
        self._ask(mask, _FLY, **wish)

    def land(self, mask: np.ndarray) -> None:
        """Lands these vehicles where they are."""
        self._ask(mask, _LAND)

    def step(self, t_us: int, estimates: Estimates) -> SetPoints:
        """The standing set-points, and requests where a vehicle is not as it was asked to be."""
        out, task = self._out, self._task
        out.records[:], out.actuators[:] = self.wish.records, self.wish.actuators
        flies = (task == _HOLD) | (task == _FLY)
        again = t_us - self._asked_us >= _RETRY_US
        offboard = flies & (estimates.mode != Mode.OFFBOARD) & again
        arm = flies & ~estimates.armed & estimates.ready & again
        land = (task == _LAND) & estimates.armed & (estimates.mode != Mode.LAND) & again
        out.mode[offboard], out.mode[land] = Mode.OFFBOARD, Mode.LAND
        out.arm[arm] = ARM
        self._asked_us[offboard | arm | land] = t_us
        return out

    def reset(self, mask: np.ndarray | None = None) -> None:
        """Nothing is asked of these vehicles."""
        super().reset(mask)
        self._ask(slice(None) if mask is None else mask, _IDLE)

    def _ask(self, mask: np.ndarray | slice, task: int, **wish: np.ndarray) -> None:
        self.wish.records[mask] = SetPoints.empty(1).records[0]
        self.wish.actuators[mask] = np.nan
        for name, values in wish.items():
            getattr(self.wish, name)[mask] = values[mask]
        self._task[mask] = task
        self._asked_us[mask] = -_RETRY_US
