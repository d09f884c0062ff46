"""A formation leader flown by velocity commands."""

import math

import numpy as np

from xtdrone_formation import Leader, Radio


class SteeredLeader(Leader):
    """Holds its position while the commanded velocity is zero."""

    def __init__(self, radio: Radio = Radio()):
        super().__init__(radio)
        self.velocity = np.zeros(3)  # commanded, world [m/s]

    def control(self, t_us, pos, vel):
        """The commanded velocity, or the position where the vehicle came to rest."""
        if np.linalg.norm(self.velocity) > 0.02:
            self._position = None
            return np.full(3, math.nan), self.velocity, np.zeros(3)
        if self._position is None and np.linalg.norm(vel) > 0.2:
            return np.full(3, math.nan), np.zeros(3), np.zeros(3)
        return super().control(t_us, pos, vel)
