"""A tail-sitter as the fixed wing that it is when it has tilted forwards by 90 degrees.

The forward axis of that fixed wing is the body's z, its upward axis the body's -x.
"""

import math

import numpy as np

from xtdrone_dynamics.compiled import njit
from xtdrone_dynamics.quaternion import multiply, multiply_array

_HALF = math.sqrt(0.5)


@njit
def of_wings(body: np.void, wings: np.void) -> None:
    """Writes attitude and angular velocity of the fixed wing.

    Args:
        body: Record with quat and ang_vel.
        wings: Another one, written.
    """
    quat = multiply(body.quat[0], body.quat[1], body.quat[2], body.quat[3], 0.0, -_HALF, 0.0, _HALF)
    for k in range(4):
        wings.quat[k] = quat[k]
    wings.ang_vel[0], wings.ang_vel[1] = body.ang_vel[2], body.ang_vel[1]
    wings.ang_vel[2] = -body.ang_vel[0]


@njit
def of_body(quat: np.ndarray, rates: np.ndarray) -> None:
    """Turns attitude (4,) xyzw and rates (3,) of the fixed wing into the body's, in place."""
    found = multiply(quat[0], quat[1], quat[2], quat[3], 0.0, _HALF, 0.0, _HALF)
    for k in range(4):
        quat[k] = found[k]
    rates[0], rates[2] = -rates[2], rates[0]


def turned_forwards(quat: np.ndarray) -> np.ndarray:
    """Attitudes (N, 4) xyzw of fixed wings from those of their bodies."""
    return multiply_array(quat, [(0.0, -_HALF, 0.0, _HALF)])
