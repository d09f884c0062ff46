"""Vehicles of several bodies: the motion of the base while joints follow their targets.

Joints reach their targets at the end of each step, as in the embedded engine, so their
accelerations are known; Newton's and Euler's equations of all bodies together then give that of the
base. No other torque acts in a joint.
"""

import math
from typing import Any

import numpy as np

from xtdrone_dynamics import quaternion
from xtdrone_dynamics.compiled import njit


@njit
def _cross(ax, ay, az, bx, by, bz):
    return ay * bz - az * by, az * bx - ax * bz, ax * by - ay * bx


@njit
def _moved(ax, ay, az, tx, ty, tz, wx, wy, wz, rx, ry, rz):
    """Acceleration of a point of a body: a + alpha x r + omega x (omega x r)."""
    ux, uy, uz = _cross(wx, wy, wz, rx, ry, rz)
    cx, cy, cz = _cross(wx, wy, wz, ux, uy, uz)
    ex, ey, ez = _cross(tx, ty, tz, rx, ry, rz)
    return ax + ex + cx, ay + ey + cy, az + ez + cz


@njit
def accelerate_jointed(
    records: Any,
    i: int,
    scale: float,
    gravity: float,
    wrench: np.ndarray,
    pos: np.ndarray,
    quat: np.ndarray,
    rate: np.ndarray,
    joint_vel: np.ndarray,
    joint_acc: np.ndarray,
    acc: np.ndarray,
    spin: np.ndarray,
    left: np.ndarray,
    right: np.ndarray,
    vel: np.ndarray,
    ang_vel: np.ndarray,
    dt: float,
) -> None:
    """Velocities of the base of one vehicle at the end of a step.

    Args:
        records: Of the batch.
        i: Index of the vehicle in its environment.
        scale: Factor on its mass and inertia.
        gravity: [m/s^2].
        wrench: (B, 6) as in ActuatorStage.
        pos, quat, rate: (B, ...) of its bodies at the start of the step; rate in their frames.
        joint_vel, joint_acc: (J,) speeds at the start, and accelerations through the step.
        acc, spin, left, right: (B, 3), (B, 3), (6, 6) and (6,) scratch.
        vel, ang_vel: (3,) of the base, changed in place.
        dt: Length of the step [s].
    """
    count = records.vehicle[i].bodies
    for k in range(3):  # accelerations of the bodies with the base at rest, world
        acc[0, k] = spin[0, k] = 0.0
    for row in range(6):
        right[row] = 0.0
        for column in range(6):
            left[row, column] = 0.0
    for b in range(count):
        body = records.body[i, b]
        q = quat[b]
        wx, wy, wz = quaternion.rotate(q[0], q[1], q[2], q[3], rate[b, 0], rate[b, 1], rate[b, 2])
        if b > 0:
            _carry(
                records.joint[i, body.joint],
                body,
                q,
                pos,
                quat,
                rate,
                joint_vel[body.joint],
                joint_acc[body.joint],
                b,
                acc,
                spin,
            )
        tx, ty, tz = spin[b, 0], spin[b, 1], spin[b, 2]
        rx, ry, rz = quaternion.rotate(
            q[0], q[1], q[2], q[3], body.cog[0], body.cog[1], body.cog[2]
        )
        ax, ay, az = _moved(acc[b, 0], acc[b, 1], acc[b, 2], tx, ty, tz, wx, wy, wz, rx, ry, rz)
        mass = scale * body.mass
        inertia = _in_world(body.inertia, q, scale)
        fx, fy, fz = (
            mass * ax - wrench[b, 0],
            mass * ay - wrench[b, 1],
            mass * (az + gravity) - wrench[b, 2],
        )
        hx, hy, hz = _times(inertia, wx, wy, wz)
        gx, gy, gz = _cross(wx, wy, wz, hx, hy, hz)
        nx, ny, nz = _times(inertia, tx, ty, tz)
        mx, my, mz = _cross(rx, ry, rz, wrench[b, 0], wrench[b, 1], wrench[b, 2])
        nx, ny, nz = (
            nx + gx - wrench[b, 3] + mx,
            ny + gy - wrench[b, 4] + my,
            nz + gz - wrench[b, 5] + mz,
        )
        # From the base's origin to this body's centre of gravity.
        cx, cy, cz = (
            pos[b, 0] - pos[0, 0] + rx,
            pos[b, 1] - pos[0, 1] + ry,
            pos[b, 2] - pos[0, 2] + rz,
        )
        ex, ey, ez = _cross(cx, cy, cz, fx, fy, fz)
        for k, value in enumerate((fx, fy, fz, nx + ex, ny + ey, nz + ez)):
            right[k] -= value
        _add_inertia(left, inertia, mass, cx, cy, cz)
    _solve(left, right)
    q = quat[0]
    tx, ty, tz = quaternion.rotate_inverse(q[0], q[1], q[2], q[3], right[3], right[4], right[5])
    for k in range(3):
        vel[k] += dt * right[k]
    ang_vel[0], ang_vel[1], ang_vel[2] = (
        ang_vel[0] + dt * tx,
        ang_vel[1] + dt * ty,
        ang_vel[2] + dt * tz,
    )


@njit
def _carry(joint, body, q, pos, quat, rate, speed, faster, b, acc, spin):
    """Accelerations of a body's origin, and of its rotation, from those of its parent."""
    p = body.parent
    o = quat[p]
    ux, uy, uz = quaternion.rotate(o[0], o[1], o[2], o[3], rate[p, 0], rate[p, 1], rate[p, 2])
    ax, ay, az = quaternion.rotate(
        q[0], q[1], q[2], q[3], joint.axis[0], joint.axis[1], joint.axis[2]
    )
    rx, ry, rz = pos[b, 0] - pos[p, 0], pos[b, 1] - pos[p, 1], pos[b, 2] - pos[p, 2]
    tx, ty, tz = spin[p, 0], spin[p, 1], spin[p, 2]
    cx, cy, cz = _cross(ux, uy, uz, ax * speed, ay * speed, az * speed)
    if joint.prismatic:
        x, y, z = _moved(acc[p, 0], acc[p, 1], acc[p, 2], tx, ty, tz, ux, uy, uz, rx, ry, rz)
        acc[b, 0], acc[b, 1], acc[b, 2] = (
            x + faster * ax + 2.0 * cx,
            y + faster * ay + 2.0 * cy,
            z + faster * az + 2.0 * cz,
        )
        spin[b, 0], spin[b, 1], spin[b, 2] = tx, ty, tz
        return
    spin[b, 0], spin[b, 1], spin[b, 2] = (
        tx + faster * ax + cx,
        ty + faster * ay + cy,
        tz + faster * az + cz,
    )
    sx, sy, sz = quaternion.rotate(
        q[0], q[1], q[2], q[3], joint.anchor[0], joint.anchor[1], joint.anchor[2]
    )  # from the origin to the axis
    x, y, z = _moved(
        acc[p, 0], acc[p, 1], acc[p, 2], tx, ty, tz, ux, uy, uz, rx + sx, ry + sy, rz + sz
    )
    wx, wy, wz = quaternion.rotate(q[0], q[1], q[2], q[3], rate[b, 0], rate[b, 1], rate[b, 2])
    acc[b, 0], acc[b, 1], acc[b, 2] = _moved(
        x, y, z, spin[b, 0], spin[b, 1], spin[b, 2], wx, wy, wz, -sx, -sy, -sz
    )


@njit
def _in_world(j, q, scale):
    """A packed inertia in the world's axes: xx, yy, zz, xy, xz, yz."""
    x = quaternion.rotate(q[0], q[1], q[2], q[3], 1.0, 0.0, 0.0)
    y = quaternion.rotate(q[0], q[1], q[2], q[3], 0.0, 1.0, 0.0)
    z = quaternion.rotate(q[0], q[1], q[2], q[3], 0.0, 0.0, 1.0)
    return (
        _between(j, x[0], y[0], z[0], x[0], y[0], z[0], scale),
        _between(j, x[1], y[1], z[1], x[1], y[1], z[1], scale),
        _between(j, x[2], y[2], z[2], x[2], y[2], z[2], scale),
        _between(j, x[0], y[0], z[0], x[1], y[1], z[1], scale),
        _between(j, x[0], y[0], z[0], x[2], y[2], z[2], scale),
        _between(j, x[1], y[1], z[1], x[2], y[2], z[2], scale),
    )


@njit
def _between(j, ax, ay, az, bx, by, bz, scale):
    """a^T J b."""
    return scale * (
        ax * (j[0] * bx + j[3] * by + j[4] * bz)
        + ay * (j[3] * bx + j[1] * by + j[5] * bz)
        + az * (j[4] * bx + j[5] * by + j[2] * bz)
    )


@njit
def _times(j, x, y, z):
    return (
        j[0] * x + j[3] * y + j[4] * z,
        j[3] * x + j[1] * y + j[5] * z,
        j[4] * x + j[5] * y + j[2] * z,
    )


@njit
def _add_inertia(left, j, mass, x, y, z):
    """Adds a body whose centre of gravity lies at (x, y, z) to the mass matrix of the base."""
    for k in range(3):
        left[k, k] += mass
    # Force by turning: alpha x c; torque by moving: c x a.
    for row, column, value in ((0, 4, z), (0, 5, -y), (1, 3, -z), (1, 5, x), (2, 3, y), (2, 4, -x)):
        left[row, column] += mass * value
        left[column, row] += mass * value
    square = x * x + y * y + z * z
    left[3, 3] += j[0] + mass * (square - x * x)
    left[4, 4] += j[1] + mass * (square - y * y)
    left[5, 5] += j[2] + mass * (square - z * z)
    for row, column, value in (
        (3, 4, j[3] - mass * x * y),
        (3, 5, j[4] - mass * x * z),
        (4, 5, j[5] - mass * y * z),
    ):
        left[row, column] += value
        left[column, row] += value


@njit
def _solve(matrix, x):
    """Solves a symmetric positive definite system in place, by Cholesky's method."""
    n = x.shape[0]
    for row in range(n):
        for column in range(row + 1):
            total = matrix[row, column]
            for k in range(column):
                total -= matrix[row, k] * matrix[column, k]
            matrix[row, column] = (
                math.sqrt(total) if row == column else total / matrix[column, column]
            )
        for k in range(row):
            x[row] -= matrix[row, k] * x[k]
        x[row] /= matrix[row, row]
    for row in range(n - 1, -1, -1):
        for k in range(row + 1, n):
            x[row] -= matrix[k, row] * x[k]
        x[row] /= matrix[row, row]
