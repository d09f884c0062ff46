"""Triangles of the shapes that SDF has, with normals and places in a texture."""

import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from xtdrone_sim.scene.materials import TILE
from xtdrone_sim.scene.mujoco_shapes import read_heights
from xtdrone_sim.vehicles.pose import Pose
from xtdrone_sim.vehicles.shapes import Shape
from xtdrone_sim.vehicles.triangles import Mesh

_SEGMENTS = 20  # segments of a circle
_FEW = 8  # segments of a circle whose radius is less than _SMALL
_SMALL = 0.03  # [m]
_MAX_FIELD = 257  # points of a heightmap along each side
_FLAT_QUAD = ((0, 1, 2), (0, 2, 3))


class Triangles(NamedTuple):
    """Unindexed triangles: three corners after each other."""

    points: np.ndarray  # (3 T, 3) [m]
    normals: np.ndarray  # (3 T, 3)
    uv: np.ndarray  # (3 T, 2) in sides of a texture

    def placed(self, pose: Pose) -> "Triangles":
        """Returns them moved from a Pose's frame to the one around it."""
        turn = matrix(pose.quat)
        return Triangles(self.points @ turn.T + pose.pos, self.normals @ turn.T, self.uv)


def joined(parts: list[Triangles]) -> Triangles:
    """Returns all of them as one."""
    return Triangles(*(np.concatenate(arrays) for arrays in zip(*parts)))


def matrix(quat: Sequence[float]) -> np.ndarray:
    """Returns the (3, 3) rotation of a quaternion xyzw."""
    x, y, z, w = quat
    return np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)],
            [2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)],
            [2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)],
        ]
    )


def of_shape(shape: Shape, tiled: bool = True) -> list[tuple[Triangles, Mesh | None]]:
    """Returns the triangles of a shape in its own frame, and the Mesh that they come from or None.

    Args:
        shape: A box, sphere, cylinder, plane, mesh or heightmap.
        tiled: Whether a texture has its own scale, instead of one picture on each side.
    """
    if shape.mesh is not None:
        return [(_of_mesh(part, shape.size), part) for part in shape.mesh.parts()]
    if shape.heights is not None:
        return [(_field(shape.heights, shape.size), None)]
    return [(_MAKERS[shape.kind](*shape.size, tile=TILE if tiled else 0.0), None)]


def _flat(
    corners: np.ndarray,
    faces: np.ndarray | tuple[tuple[int, ...], ...],
    uv: np.ndarray | None = None,
) -> Triangles:
    """Returns triangles with the normals of their planes."""
    points = corners[np.asarray(faces)].reshape(-1, 3)
    sides = points.reshape(-1, 3, 3)
    normals = np.cross(sides[:, 1] - sides[:, 0], sides[:, 2] - sides[:, 0])
    lengths = np.linalg.norm(normals, axis=1, keepdims=True)
    normals = np.repeat(normals / np.where(lengths > 0.0, lengths, 1.0), 3, axis=0)
    return Triangles(points, normals, np.zeros((len(points), 2)) if uv is None else uv)


def _box(x: float, y: float, z: float, tile: float = 0.0) -> Triangles:
    half, parts = 0.5 * np.array([x, y, z]), []
    for axis in range(3):
        u, v = (axis + 1) % 3, (axis + 2) % 3
        for side in (1, -1):
            corners = np.zeros((4, 3))
            corners[:, axis] = side * half[axis]
            for k, (a, b) in enumerate(((-1, -1), (side, -side), (1, 1), (-side, side))):
                corners[k, u], corners[k, v] = a * half[u], b * half[v]
            across, up = (v, u) if axis == 1 else (u, v)
            order = np.ravel(_FLAT_QUAD)
            uv = (
                corners[:, [across, up]] / tile
                if tile
                else 0.5 + 0.5 * corners[:, [across, up]] / half[[across, up]]
            )[order]
            parts.append(_flat(corners, _FLAT_QUAD, uv))
    return joined(parts)


def _plane(x: float, y: float, tile: float = 0.0) -> Triangles:
    corners = 0.5 * np.array([[-x, -y, 0], [x, -y, 0], [x, y, 0], [-x, y, 0]])
    uv = (corners[:, :2] / (tile or max(x, y)))[np.ravel(_FLAT_QUAD)]
    return _flat(corners, _FLAT_QUAD, uv)


def _circle(radius: float) -> np.ndarray:
    count = _FEW if radius < _SMALL else _SEGMENTS
    angle = np.linspace(0.0, 2.0 * math.pi, count + 1)
    return np.stack([np.cos(angle), np.sin(angle)], axis=1)


def _cylinder(radius: float, length: float, tile: float = 0.0) -> Triangles:
    ring = _circle(radius)
    count, half = len(ring) - 1, 0.5 * length
    low, high = (np.c_[radius * ring, np.full(count + 1, z)] for z in (-half, half))
    a, b, c, d = low[:-1], low[1:], high[1:], high[:-1]
    side = np.stack([a, b, c, a, c, d], axis=1).reshape(-1, 3)
    n, m = np.c_[ring[:-1], np.zeros(count)], np.c_[ring[1:], np.zeros(count)]
    normals = np.stack([n, m, m, n, m, n], axis=1).reshape(-1, 3)
    along = np.linspace(0.0, 2.0 * math.pi * radius / (tile or 1.0), count + 1)
    u, v = along[:-1], along[1:]
    rows = np.stack([u, v, v, u, v, u], axis=1).reshape(-1)
    uv = np.c_[rows, side[:, 2] / (tile or length)]
    caps = [_cap(ring * radius, z, tile) for z in (half, -half)]
    return joined([Triangles(side, normals, uv), *caps])


def _cap(ring: np.ndarray, z: float, tile: float) -> Triangles:
    up = z > 0.0
    first, second = (ring[:-1], ring[1:]) if up else (ring[1:], ring[:-1])
    points = np.stack([np.zeros_like(first), first, second], axis=1).reshape(-1, 2)
    return Triangles(
        np.c_[points, np.full(len(points), z)],
        np.tile([0.0, 0.0, 1.0 if up else -1.0], (len(points), 1)),
        points / (tile or 1.0),
    )


def _sphere(radius: float, tile: float = 0.0) -> Triangles:
    count = _FEW if radius < _SMALL else _SEGMENTS
    across = np.linspace(0.0, 2.0 * math.pi, count + 1)
    up = np.linspace(-0.5 * math.pi, 0.5 * math.pi, count // 2 + 1)
    lon, lat = np.meshgrid(across, up)
    unit = np.stack([np.cos(lat) * np.cos(lon), np.cos(lat) * np.sin(lon), np.sin(lat)], axis=2)
    quads = [unit[:-1, :-1], unit[:-1, 1:], unit[1:, 1:], unit[1:, :-1]]
    normals = np.stack([quads[k] for k in (0, 1, 2, 0, 2, 3)], axis=2).reshape(-1, 3)
    return Triangles(radius * normals, normals, np.zeros((len(normals), 2)))


def _of_mesh(part: Mesh, scale: Sequence[float]) -> Triangles:
    faces = part.faces[:, ::-1] if np.prod(scale) < 0.0 else part.faces
    uv = None
    if part.uv is not None and part.uv_faces is not None:
        order = part.uv_faces[:, ::-1] if np.prod(scale) < 0.0 else part.uv_faces
        uv = part.uv[order].reshape(-1, 2) * (1.0, -1.0) + (0.0, 1.0)  # glTF counts from the top
    return _flat(part.points * scale, faces, uv)


def _field(picture: Path, size: Sequence[float]) -> Triangles:
    heights = read_heights(picture)
    step = -(-max(heights.shape) // _MAX_FIELD)
    heights = heights[::step, ::step] * size[2]
    rows, columns = heights.shape
    x, y = np.meshgrid(
        np.linspace(-0.5, 0.5, columns) * size[0], np.linspace(-0.5, 0.5, rows) * size[1]
    )
    corners = np.stack([x, y, heights], axis=2).reshape(-1, 3)
    k = np.arange(rows * columns).reshape(rows, columns)
    a, b, c, d = k[:-1, :-1], k[:-1, 1:], k[1:, 1:], k[1:, :-1]
    faces = np.concatenate(
        [np.stack(each, axis=2).reshape(-1, 3) for each in ((a, b, c), (a, c, d))]
    )
    return _flat(corners, faces, (corners[:, :2] / TILE)[faces.ravel()])


_MAKERS: dict[str, Callable[..., Triangles]] = {  # called with sizes of the shape
    "box": _box,
    "sphere": _sphere,
    "cylinder": _cylinder,
    "plane": _plane,
}
