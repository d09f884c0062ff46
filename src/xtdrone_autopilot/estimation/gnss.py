"""Fusion of GNSS fixes: innovation gates, loss of GPS, and its return."""

import math

import numpy as np

from xtdrone_dynamics.compiled import njit

from ..state.estimator_flags import HEIGHT_BY_GPS, TEST_HGT, TEST_POS
from .aid_sources import height_reference
from .delayed_fusion import delayed_position, fuse_position, fuse_velocity, reset_to_fix
from .state import NEVER, POS

GPS_POSITION, GPS_HEIGHT, GPS_VELOCITY = 1, 2, 4  # bits of EKF2_GPS_CTRL
GPS_LOST_US = 1_000_000  # without a fix so long, GPS is lost [us]


@njit
def fuse_gps(
    tuning: np.void,
    params: np.void,
    f: np.void,
    e: np.void,
    past: np.ndarray,
    slots: tuple[int, int, float],
    t_us: int,
    delay: float,
    cov: np.ndarray,
    work: np.ndarray,
    measured: np.ndarray,
    gps_vel: np.ndarray,
    accuracy: tuple[float, float],
) -> None:
    """A GPS fix: measured (3,) world [m], gps_vel (3,) world [m/s]."""
    if slots[0] < 0 or not params.EKF2_GPS_CTRL & GPS_POSITION:
        return
    f.gps_lost = f.gps_lost or t_us - f.gps_heard_t > GPS_LOST_US
    f.gps_heard_t = t_us
    if f.position_t == NEVER or t_us - max(f.gps_t, f.vision_t) > tuning.reset_time:
        reset_to_fix(
            f, past, slots, delay, cov, measured, gps_vel, accuracy, tuning.gps_vel_noise, True
        )
        f.position_t = t_us
        f.gps_t = t_us
        f.baro_t = NEVER
        f.fixes = 0
        _forget_return(f)
        f.gps_lost = False
        return
    good = not params.EKF2_GPS_CTRL & GPS_VELOCITY or fuse_velocity(
        tuning, f, e, past, slots, delay, cov, work, gps_vel
    )
    by_gps = height_reference(tuning, params, f, t_us) == HEIGHT_BY_GPS
    last = 3 if by_gps and params.EKF2_GPS_CTRL & GPS_HEIGHT else 2
    lost = f.gps_lost or t_us - f.gps_t > tuning.reset_time
    if lost and f.vision_t > t_us - tuning.aid_time:
        if good:
            _return(tuning, f, past, slots, delay, cov, measured, accuracy, t_us, last)
        else:
            _forget_return(f)
        return
    f.gps_lost = False
    _forget_return(f)
    if f.slew[0] == 0.0 and f.slew[1] == 0.0 and f.slew[2] == 0.0:
        good = (
            fuse_position(
                f,
                past,
                slots,
                delay,
                cov,
                work,
                measured,
                accuracy,
                tuning.pos_gate,
                True,
                0,
                last,
                e.test_ratios,
                TEST_POS,
                TEST_HGT,
            )
            and good
        )
    if good:
        f.gps_t = t_us
        f.fixes += 1


@njit
def _return(tuning, f, past, slots, delay, cov, measured, accuracy, t_us, last):
    """Fixes of a returning GPS: the mean innovation is the offset that the position has to move."""
    f.return_fixes += 1
    for k in range(last):
        f.return_sum[k] += (
            measured[k] - past[slots[0]].antenna_pos[k] - delayed_position(f, past, slots, delay, k)
        )
    if f.return_fixes < tuning.ready_fixes:
        return
    for k in range(last):
        f.slew[k] = f.return_sum[k] / f.return_fixes
        sigma = accuracy[0] if k < 2 else accuracy[1]
        cov[POS + k, POS + k] += sigma * sigma
    f.gps_t = t_us
    f.gps_lost = False


@njit
def _forget_return(f):
    f.return_fixes = 0
    for k in range(3):
        f.return_sum[k] = 0.0


@njit
def slew_to_gps(tuning: np.void, f: np.void, e: np.void, dt: float) -> None:
    """One step towards a returned GPS; the origins estimated meanwhile move along."""
    left = math.sqrt(f.slew[0] ** 2 + f.slew[1] ** 2 + f.slew[2] ** 2)
    if left == 0.0:
        return
    share = min(1.0, tuning.return_speed * dt / left)
    for k in range(3):
        step = share * f.slew[k]
        f.pos[k] += step
        f.vision_offset[k] -= step
        f.slew[k] = 0.0 if share == 1.0 else f.slew[k] - step
        if k == 2:
            f.baro_offset -= step
            e.terrain += step
