"""Headings."""

import math

import numpy as np
import numpy.typing as npt


def turn(angle: npt.ArrayLike, yaw: npt.ArrayLike) -> np.ndarray:
    """Returns the way from a heading to an angle, -pi to pi [rad]."""
    return np.asarray((np.subtract(angle, yaw) + math.pi) % (2.0 * math.pi) - math.pi)
