"""Delayed fusion: measurements of the past against where a vehicle was, as is known now."""

import math

import numpy as np

from xtdrone_dynamics.compiled import njit
from xtdrone_dynamics.constants import GRAVITY
from xtdrone_dynamics.quaternion import rotate, to_matrix

from ..state.estimator_flags import TEST_VEL
from .filter import fuse, reset_covariance
from .state import ACCEL_BIAS, ATT, BARO_OFFSET, FIRST_FIX, HISTORY, NEVER, POS, POSITION_RESET, VEL


@njit
def record(past: np.void, f: np.void, e: np.void) -> None:
    """Keeps this step for measurements that will tell of it: past is one record of PAST."""
    quat, ang_vel, antenna = e.quat, e.ang_vel, e.gps_pos
    for k in range(4):
        past.quat[k] = quat[k]
    arm = rotate(quat[0], quat[1], quat[2], quat[3], antenna[0], antenna[1], antenna[2])
    speed = rotate(
        quat[0],
        quat[1],
        quat[2],
        quat[3],
        ang_vel[1] * antenna[2] - ang_vel[2] * antenna[1],
        ang_vel[2] * antenna[0] - ang_vel[0] * antenna[2],
        ang_vel[0] * antenna[1] - ang_vel[1] * antenna[0],
    )
    for k in range(3):
        past.dv[k] = f.dv[k]
        past.dp[k] = f.dp[k]
        past.antenna_pos[k] = arm[k]
        past.antenna_vel[k] = speed[k]


@njit
def find(times: np.ndarray, count: int, usable: int, t_us: int) -> tuple[int, int, float]:
    """The steps in the history around a time.

    Args:
        times: (HISTORY,) end of each step [us].
        count: Steps so far; the newest is at count % HISTORY.
        usable: How many of the steps the vehicle has in its history.
        t_us: The time.

    Returns:
        (older slot, newer slot, weight of the newer); the slots are -1 where the
        history does not reach back so far. A time to come is taken for the newest.
    """
    newer = count % HISTORY
    if t_us >= times[newer]:
        return newer, newer, 1.0
    for back in range(1, min(usable, HISTORY)):
        older = (count - back) % HISTORY
        if times[older] <= t_us:
            return older, newer, (t_us - times[older]) / (times[newer] - times[older])
        newer = older
    return -1, -1, 0.0


@njit
def delayed_position(
    f: np.void, past: np.ndarray, slots: tuple[int, int, float], delay: float, k: int
) -> float:
    """Axis k of where the vehicle was `delay` [s] ago, as is known now [m]."""
    older, newer, weight = slots
    then = (1.0 - weight) * past[older].dp[k] + weight * past[newer].dp[k]
    return f.pos[k] - delay * (f.vel[k] - f.dv[k]) - f.dp[k] + then


@njit
def fuse_position(
    f: np.void,
    past: np.ndarray,
    slots: tuple[int, int, float],
    delay: float,
    cov: np.ndarray,
    work: np.ndarray,
    measured: np.ndarray,
    accuracy: tuple[float, float],
    gate: float,
    antenna: bool,
    first: int,
    last: int,
    ratios: np.ndarray,
    test: int,
    test_height: int,
) -> bool:
    """A measured position that was true `delay` [s] ago.

    Args:
        f: The vehicle's record of FILTER.
        past: Its history.
        slots: From find.
        delay: [s].
        cov: Its covariance.
        work: Rows of scratch; the first is the pending correction.
        measured: (3,) world [m].
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
        predicted = delayed_position(f, past, slots, delay, k)
        if antenna:
            predicted += past[slots[0]].antenna_pos[k]
        h[:] = 0.0
        h[POS + k] = 1.0
        h[VEL + k] = -delay
        sigma = accuracy[0] if k < 2 else accuracy[1]
        ratio = fuse(cov, dx, h, gain, measured[k] - predicted, sigma * sigma, gate)
        if k < 2:
            ratios[test] = max(ratios[test], ratio)
        else:
            ratios[test_height] = ratio
        good = good and ratio <= 1.0
    return good


@njit
def fuse_velocity(
    tuning: np.void,
    f: np.void,
    e: np.void,
    past: np.ndarray,
    slots: tuple[int, int, float],
    delay: float,
    cov: np.ndarray,
    work: np.ndarray,
    gps_vel: np.ndarray,
) -> bool:
    """A measured velocity of the antenna that was true `delay` [s] ago; as fuse_position."""
    older, newer, weight = slots
    dx, h, gain = work[0], work[1], work[2]
    r = to_matrix(e.quat[0], e.quat[1], e.quat[2], e.quat[3])
    then = work[3]
    for k in range(3):
        then[k] = (1.0 - weight) * past[older].dv[k] + weight * past[newer].dv[k]
    # Specific force summed over the delay: attitude errors turned it into velocity errors.
    gone = (f.dv[0] - then[0], f.dv[1] - then[1], f.dv[2] - then[2] + GRAVITY * delay)
    good = True
    e.test_ratios[TEST_VEL] = 0.0
    for k in range(3):
        predicted = f.vel[k] - f.dv[k] + then[k] + past[older].antenna_vel[k]
        h[:] = 0.0
        h[VEL + k] = 1.0
        y, z = (k + 1) % 3, (k + 2) % 3
        h[ATT + y] = -gone[z]
        h[ATT + z] = gone[y]
        for j in range(3):
            h[ACCEL_BIAS + j] = r[3 * k + j] * delay
        sigma = tuning.gps_vel_noise if k < 2 else tuning.gps_vel_noise_vertical
        ratio = fuse(cov, dx, h, gain, gps_vel[k] - predicted, sigma * sigma, tuning.vel_gate)
        e.test_ratios[TEST_VEL] = max(e.test_ratios[TEST_VEL], ratio)
        good = good and ratio <= 1.0
    return good


@njit
def reset_to_fix(
    f: np.void,
    past: np.ndarray,
    slots: tuple[int, int, float],
    delay: float,
    cov: np.ndarray,
    measured: np.ndarray,
    measured_vel: np.ndarray,
    accuracy: tuple[float, float],
    vel_sigma: float,
    antenna: bool,
) -> None:
    """Position and velocity straight from a fix: the first one, or after too many refusals.

    NaN in measured_vel leaves the velocity as it is.
    """
    older = slots[0]
    for k in range(3):
        gone_v = f.dv[k] - past[older].dv[k]
        gone_p = f.dp[k] - past[older].dp[k] - delay * f.dv[k]
        pos_k, vel_k = measured[k], measured_vel[k]
        if antenna:
            pos_k -= past[older].antenna_pos[k]
            vel_k -= past[older].antenna_vel[k]
        if not math.isnan(vel_k):
            f.vel[k] = vel_k + gone_v
            reset_covariance(cov, VEL + k, 1, vel_sigma * vel_sigma)
        f.pos[k] = pos_k + delay * f.vel[k] + gone_p
        sigma = accuracy[0] if k < 2 else accuracy[1]
        reset_covariance(cov, POS + k, 1, sigma * sigma)
    reset_covariance(cov, BARO_OFFSET, 1, accuracy[1] ** 2)
    f.output_reset = FIRST_FIX if f.position_t == NEVER else POSITION_RESET
