"""Error-state Kalman filter: prediction, fusion of one scalar measurement, and correction.

With global angular errors, as in J. Solà, "Quaternion kinematics for the error-state Kalman
filter" (2017), section 7. F is the transition of the error state, `cov` its covariance P, `dx` the
correction that measurements of a step accumulate, `h` a row of the Jacobian H, and `gain` = P h.

Functions of whole covariances take that of one vehicle or of a block of vehicles in lanes: arrays
of numbers, or of numbers in lanes (see xtdrone_dynamics.lane_numbers).
"""

import math
from typing import Any

import numpy as np

from xtdrone_dynamics.compiled import Record, njit
from xtdrone_dynamics.constants import GRAVITY
from xtdrone_dynamics.lane_numbers import anywhere, chosen
from xtdrone_dynamics.quaternion import integrate, multiply, rotate, to_matrix

from .state import (
    ACCEL_BIAS,
    ATT,
    BARO_OFFSET,
    EARTH,
    FIELD_BIAS,
    GYRO_BIAS,
    POS,
    SIZE,
    TERRAIN,
    VEL,
    WIND,
    VehicleEkf,
)

# Numba gives kernels of one vehicle and of lanes their types; a type checker knows neither.
Number = Any  # a float, or a number for each lane
Numbers = Any  # an array or a tuple of them
Truth = Any  # a bool, or one for each lane


@njit
def predict_state(
    ekf: VehicleEkf, gyro: np.ndarray, accel: tuple[float, float, float], dt: float
) -> tuple[float, float, float]:
    """Predicts the state over one step of dt [s].

    Semi-implicit Euler, as in the physics engines: the rate and the velocity at the end of the
    step act over all of it.

    Args:
        ekf: Filter of the vehicle.
        gyro: (3,) angular velocity with bias, body [rad/s].
        accel: (3,) specific force with bias at the centre of gravity, body [m/s^2].
        dt: Length of the step [s].

    Returns:
        The specific force, world [m/s^2].
    """
    estimate, state = ekf.estimate, ekf.state
    quat, gyro_bias, accel_bias = estimate.quat, estimate.gyro_bias, estimate.accel_bias
    q = integrate(
        quat[0],
        quat[1],
        quat[2],
        quat[3],
        gyro[0] - gyro_bias[0],
        gyro[1] - gyro_bias[1],
        gyro[2] - gyro_bias[2],
        dt,
    )
    force = rotate(
        q[0],
        q[1],
        q[2],
        q[3],
        accel[0] - accel_bias[0],
        accel[1] - accel_bias[1],
        accel[2] - accel_bias[2],
    )
    for k in range(4):
        quat[k] = q[k]
    for k in range(3):
        acc = force[k] - GRAVITY if k == 2 else force[k]
        state.vel[k] += acc * dt
        state.pos[k] += state.vel[k] * dt
        state.dv[k] += acc * dt
        state.dp[k] += state.dv[k] * dt
    return force


@njit
def predict_covariance(quat: Numbers, force: Numbers, cov: np.ndarray, dt: float) -> None:
    """Predicts cov = F cov F' over dt [s], using the few entries of F that are not 0 or 1.

    Args:
        quat: (4,) attitude xyzw, body to world.
        force: (3,) specific force, world [m/s^2].
        cov: (SIZE, SIZE) covariance.
        dt: Length of the step [s].
    """
    r00, r01, r02, r10, r11, r12, r20, r21, r22 = to_matrix(quat[0], quat[1], quat[2], quat[3])
    r00, r01, r02, r10, r11, r12, r20, r21, r22 = (
        r00 * dt,
        r01 * dt,
        r02 * dt,
        r10 * dt,
        r11 * dt,
        r12 * dt,
        r20 * dt,
        r21 * dt,
        r22 * dt,
    )
    fx, fy, fz = force[0] * dt, force[1] * dt, force[2] * dt
    for j in range(SIZE):  # rows: F cov
        ax, ay, az = cov[ACCEL_BIAS, j], cov[ACCEL_BIAS + 1, j], cov[ACCEL_BIAS + 2, j]
        wx, wy, wz = cov[GYRO_BIAS, j], cov[GYRO_BIAS + 1, j], cov[GYRO_BIAS + 2, j]
        tx, ty, tz = cov[ATT, j], cov[ATT + 1, j], cov[ATT + 2, j]
        cov[POS, j] += dt * cov[VEL, j]
        cov[POS + 1, j] += dt * cov[VEL + 1, j]
        cov[POS + 2, j] += dt * cov[VEL + 2, j]
        cov[VEL, j] += ty * fz - tz * fy - (r00 * ax + r01 * ay + r02 * az)
        cov[VEL + 1, j] += tz * fx - tx * fz - (r10 * ax + r11 * ay + r12 * az)
        cov[VEL + 2, j] += tx * fy - ty * fx - (r20 * ax + r21 * ay + r22 * az)
        cov[ATT, j] -= r00 * wx + r01 * wy + r02 * wz
        cov[ATT + 1, j] -= r10 * wx + r11 * wy + r12 * wz
        cov[ATT + 2, j] -= r20 * wx + r21 * wy + r22 * wz
    for j in range(SIZE):  # columns: (F cov) F'
        row = cov[j]
        ax, ay, az = row[ACCEL_BIAS], row[ACCEL_BIAS + 1], row[ACCEL_BIAS + 2]
        wx, wy, wz = row[GYRO_BIAS], row[GYRO_BIAS + 1], row[GYRO_BIAS + 2]
        tx, ty, tz = row[ATT], row[ATT + 1], row[ATT + 2]
        row[POS] += dt * row[VEL]
        row[POS + 1] += dt * row[VEL + 1]
        row[POS + 2] += dt * row[VEL + 2]
        row[VEL] += ty * fz - tz * fy - (r00 * ax + r01 * ay + r02 * az)
        row[VEL + 1] += tz * fx - tx * fz - (r10 * ax + r11 * ay + r12 * az)
        row[VEL + 2] += tx * fy - ty * fx - (r20 * ax + r21 * ay + r22 * az)
        row[ATT] -= r00 * wx + r01 * wy + r02 * wz
        row[ATT + 1] -= r10 * wx + r11 * wy + r12 * wz
        row[ATT + 2] -= r20 * wx + r21 * wy + r22 * wz


@njit
def add_process_noise(tuning: Record, cov: np.ndarray, dt: float) -> None:
    """Adds the process noise Q of a step of dt [s]."""
    add_noise(cov, ATT, 3, tuning.gyro_noise**2 * dt, math.inf)
    add_noise(cov, VEL, 3, tuning.accel_noise**2 * dt, math.inf)
    # A bias that nothing observes does not become more uncertain than it was at first.
    add_noise(cov, GYRO_BIAS, 3, tuning.gyro_bias_walk**2 * dt, tuning.gyro_bias_sigma**2)
    add_noise(cov, ACCEL_BIAS, 3, tuning.accel_bias_walk**2 * dt, tuning.accel_bias_sigma**2)
    add_noise(cov, BARO_OFFSET, 1, tuning.baro_offset_walk**2 * dt, math.inf)
    add_noise(cov, EARTH, 3, tuning.earth_field_walk**2 * dt, tuning.earth_field_sigma**2)
    add_noise(cov, FIELD_BIAS, 3, tuning.field_bias_walk**2 * dt, tuning.field_bias_sigma**2)


@njit
def add_noise(
    cov: np.ndarray, first: int, count: int, variance: float, max_variance: float
) -> None:
    """Adds a variance to states first to first + count - 1, where theirs is below max_variance."""
    for k in range(first, first + count):
        if cov[k, k] < max_variance:
            cov[k, k] += variance


@njit
def _innovation(
    cov: np.ndarray,
    dx: np.ndarray,
    h: np.ndarray,
    gain: np.ndarray,
    innovation: Number,
    variance: Number,
) -> tuple[Number, Number]:
    """Returns the innovation after the pending correction and its variance; writes gain = cov h."""
    for k in range(SIZE):
        gain[k] = 0.0
    for j in range(SIZE):
        hj = h[j]
        if anywhere(hj != 0.0):
            innovation -= chosen(hj != 0.0, hj * dx[j], 0.0)
            for k in range(SIZE):
                gain[k] += chosen(hj != 0.0, cov[j, k] * hj, 0.0)
    for j in range(SIZE):
        variance += h[j] * gain[j]
    return innovation, variance


@njit
def fuse(
    cov: np.ndarray,
    dx: np.ndarray,
    h: np.ndarray,
    gain: np.ndarray,
    innovation: Number,
    variance: Number,
    gate: Number,
) -> Number:
    """Fuses one scalar measurement into the covariance and the pending correction.

    Args:
        cov: (SIZE, SIZE) covariance, updated.
        dx: (SIZE,) pending correction, updated.
        h: (SIZE,) derivatives of the measurement by the error state.
        gain: (SIZE,) scratch.
        innovation: Measured minus predicted, before the pending correction; NaN = no measurement.
        variance: Variance of the measurement.
        gate: Innovation gate [standard deviations].

    Returns:
        The test ratio; above 1 the measurement was rejected.
    """
    innovation, variance = _innovation(cov, dx, h, gain, innovation, variance)
    ratio = innovation * innovation / (gate * gate * variance)
    accepted = ratio <= 1.0  # False where the ratio is NaN
    if not anywhere(accepted):
        return ratio
    # A lane whose measurement is rejected subtracts zeros: masked stores are slow.
    innovation = chosen(accepted, innovation, 0.0)
    for j in range(SIZE):
        gain[j] = chosen(accepted, gain[j], 0.0)
    for j in range(SIZE):
        weight = chosen(accepted, gain[j] / variance, 0.0)
        dx[j] += weight * innovation
        for k in range(SIZE):
            cov[j, k] -= weight * gain[k]
    return ratio


@njit
def fuse_partially(
    cov: np.ndarray,
    dx: np.ndarray,
    h: np.ndarray,
    gain: np.ndarray,
    innovation: float,
    variance: float,
    gate: float,
    first: int,
    count: int,
) -> float:
    """Fuses as fuse(), but corrects only states first to first + count - 1 (Schmidt-Kalman)."""
    innovation, variance = _innovation(cov, dx, h, gain, innovation, variance)
    ratio = innovation * innovation / (gate * gate * variance)
    if not ratio <= 1.0:
        return ratio
    for state in range(first, first + count):
        weight = gain[state] / variance
        dx[state] += weight * innovation
        for k in range(SIZE):
            cov[state, k] -= weight * gain[k]
            if not first <= k < first + count:
                cov[k, state] = cov[state, k]
    return ratio


@njit
def inject(ekf: VehicleEkf, dx: np.ndarray) -> None:
    """Moves the pending correction dx (SIZE,) into the records of FILTER and ESTIMATE."""
    estimate, state = ekf.estimate, ekf.state
    quat = estimate.quat
    d = integrate(0.0, 0.0, 0.0, 1.0, dx[ATT], dx[ATT + 1], dx[ATT + 2], 1.0)
    q = multiply(d[0], d[1], d[2], d[3], quat[0], quat[1], quat[2], quat[3])
    for k in range(4):
        quat[k] = q[k]
    for k in range(3):
        state.vel[k] += dx[VEL + k]
        state.pos[k] += dx[POS + k]
        estimate.gyro_bias[k] += dx[GYRO_BIAS + k]
        estimate.accel_bias[k] += dx[ACCEL_BIAS + k]
        state.earth_field[k] += dx[EARTH + k]
        estimate.field_bias[k] += dx[FIELD_BIAS + k]
    state.baro_offset += dx[BARO_OFFSET]
    estimate.terrain += dx[TERRAIN]
    estimate.wind[0] += dx[WIND]
    estimate.wind[1] += dx[WIND + 1]
    for k in range(SIZE):
        dx[k] = 0.0


@njit
def make_symmetric(cov: np.ndarray, due: Truth) -> None:
    """Removes effects of rounding where due: asymmetry, and variances that are not positive."""
    for j in range(SIZE):
        cov[j, j] = chosen(due, chosen(cov[j, j] > 1e-24, cov[j, j], 1e-24), cov[j, j])
        for k in range(j):
            mean = 0.5 * (cov[j, k] + cov[k, j])
            cov[j, k] = chosen(due, mean, cov[j, k])
            cov[k, j] = chosen(due, mean, cov[k, j])


@njit
def reset_covariance(cov: np.ndarray, first: int, count: int, variance: float) -> None:
    """Resets the variances of some states and their correlation with all others."""
    for j in range(first, first + count):
        for k in range(SIZE):
            cov[j, k] = 0.0
            cov[k, j] = 0.0
        cov[j, j] = variance
