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

from xtdrone_dynamics.compiled import fleet_kernel, njit
from xtdrone_dynamics.constants import AIR_GAS_CONSTANT
from xtdrone_dynamics.earth.atmosphere import density, height_of_pressure
from xtdrone_dynamics.earth.geodesy import to_local

from ..state.estimator_flags import (
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
from .aid_sources import (
    baro_continues,
    fuse_airspeed,
    fuse_baro,
    fuse_field,
    fuse_range,
    fuse_sideslip,
    height_reference,
    judge_baro,
    judge_field,
    predict_terrain,
    resting,
    sideslip_fused,
    update_zero_velocity,
    vehicle_moving,
    zero_velocity_due,
)
from .alignment import align, collect, start_covariance
from .delayed_fusion import find, record
from .filter import (
    add_noise,
    add_process_noise,
    carry_covariance,
    inject,
    make_symmetric,
    predict_state,
)
from .gnss import fuse_gps, slew_to_gps
from .lever_arm import at_centre
from .state import ATT, HISTORY, NEVER, NO_RESET, POS, POSITION_RESET, VEL, WIND, clear_alignment

SYMMETRY_STEPS = 25  # after that many steps the covariance is made symmetric


@fleet_kernel
def step_fleet(
    tuning: np.ndarray,
    parameters: np.ndarray,
    world: tuple,
    dt: float,
    t_us: int,
    times: np.ndarray,
    count: int,
    sensors: np.ndarray,
    estimates: np.ndarray,
    filters: np.ndarray,
    history: np.ndarray,
    covs: np.ndarray,
    work: np.ndarray,
) -> None:
    """One step of the whole fleet.

    Args:
        tuning: (N,) records of EkfParameters.
        parameters: (N,) records of the flight stack's parameters.
        world: Origin's latitude, longitude [rad], height [m], and the field (3,) there [T].
        dt: Length of the step [s].
        t_us: Its end [us].
        times: (HISTORY,) ends of the steps in the history, this one's among them [us].
        count: Steps so far.
        sensors: (N,) of SENSORS.
        estimates: (N,) of ESTIMATE.
        filters: (N,) of FILTER.
        history: (N, HISTORY) of PAST.
        covs: (N, SIZE, SIZE) covariances.
        work: (6, SIZE) scratch; its first row, the pending correction, is zero between steps.
    """
    for i in range(estimates.shape[0]):
        f = filters[i]
        f.steps += 1
        if f.aligned_t == NEVER and not aligned(
            tuning[i], world[3], t_us, sensors[i], estimates[i], f, covs[i]
        ):
            continue
        _step_one(
            tuning[i],
            parameters[i],
            world,
            dt,
            t_us,
            times,
            count,
            sensors[i],
            estimates[i],
            f,
            history[i],
            covs[i],
            work,
        )


@njit
def aligned(
    tuning: np.void,
    field: np.ndarray,
    t_us: int,
    s: np.void,
    e: np.void,
    f: np.void,
    cov: np.ndarray,
) -> bool:
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
    before = work[5]
    force = begin(tuning, s, e, f, before, t_us, dt)
    carry_covariance(e.quat, force, cov, dt)
    go_on(tuning, params, s, e, f, past[count % HISTORY], cov, dt)
    if has_fix(tuning, s):
        take_fix(tuning, params, world, t_us, times, count, s, e, f, past, cov, work)
    if s.mag_new:
        fuse_field(
            e.quat,
            f.earth_field,
            s.mag,
            e.field_bias,
            tuning.mag_noise**2,
            tuning.mag_gate,
            cov,
            work,
        )
        judge_field(tuning, f, e, cov, work[3], t_us)
    if has_pressure(params, f, s):
        height = height_of_pressure(s.baro_pressure) - world[2]
        if baro_continues(tuning, f, cov, height, t_us):
            offset = offset_estimated(tuning, params, f, t_us)
            judge_baro(
                f,
                e,
                fuse_baro(
                    height - f.pos[2] - f.baro_offset,
                    offset,
                    tuning.baro_noise**2,
                    tuning.baro_gate,
                    cov,
                    work,
                ),
                t_us,
            )
    if has_others(tuning, params, s, e, f, t_us):
        take_others(tuning, params, world, t_us, times, count, s, e, f, past, cov, work)
    inject(work[0], f, e)
    predict_output(params, f, e, before, dt)
    if f.steps % SYMMETRY_STEPS == 0:
        make_symmetric(cov, True)
    report(tuning, f, e, cov, t_us)


@njit
def begin(
    tuning: np.void, s: np.void, e: np.void, f: np.void, before: np.ndarray, t_us: int, dt: float
) -> tuple[float, float, float]:
    """Carries the state over one step.

    Args:
        tuning: A record of EkfParameters.
        s, e, f: Records of SENSORS, ESTIMATE and FILTER.
        before: (3,) output: FILTER's dv before this step.
        t_us: End of the step [us].
        dt: Its length [s].

    Returns:
        The specific force in the world frame [m/s^2].
    """
    for k in range(3):
        before[k] = f.dv[k]
    for k in range(3):
        e.ang_vel[k] = s.gyro[k] - e.gyro_bias[k]
    force = predict_state(f, e, s.gyro, at_centre(s.accel, e.imu_pos, e.ang_vel, f.rate, dt), dt)
    if vehicle_moving(tuning, e.ang_vel, force):
        f.moved_t = t_us
    f.aligned_steps += 1
    return force


@njit
def go_on(
    tuning: np.void,
    params: np.void,
    s: np.void,
    e: np.void,
    f: np.void,
    past: np.void,
    cov: np.ndarray,
    dt: float,
) -> None:
    """What a step adds to the covariance that was carried over it; then keeps the state in `past`.

    Args:
        tuning, s, e, f, dt: As of begin().
        params: The vehicle's record of the flight stack's parameters.
        past: Record of PAST for this step.
        cov: (SIZE, SIZE) covariance.
    """
    add_process_noise(tuning, cov, dt)
    if max(abs(s.accel[0]), abs(s.accel[1]), abs(s.accel[2])) > tuning.impact_accel:
        add_noise(cov, VEL, 3, tuning.impact_vel_noise**2, math.inf)
    predict_terrain(tuning, params, f, e, cov, dt)
    if not math.isnan(e.wind[0]):
        add_noise(cov, WIND, 2, params.EKF2_WIND_NSD**2 * dt, tuning.wind_sigma**2)
    slew_to_gps(tuning, f, e, dt)
    record(past, f, e)


@njit
def has_fix(tuning: np.void, s: np.void) -> bool:
    """Whether there is a new fix that is good enough."""
    return (
        s.gps_new and s.gps_fix >= 3 and s.gps_eph <= tuning.max_eph and s.gps_epv <= tuning.max_epv
    )


@njit
def has_pressure(params: np.void, f: np.void, s: np.void) -> bool:
    """Whether the barometer has a new reading to fuse."""
    return f.position_t != NEVER and s.baro_new and params.EKF2_BARO_CTRL != 0


@njit
def offset_estimated(tuning: np.void, params: np.void, f: np.void, t_us: int) -> float:
    """1 where the barometer's offset is estimated, 0 where it is the height reference."""
    return 0.0 if height_reference(tuning, params, f, t_us) == HEIGHT_BY_BARO else 1.0


@njit
def has_others(
    tuning: np.void, params: np.void, s: np.void, e: np.void, f: np.void, t_us: int
) -> bool:
    """Whether take_others() has something to do."""
    return zero_velocity_due(tuning, f, resting(tuning, f, e, t_us), t_us) or (
        f.position_t != NEVER
        and (s.range_new or s.airspeed_new or sideslip_fused(params, f, e, t_us))
    )


@njit
def take_others(
    tuning: np.void,
    params: np.void,
    world: tuple,
    t_us: int,
    times: np.ndarray,
    count: int,
    s: np.void,
    e: np.void,
    f: np.void,
    past: np.ndarray,
    cov: np.ndarray,
    work: np.ndarray,
) -> None:
    """Range finder, pitot tube, sideslip and rest, those of them that are due."""
    if f.position_t != NEVER:
        if s.range_new and math.isfinite(s.range_distance) and params.EKF2_RNG_CTRL != 0:
            late = round(params.EKF2_RNG_DELAY * 1e3)
            slots = find(times, count, f.aligned_steps, t_us - late)
            if slots[0] >= 0:
                fuse_range(
                    tuning,
                    params,
                    f,
                    e,
                    past,
                    slots,
                    late * 1e-6,
                    cov,
                    work,
                    s.range_distance,
                    t_us,
                )
        if s.airspeed_new and params.EKF2_ARSP_THR > 0.0:
            slots = find(times, count, f.aligned_steps, t_us - round(params.EKF2_ASP_DELAY * 1e3))
            air = density(world[2] + f.pos[2])
            if s.baro_temperature > 0.0:
                air = s.baro_pressure / (AIR_GAS_CONSTANT * s.baro_temperature)
            if slots[0] >= 0:
                fuse_airspeed(
                    tuning, params, f, e, past, slots, cov, work, s.airspeed_pressure, air, t_us
                )
        if sideslip_fused(params, f, e, t_us):
            fuse_sideslip(tuning, params, f, e, cov, work, t_us)
    at_rest = resting(tuning, f, e, t_us)
    if zero_velocity_due(tuning, f, at_rest, t_us):
        update_zero_velocity(tuning, f, e, cov, work, s.gyro, at_rest, t_us)


@njit
def take_fix(
    tuning: np.void,
    params: np.void,
    world: tuple,
    t_us: int,
    times: np.ndarray,
    count: int,
    s: np.void,
    e: np.void,
    f: np.void,
    past: np.ndarray,
    cov: np.ndarray,
    work: np.ndarray,
) -> None:
    """A GPS fix of the receiver, in the world frame."""
    measured = work[4]
    measured[0], measured[1] = to_local(s.gps_lat, s.gps_lon, world[0], world[1])
    measured[2] = s.gps_alt - world[2]
    slots = find(times, count, f.aligned_steps, s.gps_t_us)
    accuracy = (max(s.gps_eph, tuning.gps_pos_noise), max(s.gps_epv, tuning.gps_pos_noise))
    fuse_gps(
        tuning,
        params,
        f,
        e,
        past,
        slots,
        t_us,
        (t_us - s.gps_t_us) * 1e-6,
        cov,
        work,
        measured,
        s.gps_vel,
        accuracy,
    )
    f.ref_eph, f.ref_epv = s.gps_eph, s.gps_epv


@njit
def predict_output(
    params: np.void, f: np.void, e: np.void, dv_before: np.ndarray, dt: float
) -> None:
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
def report(tuning: np.void, f: np.void, e: np.void, cov: np.ndarray, t_us: int) -> None:
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
    if resting(tuning, f, e, t_us):
        flag |= AT_REST
    e.flags = flag
    e.ready = (
        flag & (GPS_USED | VISION_USED) != 0
        and f.fixes >= tuning.ready_fixes
        and e.att_std[2] < tuning.ready_yaw
        and e.vel_std[0] < tuning.ready_vel
        and e.vel_std[1] < tuning.ready_vel
        and e.vel_std[2] < tuning.ready_vel
    )
