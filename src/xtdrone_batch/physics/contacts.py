"""Contacts of vehicles with objects and with each other, as impulses on velocities.

A vehicle touches with points: the corners of its boxes, the rims of its cylinders, its spheres. A
point that would pass a surface within the step gets the impulse that stops it there, within
Coulomb's cone; several are solved in turn (projected Gauss-Seidel; Catto, "Iterative dynamics with
temporal coherence", 2005). Objects keep their own motion. Vehicles meet as spheres.
"""

import math

import numpy as np

from xtdrone_core import Vehicle
from xtdrone_dynamics import quaternion, rigid_body
from xtdrone_dynamics.compiled import Record, njit
from xtdrone_dynamics.shapes import Symmetric
from xtdrone_sim.vehicles.pose import body_frames
from xtdrone_sim.vehicles.shapes import Shape

from ..arrays import Records
from ..scenes import BOX, CYLINDER, MESH, NO_OBJECT, PLANE, SPHERE
from .meshes import THICKNESS, MeshTables, mesh_distance

POINT = np.dtype(
    [
        ("pos", "f8", (3,)),  # frame of the base [m]
        ("radius", "f8"),  # radius of the sphere about it [m]
        ("friction", "f8"),  # Coulomb's
        ("tyre", "i8"),  # index of the tyre whose load it carries; -1 = none
    ],
    align=True,
)

MAX_CONTACTS = 24  # contacts of a vehicle that are solved in one step
SWEEPS = 10
SOFTNESS = 0.2  # fraction of the penetration that one step corrects
SLOP = 1e-3  # penetration that is not corrected [m]
MAX_ACCELERATION = 100.0  # largest acceleration of a vehicle in free flight [m/s^2]
RIM = 8  # points on each rim of a cylinder
TYRE_RIM = 24  # points on the rim of a tyre


def points_of(vehicle: Vehicle) -> np.ndarray:
    """Returns the contact points (P,) POINT of a vehicle, with its joints at zero."""
    points: list[tuple] = []
    frames = body_frames(vehicle)
    for shape in vehicle.shapes:
        if not shape.collides:
            continue
        frame = frames[shape.body].to(shape.pose) if shape.body else shape.pose
        friction = 0.0 if shape.tyre >= 0 else min(shape.friction, 10.0)
        points += [
            (frame.point(pos), radius, friction, shape.tyre) for pos, radius in _points(shape)
        ]
    return np.array(points, dtype=POINT)


def bounding_radius(points: np.ndarray) -> float:
    """Returns the radius of the sphere about the origin that holds some contact points [m]."""
    if not len(points):
        return 0.0
    return float((np.linalg.norm(points["pos"], axis=1) + points["radius"]).max())


def _points(shape: Shape) -> list[tuple[tuple[float, float, float], float]]:
    if shape.kind == "sphere":
        return [((0.0, 0.0, 0.0), shape.size[0])]
    if shape.kind == "box":
        x, y, z = (0.5 * side for side in shape.size)
        return [((a * x, b * y, c * z), 0.0) for a in (-1, 1) for b in (-1, 1) for c in (-1, 1)]
    if shape.kind == "cylinder":
        radius, length = shape.size
        count = TYRE_RIM if shape.tyre >= 0 else RIM
        angles = [2.0 * math.pi * k / count for k in range(count)]
        return [
            ((radius * math.cos(angle), radius * math.sin(angle), z), 0.0)
            for angle in angles
            for z in ((0.0,) if shape.tyre >= 0 else (-0.5 * length, 0.5 * length))
        ]
    if shape.mesh is not None:
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
def distance(obj: Record, x: float, y: float, z: float) -> tuple[float, float, float, float]:
    """Returns the distance of a point from an object's surface, negative inside, and the normal.

    Args:
        obj: Record of the object, which is no mesh (see meshes.mesh_distance).
        x, y, z: The point, world [m].

    Returns:
        (distance [m], normal xyz, world).
    """
    dx, dy, dz = x - obj.pos[0], y - obj.pos[1], z - obj.pos[2]
    if obj.kind == SPHERE:
        far = math.sqrt(dx * dx + dy * dy + dz * dz)
        scale = 1.0 / max(far, 1e-9)
        return far - obj.size[0], dx * scale, dy * scale, dz * scale
    qx, qy, qz, qw = obj.quat[0], obj.quat[1], obj.quat[2], obj.quat[3]
    lx, ly, lz = quaternion.rotate_inverse(qx, qy, qz, qw, dx, dy, dz)
    gap, nx, ny, nz = math.inf, 0.0, 0.0, 1.0
    if obj.kind == PLANE:
        if abs(lx) <= 0.5 * obj.size[0] and abs(ly) <= 0.5 * obj.size[1]:
            gap = lz
    elif obj.kind == BOX:
        gap, nx, ny, nz = _box(lx, ly, lz, 0.5 * obj.size[0], 0.5 * obj.size[1], 0.5 * obj.size[2])
    elif obj.kind == CYLINDER:
        flat = math.sqrt(lx * lx + ly * ly)
        ux, uy = lx / max(flat, 1e-9), ly / max(flat, 1e-9)
        gap, out, _, up = _box(flat, 0.0, lz, obj.size[0], math.inf, 0.5 * obj.size[1])
        nx, ny, nz = out * ux, out * uy, up
    nx, ny, nz = quaternion.rotate(qx, qy, qz, qw, nx, ny, nz)
    return gap, nx, ny, nz


@njit
def _box(
    x: float, y: float, z: float, a: float, b: float, c: float
) -> tuple[float, float, float, float]:
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
def reach(tables: MeshTables | Records, obj: Record) -> float:
    """Returns the radius of an object's bounding sphere about its origin [m]; inf for a plane."""
    if obj.kind == MESH:
        return tables.mesh_reach[obj.mesh] * max(
            abs(obj.size[0]), abs(obj.size[1]), abs(obj.size[2])
        )
    if obj.kind == SPHERE:
        return obj.size[0]
    if obj.kind == BOX:
        return 0.5 * math.sqrt(obj.size[0] ** 2 + obj.size[1] ** 2 + obj.size[2] ** 2)
    if obj.kind == CYLINDER:
        return math.sqrt(obj.size[0] ** 2 + 0.25 * obj.size[1] ** 2)
    return math.inf


@njit
def near(
    tables: MeshTables | Records, obj: Record, x: float, y: float, z: float, radius: float
) -> bool:
    """Whether a sphere may touch an object; tables: as for mesh_distance()."""
    if obj.kind == NO_OBJECT:
        return False
    dx, dy, dz = x - obj.pos[0], y - obj.pos[1], z - obj.pos[2]
    if obj.kind == PLANE:
        qx, qy, qz, qw = obj.quat[0], obj.quat[1], obj.quat[2], obj.quat[3]
        above = (
            2.0 * (qx * qz + qw * qy) * dx
            + 2.0 * (qy * qz - qw * qx) * dy
            + (1.0 - 2.0 * (qx * qx + qy * qy)) * dz
        )
        return above < radius
    far = reach(tables, obj) + radius
    if dx * dx + dy * dy + dz * dz >= far * far:
        return False
    if obj.kind == BOX or obj.kind == CYLINDER:  # these may be long and thin
        return distance(obj, x, y, z)[0] < radius
    return True


@njit
def touch_objects(
    tables: MeshTables | Records,
    objects: np.ndarray,
    points: np.ndarray,
    base: Record,
    mass: float,
    inertia_scale: float,
    pos: np.ndarray,
    quat: np.ndarray,
    vel: np.ndarray,
    ang_vel: np.ndarray,
    force: np.ndarray,
    load: np.ndarray,
    contacts: np.ndarray,
    dt: float,
) -> bool:
    """Stops one vehicle at the surfaces of objects, by impulses on its velocities.

    Args:
        tables: Has the fields of meshes.MeshTables.
        objects: (O,) scenes.object_dtype.
        points: (P,) POINT of the vehicle.
        base: BASE record of the vehicle.
        mass: Mass of the vehicle [kg].
        inertia_scale: Factor on the inertia of the vehicle.
        pos, quat: At the start of the step.
        vel, ang_vel: At the end of the step without contacts; changed in place.
        force: (3,) mean force of the contacts is added here [N].
        load: (T, 3) force of the ground on each tyre, output [N].
        contacts: (MAX_CONTACTS, 16) scratch.
        dt: Length of the step [s].

    Returns:
        Whether anything touches it.
    """
    x, y, z = pos[0], pos[1], pos[2]
    speed = math.sqrt(vel[0] ** 2 + vel[1] ** 2 + vel[2] ** 2)
    count = 0
    qx, qy, qz, qw = quat[0], quat[1], quat[2], quat[3]
    for k in range(objects.shape[0]):
        obj = objects[k]
        if obj.kind == NO_OBJECT:
            continue
        approach = speed + math.sqrt(obj.vel[0] ** 2 + obj.vel[1] ** 2 + obj.vel[2] ** 2)
        if not near(tables, obj, x, y, z, base.radius + approach * dt):
            continue
        for p in range(base.points):
            point = points[p]
            rx, ry, rz = quaternion.rotate(qx, qy, qz, qw, point.pos[0], point.pos[1], point.pos[2])
            margin = approach * dt + 2e-2 * (base.radius + 0.1)
            if obj.kind == MESH:
                gap, nx, ny, nz = mesh_distance(
                    tables,
                    obj,
                    x + rx,
                    y + ry,
                    z + rz,
                    max(margin, THICKNESS) + point.radius,
                    THICKNESS,
                )
            else:
                gap, nx, ny, nz = distance(obj, x + rx, y + ry, z + rz)
            gap -= point.radius
            if gap > margin or count == MAX_CONTACTS:
                continue
            row = contacts[count]
            row[0], row[1], row[2] = (
                rx - point.radius * nx,
                ry - point.radius * ny,
                rz - point.radius * nz,
            )
            row[3], row[4], row[5] = nx, ny, nz
            # Velocity of the surface, and the closing speed that the gap allows.
            sx, sy, sz = x + row[0] - obj.pos[0], y + row[1] - obj.pos[1], z + row[2] - obj.pos[2]
            row[6] = obj.vel[0] + obj.ang_vel[1] * sz - obj.ang_vel[2] * sy
            row[7] = obj.vel[1] + obj.ang_vel[2] * sx - obj.ang_vel[0] * sz
            row[8] = obj.vel[2] + obj.ang_vel[0] * sy - obj.ang_vel[1] * sx
            row[9] = gap / dt if gap > 0.0 else SOFTNESS * min(gap + SLOP, 0.0) / dt
            row[10], row[11], row[12] = 0.0, 0.0, 0.0  # impulse
            row[13], row[14] = point.friction, point.tyre
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
            row = contacts[c]
            ux = vx + wy * row[2] - wz * row[1] - row[6]
            uy = vy + wz * row[0] - wx * row[2] - row[7]
            uz = vz + wx * row[1] - wy * row[0] - row[8]
            along = ux * row[3] + uy * row[4] + uz * row[5]
            # Normal impulse first, then friction within its cone.
            normal_before = row[10] * row[3] + row[11] * row[4] + row[12] * row[5]
            mobility = _mobility(
                qx, qy, qz, qw, inverse, inertia_scale, mass, row, row[3], row[4], row[5]
            )
            normal = max(normal_before - (along + row[9]) / mobility, 0.0)
            jx, jy, jz = normal * row[3], normal * row[4], normal * row[5]
            if row[13] > 0.0:
                tx, ty, tz = ux - along * row[3], uy - along * row[4], uz - along * row[5]
                slide = math.sqrt(tx * tx + ty * ty + tz * tz)
                ox, oy, oz = (
                    row[10] - normal_before * row[3],
                    row[11] - normal_before * row[4],
                    row[12] - normal_before * row[5],
                )
                if slide > 1e-9:
                    mobility = _mobility(
                        qx,
                        qy,
                        qz,
                        qw,
                        inverse,
                        inertia_scale,
                        mass,
                        row,
                        tx / slide,
                        ty / slide,
                        tz / slide,
                    )
                    ox, oy, oz = ox - tx / mobility, oy - ty / mobility, oz - tz / mobility
                size = math.sqrt(ox * ox + oy * oy + oz * oz)
                if size > row[13] * normal:
                    scale = row[13] * normal / size
                    ox, oy, oz = ox * scale, oy * scale, oz * scale
                jx, jy, jz = jx + ox, jy + oy, jz + oz
            dx, dy, dz = jx - row[10], jy - row[11], jz - row[12]
            row[10], row[11], row[12] = jx, jy, jz
            vx, vy, vz = vx + dx / mass, vy + dy / mass, vz + dz / mass
            bx, by, bz = quaternion.rotate_inverse(
                qx,
                qy,
                qz,
                qw,
                row[1] * dz - row[2] * dy,
                row[2] * dx - row[0] * dz,
                row[0] * dy - row[1] * dx,
            )
            bx, by, bz = rigid_body.symmetric_product(
                inverse, bx / inertia_scale, by / inertia_scale, bz / inertia_scale
            )
            bx, by, bz = quaternion.rotate(qx, qy, qz, qw, bx, by, bz)
            wx, wy, wz = wx + bx, wy + by, wz + bz
    vel[0], vel[1], vel[2] = vx, vy, vz
    ang_vel[0], ang_vel[1], ang_vel[2] = quaternion.rotate_inverse(qx, qy, qz, qw, wx, wy, wz)
    touched = False
    for c in range(count):
        row = contacts[c]
        for k in range(3):
            force[k] += row[10 + k] / dt
            if row[14] >= 0.0:
                load[int(row[14]), k] += row[10 + k] / dt
        touched = touched or row[10] != 0.0 or row[11] != 0.0 or row[12] != 0.0
    return touched


@njit
def _mobility(
    qx: float,
    qy: float,
    qz: float,
    qw: float,
    inverse: Symmetric,
    inertia_scale: float,
    mass: float,
    row: np.ndarray,
    nx: float,
    ny: float,
    nz: float,
) -> float:
    """Change of a point's speed along n by a unit impulse along n [1/kg]."""
    bx, by, bz = quaternion.rotate_inverse(
        qx,
        qy,
        qz,
        qw,
        row[1] * nz - row[2] * ny,
        row[2] * nx - row[0] * nz,
        row[0] * ny - row[1] * nx,
    )
    ax, ay, az = rigid_body.symmetric_product(inverse, bx, by, bz)
    return 1.0 / mass + (ax * bx + ay * by + az * bz) / inertia_scale


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
            contact_distance = base[i].radius + base[j].radius
            ux, uy, uz = (vel[j, 0] - vel[i, 0], vel[j, 1] - vel[i, 1], vel[j, 2] - vel[i, 2])
            margin = contact_distance + dt * math.sqrt(ux * ux + uy * uy + uz * uz)
            square = dx * dx + dy * dy + dz * dz
            if square > margin * margin or square == 0.0:
                continue
            far = math.sqrt(square)
            nx, ny, nz = dx / far, dy / far, dz / far
            gap = far - contact_distance
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
    records: Records,
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
        seconds: For so long, at accelerations up to MAX_ACCELERATION [s].
        out: (E,) bool, the output.
    """
    vehicles = pos.shape[1]
    for e in range(first, last):
        scene = objects[e if objects.shape[0] > 1 else 0]
        out[e] = True
        for i in range(vehicles):
            x, y, z = pos[e, i, 0], pos[e, i, 1], pos[e, i, 2]
            speed = math.sqrt(vel[e, i, 0] ** 2 + vel[e, i, 1] ** 2 + vel[e, i, 2] ** 2)
            margin = records.base[i].radius + (speed + MAX_ACCELERATION * seconds) * seconds
            for k in range(scene.shape[0]):
                obj = scene[k]
                if obj.kind == NO_OBJECT:
                    continue
                object_speed = math.sqrt(obj.vel[0] ** 2 + obj.vel[1] ** 2 + obj.vel[2] ** 2)
                if near(records, obj, x, y, z, margin + object_speed * seconds):
                    out[e] = False
                    break
            for j in range(i):
                dx, dy, dz = x - pos[e, j, 0], y - pos[e, j, 1], z - pos[e, j, 2]
                other_speed = math.sqrt(vel[e, j, 0] ** 2 + vel[e, j, 1] ** 2 + vel[e, j, 2] ** 2)
                safe_distance = (
                    margin
                    + records.base[j].radius
                    + (other_speed + MAX_ACCELERATION * seconds) * seconds
                )
                if dx * dx + dy * dy + dz * dz < safe_distance * safe_distance:
                    out[e] = False
                    break
            if not out[e]:
                break
