"""Initial alignment: attitude and biases of a vehicle at rest, and their covariance."""

import math

import numpy as np

from xtdrone_dynamics.compiled import njit
from xtdrone_dynamics.constants import GRAVITY
from xtdrone_dynamics.quaternion import from_matrix, to_matrix

from .state import ACCEL_BIAS, ATT, BARO_OFFSET, EARTH, FIELD_BIAS, GYRO_BIAS, POS, VEL


@njit
def collect(
    f: np.void, gyro: np.ndarray, accel: np.ndarray, mag: np.ndarray, mag_new: bool
) -> None:
    """Adds one step's readings to the sums of the alignment."""
    f.samples += 1
    for k in range(3):
        f.accel_sum[k] += accel[k]
        f.accel_square += accel[k] * accel[k]
        f.gyro_sum[k] += gyro[k]
        f.gyro_square += gyro[k] * gyro[k]
    if mag_new:
        f.field_samples += 1
        for k in range(3):
            f.field_sum[k] += mag[k]


@njit
def _spread(total, square, count):
    """Variance, summed over three axes, from sums."""
    return max(
        0.0,
        square / count
        - (total[0] * total[0] + total[1] * total[1] + total[2] * total[2]) / (count * count),
    )


@njit
def align(tuning: np.void, f: np.void, e: np.void, field: np.ndarray, t_us: int) -> bool:
    """Attitude and biases from the sums, if the vehicle was at rest.

    The z axis of the world is where the accelerometer points, its north is where
    the magnetometer says, turned by the declination of the known field. What the
    accelerometer shows more than gravity is its bias along that axis.

    Returns:
        Whether it was, and the attitude is set.
    """
    n = float(f.samples)
    ax, ay, az = f.accel_sum[0] / n, f.accel_sum[1] / n, f.accel_sum[2] / n
    norm = math.sqrt(ax * ax + ay * ay + az * az)
    wx, wy, wz = f.gyro_sum[0] / n, f.gyro_sum[1] / n, f.gyro_sum[2] / n
    still = (
        _spread(f.accel_sum, f.accel_square, n) < 3.0 * tuning.rest_accel**2
        and _spread(f.gyro_sum, f.gyro_square, n) < 3.0 * tuning.rest_gyro**2
        and abs(norm - GRAVITY) < tuning.rest_gravity
        and math.sqrt(wx * wx + wy * wy + wz * wz) < tuning.rest_rate
    )
    if not still or f.field_samples == 0:
        return False
    # Rows of the rotation body to level: x is the body's x axis laid into the horizontal plane.
    ux, uy, uz = ax / norm, ay / norm, az / norm
    if abs(ux) < 0.9:
        ex, ey, ez = 1.0 - ux * ux, -ux * uy, -ux * uz
    else:  # the nose points up or down; take the left wing for it
        ex, ey, ez = -uy * ux, 1.0 - uy * uy, -uy * uz
    size = math.sqrt(ex * ex + ey * ey + ez * ez)
    ex, ey, ez = ex / size, ey / size, ez / size
    nx, ny, nz = uy * ez - uz * ey, uz * ex - ux * ez, ux * ey - uy * ex
    mx, my, mz = f.field_sum[0], f.field_sum[1], f.field_sum[2]
    yaw = math.atan2(field[1], field[0]) - math.atan2(
        nx * mx + ny * my + nz * mz, ex * mx + ey * my + ez * mz
    )
    c, s = math.cos(yaw), math.sin(yaw)
    e.quat[0], e.quat[1], e.quat[2], e.quat[3] = from_matrix(
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
    e.gyro_bias[0], e.gyro_bias[1], e.gyro_bias[2] = wx, wy, wz
    excess = norm - GRAVITY
    e.accel_bias[0], e.accel_bias[1], e.accel_bias[2] = ux * excess, uy * excess, uz * excess
    f.aligned_t = t_us
    f.mag_t = t_us
    f.aligned_steps = 0
    return True


@njit
def start_covariance(tuning: np.void, quat: np.ndarray, cov: np.ndarray) -> None:
    """Covariance after the alignment.

    Horizontally, tilt error and accelerometer bias are fully correlated; vertically the
    bias is known.
    """
    cov[:, :] = 0.0
    r = to_matrix(quat[0], quat[1], quat[2], quat[3])
    bias = tuning.accel_bias_sigma**2
    for k in range(3):
        cov[VEL + k, VEL + k] = tuning.start_vel_sigma**2
        cov[POS + k, POS + k] = tuning.start_pos_sigma**2
        cov[GYRO_BIAS + k, GYRO_BIAS + k] = tuning.rest_gyro_bias_sigma**2
        for j in range(3):
            cov[ACCEL_BIAS + k, ACCEL_BIAS + j] = (
                -r[6 + k] * r[6 + j] * (bias - tuning.rest_accel_bias_sigma**2)
            )
        cov[ACCEL_BIAS + k, ACCEL_BIAS + k] += bias
        cov[EARTH + k, EARTH + k] = tuning.earth_field_sigma**2
        cov[FIELD_BIAS + k, FIELD_BIAS + k] = tuning.field_bias_sigma**2
        # At rest attitude x g = R bias: attitude_x = -(R bias)_y / g, attitude_y = (R bias)_x / g.
        cov[ATT, ACCEL_BIAS + k] = -r[3 + k] * bias / GRAVITY
        cov[ATT + 1, ACCEL_BIAS + k] = r[k] * bias / GRAVITY
        cov[ACCEL_BIAS + k, ATT] = cov[ATT, ACCEL_BIAS + k]
        cov[ACCEL_BIAS + k, ATT + 1] = cov[ATT + 1, ACCEL_BIAS + k]
    tilt = bias / GRAVITY**2 + tuning.start_tilt_sigma**2
    cov[ATT, ATT] = tilt
    cov[ATT + 1, ATT + 1] = tilt
    cov[ATT + 2, ATT + 2] = tuning.start_yaw_sigma**2
    cov[BARO_OFFSET, BARO_OFFSET] = tuning.start_pos_sigma**2
