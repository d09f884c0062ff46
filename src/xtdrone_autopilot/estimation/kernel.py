"""The estimator's step: an error-state extended Kalman filter per vehicle, compiled.

Error state, 25 numbers: attitude (3, a rotation vector in the world frame),
velocity (3), position (3), gyro bias (3), accelerometer bias (3), barometer
offset, Earth's magnetic field (3, world), magnetometer bias (3, body), height
of the ground below, wind (2, east and north). With R the attitude (body to world) and
f_w = R (accel - bias) the specific force:

    d attitude / dt = -R gyro bias
    d velocity / dt = attitude x f_w - R accelerometer bias
    d position / dt = velocity

Measurements arrive with a delay. Each is compared with the present state propagated back by the
inertial increments since it was taken, which a history keeps. Corrections made in between thus
count. The Jacobian is propagated back as well, and the correction applies to the present state.

GPS is the reference of position. While it is fused, the filter estimates the origin of external
vision, so that vision takes over without a step when GPS is lost. When GPS returns, the estimate
moves to it at a limited speed.
"""

import math

import numpy as np

from xtdrone_dynamics.compiled import Record, fleet_kernel, njit
from xtdrone_dynamics.earth.atmosphere import height_of_pressure

from .aid_sources import (
    baro_is_continuous,
    check_baro,
    check_mag,
    fuse_baro,
    fuse_mag,
    is_moving,
    predict_terrain,
)
from .alignment import accumulate, align, initial_covariance
from .delayed_fusion import store_past_state
from .filter import (
    add_noise,
    add_process_noise,
    inject,
    make_symmetric,
    predict_covariance,
    predict_state,
)
from .fusion import baro_offset_weight, fuse_fix, fuse_others, has_fix, has_pressure, others_due
from .gnss import slew_to_gps
from .lever_arm import at_centre
from .output import predict_output, report
from .state import HISTORY_STEPS, NEVER, VEL, WIND, clear_alignment

SYMMETRY_STEPS = 25  # period of make_symmetric() [steps]


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
    """Steps the estimators of the whole fleet.

    Args:
        tuning: (N,) records of EkfParameters.
        parameters: (N,) records of the flight stack's parameters.
        world: Origin's latitude, longitude [rad] and height [m], and the Earth's field (3,) there,
            ENU [T].
        dt: Length of the step [s].
        t_us: End of the step [us].
        times: (HISTORY_STEPS,) ends of the steps in the history, including this one [us].
        count: Number of steps so far.
        sensors: (N,) of SENSORS.
        estimates: (N,) of ESTIMATE.
        filters: (N,) of FILTER.
        history: (N, HISTORY_STEPS) of PAST_STATE.
        covs: (N, SIZE, SIZE) covariances.
        work: (6, SIZE) scratch; row 0, the pending correction, is zero between steps.
    """
    for i in range(estimates.shape[0]):
        ekf = filters[i]
        ekf.steps += 1
        if ekf.aligned_t == NEVER and not is_aligned(
            tuning[i], world[3], t_us, sensors[i], estimates[i], ekf, covs[i]
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
            ekf,
            history[i],
            covs[i],
            work,
        )


@njit
def is_aligned(
    tuning: Record,
    field: np.ndarray,
    t_us: int,
    readings: Record,
    estimate: Record,
    ekf: Record,
    cov: np.ndarray,
) -> bool:
    """Advances the alignment by a step; returns whether it is complete.

    Args:
        tuning: Record of EkfParameters.
        field: (3,) the Earth's field, ENU [T].
        t_us: End of the step [us].
        readings, estimate, ekf: Records of SENSORS, ESTIMATE and FILTER.
        cov: (SIZE, SIZE) covariance; written when the alignment completes.
    """
    accumulate(ekf, readings.gyro, readings.accel, readings.mag, readings.mag_new)
    if ekf.samples < tuning.align_steps:
        return False
    done = align(tuning, ekf, estimate, field, t_us)
    clear_alignment(ekf)
    if not done:
        return False
    initial_covariance(tuning, estimate.quat, cov)
    for k in range(3):
        ekf.earth_field[k] = field[k]
    return True


@njit
def _step_one(
    tuning: Record,
    params: Record,
    world: tuple,
    dt: float,
    t_us: int,
    times: np.ndarray,
    count: int,
    readings: Record,
    estimate: Record,
    ekf: Record,
    history: np.ndarray,
    cov: np.ndarray,
    work: np.ndarray,
) -> None:
    """Steps one vehicle: prediction, fusion of all new readings, correction and output."""
    dv_before = work[5]
    force = predict(tuning, readings, estimate, ekf, dv_before, t_us, dt)
    predict_covariance(estimate.quat, force, cov, dt)
    add_noises(tuning, params, readings, estimate, ekf, history[count % HISTORY_STEPS], cov, dt)
    if has_fix(tuning, readings):
        fuse_fix(
            tuning, params, world, t_us, times, count, readings, estimate, ekf, history, cov, work
        )
    if readings.mag_new:
        fuse_mag(
            estimate.quat,
            ekf.earth_field,
            readings.mag,
            estimate.field_bias,
            tuning.mag_noise**2,
            tuning.mag_gate,
            cov,
            work,
        )
        check_mag(tuning, ekf, estimate, cov, work[3], t_us)
    if has_pressure(params, ekf, readings):
        height = height_of_pressure(readings.baro_pressure) - world[2]
        if baro_is_continuous(tuning, ekf, cov, height, t_us):
            with_offset = baro_offset_weight(tuning, params, ekf, t_us)
            check_baro(
                ekf,
                estimate,
                fuse_baro(
                    height - ekf.pos[2] - ekf.baro_offset,
                    with_offset,
                    tuning.baro_noise**2,
                    tuning.baro_gate,
                    cov,
                    work,
                ),
                t_us,
            )
    if others_due(tuning, params, readings, estimate, ekf, t_us):
        fuse_others(
            tuning, params, world, t_us, times, count, readings, estimate, ekf, history, cov, work
        )
    inject(work[0], ekf, estimate)
    predict_output(params, ekf, estimate, dv_before, dt)
    if ekf.steps % SYMMETRY_STEPS == 0:
        make_symmetric(cov, True)
    report(tuning, ekf, estimate, cov, t_us)


@njit
def predict(
    tuning: Record,
    readings: Record,
    estimate: Record,
    ekf: Record,
    dv_before: np.ndarray,
    t_us: int,
    dt: float,
) -> tuple[float, float, float]:
    """Predicts the state over one step.

    Args:
        tuning: Record of EkfParameters.
        readings, estimate, ekf: Records of SENSORS, ESTIMATE and FILTER.
        dv_before: (3,) output, FILTER's dv before this step [m/s].
        t_us: End of the step [us].
        dt: Length of the step [s].

    Returns:
        The specific force, world [m/s^2].
    """
    for k in range(3):
        dv_before[k] = ekf.dv[k]
    for k in range(3):
        estimate.ang_vel[k] = readings.gyro[k] - estimate.gyro_bias[k]
    force = predict_state(
        ekf,
        estimate,
        readings.gyro,
        at_centre(readings.accel, estimate.imu_pos, estimate.ang_vel, ekf.rate, dt),
        dt,
    )
    if is_moving(tuning, estimate.ang_vel, force):
        ekf.moved_t = t_us
    ekf.aligned_steps += 1
    return force


@njit
def add_noises(
    tuning: Record,
    params: Record,
    readings: Record,
    estimate: Record,
    ekf: Record,
    past_state: Record,
    cov: np.ndarray,
    dt: float,
) -> None:
    """Adds the process noises of a step, then stores the state in the history.

    Args:
        tuning, readings, estimate, ekf, dt: See predict().
        params: Record of the flight stack's parameters.
        past_state: Record of PAST_STATE for this step.
        cov: (SIZE, SIZE) covariance, predicted over the step.
    """
    add_process_noise(tuning, cov, dt)
    if (
        max(abs(readings.accel[0]), abs(readings.accel[1]), abs(readings.accel[2]))
        > tuning.impact_accel
    ):
        add_noise(cov, VEL, 3, tuning.impact_vel_noise**2, math.inf)
    predict_terrain(tuning, params, ekf, estimate, cov, dt)
    if not math.isnan(estimate.wind[0]):
        add_noise(cov, WIND, 2, params.EKF2_WIND_NSD**2 * dt, tuning.wind_sigma**2)
    slew_to_gps(tuning, ekf, estimate, dt)
    store_past_state(past_state, ekf, estimate)
