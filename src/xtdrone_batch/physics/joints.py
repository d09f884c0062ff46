"""Vehicles of several bodies: the motion of the base while joints follow their targets.

Joints reach their targets at the end of each step, as in the embedded engine, so their
accelerations are known; Newton's and Euler's equations of all bodies together then give that of the
base. No other torque acts in a joint.
"""

import math

import numpy as np

from xtdrone_dynamics import quaternion
from xtdrone_dynamics.compiled import Record, njit
from xtdrone_dynamics.shapes import Symmetric, Vector

from ..arrays import Records


@njit
def _cross(ax: float, ay: float, az: float, bx: float, by: float, bz: float) -> Vector:
    """Returns a x b."""
    return ay * bz - az * by, az * bx - ax * bz, ax * by - ay * bx


@njit
def _point_acceleration(
    ax: float,
    ay: float,
    az: float,
    tx: float,
    ty: float,
    tz: float,
    wx: float,
    wy: float,
    wz: float,
    rx: float,
    ry: float,
    rz: float,
) -> Vector:
    """Returns the acceleration of a point of a body: a + alpha x r + omega x (omega x r)."""
    ux, uy, uz = _cross(wx, wy, wz, rx, ry, rz)
    cx, cy, cz = _cross(wx, wy, wz, ux, uy, uz)
    ex, ey, ez = _cross(tx, ty, tz, rx, ry, rz)
    return ax + ex + cx, ay + ey + cy, az + ez + cz


@njit
def accelerate_jointed(
    records: Records,
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
    matrix: np.ndarray,
    rhs: np.ndarray,
    vel: np.ndarray,
    ang_vel: np.ndarray,
    dt: float,
) -> None:
    """Advances the velocities of the base of one vehicle to the end of a step.

    Args:
        records: Records of the batch.
        i: Index of the vehicle in its environment.
        scale: Factor on its mass and inertia.
        gravity: Downwards [m/s^2].
        wrench: (B, 6) as in ActuatorStage.
        pos, quat, rate: (B, ...) of its bodies at the start of the step; rate in their frames.
        joint_vel, joint_acc: (J,) speeds at the start, and accelerations through the step.
        acc, spin, matrix, rhs: (B, 3), (B, 3), (6, 6) and (6,) scratch.
        vel, ang_vel: (3,) velocities of the base, changed in place.
        dt: Length of the step [s].
    """
    count = records.vehicle[i].bodies
    for k in range(3):  # accelerations of the bodies with the base at rest, world
        acc[0, k] = spin[0, k] = 0.0
    for row in range(6):
        rhs[row] = 0.0
        for column in range(6):
            matrix[row, column] = 0.0
    for b in range(count):
        body = records.body[i, b]
        q = quat[b]
        wx, wy, wz = quaternion.rotate(q[0], q[1], q[2], q[3], rate[b, 0], rate[b, 1], rate[b, 2])
        if b > 0:
            _propagate(
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
        ax, ay, az = _point_acceleration(
            acc[b, 0], acc[b, 1], acc[b, 2], tx, ty, tz, wx, wy, wz, rx, ry, rz
        )
        mass = scale * body.mass
        inertia = _in_world(body.inertia, q, scale)
        fx, fy, fz = (
            mass * ax - wrench[b, 0],
            mass * ay - wrench[b, 1],
            mass * (az + gravity) - wrench[b, 2],
        )
        hx, hy, hz = _product(inertia, wx, wy, wz)
        gx, gy, gz = _cross(wx, wy, wz, hx, hy, hz)
        nx, ny, nz = _product(inertia, tx, ty, tz)
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
            rhs[k] -= value
        _add_inertia(matrix, inertia, mass, cx, cy, cz)
    _solve(matrix, rhs)
    q = quat[0]
    tx, ty, tz = quaternion.rotate_inverse(q[0], q[1], q[2], q[3], rhs[3], rhs[4], rhs[5])
    for k in range(3):
        vel[k] += dt * rhs[k]
    ang_vel[0], ang_vel[1], ang_vel[2] = (
        ang_vel[0] + dt * tx,
        ang_vel[1] + dt * ty,
        ang_vel[2] + dt * tz,
    )


@njit
def _propagate(
    joint: Record,
    body: Record,
    q: np.ndarray,
    pos: np.ndarray,
    quat: np.ndarray,
    rate: np.ndarray,
    speed: float,
    acceleration: float,
    b: int,
    acc: np.ndarray,
    spin: np.ndarray,
) -> None:
    """Computes the accelerations of a body's origin and of its rotation from its parent's."""
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
        x, y, z = _point_acceleration(
            acc[p, 0], acc[p, 1], acc[p, 2], tx, ty, tz, ux, uy, uz, rx, ry, rz
        )
        acc[b, 0], acc[b, 1], acc[b, 2] = (
            x + acceleration * ax + 2.0 * cx,
            y + acceleration * ay + 2.0 * cy,
            z + acceleration * az + 2.0 * cz,
        )
        spin[b, 0], spin[b, 1], spin[b, 2] = tx, ty, tz
        return
    spin[b, 0], spin[b, 1], spin[b, 2] = (
        tx + acceleration * ax + cx,
        ty + acceleration * ay + cy,
        tz + acceleration * az + cz,
    )
    sx, sy, sz = quaternion.rotate(
        q[0], q[1], q[2], q[3], joint.anchor[0], joint.anchor[1], joint.anchor[2]
    )  # from the origin to the axis
    x, y, z = _point_acceleration(
        acc[p, 0], acc[p, 1], acc[p, 2], tx, ty, tz, ux, uy, uz, rx + sx, ry + sy, rz + sz
    )
    wx, wy, wz = quaternion.rotate(q[0], q[1], q[2], q[3], rate[b, 0], rate[b, 1], rate[b, 2])
    acc[b, 0], acc[b, 1], acc[b, 2] = _point_acceleration(
        x, y, z, spin[b, 0], spin[b, 1], spin[b, 2], wx, wy, wz, -sx, -sy, -sz
    )


@njit
def _in_world(inertia: Symmetric, q: np.ndarray, scale: float) -> Symmetric:
    """Returns a packed inertia in the world's axes: xx, yy, zz, xy, xz, yz."""
    x = quaternion.rotate(q[0], q[1], q[2], q[3], 1.0, 0.0, 0.0)
    y = quaternion.rotate(q[0], q[1], q[2], q[3], 0.0, 1.0, 0.0)
    z = quaternion.rotate(q[0], q[1], q[2], q[3], 0.0, 0.0, 1.0)
    return (
        _quadratic_form(inertia, x[0], y[0], z[0], x[0], y[0], z[0], scale),
        _quadratic_form(inertia, x[1], y[1], z[1], x[1], y[1], z[1], scale),
        _quadratic_form(inertia, x[2], y[2], z[2], x[2], y[2], z[2], scale),
        _quadratic_form(inertia, x[0], y[0], z[0], x[1], y[1], z[1], scale),
        _quadratic_form(inertia, x[0], y[0], z[0], x[2], y[2], z[2], scale),
        _quadratic_form(inertia, x[1], y[1], z[1], x[2], y[2], z[2], scale),
    )


@njit
def _quadratic_form(
    inertia: Symmetric,
    ax: float,
    ay: float,
    az: float,
    bx: float,
    by: float,
    bz: float,
    scale: float,
) -> float:
    """Returns a^T J b."""
    return scale * (
        ax * (inertia[0] * bx + inertia[3] * by + inertia[4] * bz)
        + ay * (inertia[3] * bx + inertia[1] * by + inertia[5] * bz)
        + az * (inertia[4] * bx + inertia[5] * by + inertia[2] * bz)
    )


@njit
def _product(inertia: Symmetric, x: float, y: float, z: float) -> Vector:
    """Returns the product of a packed inertia and a vector."""
    return (
        inertia[0] * x + inertia[3] * y + inertia[4] * z,
        inertia[3] * x + inertia[1] * y + inertia[5] * z,
        inertia[4] * x + inertia[5] * y + inertia[2] * z,
    )


@njit
def _add_inertia(
    matrix: np.ndarray, inertia: Symmetric, mass: float, x: float, y: float, z: float
) -> None:
    """Adds a body whose centre of gravity lies at (x, y, z) to the mass matrix of the base."""
    for k in range(3):
        matrix[k, k] += mass
    # Force by turning: alpha x c; torque by moving: c x a.
    for row, column, value in ((0, 4, z), (0, 5, -y), (1, 3, -z), (1, 5, x), (2, 3, y), (2, 4, -x)):
        matrix[row, column] += mass * value
        matrix[column, row] += mass * value
    square = x * x + y * y + z * z
    matrix[3, 3] += inertia[0] + mass * (square - x * x)
    matrix[4, 4] += inertia[1] + mass * (square - y * y)
    matrix[5, 5] += inertia[2] + mass * (square - z * z)
    for row, column, value in (
        (3, 4, inertia[3] - mass * x * y),
        (3, 5, inertia[4] - mass * x * z),
        (4, 5, inertia[5] - mass * y * z),
    ):
        matrix[row, column] += value
        matrix[column, row] += value


@njit
def _solve(matrix: np.ndarray, x: np.ndarray) -> None:
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
