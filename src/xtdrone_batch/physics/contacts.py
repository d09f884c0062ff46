"""Contacts of vehicles with objects and with each other, as impulses on velocities.

A vehicle touches with points: the corners of its boxes, the rims of its cylinders, its spheres. A
point that would pass a surface within the step gets the impulse that stops it there, within
Coulomb's cone; several are solved in turn (projected Gauss-Seidel; Catto, "Iterative dynamics with
temporal coherence", 2005). Objects keep their own motion. Vehicles meet as spheres.
"""

import math
from typing import Any

import numpy as np

from xtdrone_core import Vehicle
from xtdrone_dynamics import quaternion, rigid_body
from xtdrone_dynamics.compiled import njit
from xtdrone_sim.vehicles.pose import body_frames

from ..scenes import BOX, CYLINDER, MESH, NO_OBJECT, PLANE, SPHERE
from .meshes import THICKNESS, mesh_distance

POINT = np.dtype(
    [
        ("pos", "f8", (3,)),  # frame of the base [m]
        ("radius", "f8"),  # of the sphere about it [m]
        ("friction", "f8"),  # Coulomb's
        ("tyre", "i8"),  # index of the tyre whose load it carries; -1 = none
    ],
    align=True,
)

MAX = 24  # contacts of a vehicle that are solved in one step
SWEEPS = 10
SOFTNESS = 0.2  # share of the penetration that one step takes back
SLOP = 1e-3  # penetration that is left [m]
FIERCE = 100.0  # no vehicle accelerates faster in free flight [m/s^2]
RIM = 8  # points on each rim of a cylinder
TYRE_RIM = 24


def points_of(vehicle: Vehicle) -> np.ndarray:
    """The contact points (P,) POINT of a vehicle, with its joints at zero."""
    found: list[tuple] = []
    frames = body_frames(vehicle)
    for shape in vehicle.shapes:
        if not shape.collides:
            continue
        frame = frames[shape.body].to(shape.pose) if shape.body else shape.pose
        friction = 0.0 if shape.tyre >= 0 else min(shape.friction, 10.0)
        found += [
            (frame.point(pos), radius, friction, shape.tyre) for pos, radius in _points(shape)
        ]
    return np.array(found, dtype=POINT)


def bounding_radius(points: np.ndarray) -> float:
    """Returns the radius of the sphere about the origin that holds some contact points [m]."""
    if not len(points):
        return 0.0
    return float((np.linalg.norm(points["pos"], axis=1) + points["radius"]).max())


def _points(shape: Any) -> list[tuple[tuple[float, float, float], float]]:
    if shape.kind == "sphere":
        return [((0.0, 0.0, 0.0), shape.size[0])]
    if shape.kind == "box":
        x, y, z = (0.5 * side for side in shape.size)
        return [((a * x, b * y, c * z), 0.0) for a in (-1, 1) for b in (-1, 1) for c in (-1, 1)]
    if shape.kind == "cylinder":
        radius, length = shape.size
        many = TYRE_RIM if shape.tyre >= 0 else RIM
        turns = [2.0 * math.pi * k / many for k in range(many)]
        return [
            ((radius * math.cos(turn), radius * math.sin(turn), z), 0.0)
            for turn in turns
            for z in ((0.0,) if shape.tyre >= 0 else (-0.5 * length, 0.5 * length))
        ]
    if shape.kind == "mesh":
        corners = np.concatenate([part.points for part in shape.mesh.parts()]) * shape.size
        low, high = corners.min(axis=0), corners.max(axis=0)
        return [
            ((x, y, z), 0.0)
            for x in (low[0], high[0])
            for y in (low[1], high[1])
            for z in (low[2], high[2])
        ]
    return []


@njit
def distance(o: Any, x: float, y: float, z: float) -> tuple[float, float, float, float]:
    """Distance of a point from an object's surface, negative inside, and the outward normal.

    Args:
        o: Record of the object, which is no mesh (see meshes.mesh_distance).
        x, y, z: The point, world [m].

    Returns:
        (distance [m], normal xyz, world).
    """
    dx, dy, dz = x - o.pos[0], y - o.pos[1], z - o.pos[2]
    if o.kind == SPHERE:
        far = math.sqrt(dx * dx + dy * dy + dz * dz)
        scale = 1.0 / max(far, 1e-9)
        return far - o.size[0], dx * scale, dy * scale, dz * scale
    qx, qy, qz, qw = o.quat[0], o.quat[1], o.quat[2], o.quat[3]
    lx, ly, lz = quaternion.rotate_inverse(qx, qy, qz, qw, dx, dy, dz)
    found, nx, ny, nz = math.inf, 0.0, 0.0, 1.0
    if o.kind == PLANE:
        if abs(lx) <= 0.5 * o.size[0] and abs(ly) <= 0.5 * o.size[1]:
            found = lz
    elif o.kind == BOX:
        found, nx, ny, nz = _box(lx, ly, lz, 0.5 * o.size[0], 0.5 * o.size[1], 0.5 * o.size[2])
    elif o.kind == CYLINDER:
        flat = math.sqrt(lx * lx + ly * ly)
        ux, uy = lx / max(flat, 1e-9), ly / max(flat, 1e-9)
        found, out, _, up = _box(flat, 0.0, lz, o.size[0], math.inf, 0.5 * o.size[1])
        nx, ny, nz = out * ux, out * uy, up
    nx, ny, nz = quaternion.rotate(qx, qy, qz, qw, nx, ny, nz)
    return found, nx, ny, nz


@njit
def _box(x, y, z, a, b, c):
    """Distance and normal of a point from a box with half sides a, b, c in its own frame."""
    dx, dy, dz = abs(x) - a, abs(y) - b, abs(z) - c
    sx, sy, sz = math.copysign(1.0, x), math.copysign(1.0, y), math.copysign(1.0, z)
    if dx <= 0.0 and dy <= 0.0 and dz <= 0.0:
        if dx >= dy and dx >= dz:
            return dx, sx, 0.0, 0.0
        if dy >= dz:
            return dy, 0.0, sy, 0.0
        return dz, 0.0, 0.0, sz
    ox, oy, oz = max(dx, 0.0), max(dy, 0.0), max(dz, 0.0)
    far = math.sqrt(ox * ox + oy * oy + oz * oz)
    return far, sx * ox / far, sy * oy / far, sz * oz / far


@njit
def reach(tables: Any, o: Any) -> float:
    """Radius of the sphere about an object's origin that holds it [m]; inf for a plane."""
    if o.kind == MESH:
        return tables.mesh_reach[o.mesh] * max(abs(o.size[0]), abs(o.size[1]), abs(o.size[2]))
    if o.kind == SPHERE:
        return o.size[0]
    if o.kind == BOX:
        return 0.5 * math.sqrt(o.size[0] ** 2 + o.size[1] ** 2 + o.size[2] ** 2)
    if o.kind == CYLINDER:
        return math.sqrt(o.size[0] ** 2 + 0.25 * o.size[1] ** 2)
    return math.inf


@njit
def near(tables: Any, o: Any, x: float, y: float, z: float, radius: float) -> bool:
    """Whether a sphere may touch an object; tables: as for mesh_distance()."""
    if o.kind == NO_OBJECT:
        return False
    dx, dy, dz = x - o.pos[0], y - o.pos[1], z - o.pos[2]
    if o.kind == PLANE:
        qx, qy, qz, qw = o.quat[0], o.quat[1], o.quat[2], o.quat[3]
        above = (
            2.0 * (qx * qz + qw * qy) * dx
            + 2.0 * (qy * qz - qw * qx) * dy
            + (1.0 - 2.0 * (qx * qx + qy * qy)) * dz
        )
        return above < radius
    far = reach(tables, o) + radius
    if dx * dx + dy * dy + dz * dz >= far * far:
        return False
    if o.kind == BOX or o.kind == CYLINDER:  # which may be long and thin
        return distance(o, x, y, z)[0] < radius
    return True


@njit
def touch_objects(
    tables: Any,
    objects: np.ndarray,
    points: np.ndarray,
    base: Any,
    mass: float,
    share: float,
    pos: np.ndarray,
    quat: np.ndarray,
    vel: np.ndarray,
    ang_vel: np.ndarray,
    force: np.ndarray,
    load: np.ndarray,
    rows: np.ndarray,
    dt: float,
) -> bool:
    """Stops one vehicle at the surfaces of objects, by impulses on its velocities.

    Args:
        tables: Has the fields of meshes.MeshTables.
        objects: (O,) scenes.object_dtype.
        points: (P,) POINT of the vehicle.
        base: Its BASE record.
        mass: [kg].
        share: Factor on its inertia.
        pos, quat: At the start of the step.
        vel, ang_vel: At its end without contacts; changed in place.
        force: (3,) mean force of the contacts is added here [N].
        load: (T, 3) of its tyres; set [N].
        rows: (MAX, 16) scratch.
        dt: Length of the step [s].

    Returns:
        Whether anything touches it.
    """
    x, y, z = pos[0], pos[1], pos[2]
    speed = math.sqrt(vel[0] ** 2 + vel[1] ** 2 + vel[2] ** 2)
    count = 0
    qx, qy, qz, qw = quat[0], quat[1], quat[2], quat[3]
    for k in range(objects.shape[0]):
        o = objects[k]
        if o.kind == NO_OBJECT:
            continue
        moves = speed + math.sqrt(o.vel[0] ** 2 + o.vel[1] ** 2 + o.vel[2] ** 2)
        if not near(tables, o, x, y, z, base.radius + moves * dt):
            continue
        for p in range(base.points):
            at = points[p]
            rx, ry, rz = quaternion.rotate(qx, qy, qz, qw, at.pos[0], at.pos[1], at.pos[2])
            room = moves * dt + 2e-2 * (base.radius + 0.1)
            if o.kind == MESH:
                gap, nx, ny, nz = mesh_distance(
                    tables, o, x + rx, y + ry, z + rz, max(room, THICKNESS) + at.radius, THICKNESS
                )
            else:
                gap, nx, ny, nz = distance(o, x + rx, y + ry, z + rz)
            gap -= at.radius
            if gap > room or count == MAX:
                continue
            r = rows[count]
            r[0], r[1], r[2] = rx - at.radius * nx, ry - at.radius * ny, rz - at.radius * nz
            r[3], r[4], r[5] = nx, ny, nz
            # Velocity of the surface, and the closing speed that the gap allows.
            sx, sy, sz = x + r[0] - o.pos[0], y + r[1] - o.pos[1], z + r[2] - o.pos[2]
            r[6] = o.vel[0] + o.ang_vel[1] * sz - o.ang_vel[2] * sy
            r[7] = o.vel[1] + o.ang_vel[2] * sx - o.ang_vel[0] * sz
            r[8] = o.vel[2] + o.ang_vel[0] * sy - o.ang_vel[1] * sx
            r[9] = gap / dt if gap > 0.0 else SOFTNESS * min(gap + SLOP, 0.0) / dt
            r[10], r[11], r[12] = 0.0, 0.0, 0.0  # impulse
            r[13], r[14] = at.friction, at.tyre
            count += 1
    for t in range(load.shape[0]):
        load[t, 0] = load[t, 1] = load[t, 2] = 0.0
    if count == 0:
        return False
    inverse = base.inverse
    wx, wy, wz = quaternion.rotate(qx, qy, qz, qw, ang_vel[0], ang_vel[1], ang_vel[2])
    vx, vy, vz = vel[0], vel[1], vel[2]
    for _ in range(SWEEPS):
        for c in range(count):
            r = rows[c]
            ux = vx + wy * r[2] - wz * r[1] - r[6]
            uy = vy + wz * r[0] - wx * r[2] - r[7]
            uz = vz + wx * r[1] - wy * r[0] - r[8]
            along = ux * r[3] + uy * r[4] + uz * r[5]
            # Normal impulse first, then friction within its cone.
            before = r[10] * r[3] + r[11] * r[4] + r[12] * r[5]
            lighter = _mobility(qx, qy, qz, qw, inverse, share, mass, r, r[3], r[4], r[5])
            normal = max(before - (along + r[9]) / lighter, 0.0)
            jx, jy, jz = normal * r[3], normal * r[4], normal * r[5]
            if r[13] > 0.0:
                tx, ty, tz = ux - along * r[3], uy - along * r[4], uz - along * r[5]
                slide = math.sqrt(tx * tx + ty * ty + tz * tz)
                ox, oy, oz = r[10] - before * r[3], r[11] - before * r[4], r[12] - before * r[5]
                if slide > 1e-9:
                    lighter = _mobility(
                        qx, qy, qz, qw, inverse, share, mass, r, tx / slide, ty / slide, tz / slide
                    )
                    ox, oy, oz = ox - tx / lighter, oy - ty / lighter, oz - tz / lighter
                size = math.sqrt(ox * ox + oy * oy + oz * oz)
                if size > r[13] * normal:
                    scale = r[13] * normal / size
                    ox, oy, oz = ox * scale, oy * scale, oz * scale
                jx, jy, jz = jx + ox, jy + oy, jz + oz
            dx, dy, dz = jx - r[10], jy - r[11], jz - r[12]
            r[10], r[11], r[12] = jx, jy, jz
            vx, vy, vz = vx + dx / mass, vy + dy / mass, vz + dz / mass
            bx, by, bz = quaternion.rotate_inverse(
                qx, qy, qz, qw, r[1] * dz - r[2] * dy, r[2] * dx - r[0] * dz, r[0] * dy - r[1] * dx
            )
            bx, by, bz = rigid_body.symmetric_product(inverse, bx / share, by / share, bz / share)
            bx, by, bz = quaternion.rotate(qx, qy, qz, qw, bx, by, bz)
            wx, wy, wz = wx + bx, wy + by, wz + bz
    vel[0], vel[1], vel[2] = vx, vy, vz
    ang_vel[0], ang_vel[1], ang_vel[2] = quaternion.rotate_inverse(qx, qy, qz, qw, wx, wy, wz)
    touched = False
    for c in range(count):
        r = rows[c]
        for k in range(3):
            force[k] += r[10 + k] / dt
            if r[14] >= 0.0:
                load[int(r[14]), k] += r[10 + k] / dt
        touched = touched or r[10] != 0.0 or r[11] != 0.0 or r[12] != 0.0
    return touched


@njit
def _mobility(qx, qy, qz, qw, inverse, share, mass, r, nx, ny, nz):
    """Change of a point's speed along n by a unit impulse along n [1/kg]."""
    bx, by, bz = quaternion.rotate_inverse(
        qx, qy, qz, qw, r[1] * nz - r[2] * ny, r[2] * nx - r[0] * nz, r[0] * ny - r[1] * nx
    )
    ax, ay, az = rigid_body.symmetric_product(inverse, bx, by, bz)
    return 1.0 / mass + (ax * bx + ay * by + az * bz) / share


@njit
def touch_each_other(
    base: np.ndarray,
    vehicle: np.ndarray,
    mass: np.ndarray,
    pos: np.ndarray,
    vel: np.ndarray,
    force: np.ndarray,
    dt: float,
) -> None:
    """Stops the vehicles of one environment, as spheres, at each other.

    Args:
        base, vehicle: (V,) records.
        mass: (V,) factor on each mass.
        pos: (V, 3) at the start of the step.
        vel: (V, 3) at its end without contacts; changed in place.
        force: (V, 3) mean force of the contacts is added here [N].
        dt: Length of the step [s].
    """
    for i in range(base.shape[0]):
        for j in range(i + 1, base.shape[0]):
            dx, dy, dz = (pos[j, 0] - pos[i, 0], pos[j, 1] - pos[i, 1], pos[j, 2] - pos[i, 2])
            least = base[i].radius + base[j].radius
            ux, uy, uz = (vel[j, 0] - vel[i, 0], vel[j, 1] - vel[i, 1], vel[j, 2] - vel[i, 2])
            room = least + dt * math.sqrt(ux * ux + uy * uy + uz * uz)
            square = dx * dx + dy * dy + dz * dz
            if square > room * room or square == 0.0:
                continue
            far = math.sqrt(square)
            nx, ny, nz = dx / far, dy / far, dz / far
            gap = far - least
            allowed = gap / dt if gap > 0.0 else SOFTNESS * gap / dt
            closing = ux * nx + uy * ny + uz * nz + allowed
            if closing >= 0.0:
                continue
            mi, mj = mass[i] * vehicle[i].mass, mass[j] * vehicle[j].mass
            impulse = -closing * mi * mj / (mi + mj)
            for k in range(3):
                n = nx if k == 0 else ny if k == 1 else nz
                vel[i, k] -= impulse * n / mi
                vel[j, k] += impulse * n / mj
                force[i, k] -= impulse * n / dt
                force[j, k] += impulse * n / dt


@njit(nogil=True)
def find_clear(
    records: Any,
    objects: np.ndarray,
    pos: np.ndarray,
    vel: np.ndarray,
    first: int,
    last: int,
    seconds: float,
    out: np.ndarray,
) -> None:
    """Marks the environments in which nothing can touch anything for some time.

    Args:
        records: Of the batch.
        objects: (E, O) or (1, O).
        pos, vel: (E, V, 3).
        first, last: The environments to judge.
        seconds: For so long, at accelerations up to FIERCE [s].
        out: (E,) bool, the output.
    """
    v = pos.shape[1]
    for e in range(first, last):
        row = objects[e if objects.shape[0] > 1 else 0]
        out[e] = True
        for i in range(v):
            x, y, z = pos[e, i, 0], pos[e, i, 1], pos[e, i, 2]
            speed = math.sqrt(vel[e, i, 0] ** 2 + vel[e, i, 1] ** 2 + vel[e, i, 2] ** 2)
            room = records.base[i].radius + (speed + FIERCE * seconds) * seconds
            for k in range(row.shape[0]):
                o = row[k]
                if o.kind == NO_OBJECT:
                    continue
                moves = math.sqrt(o.vel[0] ** 2 + o.vel[1] ** 2 + o.vel[2] ** 2)
                if near(records, o, x, y, z, room + moves * seconds):
                    out[e] = False
                    break
            for j in range(i):
                dx, dy, dz = x - pos[e, j, 0], y - pos[e, j, 1], z - pos[e, j, 2]
                other = math.sqrt(vel[e, j, 0] ** 2 + vel[e, j, 1] ** 2 + vel[e, j, 2] ** 2)
                least = room + records.base[j].radius + (other + FIERCE * seconds) * seconds
                if dx * dx + dy * dy + dz * dz < least * least:
                    out[e] = False
                    break
            if not out[e]:
                break
