"""Removes the distortion of scans by motion: by a constant velocity, or by an IMU's readings."""

from typing import NamedTuple

import numpy as np
from scipy.spatial.transform import Rotation

from xtdrone_dynamics.compiled import njit


class Motion(NamedTuple):
    """Poses of the body during a scan, in the order of time."""

    times: np.ndarray  # (K,) [s]
    positions: np.ndarray  # (K, 3) [m]
    rotations: np.ndarray  # (K, 3, 3) body to world
    velocities: np.ndarray  # (K, 3) world [m/s]
    rates: np.ndarray  # (K, 3) body [rad/s], from each time to the next


@njit
def _moved(
    points: np.ndarray,
    at: np.ndarray,
    times: np.ndarray,
    positions: np.ndarray,
    rotations: np.ndarray,
    velocities: np.ndarray,
    rates: np.ndarray,
) -> np.ndarray:
    out = np.empty_like(points)
    last = len(times) - 1
    end, origin = rotations[last], positions[last]
    k = 0
    turned, world, angle = np.empty(3), np.empty(3), np.empty(3)
    for i in range(len(points)):
        while k > 0 and times[k] > at[i]:
            k -= 1
        while k < last and times[k + 1] <= at[i]:
            k += 1
        dt = at[i] - times[k]
        for axis in range(3):
            angle[axis] = rates[k, axis] * dt
        x, y, z = points[i, 0], points[i, 1], points[i, 2]
        turned[0] = x + angle[1] * z - angle[2] * y
        turned[1] = y + angle[2] * x - angle[0] * z
        turned[2] = z + angle[0] * y - angle[1] * x
        for axis in range(3):
            world[axis] = positions[k, axis] + velocities[k, axis] * dt - origin[axis]
            for other in range(3):
                world[axis] += rotations[k, axis, other] * turned[other]
        for axis in range(3):
            out[i, axis] = 0.0
            for other in range(3):
                out[i, axis] += end[other, axis] * world[other]
    return out


def undistorted(points: np.ndarray, times: np.ndarray, motion: Motion) -> np.ndarray:
    """Returns the points of a scan as they would have been seen at the end of a motion.

    Args:
        points: (M, 3) in the body's frame of their times [m].
        times: (M,) of the points [s]; best in order.
        motion: Poses of the body; before its first and after its last one the velocity goes on.

    Returns:
        (M, 3) in the body's frame at the motion's last time [m].
    """
    return _moved(np.ascontiguousarray(points, float), np.asarray(times, float), *motion)


def constant_velocity(
    begin: float, end: float, velocity: np.ndarray, rate: np.ndarray, steps: int = 10
) -> Motion:
    """Returns the motion at a constant velocity and rate.

    Args:
        begin, end: Time of its first and last pose [s].
        velocity: (3,) in the frame of the last pose [m/s].
        rate: (3,) [rad/s].
        steps: Number of poses after the first.
    """
    times = np.linspace(begin, end, steps + 1)
    ahead = (times - end)[:, None]
    rotations = Rotation.from_rotvec(ahead * rate).as_matrix()
    rows = (steps + 1, 1)
    return Motion(times, ahead * velocity, rotations, np.tile(velocity, rows), np.tile(rate, rows))


def by_imu(
    times: np.ndarray,
    gyro: np.ndarray,
    accel: np.ndarray,
    attitude: np.ndarray,
    velocity: np.ndarray,
    gravity: float = 9.80665,
) -> Motion:
    """Returns the motion that an IMU's readings give, from an attitude and velocity on.

    Args:
        times: (K,) of the readings, from the pose at the first one on [s].
        gyro: (K, 3) without their bias [rad/s].
        accel: (K, 3) specific force without its bias [m/s^2].
        attitude: (3, 3) body to world at the first reading; the world's z axis is up.
        velocity: (3,) at the first reading, world [m/s].
        gravity: [m/s^2].
    """
    count = len(times)
    positions, velocities = np.zeros((count, 3)), np.tile(velocity, (count, 1)).astype(float)
    rotations = np.tile(attitude, (count, 1, 1)).astype(float)
    rates = np.array(gyro, dtype=float)
    for k in range(1, count):
        dt = times[k] - times[k - 1]
        rates[k - 1] = 0.5 * (gyro[k - 1] + gyro[k])
        turn = Rotation.from_rotvec(rates[k - 1] * dt).as_matrix()
        rotations[k] = rotations[k - 1] @ turn
        force = 0.5 * (rotations[k - 1] @ accel[k - 1] + rotations[k] @ accel[k])
        acceleration = force - np.array([0.0, 0.0, gravity])
        velocities[k] = velocities[k - 1] + acceleration * dt
        positions[k] = positions[k - 1] + 0.5 * (velocities[k - 1] + velocities[k]) * dt
    return Motion(np.asarray(times, float), positions, rotations, velocities, rates)
