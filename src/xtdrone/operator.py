"""The Agent behind the commands of xtdrone.Simulation: the standing request for each vehicle."""

import numpy as np

from xtdrone_core.agent import BaseAgent
from xtdrone_core.modes import Mode
from xtdrone_core.state import ARM, Estimates, SetPoints

_RETRY_US = 500_000  # time after which a request that was not granted is repeated [us]
_IDLE, _HOLD, _FLY, _LAND = range(4)


class Operator(BaseAgent):
    """Flies each vehicle by the last request for it.

    Attributes:
        launch_pos: (N, 3) position of each vehicle when arming was requested [m]; NaN before.
        set_points: The standing set-points; NaN where nothing is requested.
    """

    MEMORY = ("launch_pos", "set_points", "_task", "_requested_us", "_out")

    def __init__(self, n: int, actuators: int = 0) -> None:
        """Begins with n vehicles on the ground, with up to `actuators` actuators each."""
        self.launch_pos = np.full((n, 3), np.nan)
        self.set_points = SetPoints.empty(n, actuators)
        self._out = SetPoints.empty(n, actuators)
        self._task = np.zeros(n, dtype=np.int8)
        self._requested_us = np.full(n, -_RETRY_US, dtype=np.int64)
        self.remember_start()

    def hold(self, mask: np.ndarray, pos: np.ndarray) -> None:
        """Arms these vehicles (N,) bool, each at its position pos (N, 3) [m]."""
        self.launch_pos[mask] = pos[mask]
        self._request(mask, _HOLD, pos=pos)

    def fly(self, mask: np.ndarray, **set_points: np.ndarray) -> None:
        """Flies these vehicles by set-points (N, ...), given by name; others are not controlled."""
        self._request(mask, _FLY, **set_points)

    def land(self, mask: np.ndarray) -> None:
        """Lands these vehicles where they are."""
        self._request(mask, _LAND)

    def step(self, t_us: int, estimates: Estimates) -> SetPoints:
        """Returns the set-points, and mode and arming requests that were not granted yet."""
        out, task = self._out, self._task
        out.records[:], out.actuators[:] = self.set_points.records, self.set_points.actuators
        flies = (task == _HOLD) | (task == _FLY)
        again = t_us - self._requested_us >= _RETRY_US
        offboard = flies & (estimates.mode != Mode.OFFBOARD) & again
        arm = flies & ~estimates.armed & estimates.ready & again
        land = (task == _LAND) & estimates.armed & (estimates.mode != Mode.LAND) & again
        out.mode[offboard], out.mode[land] = Mode.OFFBOARD, Mode.LAND
        out.arm[arm] = ARM
        self._requested_us[offboard | arm | land] = t_us
        return out

    def reset(self, mask: np.ndarray | None = None) -> None:
        """Clears the requests for these vehicles."""
        super().reset(mask)
        self._request(slice(None) if mask is None else mask, _IDLE)

    def _request(self, mask: np.ndarray | slice, task: int, **set_points: np.ndarray) -> None:
        self.set_points.records[mask] = SetPoints.empty(1).records[0]
        self.set_points.actuators[mask] = np.nan
        for name, values in set_points.items():
            getattr(self.set_points, name)[mask] = values[mask]
        self._task[mask] = task
        self._requested_us[mask] = -_RETRY_US
