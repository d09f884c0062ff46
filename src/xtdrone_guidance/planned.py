"""What every trajectory gives at a time."""

from typing import NamedTuple

import numpy as np


class Planned(NamedTuple):
    """Where a trajectory is at a time."""

    pos: np.ndarray  # (3,) [m]
    vel: np.ndarray  # (3,) [m/s]
    acc: np.ndarray  # (3,) [m/s^2]
