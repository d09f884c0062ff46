"""The compiled part of the estimator: an error-state extended Kalman filter per vehicle.

Error state, 25 numbers: attitude (3, a rotation vector in the world frame),
velocity (3), position (3), gyro bias (3), accelerometer bias (3), barometer
offset, Earth's magnetic field (3, world), magnetometer bias (3, body), height
of the ground below, wind (2, east and north). With
R the attitude (body to world) and f_w = R (accel - bias) the specific force:

    d attitude / dt = -R gyro bias
    d velocity / dt = attitude x f_w - R accelerometer bias
    d position / dt = velocity

A measurement tells of the past. It is compared with the present state taken
back by the inertial increments since then (they are kept in a ring), so
corrections made in between count, and its derivatives are taken back along with
it; the correction is applied to the present state.

GPS is the reference of position. While it is used, the place of an external
vision's origin is learnt, so that vision carries on without a step where GPS is
lost; where GPS comes back, the estimate walks over to it.

What the flight stack gets is not the filter's position and velocity but PX4's
output predictor: it follows the IMU at once and the filter's corrections with
time constants, so that a fix makes no step in the set-points.
"""

import math

import numpy as np

from xtdrone_dynamics.atmosphere import density, height_of_pressure
from xtdrone_dynamics.compiled import njit
from xtdrone_dynamics.constants import AIR_GAS_CONSTANT, GRAVITY
from xtdrone_dynamics.geodesy import to_local
from xtdrone_dynamics.quaternion import (from_matrix, integrate, multiply, rotate, rotate_inverse,
                                         to_matrix)

from .estimator_names import (AIRSPEED_USED, ALIGNED, AT_REST, BARO_USED, GPS_USED, HEIGHT_BY_BARO,
                              HEIGHT_BY_GPS, HEIGHT_BY_RANGE, HEIGHT_BY_VISION, LOCATED, MAG_USED,
                              RANGE_USED, TEST_AIRSPEED, TEST_BARO, TEST_HGT, TEST_MAG, TEST_POS,
                              TEST_RANGE, TEST_VEL, TEST_VISION, VISION_USED)

# First index of each part of the error state.
ATT, VEL, POS, GYRO_BIAS, ACCEL_BIAS, BARO_OFFSET, EARTH, FIELD_BIAS = 0, 3, 6, 9, 12, 15, 16, 19
TERRAIN, WIND = 22, 23
SIZE = 25

# Bits of EKF2_GPS_CTRL and of EKF2_EV_CTRL.
GPS_PLACE, GPS_HEIGHT, GPS_VELOCITY = 1, 2, 4
VISION_PLACE, VISION_HEIGHT, VISION_YAW = 1, 2, 8
RANGE_IF_LOW_AND_SLOW, RANGE_ALWAYS = 1, 2  # values of EKF2_RNG_CTRL; 0 = never

RING = 64  # steps that a fix may be late: 252 ms at 250 Hz

_NEVER = -(1 << 60)  # [us]
_SECOND = 1_000_000  # [us]
_REST_AID_US = 100_000  # period of the aids that hold a vehicle without other aid still [us]
_GPS_AWAY_US = 1_000_000  # without a fix so long, GPS has gone [us]
_NO_JUMP, _FIRST, _LATER = range(3)
_LEAST_FALL = 0.7071  # of a beam's unit vector, downwards; flatter ones are not used

MEMORY = np.dtype([
    # Alignment at rest.
    ("samples", "i8"), ("field_samples", "i8"),
    ("accel_sum", "f8", (3,)), ("accel_square", "f8"),
    ("gyro_sum", "f8", (3,)), ("gyro_square", "f8"), ("field_sum", "f8", (3,)),
    # Inertial increments since the alignment: the integral of acceleration, and its integral.
    ("dv", "f8", (3,)), ("dp", "f8", (3,)),
    ("aligned_t", "i8"), ("located_t", "i8"),  # [us]
    # When each aid last passed its test, and what the rest aid did [us].
    ("gps_t", "i8"), ("vision_t", "i8"), ("baro_t", "i8"), ("mag_t", "i8"), ("rest_t", "i8"),
    ("moved_t", "i8"),  # when the IMU last felt motion [us]
    ("steps", "i8"),  # since the alignment, the ring holds that many at most
    ("fixes", "i8"),  # accepted since the last reset
    ("ref_eph", "f8"), ("ref_epv", "f8"),  # accuracy of the position's reference [m]
    ("range_t", "i8"), ("airspeed_t", "i8"),  # when they last passed their tests [us]
    ("vision_offset", "f8", (3,)),  # of vision's origin from the world's [m]
    ("heard_t", "i8"), ("away", "?"),  # when the last fix came [us]; GPS was silent before it
    ("back_fixes", "i8"), ("back_sum", "f8", (3,)),  # fixes of a GPS that comes back, innovations
    ("shift", "f8", (3,)),  # that position has still to walk, to a GPS that came back [m]
    ("jump", "i1"),  # what the output has still to follow at once: a FIRST or LATER place
])

PAST = np.dtype([
    ("dv", "f8", (3,)), ("dp", "f8", (3,)),  # MEMORY's, at the end of that step
    ("antenna_pos", "f8", (3,)), ("antenna_vel", "f8", (3,)),  # world, from the centre of gravity
    ("quat", "f8", (4,)),
])


@njit
def reset_memory(memory, t_us):
    """A vehicle that knows nothing: memory is one record of MEMORY."""
    _clear_alignment(memory)
    for k in range(3):
        memory.dv[k] = 0.0
        memory.dp[k] = 0.0
    memory.aligned_t = _NEVER
    memory.located_t = _NEVER
    memory.gps_t = _NEVER
    memory.vision_t = _NEVER
    memory.baro_t = _NEVER
    memory.mag_t = _NEVER
    memory.rest_t = _NEVER
    memory.moved_t = t_us
    memory.fixes = 0
    memory.range_t = _NEVER
    memory.airspeed_t = _NEVER
    memory.heard_t = _NEVER
    memory.away = False
    memory.back_fixes = 0
    memory.jump = _NO_JUMP
    for k in range(3):
        memory.vision_offset[k] = 0.0
        memory.back_sum[k] = 0.0
        memory.shift[k] = 0.0


@njit
def _clear_alignment(memory):
    memory.samples = 0
    memory.field_samples = 0
    memory.accel_square = 0.0
    memory.gyro_square = 0.0
    for k in range(3):
        memory.accel_sum[k] = 0.0
        memory.gyro_sum[k] = 0.0
        memory.field_sum[k] = 0.0


@njit
def _collect(memory, gyro, accel, mag, mag_new):
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
def _align(par, memory, quat, gyro_bias, accel_bias, field, t_us):
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
def _start_covariance(par, quat, cov):
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


@njit
def _predict_state(par, memory, pos, vel, quat, gyro_bias, accel_bias, gyro, accel, dt):
    """Carries the state over one step; returns the specific force in the world frame.

    As the engines do it (semi-implicit Euler): the rate and the velocity at the
    end of the step act through the whole of it.
    """
    q = integrate(quat[0], quat[1], quat[2], quat[3], gyro[0] - gyro_bias[0],
                  gyro[1] - gyro_bias[1], gyro[2] - gyro_bias[2], dt)
    force = rotate(q[0], q[1], q[2], q[3], accel[0] - accel_bias[0], accel[1] - accel_bias[1],
                   accel[2] - accel_bias[2])
    for k in range(4):
        quat[k] = q[k]
    for k in range(3):
        acc = force[k] - GRAVITY if k == 2 else force[k]
        vel[k] += acc * dt
        pos[k] += vel[k] * dt
        memory.dv[k] += acc * dt
        memory.dp[k] += memory.dv[k] * dt
    return force


@njit
def _predict_covariance(par, quat, force, cov, dt):
    """cov = F cov F' + Q over dt, F the error state's transition, by its few entries."""
    r00, r01, r02, r10, r11, r12, r20, r21, r22 = to_matrix(quat[0], quat[1], quat[2], quat[3])
    r00, r01, r02, r10, r11, r12, r20, r21, r22 = (
        r00 * dt, r01 * dt, r02 * dt, r10 * dt, r11 * dt, r12 * dt, r20 * dt, r21 * dt, r22 * dt)
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
    _add_noise(cov, ATT, 3, par.gyro_noise ** 2 * dt, math.inf)
    _add_noise(cov, VEL, 3, par.accel_noise ** 2 * dt, math.inf)
    # A bias that nothing observes does not become less known than it was at first.
    _add_noise(cov, GYRO_BIAS, 3, par.gyro_bias_walk ** 2 * dt, par.gyro_bias_sigma ** 2)
    _add_noise(cov, ACCEL_BIAS, 3, par.accel_bias_walk ** 2 * dt, par.accel_bias_sigma ** 2)
    _add_noise(cov, BARO_OFFSET, 1, par.baro_offset_walk ** 2 * dt, math.inf)
    _add_noise(cov, EARTH, 3, par.earth_field_walk ** 2 * dt, par.earth_field_sigma ** 2)
    _add_noise(cov, FIELD_BIAS, 3, par.field_bias_walk ** 2 * dt, par.field_bias_sigma ** 2)


@njit
def _add_noise(cov, first, count, variance, most):
    for k in range(first, first + count):
        if cov[k, k] < most:
            cov[k, k] += variance


@njit
def _expect(cov, dx, h, gain, innovation, variance):
    """Innovation after the pending correction dx, and its variance; gain becomes cov h."""
    for k in range(SIZE):
        gain[k] = 0.0
    for j in range(SIZE):
        hj = h[j]
        if hj != 0.0:
            innovation -= hj * dx[j]
            for k in range(SIZE):
                gain[k] += cov[j, k] * hj
    for j in range(SIZE):
        variance += h[j] * gain[j]
    return innovation, variance


@njit
def _fuse(cov, dx, h, gain, innovation, variance, gate):
    """One scalar measurement, derivatives h, into covariance and pending correction dx.

    Args:
        innovation: Measured minus predicted, before the pending correction.
        variance: Of the measurement.
        gate: Largest innovation that is taken, in standard deviations.

    Returns:
        The test ratio; above 1 the measurement was left out.
    """
    innovation, variance = _expect(cov, dx, h, gain, innovation, variance)
    ratio = innovation * innovation / (gate * gate * variance)
    if not ratio <= 1.0:  # so that a NaN is left out too
        return ratio
    for j in range(SIZE):
        weight = gain[j] / variance
        dx[j] += weight * innovation
        for k in range(SIZE):
            cov[j, k] -= weight * gain[k]
    return ratio


@njit
def _fuse_one(cov, dx, h, gain, innovation, variance, gate, state):
    """As _fuse, but only one state learns of it (Schmidt)."""
    innovation, variance = _expect(cov, dx, h, gain, innovation, variance)
    ratio = innovation * innovation / (gate * gate * variance)
    if not ratio <= 1.0:
        return ratio
    weight = gain[state] / variance
    dx[state] += weight * innovation
    for k in range(SIZE):
        cov[state, k] -= weight * gain[k]
        if k != state:
            cov[k, state] = cov[state, k]
    return ratio


@njit
def _inject(dx, pos, vel, quat, gyro_bias, accel_bias, baro_offset, earth, field_bias, terrain,
            wind):
    """Moves the pending correction into the state."""
    d = integrate(0.0, 0.0, 0.0, 1.0, dx[ATT], dx[ATT + 1], dx[ATT + 2], 1.0)
    q = multiply(d[0], d[1], d[2], d[3], quat[0], quat[1], quat[2], quat[3])
    for k in range(4):
        quat[k] = q[k]
    for k in range(3):
        vel[k] += dx[VEL + k]
        pos[k] += dx[POS + k]
        gyro_bias[k] += dx[GYRO_BIAS + k]
        accel_bias[k] += dx[ACCEL_BIAS + k]
        earth[k] += dx[EARTH + k]
        field_bias[k] += dx[FIELD_BIAS + k]
    baro_offset[0] += dx[BARO_OFFSET]
    terrain[0] += dx[TERRAIN]
    wind[0] += dx[WIND]
    wind[1] += dx[WIND + 1]
    for k in range(SIZE):
        dx[k] = 0.0


@njit
def _tidy(cov):
    """Takes out what rounding did: asymmetry, and variances that are not positive."""
    for j in range(SIZE):
        if not cov[j, j] > 1e-24:
            cov[j, j] = 1e-24
        for k in range(j):
            mean = 0.5 * (cov[j, k] + cov[k, j])
            cov[j, k] = mean
            cov[k, j] = mean


@njit
def _forget(cov, first, count, variance):
    """Some states become as uncertain as told, and unrelated to all others."""
    for j in range(first, first + count):
        for k in range(SIZE):
            cov[j, k] = 0.0
            cov[k, j] = 0.0
        cov[j, j] = variance


@njit
def _find(times, count, usable, t_us):
    """Place of a time in the ring.

    Args:
        times: (RING,) end of each step [us].
        count: Steps so far; the newest is at count % RING.
        usable: How many of the steps the vehicle has in its ring.
        t_us: The time.

    Returns:
        (older slot, newer slot, weight of the newer); the slots are -1 where the
        ring does not reach back so far. A time to come is taken for the newest.
    """
    newer = count % RING
    if t_us >= times[newer]:
        return newer, newer, 1.0
    for back in range(1, min(usable, RING)):
        older = (count - back) % RING
        if times[older] <= t_us:
            return older, newer, (t_us - times[older]) / (times[newer] - times[older])
        newer = older
    return -1, -1, 0.0


@njit
def _place_then(memory, past, slots, delay, pos, vel, k):
    """Axis k of where the vehicle was `delay` [s] ago, as is known now [m]."""
    older, newer, weight = slots
    then = (1.0 - weight) * past[older].dp[k] + weight * past[newer].dp[k]
    return pos[k] - delay * (vel[k] - memory.dv[k]) - memory.dp[k] + then


@njit
def _fuse_place(memory, past, slots, delay, cov, work, pos, vel, place, accuracy, gate, antenna,
                first, last, ratios, test, test_height):
    """A measured position that was true `delay` [s] ago.

    Args:
        past: The vehicle's ring.
        slots: From _find.
        place: (3,) world [m].
        accuracy: (horizontal, vertical) standard deviations [m].
        gate: Largest innovation that is taken, in standard deviations.
        antenna: Whether it is the GPS antenna's, not the centre of gravity's.
        first, last: The axes from first to before last are used.
        ratios: (8,) test ratios; written at test and test_height.

    Returns:
        Whether all axes passed their tests.
    """
    dx, h, gain = work[0], work[1], work[2]
    good = True
    if first == 0:
        ratios[test] = 0.0
    for k in range(first, last):
        predicted = _place_then(memory, past, slots, delay, pos, vel, k)
        if antenna:
            predicted += past[slots[0]].antenna_pos[k]
        h[:] = 0.0
        h[POS + k] = 1.0
        h[VEL + k] = -delay
        sigma = accuracy[0] if k < 2 else accuracy[1]
        ratio = _fuse(cov, dx, h, gain, place[k] - predicted, sigma * sigma, gate)
        if k < 2:
            ratios[test] = max(ratios[test], ratio)
        else:
            ratios[test_height] = ratio
        good = good and ratio <= 1.0
    return good


@njit
def _fuse_velocity(par, memory, past, slots, delay, cov, work, vel, quat, gps_vel, ratios):
    """A measured velocity of the antenna that was true `delay` [s] ago; as _fuse_place."""
    older, newer, weight = slots
    dx, h, gain = work[0], work[1], work[2]
    r = to_matrix(quat[0], quat[1], quat[2], quat[3])
    then = work[3]
    for k in range(3):
        then[k] = (1.0 - weight) * past[older].dv[k] + weight * past[newer].dv[k]
    # Specific force summed over the delay: attitude errors turned it into velocity errors.
    gone = (memory.dv[0] - then[0], memory.dv[1] - then[1],
            memory.dv[2] - then[2] + GRAVITY * delay)
    good = True
    ratios[TEST_VEL] = 0.0
    for k in range(3):
        predicted = vel[k] - memory.dv[k] + then[k] + past[older].antenna_vel[k]
        h[:] = 0.0
        h[VEL + k] = 1.0
        y, z = (k + 1) % 3, (k + 2) % 3
        h[ATT + y] = -gone[z]
        h[ATT + z] = gone[y]
        for j in range(3):
            h[ACCEL_BIAS + j] = r[3 * k + j] * delay
        sigma = par.gps_vel_noise if k < 2 else par.gps_vel_noise_vertical
        ratio = _fuse(cov, dx, h, gain, gps_vel[k] - predicted, sigma * sigma, par.vel_gate)
        ratios[TEST_VEL] = max(ratios[TEST_VEL], ratio)
        good = good and ratio <= 1.0
    return good


@njit
def _locate(memory, past, slots, delay, cov, pos, vel, place, place_vel, accuracy, vel_sigma,
            antenna):
    """Position and velocity straight from a fix: the first one, or after too many refusals.

    NaN in place_vel leaves the velocity as it is.
    """
    older = slots[0]
    for k in range(3):
        gone_v = memory.dv[k] - past[older].dv[k]
        gone_p = memory.dp[k] - past[older].dp[k] - delay * memory.dv[k]
        place_k, vel_k = place[k], place_vel[k]
        if antenna:
            place_k -= past[older].antenna_pos[k]
            vel_k -= past[older].antenna_vel[k]
        if not math.isnan(vel_k):
            vel[k] = vel_k + gone_v
            _forget(cov, VEL + k, 1, vel_sigma * vel_sigma)
        pos[k] = place_k + delay * vel[k] + gone_p
        sigma = accuracy[0] if k < 2 else accuracy[1]
        _forget(cov, POS + k, 1, sigma * sigma)
    _forget(cov, BARO_OFFSET, 1, accuracy[1] ** 2)
    memory.jump = _FIRST if memory.located_t == _NEVER else _LATER


@njit
def _fuse_field(par, cov, work, quat, earth, field_bias, mag, ratios):
    """The magnetometer, three axes, in the body frame."""
    dx, h, gain = work[0], work[1], work[2]
    r = to_matrix(quat[0], quat[1], quat[2], quat[3])
    body = rotate_inverse(quat[0], quat[1], quat[2], quat[3], earth[0], earth[1], earth[2])
    mx, my, mz = earth[0], earth[1], earth[2]
    good = True
    ratios[TEST_MAG] = 0.0
    for k in range(3):
        h[:] = 0.0
        rx, ry, rz = r[k], r[3 + k], r[6 + k]  # row k of the world-to-body rotation
        # R'(m + m x attitude) to first order; row k of R' times [m]x:
        h[ATT] = ry * mz - rz * my
        h[ATT + 1] = rz * mx - rx * mz
        h[ATT + 2] = rx * my - ry * mx
        h[EARTH], h[EARTH + 1], h[EARTH + 2] = rx, ry, rz
        h[FIELD_BIAS + k] = 1.0
        ratio = _fuse(cov, dx, h, gain, mag[k] - body[k] - field_bias[k], par.mag_noise ** 2,
                      par.mag_gate)
        ratios[TEST_MAG] = max(ratios[TEST_MAG], ratio)
        good = good and ratio <= 1.0
    return good


@njit
def _fuse_baro(par, cov, work, pos, baro_offset, height, is_reference, ratios):
    """The barometer's height over the world's origin: position plus a slow offset.

    Where it is the reference of height, the offset is taken for known.
    """
    dx, h, gain = work[0], work[1], work[2]
    h[:] = 0.0
    h[POS + 2] = 1.0
    h[BARO_OFFSET] = 0.0 if is_reference else 1.0
    ratios[TEST_BARO] = _fuse(cov, dx, h, gain, height - pos[2] - baro_offset[0],
                              par.baro_noise ** 2, par.baro_gate)
    return ratios[TEST_BARO] <= 1.0


@njit
def _height_reference(par, q, memory, t_us):
    """Which source gives the height: that of EKF2_HGT_REF while it is there, or GPS."""
    since = t_us - par.aid_time
    if q.EKF2_HGT_REF == HEIGHT_BY_BARO and q.EKF2_BARO_CTRL != 0 and memory.baro_t > since:
        return HEIGHT_BY_BARO
    if q.EKF2_HGT_REF == HEIGHT_BY_RANGE and q.EKF2_RNG_CTRL != 0 and memory.range_t > since:
        return HEIGHT_BY_RANGE
    if q.EKF2_HGT_REF == HEIGHT_BY_VISION and q.EKF2_EV_CTRL & VISION_HEIGHT \
            and memory.vision_t > since:
        return HEIGHT_BY_VISION
    return HEIGHT_BY_GPS


@njit
def _fuse_range(par, q, memory, past, slots, delay, cov, work, pos, vel, terrain, mount, axis,
                distance, t_us, ratios):
    """A range finder's distance to the ground that was true `delay` [s] ago.

    It tells the height of the ground below; where EKF2_HGT_REF and EKF2_RNG_CTRL
    say so, also that of the vehicle.
    """
    dx, h, gain, newer = work[0], work[1], work[2], past[slots[1]].quat
    beam = rotate(newer[0], newer[1], newer[2], newer[3], axis[0], axis[1], axis[2])
    arm = rotate(newer[0], newer[1], newer[2], newer[3], mount[0], mount[1], mount[2])
    if beam[2] > -_LEAST_FALL:
        return
    sigma = q.EKF2_RNG_NOISE + q.EKF2_RNG_SFE * distance
    variance = (sigma * beam[2]) ** 2
    below = -beam[2] * distance - arm[2]  # the ground, from the centre of gravity
    place = _place_then(memory, past, slots, delay, pos, vel, 2)
    if math.isnan(terrain[0]) or t_us - memory.range_t > par.reset_time:
        terrain[0] = place - below
        for k in range(SIZE):  # it knows of the ground what it knows of its own height
            cov[TERRAIN, k] = cov[POS + 2, k]
            cov[k, TERRAIN] = cov[POS + 2, k]
        cov[TERRAIN, TERRAIN] = cov[POS + 2, POS + 2] + variance
        memory.range_t = t_us
        return
    reference = _height_reference(par, q, memory, t_us) == HEIGHT_BY_RANGE
    h[:] = 0.0
    h[POS + 2] = 1.0
    h[VEL + 2] = -delay
    h[TERRAIN] = 0.0 if reference else -1.0
    h[ATT] = distance * beam[1]
    h[ATT + 1] = -distance * beam[0]
    innovation = below - place + terrain[0]
    if reference or _range_aids(q, below, vel):
        ratio = _fuse(cov, dx, h, gain, innovation, variance, q.EKF2_RNG_GATE)
    else:
        ratio = _fuse_one(cov, dx, h, gain, innovation, variance, q.EKF2_RNG_GATE, TERRAIN)
    ratios[TEST_RANGE] = ratio
    if ratio <= 1.0:
        memory.range_t = t_us


@njit
def _range_aids(q, below, vel):
    """Whether a range finder helps with the height, beside its reference."""
    if q.EKF2_RNG_CTRL == RANGE_IF_LOW_AND_SLOW:
        return below < q.EKF2_RNG_A_HMAX and math.hypot(vel[0], vel[1]) < q.EKF2_RNG_A_VMAX
    return q.EKF2_RNG_CTRL == RANGE_ALWAYS


@njit
def _ground_moves(par, q, cov, memory, pos, vel, terrain, dt):
    """What the ground below may have done within a step, by how the vehicle flies over it."""
    if math.isnan(terrain[0]):
        return
    spread = par.flat_ground_walk ** 2 * dt
    if not _range_aids(q, pos[2] - terrain[0], vel):
        slope = q.EKF2_TERR_GRAD
        spread = (q.EKF2_TERR_NOISE ** 2 + slope * slope * (vel[0] ** 2 + vel[1] ** 2)) * dt * dt
    cov[TERRAIN, TERRAIN] += spread


@njit
def _fuse_airspeed(par, q, memory, past, slots, cov, work, vel, wind, axis, pressure, air, t_us,
                   ratios):
    """True airspeed along the pitot tube, from its pressure [Pa] and the density of the air."""
    speed = math.sqrt(max(2.0 * pressure / air, 0.0))
    if speed < q.EKF2_ARSP_THR:
        return
    older, newer, weight = slots
    attitude = past[newer].quat
    ax, ay, az = rotate(attitude[0], attitude[1], attitude[2], attitude[3], axis[0], axis[1],
                        axis[2])
    dx, h, gain = work[0], work[1], work[2]
    if math.isnan(wind[0]):
        wind[0] = 0.0
        wind[1] = 0.0
        _forget(cov, WIND, 2, par.wind_sigma ** 2)
    through = work[3]  # velocity through the air, at that time
    for k in range(3):
        then = (1.0 - weight) * past[older].dv[k] + weight * past[newer].dv[k]
        through[k] = vel[k] - memory.dv[k] + then
        if k < 2:
            through[k] -= wind[k]
    h[:] = 0.0
    h[VEL], h[VEL + 1], h[VEL + 2] = ax, ay, az
    h[WIND], h[WIND + 1] = -ax, -ay
    h[ATT] = ay * through[2] - az * through[1]
    h[ATT + 1] = az * through[0] - ax * through[2]
    h[ATT + 2] = ax * through[1] - ay * through[0]
    predicted = ax * through[0] + ay * through[1] + az * through[2]
    sigma = q.EKF2_EAS_NOISE * math.sqrt(density(0.0) / air)
    ratio = _fuse(cov, dx, h, gain, speed - predicted, sigma * sigma, q.EKF2_TAS_GATE)
    ratios[TEST_AIRSPEED] = ratio
    if ratio <= 1.0:
        memory.airspeed_t = t_us


@njit
def _hold_still(par, cov, work, vel, gyro_bias, gyro, sigma, at_rest):
    """No velocity, to a standard deviation [m/s]; at rest the gyro shows its bias as well."""
    dx, h, gain = work[0], work[1], work[2]
    for k in range(3):
        h[:] = 0.0
        h[VEL + k] = 1.0
        _fuse(cov, dx, h, gain, -vel[k], sigma * sigma, par.vel_gate)
        if at_rest:
            h[VEL + k] = 0.0
            h[GYRO_BIAS + k] = 1.0
            _fuse(cov, dx, h, gain, gyro[k] - gyro_bias[k], par.rest_aid_rate ** 2, par.vel_gate)


@njit
def _feels_motion(par, ang_vel, force):
    rate = ang_vel[0] ** 2 + ang_vel[1] ** 2 + ang_vel[2] ** 2
    norm = math.sqrt(force[0] ** 2 + force[1] ** 2 + force[2] ** 2)
    return rate > par.rest_rate ** 2 or abs(norm - GRAVITY) > par.rest_force


@njit
def _record(past, memory, quat, ang_vel, antenna):
    """Keeps this step for fixes that will tell of it."""
    for k in range(4):
        past.quat[k] = quat[k]
    arm = rotate(quat[0], quat[1], quat[2], quat[3], antenna[0], antenna[1], antenna[2])
    speed = rotate(quat[0], quat[1], quat[2], quat[3],
                   ang_vel[1] * antenna[2] - ang_vel[2] * antenna[1],
                   ang_vel[2] * antenna[0] - ang_vel[0] * antenna[2],
                   ang_vel[0] * antenna[1] - ang_vel[1] * antenna[0])
    for k in range(3):
        past.dv[k] = memory.dv[k]
        past.dp[k] = memory.dp[k]
        past.antenna_pos[k] = arm[k]
        past.antenna_vel[k] = speed[k]


@njit
def _come_back(par, memory, past, slots, delay, cov, pos, vel, place, accuracy, t_us, last):
    """Fixes of a GPS that was lost: their mean tells how far the position has to walk to it."""
    memory.back_fixes += 1
    for k in range(last):
        memory.back_sum[k] += (place[k] - past[slots[0]].antenna_pos[k]
                               - _place_then(memory, past, slots, delay, pos, vel, k))
    if memory.back_fixes < par.ready_fixes:
        return
    for k in range(last):
        memory.shift[k] = memory.back_sum[k] / memory.back_fixes
        sigma = accuracy[0] if k < 2 else accuracy[1]
        cov[POS + k, POS + k] += sigma * sigma
    memory.gps_t = t_us
    memory.away = False


@njit
def _forget_return(memory):
    memory.back_fixes = 0
    for k in range(3):
        memory.back_sum[k] = 0.0


@njit
def _walk(par, memory, pos, baro_offset, terrain, dt):
    """One step of the way to a GPS that came back; what was learnt in the old place moves along."""
    away = math.sqrt(memory.shift[0] ** 2 + memory.shift[1] ** 2 + memory.shift[2] ** 2)
    if away == 0.0:
        return
    share = min(1.0, par.return_speed * dt / away)
    for k in range(3):
        step = share * memory.shift[k]
        pos[k] += step
        memory.vision_offset[k] -= step
        memory.shift[k] = 0.0 if share == 1.0 else memory.shift[k] - step
        if k == 2:
            baro_offset[0] -= step
            terrain[0] += step


@njit
def _fuse_gps(par, q, memory, past, slots, t_us, delay, cov, work, pos, vel, quat, place, gps_vel,
              accuracy, ratios):
    """A GPS fix."""
    if slots[0] < 0 or not q.EKF2_GPS_CTRL & GPS_PLACE:
        return
    memory.away = memory.away or t_us - memory.heard_t > _GPS_AWAY_US
    memory.heard_t = t_us
    if memory.located_t == _NEVER or t_us - max(memory.gps_t, memory.vision_t) > par.reset_time:
        _locate(memory, past, slots, delay, cov, pos, vel, place, gps_vel, accuracy,
                par.gps_vel_noise, True)
        memory.located_t = t_us
        memory.gps_t = t_us
        memory.baro_t = _NEVER
        memory.fixes = 0
        _forget_return(memory)
        memory.away = False
        return
    good = not q.EKF2_GPS_CTRL & GPS_VELOCITY or _fuse_velocity(
        par, memory, past, slots, delay, cov, work, vel, quat, gps_vel, ratios)
    by_gps = _height_reference(par, q, memory, t_us) == HEIGHT_BY_GPS
    last = 3 if by_gps and q.EKF2_GPS_CTRL & GPS_HEIGHT else 2
    away = memory.away or t_us - memory.gps_t > par.reset_time
    if away and memory.vision_t > t_us - par.aid_time:
        if good:
            _come_back(par, memory, past, slots, delay, cov, pos, vel, place, accuracy, t_us,
                       last)
        else:
            _forget_return(memory)
        return
    memory.away = False
    _forget_return(memory)
    if memory.shift[0] == 0.0 and memory.shift[1] == 0.0 and memory.shift[2] == 0.0:
        good = _fuse_place(memory, past, slots, delay, cov, work, pos, vel, place, accuracy,
                           par.pos_gate, True, 0, last, ratios, TEST_POS, TEST_HGT) and good
    if good:
        memory.gps_t = t_us
        memory.fixes += 1


@njit
def _aid_still(par, memory, cov, work, vel, gyro_bias, gyro, landed, t_us):
    """Holds a landed vehicle, or one that has no position aid, still. Returns whether at rest."""
    at_rest = landed and t_us - memory.moved_t > par.rest_time
    aided = max(memory.gps_t, memory.vision_t, memory.airspeed_t) > t_us - par.aid_time
    if t_us - memory.rest_t >= _REST_AID_US and (at_rest or not aided):
        memory.rest_t = t_us
        sigma = par.rest_aid_vel if at_rest else par.no_aid_vel
        _hold_still(par, cov, work, vel, gyro_bias, gyro, sigma, at_rest)
    return at_rest


@njit
def step_fleet(par, parameters, origin, field, dt, t_us, times, count, memory, past, covs, work,
               landed, antenna, range_pos, range_axis, airspeed_axis, pos, vel, quat, ang_vel,
               gyro_bias, accel_bias, baro_offset, earth, field_bias, terrain, wind, out_pos,
               out_vel, ready, flags, ratios, pos_std, vel_std, att_std, reset_count, reset_pos,
               gyro, accel, mag, mag_new, baro_pressure, baro_temperature, baro_new, gps_t_us,
               gps_lat, gps_lon, gps_alt, gps_vel, gps_eph, gps_epv, gps_fix, gps_new,
               airspeed_pressure, airspeed_new, range_distance, range_new):
    """One step of the whole fleet; see Ekf for the arrays."""
    place, before = work[4], work[5]  # before: MEMORY's dv before this step
    times[count % RING] = t_us
    for i in range(pos.shape[0]):
        mem, cov, ring, q = memory[i], covs[i], past[i], parameters[i]
        if mem.aligned_t == _NEVER:
            _collect(mem, gyro[i], accel[i], mag[i], mag_new[i])
            if mem.samples < par.align_steps:
                continue
            done = _align(par, mem, quat[i], gyro_bias[i], accel_bias[i], field, t_us)
            _clear_alignment(mem)
            if not done:
                continue
            _start_covariance(par, quat[i], cov)
            for k in range(3):
                earth[i, k] = field[k]

        for k in range(3):
            before[k] = mem.dv[k]
        force = _predict_state(par, mem, pos[i], vel[i], quat[i], gyro_bias[i], accel_bias[i],
                               gyro[i], accel[i], dt)
        _predict_covariance(par, quat[i], force, cov, dt)
        _ground_moves(par, q, cov, mem, pos[i], vel[i], terrain[i:i + 1], dt)
        if not math.isnan(wind[i, 0]):
            _add_noise(cov, WIND, 2, q.EKF2_WIND_NSD ** 2 * dt, par.wind_sigma ** 2)
        _walk(par, mem, pos[i], baro_offset[i:i + 1], terrain[i:i + 1], dt)
        for k in range(3):
            ang_vel[i, k] = gyro[i, k] - gyro_bias[i, k]
        if _feels_motion(par, ang_vel[i], force):
            mem.moved_t = t_us
        mem.steps += 1
        _record(ring[count % RING], mem, quat[i], ang_vel[i], antenna[i])

        if gps_new[i] and gps_fix[i] >= 3 and gps_eph[i] <= par.max_eph \
                and gps_epv[i] <= par.max_epv:
            place[0], place[1] = to_local(gps_lat[i], gps_lon[i], origin[0], origin[1])
            place[2] = gps_alt[i] - origin[2]
            slots = _find(times, count, mem.steps, gps_t_us[i])
            accuracy = (max(gps_eph[i], par.gps_pos_noise), max(gps_epv[i], par.gps_pos_noise))
            _fuse_gps(par, q, mem, ring, slots, t_us, (t_us - gps_t_us[i]) * 1e-6, cov, work,
                      pos[i], vel[i], quat[i], place, gps_vel[i], accuracy, ratios[i])
            mem.ref_eph, mem.ref_epv = gps_eph[i], gps_epv[i]
        if mag_new[i]:
            if _fuse_field(par, cov, work, quat[i], earth[i], field_bias[i], mag[i], ratios[i]):
                mem.mag_t = t_us
            elif t_us - mem.mag_t > par.mag_reset_time:  # the bias is not what it was
                _forget(cov, FIELD_BIAS, 3, par.field_bias_reset_sigma ** 2)
                mem.mag_t = t_us
        if baro_new[i] and mem.located_t != _NEVER and q.EKF2_BARO_CTRL != 0:
            height = height_of_pressure(baro_pressure[i]) - origin[2]
            if t_us - mem.baro_t > par.reset_time:
                baro_offset[i] = height - pos[i, 2]
                _forget(cov, BARO_OFFSET, 1, cov[POS + 2, POS + 2] + par.baro_noise ** 2)
                mem.baro_t = t_us
            elif _fuse_baro(par, cov, work, pos[i], baro_offset[i:i + 1], height,
                            _height_reference(par, q, mem, t_us) == HEIGHT_BY_BARO, ratios[i]):
                mem.baro_t = t_us
        if range_new[i] and math.isfinite(range_distance[i]) and mem.located_t != _NEVER \
                and q.EKF2_RNG_CTRL != 0:
            late = round(q.EKF2_RNG_DELAY * 1e3)
            slots = _find(times, count, mem.steps, t_us - late)
            if slots[0] >= 0:
                _fuse_range(par, q, mem, ring, slots, late * 1e-6, cov, work, pos[i], vel[i],
                            terrain[i:i + 1], range_pos[i], range_axis[i], range_distance[i],
                            t_us, ratios[i])
        if airspeed_new[i] and mem.located_t != _NEVER and q.EKF2_ARSP_THR > 0.0:
            slots = _find(times, count, mem.steps, t_us - round(q.EKF2_ASP_DELAY * 1e3))
            air = density(origin[2] + pos[i, 2])
            if baro_temperature[i] > 0.0:
                air = baro_pressure[i] / (AIR_GAS_CONSTANT * baro_temperature[i])
            if slots[0] >= 0:
                _fuse_airspeed(par, q, mem, ring, slots, cov, work, vel[i], wind[i],
                               airspeed_axis[i], airspeed_pressure[i], air, t_us, ratios[i])
        at_rest = _aid_still(par, mem, cov, work, vel[i], gyro_bias[i], gyro[i], landed[i], t_us)
        _inject(work[0], pos[i], vel[i], quat[i], gyro_bias[i], accel_bias[i],
                baro_offset[i:i + 1], earth[i], field_bias[i], terrain[i:i + 1], wind[i])
        _predict_output(q, mem, pos[i], vel[i], before, out_pos[i], out_vel[i],
                        reset_count[i:i + 1], reset_pos[i], dt)
        if count % 25 == 0:
            _tidy(cov)
        _report(i, par, mem, cov, t_us, at_rest, ready, flags, pos_std, vel_std, att_std)


@njit
def _predict_output(q, memory, pos, vel, dv_before, out_pos, out_vel, reset_count, reset_pos, dt):
    """One step of the output; a place that the filter jumped to is followed at once."""
    for k in range(3):
        out_vel[k] += memory.dv[k] - dv_before[k]
        out_vel[k] += dt / q.EKF2_TAU_VEL * (vel[k] - out_vel[k])
        out_pos[k] += out_vel[k] * dt
        out_pos[k] += dt / q.EKF2_TAU_POS * (pos[k] - out_pos[k])
    if memory.jump == _NO_JUMP:
        return
    for k in range(3):
        if memory.jump == _LATER:
            reset_pos[k] = pos[k] - out_pos[k]
        out_pos[k] = pos[k]
        out_vel[k] = vel[k]
    reset_count[0] += memory.jump == _LATER
    memory.jump = _NO_JUMP


@njit
def _report(i, par, memory, cov, t_us, at_rest, ready, flags, pos_std, vel_std, att_std):
    """Flags and standard deviations of one vehicle."""
    for k in range(3):
        reference = memory.ref_eph if k < 2 else memory.ref_epv
        pos_std[i, k] = math.sqrt(max(0.0, cov[POS + k, POS + k]) + reference * reference)
        vel_std[i, k] = math.sqrt(max(0.0, cov[VEL + k, VEL + k]))
        att_std[i, k] = math.sqrt(max(0.0, cov[ATT + k, ATT + k]))
    since = t_us - par.aid_time
    flag = ALIGNED
    if memory.located_t != _NEVER:
        flag |= LOCATED
    if memory.gps_t > since:
        flag |= GPS_USED
    if memory.vision_t > since:
        flag |= VISION_USED
    if memory.baro_t > since:
        flag |= BARO_USED
    if memory.mag_t > since:
        flag |= MAG_USED
    if memory.range_t > since:
        flag |= RANGE_USED
    if memory.airspeed_t > since:
        flag |= AIRSPEED_USED
    if at_rest:
        flag |= AT_REST
    flags[i] = flag
    ready[i] = (flag & (GPS_USED | VISION_USED) != 0 and memory.fixes >= par.ready_fixes
                and att_std[i, 2] < par.ready_yaw and vel_std[i, 0] < par.ready_vel
                and vel_std[i, 1] < par.ready_vel and vel_std[i, 2] < par.ready_vel)


@njit
def _learn_origin(memory, past, slots, delay, pos, vel, place, k, share):
    """Learns a share of how far an external vision's origin is from the world's on axis k."""
    error = place[k] - _place_then(memory, past, slots, delay, pos, vel, k) \
        - memory.vision_offset[k]
    memory.vision_offset[k] += share * error


@njit
def take_vision(par, q, i, t_us, measured_us, times, count, memory, past, covs, work, pos, vel,
                quat, gyro_bias, accel_bias, baro_offset, earth, field_bias, terrain, wind, ratios,
                place, attitude, pos_sigma, yaw_sigma):
    """A pose of vehicle i in the world frame from outside, true at measured_us; see Ekf."""
    mem, cov, ring, dx, h, gain = memory[i], covs[i], past[i], work[0], work[1], work[2]
    slots = _find(times, count, mem.steps, measured_us)
    if mem.aligned_t == _NEVER or slots[0] < 0 or not q.EKF2_EV_CTRL & VISION_PLACE:
        return
    delay = max(0, t_us - measured_us) * 1e-6
    accuracy = (pos_sigma, pos_sigma)
    if mem.located_t == _NEVER or t_us - max(mem.gps_t, mem.vision_t) > par.reset_time:
        for k in range(3):
            mem.vision_offset[k] = 0.0
        work[4, :] = math.nan  # a pose says nothing of the velocity
        _locate(mem, ring, slots, delay, cov, pos[i], vel[i], place, work[4], accuracy, 0.0, False)
        mem.located_t = t_us
        mem.vision_t = t_us
        mem.baro_t = _NEVER
        mem.fixes = 0
        return
    lost = t_us - mem.vision_t > par.aid_time
    share = 1.0 if lost else min(1.0, (t_us - mem.vision_t) / par.vision_offset_time)
    by_vision = _height_reference(par, q, mem, t_us) == HEIGHT_BY_VISION
    for k in range(3):
        if t_us - mem.gps_t <= _GPS_AWAY_US and not (k == 2 and by_vision):
            if lost or ratios[i, TEST_VISION] <= 1.0:
                _learn_origin(mem, ring, slots, delay, pos[i], vel[i], place, k, share)
        work[4, k] = place[k] - mem.vision_offset[k]
    last = 3 if q.EKF2_EV_CTRL & VISION_HEIGHT else 2
    good = _fuse_place(mem, ring, slots, delay, cov, work, pos[i], vel[i], work[4], accuracy,
                       q.EKF2_EVP_GATE, False, 0, last, ratios[i], TEST_VISION, TEST_VISION)
    if q.EKF2_EV_CTRL & VISION_YAW:
        r = ring[slots[1]].quat
        turn = multiply(attitude[0], attitude[1], attitude[2], attitude[3], -r[0], -r[1], -r[2],
                        r[3])
        h[:] = 0.0
        h[ATT + 2] = 1.0
        _fuse(cov, dx, h, gain, 2.0 * math.atan2(turn[2], turn[3]) if turn[3] >= 0.0
              else 2.0 * math.atan2(-turn[2], -turn[3]), yaw_sigma * yaw_sigma, par.mag_gate)
    if good:
        mem.vision_t = t_us
        mem.fixes += 1
    _inject(dx, pos[i], vel[i], quat[i], gyro_bias[i], accel_bias[i], baro_offset[i:i + 1],
            earth[i], field_bias[i], terrain[i:i + 1], wind[i])
