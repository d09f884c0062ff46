"""Initial alignment: attitude, biases and covariance of a vehicle at rest."""

import math

import numpy as np

from xtdrone_dynamics.compiled import Record, njit
from xtdrone_dynamics.constants import GRAVITY
from xtdrone_dynamics.quaternion import from_matrix, to_matrix

from .state import ACCEL_BIAS, ATT, BARO_OFFSET, EARTH, FIELD_BIAS, GYRO_BIAS, POS, VEL, VehicleEkf


@njit
def accumulate(
    state: Record, gyro: np.ndarray, accel: np.ndarray, mag: np.ndarray, mag_new: bool
) -> None:
    """Adds one step's readings, body frame, to the sums of the alignment."""
    state.samples += 1
    for k in range(3):
        state.accel_sum[k] += accel[k]
        state.accel_square += accel[k] * accel[k]
        state.gyro_sum[k] += gyro[k]
        state.gyro_square += gyro[k] * gyro[k]
    if mag_new:
        state.field_samples += 1
        for k in range(3):
            state.field_sum[k] += mag[k]


@njit
def _summed_variance(sums: np.ndarray, square_sum: float, count: float) -> float:
    """Returns the variance, summed over three axes, from sums (3,) and the sum of squares."""
    return max(
        0.0,
        square_sum / count
        - (sums[0] * sums[0] + sums[1] * sums[1] + sums[2] * sums[2]) / (count * count),
    )


@njit
def is_still(ekf: VehicleEkf) -> bool:
    """Returns whether the sums are of a vehicle on firm ground, by what its gyroscope read."""
    tuning, state = ekf.tuning, ekf.state
    count = float(state.samples)
    wx, wy, wz = state.gyro_sum[0] / count, state.gyro_sum[1] / count, state.gyro_sum[2] / count
    return (
        math.sqrt(wx * wx + wy * wy + wz * wz) < tuning.rest_rate
        and _summed_variance(state.gyro_sum, state.gyro_square, count) < 3.0 * tuning.still_gyro**2
    )


@njit
def align(ekf: VehicleEkf, field: np.ndarray, t_us: int) -> bool:
    """Sets attitude and biases from the sums, if the vehicle was at rest.

    The accelerometer gives the vertical, the magnetometer the heading, corrected by the
    declination of the known field. The excess over gravity is accelerometer bias along that axis.
    What the gyroscope reads is its bias if the vehicle stands still. On a deck that rocks, which is
    no bias, both biases begin at zero, and are as little known as the tilt.

    Args:
        ekf: Filter of the vehicle.
        field: (3,) the Earth's field, ENU [T].
        t_us: Present time [us].

    Returns:
        Whether the vehicle was at rest, and the attitude is set.
    """
    tuning, estimate, state = ekf.tuning, ekf.estimate, ekf.state
    count = float(state.samples)
    ax, ay, az = state.accel_sum[0] / count, state.accel_sum[1] / count, state.accel_sum[2] / count
    norm = math.sqrt(ax * ax + ay * ay + az * az)
    wx, wy, wz = state.gyro_sum[0] / count, state.gyro_sum[1] / count, state.gyro_sum[2] / count
    at_rest = (
        _summed_variance(state.accel_sum, state.accel_square, count) < 3.0 * tuning.rest_accel**2
        and _summed_variance(state.gyro_sum, state.gyro_square, count) < 3.0 * tuning.rest_gyro**2
        and abs(norm - GRAVITY) < tuning.rest_gravity
        and math.sqrt(wx * wx + wy * wy + wz * wz) < tuning.align_rate
    )
    if not at_rest or state.field_samples == 0:
        return False
    # Rows of the rotation from body to level: e is the body's x axis projected onto the horizontal
    # plane, n = u x e is 90 degrees to its left, u points up.
    ux, uy, uz = ax / norm, ay / norm, az / norm
    if abs(ux) < 0.9:
        ex, ey, ez = 1.0 - ux * ux, -ux * uy, -ux * uz
    else:  # the nose points up or down: use the body's y axis
        ex, ey, ez = -uy * ux, 1.0 - uy * uy, -uy * uz
    size = math.sqrt(ex * ex + ey * ey + ez * ez)
    ex, ey, ez = ex / size, ey / size, ez / size
    nx, ny, nz = uy * ez - uz * ey, uz * ex - ux * ez, ux * ey - uy * ex
    mx, my, mz = state.field_sum[0], state.field_sum[1], state.field_sum[2]
    yaw = math.atan2(field[1], field[0]) - math.atan2(
        nx * mx + ny * my + nz * mz, ex * mx + ey * my + ez * mz
    )
    c, s = math.cos(yaw), math.sin(yaw)
    estimate.quat[0], estimate.quat[1], estimate.quat[2], estimate.quat[3] = from_matrix(
        c * ex - s * nx,
        c * ey - s * ny,
        c * ez - s * nz,
        s * ex + c * nx,
        s * ey + c * ny,
        s * ez + c * nz,
        ux,
        uy,
        uz,
    )
    still = is_still(ekf)
    for k in range(3):
        estimate.gyro_bias[k] = state.gyro_sum[k] / count if still else 0.0
    excess = norm - GRAVITY if still else 0.0
    estimate.accel_bias[0], estimate.accel_bias[1], estimate.accel_bias[2] = (
        ux * excess,
        uy * excess,
        uz * excess,
    )
    state.aligned_t = t_us
    state.mag_t = t_us
    state.aligned_steps = 0
    return True


@njit
def initial_covariance(tuning: Record, quat: np.ndarray, still: bool, cov: np.ndarray) -> None:
    """Writes the covariance (SIZE, SIZE) after the alignment.

    Horizontally, tilt error and accelerometer bias are fully correlated; vertically the bias is
    known, as that of the gyroscope is, if the vehicle stood still.
    """
    cov[:, :] = 0.0
    rotation = to_matrix(quat[0], quat[1], quat[2], quat[3])
    bias = tuning.accel_bias_sigma**2
    gyro_sigma = tuning.rest_gyro_bias_sigma if still else tuning.gyro_bias_sigma
    accel_sigma = tuning.rest_accel_bias_sigma if still else tuning.accel_bias_sigma
    tilt_sigma = tuning.start_tilt_sigma if still else tuning.rocking_tilt_sigma
    for k in range(3):
        cov[VEL + k, VEL + k] = tuning.start_vel_sigma**2
        cov[POS + k, POS + k] = tuning.start_pos_sigma**2
        cov[GYRO_BIAS + k, GYRO_BIAS + k] = gyro_sigma**2
        for j in range(3):
            cov[ACCEL_BIAS + k, ACCEL_BIAS + j] = (
                -rotation[6 + k] * rotation[6 + j] * (bias - accel_sigma**2)
            )
        cov[ACCEL_BIAS + k, ACCEL_BIAS + k] += bias
        cov[EARTH + k, EARTH + k] = tuning.earth_field_sigma**2
        cov[FIELD_BIAS + k, FIELD_BIAS + k] = tuning.field_bias_sigma**2
        # At rest attitude x g = R bias: attitude_x = -(R bias)_y / g, attitude_y = (R bias)_x / g.
        cov[ATT, ACCEL_BIAS + k] = -rotation[3 + k] * bias / GRAVITY
        cov[ATT + 1, ACCEL_BIAS + k] = rotation[k] * bias / GRAVITY
        cov[ACCEL_BIAS + k, ATT] = cov[ATT, ACCEL_BIAS + k]
        cov[ACCEL_BIAS + k, ATT + 1] = cov[ATT + 1, ACCEL_BIAS + k]
    tilt = bias / GRAVITY**2 + tilt_sigma**2
    cov[ATT, ATT] = tilt
    cov[ATT + 1, ATT + 1] = tilt
    cov[ATT + 2, ATT + 2] = tuning.start_yaw_sigma**2
    cov[BARO_OFFSET, BARO_OFFSET] = tuning.start_pos_sigma**2
