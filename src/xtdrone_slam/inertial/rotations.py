"""Rotation vectors and matrices in compiled functions, without NumPy's linear algebra."""

import math

import numpy as np

from xtdrone_dynamics.compiled import njit

_SMALL = 1e-4  # angle below which series are used [rad]


@njit
def cross_matrix(vector: np.ndarray) -> np.ndarray:
    """Returns the matrix (3, 3) of the cross product with a vector (3,)."""
    x, y, z = vector[0], vector[1], vector[2]
    return np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])


@njit
def exponential(turn: np.ndarray) -> np.ndarray:
    """Returns the rotation matrix (3, 3) of a rotation vector (3,) [rad]."""
    angle = math.sqrt(turn[0] ** 2 + turn[1] ** 2 + turn[2] ** 2)
    a, b = 1.0 - angle**2 / 6.0, 0.5 - angle**2 / 24.0
    if angle > _SMALL:
        a, b = math.sin(angle) / angle, (1.0 - math.cos(angle)) / angle**2
    cross = cross_matrix(turn)
    return np.eye(3) + a * cross + b * (cross @ cross)


@njit
def left_jacobian(turn: np.ndarray) -> np.ndarray:
    """Returns the mean (3, 3) of the rotations on the way to a rotation vector (3,) [rad]."""
    angle = math.sqrt(turn[0] ** 2 + turn[1] ** 2 + turn[2] ** 2)
    a, b = 0.5 - angle**2 / 24.0, 1.0 / 6.0 - angle**2 / 120.0
    if angle > _SMALL:
        a, b = (1.0 - math.cos(angle)) / angle**2, (angle - math.sin(angle)) / angle**3
    cross = cross_matrix(turn)
    return np.eye(3) + a * cross + b * (cross @ cross)


@njit
def second_jacobian(turn: np.ndarray) -> np.ndarray:
    """Returns the mean (3, 3) of left_jacobian() on that way, weighted by the time, times 1/2.

    A constant acceleration in a frame that turns moves it by this, times the square of the time.
    """
    angle = math.sqrt(turn[0] ** 2 + turn[1] ** 2 + turn[2] ** 2)
    a, b = 1.0 / 6.0 - angle**2 / 120.0, 1.0 / 24.0 - angle**2 / 720.0
    if angle > 10.0 * _SMALL:
        a = (angle - math.sin(angle)) / angle**3
        b = (0.5 * angle**2 + math.cos(angle) - 1.0) / angle**4
    cross = cross_matrix(turn)
    return 0.5 * np.eye(3) + a * cross + b * (cross @ cross)
