"""Fusion of external vision: poses whose origin is estimated while GPS is available."""

import math

import numpy as np

from xtdrone_dynamics.compiled import njit
from xtdrone_dynamics.quaternion import multiply

from ..state.estimator_flags import HEIGHT_BY_VISION, TEST_VISION
from .aid_sources import height_reference
from .delayed_fusion import delayed_position, find, fuse_position, reset_to_fix
from .filter import fuse, inject
from .gnss import GPS_LOST_US
from .state import ATT, EV_HEIGHT, EV_POSITION, EV_YAW, NEVER


@njit
def fuse_vision(
    tuning: np.void,
    params: np.void,
    f: np.void,
    e: np.void,
    past: np.ndarray,
    cov: np.ndarray,
    work: np.ndarray,
    times: np.ndarray,
    count: int,
    t_us: int,
    measured_us: int,
    pose: np.ndarray,
    pos_sigma: float,
    yaw_sigma: float,
) -> None:
    """Fuses an external pose in the world frame, measured at measured_us.

    Args:
        tuning: A record of EkfParameters.
        params: The vehicle's record of the flight stack's parameters.
        f: Its record of FILTER.
        e: Its record of ESTIMATE.
        past: Its history.
        cov: Its covariance.
        work: Rows of scratch; the first is the pending correction.
        times, count: As of find.
        t_us: Now [us].
        measured_us: Time of the measurement [us].
        pose: (7,) position of the centre of gravity [m], quaternion xyzw body to world.
        pos_sigma: Standard deviation of each axis [m].
        yaw_sigma: Of the heading [rad].
    """
    dx, h, gain = work[0], work[1], work[2]
    slots = find(times, count, f.aligned_steps, measured_us)
    if f.aligned_t == NEVER or slots[0] < 0 or not params.EKF2_EV_CTRL & EV_POSITION:
        return
    delay = max(0, t_us - measured_us) * 1e-6
    accuracy = (pos_sigma, pos_sigma)
    if f.position_t == NEVER or t_us - max(f.gps_t, f.vision_t) > tuning.reset_time:
        for k in range(3):
            f.vision_offset[k] = 0.0
        work[4, :] = math.nan  # a pose does not measure velocity
        reset_to_fix(f, past, slots, delay, cov, pose, work[4], accuracy, 0.0, False)
        f.position_t = t_us
        f.vision_t = t_us
        f.baro_t = NEVER
        f.fixes = 0
        return
    lost = t_us - f.vision_t > tuning.aid_time
    share = 1.0 if lost else min(1.0, (t_us - f.vision_t) / tuning.vision_offset_time)
    by_vision = height_reference(tuning, params, f, t_us) == HEIGHT_BY_VISION
    for k in range(3):
        if t_us - f.gps_t <= GPS_LOST_US and not (k == 2 and by_vision):
            if lost or e.test_ratios[TEST_VISION] <= 1.0:
                error = pose[k] - delayed_position(f, past, slots, delay, k) - f.vision_offset[k]
                f.vision_offset[k] += share * error
        work[4, k] = pose[k] - f.vision_offset[k]
    last = 3 if params.EKF2_EV_CTRL & EV_HEIGHT else 2
    good = fuse_position(
        f,
        past,
        slots,
        delay,
        cov,
        work,
        work[4],
        accuracy,
        params.EKF2_EVP_GATE,
        False,
        0,
        last,
        e.test_ratios,
        TEST_VISION,
        TEST_VISION,
    )
    if params.EKF2_EV_CTRL & EV_YAW:
        r = past[slots[1]].quat
        turn = multiply(pose[3], pose[4], pose[5], pose[6], -r[0], -r[1], -r[2], r[3])
        h[:] = 0.0
        h[ATT + 2] = 1.0
        fuse(
            cov,
            dx,
            h,
            gain,
            2.0 * math.atan2(turn[2], turn[3])
            if turn[3] >= 0.0
            else 2.0 * math.atan2(-turn[2], -turn[3]),
            yaw_sigma * yaw_sigma,
            tuning.mag_gate,
        )
    if good:
        f.vision_t = t_us
        f.fixes += 1
    inject(dx, f, e)
