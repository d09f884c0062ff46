"""Rigid body in Euler angles of the sequence Z, X, Y, after Mora-Soto and others (2021).

Appl. Sci. 11, 12018, numbers of equations in brackets. Attitude is roll, pitch, yaw of
R = Rz(yaw) Rx(roll) Ry(pitch), body FLU to world ENU: pitch is positive nose down, roll positive
right side down. Torques and friction belong to the rates of these angles, not to the body's axes:
their work is torque times rate. Singular at a roll of 90 degrees.
"""

import math

from .compiled import njit
from .rigid_body import symmetric_inverse, symmetric_product
from .shapes import Quaternion, Symmetric, Vector

# Mass [kg], inertia xx, yy, zz [kg m^2], friction x, y, z [N s/m], friction of roll, pitch, yaw
# [N m s/rad], gravity [m/s^2].
Body = tuple[float, ...]
# x, y, z [m], roll, pitch, yaw [rad], and the rates of these six.
EulerState = tuple[float, ...]


@njit
def body_rates(roll: float, pitch: float, d_roll: float, d_pitch: float, d_yaw: float) -> Vector:
    """Angular velocity in the body frame from the rates of the angles, (6): omega = W d_eta.

    Returns:
        (x, y, z) [rad/s].
    """
    sr, cr, sp, cp = math.sin(roll), math.cos(roll), math.sin(pitch), math.cos(pitch)
    return (cp * d_roll - sp * cr * d_yaw, d_pitch + sr * d_yaw, sp * d_roll + cp * cr * d_yaw)


@njit
def inertia_matrix(ixx: float, iyy: float, izz: float, roll: float, pitch: float) -> Symmetric:
    """Inertia of the angles, M = W^T I W of (15), as in A.1.

    Returns:
        Elements xx, yy, zz, xy, xz, yz over roll, pitch, yaw [kg m^2].
    """
    sr, cr, sp, cp = math.sin(roll), math.cos(roll), math.sin(pitch), math.cos(pitch)
    return (
        ixx * cp * cp + izz * sp * sp,
        iyy,
        iyy * sr * sr + (ixx * sp * sp + izz * cp * cp) * cr * cr,
        0.0,
        (izz - ixx) * sp * cp * cr,
        iyy * sr,
    )


@njit
def coriolis(
    ixx: float,
    iyy: float,
    izz: float,
    roll: float,
    pitch: float,
    d_roll: float,
    d_pitch: float,
    d_yaw: float,
) -> Vector:
    """C d_eta of (15): W^T (I dW d_eta + omega x I omega).

    By Newton and Euler in place of the nine elements of A.1, which it equals.

    Returns:
        Torques of roll, pitch and yaw [N m].
    """
    sr, cr, sp, cp = math.sin(roll), math.cos(roll), math.sin(pitch), math.cos(pitch)
    wx, wy, wz = body_rates(roll, pitch, d_roll, d_pitch, d_yaw)
    ax = -sp * d_pitch * d_roll - cp * cr * d_pitch * d_yaw + sp * sr * d_roll * d_yaw
    ay = cr * d_roll * d_yaw
    az = cp * d_pitch * d_roll - sp * cr * d_pitch * d_yaw - cp * sr * d_roll * d_yaw
    tx = ixx * ax + (izz - iyy) * wy * wz
    ty = iyy * ay + (ixx - izz) * wz * wx
    tz = izz * az + (iyy - ixx) * wx * wy
    return cp * tx + sp * tz, ty, -sp * cr * tx + sr * ty + cp * cr * tz


@njit
def thrust_direction(roll: float, pitch: float, yaw: float) -> Vector:
    """The body's z axis in the world, third column of R, (20).

    Returns:
        (x, y, z) of length 1.
    """
    sr, cr, sp, cp = math.sin(roll), math.cos(roll), math.sin(pitch), math.cos(pitch)
    sy, cy = math.sin(yaw), math.cos(yaw)
    return cy * sp + cp * sr * sy, sy * sp - cp * cy * sr, cp * cr


@njit
def accelerations(
    state: EulerState, thrust: float, t_roll: float, t_pitch: float, t_yaw: float, body: Body
) -> tuple[float, float, float, float, float, float]:
    """Second derivatives of position and angles under thrust, torques and friction, (25)-(27).

    Args:
        state: State.
        thrust: Along the body's z axis [N].
        t_roll, t_pitch, t_yaw: Torques of the angles [N m].
        body: The body.

    Returns:
        x, y, z [m/s^2], roll, pitch, yaw [rad/s^2].
    """
    dx, dy, dz = thrust_direction(state[3], state[4], state[5])
    matrix = inertia_matrix(body[1], body[2], body[3], state[3], state[4])
    cr, cp, cy = coriolis(
        body[1], body[2], body[3], state[3], state[4], state[9], state[10], state[11]
    )
    ar, ap, ay = symmetric_product(
        symmetric_inverse(matrix),
        t_roll - cr - body[7] * state[9],
        t_pitch - cp - body[8] * state[10],
        t_yaw - cy - body[9] * state[11],
    )
    return (
        (thrust * dx - body[4] * state[6]) / body[0],
        (thrust * dy - body[5] * state[7]) / body[0],
        (thrust * dz - body[6] * state[8]) / body[0] - body[10],
        ar,
        ap,
        ay,
    )


@njit
def euler_step(
    state: EulerState,
    thrust: float,
    t_roll: float,
    t_pitch: float,
    t_yaw: float,
    body: Body,
    dt: float,
) -> EulerState:
    """One step of Euler's explicit method, as published for (30); arguments as accelerations()."""
    a = accelerations(state, thrust, t_roll, t_pitch, t_yaw, body)
    return (
        state[0] + dt * state[6],
        state[1] + dt * state[7],
        state[2] + dt * state[8],
        state[3] + dt * state[9],
        state[4] + dt * state[10],
        state[5] + dt * state[11],
        state[6] + dt * a[0],
        state[7] + dt * a[1],
        state[8] + dt * a[2],
        state[9] + dt * a[3],
        state[10] + dt * a[4],
        state[11] + dt * a[5],
    )


@njit
def from_quaternion(qx: float, qy: float, qz: float, qw: float) -> Vector:
    """Roll, pitch, yaw of the sequence Z, X, Y [rad]; roll in -pi/2 to pi/2."""
    roll = math.asin(min(1.0, max(-1.0, 2.0 * (qy * qz + qx * qw))))
    pitch = math.atan2(-2.0 * (qx * qz - qy * qw), 1.0 - 2.0 * (qx * qx + qy * qy))
    yaw = math.atan2(-2.0 * (qx * qy - qz * qw), 1.0 - 2.0 * (qx * qx + qz * qz))
    return roll, pitch, yaw


@njit
def to_quaternion(roll: float, pitch: float, yaw: float) -> Quaternion:
    """The quaternion (x, y, z, w) of Rz(yaw) Rx(roll) Ry(pitch) [rad]."""
    sr, cr = math.sin(0.5 * roll), math.cos(0.5 * roll)
    sp, cp = math.sin(0.5 * pitch), math.cos(0.5 * pitch)
    sy, cy = math.sin(0.5 * yaw), math.cos(0.5 * yaw)
    return (
        cy * sr * cp - sy * cr * sp,
        cy * cr * sp + sy * sr * cp,
        cy * sr * sp + sy * cr * cp,
        cy * cr * cp - sy * sr * sp,
    )
