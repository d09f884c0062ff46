"""Normals, colours and optical flow of what a packet of rays met: loops over its lanes."""

import math

import numpy as np

from xtdrone_dynamics.lanes import LaneLoop

from .surfaces import COLOUR, FAR, FLOW, HALF, NORMAL, PART, RAY, SEMANTIC, SPIN, TINT, VEL, WHO, R

SUN = (0.4, 0.3, 0.866)  # direction to it, world
AMBIENT = 0.45  # share of the light that comes from everywhere
ZENITH, HORIZON = (0.35, 0.55, 0.85), (0.80, 0.88, 0.95)  # colours of the sky


@LaneLoop
def sky(x: np.ndarray) -> None:
    """What rays see that meet nothing."""
    for k in range(R):
        dx, dy, dz = x[RAY + k], x[RAY + R + k], x[RAY + 2 * R + k]
        up = max(dz, 0.0) / math.sqrt(dx * dx + dy * dy + dz * dz)
        x[COLOUR + k] = HORIZON[0] + up * (ZENITH[0] - HORIZON[0])
        x[COLOUR + R + k] = HORIZON[1] + up * (ZENITH[1] - HORIZON[1])
        x[COLOUR + 2 * R + k] = HORIZON[2] + up * (ZENITH[2] - HORIZON[2])
        x[NORMAL + k] = x[NORMAL + R + k] = x[NORMAL + 2 * R + k] = x[SEMANTIC + k] = 0.0


@LaneLoop
def semantic(x: np.ndarray, who: float, label: float) -> None:
    """Marks the rays that met an object with its class."""
    for k in range(R):
        x[SEMANTIC + k] = label if x[WHO + k] == who else x[SEMANTIC + k]


@LaneLoop
def plane_normals(x: np.ndarray, o: np.ndarray, who: float) -> None:
    """Normals where the rays met the plane `who`."""
    nx, ny, nz = o[5], o[8], o[11]
    for k in range(R):
        mine = x[WHO + k] == who
        x[NORMAL + k] = nx if mine else x[NORMAL + k]
        x[NORMAL + R + k] = ny if mine else x[NORMAL + R + k]
        x[NORMAL + 2 * R + k] = nz if mine else x[NORMAL + 2 * R + k]


@LaneLoop
def box_normals(x: np.ndarray, o: np.ndarray, px: float, py: float, pz: float, who: float) -> None:
    """Normals where the rays met the box `who`; p: their start in its frame."""
    a, b, c, d, e, f, g, h, i = o[3], o[4], o[5], o[6], o[7], o[8], o[9], o[10], o[11]
    sx, sy, sz = 1.0 / o[HALF], 1.0 / o[HALF + 1], 1.0 / o[HALF + 2]
    for k in range(R):
        dx, dy, dz, t = x[RAY + k], x[RAY + R + k], x[RAY + 2 * R + k], x[FAR + k]
        u = (px + t * (a * dx + d * dy + g * dz)) * sx
        v = (py + t * (b * dx + e * dy + h * dz)) * sy
        w = (pz + t * (c * dx + f * dy + i * dz)) * sz
        most = max(abs(u), max(abs(v), abs(w)))
        u = (1.0 if u > 0.0 else -1.0) if abs(u) == most else 0.0
        v = (1.0 if v > 0.0 else -1.0) if (abs(v) == most) & (u == 0.0) else 0.0
        w = (1.0 if w > 0.0 else -1.0) if (u == 0.0) & (v == 0.0) else 0.0
        mine = x[WHO + k] == who
        x[NORMAL + k] = a * u + b * v + c * w if mine else x[NORMAL + k]
        x[NORMAL + R + k] = d * u + e * v + f * w if mine else x[NORMAL + R + k]
        x[NORMAL + 2 * R + k] = g * u + h * v + i * w if mine else x[NORMAL + 2 * R + k]


@LaneLoop
def sphere_normals(
    x: np.ndarray, o: np.ndarray, px: float, py: float, pz: float, who: float
) -> None:
    """Normals where the rays met the sphere `who`; p: their start from its centre, world."""
    scale = 1.0 / o[HALF]
    for k in range(R):
        t = x[FAR + k]
        mine = x[WHO + k] == who
        x[NORMAL + k] = (px + t * x[RAY + k]) * scale if mine else x[NORMAL + k]
        x[NORMAL + R + k] = (py + t * x[RAY + R + k]) * scale if mine else x[NORMAL + R + k]
        x[NORMAL + 2 * R + k] = (
            (pz + t * x[RAY + 2 * R + k]) * scale if mine else x[NORMAL + 2 * R + k]
        )


@LaneLoop
def cylinder_normals(
    x: np.ndarray, o: np.ndarray, px: float, py: float, pz: float, who: float
) -> None:
    """Normals where the rays met the cylinder `who`; p: their start in its frame."""
    a, b, c, d, e, f, g, h, i = o[3], o[4], o[5], o[6], o[7], o[8], o[9], o[10], o[11]
    out, up = 1.0 / o[HALF], 1.0 / o[HALF + 1]
    for k in range(R):
        dx, dy, dz, t = x[RAY + k], x[RAY + R + k], x[RAY + 2 * R + k], x[FAR + k]
        u = (px + t * (a * dx + d * dy + g * dz)) * out
        v = (py + t * (b * dx + e * dy + h * dz)) * out
        w = (pz + t * (c * dx + f * dy + i * dz)) * up
        end = w * w > u * u + v * v
        u, v = 0.0 if end else u, 0.0 if end else v
        w = (1.0 if w > 0.0 else -1.0) if end else 0.0
        mine = x[WHO + k] == who
        x[NORMAL + k] = a * u + b * v + c * w if mine else x[NORMAL + k]
        x[NORMAL + R + k] = d * u + e * v + f * w if mine else x[NORMAL + R + k]
        x[NORMAL + 2 * R + k] = g * u + h * v + i * w if mine else x[NORMAL + 2 * R + k]


def mesh_normals(
    x: np.ndarray, o: np.ndarray, triangles: np.ndarray, first: int, who: float
) -> None:
    """Normals, towards the sensor, where the rays met the mesh `who`."""
    for k in range(R):
        if x[WHO + k] == who:
            t = triangles[first + int(x[PART + k])]
            u = (t[4] * t[8] - t[5] * t[7]) / o[HALF]
            v = (t[5] * t[6] - t[3] * t[8]) / o[HALF + 1]
            w = (t[3] * t[7] - t[4] * t[6]) / o[HALF + 2]
            nx = o[3] * u + o[4] * v + o[5] * w
            ny = o[6] * u + o[7] * v + o[8] * w
            nz = o[9] * u + o[10] * v + o[11] * w
            away = nx * x[RAY + k] + ny * x[RAY + R + k] + nz * x[RAY + 2 * R + k]
            scale = 1.0 / max(math.sqrt(nx * nx + ny * ny + nz * nz), 1e-30)
            scale = -scale if away > 0.0 else scale
            x[NORMAL + k] = nx * scale
            x[NORMAL + R + k] = ny * scale
            x[NORMAL + 2 * R + k] = nz * scale


@LaneLoop
def shade(x: np.ndarray, o: np.ndarray, who: float) -> None:
    """Colours where the rays met the object `who`, in the sun: Lambert's cosine."""
    red, green, blue = o[TINT], o[TINT + 1], o[TINT + 2]
    for k in range(R):
        facing = (
            x[NORMAL + k] * SUN[0] + x[NORMAL + R + k] * SUN[1] + x[NORMAL + 2 * R + k] * SUN[2]
        )
        light = AMBIENT + (1.0 - AMBIENT) * max(facing, 0.0)
        mine = x[WHO + k] == who
        x[COLOUR + k] = red * light if mine else x[COLOUR + k]
        x[COLOUR + R + k] = green * light if mine else x[COLOUR + R + k]
        x[COLOUR + 2 * R + k] = blue * light if mine else x[COLOUR + 2 * R + k]


@LaneLoop
def sky_flow(
    x: np.ndarray, rays: np.ndarray, wx: float, wy: float, wz: float, fx: float, fy: float
) -> None:
    """Optical flow of what is far away [pixels/s]; w: the camera's angular velocity, its frame."""
    for k in range(R):
        y, z = rays[1, k], rays[2, k]
        vx, vy, vz = wz * y - wy * z, wx * z - wz, wy - wx * y
        x[FLOW + k] = -fx * (vy - y * vx)
        x[FLOW + R + k] = -fy * (vz - z * vx)


@LaneLoop
def add_flow(
    x: np.ndarray,
    o: np.ndarray,
    rays: np.ndarray,
    m: np.ndarray,
    px: float,
    py: float,
    pz: float,
    vx: float,
    vy: float,
    vz: float,
    fx: float,
    fy: float,
    who: float,
) -> None:
    """Adds what the motion of the camera and of the object `who` does to its optical flow.

    Args:
        m: Matrix, camera to world.
        px, py, pz: From the object to the camera, world [m].
        vx, vy, vz: Velocity of the camera, world [m/s].
        fx, fy: Focal lengths [pixels].
    """
    ux, uy, uz = o[VEL] - vx, o[VEL + 1] - vy, o[VEL + 2] - vz
    sx, sy, sz = o[SPIN], o[SPIN + 1], o[SPIN + 2]
    a, b, c, d, e, f, g, h, i = m[0], m[1], m[2], m[3], m[4], m[5], m[6], m[7], m[8]
    for k in range(R):
        t = x[FAR + k]
        rx, ry, rz = (px + t * x[RAY + k], py + t * x[RAY + R + k], pz + t * x[RAY + 2 * R + k])
        ax, ay, az = ux + sy * rz - sz * ry, uy + sz * rx - sx * rz, uz + sx * ry - sy * rx
        forward = (a * ax + d * ay + g * az) / t
        left = (b * ax + e * ay + h * az) / t
        up = (c * ax + f * ay + i * az) / t
        mine = x[WHO + k] == who
        x[FLOW + k] -= fx * (left - rays[1, k] * forward) if mine else 0.0
        x[FLOW + R + k] -= fy * (up - rays[2, k] * forward) if mine else 0.0


@LaneLoop
def finish(x: np.ndarray) -> None:
    """Lengths of rays that met nothing, and colours from 0 to 255."""
    for k in range(R):
        x[FAR + k] = x[FAR + k] if x[WHO + k] >= 0.0 else math.inf
    for k in range(3 * R):
        x[COLOUR + k] = min(max(x[COLOUR + k], 0.0), 1.0) * 255.0 + 0.5


@LaneLoop
def grey(x: np.ndarray) -> None:
    """The first colour becomes the brightness (ITU-R BT.601)."""
    for k in range(R):
        x[COLOUR + k] = (
            0.299 * x[COLOUR + k] + 0.587 * x[COLOUR + R + k] + 0.114 * x[COLOUR + 2 * R + k]
        )
