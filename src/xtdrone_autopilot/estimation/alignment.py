"""The estimator's start: attitude and biases of a vehicle at rest, and how well they are known."""

import math

from xtdrone_dynamics.compiled import njit
from xtdrone_dynamics.constants import GRAVITY
from xtdrone_dynamics.quaternion import from_matrix, to_matrix

from .state import ACCEL_BIAS, ATT, BARO_OFFSET, EARTH, FIELD_BIAS, GYRO_BIAS, POS, VEL


@njit
def collect(memory, gyro, accel, mag, mag_new):
    """Adds one step's readings to the sums of the alignment."""
    memory.samples += 1
    for k in range(3):
        memory.accel_sum[k] += accel[k]
        memory.accel_square += accel[k] * accel[k]
        memory.gyro_sum[k] += gyro[k]
        memory.gyro_square += gyro[k] * gyro[k]
    if mag_new:
        memory.field_samples += 1
        for k in range(3):
            memory.field_sum[k] += mag[k]


@njit
def _spread(total, square, count):
    """Variance, summed over three axes, from sums."""
    return max(0.0, square / count - (total[0] * total[0] + total[1] * total[1]
                                      + total[2] * total[2]) / (count * count))


@njit
def align(par, memory, quat, gyro_bias, accel_bias, field, t_us):
    """Attitude and biases from the sums, if the vehicle was at rest.

    The z axis of the world is where the accelerometer points, its north is where
    the magnetometer says, turned by the declination of the known field. What the
    accelerometer shows more than gravity is its bias along that axis.

    Returns:
        Whether it was, and the attitude is set.
    """
    n = float(memory.samples)
    ax, ay, az = memory.accel_sum[0] / n, memory.accel_sum[1] / n, memory.accel_sum[2] / n
    norm = math.sqrt(ax * ax + ay * ay + az * az)
    wx, wy, wz = memory.gyro_sum[0] / n, memory.gyro_sum[1] / n, memory.gyro_sum[2] / n
    still = (_spread(memory.accel_sum, memory.accel_square, n) < 3.0 * par.rest_accel ** 2
             and _spread(memory.gyro_sum, memory.gyro_square, n) < 3.0 * par.rest_gyro ** 2
             and abs(norm - GRAVITY) < par.rest_gravity
             and math.sqrt(wx * wx + wy * wy + wz * wz) < par.rest_rate)
    if not still or memory.field_samples == 0:
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
    mx, my, mz = memory.field_sum[0], memory.field_sum[1], memory.field_sum[2]
    yaw = (math.atan2(field[1], field[0])
           - math.atan2(nx * mx + ny * my + nz * mz, ex * mx + ey * my + ez * mz))
    c, s = math.cos(yaw), math.sin(yaw)
    quat[0], quat[1], quat[2], quat[3] = from_matrix(
        c * ex - s * nx, c * ey - s * ny, c * ez - s * nz,
        s * ex + c * nx, s * ey + c * ny, s * ez + c * nz, ux, uy, uz)
    gyro_bias[0], gyro_bias[1], gyro_bias[2] = wx, wy, wz
    excess = norm - GRAVITY
    accel_bias[0], accel_bias[1], accel_bias[2] = ux * excess, uy * excess, uz * excess
    memory.aligned_t = t_us
    memory.mag_t = t_us
    memory.steps = 0
    return True


@njit
def start_covariance(par, quat, cov):
    """Covariance after the alignment.

    Across the vertical, tilt error and accelerometer bias are two sides of one;
    along it, the bias is known.
    """
    cov[:, :] = 0.0
    r = to_matrix(quat[0], quat[1], quat[2], quat[3])
    bias = par.accel_bias_sigma ** 2
    for k in range(3):
        cov[VEL + k, VEL + k] = par.start_vel_sigma ** 2
        cov[POS + k, POS + k] = par.start_pos_sigma ** 2
        cov[GYRO_BIAS + k, GYRO_BIAS + k] = par.rest_gyro_bias_sigma ** 2
        for j in range(3):
            cov[ACCEL_BIAS + k, ACCEL_BIAS + j] = -r[6 + k] * r[6 + j] * (
                bias - par.rest_accel_bias_sigma ** 2)
        cov[ACCEL_BIAS + k, ACCEL_BIAS + k] += bias
        cov[EARTH + k, EARTH + k] = par.earth_field_sigma ** 2
        cov[FIELD_BIAS + k, FIELD_BIAS + k] = par.field_bias_sigma ** 2
        # At rest attitude x g = R bias: attitude_x = -(R bias)_y / g, attitude_y = (R bias)_x / g.
        cov[ATT, ACCEL_BIAS + k] = -r[3 + k] * bias / GRAVITY
        cov[ATT + 1, ACCEL_BIAS + k] = r[k] * bias / GRAVITY
        cov[ACCEL_BIAS + k, ATT] = cov[ATT, ACCEL_BIAS + k]
        cov[ACCEL_BIAS + k, ATT + 1] = cov[ATT + 1, ACCEL_BIAS + k]
    tilt = bias / GRAVITY ** 2 + par.start_tilt_sigma ** 2
    cov[ATT, ATT] = tilt
    cov[ATT + 1, ATT + 1] = tilt
    cov[ATT + 2, ATT + 2] = par.start_yaw_sigma ** 2
    cov[BARO_OFFSET, BARO_OFFSET] = par.start_pos_sigma ** 2
