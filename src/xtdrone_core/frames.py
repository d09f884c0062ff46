"""World ENU and body FLU against MAVLink's NED and FRD: the only place that knows both.

Each function is its own inverse. Arrays lead with any number of axes.
"""

import math
from typing import TypeVar

import numpy as np
import numpy.typing as npt

Angle = TypeVar("Angle", float, np.ndarray)


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
    return np.asarray(vec, dtype=float) * (1.0, -1.0, -1.0)


def quat_enu_ned(quat: npt.ArrayLike) -> np.ndarray:
    """Attitudes (..., 4) xyzw, from FLU-in-ENU to FRD-in-NED, or back, with w >= 0.

    The world turns by half a turn about (1, 1, 0), the body about its x axis.
    """
    x, y, z, w = np.moveaxis(np.asarray(quat, dtype=float), -1, 0)
    out = np.stack([x + y, x - y, w - z, w + z], axis=-1) * math.sqrt(0.5)
    return np.where(out[..., 3:] < 0.0, -out, out)


def yaw_enu_ned(yaw: Angle) -> Angle:
    """Yaw anti-clockwise from east to heading clockwise from north, or back, in -pi..pi [rad]."""
    return (1.5 * math.pi - yaw) % (2.0 * math.pi) - math.pi
