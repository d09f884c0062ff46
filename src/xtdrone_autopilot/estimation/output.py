"""Output of the estimator: output predictor, standard deviations and status flags.

The flight stack does not use the filter's position and velocity but those of an output predictor,
as in EKF2. It follows the IMU without delay and the filter's corrections with the time constants
EKF2_TAU_VEL and EKF2_TAU_POS, so that a fix causes no step in the set-points.
"""

import math

import numpy as np

from xtdrone_dynamics.compiled import Record, njit

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
from .state import ATT, NEVER, NO_RESET, POS, POSITION_RESET, VEL


@njit
def predict_output(
    params: Record, ekf: Record, estimate: Record, dv_before: np.ndarray, dt: float
) -> None:
    """Steps the output predictor; it follows a reset of the filter's position at once.

    Args:
        params: Record of the flight stack's parameters.
        ekf: Record of FILTER.
        estimate: Record of ESTIMATE, whose position and velocity are updated.
        dv_before: (3,) FILTER's dv before the step [m/s].
        dt: Length of the step [s].
    """
    for k in range(3):
        estimate.vel[k] += ekf.dv[k] - dv_before[k]
        estimate.vel[k] += dt / params.EKF2_TAU_VEL * (ekf.vel[k] - estimate.vel[k])
        estimate.pos[k] += estimate.vel[k] * dt
        estimate.pos[k] += dt / params.EKF2_TAU_POS * (ekf.pos[k] - estimate.pos[k])
    if ekf.output_reset == NO_RESET:
        return
    for k in range(3):
        if ekf.output_reset == POSITION_RESET:
            estimate.reset_pos[k] = ekf.pos[k] - estimate.pos[k]
        estimate.pos[k] = ekf.pos[k]
        estimate.vel[k] = ekf.vel[k]
    estimate.reset_count += ekf.output_reset == POSITION_RESET
    ekf.output_reset = NO_RESET


@njit
def report(tuning: Record, ekf: Record, estimate: Record, cov: np.ndarray, t_us: int) -> None:
    """Writes flags and standard deviations of one vehicle into its record of ESTIMATE."""
    for k in range(3):
        reference = ekf.ref_eph if k < 2 else ekf.ref_epv
        estimate.pos_std[k] = math.sqrt(max(0.0, cov[POS + k, POS + k]) + reference * reference)
        estimate.vel_std[k] = math.sqrt(max(0.0, cov[VEL + k, VEL + k]))
        estimate.att_std[k] = math.sqrt(max(0.0, cov[ATT + k, ATT + k]))
    since = t_us - tuning.aid_time
    flags = ALIGNED
    if ekf.position_t != NEVER:
        flags |= POSITION_VALID
    if ekf.gps_t > since:
        flags |= GPS_USED
    if ekf.vision_t > since:
        flags |= VISION_USED
    if ekf.baro_t > since:
        flags |= BARO_USED
    if ekf.mag_t > since:
        flags |= MAG_USED
    if ekf.range_t > since:
        flags |= RANGE_USED
    if ekf.airspeed_t > since:
        flags |= AIRSPEED_USED
    if ekf.sideslip_t > since:
        flags |= SIDESLIP_USED
    if is_at_rest(tuning, ekf, estimate, t_us):
        flags |= AT_REST
    estimate.flags = flags
    estimate.ready = (
        flags & (GPS_USED | VISION_USED) != 0
        and ekf.fixes >= tuning.ready_fixes
        and estimate.att_std[2] < tuning.ready_yaw
        and estimate.vel_std[0] < tuning.ready_vel
        and estimate.vel_std[1] < tuning.ready_vel
        and estimate.vel_std[2] < tuning.ready_vel
    )
