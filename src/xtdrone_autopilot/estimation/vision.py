"""Fusion of external vision: poses whose origin is estimated while GPS is available."""

import math

import numpy as np

from xtdrone_dynamics.compiled import njit
from xtdrone_dynamics.quaternion import multiply

from ..state.estimator_flags import HEIGHT_BY_VISION, TEST_VISION
from .aid_sources import height_reference
from .delayed_fusion import delayed_position, find_slots, fuse_position, reset_to_fix
from .filter import fuse, inject
from .gnss import GPS_LOST_US
from .state import ATT, EV_HEIGHT, EV_POSITION, EV_YAW, NEVER, VehicleEkf


@njit
def fuse_vision(
    ekf: VehicleEkf,
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
        ekf: Filter of the vehicle.
        times, count: See delayed_fusion.find_slots().
        t_us: Present time [us].
        measured_us: Time of the measurement [us].
        pose: (7,) position of the centre of gravity [m], quaternion xyzw body to world.
        pos_sigma: Standard deviation of each axis of the position [m].
        yaw_sigma: Standard deviation of the heading [rad].
    """
    params, state = ekf.params, ekf.state
    slots = find_slots(times, count, state.aligned_steps, measured_us)
    if state.aligned_t == NEVER or slots[0] < 0 or not params.EKF2_EV_CTRL & EV_POSITION:
        return
    delay = max(0, t_us - measured_us) * 1e-6
    accuracy = (pos_sigma, pos_sigma)
    if state.position_t == NEVER or t_us - max(state.gps_t, state.vision_t) > ekf.tuning.reset_time:
        for k in range(3):
            state.vision_offset[k] = 0.0
        ekf.work[4, :] = math.nan  # a pose does not measure velocity
        reset_to_fix(ekf, slots, delay, pose, ekf.work[4], accuracy, 0.0, False)
        state.position_t = t_us
        state.vision_t = t_us
        state.baro_t = NEVER
        state.fixes = 0
        return
    _estimate_origin(ekf, slots, delay, pose, t_us)
    for k in range(3):
        ekf.work[4, k] = pose[k] - state.vision_offset[k]
    n_axes = 3 if params.EKF2_EV_CTRL & EV_HEIGHT else 2
    passed = fuse_position(
        ekf,
        slots,
        delay,
        ekf.work[4],
        accuracy,
        params.EKF2_EVP_GATE,
        False,
        0,
        n_axes,
        TEST_VISION,
        TEST_VISION,
    )
    if params.EKF2_EV_CTRL & EV_YAW:
        _fuse_heading(ekf, ekf.history[slots[1]].quat, pose[3:], yaw_sigma)
    if passed:
        state.vision_t = t_us
        state.fixes += 1
    inject(ekf, ekf.work[0])


@njit
def _estimate_origin(
    ekf: VehicleEkf, slots: tuple[int, int, float], delay: float, pose: np.ndarray, t_us: int
) -> None:
    """Moves the estimated origin of vision while GPS is fused, which is the reference then."""
    state = ekf.state
    if t_us - state.gps_t > GPS_LOST_US:
        return
    lost = t_us - state.vision_t > ekf.tuning.aid_time
    if not (lost or ekf.estimate.test_ratios[TEST_VISION] <= 1.0):
        return
    alpha = 1.0 if lost else min(1.0, (t_us - state.vision_t) / ekf.tuning.vision_offset_time)
    by_vision = height_reference(ekf, t_us) == HEIGHT_BY_VISION
    for k in range(2 if by_vision else 3):
        error = pose[k] - delayed_position(ekf, slots, delay, k) - state.vision_offset[k]
        state.vision_offset[k] += alpha * error


@njit
def _fuse_heading(
    ekf: VehicleEkf, attitude: np.ndarray, quat: np.ndarray, yaw_sigma: float
) -> None:
    """Fuses the heading of a measured attitude.

    Args:
        ekf: Filter of the vehicle.
        attitude: (4,) estimated attitude at the time of the measurement, xyzw, body to world.
        quat: (4,) measured attitude, xyzw, body to world.
        yaw_sigma: Standard deviation of the heading [rad].
    """
    dx, h, gain = ekf.work[0], ekf.work[1], ekf.work[2]
    x, y, z, w = attitude[0], attitude[1], attitude[2], attitude[3]
    _, _, ez, ew = multiply(quat[0], quat[1], quat[2], quat[3], -x, -y, -z, w)
    error = 2.0 * math.atan2(ez, ew) if ew >= 0.0 else 2.0 * math.atan2(-ez, -ew)
    h[:] = 0.0
    h[ATT + 2] = 1.0
    fuse(ekf.cov, dx, h, gain, error, yaw_sigma * yaw_sigma, ekf.tuning.mag_gate)
