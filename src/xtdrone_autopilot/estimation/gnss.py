"""Fusion of GNSS fixes: innovation gates, loss of GPS, and its return."""

import math

import numpy as np

from xtdrone_dynamics.compiled import Record, njit

from ..state.estimator_flags import HEIGHT_BY_GPS, TEST_HGT, TEST_POS
from .aid_sources import height_reference
from .delayed_fusion import delayed_position, fuse_position, fuse_velocity, reset_to_fix
from .state import NEVER, POS

GPS_POSITION, GPS_HEIGHT, GPS_VELOCITY = 1, 2, 4  # bits of EKF2_GPS_CTRL
GPS_LOST_US = 1_000_000  # GPS counts as lost after this time without a fix [us]


@njit
def fuse_gps(
    tuning: Record,
    params: Record,
    ekf: Record,
    estimate: Record,
    past: np.ndarray,
    slots: tuple[int, int, float],
    t_us: int,
    delay: float,
    cov: np.ndarray,
    work: np.ndarray,
    measured_pos: np.ndarray,
    measured_vel: np.ndarray,
    accuracy: tuple[float, float],
) -> None:
    """Fuses a GPS fix.

    Args:
        tuning, params, ekf, estimate, past, cov, work: See vision.fuse_vision().
        slots: From find_slots().
        t_us: Present time [us].
        delay: Age of the fix [s].
        measured_pos: (3,) position of the antenna, world [m].
        measured_vel: (3,) its velocity, world [m/s].
        accuracy: (horizontal, vertical) standard deviations [m].
    """
    if slots[0] < 0 or not params.EKF2_GPS_CTRL & GPS_POSITION:
        return
    ekf.gps_lost = ekf.gps_lost or t_us - ekf.gps_heard_t > GPS_LOST_US
    ekf.gps_heard_t = t_us
    if ekf.position_t == NEVER or t_us - max(ekf.gps_t, ekf.vision_t) > tuning.reset_time:
        sigma = tuning.gps_vel_noise
        reset_to_fix(
            ekf, past, slots, delay, cov, measured_pos, measured_vel, accuracy, sigma, True
        )
        ekf.position_t = t_us
        ekf.gps_t = t_us
        ekf.baro_t = NEVER
        ekf.fixes = 0
        _clear_rejoin(ekf)
        ekf.gps_lost = False
        return
    passed = not params.EKF2_GPS_CTRL & GPS_VELOCITY or fuse_velocity(
        tuning, ekf, estimate, past, slots, delay, cov, work, measured_vel
    )
    by_gps = height_reference(tuning, params, ekf, t_us) == HEIGHT_BY_GPS
    n_axes = 3 if by_gps and params.EKF2_GPS_CTRL & GPS_HEIGHT else 2
    lost = ekf.gps_lost or t_us - ekf.gps_t > tuning.reset_time
    if lost and ekf.vision_t > t_us - tuning.aid_time:
        if passed:
            _rejoin_gps(tuning, ekf, past, slots, delay, cov, measured_pos, accuracy, t_us, n_axes)
        else:
            _clear_rejoin(ekf)
        return
    ekf.gps_lost = False
    _clear_rejoin(ekf)
    if ekf.slew[0] == 0.0 and ekf.slew[1] == 0.0 and ekf.slew[2] == 0.0:
        passed = (
            fuse_position(
                ekf,
                past,
                slots,
                delay,
                cov,
                work,
                measured_pos,
                accuracy,
                tuning.pos_gate,
                True,
                0,
                n_axes,
                estimate.test_ratios,
                TEST_POS,
                TEST_HGT,
            )
            and passed
        )
    if passed:
        ekf.gps_t = t_us
        ekf.fixes += 1


@njit
def _rejoin_gps(
    tuning: Record,
    ekf: Record,
    past: np.ndarray,
    slots: tuple[int, int, float],
    delay: float,
    cov: np.ndarray,
    measured_pos: np.ndarray,
    accuracy: tuple[float, float],
    t_us: int,
    n_axes: int,
) -> None:
    """Averages innovations of a returning GPS; the mean is the offset to move the position by."""
    ekf.return_fixes += 1
    for k in range(n_axes):
        ekf.return_sum[k] += (
            measured_pos[k]
            - past[slots[0]].antenna_pos[k]
            - delayed_position(ekf, past, slots, delay, k)
        )
    if ekf.return_fixes < tuning.ready_fixes:
        return
    for k in range(n_axes):
        ekf.slew[k] = ekf.return_sum[k] / ekf.return_fixes
        sigma = accuracy[0] if k < 2 else accuracy[1]
        cov[POS + k, POS + k] += sigma * sigma
    ekf.gps_t = t_us
    ekf.gps_lost = False


@njit
def _clear_rejoin(ekf: Record) -> None:
    """Clears the average of _rejoin_gps()."""
    ekf.return_fixes = 0
    for k in range(3):
        ekf.return_sum[k] = 0.0


@njit
def slew_to_gps(tuning: Record, ekf: Record, estimate: Record, dt: float) -> None:
    """Moves the position towards a returned GPS for dt [s], and the estimated origins with it."""
    remaining = math.sqrt(ekf.slew[0] ** 2 + ekf.slew[1] ** 2 + ekf.slew[2] ** 2)
    if remaining == 0.0:
        return
    fraction = min(1.0, tuning.return_speed * dt / remaining)
    for k in range(3):
        step = fraction * ekf.slew[k]
        ekf.pos[k] += step
        ekf.vision_offset[k] -= step
        ekf.slew[k] = 0.0 if fraction == 1.0 else ekf.slew[k] - step
        if k == 2:
            ekf.baro_offset -= step
            estimate.terrain += step
