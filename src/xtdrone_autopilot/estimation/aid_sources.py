"""Aid sources of the estimator: magnetometer, barometer, range finder, pitot tube, rest."""

import math
from typing import Any

import numpy as np

from xtdrone_dynamics.compiled import njit
from xtdrone_dynamics.constants import GRAVITY
from xtdrone_dynamics.earth.atmosphere import density
from xtdrone_dynamics.quaternion import rotate, rotate_inverse, to_matrix

from ..state.estimator_flags import (
    HEIGHT_BY_BARO,
    HEIGHT_BY_GPS,
    HEIGHT_BY_RANGE,
    HEIGHT_BY_VISION,
    TEST_AIRSPEED,
    TEST_BARO,
    TEST_MAG,
    TEST_RANGE,
    TEST_SIDESLIP,
)
from .delayed_fusion import delayed_position
from .filter import fuse, fuse_some, reset_covariance
from .state import (
    ATT,
    BARO_OFFSET,
    EARTH,
    EV_HEIGHT,
    FIELD_BIAS,
    GYRO_BIAS,
    POS,
    SIZE,
    TERRAIN,
    VEL,
    WIND,
)

RANGE_IF_LOW_AND_SLOW, RANGE_ALWAYS = 1, 2  # values of EKF2_RNG_CTRL; 0 = never
_SIDESLIP_US = 150_000  # period of the sideslip's update [us]
_FORWARD = 1e-3  # least airspeed along the nose that has a sideslip [m/s]
_ZERO_VELOCITY_US = 100_000  # period of the zero-velocity update [us]
_MIN_FALL = 0.7071  # of a beam's unit vector, downwards; flatter ones are not used


@njit
def height_reference(tuning: np.void, params: np.void, f: np.void, t_us: int) -> int:
    """Which source gives the height: that of EKF2_HGT_REF while it is there, or GPS."""
    since = t_us - tuning.aid_time
    if params.EKF2_HGT_REF == HEIGHT_BY_BARO and params.EKF2_BARO_CTRL != 0 and f.baro_t > since:
        return HEIGHT_BY_BARO
    if params.EKF2_HGT_REF == HEIGHT_BY_RANGE and params.EKF2_RNG_CTRL != 0 and f.range_t > since:
        return HEIGHT_BY_RANGE
    if (
        params.EKF2_HGT_REF == HEIGHT_BY_VISION
        and params.EKF2_EV_CTRL & EV_HEIGHT
        and f.vision_t > since
    ):
        return HEIGHT_BY_VISION
    return HEIGHT_BY_GPS


@njit
def fuse_field(
    quat: Any,
    earth: Any,
    mag: Any,
    bias: Any,
    variance: Any,
    gate: Any,
    cov: np.ndarray,
    work: np.ndarray,
) -> None:
    """The magnetometer, three axes, in the body frame, of a vehicle or of vehicles in lanes.

    Args:
        quat: 4 numbers, attitude.
        earth, mag, bias: 3 numbers each: the Earth's field in the world, the reading, its bias [T].
        variance: Of the reading [T^2].
        gate: Largest innovation that is taken, in standard deviations.
        cov: Covariance.
        work: Rows of scratch; the first is the pending correction, the fourth gets the three test
            ratios.
    """
    dx, h, gain, ratios = work[0], work[1], work[2], work[3]
    r = to_matrix(quat[0], quat[1], quat[2], quat[3])
    mx, my, mz = earth[0], earth[1], earth[2]
    body = rotate_inverse(quat[0], quat[1], quat[2], quat[3], mx, my, mz)
    for k in range(3):
        h[:] = 0.0
        rx, ry, rz = r[k], r[3 + k], r[6 + k]  # row k of the world-to-body rotation
        # R'(m + m x attitude) to first order; row k of R' times [m]x:
        h[ATT] = ry * mz - rz * my
        h[ATT + 1] = rz * mx - rx * mz
        h[ATT + 2] = rx * my - ry * mx
        h[EARTH], h[EARTH + 1], h[EARTH + 2] = rx, ry, rz
        h[FIELD_BIAS + k] = 1.0
        ratios[k] = fuse(cov, dx, h, gain, mag[k] - body[k] - bias[k], variance, gate)


@njit
def judge_field(
    tuning: np.void, f: np.void, e: np.void, cov: np.ndarray, ratios: np.ndarray, t_us: int
) -> None:
    """What follows from a magnetometer's test ratios; rejected for long, its bias is reset."""
    good = True
    e.test_ratios[TEST_MAG] = 0.0
    for k in range(3):
        e.test_ratios[TEST_MAG] = max(e.test_ratios[TEST_MAG], ratios[k])
        good = good and ratios[k] <= 1.0
    if good:
        f.mag_t = t_us
    elif t_us - f.mag_t > tuning.mag_reset_time:  # the bias has changed
        reset_covariance(cov, FIELD_BIAS, 3, tuning.field_bias_reset_sigma**2)
        f.mag_t = t_us


@njit
def baro_continues(tuning: np.void, f: np.void, cov: np.ndarray, height: float, t_us: int) -> bool:
    """Whether the barometer's height [m] is to be fused; after a long gap its offset is reset."""
    if t_us - f.baro_t <= tuning.reset_time:
        return True
    f.baro_offset = height - f.pos[2]
    reset_covariance(cov, BARO_OFFSET, 1, cov[POS + 2, POS + 2] + tuning.baro_noise**2)
    f.baro_t = t_us
    return False


@njit
def fuse_baro(
    innovation: Any, offset: Any, variance: Any, gate: Any, cov: np.ndarray, work: np.ndarray
) -> Any:
    """The barometer's height over the world's origin: position plus a slow offset.

    Of a vehicle or of vehicles in lanes; returns the test ratio.

    Args:
        innovation: Of the height [m]; NaN = no reading.
        offset: 1 where the barometer's offset is estimated; 0 where it counts as known, since the
            barometer is the height reference.
        variance: Of the reading [m^2].
        gate, cov, work: As of fuse_field().
    """
    h = work[1]
    h[:] = 0.0
    h[POS + 2] = 1.0
    h[BARO_OFFSET] = offset
    return fuse(cov, work[0], h, work[2], innovation, variance, gate)


@njit
def judge_baro(f: np.void, e: np.void, ratio: float, t_us: int) -> None:
    """What follows from a barometer's test ratio."""
    e.test_ratios[TEST_BARO] = ratio
    if ratio <= 1.0:
        f.baro_t = t_us


@njit
def fuse_range(
    tuning: np.void,
    params: np.void,
    f: np.void,
    e: np.void,
    past: np.ndarray,
    slots: tuple[int, int, float],
    delay: float,
    cov: np.ndarray,
    work: np.ndarray,
    distance: float,
    t_us: int,
) -> None:
    """A range finder's distance to the ground, measured `delay` [s] ago.

    It measures the terrain height; depending on EKF2_HGT_REF and EKF2_RNG_CTRL also
    the height of the vehicle.
    """
    dx, h, gain, newer = work[0], work[1], work[2], past[slots[1]].quat
    axis, mount = e.range_axis, e.range_pos
    beam = rotate(newer[0], newer[1], newer[2], newer[3], axis[0], axis[1], axis[2])
    arm = rotate(newer[0], newer[1], newer[2], newer[3], mount[0], mount[1], mount[2])
    if beam[2] > -_MIN_FALL:
        return
    sigma = params.EKF2_RNG_NOISE + params.EKF2_RNG_SFE * distance
    variance = (sigma * beam[2]) ** 2
    below = -beam[2] * distance - arm[2]  # the ground, from the centre of gravity
    height = delayed_position(f, past, slots, delay, 2)
    if math.isnan(e.terrain) or t_us - f.range_t > tuning.reset_time:
        e.terrain = height - below
        for k in range(SIZE):  # the terrain is as uncertain as the vehicle's own height
            cov[TERRAIN, k] = cov[POS + 2, k]
            cov[k, TERRAIN] = cov[POS + 2, k]
        cov[TERRAIN, TERRAIN] = cov[POS + 2, POS + 2] + variance
        f.range_t = t_us
        return
    reference = height_reference(tuning, params, f, t_us) == HEIGHT_BY_RANGE
    h[:] = 0.0
    h[POS + 2] = 1.0
    h[VEL + 2] = -delay
    h[TERRAIN] = 0.0 if reference else -1.0
    h[ATT] = distance * beam[1]
    h[ATT + 1] = -distance * beam[0]
    innovation = below - height + e.terrain
    if reference or _range_aids(params, below, f.vel):
        ratio = fuse(cov, dx, h, gain, innovation, variance, params.EKF2_RNG_GATE)
    else:
        ratio = fuse_some(cov, dx, h, gain, innovation, variance, params.EKF2_RNG_GATE, TERRAIN, 1)
    e.test_ratios[TEST_RANGE] = ratio
    if ratio <= 1.0:
        f.range_t = t_us


@njit
def _range_aids(params, below, vel):
    """Whether a range finder aids the height, in addition to its reference."""
    if params.EKF2_RNG_CTRL == RANGE_IF_LOW_AND_SLOW:
        slow = math.hypot(vel[0], vel[1]) < params.EKF2_RNG_A_VMAX
        return below < params.EKF2_RNG_A_HMAX and slow
    return params.EKF2_RNG_CTRL == RANGE_ALWAYS


@njit
def predict_terrain(
    tuning: np.void, params: np.void, f: np.void, e: np.void, cov: np.ndarray, dt: float
) -> None:
    """Process noise of the terrain height in a step, from the horizontal speed."""
    if math.isnan(e.terrain):
        return
    vel = f.vel
    spread = tuning.terrain_noise**2 * dt
    if not _range_aids(params, f.pos[2] - e.terrain, vel):
        slope = params.EKF2_TERR_GRAD
        spread = (params.EKF2_TERR_NOISE**2 + slope * slope * (vel[0] ** 2 + vel[1] ** 2)) * dt * dt
    cov[TERRAIN, TERRAIN] += spread


@njit
def fuse_airspeed(
    tuning: np.void,
    params: np.void,
    f: np.void,
    e: np.void,
    past: np.ndarray,
    slots: tuple[int, int, float],
    cov: np.ndarray,
    work: np.ndarray,
    pressure: float,
    air: float,
    t_us: int,
) -> None:
    """True airspeed along the pitot tube, from its pressure [Pa] and the density of the air."""
    speed = math.sqrt(max(2.0 * pressure / air, 0.0))
    if speed < params.EKF2_ARSP_THR:
        return
    older, newer, weight = slots
    attitude, axis = past[newer].quat, e.airspeed_axis
    ax, ay, az = rotate(
        attitude[0], attitude[1], attitude[2], attitude[3], axis[0], axis[1], axis[2]
    )
    dx, h, gain = work[0], work[1], work[2]
    _begin_wind(tuning, e, cov)
    through = work[3]  # velocity through the air, at that time
    for k in range(3):
        then = (1.0 - weight) * past[older].dv[k] + weight * past[newer].dv[k]
        through[k] = f.vel[k] - f.dv[k] + then
        if k < 2:
            through[k] -= e.wind[k]
    _derive(h, ax, ay, az, through)
    predicted = ax * through[0] + ay * through[1] + az * through[2]
    sigma = params.EKF2_EAS_NOISE * math.sqrt(density(0.0) / air)
    ratio = fuse(cov, dx, h, gain, speed - predicted, sigma * sigma, params.EKF2_TAS_GATE)
    e.test_ratios[TEST_AIRSPEED] = ratio
    if ratio <= 1.0:
        f.airspeed_t = t_us


@njit
def _begin_wind(tuning, e, cov):
    """The wind is estimated from now on, from no wind."""
    if math.isnan(e.wind[0]):
        e.wind[0] = 0.0
        e.wind[1] = 0.0
        reset_covariance(cov, WIND, 2, tuning.wind_sigma**2)


@njit
def _derive(h, ax, ay, az, through):
    """Derivatives of what grows by the vector a, fixed to the body, per m/s through the air."""
    h[:] = 0.0
    h[VEL], h[VEL + 1], h[VEL + 2] = ax, ay, az
    h[WIND], h[WIND + 1] = -ax, -ay
    h[ATT] = ay * through[2] - az * through[1]
    h[ATT + 1] = az * through[0] - ax * through[2]
    h[ATT + 2] = ax * through[1] - ay * through[0]


@njit
def sideslip_fused(params: np.void, f: np.void, e: np.void, t_us: int) -> bool:
    """Whether it is time to fuse the sideslip of a vehicle that flies on its wings."""
    return (
        params.EKF2_FUSE_BETA != 0
        and e.on_wings
        and not e.landed
        and t_us - f.sideslip_t >= _SIDESLIP_US
    )


@njit
def fuse_sideslip(
    tuning: np.void,
    params: np.void,
    f: np.void,
    e: np.void,
    cov: np.ndarray,
    work: np.ndarray,
    t_us: int,
) -> None:
    """That wings meet the air without sideslip: v / u = 0, along span and nose.

    As in PX4 only the wind learns of it while GPS or vision tell the velocity.
    """
    dx, h, gain = work[0], work[1], work[2]
    _begin_wind(tuning, e, cov)
    through, q, axis = work[3], e.quat, e.airspeed_axis
    for k in range(3):
        through[k] = f.vel[k] - (e.wind[k] if k < 2 else 0.0)
    ax, ay, az = rotate(q[0], q[1], q[2], q[3], axis[0], axis[1], axis[2])
    sx, sy, sz = rotate(q[0], q[1], q[2], q[3], 0.0, 1.0, 0.0)
    ahead = ax * through[0] + ay * through[1] + az * through[2]
    if ahead < _FORWARD:
        return
    slip = (sx * through[0] + sy * through[1] + sz * through[2]) / ahead
    _derive(
        h, (sx - slip * ax) / ahead, (sy - slip * ay) / ahead, (sz - slip * az) / ahead, through
    )
    variance = params.EKF2_BETA_NOISE * params.EKF2_BETA_NOISE
    if max(f.gps_t, f.vision_t) > t_us - tuning.aid_time:
        ratio = fuse_some(cov, dx, h, gain, -slip, variance, params.EKF2_BETA_GATE, WIND, 2)
    else:
        ratio = fuse(cov, dx, h, gain, -slip, variance, params.EKF2_BETA_GATE)
    e.test_ratios[TEST_SIDESLIP] = ratio
    if ratio <= 1.0:
        f.sideslip_t = t_us


@njit
def _fuse_zero_velocity(tuning, f, e, cov, work, gyro, sigma, at_rest):
    """No velocity, to a standard deviation [m/s]; at rest the gyro shows its bias as well."""
    dx, h, gain = work[0], work[1], work[2]
    for k in range(3):
        h[:] = 0.0
        h[VEL + k] = 1.0
        fuse(cov, dx, h, gain, -f.vel[k], sigma * sigma, tuning.vel_gate)
        if at_rest:
            h[VEL + k] = 0.0
            h[GYRO_BIAS + k] = 1.0
            fuse(
                cov,
                dx,
                h,
                gain,
                gyro[k] - e.gyro_bias[k],
                tuning.zero_rate_noise**2,
                tuning.vel_gate,
            )


@njit
def vehicle_moving(tuning: np.void, ang_vel: np.ndarray, force: np.ndarray) -> bool:
    """Whether rate and specific force indicate motion."""
    rate = ang_vel[0] ** 2 + ang_vel[1] ** 2 + ang_vel[2] ** 2
    norm = math.sqrt(force[0] ** 2 + force[1] ** 2 + force[2] ** 2)
    return rate > tuning.rest_rate**2 or abs(norm - GRAVITY) > tuning.rest_force


@njit
def resting(tuning: np.void, f: np.void, e: np.void, t_us: int) -> bool:
    """Whether a vehicle is at rest: landed, and nothing has moved for a while."""
    return e.landed and t_us - f.moved_t > tuning.rest_time


@njit
def zero_velocity_due(tuning: np.void, f: np.void, at_rest: bool, t_us: int) -> bool:
    """Whether velocity is to be held at zero now: at rest, or without a position source."""
    aided = max(f.gps_t, f.vision_t, f.airspeed_t) > t_us - tuning.aid_time
    return t_us - f.zero_velocity_t >= _ZERO_VELOCITY_US and (at_rest or not aided)


@njit
def update_zero_velocity(
    tuning: np.void,
    f: np.void,
    e: np.void,
    cov: np.ndarray,
    work: np.ndarray,
    gyro: np.ndarray,
    at_rest: bool,
    t_us: int,
) -> None:
    """Zero-velocity update."""
    f.zero_velocity_t = t_us
    sigma = tuning.zero_velocity_noise if at_rest else tuning.no_aid_noise
    _fuse_zero_velocity(tuning, f, e, cov, work, gyro, sigma, at_rest)
