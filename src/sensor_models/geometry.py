"""Position and velocity of a sensor, for the models."""

import numpy as np

from xtdrone_dynamics.compiled import njit
from xtdrone_dynamics.quaternion import rotate


@njit
def lever(
    quat: np.ndarray, ang_vel: np.ndarray, arm: np.ndarray
) -> tuple[float, float, float, float, float, float]:
    """World position and velocity of a point of the body, relative to its centre of gravity."""
    px, py, pz = rotate(quat[0], quat[1], quat[2], quat[3], arm[0], arm[1], arm[2])
    vx, vy, vz = rotate(
        quat[0],
        quat[1],
        quat[2],
        quat[3],
        ang_vel[1] * arm[2] - ang_vel[2] * arm[1],
        ang_vel[2] * arm[0] - ang_vel[0] * arm[2],
        ang_vel[0] * arm[1] - ang_vel[1] * arm[0],
    )
    return px, py, pz, vx, vy, vz


@njit
def due(step: int, period: int, epoch: int) -> bool:
    """Whether a vehicle has the sensor (period > 0), and a reading at this step.

    It takes numbers and not the record of memory, whose type each kind of sensor extends in its
    own way: Numba would convert one kind's record to another's, and warn.
    """
    return period > 0 and (step - epoch) % period == 0
