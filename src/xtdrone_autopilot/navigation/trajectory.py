"""Jerk-limited motion: the trajectory that AUTO modes and sticks follow, as PX4 makes it.

Each axis goes to a velocity by three phases: a constant jerk, a constant acceleration, and the
opposite jerk, which leaves no acceleration. Axes flown together take equally long.
"""

import math

import numpy as np

from xtdrone_dynamics.compiled import njit


@njit
def speed_to_slow(distance: float, end: float, acc: float, jerk: float) -> float:
    """Largest speed from which a braking within a distance leaves a speed [m/s].

    The braking is one of constant deceleration, begun as late as the jerk delays it.

    Args:
        distance: [m].
        end: The speed that may be left [m/s].
        acc: Of the braking [m/s^2].
        jerk: [m/s^3].
    """
    b = 4.0 * acc * acc / jerk
    return max(0.5 * (-b + math.sqrt(b * b + 4.0 * (2.0 * acc * distance + end * end))), end)


@njit
def stopping_distance(speed: float, gain: float, acc: float, jerk: float) -> float:
    """Distance in which a motion comes to rest, with some to spare [m].

    Its acceleration first goes to nothing under the jerk, then it brakes.

    Args:
        speed: [m/s].
        gain: Acceleration along the motion now; only more than none counts [m/s^2].
        acc: Of the braking [m/s^2].
        jerk: [m/s^3].
    """
    gain = max(gain, 0.0)
    time = gain / jerk
    top = speed + 0.5 * gain * time
    return speed * time + gain * time * time / 3.0 + top * (top / (2.0 * acc) + acc / jerk)


@njit
def _first_phase(acc, root, jerk, top, longest):
    """Duration of the first phase [s]: the root that leaves both jerks a duration, else 0.

    Args:
        acc: Acceleration now [m/s^2].
        root: (low, high) solutions [s].
        jerk: With its sign [m/s^3].
        top: Largest acceleration [m/s^2].
        longest: Both jerks together may last so long [s].
    """
    found = 0.0
    for k in (1, 0):  # the later root first where jerk > 0: it is the one that speeds up
        first = root[k]
        last = acc / jerk + first
        if first >= 0.0 and last >= 0.0 and first + last <= longest:
            found = first
            break
    reached = acc + jerk * found
    if reached > top:
        found = (top - acc) / jerk
    elif reached < -top:
        found = (-top - acc) / jerk
    return max(found, 0.0)


@njit
def _phases(vel, acc, wanted, top, jerk, total):
    """Jerk with its sign [m/s^3] and durations of the three phases [s] to a velocity.

    Args:
        vel, acc, wanted: Velocity, acceleration and the velocity to reach [m/s, m/s^2].
        top: Largest acceleration [m/s^2].
        jerk: Largest [m/s^3].
        total: Of the durations [s]; 0 = as short as can be.
    """
    # With the acceleration taken back at once, is the velocity too low or too high?
    ahead = wanted - (vel + acc * abs(acc) / (2.0 * jerk))
    if ahead == 0.0:
        ahead = acc
    if ahead == 0.0:
        return 0.0, 0.0, 0.0, 0.0
    j = math.copysign(jerk, ahead)
    gain = wanted - vel
    if total > 0.0:
        square = total * total * j * j + 2.0 * total * acc * j - acc * acc - 4.0 * j * gain
        t1 = 0.0
        if square >= 0.0:
            half = math.sqrt(square)
            middle = j * total - acc
            t1 = _first_phase(
                acc, ((middle + half) / (2.0 * j), (middle - half) / (2.0 * j)), j, top, total
            )
        t3 = max(acc / j + t1, 0.0)
        return j, t1, max(total - t1 - t3, 0.0), t3
    square = 0.5 * acc * acc + j * gain
    t1 = 0.0
    if square >= 0.0:
        half = math.sqrt(square)
        t1 = _first_phase(acc, ((-acc - half) / j, (-acc + half) / j), j, top, math.inf)
    t3 = max(acc / j + t1, 0.0)
    peak = acc + j * t1
    t2 = 0.0
    if abs(peak) > 1e-9:
        gained = acc * t1 + 0.5 * j * t1 * t1 + peak * t3 - 0.5 * j * t3 * t3
        t2 = max((gain - gained) / peak, 0.0)
    return j, t1, t2, t3


@njit
def _move(v, k, jerk, time):
    """Axis k of the trajectory under a constant jerk for a time [s]."""
    acc, vel = v.smooth_acc[k], v.smooth_vel[k]
    v.smooth_acc[k] = acc + jerk * time
    v.smooth_vel[k] = vel + (acc + 0.5 * jerk * time) * time
    v.smooth_pos[k] += (vel + (0.5 * acc + jerk * time / 6.0) * time) * time


@njit
def advance(
    v: np.void,
    first: int,
    last: int,
    wanted: tuple[float, float, float],
    acc_xy: float,
    acc_z: float,
    jerk: float,
    dt: float,
) -> None:
    """One step of axes first to last - 1 of the trajectory to a velocity.

    Args:
        v: Record of VEHICLE_STATUS.
        first, last: The axes; 0 and 3 for all.
        wanted: Velocity [m/s].
        acc_xy, acc_z: Largest acceleration of the horizontal axes and the vertical one [m/s^2].
        jerk: Largest [m/s^3].
        dt: Length of the step [s].
    """
    longest = 0.0
    for k in range(first, last):
        top = acc_z if k == 2 else acc_xy
        _, t1, t2, t3 = _phases(v.smooth_vel[k], v.smooth_acc[k], wanted[k], top, jerk, 0.0)
        longest = max(longest, t1 + t2 + t3)
    for k in range(first, last):
        top = acc_z if k == 2 else acc_xy
        j, t1, t2, t3 = _phases(v.smooth_vel[k], v.smooth_acc[k], wanted[k], top, jerk, 0.0)
        if t1 + t2 + t3 < longest:
            j, t1, t2, t3 = _phases(v.smooth_vel[k], v.smooth_acc[k], wanted[k], top, jerk, longest)
        left = dt
        for phase in range(3):
            time = min(left, t1 if phase == 0 else (t2 if phase == 1 else t3))
            if time > 0.0:
                _move(v, k, j if phase == 0 else (0.0 if phase == 1 else -j), time)
                left -= time
        if left > 0.0:
            v.smooth_acc[k] = 0.0
            _move(v, k, 0.0, left)
