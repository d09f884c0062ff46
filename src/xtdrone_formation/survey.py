"""What the receivers of a fleet err, seen on the start grid, whose places are measured."""

import math
from dataclasses import replace

import numpy as np

from xtdrone_core import Estimates, SetPoints
from xtdrone_core.runs.snapshot import Memory

from .declarations import SURVEY_TIME


class Survey(Memory):
    """Takes off the positions of a fleet what they were off on the start grid.

    The receivers of a fleet err by some decimetres that change within a minute, the leader's
    for all followers alike. On the ground each vehicle sees its own error, since the place
    where it stands is measured. The best guess of it later is what the model of the
    receivers' errors, a Gauss-Markov process, leaves of it.

    Attributes:
        grid: (N, 3) where the vehicles stand before the flight [m]; None: nobody measured it.
    """

    MEMORY = ("_offset", "_found_us")

    def __init__(self, n: int, time_constant: float = SURVEY_TIME.default) -> None:
        """Knows no places yet.

        Args:
            n: Number of vehicles.
            time_constant: Of the receivers' errors; 0: nothing is taken off [s].
        """
        self.grid: np.ndarray | None = None
        self._offset = np.zeros((n, 3))  # of the estimates on the grid [m]
        self._found_us: int | None = None  # when it was found
        self._constant_us = time_constant * 1e6

    @property
    def due(self) -> bool:
        """Whether the vehicles have yet to be seen on the grid."""
        return self._found_us is None

    def find(self, t_us: int, pos: np.ndarray) -> np.ndarray:
        """Takes the estimated positions (N, 3) of the vehicles on the grid; returns the true."""
        self._found_us = t_us
        if self.grid is None or self._constant_us <= 0.0:
            return pos
        self._offset[:] = pos - self.grid
        return self.grid.copy()

    def offset(self, t_us: int) -> np.ndarray:
        """Returns what is left of the offset (N, 3) [m]."""
        if self._found_us is None or self._constant_us <= 0.0:
            return self._offset
        return self._offset * math.exp((self._found_us - t_us) / self._constant_us)

    def corrected(self, t_us: int, estimates: Estimates) -> Estimates:
        """Returns the estimates with positions in the frame of the grid."""
        return replace(estimates, pos=estimates.pos - self.offset(t_us))

    def restore(self, t_us: int, out: SetPoints) -> None:
        """Writes set-points of the grid's frame as ones of the vehicles' own estimates."""
        out.pos[:] += self.offset(t_us)
