"""Normals, colours and optical flow of what a packet of rays met: loops over its lanes."""

import math

import numpy as np

from xtdrone_dynamics.lanes import LaneLoop

from .surfaces import (
    COLOUR,
    FAR,
    FLOW,
    HALF,
    NORMAL,
    PART,
    RAY,
    SEMANTIC,
    SPIN,
    TINT,
    VEL,
    WHO,
    R,
    Real,
)

SUN = (0.4, 0.3, 0.866)  # direction to the sun, world
AMBIENT = 0.45  # fraction of the light that comes from everywhere
ZENITH, HORIZON = (0.35, 0.55, 0.85), (0.80, 0.88, 0.95)  # colours of the sky


@LaneLoop
def sky(packet: np.ndarray) -> None:
    """Writes the colour of the sky for all rays."""
    for k in range(R):
        dx, dy, dz = packet[RAY + k], packet[RAY + R + k], packet[RAY + 2 * R + k]
        up = max(dz, 0.0) / math.sqrt(dx * dx + dy * dy + dz * dz)
        packet[COLOUR + k] = HORIZON[0] + up * (ZENITH[0] - HORIZON[0])
        packet[COLOUR + R + k] = HORIZON[1] + up * (ZENITH[1] - HORIZON[1])
        packet[COLOUR + 2 * R + k] = HORIZON[2] + up * (ZENITH[2] - HORIZON[2])
        packet[NORMAL + k] = packet[NORMAL + R + k] = packet[NORMAL + 2 * R + k] = packet[
            SEMANTIC + k
        ] = 0.0


@LaneLoop
def semantic(packet: np.ndarray, who: Real, label: float) -> None:
    """Marks the rays that met an object with its class."""
    for k in range(R):
        packet[SEMANTIC + k] = label if packet[WHO + k] == who else packet[SEMANTIC + k]


@LaneLoop
def plane_normals(packet: np.ndarray, obj: np.ndarray, who: Real) -> None:
    """Writes the normals where the rays met the plane `who`."""
    nx, ny, nz = obj[5], obj[8], obj[11]
    for k in range(R):
        mine = packet[WHO + k] == who
        packet[NORMAL + k] = nx if mine else packet[NORMAL + k]
        packet[NORMAL + R + k] = ny if mine else packet[NORMAL + R + k]
        packet[NORMAL + 2 * R + k] = nz if mine else packet[NORMAL + 2 * R + k]


@LaneLoop
def box_normals(
    packet: np.ndarray, obj: np.ndarray, px: float, py: float, pz: float, who: Real
) -> None:
    """Writes the normals where the rays met the box `who`; p: their start in its frame."""
    a, b, c, d, e, f, g, h, i = (
        obj[3],
        obj[4],
        obj[5],
        obj[6],
        obj[7],
        obj[8],
        obj[9],
        obj[10],
        obj[11],
    )
    sx, sy, sz = 1.0 / obj[HALF], 1.0 / obj[HALF + 1], 1.0 / obj[HALF + 2]
    for k in range(R):
        dx, dy, dz, t = (
            packet[RAY + k],
            packet[RAY + R + k],
            packet[RAY + 2 * R + k],
            packet[FAR + k],
        )
        u = (px + t * (a * dx + d * dy + g * dz)) * sx
        v = (py + t * (b * dx + e * dy + h * dz)) * sy
        w = (pz + t * (c * dx + f * dy + i * dz)) * sz
        largest = max(abs(u), max(abs(v), abs(w)))
        u = (1.0 if u > 0.0 else -1.0) if abs(u) == largest else 0.0
        v = (1.0 if v > 0.0 else -1.0) if (abs(v) == largest) & (u == 0.0) else 0.0
        w = (1.0 if w > 0.0 else -1.0) if (u == 0.0) & (v == 0.0) else 0.0
        mine = packet[WHO + k] == who
        packet[NORMAL + k] = a * u + b * v + c * w if mine else packet[NORMAL + k]
        packet[NORMAL + R + k] = d * u + e * v + f * w if mine else packet[NORMAL + R + k]
        packet[NORMAL + 2 * R + k] = g * u + h * v + i * w if mine else packet[NORMAL + 2 * R + k]


@LaneLoop
def sphere_normals(
    packet: np.ndarray, obj: np.ndarray, px: float, py: float, pz: float, who: Real
) -> None:
    """Writes the normals where the rays met the sphere `who`; p: start from its centre, world."""
    scale = 1.0 / obj[HALF]
    for k in range(R):
        t = packet[FAR + k]
        mine = packet[WHO + k] == who
        packet[NORMAL + k] = (px + t * packet[RAY + k]) * scale if mine else packet[NORMAL + k]
        packet[NORMAL + R + k] = (
            (py + t * packet[RAY + R + k]) * scale if mine else packet[NORMAL + R + k]
        )
        packet[NORMAL + 2 * R + k] = (
            (pz + t * packet[RAY + 2 * R + k]) * scale if mine else packet[NORMAL + 2 * R + k]
        )


@LaneLoop
def cylinder_normals(
    packet: np.ndarray, obj: np.ndarray, px: float, py: float, pz: float, who: Real
) -> None:
    """Writes the normals where the rays met the cylinder `who`; p: their start in its frame."""
    a, b, c, d, e, f, g, h, i = (
        obj[3],
        obj[4],
        obj[5],
        obj[6],
        obj[7],
        obj[8],
        obj[9],
        obj[10],
        obj[11],
    )
    out, up = 1.0 / obj[HALF], 1.0 / obj[HALF + 1]
    for k in range(R):
        dx, dy, dz, t = (
            packet[RAY + k],
            packet[RAY + R + k],
            packet[RAY + 2 * R + k],
            packet[FAR + k],
        )
        u = (px + t * (a * dx + d * dy + g * dz)) * out
        v = (py + t * (b * dx + e * dy + h * dz)) * out
        w = (pz + t * (c * dx + f * dy + i * dz)) * up
        end = w * w > u * u + v * v
        u, v = 0.0 if end else u, 0.0 if end else v
        w = (1.0 if w > 0.0 else -1.0) if end else 0.0
        mine = packet[WHO + k] == who
        packet[NORMAL + k] = a * u + b * v + c * w if mine else packet[NORMAL + k]
        packet[NORMAL + R + k] = d * u + e * v + f * w if mine else packet[NORMAL + R + k]
        packet[NORMAL + 2 * R + k] = g * u + h * v + i * w if mine else packet[NORMAL + 2 * R + k]


def mesh_normals(
    packet: np.ndarray, obj: np.ndarray, triangles: np.ndarray, first: int, who: Real
) -> None:
    """Writes the normals, towards the sensor, where the rays met the mesh `who`."""
    for k in range(R):
        if packet[WHO + k] == who:
            t = triangles[first + int(packet[PART + k])]
            u = (t[4] * t[8] - t[5] * t[7]) / obj[HALF]
            v = (t[5] * t[6] - t[3] * t[8]) / obj[HALF + 1]
            w = (t[3] * t[7] - t[4] * t[6]) / obj[HALF + 2]
            nx = obj[3] * u + obj[4] * v + obj[5] * w
            ny = obj[6] * u + obj[7] * v + obj[8] * w
            nz = obj[9] * u + obj[10] * v + obj[11] * w
            away = nx * packet[RAY + k] + ny * packet[RAY + R + k] + nz * packet[RAY + 2 * R + k]
            scale = 1.0 / max(math.sqrt(nx * nx + ny * ny + nz * nz), 1e-30)
            scale = -scale if away > 0.0 else scale
            packet[NORMAL + k] = nx * scale
            packet[NORMAL + R + k] = ny * scale
            packet[NORMAL + 2 * R + k] = nz * scale


@LaneLoop
def shade(packet: np.ndarray, obj: np.ndarray, who: Real) -> None:
    """Writes the colours where the rays met the object `who`, in the sun: Lambert's cosine."""
    red, green, blue = obj[TINT], obj[TINT + 1], obj[TINT + 2]
    for k in range(R):
        facing = (
            packet[NORMAL + k] * SUN[0]
            + packet[NORMAL + R + k] * SUN[1]
            + packet[NORMAL + 2 * R + k] * SUN[2]
        )
        light = AMBIENT + (1.0 - AMBIENT) * max(facing, 0.0)
        mine = packet[WHO + k] == who
        packet[COLOUR + k] = red * light if mine else packet[COLOUR + k]
        packet[COLOUR + R + k] = green * light if mine else packet[COLOUR + R + k]
        packet[COLOUR + 2 * R + k] = blue * light if mine else packet[COLOUR + 2 * R + k]


@LaneLoop
def sky_flow(
    packet: np.ndarray, rays: np.ndarray, wx: float, wy: float, wz: float, fx: float, fy: float
) -> None:
    """Writes the optical flow of what is far away [pixels/s]; w: angular velocity, camera frame."""
    for k in range(R):
        y, z = rays[1, k], rays[2, k]
        vx, vy, vz = wz * y - wy * z, wx * z - wz, wy - wx * y
        packet[FLOW + k] = -fx * (vy - y * vx)
        packet[FLOW + R + k] = -fy * (vz - z * vx)


@LaneLoop
def add_flow(
    packet: np.ndarray,
    obj: np.ndarray,
    rays: np.ndarray,
    matrix: np.ndarray,
    px: float,
    py: float,
    pz: float,
    vx: float,
    vy: float,
    vz: float,
    fx: float,
    fy: float,
    who: Real,
) -> None:
    """Adds what the motion of the camera and of the object `who` does to its optical flow.

    Args:
        matrix: Matrix, camera to world.
        px, py, pz: From the object to the camera, world [m].
        vx, vy, vz: Velocity of the camera, world [m/s].
        fx, fy: Focal lengths [pixels].
    """
    ux, uy, uz = obj[VEL] - vx, obj[VEL + 1] - vy, obj[VEL + 2] - vz
    sx, sy, sz = obj[SPIN], obj[SPIN + 1], obj[SPIN + 2]
    a, b, c, d, e, f, g, h, i = (
        matrix[0],
        matrix[1],
        matrix[2],
        matrix[3],
        matrix[4],
        matrix[5],
        matrix[6],
        matrix[7],
        matrix[8],
    )
    for k in range(R):
        t = packet[FAR + k]
        rx, ry, rz = (
            px + t * packet[RAY + k],
            py + t * packet[RAY + R + k],
            pz + t * packet[RAY + 2 * R + k],
        )
        ax, ay, az = ux + sy * rz - sz * ry, uy + sz * rx - sx * rz, uz + sx * ry - sy * rx
        forward = (a * ax + d * ay + g * az) / t
        left = (b * ax + e * ay + h * az) / t
        up = (c * ax + f * ay + i * az) / t
        mine = packet[WHO + k] == who
        packet[FLOW + k] -= fx * (left - rays[1, k] * forward) if mine else 0.0
        packet[FLOW + R + k] -= fy * (up - rays[2, k] * forward) if mine else 0.0


@LaneLoop
def finish(packet: np.ndarray) -> None:
    """Sets the lengths of rays that met nothing, and scales colours to 0..255."""
    for k in range(R):
        packet[FAR + k] = packet[FAR + k] if packet[WHO + k] >= 0.0 else math.inf
    for k in range(3 * R):
        packet[COLOUR + k] = min(max(packet[COLOUR + k], 0.0), 1.0) * 255.0 + 0.5


@LaneLoop
def grey(packet: np.ndarray) -> None:
    """Writes the brightness (ITU-R BT.601) into the first colour."""
    for k in range(R):
        packet[COLOUR + k] = (
            0.299 * packet[COLOUR + k]
            + 0.587 * packet[COLOUR + R + k]
            + 0.114 * packet[COLOUR + 2 * R + k]
        )
