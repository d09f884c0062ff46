"""Geometric control of Aerial Gym (1)-(9), after Lee, Leok and McClamroch (2010).

Its gains k_r and k_w act on angular acceleration, so that they fit vehicles of any inertia.
"""

import math
from typing import Any

import numpy as np

from xtdrone_dynamics.compiled import njit
from xtdrone_dynamics.constants import GRAVITY
from xtdrone_dynamics.quaternion import rotate, rotate_inverse

GAINS = np.dtype([
    ("k_p", "f8"),  # position to velocity [1/s]
    ("k_v", "f8"),  # velocity to acceleration, (6) [1/s]
    ("k_r", "f8"),  # attitude error to angular acceleration, (5) [1/s^2]
    ("k_w", "f8"),  # error of the body rates to angular acceleration, (5) [1/s]
    ("tilt_limit", "f8"),  # [rad]
], align=True)


@njit
def fly_geometric(v: Any, g: Any, action: np.ndarray, to_place: bool, measured: Any,
                  dt: float) -> None:
    """Writes torque and collective thrust of one vehicle.

    Args:
        v: Its record of control.CONTROL.
        g: Its record of GAINS.
        action: (4,) velocity and yaw rate, or position and yaw.
        to_place: Whether it is a position.
        measured: Its record of control.MEASURED.
        dt: Length of the step [s].
    """
    vel, pos, q = measured.vel, measured.pos, measured.quat
    wanted = action[0], action[1], action[2]
    yaw_rate = action[3]
    if to_place:
        wanted = (g.k_p * (action[0] - pos[0]), g.k_p * (action[1] - pos[1]),
                  g.k_p * (action[2] - pos[2]))
        yaw, yaw_rate = action[3], 0.0
    else:
        if not math.isfinite(v.free_yaw):
            v.free_yaw = math.atan2(2.0 * (q[3] * q[2] + q[0] * q[1]),
                                    1.0 - 2.0 * (q[1] * q[1] + q[2] * q[2]))
        v.free_yaw += yaw_rate * dt
        yaw = v.free_yaw
    ax, ay, az = (g.k_v * (wanted[0] - vel[0]), g.k_v * (wanted[1] - vel[1]),
                  g.k_v * (wanted[2] - vel[2]) + GRAVITY)
    az = max(az, 0.1 * GRAVITY)
    across, most = math.sqrt(ax * ax + ay * ay), az * math.tan(g.tilt_limit)
    if across > most:
        ax, ay = ax * most / across, ay * most / across
    # (7): what of the wanted acceleration lies along the body's z axis.
    bx, by, bz = rotate(q[0], q[1], q[2], q[3], 0.0, 0.0, 1.0)
    v.sp_thrust = max(v.mass * (ax * bx + ay * by + az * bz), 0.0)
    # (8), (9): roll and pitch of the attitude whose z axis lies along it; (1): its matrix.
    cy, sy = math.cos(yaw), math.sin(yaw)
    forward, left = cy * ax + sy * ay, cy * ay - sy * ax
    pitch = math.atan2(forward, az)
    roll = math.atan2(-left, math.sqrt(forward * forward + az * az))
    cr, sr, cp, sp = math.cos(roll), math.sin(roll), math.cos(pitch), math.sin(pitch)
    columns = ((cy * cp, sy * cp, -sp),
               (cy * sp * sr - sy * cr, sy * sp * sr + cy * cr, cp * sr),
               (cy * sp * cr + sy * sr, sy * sp * cr - cy * sr, cp * cr))
    # Columns of R^T R_d: the axes of the wanted attitude in the body's frame.
    xx, xy, xz = rotate_inverse(q[0], q[1], q[2], q[3], *columns[0])
    yx, yy, yz = rotate_inverse(q[0], q[1], q[2], q[3], *columns[1])
    zx, zy, zz = rotate_inverse(q[0], q[1], q[2], q[3], *columns[2])
    # (3): the vee of R_d^T R - R^T R_d, halved; (2), (4): the rate of the wanted attitude.
    ex, ey, ez = 0.5 * (zy - yz), 0.5 * (xz - zx), 0.5 * (yx - xy)
    rx, ry, rz = rotate_inverse(q[0], q[1], q[2], q[3], 0.0, 0.0, yaw_rate)
    wx, wy, wz = measured.ang_vel[0], measured.ang_vel[1], measured.ang_vel[2]
    ax, ay, az = (-g.k_r * ex - g.k_w * (wx - rx), -g.k_r * ey - g.k_w * (wy - ry),
                  -0.2 * g.k_r * ez - 0.5 * g.k_w * (wz - rz))
    j = v.inertia
    lx = j[0, 0] * wx + j[0, 1] * wy + j[0, 2] * wz
    ly = j[1, 0] * wx + j[1, 1] * wy + j[1, 2] * wz
    lz = j[2, 0] * wx + j[2, 1] * wy + j[2, 2] * wz
    # (5)
    v.sp_torque[0] = j[0, 0] * ax + j[0, 1] * ay + j[0, 2] * az + wy * lz - wz * ly
    v.sp_torque[1] = j[1, 0] * ax + j[1, 1] * ay + j[1, 2] * az + wz * lx - wx * lz
    v.sp_torque[2] = j[2, 0] * ax + j[2, 1] * ay + j[2, 2] * az + wx * ly - wy * lx
