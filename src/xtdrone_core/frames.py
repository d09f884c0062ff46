"""World ENU and body FLU against MAVLink's NED and FRD: the only place that knows both.

Each function is its own inverse. Arrays lead with any number of axes.
"""

import math
from typing import TypeVar

import numpy as np
import numpy.typing as npt

Angle = TypeVar("Angle", float, np.ndarray)

_SQRT_HALF = math.sqrt(0.5)
_HALF_TURN_X = np.array((1.0, -1.0, -1.0))


def enu_ned(vec: npt.ArrayLike) -> np.ndarray:
    """Vectors (..., 3) from ENU to NED, or back."""
    given = np.asarray(vec, dtype=float)
    out = np.empty_like(given)
    out[..., 0] = given[..., 1]
    out[..., 1] = given[..., 0]
    np.negative(given[..., 2], out=out[..., 2])
    return out


def flu_frd(vec: npt.ArrayLike) -> np.ndarray:
    """Vectors (..., 3) from FLU to FRD, or back."""
    return np.asarray(vec, dtype=float) * _HALF_TURN_X


def quat_enu_ned(quat: npt.ArrayLike) -> np.ndarray:
    """Attitudes (..., 4) xyzw, from FLU-in-ENU to FRD-in-NED, or back, with w >= 0.

    The world turns by half a turn about (1, 1, 0), the body about its x axis.
    """
    given = np.asarray(quat, dtype=float)
    out = np.empty_like(given)
    np.add(given[..., 0], given[..., 1], out=out[..., 0])
    np.subtract(given[..., 0], given[..., 1], out=out[..., 1])
    np.subtract(given[..., 3], given[..., 2], out=out[..., 2])
    np.add(given[..., 3], given[..., 2], out=out[..., 3])
    out *= np.where(out[..., 3:] < 0.0, -_SQRT_HALF, _SQRT_HALF)
    return out


def yaw_enu_ned(yaw: Angle) -> Angle:
    """Yaw anti-clockwise from east to heading clockwise from north, or back, in -pi..pi [rad]."""
    return (1.5 * math.pi - yaw) % (2.0 * math.pi) - math.pi
