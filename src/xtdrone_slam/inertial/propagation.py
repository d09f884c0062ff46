"""Moves the state and the covariance of an inertial filter on by the readings of an IMU.

The errors are those of the invariant Kalman filter (Hartley and others, 2020): with an error
(turn, velocity, shift) the true attitude is Exp(turn) R, the true position Exp(turn) p + shift, and
so for the velocity. What cannot be observed, a shift of the world and a turn about the vertical, is
then the same direction of the errors whatever the estimate, so that the filter does not become too
sure of it (Wu and others, 2017), which is what first-estimate Jacobians are for elsewhere.
"""

import numpy as np

from xtdrone_dynamics.compiled import njit

from .rotations import cross_matrix, exponential, left_jacobian, second_jacobian

TURN, VELOCITY, SHIFT = slice(0, 3), slice(3, 6), slice(6, 9)  # rows of an error
GYRO_BIAS, ACCEL_BIAS = slice(9, 12), slice(12, 15)
ERRORS = 15  # size of an error of the IMU's state
GRAVITY = 9.80665  # [m/s^2]


@njit
def propagate(
    rotation: np.ndarray,
    velocity: np.ndarray,
    position: np.ndarray,
    gyro_bias: np.ndarray,
    accel_bias: np.ndarray,
    covariance: np.ndarray,
    times: np.ndarray,
    gyro: np.ndarray,
    accel: np.ndarray,
    noise: np.ndarray,
) -> None:
    """Moves a state along readings, each of which holds until the next time.

    Args:
        rotation: (3, 3) body to world; written, as are the next two.
        velocity: (3,) world [m/s].
        position: (3,) world [m].
        gyro_bias: (3,) [rad/s].
        accel_bias: (3,) [m/s^2].
        covariance: (N, N) of the errors, the IMU's state first; written.
        times: (K + 1,) [s].
        gyro: (K, 3) [rad/s].
        accel: (K, 3) [m/s^2].
        noise: (4,) densities of gyroscope, accelerometer, and the walks of their biases.
    """
    size = len(covariance)
    fall = np.array([0.0, 0.0, -GRAVITY])
    whole = np.eye(15)  # from the first to the last time
    within = covariance[:15, :15].copy()
    for k in range(len(gyro)):
        dt = times[k + 1] - times[k]
        step = _transition(rotation, velocity, position, dt)
        within = step @ within @ step.T
        _add_noise(within, rotation, velocity, position, dt, noise)
        whole = step @ whole
        _advance(rotation, velocity, position, gyro[k] - gyro_bias, accel[k] - accel_bias, fall, dt)
    covariance[:15, :15] = 0.5 * (within + within.T)
    if size > 15:
        across = whole @ np.ascontiguousarray(covariance[:15, 15:])
        covariance[:15, 15:] = across
        covariance[15:, :15] = across.T


@njit
def _transition(
    rotation: np.ndarray, velocity: np.ndarray, position: np.ndarray, dt: float
) -> np.ndarray:
    """Returns the matrix (15, 15) that moves errors on by a time [s]."""
    step = np.eye(15)
    fall = cross_matrix(np.array([0.0, 0.0, -GRAVITY]))
    step[3:6, 0:3] = dt * fall
    step[6:9, 0:3] = 0.5 * dt * dt * fall
    step[6:9, 3:6] = dt * np.eye(3)
    step[0:3, 9:12] = -dt * rotation
    moved = cross_matrix(velocity)
    step[3:6, 9:12] = -dt * (moved @ rotation) - 0.5 * dt * dt * (fall @ rotation)
    step[6:9, 9:12] = -dt * (cross_matrix(position) @ rotation) - dt * dt * (moved @ rotation)
    step[3:6, 12:15] = -dt * rotation
    step[6:9, 12:15] = -0.5 * dt * dt * rotation
    return step


@njit
def _add_noise(
    covariance: np.ndarray,
    rotation: np.ndarray,
    velocity: np.ndarray,
    position: np.ndarray,
    dt: float,
    noise: np.ndarray,
) -> None:
    """Adds to a covariance (15, 15) what the IMU's noise does in a time [s]."""
    gain = np.zeros((9, 6))
    gain[0:3, 0:3] = rotation
    gain[3:6, 0:3] = cross_matrix(velocity) @ rotation
    gain[6:9, 0:3] = cross_matrix(position) @ rotation
    gain[3:6, 3:6] = rotation
    gain[:, 0:3] *= noise[0]
    gain[:, 3:6] *= noise[1]
    covariance[:9, :9] += dt * (gain @ gain.T)
    for axis in range(3):
        covariance[9 + axis, 9 + axis] += dt * noise[2] ** 2
        covariance[12 + axis, 12 + axis] += dt * noise[3] ** 2


@njit
def _advance(
    rotation: np.ndarray,
    velocity: np.ndarray,
    position: np.ndarray,
    rate: np.ndarray,
    force: np.ndarray,
    fall: np.ndarray,
    dt: float,
) -> None:
    """Moves a state on by a rate and a specific force that hold in the body for a time [s]."""
    turn = rate * dt
    position += velocity * dt + dt * dt * (rotation @ (second_jacobian(turn) @ force) + 0.5 * fall)
    velocity += dt * (rotation @ (left_jacobian(turn) @ force) + fall)
    rotation[:] = rotation @ exponential(turn)


@njit
def preintegrate(
    times: np.ndarray, gyro: np.ndarray, accel: np.ndarray, rotation: np.ndarray, way: np.ndarray
) -> None:
    """Adds up readings without gravity and without a velocity at the start.

    Args:
        times: (K + 1,) [s].
        gyro, accel: (K, 3) that hold until the next time [rad/s], [m/s^2].
        rotation: (3, 3) body at the end to that at the start; written.
        way: (3,) in the body at the start [m]; written.
    """
    speed, none = np.zeros(3), np.zeros(3)
    rotation[:], way[:] = np.eye(3), 0.0
    for k in range(len(gyro)):
        _advance(rotation, speed, way, gyro[k], accel[k], none, times[k + 1] - times[k])
