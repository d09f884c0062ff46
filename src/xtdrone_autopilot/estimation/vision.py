"""Fusion of external vision: poses whose origin is estimated while GPS is available."""

import math

import numpy as np

from xtdrone_dynamics.compiled import Record, njit
from xtdrone_dynamics.quaternion import multiply

from ..state.estimator_flags import HEIGHT_BY_VISION, TEST_VISION
from .aid_sources import height_reference
from .delayed_fusion import delayed_position, find_slots, fuse_position, reset_to_fix
from .filter import fuse, inject
from .gnss import GPS_LOST_US
from .state import ATT, EV_HEIGHT, EV_POSITION, EV_YAW, NEVER


@njit
def fuse_vision(
    tuning: Record,
    params: Record,
    ekf: Record,
    estimate: Record,
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
    """Fuses a pose from outside, such as a motion capture system's, measured at measured_us.

    Args:
        tuning: Record of EkfParameters.
        params: Record of the flight stack's parameters.
        ekf: Record of FILTER.
        estimate: Record of ESTIMATE.
        past: (HISTORY_STEPS,) of PAST_STATE.
        cov: (SIZE, SIZE) covariance.
        work: (6, SIZE) scratch; row 0 is the pending correction.
        times, count: See delayed_fusion.find_slots().
        t_us: Present time [us].
        measured_us: Time of the measurement [us].
        pose: (7,) position of the centre of gravity [m], quaternion xyzw body to world.
        pos_sigma: Standard deviation of each axis of the position [m].
        yaw_sigma: Standard deviation of the heading [rad].
    """
    slots = find_slots(times, count, ekf.aligned_steps, measured_us)
    if ekf.aligned_t == NEVER or slots[0] < 0 or not params.EKF2_EV_CTRL & EV_POSITION:
        return
    delay = max(0, t_us - measured_us) * 1e-6
    accuracy = (pos_sigma, pos_sigma)
    if ekf.position_t == NEVER or t_us - max(ekf.gps_t, ekf.vision_t) > tuning.reset_time:
        for k in range(3):
            ekf.vision_offset[k] = 0.0
        work[4, :] = math.nan  # a pose does not measure velocity
        reset_to_fix(ekf, past, slots, delay, cov, pose, work[4], accuracy, 0.0, False)
        ekf.position_t = t_us
        ekf.vision_t = t_us
        ekf.baro_t = NEVER
        ekf.fixes = 0
        return
    _estimate_origin(tuning, params, ekf, estimate, past, slots, delay, pose, t_us)
    for k in range(3):
        work[4, k] = pose[k] - ekf.vision_offset[k]
    n_axes = 3 if params.EKF2_EV_CTRL & EV_HEIGHT else 2
    passed = fuse_position(
        ekf,
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
        n_axes,
        estimate.test_ratios,
        TEST_VISION,
        TEST_VISION,
    )
    if params.EKF2_EV_CTRL & EV_YAW:
        _fuse_heading(tuning, past[slots[1]].quat, pose[3:], yaw_sigma, cov, work)
    if passed:
        ekf.vision_t = t_us
        ekf.fixes += 1
    inject(work[0], ekf, estimate)


@njit
def _estimate_origin(
    tuning: Record,
    params: Record,
    ekf: Record,
    estimate: Record,
    past: np.ndarray,
    slots: tuple[int, int, float],
    delay: float,
    pose: np.ndarray,
    t_us: int,
) -> None:
    """Moves the estimated origin of vision while GPS is fused, which is the reference then."""
    if t_us - ekf.gps_t > GPS_LOST_US:
        return
    lost = t_us - ekf.vision_t > tuning.aid_time
    if not (lost or estimate.test_ratios[TEST_VISION] <= 1.0):
        return
    alpha = 1.0 if lost else min(1.0, (t_us - ekf.vision_t) / tuning.vision_offset_time)
    by_vision = height_reference(tuning, params, ekf, t_us) == HEIGHT_BY_VISION
    for k in range(2 if by_vision else 3):
        error = pose[k] - delayed_position(ekf, past, slots, delay, k) - ekf.vision_offset[k]
        ekf.vision_offset[k] += alpha * error


@njit
def _fuse_heading(
    tuning: Record,
    attitude: np.ndarray,
    quat: np.ndarray,
    yaw_sigma: float,
    cov: np.ndarray,
    work: np.ndarray,
) -> None:
    """Fuses the heading of a measured attitude.

    Args:
        tuning: Record of EkfParameters.
        attitude: (4,) estimated attitude at the time of the measurement, xyzw, body to world.
        quat: (4,) measured attitude, xyzw, body to world.
        yaw_sigma: Standard deviation of the heading [rad].
        cov: (SIZE, SIZE) covariance.
        work: (3 or more, SIZE) scratch; row 0 is the pending correction.
    """
    dx, h, gain = work[0], work[1], work[2]
    x, y, z, w = attitude[0], attitude[1], attitude[2], attitude[3]
    _, _, ez, ew = multiply(quat[0], quat[1], quat[2], quat[3], -x, -y, -z, w)
    error = 2.0 * math.atan2(ez, ew) if ew >= 0.0 else 2.0 * math.atan2(-ez, -ew)
    h[:] = 0.0
    h[ATT + 2] = 1.0
    fuse(cov, dx, h, gain, error, yaw_sigma * yaw_sigma, tuning.mag_gate)
