"""Fills environments with the objects of a world file, and moves those that move."""

import math
from pathlib import Path

import numpy as np
import psutil

from sensor_models.streams import next_uniform
from xtdrone_dynamics import quaternion
from xtdrone_dynamics.compiled import Record, njit

from ..errors import BatchError
from ..randomisation import seed_streams
from ..scenes import BOX, MESH, NO_OBJECT, PLANE, Scenes, object_dtype
from .world_file import WorldFile, read_world

TRIES = 30  # to place an instance; one that finds no room is left out


class World:
    """What a world file describes, for many environments.

    What stands in environment e depends on the seed, on e and on how often it was made anew.

    Examples:
        >>> import xtdrone as xd
        >>> len(xd.World("forest").generate(2, seed=1).objects)
        2
    """

    def __init__(self, file: WorldFile | Path | str) -> None:
        """Reads the file; errors as of read_world()."""
        self.file = file if isinstance(file, WorldFile) else read_world(file)
        meshes = [np.linalg.norm(mesh.points[:, :2], axis=1).max() for mesh in self.file.meshes]
        self._reach = np.array(meshes or [0.0])

    def scenes(self, environments: int) -> Scenes:
        """Empty environments; fill() makes them.

        Raises:
            BatchError: They do not fit into memory.
        """
        kind = object_dtype()
        needed = environments * self.file.objects * kind.itemsize
        free = psutil.virtual_memory().available
        if needed > free:
            raise BatchError(
                f"{environments} environments of {self.file.objects} objects need "
                f"{needed / 1e9:.1f} GB and {free / 1e9:.1f} GB are free: give at "
                f"most {int(environments * free // needed)}"
            )
        return Scenes(
            np.zeros((environments, self.file.objects), dtype=kind),
            np.tile(self.file.bounds, (environments, 1, 1)),
            self.file.meshes,
            self.file.semantics,
        )

    def generate(self, environments: int, seed: int = 0, first: int = 0) -> Scenes:
        """Environments first, first + 1, ... of a seed."""
        scenes = self.scenes(environments)
        streams = np.zeros((environments, 4), dtype=np.uint64)
        seed_streams(seed, first, streams)
        self.fill(scenes, np.arange(environments), streams)
        return scenes

    def fill(self, scenes: Scenes, which: np.ndarray, streams: np.ndarray) -> None:
        """Makes some environments anew.

        Args:
            scenes: Scenes made by scenes(); changed in place.
            which: Indices of the environments.
            streams: (E, 4) of each environment, advanced.
        """
        file = self.file
        scenes.objects[which] = np.zeros((), dtype=scenes.objects.dtype)
        _fill(
            which,
            file.bounds,
            file.spawn,
            file.course,
            file.ground,
            file.pools,
            file.parts,
            self._reach,
            streams,
            scenes.objects,
        )


@njit(nogil=True)
def _fill(
    which: np.ndarray,
    bounds: np.ndarray,
    spawn: np.ndarray,
    course: np.ndarray,
    ground: np.ndarray,
    pools: np.ndarray,
    parts: np.ndarray,
    reach: np.ndarray,
    streams: np.ndarray,
    objects: np.ndarray,
) -> None:
    """Places the instances of all pools, one after the other."""
    taken = np.empty((objects.shape[1], 3))  # place and radius of those that keep a distance
    drawn = np.empty(19)
    steps = 0
    for pool in pools:
        if pool.course:
            steps = max(steps, pool.count[1])
    path = np.empty((steps, 4))
    for e in which:
        stream, scene = streams[e], objects[e]
        if ground[0] > 0.0:
            o = scene[0]
            _put(o, PLANE, 0, 1, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0)
            o.size[0], o.size[1], o.size[2] = ground[0], ground[0], 0.0
            o.colour[0], o.colour[1], o.colour[2] = ground[1], ground[2], ground[3]
        _walk(path, course, bounds, stream)
        count = 0
        for pool in pools:
            many = pool.count[0] + int(next_uniform(stream) * (pool.count[1] - pool.count[0] + 1))
            slot = pool.slot
            for n in range(many):
                room = False
                for _ in range(TRIES):
                    for k in range(19):
                        drawn[k] = pool.low[k] + next_uniform(stream) * (pool.high[k] - pool.low[k])
                    if pool.course:
                        along, left, turn = drawn[0], drawn[1], path[n, 3]
                        drawn[0] = path[n, 0] + math.cos(turn) * along - math.sin(turn) * left
                        drawn[1] = path[n, 1] + math.sin(turn) * along + math.cos(turn) * left
                        drawn[2] += path[n, 2]
                        drawn[3] += turn
                    if pool.stand:
                        drawn[2] = (
                            bounds[0, 2]
                            + pool.lift[0] * drawn[5]
                            + pool.lift[1] * drawn[6]
                            + pool.lift[2] * drawn[7]
                        )
                    radius = _radius(pool, parts, reach, drawn)
                    room = pool.clearance < 0.0 or _is_apart(
                        drawn[0], drawn[1], radius, pool.clearance, spawn, taken, count, pool.course
                    )
                    if room:
                        break
                if not room:
                    continue
                if pool.clearance >= 0.0:
                    taken[count, 0], taken[count, 1] = drawn[0], drawn[1]
                    taken[count, 2] = radius + pool.clearance
                    count += 1
                direction = math.pi * (2.0 * next_uniform(stream) - 1.0)
                for j in range(pool.parts):
                    _place(scene[slot + j], parts[pool.first + j], pool, drawn, direction)
                slot += pool.parts


@njit
def _walk(path: np.ndarray, course: np.ndarray, bounds: np.ndarray, stream: np.ndarray) -> None:
    """Writes the course of an environment: x, y, z and heading of each step."""
    x, y, z, heading = course[0], course[1], course[2], course[6]
    for n in range(path.shape[0]):
        path[n, 0], path[n, 1], path[n, 2], path[n, 3] = x, y, z, heading
        heading += course[4] * (2.0 * next_uniform(stream) - 1.0)
        x += course[3] * math.cos(heading)
        y += course[3] * math.sin(heading)
        z = min(max(z + course[5] * (2.0 * next_uniform(stream) - 1.0), bounds[0, 2]), bounds[1, 2])


@njit
def _radius(pool: Record, parts: np.ndarray, reach: np.ndarray, drawn: np.ndarray) -> float:
    """Returns the radius of the upright cylinder about an instance [m]."""
    radius = 0.0
    for j in range(pool.parts):
        part = parts[pool.first + j]
        ax = abs(part.pos_more[0] + part.pos[0] * drawn[5])
        ay = abs(part.pos_more[1] + part.pos[1] * drawn[6])
        sx = part.size_more[0] + part.size[0] * drawn[5]
        sy = part.size_more[1] + part.size[1] * drawn[6]
        if part.kind == BOX or part.kind == PLANE:
            half_width = 0.5 * math.hypot(sx, sy)
        elif part.kind == MESH:
            half_width = max(sx, sy) * reach[part.mesh]
        else:
            half_width = sx
        radius = max(radius, math.hypot(ax, ay) + half_width)
    return radius


@njit
def _is_apart(
    x: float,
    y: float,
    radius: float,
    clearance: float,
    spawn: np.ndarray,
    taken: np.ndarray,
    count: int,
    on_course: bool,
) -> bool:
    """Whether an instance keeps its distance from others, and from where vehicles start."""
    if not on_course and math.hypot(x - spawn[0], y - spawn[1]) < radius + spawn[2]:
        return False
    for k in range(count):
        apart = radius + max(clearance, 0.0) + taken[k, 2]
        dx, dy = x - taken[k, 0], y - taken[k, 1]
        if dx * dx + dy * dy < apart * apart:
            return False
    return True


@njit
def _put(
    obj: Record,
    kind: int,
    mesh: int,
    semantic: int,
    x: float,
    y: float,
    z: float,
    qx: float,
    qy: float,
    qz: float,
    qw: float,
) -> None:
    obj.kind, obj.mesh, obj.semantic, obj.moving = kind, mesh, semantic, 0
    obj.pos[0], obj.pos[1], obj.pos[2] = x, y, z
    obj.quat[0], obj.quat[1], obj.quat[2], obj.quat[3] = qx, qy, qz, qw
    for k in range(3):
        obj.vel[k] = 0.0
        obj.ang_vel[k] = 0.0


@njit
def _place(obj: Record, part: Record, pool: Record, drawn: np.ndarray, direction: float) -> None:
    """Places one part of an instance."""
    half, lean = 0.5 * drawn[3], 0.5 * drawn[4]
    a, b, c, d = quaternion.multiply(
        math.sin(lean) * math.cos(direction),
        math.sin(lean) * math.sin(direction),
        0.0,
        math.cos(lean),
        0.0,
        0.0,
        math.sin(half),
        math.cos(half),
    )
    x, y, z = quaternion.rotate(
        a,
        b,
        c,
        d,
        part.pos_more[0] + part.pos[0] * drawn[5],
        part.pos_more[1] + part.pos[1] * drawn[6],
        part.pos_more[2] + part.pos[2] * drawn[7],
    )
    a, b, c, d = quaternion.multiply(
        a, b, c, d, part.quat[0], part.quat[1], part.quat[2], part.quat[3]
    )
    _put(
        obj,
        part.kind,
        part.mesh,
        part.semantic or pool.semantic,
        drawn[0] + x,
        drawn[1] + y,
        drawn[2] + z,
        a,
        b,
        c,
        d,
    )
    for k in range(3):
        obj.size[k] = part.size_more[k] + part.size[k] * drawn[5 + k]
        obj.colour[k] = drawn[8 + k] if part.colour[k] < 0.0 else part.colour[k]
        obj.vel[k] = drawn[11 + k]
    obj.ang_vel[2] = drawn[14]
    obj.moving = 1 if pool.moving else 0


@njit(nogil=True)
def move(first: int, last: int, bounds: np.ndarray, objects: np.ndarray, dt: float) -> None:
    """Moves what moves in environments first..last-1 by dt [s]; it turns back at the bounds."""
    for e in range(first, last):
        for i in range(objects.shape[1]):
            obj = objects[e, i]
            if not obj.moving or obj.kind == NO_OBJECT:
                continue
            for k in range(3):
                obj.pos[k] += obj.vel[k] * dt
                if (obj.pos[k] < bounds[e, 0, k] and obj.vel[k] < 0.0) or (
                    obj.pos[k] > bounds[e, 1, k] and obj.vel[k] > 0.0
                ):
                    obj.vel[k] = -obj.vel[k]
            wx, wy, wz = obj.ang_vel[0], obj.ang_vel[1], obj.ang_vel[2]
            rate = math.sqrt(wx * wx + wy * wy + wz * wz)
            if rate > 0.0:
                turn = math.sin(0.5 * rate * dt) / rate
                a, b, c, d = quaternion.multiply(
                    wx * turn,
                    wy * turn,
                    wz * turn,
                    math.cos(0.5 * rate * dt),
                    obj.quat[0],
                    obj.quat[1],
                    obj.quat[2],
                    obj.quat[3],
                )
                obj.quat[0], obj.quat[1], obj.quat[2], obj.quat[3] = a, b, c, d
