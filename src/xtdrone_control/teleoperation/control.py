"""The teleoperation algorithm of Mora-Soto and others (2021), Algorithm 1, as scalar functions.

Appl. Sci. 11, 12018. Four axes, each with a scale of its stick and a PID: height, yaw, pitch, roll.
Height and yaw references add up while the stick is held; pitch and roll follow it and are zero
when it is released. Angles are those of xtdrone_dynamics.euler_zxy.
"""

import math

import numpy as np

from xtdrone_dynamics.compiled import njit

AXES = ("height", "yaw", "pitch", "roll")
HEIGHT, YAW, PITCH, ROLL = range(4)
SCALE, PROPORTIONAL, INTEGRAL, DERIVATIVE = range(4)  # columns of gains
GAINS = ("k", "p", "i", "d")
MAX_TILT = 0.25 * math.pi  # maximum reference of pitch and roll [rad]
STEP_S = 1e-3  # period of the algorithm, for which k of height and yaw holds [s]


@njit
def reference(axis: int, before: float, stick: float, scale: float) -> float:
    """Returns an axis' reference after a step of STEP_S; Algorithm 1, lines 1-3, 6, 9-15, 17-23.

    Args:
        axis: HEIGHT, YAW, PITCH or ROLL.
        before: Reference of the step before [m] or [rad].
        stick: -1..1: up, counter-clockwise, forward, right.
        scale: k of the axis: [m] or [rad] a step of height and yaw, [rad] of pitch and roll.

    Returns:
        [m] or [rad].
    """
    if axis == HEIGHT:
        return max(0.0, before + scale * stick)
    if axis == YAW:
        return before + scale * stick
    return min(MAX_TILT, max(-MAX_TILT, scale * stick))


@njit
def pid(
    error: float, before: float, integral: float, p: float, i: float, d: float, dt: float
) -> tuple[float, float]:
    """Computes a PID in its parallel form, the derivative by the difference of two errors.

    Args:
        error: Reference minus state.
        before: Error of the step before; the same as error at the first.
        integral: Integral of the error until the step before.
        p, i, d: Gains.
        dt: Length of the step [s].

    Returns:
        Output, and the integral with this step.
    """
    integral += error * dt
    return p * error + i * integral + d * (error - before) / dt, integral


@njit
def control(
    place: tuple[float, float, float, float],
    references: np.ndarray,
    errors: np.ndarray,
    integrals: np.ndarray,
    gains: np.ndarray,
    weight: float,
    dt: float,
    first: bool,
) -> tuple[float, float, float, float]:
    """Returns thrust and torques for references; Algorithm 1, lines 4-5, 8, 16, 24.

    Args:
        place: Height [m], yaw, pitch, roll [rad].
        references: (4,) of them.
        errors: (4,) of the step before; overwritten.
        integrals: (4,) of the errors; overwritten.
        gains: (4, 4) of the axes, columns SCALE, PROPORTIONAL, INTEGRAL, DERIVATIVE.
        weight: m g [N].
        dt: Length of the step [s].
        first: No step was before: no derivative.

    Returns:
        Thrust [N], torques of yaw, pitch and roll [N m].
    """
    thrust, integrals[0] = _one(0, place[0], references, errors, integrals, gains, dt, first)
    yaw, integrals[1] = _one(1, place[1], references, errors, integrals, gains, dt, first)
    pitch, integrals[2] = _one(2, place[2], references, errors, integrals, gains, dt, first)
    roll, integrals[3] = _one(3, place[3], references, errors, integrals, gains, dt, first)
    return thrust + weight, yaw, pitch, roll


@njit
def _one(
    axis: int,
    place: float,
    references: np.ndarray,
    errors: np.ndarray,
    integrals: np.ndarray,
    gains: np.ndarray,
    dt: float,
    first: bool,
) -> tuple[float, float]:
    error = references[axis] - place
    before = error if first else errors[axis]
    errors[axis] = error
    return pid(
        error,
        before,
        integrals[axis],
        gains[axis, PROPORTIONAL],
        gains[axis, INTEGRAL],
        gains[axis, DERIVATIVE],
        dt,
    )
