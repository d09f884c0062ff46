"""How far apart trajectories are in time."""

import numpy as np

from ..planners.planner import Trajectory

SQUAT = 0.5  # heights count so much less: a vehicle's wash reaches far down
_EACH_S = 0.06  # between the times that are compared [s]


def least(one: Trajectory, other: Trajectory, from_us: int) -> float:
    """Returns the least distance [m] of two trajectories from a time [us] on.

    Both rest after their ends. Differences of height count half.
    """
    last = max(each.begun_us + round(each.duration * 1e6) for each in (one, other))
    count = max(int(np.ceil((last - from_us) * 1e-6 / _EACH_S)), 0) + 1
    times = from_us + np.arange(count) * (_EACH_S * 1e6)
    gap = (one.places(times) - other.places(times)) * (1.0, 1.0, SQUAT)
    return float(np.sqrt((gap**2).sum(axis=1).min()))
