"""Magnetometer, barometer, range finder, pitot tube and rest: what each tells the estimator."""

import math

from xtdrone_dynamics.atmosphere import density
from xtdrone_dynamics.compiled import njit
from xtdrone_dynamics.constants import GRAVITY
from xtdrone_dynamics.quaternion import rotate, rotate_inverse, to_matrix

from .delayed_fusion import place_then
from .filter import forget, fuse, fuse_one
from .flags import (
    HEIGHT_BY_BARO,
    HEIGHT_BY_GPS,
    HEIGHT_BY_RANGE,
    HEIGHT_BY_VISION,
    TEST_AIRSPEED,
    TEST_BARO,
    TEST_MAG,
    TEST_RANGE,
)
from .state import (
    ATT,
    BARO_OFFSET,
    EARTH,
    FIELD_BIAS,
    GYRO_BIAS,
    POS,
    SIZE,
    TERRAIN,
    VEL,
    VISION_HEIGHT,
    WIND,
)

RANGE_IF_LOW_AND_SLOW, RANGE_ALWAYS = 1, 2  # values of EKF2_RNG_CTRL; 0 = never
_REST_AID_US = 100_000  # period of the aids that hold a vehicle without other aid still [us]
_LEAST_FALL = 0.7071  # of a beam's unit vector, downwards; flatter ones are not used


@njit
def height_reference(par, q, memory, t_us):
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
def fuse_field(par, cov, work, quat, earth, field_bias, mag, ratios):
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
        ratio = fuse(cov, dx, h, gain, mag[k] - body[k] - field_bias[k], par.mag_noise ** 2,
                     par.mag_gate)
        ratios[TEST_MAG] = max(ratios[TEST_MAG], ratio)
        good = good and ratio <= 1.0
    return good


@njit
def fuse_baro(par, cov, work, pos, baro_offset, height, is_reference, ratios):
    """The barometer's height over the world's origin: position plus a slow offset.

    Where it is the reference of height, the offset is taken for known.
    """
    dx, h, gain = work[0], work[1], work[2]
    h[:] = 0.0
    h[POS + 2] = 1.0
    h[BARO_OFFSET] = 0.0 if is_reference else 1.0
    ratios[TEST_BARO] = fuse(cov, dx, h, gain, height - pos[2] - baro_offset[0],
                             par.baro_noise ** 2, par.baro_gate)
    return ratios[TEST_BARO] <= 1.0


@njit
def fuse_range(par, q, memory, past, slots, delay, cov, work, pos, vel, terrain, mount, axis,
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
    place = place_then(memory, past, slots, delay, pos, vel, 2)
    if math.isnan(terrain[0]) or t_us - memory.range_t > par.reset_time:
        terrain[0] = place - below
        for k in range(SIZE):  # it knows of the ground what it knows of its own height
            cov[TERRAIN, k] = cov[POS + 2, k]
            cov[k, TERRAIN] = cov[POS + 2, k]
        cov[TERRAIN, TERRAIN] = cov[POS + 2, POS + 2] + variance
        memory.range_t = t_us
        return
    reference = height_reference(par, q, memory, t_us) == HEIGHT_BY_RANGE
    h[:] = 0.0
    h[POS + 2] = 1.0
    h[VEL + 2] = -delay
    h[TERRAIN] = 0.0 if reference else -1.0
    h[ATT] = distance * beam[1]
    h[ATT + 1] = -distance * beam[0]
    innovation = below - place + terrain[0]
    if reference or _range_aids(q, below, vel):
        ratio = fuse(cov, dx, h, gain, innovation, variance, q.EKF2_RNG_GATE)
    else:
        ratio = fuse_one(cov, dx, h, gain, innovation, variance, q.EKF2_RNG_GATE, TERRAIN)
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
def ground_moves(par, q, cov, memory, pos, vel, terrain, dt):
    """What the ground below may have done within a step, by how the vehicle flies over it."""
    if math.isnan(terrain[0]):
        return
    spread = par.flat_ground_walk ** 2 * dt
    if not _range_aids(q, pos[2] - terrain[0], vel):
        slope = q.EKF2_TERR_GRAD
        spread = (q.EKF2_TERR_NOISE ** 2 + slope * slope * (vel[0] ** 2 + vel[1] ** 2)) * dt * dt
    cov[TERRAIN, TERRAIN] += spread


@njit
def fuse_airspeed(par, q, memory, past, slots, cov, work, vel, wind, axis, pressure, air, t_us,
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
        forget(cov, WIND, 2, par.wind_sigma ** 2)
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
    ratio = fuse(cov, dx, h, gain, speed - predicted, sigma * sigma, q.EKF2_TAS_GATE)
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
        fuse(cov, dx, h, gain, -vel[k], sigma * sigma, par.vel_gate)
        if at_rest:
            h[VEL + k] = 0.0
            h[GYRO_BIAS + k] = 1.0
            fuse(cov, dx, h, gain, gyro[k] - gyro_bias[k], par.rest_aid_rate ** 2, par.vel_gate)


@njit
def feels_motion(par, ang_vel, force):
    """Whether rate and specific force are not those of rest."""
    rate = ang_vel[0] ** 2 + ang_vel[1] ** 2 + ang_vel[2] ** 2
    norm = math.sqrt(force[0] ** 2 + force[1] ** 2 + force[2] ** 2)
    return rate > par.rest_rate ** 2 or abs(norm - GRAVITY) > par.rest_force


@njit
def aid_still(par, memory, cov, work, vel, gyro_bias, gyro, landed, t_us):
    """Holds a landed vehicle, or one that has no position aid, still. Returns whether at rest."""
    at_rest = landed and t_us - memory.moved_t > par.rest_time
    aided = max(memory.gps_t, memory.vision_t, memory.airspeed_t) > t_us - par.aid_time
    if t_us - memory.rest_t >= _REST_AID_US and (at_rest or not aided):
        memory.rest_t = t_us
        sigma = par.rest_aid_vel if at_rest else par.no_aid_vel
        _hold_still(par, cov, work, vel, gyro_bias, gyro, sigma, at_rest)
    return at_rest
