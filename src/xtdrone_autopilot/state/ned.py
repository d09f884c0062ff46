"""Vectors and attitudes of one vehicle in PX4's frames, for kernels: NED, and body FRD."""

import math

import numpy as np

from xtdrone_dynamics.compiled import njit

_SQRT_HALF = math.sqrt(0.5)


@njit
def to_ned(v: np.ndarray, out: np.ndarray) -> None:
    """A vector (3,) from ENU to NED."""
    out[0], out[1], out[2] = v[1], v[0], -v[2]


@njit
def to_frd(v: np.ndarray, out: np.ndarray, scale: float = 1.0) -> None:
    """A vector (3,) from FLU to FRD, times scale."""
    out[0], out[1], out[2] = scale * v[0], -scale * v[1], -scale * v[2]


@njit
def quat_to_ned(quat: np.ndarray, out: np.ndarray) -> None:
    """An attitude xyzw of body FLU in ENU to wxyz of body FRD in NED, with w >= 0."""
    scale = -_SQRT_HALF if quat[3] + quat[2] < 0.0 else _SQRT_HALF
    out[0] = (quat[3] + quat[2]) * scale
    out[1] = (quat[0] + quat[1]) * scale
    out[2] = (quat[0] - quat[1]) * scale
    out[3] = (quat[3] - quat[2]) * scale


@njit
def heading(yaw: float) -> float:
    """Yaw anti-clockwise from east to heading clockwise from north, in -pi..pi [rad]."""
    return (1.5 * math.pi - yaw) % (2.0 * math.pi) - math.pi
