"""Delayed fusion: measurements of the past, compared with the present estimate of that past.

`dv` and `dp` are the integrals of acceleration since the alignment, once and twice. The state of
the past is the present one less the increments since then.
"""

import math

import numpy as np

from xtdrone_dynamics.compiled import Record, njit
from xtdrone_dynamics.constants import GRAVITY
from xtdrone_dynamics.quaternion import rotate, to_matrix

from ..state.estimator_flags import TEST_VEL
from .filter import fuse, reset_covariance
from .state import (
    ACCEL_BIAS,
    ATT,
    BARO_OFFSET,
    FIRST_FIX,
    HISTORY_STEPS,
    NEVER,
    POS,
    POSITION_RESET,
    VEL,
    VehicleEkf,
)


@njit
def store_past_state(past: Record, state: Record, estimate: Record) -> None:
    """Stores this step in `past`, a record of PAST_STATE, for measurements that arrive later."""
    quat, ang_vel, antenna = estimate.quat, estimate.ang_vel, estimate.gps_pos
    for k in range(4):
        past.quat[k] = quat[k]
    arm = rotate(quat[0], quat[1], quat[2], quat[3], antenna[0], antenna[1], antenna[2])
    arm_vel = rotate(
        quat[0],
        quat[1],
        quat[2],
        quat[3],
        ang_vel[1] * antenna[2] - ang_vel[2] * antenna[1],
        ang_vel[2] * antenna[0] - ang_vel[0] * antenna[2],
        ang_vel[0] * antenna[1] - ang_vel[1] * antenna[0],
    )
    for k in range(3):
        past.dv[k] = state.dv[k]
        past.dp[k] = state.dp[k]
        past.antenna_pos[k] = arm[k]
        past.antenna_vel[k] = arm_vel[k]


@njit
def find_slots(times: np.ndarray, count: int, usable: int, t_us: int) -> tuple[int, int, float]:
    """Finds the two steps in the history around a time.

    Args:
        times: (HISTORY_STEPS,) end of each step [us].
        count: Steps so far; the newest is at count % HISTORY_STEPS.
        usable: Number of steps that the vehicle's history holds.
        t_us: The time [us]; one in the future gives the newest step.

    Returns:
        (older slot, newer slot, weight of the newer). The slots are -1 if the history does not
        reach back that far.
    """
    newer = count % HISTORY_STEPS
    if t_us >= times[newer]:
        return newer, newer, 1.0
    for back in range(1, min(usable, HISTORY_STEPS)):
        older = (count - back) % HISTORY_STEPS
        if times[older] <= t_us:
            return older, newer, (t_us - times[older]) / (times[newer] - times[older])
        newer = older
    return -1, -1, 0.0


@njit
def delayed_position(
    ekf: VehicleEkf, slots: tuple[int, int, float], delay: float, axis: int
) -> float:
    """Returns the position along an axis (0, 1, 2) `delay` [s] ago, world [m]."""
    state = ekf.state
    older, newer, weight = slots
    past_dp = (1.0 - weight) * ekf.history[older].dp[axis] + weight * ekf.history[newer].dp[axis]
    return state.pos[axis] - delay * (state.vel[axis] - state.dv[axis]) - state.dp[axis] + past_dp


@njit
def fuse_position(
    ekf: VehicleEkf,
    slots: tuple[int, int, float],
    delay: float,
    measured_pos: np.ndarray,
    accuracy: tuple[float, float],
    gate: float,
    antenna: bool,
    first: int,
    last: int,
    test_xy: int,
    test_z: int,
) -> bool:
    """Fuses a position that was measured `delay` [s] ago.

    Args:
        ekf: Filter of the vehicle.
        slots: From find_slots().
        delay: Age of the measurement [s].
        measured_pos: (3,) world [m].
        accuracy: (horizontal, vertical) standard deviations [m].
        gate: Innovation gate [standard deviations].
        antenna: True = position of the GPS antenna; False = of the centre of gravity.
        first, last: Axes first to last - 1 are fused.
        test_xy, test_z: Indices of the horizontal and the vertical test in ESTIMATE's test_ratios.

    Returns:
        Whether all axes passed their tests.
    """
    ratios = ekf.estimate.test_ratios
    dx, h, gain = ekf.work[0], ekf.work[1], ekf.work[2]
    passed = True
    if first == 0:
        ratios[test_xy] = 0.0
    for k in range(first, last):
        predicted = delayed_position(ekf, slots, delay, k)
        if antenna:
            predicted += ekf.history[slots[0]].antenna_pos[k]
        h[:] = 0.0
        h[POS + k] = 1.0
        h[VEL + k] = -delay
        sigma = accuracy[0] if k < 2 else accuracy[1]
        ratio = fuse(ekf.cov, dx, h, gain, measured_pos[k] - predicted, sigma * sigma, gate)
        if k < 2:
            ratios[test_xy] = max(ratios[test_xy], ratio)
        else:
            ratios[test_z] = ratio
        passed = passed and ratio <= 1.0
    return passed


@njit
def fuse_velocity(
    ekf: VehicleEkf, slots: tuple[int, int, float], delay: float, measured_vel: np.ndarray
) -> bool:
    """Fuses a velocity (3,) of the GPS antenna, measured `delay` [s] ago, world [m/s].

    Other arguments as in fuse_position().

    Returns:
        Whether all axes passed their tests.
    """
    tuning, estimate, state = ekf.tuning, ekf.estimate, ekf.state
    older, newer, weight = slots
    dx, h, gain = ekf.work[0], ekf.work[1], ekf.work[2]
    rotation = to_matrix(estimate.quat[0], estimate.quat[1], estimate.quat[2], estimate.quat[3])
    past_dv = ekf.work[3]
    for k in range(3):
        past_dv[k] = (1.0 - weight) * ekf.history[older].dv[k] + weight * ekf.history[newer].dv[k]
    # Integral of the specific force over the delay, which an attitude error turns into a velocity
    # error.
    accumulated = (
        state.dv[0] - past_dv[0],
        state.dv[1] - past_dv[1],
        state.dv[2] - past_dv[2] + GRAVITY * delay,
    )
    passed = True
    estimate.test_ratios[TEST_VEL] = 0.0
    for k in range(3):
        predicted = state.vel[k] - state.dv[k] + past_dv[k] + ekf.history[older].antenna_vel[k]
        h[:] = 0.0
        h[VEL + k] = 1.0
        j1, j2 = (k + 1) % 3, (k + 2) % 3
        h[ATT + j1] = -accumulated[j2]
        h[ATT + j2] = accumulated[j1]
        for j in range(3):
            h[ACCEL_BIAS + j] = rotation[3 * k + j] * delay
        sigma = tuning.gps_vel_noise if k < 2 else tuning.gps_vel_noise_vertical
        ratio = fuse(
            ekf.cov, dx, h, gain, measured_vel[k] - predicted, sigma * sigma, tuning.vel_gate
        )
        estimate.test_ratios[TEST_VEL] = max(estimate.test_ratios[TEST_VEL], ratio)
        passed = passed and ratio <= 1.0
    return passed


@njit
def reset_to_fix(
    ekf: VehicleEkf,
    slots: tuple[int, int, float],
    delay: float,
    measured_pos: np.ndarray,
    measured_vel: np.ndarray,
    accuracy: tuple[float, float],
    vel_sigma: float,
    antenna: bool,
) -> None:
    """Resets position and velocity to a fix: the first one, or after a long rejection.

    Args:
        ekf: Filter of the vehicle.
        slots, delay, accuracy, antenna: As in fuse_position().
        measured_pos: (3,) world [m].
        measured_vel: (3,) world [m/s]; NaN leaves the velocity as it is.
        vel_sigma: Standard deviation of measured_vel [m/s].
    """
    state = ekf.state
    older = slots[0]
    for k in range(3):
        dv_since = state.dv[k] - ekf.history[older].dv[k]
        dp_since = state.dp[k] - ekf.history[older].dp[k] - delay * state.dv[k]
        pos_k, vel_k = measured_pos[k], measured_vel[k]
        if antenna:
            pos_k -= ekf.history[older].antenna_pos[k]
            vel_k -= ekf.history[older].antenna_vel[k]
        if not math.isnan(vel_k):
            state.vel[k] = vel_k + dv_since
            reset_covariance(ekf.cov, VEL + k, 1, vel_sigma * vel_sigma)
        state.pos[k] = pos_k + delay * state.vel[k] + dp_since
        sigma = accuracy[0] if k < 2 else accuracy[1]
        reset_covariance(ekf.cov, POS + k, 1, sigma * sigma)
    reset_covariance(ekf.cov, BARO_OFFSET, 1, accuracy[1] ** 2)
    state.output_reset = FIRST_FIX if state.position_t == NEVER else POSITION_RESET
