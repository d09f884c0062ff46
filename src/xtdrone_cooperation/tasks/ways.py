"""The ways between tasks, for what counts their length."""

import itertools
from collections.abc import Sequence

import numpy as np

from .task import Task


class Ways:
    """Where each task begins and ends, and how far it is between them.

    Attributes:
        starts: (T, 2) where each begins [m].
        ends: (T, 2) where each ends [m].
        lengths: (T,) of the way within each [m].
        between: (T, T) from the end of the row's task to the start of the column's [m].
    """

    def __init__(self, tasks: Sequence[Task]) -> None:
        """Measures the ways."""
        ways = [task.way() for task in tasks]
        self.starts = np.array([way[0] for way in ways]).reshape(-1, 2)
        self.ends = np.array([way[-1] for way in ways]).reshape(-1, 2)
        self.lengths = np.array(
            [np.linalg.norm(np.diff(way, axis=0), axis=1).sum() for way in ways]
        )
        self.between = np.linalg.norm(self.ends[:, None] - self.starts, axis=2)

    def __len__(self) -> int:
        return len(self.lengths)

    def to(self, place: np.ndarray) -> np.ndarray:
        """Returns the distances (T,) from a place (2,) to where tasks begin [m]."""
        return np.asarray(np.linalg.norm(self.starts - place, axis=1))

    def length(self, place: np.ndarray, path: Sequence[int]) -> float:
        """Returns the length of a path of tasks from a place (2,) [m]."""
        if not path:
            return 0.0
        first = float(self.to(place)[path[0]])
        legs = sum(float(self.between[a, b]) for a, b in itertools.pairwise(path))
        return first + legs + float(self.lengths[list(path)].sum())

    def detours(self, place: np.ndarray, path: Sequence[int], fixed: int = 0) -> np.ndarray:
        """Returns how much longer a path becomes with a task at a place of it.

        Args:
            place: (2,) where the path begins [m].
            path: Tasks, in order.
            fixed: So many first ones stay first.

        Returns:
            (P, T) [m] of each task in front of path[p], or behind the last one.
        """
        to = self.to(place)
        rows = []
        for p in range(fixed, len(path) + 1):
            before = to if p == 0 else self.between[path[p - 1]]
            after: float | np.ndarray = 0.0
            if p < len(path):
                direct = to[path[p]] if p == 0 else self.between[path[p - 1], path[p]]
                after = self.between[:, path[p]] - direct
            rows.append(before + self.lengths + after)
        return np.array(rows)
