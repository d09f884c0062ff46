"""The root mean square of distances, as Agents report it."""

import math

import numpy as np

from xtdrone_core.runs.snapshot import Memory


class RootMeanSquare(Memory):
    """Takes distances one after the other."""

    MEMORY = ("_squares", "_count")

    def __init__(self) -> None:
        self.clear()

    def clear(self) -> None:
        """Begins anew."""
        self._squares, self._count = 0.0, 0

    def add(self, offsets: np.ndarray) -> None:
        """Takes the offsets (..., 3) of one or more vehicles at one time [m]."""
        squares = (np.asarray(offsets) ** 2).sum(axis=-1)
        self._squares += float(squares.sum())
        self._count += squares.size

    @property
    def value(self) -> float:
        """The root mean square of all distances so far [m]; 0 before the first."""
        return math.sqrt(self._squares / max(self._count, 1))
