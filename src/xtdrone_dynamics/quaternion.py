"""Quaternions xyzw (body to world) as scalar functions, and the same over arrays.

The scalar functions take and return plain numbers, so that every kernel can
call them without an allocation; `*_array` apply them along the first axis.
"""

import math

import numpy as np
import numpy.typing as npt

from .compiled import njit
from .shapes import Quaternion, Vector


@njit
def rotate(qx: float, qy: float, qz: float, qw: float, x: float, y: float, z: float) -> Vector:
    """The vector (x, y, z) turned by the quaternion: body to world.

    Returns:
        (x, y, z).
    """
    tx = 2.0 * (qy * z - qz * y)
    ty = 2.0 * (qz * x - qx * z)
    tz = 2.0 * (qx * y - qy * x)
    return (
        x + qw * tx + qy * tz - qz * ty,
        y + qw * ty + qz * tx - qx * tz,
        z + qw * tz + qx * ty - qy * tx,
    )


@njit
def rotate_inverse(
    qx: float, qy: float, qz: float, qw: float, x: float, y: float, z: float
) -> Vector:
    """The vector (x, y, z) turned by the inverse quaternion: world to body.

    Returns:
        (x, y, z).
    """
    return rotate(-qx, -qy, -qz, qw, x, y, z)


@njit
def multiply(
    ax: float, ay: float, az: float, aw: float, bx: float, by: float, bz: float, bw: float
) -> Quaternion:
    """The product a b: turn by b first, then by a.

    Returns:
        (x, y, z, w).
    """
    return (
        aw * bx + ax * bw + ay * bz - az * by,
        aw * by - ax * bz + ay * bw + az * bx,
        aw * bz + ax * by - ay * bx + az * bw,
        aw * bw - ax * bx - ay * by - az * bz,
    )


@njit
def normalize(qx: float, qy: float, qz: float, qw: float) -> Quaternion:
    """The quaternion with length 1.

    Returns:
        (x, y, z, w).
    """
    scale = 1.0 / math.sqrt(qx * qx + qy * qy + qz * qz + qw * qw)
    return qx * scale, qy * scale, qz * scale, qw * scale


@njit
def integrate(
    qx: float, qy: float, qz: float, qw: float, wx: float, wy: float, wz: float, dt: float
) -> Quaternion:
    """The attitude after turning at a constant body rate, exact for any angle.

    Solves Pegasus (4) for constant angular velocity.

    Args:
        qx, qy, qz, qw: Attitude before.
        wx, wy, wz: Angular velocity, body frame [rad/s].
        dt: Duration [s].

    Returns:
        (x, y, z, w), of length 1.
    """
    half = 0.5 * dt
    angle_squared = (wx * wx + wy * wy + wz * wz) * half * half
    if angle_squared < 1e-8:  # the series keeps sin(a)/a exact where the quotient is 0/0
        scale = half * (1.0 - angle_squared / 6.0)
        w = 1.0 - 0.5 * angle_squared
    else:
        angle = math.sqrt(angle_squared)
        scale = half * math.sin(angle) / angle
        w = math.cos(angle)
    x, y, z, w = multiply(qx, qy, qz, qw, wx * scale, wy * scale, wz * scale, w)
    return normalize(x, y, z, w)


@njit
def from_euler(roll: float, pitch: float, yaw: float) -> Quaternion:
    """The quaternion of Rz(yaw) Ry(pitch) Rx(roll) [rad].

    Returns:
        (x, y, z, w).
    """
    sr, cr = math.sin(0.5 * roll), math.cos(0.5 * roll)
    sp, cp = math.sin(0.5 * pitch), math.cos(0.5 * pitch)
    sy, cy = math.sin(0.5 * yaw), math.cos(0.5 * yaw)
    return (
        sr * cp * cy - cr * sp * sy,
        cr * sp * cy + sr * cp * sy,
        cr * cp * sy - sr * sp * cy,
        cr * cp * cy + sr * sp * sy,
    )


@njit
def to_euler(qx: float, qy: float, qz: float, qw: float) -> Vector:
    """Roll, pitch and yaw [rad] of Rz(yaw) Ry(pitch) Rx(roll); pitch in -pi/2 to pi/2.

    Returns:
        (roll, pitch, yaw).
    """
    sine = 2.0 * (qw * qy - qz * qx)
    roll = math.atan2(2.0 * (qw * qx + qy * qz), 1.0 - 2.0 * (qx * qx + qy * qy))
    pitch = math.asin(min(1.0, max(-1.0, sine)))
    yaw = math.atan2(2.0 * (qw * qz + qx * qy), 1.0 - 2.0 * (qy * qy + qz * qz))
    return roll, pitch, yaw


@njit
def to_matrix(qx: float, qy: float, qz: float, qw: float) -> tuple[float, ...]:
    """The rotation matrix, row by row.

    Returns:
        (r00, r01, r02, r10, r11, r12, r20, r21, r22).
    """
    return (
        1.0 - 2.0 * (qy * qy + qz * qz),
        2.0 * (qx * qy - qz * qw),
        2.0 * (qx * qz + qy * qw),
        2.0 * (qx * qy + qz * qw),
        1.0 - 2.0 * (qx * qx + qz * qz),
        2.0 * (qy * qz - qx * qw),
        2.0 * (qx * qz - qy * qw),
        2.0 * (qy * qz + qx * qw),
        1.0 - 2.0 * (qx * qx + qy * qy),
    )


@njit
def from_matrix(
    r00: float,
    r01: float,
    r02: float,
    r10: float,
    r11: float,
    r12: float,
    r20: float,
    r21: float,
    r22: float,
) -> Quaternion:
    """The quaternion of a rotation matrix given row by row, with w >= 0.

    Returns:
        (x, y, z, w).
    """
    trace = r00 + r11 + r22
    # The largest component is found first, so that no small number is divided by.
    if trace >= max(r00, r11, r22):
        x, y, z, w = r21 - r12, r02 - r20, r10 - r01, 1.0 + trace
    elif r00 >= r11 and r00 >= r22:
        x, y, z, w = 1.0 + 2.0 * r00 - trace, r10 + r01, r20 + r02, r21 - r12
    elif r11 >= r22:
        x, y, z, w = r10 + r01, 1.0 + 2.0 * r11 - trace, r21 + r12, r02 - r20
    else:
        x, y, z, w = r20 + r02, r21 + r12, 1.0 + 2.0 * r22 - trace, r10 - r01
    if w < 0.0:
        x, y, z, w = -x, -y, -z, -w
    return normalize(x, y, z, w)


@njit
def _rotate_rows(quat: np.ndarray, vec: np.ndarray, out: np.ndarray) -> None:
    for i in range(out.shape[0]):
        out[i, 0], out[i, 1], out[i, 2] = rotate(
            quat[i, 0], quat[i, 1], quat[i, 2], quat[i, 3], vec[i, 0], vec[i, 1], vec[i, 2]
        )


@njit
def _rotate_inverse_rows(quat: np.ndarray, vec: np.ndarray, out: np.ndarray) -> None:
    for i in range(out.shape[0]):
        out[i, 0], out[i, 1], out[i, 2] = rotate_inverse(
            quat[i, 0], quat[i, 1], quat[i, 2], quat[i, 3], vec[i, 0], vec[i, 1], vec[i, 2]
        )


@njit
def _multiply_rows(a: np.ndarray, b: np.ndarray, out: np.ndarray) -> None:
    for i in range(out.shape[0]):
        out[i, 0], out[i, 1], out[i, 2], out[i, 3] = multiply(
            a[i, 0], a[i, 1], a[i, 2], a[i, 3], b[i, 0], b[i, 1], b[i, 2], b[i, 3]
        )


@njit
def _from_euler_rows(euler: np.ndarray, out: np.ndarray) -> None:
    for i in range(out.shape[0]):
        out[i, 0], out[i, 1], out[i, 2], out[i, 3] = from_euler(
            euler[i, 0], euler[i, 1], euler[i, 2]
        )


@njit
def _to_euler_rows(quat: np.ndarray, out: np.ndarray) -> None:
    for i in range(out.shape[0]):
        out[i, 0], out[i, 1], out[i, 2] = to_euler(quat[i, 0], quat[i, 1], quat[i, 2], quat[i, 3])


@njit
def _to_matrix_rows(quat: np.ndarray, out: np.ndarray) -> None:
    for i in range(out.shape[0]):
        rows = to_matrix(quat[i, 0], quat[i, 1], quat[i, 2], quat[i, 3])
        for k in range(9):
            out[i, k // 3, k % 3] = rows[k]


@njit
def _from_matrix_rows(matrix: np.ndarray, out: np.ndarray) -> None:
    for i in range(out.shape[0]):
        m = matrix[i]
        out[i, 0], out[i, 1], out[i, 2], out[i, 3] = from_matrix(
            m[0, 0], m[0, 1], m[0, 2], m[1, 0], m[1, 1], m[1, 2], m[2, 0], m[2, 1], m[2, 2]
        )


def _floats(*arrays: npt.ArrayLike) -> list[np.ndarray]:
    """The arrays as contiguous float64, broadcast to one number of rows."""
    given = [np.asarray(a, dtype=np.float64) for a in arrays]
    n = max(len(a) for a in given)
    return [np.ascontiguousarray(np.broadcast_to(a, (n, *a.shape[1:]))) for a in given]


def rotate_array(quat: npt.ArrayLike, vec: npt.ArrayLike) -> np.ndarray:
    """Vectors from body to world: quat (N, 4) or (1, 4), vec (N, 3) or (1, 3); gives (N, 3)."""
    quat, vec = _floats(quat, vec)
    out = np.empty_like(vec)
    _rotate_rows(quat, vec, out)
    return out


def rotate_inverse_array(quat: npt.ArrayLike, vec: npt.ArrayLike) -> np.ndarray:
    """Vectors from world to body: quat (N, 4) or (1, 4), vec (N, 3) or (1, 3); gives (N, 3)."""
    quat, vec = _floats(quat, vec)
    out = np.empty_like(vec)
    _rotate_inverse_rows(quat, vec, out)
    return out


def multiply_array(a: npt.ArrayLike, b: npt.ArrayLike) -> np.ndarray:
    """Products a b of quaternions, (N, 4) or (1, 4) each; gives (N, 4)."""
    a, b = _floats(a, b)
    out = np.empty_like(a)
    _multiply_rows(a, b, out)
    return out


def from_euler_array(euler: npt.ArrayLike) -> np.ndarray:
    """Quaternions (N, 4) of roll, pitch, yaw (N, 3) [rad]."""
    (euler,) = _floats(euler)
    out = np.empty((len(euler), 4))
    _from_euler_rows(euler, out)
    return out


def to_euler_array(quat: npt.ArrayLike) -> np.ndarray:
    """Roll, pitch, yaw (N, 3) [rad] of quaternions (N, 4)."""
    (quat,) = _floats(quat)
    out = np.empty((len(quat), 3))
    _to_euler_rows(quat, out)
    return out


def to_matrix_array(quat: npt.ArrayLike) -> np.ndarray:
    """Rotation matrices (N, 3, 3), body to world, of quaternions (N, 4)."""
    (quat,) = _floats(quat)
    out = np.empty((len(quat), 3, 3))
    _to_matrix_rows(quat, out)
    return out


def from_matrix_array(matrix: npt.ArrayLike) -> np.ndarray:
    """Quaternions (N, 4) with w >= 0 of rotation matrices (N, 3, 3)."""
    (matrix,) = _floats(matrix)
    out = np.empty((len(matrix), 4))
    _from_matrix_rows(matrix, out)
    return out
