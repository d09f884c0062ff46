"""Output of the estimator: output predictor, standard deviations and status flags.

The flight stack does not use the filter's position and velocity but those of an output predictor,
as in EKF2. It follows the IMU without delay and the filter's corrections with the time constants
EKF2_TAU_VEL and EKF2_TAU_POS, so that a fix causes no step in the set-points.
"""

import math

import numpy as np

from xtdrone_dynamics.compiled import njit

from ..state.estimator_flags import (
    AIRSPEED_USED,
    ALIGNED,
    AT_REST,
    BARO_USED,
    GPS_USED,
    MAG_USED,
    POSITION_VALID,
    RANGE_USED,
    SIDESLIP_USED,
    VISION_USED,
)
from .aid_sources import is_at_rest
from .state import ATT, NEVER, NO_RESET, POS, POSITION_RESET, VEL, VehicleEkf


@njit
def predict_output(ekf: VehicleEkf, dv_before: np.ndarray, dt: float) -> None:
    """Steps the output predictor; it follows a reset of the filter's position at once.

    Args:
        ekf: Filter of the vehicle.
        dv_before: (3,) FILTER's dv before the step [m/s].
        dt: Length of the step [s].
    """
    estimate, state = ekf.estimate, ekf.state
    for k in range(3):
        estimate.vel[k] += state.dv[k] - dv_before[k]
        estimate.vel[k] += dt / ekf.params.EKF2_TAU_VEL * (state.vel[k] - estimate.vel[k])
        estimate.pos[k] += estimate.vel[k] * dt
        estimate.pos[k] += dt / ekf.params.EKF2_TAU_POS * (state.pos[k] - estimate.pos[k])
    if state.output_reset == NO_RESET:
        return
    for k in range(3):
        if state.output_reset == POSITION_RESET:
            estimate.reset_pos[k] = state.pos[k] - estimate.pos[k]
        estimate.pos[k] = state.pos[k]
        estimate.vel[k] = state.vel[k]
    estimate.reset_count += state.output_reset == POSITION_RESET
    state.output_reset = NO_RESET


@njit
def report(ekf: VehicleEkf, t_us: int) -> None:
    """Writes flags and standard deviations of one vehicle into its record of ESTIMATE."""
    tuning, estimate, state = ekf.tuning, ekf.estimate, ekf.state
    for k in range(3):
        reference = state.ref_eph if k < 2 else state.ref_epv
        estimate.pos_std[k] = math.sqrt(max(0.0, ekf.cov[POS + k, POS + k]) + reference * reference)
        estimate.vel_std[k] = math.sqrt(max(0.0, ekf.cov[VEL + k, VEL + k]))
        estimate.att_std[k] = math.sqrt(max(0.0, ekf.cov[ATT + k, ATT + k]))
    since = t_us - tuning.aid_time
    flags = ALIGNED
    if state.position_t != NEVER:
        flags |= POSITION_VALID
    if state.gps_t > since:
        flags |= GPS_USED
    if state.vision_t > since:
        flags |= VISION_USED
    if state.baro_t > since:
        flags |= BARO_USED
    if state.mag_t > since:
        flags |= MAG_USED
    if state.range_t > since:
        flags |= RANGE_USED
    if state.airspeed_t > since:
        flags |= AIRSPEED_USED
    if state.sideslip_t > since:
        flags |= SIDESLIP_USED
    if is_at_rest(ekf, t_us):
        flags |= AT_REST
    estimate.flags = flags
    estimate.ready = (
        flags & (GPS_USED | VISION_USED) != 0
        and state.fixes >= tuning.ready_fixes
        and estimate.att_std[2] < tuning.ready_yaw
        and estimate.vel_std[0] < tuning.ready_vel
        and estimate.vel_std[1] < tuning.ready_vel
        and estimate.vel_std[2] < tuning.ready_vel
    )
