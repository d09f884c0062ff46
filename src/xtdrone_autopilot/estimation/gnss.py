"""Fusion of GNSS fixes: innovation gates, loss of GPS, and its return."""

import math

import numpy as np

from xtdrone_dynamics.compiled import Record, njit

from ..state.estimator_flags import HEIGHT_BY_GPS, TEST_HGT, TEST_POS
from .aid_sources import height_reference
from .delayed_fusion import delayed_position, fuse_position, fuse_velocity, reset_to_fix
from .state import NEVER, POS, VehicleEkf

GPS_POSITION, GPS_HEIGHT, GPS_VELOCITY = 1, 2, 4  # bits of EKF2_GPS_CTRL
GPS_LOST_US = 1_000_000  # GPS counts as lost after this time without a fix [us]


@njit
def fuse_gps(
    ekf: VehicleEkf,
    slots: tuple[int, int, float],
    t_us: int,
    delay: float,
    measured_pos: np.ndarray,
    measured_vel: np.ndarray,
    accuracy: tuple[float, float],
) -> None:
    """Fuses a GPS fix.

    Args:
        ekf: Filter of the vehicle.
        slots: From find_slots().
        t_us: Present time [us].
        delay: Age of the fix [s].
        measured_pos: (3,) position of the antenna, world [m].
        measured_vel: (3,) its velocity, world [m/s].
        accuracy: (horizontal, vertical) standard deviations [m].
    """
    tuning, params, state = ekf.tuning, ekf.params, ekf.state
    if slots[0] < 0 or not params.EKF2_GPS_CTRL & GPS_POSITION:
        return
    state.gps_lost = state.gps_lost or t_us - state.gps_heard_t > GPS_LOST_US
    state.gps_heard_t = t_us
    if state.position_t == NEVER or t_us - max(state.gps_t, state.vision_t) > tuning.reset_time:
        sigma = tuning.gps_vel_noise
        reset_to_fix(ekf, slots, delay, measured_pos, measured_vel, accuracy, sigma, True)
        state.position_t = t_us
        state.gps_t = t_us
        state.baro_t = NEVER
        state.fixes = 0
        _clear_rejoin(state)
        state.gps_lost = False
        return
    passed = not params.EKF2_GPS_CTRL & GPS_VELOCITY or fuse_velocity(
        ekf, slots, delay, measured_vel
    )
    by_gps = height_reference(ekf, t_us) == HEIGHT_BY_GPS
    n_axes = 3 if by_gps and params.EKF2_GPS_CTRL & GPS_HEIGHT else 2
    lost = state.gps_lost or t_us - state.gps_t > tuning.reset_time
    if lost and state.vision_t > t_us - tuning.aid_time:
        if passed:
            _rejoin_gps(ekf, slots, delay, measured_pos, accuracy, t_us, n_axes)
        else:
            _clear_rejoin(state)
        return
    state.gps_lost = False
    _clear_rejoin(state)
    if state.slew[0] == 0.0 and state.slew[1] == 0.0 and state.slew[2] == 0.0:
        passed = (
            fuse_position(
                ekf,
                slots,
                delay,
                measured_pos,
                accuracy,
                tuning.pos_gate,
                True,
                0,
                n_axes,
                TEST_POS,
                TEST_HGT,
            )
            and passed
        )
    if passed:
        state.gps_t = t_us
        state.fixes += 1


@njit
def _rejoin_gps(
    ekf: VehicleEkf,
    slots: tuple[int, int, float],
    delay: float,
    measured_pos: np.ndarray,
    accuracy: tuple[float, float],
    t_us: int,
    n_axes: int,
) -> None:
    """Averages innovations of a returning GPS; the mean is the offset to move the position by."""
    state = ekf.state
    state.return_fixes += 1
    for k in range(n_axes):
        state.return_sum[k] += (
            measured_pos[k]
            - ekf.history[slots[0]].antenna_pos[k]
            - delayed_position(ekf, slots, delay, k)
        )
    if state.return_fixes < ekf.tuning.ready_fixes:
        return
    for k in range(n_axes):
        state.slew[k] = state.return_sum[k] / state.return_fixes
        sigma = accuracy[0] if k < 2 else accuracy[1]
        ekf.cov[POS + k, POS + k] += sigma * sigma
    state.gps_t = t_us
    state.gps_lost = False


@njit
def _clear_rejoin(state: Record) -> None:
    """Clears the average of _rejoin_gps()."""
    state.return_fixes = 0
    for k in range(3):
        state.return_sum[k] = 0.0


@njit
def slew_to_gps(ekf: VehicleEkf, dt: float) -> None:
    """Moves the position towards a returned GPS for dt [s], and the estimated origins with it."""
    state = ekf.state
    remaining = math.sqrt(state.slew[0] ** 2 + state.slew[1] ** 2 + state.slew[2] ** 2)
    if remaining == 0.0:
        return
    fraction = min(1.0, ekf.tuning.return_speed * dt / remaining)
    for k in range(3):
        step = fraction * state.slew[k]
        state.pos[k] += step
        state.vision_offset[k] -= step
        state.slew[k] = 0.0 if fraction == 1.0 else state.slew[k] - step
        if k == 2:
            state.baro_offset -= step
            ekf.estimate.terrain += step
