"""Packets of rays against surfaces: loops over the lanes of one packet.

A packet's scratch has one row of PACKET numbers for each quantity. Surfaces are met from outside
only, as renderers draw them: what holds the sensor inside is not seen. Meshes have two sides.
"""

import math

import numpy as np

from xtdrone_dynamics.lanes import LaneLoop

from .pattern import PACKET
from .tree import LEAF, NOWHERE

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


def _factors(low, high):
    """Of one axis of a beam: for the higher corner and for the lower one; see entry()."""
    low = min(low, -1e-12) if low <= 0.0 else max(low, 1e-12)
    high = min(high, -1e-12) if high <= 0.0 else max(high, 1e-12)
    forward, back = 1.0 / low, 1.0 / high
    up = (forward, 0.0, 0.0) if low > 0.0 else (0.0, NOWHERE, forward)
    down = (back, 0.0, NOWHERE) if high > 0.0 else (0.0, back, 0.0)
    return (*up, *down)


def aim(beam: np.ndarray, box: np.ndarray, m: np.ndarray, x: float, y: float, z: float) -> None:
    """Sets a beam: from a point, with directions of a sensor's box turned by the matrix m."""
    beam[0], beam[1], beam[2] = x, y, z
    for k in range(3):
        a, b, c = m[3 * k], m[3 * k + 1], m[3 * k + 2]
        middle = a * box[0] + b * box[1] + c * box[2]
        half = (abs(a) * box[3] + abs(b) * box[4] + abs(c) * box[5]) * 1.00001 + 1e-6
        found = _factors(middle - half, middle + half)
        for j in range(6):
            beam[3 + 6 * k + j] = found[j]


def entry(
    low: tuple[float, ...],
    high: tuple[float, ...],
    fx: tuple[float, ...],
    fy: tuple[float, ...],
    fz: tuple[float, ...],
    far: float,
) -> float:
    """Where a beam may first meet a box: its shortest length, or NOWHERE.

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


def entry_of_node(node: np.ndarray, beam: np.ndarray, far: float) -> float:
    """entry() of a node (6,)."""
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
def entries(boxes: np.ndarray, beam: np.ndarray, far: float, found: np.ndarray) -> None:
    """entry() of the boxes of one leaf; those are in the lanes here."""
    x, y, z = beam[0], beam[1], beam[2]
    fx = (beam[3], beam[4], beam[5], beam[6], beam[7], beam[8])
    fy = (beam[9], beam[10], beam[11], beam[12], beam[13], beam[14])
    fz = (beam[15], beam[16], beam[17], beam[18], beam[19], beam[20])
    for k in range(LEAF):
        found[k] = entry(
            (boxes[0, k] - x, boxes[1, k] - y, boxes[2, k] - z),
            (boxes[3, k] - x, boxes[4, k] - y, boxes[5, k] - z),
            fx,
            fy,
            fz,
            far,
        )


@LaneLoop
def start(x: np.ndarray, rays: np.ndarray, m: np.ndarray, far: float) -> None:
    """Directions in the world, and nothing met."""
    a, b, c, d, e, f, g, h, i = m[0], m[1], m[2], m[3], m[4], m[5], m[6], m[7], m[8]
    for k in range(R):
        u, v, w = rays[0, k], rays[1, k], rays[2, k]
        x[RAY + k] = a * u + b * v + c * w
        x[RAY + R + k] = d * u + e * v + f * w
        x[RAY + 2 * R + k] = g * u + h * v + i * w
        x[FAR + k], x[WHO + k] = far, -1.0


@LaneLoop
def any_beyond(x: np.ndarray, near: float) -> int:
    """Whether a ray still reaches further."""
    found = NO
    for k in range(R):
        found |= YES if x[FAR + k] > near else NO
    return found


@LaneLoop
def met(x: np.ndarray, who: float) -> int:
    """Whether an object is the first on some ray.

    On its own: in a loop that stores, too, such a sum would keep the compiler from vectors.
    """
    found = NO
    for k in range(R):
        found |= YES if x[WHO + k] == who else NO
    return found


def _steady(d):
    """A component of a direction that one can divide by."""
    return d if abs(d) > 1e-12 else 1e-12


@LaneLoop
def meet_plane(
    x: np.ndarray, o: np.ndarray, px: float, py: float, pz: float, near: float, who: float
) -> None:
    """The upper side of a rectangle; p: the rays' start in its frame."""
    a, b, c, d, e, f, g, h, i = o[3], o[4], o[5], o[6], o[7], o[8], o[9], o[10], o[11]
    wide, deep = o[HALF], o[HALF + 1]
    for k in range(R):
        dx, dy, dz = x[RAY + k], x[RAY + R + k], x[RAY + 2 * R + k]
        u, v, w = a * dx + d * dy + g * dz, b * dx + e * dy + h * dz, c * dx + f * dy + i * dz
        t = -pz / _steady(w)
        hit = (
            (w < 0.0)
            & (t > near)
            & (t < x[FAR + k])
            & (abs(px + t * u) <= wide)
            & (abs(py + t * v) <= deep)
        )
        x[FAR + k] = t if hit else x[FAR + k]
        x[WHO + k] = who if hit else x[WHO + k]


@LaneLoop
def meet_box(
    x: np.ndarray, o: np.ndarray, px: float, py: float, pz: float, near: float, who: float
) -> None:
    """A box; p: the rays' start in its frame."""
    a, b, c, d, e, f, g, h, i = o[3], o[4], o[5], o[6], o[7], o[8], o[9], o[10], o[11]
    lx, ly, lz = -o[HALF] - px, -o[HALF + 1] - py, -o[HALF + 2] - pz
    hx, hy, hz = o[HALF] - px, o[HALF + 1] - py, o[HALF + 2] - pz
    for k in range(R):
        dx, dy, dz = x[RAY + k], x[RAY + R + k], x[RAY + 2 * R + k]
        u = 1.0 / _steady(a * dx + d * dy + g * dz)
        v = 1.0 / _steady(b * dx + e * dy + h * dz)
        w = 1.0 / _steady(c * dx + f * dy + i * dz)
        first = max(max(min(lx * u, hx * u), min(ly * v, hy * v)), min(lz * w, hz * w))
        last = min(min(max(lx * u, hx * u), max(ly * v, hy * v)), max(lz * w, hz * w))
        hit = (first <= last) & (first > near) & (first < x[FAR + k])
        x[FAR + k] = first if hit else x[FAR + k]
        x[WHO + k] = who if hit else x[WHO + k]


@LaneLoop
def meet_sphere(
    x: np.ndarray, o: np.ndarray, px: float, py: float, pz: float, near: float, who: float
) -> None:
    """A sphere; p: the rays' start from its centre, world."""
    inside = px * px + py * py + pz * pz - o[HALF] * o[HALF]
    for k in range(R):
        dx, dy, dz = x[RAY + k], x[RAY + R + k], x[RAY + 2 * R + k]
        square = dx * dx + dy * dy + dz * dz
        along = px * dx + py * dy + pz * dz
        disc = along * along - square * inside
        t = (-along - math.sqrt(max(disc, 0.0))) / square
        hit = (disc > 0.0) & (t > near) & (t < x[FAR + k])
        x[FAR + k] = t if hit else x[FAR + k]
        x[WHO + k] = who if hit else x[WHO + k]


@LaneLoop
def meet_cylinder(
    x: np.ndarray, o: np.ndarray, px: float, py: float, pz: float, near: float, who: float
) -> None:
    """A cylinder with its ends; p: the rays' start in its frame."""
    a, b, c, d, e, f, g, h, i = o[3], o[4], o[5], o[6], o[7], o[8], o[9], o[10], o[11]
    radius, tall = o[HALF], o[HALF + 1]
    inside = px * px + py * py - radius * radius
    for k in range(R):
        dx, dy, dz = x[RAY + k], x[RAY + R + k], x[RAY + 2 * R + k]
        u, v = a * dx + d * dy + g * dz, b * dx + e * dy + h * dz
        w = 1.0 / _steady(c * dx + f * dy + i * dz)
        square = max(u * u + v * v, 1e-12)
        along = px * u + py * v
        disc = along * along - square * inside
        root = math.sqrt(max(disc, 0.0))
        first = max((-along - root) / square, min((-tall - pz) * w, (tall - pz) * w))
        last = min((-along + root) / square, max((-tall - pz) * w, (tall - pz) * w))
        hit = (disc > 0.0) & (first <= last) & (first > near) & (first < x[FAR + k])
        x[FAR + k] = first if hit else x[FAR + k]
        x[WHO + k] = who if hit else x[WHO + k]


@LaneLoop
def turn_into(x: np.ndarray, m: np.ndarray) -> None:
    """Directions in a mesh's frame, by the matrix m from the world."""
    a, b, c, d, e, f, g, h, i = m[0], m[1], m[2], m[3], m[4], m[5], m[6], m[7], m[8]
    for k in range(R):
        u, v, w = x[RAY + k], x[RAY + R + k], x[RAY + 2 * R + k]
        x[LOCAL + k] = a * u + b * v + c * w
        x[LOCAL + R + k] = d * u + e * v + f * w
        x[LOCAL + 2 * R + k] = g * u + h * v + i * w


@LaneLoop
def meet_triangle(
    x: np.ndarray,
    t: np.ndarray,
    px: float,
    py: float,
    pz: float,
    near: float,
    who: float,
    part: float,
) -> None:
    """Both sides of a triangle (Moeller and Trumbore 1997); p: the rays' start in its frame.

    t: its first corner and its edges from there.
    """
    ax, ay, az, bx, by, bz = t[3], t[4], t[5], t[6], t[7], t[8]
    sx, sy, sz = px - t[0], py - t[1], pz - t[2]
    qx, qy, qz = sy * az - sz * ay, sz * ax - sx * az, sx * ay - sy * ax
    reach = bx * qx + by * qy + bz * qz
    for k in range(R):
        dx, dy, dz = x[LOCAL + k], x[LOCAL + R + k], x[LOCAL + 2 * R + k]
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
            & (far < x[FAR + k])
        )
        x[FAR + k] = far if hit else x[FAR + k]
        x[WHO + k] = who if hit else x[WHO + k]
        x[PART + k] = part if hit else x[PART + k]
