"""Packets of rays against surfaces: loops over the lanes of one packet.

A packet's scratch has one row of PACKET numbers for each quantity. Surfaces are met from outside
only, as renderers draw them: what holds the sensor inside is not seen. Meshes have two sides.
"""

import math

import numpy as np

from xtdrone_dynamics.lanes import LaneLoop

from .pattern import PACKET
from .tree import LEAF, NOWHERE

Real = float | np.float32  # loops in lanes compute with either
R = PACKET
YES, NO = np.int32(1), np.int32(0)  # as wide as the numbers in the lanes
# Rows of a packet's scratch.
RAY, FAR, WHO, PART, LOCAL, NORMAL, COLOUR, SEMANTIC, FLOW = (
    0,
    3 * R,
    4 * R,
    5 * R,
    6 * R,
    9 * R,
    12 * R,
    15 * R,
    16 * R,
)
# RAY: direction, world. FAR: length up to the first surface. WHO: that object, -1 = none.
# PART: the triangle of a mesh. LOCAL: directions in a mesh's frame.
ROWS = 18 * R

# Numbers of an object as it stands in the world.
POS, AXES, HALF, TINT, VEL, SPIN = 0, 3, 12, 15, 18, 21
# AXES: matrix, object to world, row by row. HALF: box and plane: half sides; sphere: radius;
# cylinder: radius, half length; mesh: scale. SPIN: angular velocity, world.
OBJECT = 24

# Numbers of a beam, all lines from one point whose directions lie in a box: the point, and for each
# axis the factors and offsets of entry().
BEAM = 21


def _factors(low: float, high: float) -> tuple[float, ...]:
    """Returns the factors of one axis of a beam, of higher and of lower corner; see entry()."""
    low = min(low, -1e-12) if low <= 0.0 else max(low, 1e-12)
    high = min(high, -1e-12) if high <= 0.0 else max(high, 1e-12)
    forward, back = 1.0 / low, 1.0 / high
    up = (forward, 0.0, 0.0) if low > 0.0 else (0.0, NOWHERE, forward)
    down = (back, 0.0, NOWHERE) if high > 0.0 else (0.0, back, 0.0)
    return (*up, *down)


def aim(
    beam: np.ndarray, box: np.ndarray, matrix: np.ndarray, x: float, y: float, z: float
) -> None:
    """Sets a beam: from a point, with directions of a sensor's box turned by the matrix."""
    beam[0], beam[1], beam[2] = x, y, z
    for k in range(3):
        a, b, c = matrix[3 * k], matrix[3 * k + 1], matrix[3 * k + 2]
        middle = a * box[0] + b * box[1] + c * box[2]
        half = (abs(a) * box[3] + abs(b) * box[4] + abs(c) * box[5]) * 1.00001 + 1e-6
        factors = _factors(middle - half, middle + half)
        for j in range(6):
            beam[3 + 6 * k + j] = factors[j]


def entry(
    low: tuple[float, ...],
    high: tuple[float, ...],
    fx: tuple[float, ...],
    fy: tuple[float, ...],
    fz: tuple[float, ...],
    far: Real,
) -> float:
    """Returns the shortest length at which a beam may meet a box, or NOWHERE.

    A direction d between dl and dh meets the slab from l to h at the length t if t dl <= h and
    t dh >= l: a limit from above or from below, by the signs of dl and dh.

    Args:
        low, high: Corners of the box from the beam's point [m].
        fx, fy, fz: _factors() of the axes.
        far: The longest length of interest.
    """
    first = max(high[0] * fx[2], low[0] * fx[3])
    first = max(first, max(high[1] * fy[2], low[1] * fy[3]))
    first = max(first, max(high[2] * fz[2], low[2] * fz[3]))
    first = max(first, 0.0)
    last = min(high[0] * fx[0] + fx[1], low[0] * fx[4] + fx[5])
    last = min(last, min(high[1] * fy[0] + fy[1], low[1] * fy[4] + fy[5]))
    last = min(last, min(high[2] * fz[0] + fz[1], low[2] * fz[4] + fz[5]))
    return first if first <= min(last, far) else NOWHERE


def entry_of_node(node: np.ndarray, beam: np.ndarray, far: Real) -> float:
    """Returns entry() for a node (6,)."""
    x, y, z = beam[0], beam[1], beam[2]
    return entry(
        (node[0] - x, node[1] - y, node[2] - z),
        (node[3] - x, node[4] - y, node[5] - z),
        (beam[3], beam[4], beam[5], beam[6], beam[7], beam[8]),
        (beam[9], beam[10], beam[11], beam[12], beam[13], beam[14]),
        (beam[15], beam[16], beam[17], beam[18], beam[19], beam[20]),
        far,
    )


@LaneLoop
def entries(boxes: np.ndarray, beam: np.ndarray, far: Real, entry_lengths: np.ndarray) -> None:
    """Writes entry() for the boxes of one leaf, which are in the lanes here."""
    x, y, z = beam[0], beam[1], beam[2]
    fx = (beam[3], beam[4], beam[5], beam[6], beam[7], beam[8])
    fy = (beam[9], beam[10], beam[11], beam[12], beam[13], beam[14])
    fz = (beam[15], beam[16], beam[17], beam[18], beam[19], beam[20])
    for k in range(LEAF):
        entry_lengths[k] = entry(
            (boxes[0, k] - x, boxes[1, k] - y, boxes[2, k] - z),
            (boxes[3, k] - x, boxes[4, k] - y, boxes[5, k] - z),
            fx,
            fy,
            fz,
            far,
        )


@LaneLoop
def start(packet: np.ndarray, rays: np.ndarray, matrix: np.ndarray, far: Real) -> None:
    """Writes the directions in the world, and that nothing was met."""
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
        u, v, w = rays[0, k], rays[1, k], rays[2, k]
        packet[RAY + k] = a * u + b * v + c * w
        packet[RAY + R + k] = d * u + e * v + f * w
        packet[RAY + 2 * R + k] = g * u + h * v + i * w
        packet[FAR + k], packet[WHO + k] = far, -1.0


@LaneLoop
def any_beyond(packet: np.ndarray, near: Real) -> np.int32:
    """Whether some ray still reaches further than `near`."""
    any_ray = NO
    for k in range(R):
        any_ray |= YES if packet[FAR + k] > near else NO
    return any_ray


@LaneLoop
def met(packet: np.ndarray, who: Real) -> np.int32:
    """Whether an object is the first on some ray.

    On its own: in a loop that stores, too, such a sum would keep the compiler from vectors.
    """
    any_ray = NO
    for k in range(R):
        any_ray |= YES if packet[WHO + k] == who else NO
    return any_ray


def _steady(d: float) -> float:
    """Keeps a component of a direction away from zero."""
    return d if abs(d) > 1e-12 else 1e-12


@LaneLoop
def meet_plane(
    packet: np.ndarray, obj: np.ndarray, px: float, py: float, pz: float, near: Real, who: Real
) -> None:
    """Meets the upper side of a rectangle; p: the rays' start in its frame."""
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
    wide, deep = obj[HALF], obj[HALF + 1]
    for k in range(R):
        dx, dy, dz = packet[RAY + k], packet[RAY + R + k], packet[RAY + 2 * R + k]
        u, v, w = a * dx + d * dy + g * dz, b * dx + e * dy + h * dz, c * dx + f * dy + i * dz
        t = -pz / _steady(w)
        hit = (
            (w < 0.0)
            & (t > near)
            & (t < packet[FAR + k])
            & (abs(px + t * u) <= wide)
            & (abs(py + t * v) <= deep)
        )
        packet[FAR + k] = t if hit else packet[FAR + k]
        packet[WHO + k] = who if hit else packet[WHO + k]


@LaneLoop
def meet_box(
    packet: np.ndarray, obj: np.ndarray, px: float, py: float, pz: float, near: Real, who: Real
) -> None:
    """Meets a box; p: the rays' start in its frame."""
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
    lx, ly, lz = -obj[HALF] - px, -obj[HALF + 1] - py, -obj[HALF + 2] - pz
    hx, hy, hz = obj[HALF] - px, obj[HALF + 1] - py, obj[HALF + 2] - pz
    for k in range(R):
        dx, dy, dz = packet[RAY + k], packet[RAY + R + k], packet[RAY + 2 * R + k]
        u = 1.0 / _steady(a * dx + d * dy + g * dz)
        v = 1.0 / _steady(b * dx + e * dy + h * dz)
        w = 1.0 / _steady(c * dx + f * dy + i * dz)
        first = max(max(min(lx * u, hx * u), min(ly * v, hy * v)), min(lz * w, hz * w))
        last = min(min(max(lx * u, hx * u), max(ly * v, hy * v)), max(lz * w, hz * w))
        hit = (first <= last) & (first > near) & (first < packet[FAR + k])
        packet[FAR + k] = first if hit else packet[FAR + k]
        packet[WHO + k] = who if hit else packet[WHO + k]


@LaneLoop
def meet_sphere(
    packet: np.ndarray, obj: np.ndarray, px: float, py: float, pz: float, near: Real, who: Real
) -> None:
    """Meets a sphere; p: the rays' start from its centre, world."""
    inside = px * px + py * py + pz * pz - obj[HALF] * obj[HALF]
    for k in range(R):
        dx, dy, dz = packet[RAY + k], packet[RAY + R + k], packet[RAY + 2 * R + k]
        square = dx * dx + dy * dy + dz * dz
        along = px * dx + py * dy + pz * dz
        disc = along * along - square * inside
        t = (-along - math.sqrt(max(disc, 0.0))) / square
        hit = (disc > 0.0) & (t > near) & (t < packet[FAR + k])
        packet[FAR + k] = t if hit else packet[FAR + k]
        packet[WHO + k] = who if hit else packet[WHO + k]


@LaneLoop
def meet_cylinder(
    packet: np.ndarray, obj: np.ndarray, px: float, py: float, pz: float, near: Real, who: Real
) -> None:
    """Meets a cylinder with its ends; p: the rays' start in its frame."""
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
    radius, tall = obj[HALF], obj[HALF + 1]
    inside = px * px + py * py - radius * radius
    for k in range(R):
        dx, dy, dz = packet[RAY + k], packet[RAY + R + k], packet[RAY + 2 * R + k]
        u, v = a * dx + d * dy + g * dz, b * dx + e * dy + h * dz
        w = 1.0 / _steady(c * dx + f * dy + i * dz)
        square = max(u * u + v * v, 1e-12)
        along = px * u + py * v
        disc = along * along - square * inside
        root = math.sqrt(max(disc, 0.0))
        first = max((-along - root) / square, min((-tall - pz) * w, (tall - pz) * w))
        last = min((-along + root) / square, max((-tall - pz) * w, (tall - pz) * w))
        hit = (disc > 0.0) & (first <= last) & (first > near) & (first < packet[FAR + k])
        packet[FAR + k] = first if hit else packet[FAR + k]
        packet[WHO + k] = who if hit else packet[WHO + k]


@LaneLoop
def turn_into(packet: np.ndarray, matrix: np.ndarray) -> None:
    """Writes the directions in a mesh's frame; matrix: world to mesh."""
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
        u, v, w = packet[RAY + k], packet[RAY + R + k], packet[RAY + 2 * R + k]
        packet[LOCAL + k] = a * u + b * v + c * w
        packet[LOCAL + R + k] = d * u + e * v + f * w
        packet[LOCAL + 2 * R + k] = g * u + h * v + i * w


@LaneLoop
def meet_triangle(
    packet: np.ndarray,
    triangle: np.ndarray,
    px: float,
    py: float,
    pz: float,
    near: Real,
    who: Real,
    part: Real,
) -> None:
    """Meets both sides of a triangle (Moeller and Trumbore 1997); p: the rays' start in its frame.

    triangle: its first corner and its edges from there.
    """
    ax, ay, az, bx, by, bz = (
        triangle[3],
        triangle[4],
        triangle[5],
        triangle[6],
        triangle[7],
        triangle[8],
    )
    sx, sy, sz = px - triangle[0], py - triangle[1], pz - triangle[2]
    qx, qy, qz = sy * az - sz * ay, sz * ax - sx * az, sx * ay - sy * ax
    reach = bx * qx + by * qy + bz * qz
    for k in range(R):
        dx, dy, dz = packet[LOCAL + k], packet[LOCAL + R + k], packet[LOCAL + 2 * R + k]
        hx, hy, hz = dy * bz - dz * by, dz * bx - dx * bz, dx * by - dy * bx
        det = ax * hx + ay * hy + az * hz
        scale = 1.0 / (det if abs(det) > 1e-30 else 1e-30)
        u = (sx * hx + sy * hy + sz * hz) * scale
        v = (dx * qx + dy * qy + dz * qz) * scale
        far = reach * scale
        # Rays on an edge meet one of its triangles at least.
        hit = (
            (abs(det) > 1e-30)
            & (u >= -1e-6)
            & (v >= -1e-6)
            & (u + v <= 1.000001)
            & (far > near)
            & (far < packet[FAR + k])
        )
        packet[FAR + k] = far if hit else packet[FAR + k]
        packet[WHO + k] = who if hit else packet[WHO + k]
        packet[PART + k] = part if hit else packet[PART + k]
