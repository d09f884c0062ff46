"""The baseline: somebody who knows everything assigns the tasks, in rounds."""

from collections.abc import Iterable

import numpy as np

from .ways import Ways


def assign(ways: Ways, places: np.ndarray, open_tasks: Iterable[int]) -> list[list[int]]:
    """Returns the tasks of each vehicle, in order.

    In each round every vehicle gets the next task, by the least sum of the ways from where it is
    then (the Hungarian method), until all are assigned.

    Args:
        ways: Between the tasks.
        places: (N, 2) where the vehicles are [m].
        open_tasks: Indices of the tasks to assign.
    """
    from scipy.optimize import linear_sum_assignment  # slow to import

    left = sorted(open_tasks)
    paths: list[list[int]] = [[] for _ in places]
    ends = np.array(places, dtype=float)
    while left and len(paths):
        distance = np.linalg.norm(ends[:, None] - ways.starts[left], axis=2)
        taken = []
        for vehicle, column in zip(*linear_sum_assignment(distance)):
            task = left[column]
            paths[vehicle].append(task)
            ends[vehicle] = ways.ends[task]
            taken.append(task)
        left = [task for task in left if task not in taken]
    return paths
