"""Kinematics of a body that a joint connects to its parent."""

import math

from ..compiled import Record, njit
from ..quaternion import multiply, rotate, rotate_inverse
from ..shapes import State


@njit
def moved(
    body: Record,
    joint: Record,
    position: float,
    speed: float,
    px: float,
    py: float,
    pz: float,
    qx: float,
    qy: float,
    qz: float,
    qw: float,
    vx: float,
    vy: float,
    vz: float,
    wx: float,
    wy: float,
    wz: float,
) -> State:
    """Pose and velocity of a body from those of its parent.

    Args:
        body, joint: The body's record and that of its joint; see xtdrone_core.fleet_model.
        position, speed: Position and speed of the joint [rad], [rad/s], or [m], [m/s].
        px, py, pz: Origin of the parent, world [m].
        qx, qy, qz, qw: Parent to world.
        vx, vy, vz: Velocity of the parent's origin, world [m/s].
        wx, wy, wz: Angular velocity of the parent, parent's frame [rad/s].

    Returns:
        (pos xyz, quat xyzw, vel xyz, ang_vel xyz) of the body, as the parent's are given.
    """
    ax, ay, az = joint.axis[0], joint.axis[1], joint.axis[2]
    cx, cy, cz = joint.anchor[0], joint.anchor[1], joint.anchor[2]
    bx, by, bz, bw = multiply(
        qx, qy, qz, qw, body.quat[0], body.quat[1], body.quat[2], body.quat[3]
    )
    ox, oy, oz = rotate(qx, qy, qz, qw, body.pos[0], body.pos[1], body.pos[2])
    if joint.prismatic:
        sx, sy, sz = rotate(bx, by, bz, bw, position * ax, position * ay, position * az)
        ox, oy, oz = ox + sx, oy + sy, oz + sz
        nx, ny, nz = rotate(bx, by, bz, bw, speed * ax, speed * ay, speed * az)
        tx = ty = tz = 0.0
    else:
        # From the axis, which stays where it is, to the origin, which turns about it.
        sx, sy, sz = rotate(bx, by, bz, bw, cx, cy, cz)
        half = 0.5 * position
        sine = math.sin(half)
        bx, by, bz, bw = multiply(bx, by, bz, bw, sine * ax, sine * ay, sine * az, math.cos(half))
        rx, ry, rz = rotate(bx, by, bz, bw, -cx, -cy, -cz)
        ox, oy, oz = ox + sx + rx, oy + sy + ry, oz + sz + rz
        tx, ty, tz = rotate(bx, by, bz, bw, speed * ax, speed * ay, speed * az)
        nx, ny, nz = ty * rz - tz * ry, tz * rx - tx * rz, tx * ry - ty * rx
    ux, uy, uz = rotate(qx, qy, qz, qw, wx, wy, wz)
    nx += vx + uy * oz - uz * oy
    ny += vy + uz * ox - ux * oz
    nz += vz + ux * oy - uy * ox
    tx, ty, tz = rotate_inverse(bx, by, bz, bw, ux + tx, uy + ty, uz + tz)
    return (px + ox, py + oy, pz + oz, bx, by, bz, bw, nx, ny, nz, tx, ty, tz)
