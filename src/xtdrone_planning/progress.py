"""Whether a vehicle gets nearer to its goal, or wanders."""

import numpy as np

from xtdrone_core.runs.snapshot import Memory

_STEP = 0.5  # nearer by less is not nearer [m]


class Progress(Memory):
    """Finds out for how long a vehicle has not come nearer to its goal than it has been.

    A planner that knows only what is near may go back and forth before a goal that is shut in, with
    a way at each moment.
    """

    MEMORY = ("_nearest", "_since_us")

    def __init__(self) -> None:
        """Begins towards a goal; another goal has a Progress of its own."""
        self._nearest, self._since_us = 0.0, -1

    def wandering(self, t_us: int, pos: np.ndarray, goal: np.ndarray, longest_us: int) -> str:
        """Returns in words that it has been no nearer for too long, or "".

        Args:
            t_us: Simulated time [us].
            pos, goal: (3,) where it is, and where to [m].
            longest_us: For how long it may be no nearer [us].
        """
        away = float(np.linalg.norm(goal - pos))
        if self._since_us < 0:
            self._nearest, self._since_us = away, t_us
        if away < self._nearest - _STEP:
            self._nearest, self._since_us = away, t_us
        if t_us - self._since_us <= longest_us:
            return ""
        return f"no nearer to the goal than {self._nearest:.1f} m for {longest_us * 1e-6:g} s"
