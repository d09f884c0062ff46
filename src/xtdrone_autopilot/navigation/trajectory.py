"""Jerk-limited motion: the trajectory that AUTO modes and sticks follow, as PX4 makes it.

Each axis goes to a velocity by three phases: a constant jerk, a constant acceleration, and the
opposite jerk, which leaves no acceleration. Axes flown together take equally long.
"""

import math

import numpy as np

from xtdrone_dynamics.compiled import Record, njit


@njit
def speed_to_slow(distance: float, end: float, acc: float, jerk: float) -> float:
    """Largest speed from which a braking within a distance leaves a speed [m/s].

    The braking is one of constant deceleration, begun as late as the jerk delays it.

    Args:
        distance: [m].
        end: The speed that may be left [m/s].
        acc: Acceleration of the braking [m/s^2].
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
        acc: Acceleration of the braking [m/s^2].
        jerk: [m/s^3].
    """
    gain = max(gain, 0.0)
    time = gain / jerk
    top = speed + 0.5 * gain * time
    return speed * time + gain * time * time / 3.0 + top * (top / (2.0 * acc) + acc / jerk)


@njit
def _first_phase(
    acc: float, root: tuple[float, float], jerk: float, top: float, longest: float
) -> float:
    """Duration of the first phase [s]: the root that leaves both jerks a duration, else 0.

    Args:
        acc: Acceleration now [m/s^2].
        root: (low, high) solutions [s].
        jerk: With its sign [m/s^3].
        top: Largest acceleration [m/s^2].
        longest: Both jerks together may last so long [s].
    """
    duration = 0.0
    for k in (1, 0):  # the later root first where jerk > 0: it is the one that speeds up
        first = root[k]
        last = acc / jerk + first
        if first >= 0.0 and last >= 0.0 and first + last <= longest:
            duration = first
            break
    reached = acc + jerk * duration
    if reached > top:
        duration = (top - acc) / jerk
    elif reached < -top:
        duration = (-top - acc) / jerk
    return max(duration, 0.0)


@njit
def _phases(
    vel: float, acc: float, target_vel: float, top: float, jerk: float, total: float
) -> tuple[float, float, float, float]:
    """Jerk with its sign [m/s^3] and durations of the three phases [s] to a velocity.

    Args:
        vel, acc, target_vel: Velocity, acceleration and the velocity to reach [m/s, m/s^2].
        top: Largest acceleration [m/s^2].
        jerk: Largest [m/s^3].
        total: Sum of the durations [s]; 0 = as short as can be.
    """
    # With the acceleration taken back at once, is the velocity too low or too high?
    ahead = target_vel - (vel + acc * abs(acc) / (2.0 * jerk))
    if ahead == 0.0:
        ahead = acc
    if ahead == 0.0:
        return 0.0, 0.0, 0.0, 0.0
    j = math.copysign(jerk, ahead)
    gain = target_vel - vel
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
def _move(vehicle: Record, k: int, jerk: float, time: float) -> None:
    """Axis k of the trajectory under a constant jerk for a time [s]."""
    acc, vel = vehicle.smooth_acc[k], vehicle.smooth_vel[k]
    vehicle.smooth_acc[k] = acc + jerk * time
    vehicle.smooth_vel[k] = vel + (acc + 0.5 * jerk * time) * time
    vehicle.smooth_pos[k] += (vel + (0.5 * acc + jerk * time / 6.0) * time) * time


@njit
def advance(
    vehicle: Record,
    first: int,
    last: int,
    target_vel: tuple[float, float, float],
    acc_xy: float,
    acc_z: float,
    jerk: float,
    dt: float,
) -> None:
    """One step of axes first to last - 1 of the trajectory to a velocity.

    Args:
        vehicle: Record of VEHICLE_STATUS.
        first, last: The axes; 0 and 3 for all.
        target_vel: Velocity [m/s].
        acc_xy, acc_z: Largest acceleration of the horizontal axes and the vertical one [m/s^2].
        jerk: Largest [m/s^3].
        dt: Length of the step [s].
    """
    longest = 0.0
    for k in range(first, last):
        top = acc_z if k == 2 else acc_xy
        _, t1, t2, t3 = _phases(
            vehicle.smooth_vel[k], vehicle.smooth_acc[k], target_vel[k], top, jerk, 0.0
        )
        longest = max(longest, t1 + t2 + t3)
    for k in range(first, last):
        top = acc_z if k == 2 else acc_xy
        j, t1, t2, t3 = _phases(
            vehicle.smooth_vel[k], vehicle.smooth_acc[k], target_vel[k], top, jerk, 0.0
        )
        if t1 + t2 + t3 < longest:
            j, t1, t2, t3 = _phases(
                vehicle.smooth_vel[k], vehicle.smooth_acc[k], target_vel[k], top, jerk, longest
            )
        left = dt
        for phase in range(3):
            time = min(left, t1 if phase == 0 else (t2 if phase == 1 else t3))
            if time > 0.0:
                _move(vehicle, k, j if phase == 0 else (0.0 if phase == 1 else -j), time)
                left -= time
        if left > 0.0:
            vehicle.smooth_acc[k] = 0.0
            _move(vehicle, k, 0.0, left)


@njit
def clear_set_points(vehicle: Record) -> None:
    """Clears the set-points of all axes."""
    for k in range(3):
        vehicle.sp_pos[k] = math.nan
        vehicle.sp_vel[k] = math.nan
        vehicle.sp_acc[k] = math.nan
    vehicle.sp_yaw = math.nan
    vehicle.sp_yaw_rate = math.nan


@njit
def start_trajectory(vehicle: Record, pos: np.ndarray, vel_z: float) -> None:
    """Starts the trajectory here, at a vertical velocity [m/s]."""
    for k in range(3):
        vehicle.smooth_pos[k] = pos[k]
        vehicle.smooth_vel[k] = vel_z if k == 2 else 0.0
        vehicle.smooth_acc[k] = 0.0


@njit
def copy_trajectory(vehicle: Record, first: int, last: int) -> None:
    """Copies the trajectory of axes first to last - 1 into the set-points."""
    for k in range(first, last):
        vehicle.sp_pos[k] = vehicle.smooth_pos[k]
        vehicle.sp_vel[k] = vehicle.smooth_vel[k]
        vehicle.sp_acc[k] = vehicle.smooth_acc[k]
    vehicle.on_trajectory = True
