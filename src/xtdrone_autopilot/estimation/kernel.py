"""The compiled part of the estimator: an error-state extended Kalman filter per vehicle.

Error state, 25 numbers: attitude (3, a rotation vector in the world frame),
velocity (3), position (3), gyro bias (3), accelerometer bias (3), barometer
offset, Earth's magnetic field (3, world), magnetometer bias (3, body), height
of the ground below, wind (2, east and north). With
R the attitude (body to world) and f_w = R (accel - bias) the specific force:

    d attitude / dt = -R gyro bias
    d velocity / dt = attitude x f_w - R accelerometer bias
    d position / dt = velocity

Measurements are delayed. A measurement is compared with the present state propagated
back by the inertial increments since then (kept in a history), so that corrections
made in between count, and its Jacobian is propagated back as well; the correction is
applied to the present state.

GPS is the reference of position. While it is used, the origin of external vision is
estimated, so that vision takes over without a step when GPS is lost; when GPS
returns, the estimate moves to it at a limited speed.

The flight stack does not use the filter's position and velocity but those of an output
predictor as in PX4: it follows the IMU without delay and the filter's corrections with
time constants, so that a fix causes no step in the set-points.
"""

import math

import numpy as np

from xtdrone_dynamics.compiled import njit
from xtdrone_dynamics.constants import AIR_GAS_CONSTANT
from xtdrone_dynamics.earth.atmosphere import density, height_of_pressure
from xtdrone_dynamics.earth.geodesy import to_local

from .aid_sources import (
    fuse_airspeed,
    fuse_baro,
    fuse_field,
    fuse_range,
    fuse_sideslip,
    height_reference,
    predict_terrain,
    sideslip_fused,
    vehicle_moving,
    zero_velocity_update,
)
from .alignment import align, collect, start_covariance
from .delayed_fusion import find, record
from .filter import (
    add_noise,
    inject,
    make_symmetric,
    predict_covariance,
    predict_state,
    reset_covariance,
)
from .flags import (
    AIRSPEED_USED,
    ALIGNED,
    AT_REST,
    BARO_USED,
    GPS_USED,
    HEIGHT_BY_BARO,
    MAG_USED,
    POSITION_VALID,
    RANGE_USED,
    SIDESLIP_USED,
    VISION_USED,
)
from .gnss import fuse_gps, slew_to_gps
from .lever_arm import at_centre
from .state import (
    ATT,
    BARO_OFFSET,
    FIELD_BIAS,
    HISTORY,
    NEVER,
    NO_RESET,
    POS,
    POSITION_RESET,
    VEL,
    WIND,
    clear_alignment,
)

SYMMETRY_STEPS = 25  # after that many steps the covariance is made symmetric


@njit
def step_fleet(tuning: np.ndarray, parameters: np.ndarray, world: tuple, dt: float, t_us: int,
               times: np.ndarray, count: int, sensors: np.ndarray, estimates: np.ndarray,
               filters: np.ndarray, history: np.ndarray, covs: np.ndarray,
               work: np.ndarray) -> None:
    """One step of the whole fleet.

    Args:
        tuning: (N,) records of EkfParameters.
        parameters: (N,) records of the flight stack's parameters.
        world: Origin's latitude, longitude [rad], height [m], and the field (3,) there [T].
        dt: Length of the step [s].
        t_us: Its end [us].
        times: (HISTORY,) ends of the steps in the history [us].
        count: Steps so far.
        sensors: (N,) of SENSORS.
        estimates: (N,) of ESTIMATE.
        filters: (N,) of FILTER.
        history: (N, HISTORY) of PAST.
        covs: (N, SIZE, SIZE) covariances.
        work: (6, SIZE) scratch; its first row, the pending correction, is zero between steps.
    """
    times[count % HISTORY] = t_us
    for i in range(estimates.shape[0]):
        f = filters[i]
        f.steps += 1
        if f.aligned_t == NEVER and not _align(tuning[i], world[3], t_us, sensors[i], estimates[i],
                                               f, covs[i]):
            continue
        _step_one(tuning[i], parameters[i], world, dt, t_us, times, count, sensors[i], estimates[i],
                  f, history[i], covs[i], work)


@njit
def _align(tuning, field, t_us, s, e, f, cov):
    """Collects a step at rest; whether the attitude is known from here on."""
    collect(f, s.gyro, s.accel, s.mag, s.mag_new)
    if f.samples < tuning.align_steps:
        return False
    done = align(tuning, f, e, field, t_us)
    clear_alignment(f)
    if not done:
        return False
    start_covariance(tuning, e.quat, cov)
    for k in range(3):
        f.earth_field[k] = field[k]
    return True


@njit
def _step_one(tuning, params, world, dt, t_us, times, count, s, e, f, past, cov, work):
    """Prediction, all aid sources that are new, correction and output of one vehicle."""
    before = work[5]  # FILTER's dv before this step
    for k in range(3):
        before[k] = f.dv[k]
    for k in range(3):
        e.ang_vel[k] = s.gyro[k] - e.gyro_bias[k]
    force = predict_state(f, e, s.gyro, at_centre(s.accel, e.imu_pos, e.ang_vel, f.rate, dt), dt)
    predict_covariance(tuning, e.quat, force, cov, dt)
    if max(abs(s.accel[0]), abs(s.accel[1]), abs(s.accel[2])) > tuning.impact_accel:
        add_noise(cov, VEL, 3, tuning.impact_vel_noise ** 2, math.inf)
    predict_terrain(tuning, params, f, e, cov, dt)
    if not math.isnan(e.wind[0]):
        add_noise(cov, WIND, 2, params.EKF2_WIND_NSD ** 2 * dt, tuning.wind_sigma ** 2)
    slew_to_gps(tuning, f, e, dt)
    for k in range(3):
        e.ang_vel[k] = s.gyro[k] - e.gyro_bias[k]
    if vehicle_moving(tuning, e.ang_vel, force):
        f.moved_t = t_us
    f.aligned_steps += 1
    record(past[count % HISTORY], f, e)

    if s.gps_new and s.gps_fix >= 3 and s.gps_eph <= tuning.max_eph \
            and s.gps_epv <= tuning.max_epv:
        _take_fix(tuning, params, world, t_us, times, count, s, e, f, past, cov, work)
    if s.mag_new:
        if fuse_field(tuning, f, e, cov, work, s.mag):
            f.mag_t = t_us
        elif t_us - f.mag_t > tuning.mag_reset_time:  # the bias has changed
            reset_covariance(cov, FIELD_BIAS, 3, tuning.field_bias_reset_sigma ** 2)
            f.mag_t = t_us
    if f.position_t != NEVER:
        if s.baro_new and params.EKF2_BARO_CTRL != 0:
            _take_baro(tuning, params, world, t_us, s, e, f, cov, work)
        if s.range_new and math.isfinite(s.range_distance) and params.EKF2_RNG_CTRL != 0:
            late = round(params.EKF2_RNG_DELAY * 1e3)
            slots = find(times, count, f.aligned_steps, t_us - late)
            if slots[0] >= 0:
                fuse_range(tuning, params, f, e, past, slots, late * 1e-6, cov, work,
                           s.range_distance, t_us)
        if s.airspeed_new and params.EKF2_ARSP_THR > 0.0:
            slots = find(times, count, f.aligned_steps, t_us - round(params.EKF2_ASP_DELAY * 1e3))
            air = density(world[2] + f.pos[2])
            if s.baro_temperature > 0.0:
                air = s.baro_pressure / (AIR_GAS_CONSTANT * s.baro_temperature)
            if slots[0] >= 0:
                fuse_airspeed(tuning, params, f, e, past, slots, cov, work, s.airspeed_pressure,
                              air, t_us)
        if sideslip_fused(params, f, e, t_us):
            fuse_sideslip(tuning, params, f, e, cov, work, t_us)
    at_rest = zero_velocity_update(tuning, f, e, cov, work, s.gyro, t_us)
    inject(work[0], f, e)
    _predict_output(params, f, e, before, dt)
    if f.steps % SYMMETRY_STEPS == 0:
        make_symmetric(cov)
    _report(tuning, f, e, cov, t_us, at_rest)


@njit
def _take_fix(tuning, params, world, t_us, times, count, s, e, f, past, cov, work):
    """A GPS fix of the receiver, in the world frame."""
    measured = work[4]
    measured[0], measured[1] = to_local(s.gps_lat, s.gps_lon, world[0], world[1])
    measured[2] = s.gps_alt - world[2]
    slots = find(times, count, f.aligned_steps, s.gps_t_us)
    accuracy = (max(s.gps_eph, tuning.gps_pos_noise), max(s.gps_epv, tuning.gps_pos_noise))
    fuse_gps(tuning, params, f, e, past, slots, t_us, (t_us - s.gps_t_us) * 1e-6, cov, work,
             measured, s.gps_vel, accuracy)
    f.ref_eph, f.ref_epv = s.gps_eph, s.gps_epv


@njit
def _take_baro(tuning, params, world, t_us, s, e, f, cov, work):
    """The barometer's pressure; after a long gap its offset is reset."""
    height = height_of_pressure(s.baro_pressure) - world[2]
    if t_us - f.baro_t > tuning.reset_time:
        f.baro_offset = height - f.pos[2]
        reset_covariance(cov, BARO_OFFSET, 1, cov[POS + 2, POS + 2] + tuning.baro_noise ** 2)
        f.baro_t = t_us
    elif fuse_baro(tuning, f, e, cov, work, height,
                   height_reference(tuning, params, f, t_us) == HEIGHT_BY_BARO):
        f.baro_t = t_us


@njit
def _predict_output(params, f, e, dv_before, dt):
    """One step of the output predictor; a reset of the filter's position is followed at once."""
    for k in range(3):
        e.vel[k] += f.dv[k] - dv_before[k]
        e.vel[k] += dt / params.EKF2_TAU_VEL * (f.vel[k] - e.vel[k])
        e.pos[k] += e.vel[k] * dt
        e.pos[k] += dt / params.EKF2_TAU_POS * (f.pos[k] - e.pos[k])
    if f.output_reset == NO_RESET:
        return
    for k in range(3):
        if f.output_reset == POSITION_RESET:
            e.reset_pos[k] = f.pos[k] - e.pos[k]
        e.pos[k] = f.pos[k]
        e.vel[k] = f.vel[k]
    e.reset_count += f.output_reset == POSITION_RESET
    f.output_reset = NO_RESET


@njit
def _report(tuning, f, e, cov, t_us, at_rest):
    """Flags and standard deviations of one vehicle."""
    for k in range(3):
        reference = f.ref_eph if k < 2 else f.ref_epv
        e.pos_std[k] = math.sqrt(max(0.0, cov[POS + k, POS + k]) + reference * reference)
        e.vel_std[k] = math.sqrt(max(0.0, cov[VEL + k, VEL + k]))
        e.att_std[k] = math.sqrt(max(0.0, cov[ATT + k, ATT + k]))
    since = t_us - tuning.aid_time
    flag = ALIGNED
    if f.position_t != NEVER:
        flag |= POSITION_VALID
    if f.gps_t > since:
        flag |= GPS_USED
    if f.vision_t > since:
        flag |= VISION_USED
    if f.baro_t > since:
        flag |= BARO_USED
    if f.mag_t > since:
        flag |= MAG_USED
    if f.range_t > since:
        flag |= RANGE_USED
    if f.airspeed_t > since:
        flag |= AIRSPEED_USED
    if f.sideslip_t > since:
        flag |= SIDESLIP_USED
    if at_rest:
        flag |= AT_REST
    e.flags = flag
    e.ready = (flag & (GPS_USED | VISION_USED) != 0 and f.fixes >= tuning.ready_fixes
               and e.att_std[2] < tuning.ready_yaw and e.vel_std[0] < tuning.ready_vel
               and e.vel_std[1] < tuning.ready_vel and e.vel_std[2] < tuning.ready_vel)
