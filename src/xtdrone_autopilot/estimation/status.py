"""Estimator flags and test ratios as MAVLink's ESTIMATOR_STATUS_FLAGS.

PX4's estimator_status.solution_status_flags has the same bits.
"""

import numpy as np

from xtdrone_dynamics.compiled import njit

from ..state.estimator_flags import (
    AIRSPEED_USED,
    ALIGNED,
    GPS_USED,
    POSITION_VALID,
    RANGE_USED,
    TEST_POS,
    TEST_VEL,
    VISION_USED,
)

ATTITUDE, VELOCITY, POS_VERT_ABS, POS_VERT_AGL = 1, 2 | 4, 32, 64
# POS_HORIZ: relative and absolute, estimated and predicted.
POS_HORIZ, CONST_POS_MODE, GPS_GLITCH = 8 | 16 | 256 | 512, 128, 1024


@njit
def solution_status(flags: int, ratios: np.ndarray) -> int:
    """Returns the ESTIMATOR_STATUS_FLAGS of one vehicle.

    Args:
        flags: Bits of flags.py.
        ratios: (9,) test ratios.
    """
    status = 0
    if flags & ALIGNED:
        status |= ATTITUDE
    if flags & POSITION_VALID:
        status |= POS_VERT_ABS
    if flags & POSITION_VALID and flags & (GPS_USED | VISION_USED | AIRSPEED_USED):
        status |= VELOCITY | POS_HORIZ  # the world's origin is known, so absolute as well
    else:
        status |= CONST_POS_MODE
    if flags & RANGE_USED:
        status |= POS_VERT_AGL
    if ratios[TEST_VEL] > 1.0 or ratios[TEST_POS] > 1.0:
        status |= GPS_GLITCH
    return status


@njit
def fleet_solution_status(estimates: np.ndarray) -> np.ndarray:
    """Returns solution_status() of a fleet, (N,) uint16; estimates is (N,) of ESTIMATE."""
    out = np.zeros(estimates.shape[0], dtype=np.uint16)
    for i in range(estimates.shape[0]):
        out[i] = solution_status(estimates[i].flags, estimates[i].test_ratios)
    return out
