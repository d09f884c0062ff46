"""Measurements of the past: where a vehicle was and how fast, some steps ago, as is known now."""

import math

from xtdrone_dynamics.compiled import njit
from xtdrone_dynamics.constants import GRAVITY
from xtdrone_dynamics.quaternion import rotate, to_matrix

from .filter import forget, fuse
from .flags import TEST_VEL
from .state import ACCEL_BIAS, ATT, BARO_OFFSET, FIRST, LATER, NEVER, POS, RING, VEL


@njit
def record(past, memory, quat, ang_vel, antenna):
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
def find(times, count, usable, t_us):
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
def place_then(memory, past, slots, delay, pos, vel, k):
    """Axis k of where the vehicle was `delay` [s] ago, as is known now [m]."""
    older, newer, weight = slots
    then = (1.0 - weight) * past[older].dp[k] + weight * past[newer].dp[k]
    return pos[k] - delay * (vel[k] - memory.dv[k]) - memory.dp[k] + then


@njit
def fuse_place(memory, past, slots, delay, cov, work, pos, vel, place, accuracy, gate, antenna,
               first, last, ratios, test, test_height):
    """A measured position that was true `delay` [s] ago.

    Args:
        past: The vehicle's ring.
        slots: From find.
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
        predicted = place_then(memory, past, slots, delay, pos, vel, k)
        if antenna:
            predicted += past[slots[0]].antenna_pos[k]
        h[:] = 0.0
        h[POS + k] = 1.0
        h[VEL + k] = -delay
        sigma = accuracy[0] if k < 2 else accuracy[1]
        ratio = fuse(cov, dx, h, gain, place[k] - predicted, sigma * sigma, gate)
        if k < 2:
            ratios[test] = max(ratios[test], ratio)
        else:
            ratios[test_height] = ratio
        good = good and ratio <= 1.0
    return good


@njit
def fuse_velocity(par, memory, past, slots, delay, cov, work, vel, quat, gps_vel, ratios):
    """A measured velocity of the antenna that was true `delay` [s] ago; as fuse_place."""
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
        ratio = fuse(cov, dx, h, gain, gps_vel[k] - predicted, sigma * sigma, par.vel_gate)
        ratios[TEST_VEL] = max(ratios[TEST_VEL], ratio)
        good = good and ratio <= 1.0
    return good


@njit
def locate(memory, past, slots, delay, cov, pos, vel, place, place_vel, accuracy, vel_sigma,
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
            forget(cov, VEL + k, 1, vel_sigma * vel_sigma)
        pos[k] = place_k + delay * vel[k] + gone_p
        sigma = accuracy[0] if k < 2 else accuracy[1]
        forget(cov, POS + k, 1, sigma * sigma)
    forget(cov, BARO_OFFSET, 1, accuracy[1] ** 2)
    memory.jump = FIRST if memory.located_t == NEVER else LATER
