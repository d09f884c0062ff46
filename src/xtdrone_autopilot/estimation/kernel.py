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

from xtdrone_dynamics.compiled import fleet_kernel, njit
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
from .alignment import accumulate, align, initial_covariance, is_still
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
from .state import HISTORY_STEPS, NEVER, VEL, WIND, Step, VehicleEkf, clear_alignment

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
    step = Step((world[0], world[1], world[2]), world[3], dt, t_us, times, count)
    for i in range(estimates.shape[0]):
        ekf = VehicleEkf(
            tuning[i],
            parameters[i],
            sensors[i],
            estimates[i],
            filters[i],
            history[i],
            covs[i],
            work,
        )
        ekf.state.steps += 1
        if ekf.state.aligned_t != NEVER or is_aligned(ekf, step):
            _step_one(ekf, step)


@njit
def is_aligned(ekf: VehicleEkf, step: Step) -> bool:
    """Advances the alignment by a step; returns whether it is complete, and the covariance set."""
    state, readings = ekf.state, ekf.readings
    accumulate(state, readings.gyro, readings.accel, readings.mag, readings.mag_new)
    if state.samples < ekf.tuning.align_steps:
        return False
    done = align(ekf, step.field, step.t_us)
    if done:
        initial_covariance(ekf.tuning, ekf.estimate.quat, is_still(ekf), ekf.cov)
    clear_alignment(state)
    if not done:
        return False
    for k in range(3):
        state.earth_field[k] = step.field[k]
    return True


@njit
def _step_one(ekf: VehicleEkf, step: Step) -> None:
    """Steps one vehicle: prediction, fusion of all new readings, correction and output."""
    tuning, readings, estimate, state = ekf.tuning, ekf.readings, ekf.estimate, ekf.state
    cov, work, t_us = ekf.cov, ekf.work, step.t_us
    dv_before = work[5]
    force = predict(ekf, dv_before, step)
    predict_covariance(estimate.quat, force, cov, step.dt)
    add_noises(ekf, step)
    if has_fix(ekf):
        fuse_fix(ekf, step)
    if readings.mag_new:
        variance, gate = tuning.mag_noise**2, tuning.mag_gate
        field, bias = state.earth_field, estimate.field_bias
        fuse_mag(estimate.quat, field, readings.mag, bias, variance, gate, cov, work)
        check_mag(ekf, work[3], t_us)
    if has_pressure(ekf):
        height = height_of_pressure(readings.baro_pressure) - step.origin[2]
        if baro_is_continuous(ekf, height, t_us):
            innovation = height - state.pos[2] - state.baro_offset
            offset = baro_offset_weight(ekf, t_us)
            variance, gate = tuning.baro_noise**2, tuning.baro_gate
            check_baro(ekf, fuse_baro(innovation, offset, variance, gate, cov, work), t_us)
    if others_due(ekf, t_us):
        fuse_others(ekf, step)
    inject(ekf, work[0])
    predict_output(ekf, dv_before, step.dt)
    if state.steps % SYMMETRY_STEPS == 0:
        make_symmetric(cov, True)
    report(ekf, t_us)


@njit
def predict(ekf: VehicleEkf, dv_before: np.ndarray, step: Step) -> tuple[float, float, float]:
    """Predicts the state over one step.

    Args:
        ekf: Filter of the vehicle.
        dv_before: (3,) output, dv of FILTER before the step [m/s].
        step: The step.

    Returns:
        The specific force, world [m/s^2].
    """
    readings, estimate, state = ekf.readings, ekf.estimate, ekf.state
    for k in range(3):
        dv_before[k] = state.dv[k]
    for k in range(3):
        estimate.ang_vel[k] = readings.gyro[k] - estimate.gyro_bias[k]
    accel = at_centre(readings.accel, estimate.imu_pos, estimate.ang_vel, state.rate, step.dt)
    force = predict_state(ekf, readings.gyro, accel, step.dt)
    if is_moving(ekf.tuning, estimate.ang_vel, force):
        state.moved_t = step.t_us
    state.aligned_steps += 1
    return force


@njit
def add_noises(ekf: VehicleEkf, step: Step) -> None:
    """Adds the process noises of a step to the covariance, and stores the state in the history."""
    tuning, cov, accel, dt = ekf.tuning, ekf.cov, ekf.readings.accel, step.dt
    add_process_noise(tuning, cov, dt)
    if max(abs(accel[0]), abs(accel[1]), abs(accel[2])) > tuning.impact_accel:
        add_noise(cov, VEL, 3, tuning.impact_vel_noise**2, math.inf)
    predict_terrain(ekf, dt)
    if not math.isnan(ekf.estimate.wind[0]):
        variance = ekf.params.EKF2_WIND_NSD**2 * dt
        add_noise(cov, WIND, 2, variance, tuning.wind_sigma**2)
    slew_to_gps(ekf, dt)
    store_past_state(ekf.history[step.n_steps % HISTORY_STEPS], ekf.state, ekf.estimate)
