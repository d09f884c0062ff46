"""Axes of a tail-sitter as a fixed wing, tilted forwards by 90 degrees.

Its x axis (forward) is the body's z axis, its z axis (up) the body's -x axis.
"""

import math

import numpy as np

from xtdrone_dynamics.compiled import Record, njit
from xtdrone_dynamics.quaternion import multiply, multiply_array

_SQRT_HALF = math.sqrt(0.5)


@njit
def to_wing_axes(body: Record, wings: Record) -> None:
    """Writes attitude and angular velocity in the axes of the wings.

    Args:
        body: Record with quat and ang_vel.
        wings: Record with quat and ang_vel, written.
    """
    quat = multiply(
        body.quat[0], body.quat[1], body.quat[2], body.quat[3], 0.0, -_SQRT_HALF, 0.0, _SQRT_HALF
    )
    for k in range(4):
        wings.quat[k] = quat[k]
    wings.ang_vel[0], wings.ang_vel[1] = body.ang_vel[2], body.ang_vel[1]
    wings.ang_vel[2] = -body.ang_vel[0]


@njit
def to_body_axes(quat: np.ndarray, rates: np.ndarray) -> None:
    """Converts attitude (4,) xyzw and rates (3,) from wing axes to body axes, in place."""
    body_quat = multiply(quat[0], quat[1], quat[2], quat[3], 0.0, _SQRT_HALF, 0.0, _SQRT_HALF)
    for k in range(4):
        quat[k] = body_quat[k]
    rates[0], rates[2] = -rates[2], rates[0]


def turned_forwards(quat: np.ndarray) -> np.ndarray:
    """Converts attitudes (N, 4) xyzw of bodies to the axes of the wings."""
    return multiply_array(quat, [(0.0, -_SQRT_HALF, 0.0, _SQRT_HALF)])
