"""Lever arm of the IMU: its accelerometer's reading, moved to the centre of gravity."""

import numpy as np

from xtdrone_dynamics.compiled import njit


@njit
def at_centre(
    accel: np.ndarray, arm: np.ndarray, rate: np.ndarray, last_rate: np.ndarray, dt: float
) -> tuple[float, float, float]:
    """Returns the specific force at the centre of gravity, body [m/s^2].

    The angular acceleration is the difference of two rates, whose noise cancels in the velocity,
    the integral.

    Args:
        accel: (3,) reading [m/s^2].
        arm: (3,) IMU relative to the centre of gravity, body [m]; 0 leaves the reading as it is.
        rate: (3,) angular velocity, body [rad/s].
        last_rate: (3,) angular velocity of the step before; overwritten by `rate`.
        dt: Length of the step [s].
    """
    x, y, z = accel[0], accel[1], accel[2]
    if arm[0] == 0.0 and arm[1] == 0.0 and arm[2] == 0.0:
        return x, y, z
    wx, wy, wz = rate[0], rate[1], rate[2]
    ax, ay, az = (wx - last_rate[0]) / dt, (wy - last_rate[1]) / dt, (wz - last_rate[2]) / dt
    along = wx * arm[0] + wy * arm[1] + wz * arm[2]
    square = wx * wx + wy * wy + wz * wz
    last_rate[0], last_rate[1], last_rate[2] = wx, wy, wz
    return (
        x - (ay * arm[2] - az * arm[1] + wx * along - arm[0] * square),
        y - (az * arm[0] - ax * arm[2] + wy * along - arm[1] * square),
        z - (ax * arm[1] - ay * arm[0] + wz * along - arm[2] * square),
    )
