"""Aid sources: magnetometer, barometer, range finder and zero velocity.

`h` is a row of the measurement's Jacobian with respect to the error state, `dx` the pending
correction of that state and `gain` the product cov h; see filter.py.
"""

import math

import numpy as np

from xtdrone_dynamics.compiled import Record, njit
from xtdrone_dynamics.constants import GRAVITY
from xtdrone_dynamics.quaternion import rotate, rotate_inverse, to_matrix
from xtdrone_dynamics.shapes import Vector

from ..state.estimator_flags import (
    HEIGHT_BY_BARO,
    HEIGHT_BY_GPS,
    HEIGHT_BY_RANGE,
    HEIGHT_BY_VISION,
    TEST_BARO,
    TEST_MAG,
    TEST_RANGE,
)
from .delayed_fusion import delayed_position
from .filter import Number, Numbers, fuse, fuse_partially, reset_covariance
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
    VehicleEkf,
)

RANGE_IF_LOW_AND_SLOW, RANGE_ALWAYS = 1, 2  # values of EKF2_RNG_CTRL; 0 = never
RANGE_COS_MAX_TILT = 0.7071  # cosine of the largest tilt at which a range is used, as in EKF2
_ZERO_VELOCITY_US = 100_000  # period of the zero-velocity update [us]


@njit
def height_reference(ekf: VehicleEkf, t_us: int) -> int:
    """Returns the height reference: EKF2_HGT_REF's while its source is available, else GPS."""
    params, state = ekf.params, ekf.state
    since = t_us - ekf.tuning.aid_time
    if (
        params.EKF2_HGT_REF == HEIGHT_BY_BARO
        and params.EKF2_BARO_CTRL != 0
        and state.baro_t > since
    ):
        return HEIGHT_BY_BARO
    if (
        params.EKF2_HGT_REF == HEIGHT_BY_RANGE
        and params.EKF2_RNG_CTRL != 0
        and state.range_t > since
    ):
        return HEIGHT_BY_RANGE
    if (
        params.EKF2_HGT_REF == HEIGHT_BY_VISION
        and params.EKF2_EV_CTRL & EV_HEIGHT
        and state.vision_t > since
    ):
        return HEIGHT_BY_VISION
    return HEIGHT_BY_GPS


@njit
def fuse_mag(
    quat: Numbers,
    earth: Numbers,
    mag: Numbers,
    bias: Numbers,
    variance: Number,
    gate: Number,
    cov: np.ndarray,
    work: np.ndarray,
) -> None:
    """Fuses the three axes of a magnetometer, for one vehicle or for vehicles in lanes.

    Args:
        quat: (4,) attitude xyzw, body to world.
        earth: (3,) the Earth's field, world [T].
        mag: (3,) reading, body [T].
        bias: (3,) magnetometer bias, body [T].
        variance: Variance of the reading [T^2].
        gate: Innovation gate [standard deviations].
        cov: (SIZE, SIZE) covariance.
        work: (4 or more, SIZE) scratch. Row 0 is the pending correction; row 3 receives the three
            test ratios.
    """
    dx, h, gain, ratios = work[0], work[1], work[2], work[3]
    rotation = to_matrix(quat[0], quat[1], quat[2], quat[3])
    mx, my, mz = earth[0], earth[1], earth[2]
    body = rotate_inverse(quat[0], quat[1], quat[2], quat[3], mx, my, mz)
    for k in range(3):
        h[:] = 0.0
        rx, ry, rz = (rotation[k], rotation[3 + k], rotation[6 + k])
        # Row k of R' [m]x, from R'(m + m x attitude) to first order.
        h[ATT] = ry * mz - rz * my
        h[ATT + 1] = rz * mx - rx * mz
        h[ATT + 2] = rx * my - ry * mx
        h[EARTH], h[EARTH + 1], h[EARTH + 2] = rx, ry, rz
        h[FIELD_BIAS + k] = 1.0
        ratios[k] = fuse(cov, dx, h, gain, mag[k] - body[k] - bias[k], variance, gate)


@njit
def check_mag(ekf: VehicleEkf, ratios: np.ndarray, t_us: int) -> None:
    """Records the magnetometer's test ratios; resets its bias if it was rejected for too long."""
    estimate, state = ekf.estimate, ekf.state
    passed = True
    estimate.test_ratios[TEST_MAG] = 0.0
    for k in range(3):
        estimate.test_ratios[TEST_MAG] = max(estimate.test_ratios[TEST_MAG], ratios[k])
        passed = passed and ratios[k] <= 1.0
    if passed:
        state.mag_t = t_us
    elif t_us - state.mag_t > ekf.tuning.mag_reset_time:  # the bias has changed
        reset_covariance(ekf.cov, FIELD_BIAS, 3, ekf.tuning.field_bias_reset_sigma**2)
        state.mag_t = t_us


@njit
def baro_is_continuous(ekf: VehicleEkf, height: float, t_us: int) -> bool:
    """Returns whether to fuse a barometric height [m]; resets the offset after a long gap."""
    state = ekf.state
    if t_us - state.baro_t <= ekf.tuning.reset_time:
        return True
    state.baro_offset = height - state.pos[2]
    reset_covariance(ekf.cov, BARO_OFFSET, 1, ekf.cov[POS + 2, POS + 2] + ekf.tuning.baro_noise**2)
    state.baro_t = t_us
    return False


@njit
def fuse_baro(
    innovation: Number,
    offset: Number,
    variance: Number,
    gate: Number,
    cov: np.ndarray,
    work: np.ndarray,
) -> Number:
    """Fuses a barometric height, which is the vehicle's height plus a slow offset.

    Works on one vehicle or on vehicles in lanes.

    Args:
        innovation: Measured minus predicted height [m]; NaN = no reading.
        offset: 1 = the offset is estimated; 0 = it counts as known, because the barometer is the
            height reference.
        variance: Variance of the reading [m^2].
        gate, cov, work: See fuse_mag().

    Returns:
        The test ratio.
    """
    h = work[1]
    h[:] = 0.0
    h[POS + 2] = 1.0
    h[BARO_OFFSET] = offset
    return fuse(cov, work[0], h, work[2], innovation, variance, gate)


@njit
def check_baro(ekf: VehicleEkf, ratio: float, t_us: int) -> None:
    """Records the barometer's test ratio."""
    ekf.estimate.test_ratios[TEST_BARO] = ratio
    if ratio <= 1.0:
        ekf.state.baro_t = t_us


@njit
def fuse_range(
    ekf: VehicleEkf, slots: tuple[int, int, float], delay: float, distance: float, t_us: int
) -> None:
    """Fuses a range finder's distance to the ground [m], measured `delay` [s] ago.

    It observes the terrain height and, depending on EKF2_HGT_REF and EKF2_RNG_CTRL, the
    vehicle's height. As in EKF2, a beam that is too far from vertical is ignored.
    """
    params, estimate, state = ekf.params, ekf.estimate, ekf.state
    dx, h, gain, quat = ekf.work[0], ekf.work[1], ekf.work[2], ekf.history[slots[1]].quat
    axis, mount = estimate.range_axis, estimate.range_pos
    beam = rotate(quat[0], quat[1], quat[2], quat[3], axis[0], axis[1], axis[2])
    arm = rotate(quat[0], quat[1], quat[2], quat[3], mount[0], mount[1], mount[2])
    if beam[2] > -RANGE_COS_MAX_TILT:
        return
    sigma = params.EKF2_RNG_NOISE + params.EKF2_RNG_SFE * distance
    variance = (sigma * beam[2]) ** 2
    below = -beam[2] * distance - arm[2]  # depth of the ground below the centre of gravity [m]
    height = delayed_position(ekf, slots, delay, 2)
    if math.isnan(estimate.terrain) or t_us - state.range_t > ekf.tuning.reset_time:
        estimate.terrain = height - below
        for k in range(SIZE):  # the terrain is as uncertain as the vehicle's own height
            ekf.cov[TERRAIN, k] = ekf.cov[POS + 2, k]
            ekf.cov[k, TERRAIN] = ekf.cov[POS + 2, k]
        ekf.cov[TERRAIN, TERRAIN] = ekf.cov[POS + 2, POS + 2] + variance
        state.range_t = t_us
        return
    reference = height_reference(ekf, t_us) == HEIGHT_BY_RANGE
    h[:] = 0.0
    h[POS + 2] = 1.0
    h[VEL + 2] = -delay
    h[TERRAIN] = 0.0 if reference else -1.0
    h[ATT] = distance * beam[1]
    h[ATT + 1] = -distance * beam[0]
    innovation = below - height + estimate.terrain
    if reference or _range_aids_height(params, below, state.vel):
        ratio = fuse(ekf.cov, dx, h, gain, innovation, variance, params.EKF2_RNG_GATE)
    else:
        ratio = fuse_partially(
            ekf.cov, dx, h, gain, innovation, variance, params.EKF2_RNG_GATE, TERRAIN, 1
        )
    estimate.test_ratios[TEST_RANGE] = ratio
    if ratio <= 1.0:
        state.range_t = t_us


@njit
def _range_aids_height(params: Record, below: float, vel: np.ndarray) -> bool:
    """Returns whether EKF2_RNG_CTRL lets the range aid the height beside the height reference."""
    if params.EKF2_RNG_CTRL == RANGE_IF_LOW_AND_SLOW:
        slow = math.hypot(vel[0], vel[1]) < params.EKF2_RNG_A_VMAX
        return below < params.EKF2_RNG_A_HMAX and slow
    return params.EKF2_RNG_CTRL == RANGE_ALWAYS


@njit
def predict_terrain(ekf: VehicleEkf, dt: float) -> None:
    """Adds the process noise of the terrain height for a step of dt [s] at the present speed."""
    params = ekf.params
    if math.isnan(ekf.estimate.terrain):
        return
    vel = ekf.state.vel
    variance = ekf.tuning.terrain_noise**2 * dt
    if not _range_aids_height(params, ekf.state.pos[2] - ekf.estimate.terrain, vel):
        slope = params.EKF2_TERR_GRAD
        variance = (
            (params.EKF2_TERR_NOISE**2 + slope * slope * (vel[0] ** 2 + vel[1] ** 2)) * dt * dt
        )
    ekf.cov[TERRAIN, TERRAIN] += variance


@njit
def _fuse_zero_velocity(ekf: VehicleEkf, gyro: np.ndarray, sigma: float, at_rest: bool) -> None:
    """Fuses zero velocity with a standard deviation [m/s]; at rest the gyro bias as well."""
    tuning = ekf.tuning
    dx, h, gain = ekf.work[0], ekf.work[1], ekf.work[2]
    for k in range(3):
        h[:] = 0.0
        h[VEL + k] = 1.0
        fuse(ekf.cov, dx, h, gain, -ekf.state.vel[k], sigma * sigma, tuning.vel_gate)
        if at_rest:
            h[VEL + k] = 0.0
            h[GYRO_BIAS + k] = 1.0
            fuse(
                ekf.cov,
                dx,
                h,
                gain,
                gyro[k] - ekf.estimate.gyro_bias[k],
                tuning.zero_rate_noise**2,
                tuning.vel_gate,
            )


@njit
def is_moving(tuning: Record, ang_vel: np.ndarray, force: Vector) -> bool:
    """Returns whether angular velocity (3,) [rad/s] or specific force (3,) [m/s^2] show motion."""
    rate = ang_vel[0] ** 2 + ang_vel[1] ** 2 + ang_vel[2] ** 2
    norm = math.sqrt(force[0] ** 2 + force[1] ** 2 + force[2] ** 2)
    return rate > tuning.rest_rate**2 or abs(norm - GRAVITY) > tuning.rest_force


@njit
def is_at_rest(ekf: VehicleEkf, t_us: int) -> bool:
    """Returns whether the vehicle is at rest: landed, and without motion for rest_time."""
    return ekf.estimate.landed and t_us - ekf.state.moved_t > ekf.tuning.rest_time


@njit
def zero_velocity_due(ekf: VehicleEkf, at_rest: bool, t_us: int) -> bool:
    """Returns whether a zero-velocity update is due: at rest, or without a position source."""
    state = ekf.state
    aided = max(state.gps_t, state.vision_t, state.airspeed_t) > t_us - ekf.tuning.aid_time
    return t_us - state.zero_velocity_t >= _ZERO_VELOCITY_US and (at_rest or not aided)


@njit
def update_zero_velocity(ekf: VehicleEkf, gyro: np.ndarray, at_rest: bool, t_us: int) -> None:
    """Applies a zero-velocity update; gyro (3,) is the reading [rad/s]."""
    ekf.state.zero_velocity_t = t_us
    sigma = ekf.tuning.zero_velocity_noise if at_rest else ekf.tuning.no_aid_noise
    _fuse_zero_velocity(ekf, gyro, sigma, at_rest)
