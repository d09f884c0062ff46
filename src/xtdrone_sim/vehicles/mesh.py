"""Triangle meshes: from the files that SDF names, and extruded from outlines."""

import re
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from xtdrone_core import files
from xtdrone_core.errors import shown

from ..errors import SdfError
from .triangles import MAX_FILE, Mesh

_THICKNESS = 0.05  # thickness of the body behind a triangle [m]
_MIN_THICKNESS = (
    1e-3  # height of a triangle, or thickness of a body, below which it is left out [m]
)
_CONVEX_TOLERANCE = 1e-3  # fraction of its size that a convex mesh may have before a triangle
_FLAT = 1e-4  # distance from a plane [m], and 1 - cosine of two normals, that count as flat
_MAX_PAIRS = 20_000_000  # most pairs of triangle and point for a test of convexity
_SIDES = 24  # of a body of revolution
_MAX_COORDINATE = 1e9  # largest coordinate of a corner, before it is scaled
_STL_HEADER = 84  # bytes before the triangles of a binary file
_STL_RECORD = np.dtype([("normal", "<f4", 3), ("points", "<f4", (3, 3)), ("more", "<u2")])


@dataclass(frozen=True)
class MeshFile:
    """The meshes of a file."""

    path: Path
    submesh: str = ""  # only the one of this name; "" = all
    centred: bool = False  # moved so that the middle of its bounding box is the origin
    standing: bool = False  # moved so that its lowest point is at z = 0

    def parts(self) -> tuple[Mesh, ...]:
        """Returns the meshes, read once.

        Raises:
            SdfError: Not a mesh, or without that submesh.
        """
        return _read(self, self.path.stat().st_mtime_ns)


@dataclass(frozen=True)
class Extrusion:
    """A body with a polygon as its base, from z = 0 up: SDF's <polyline>."""

    outline: tuple[tuple[float, float], ...]  # corners, without the first one again [m]
    height: float  # [m]

    def parts(self) -> tuple[Mesh, ...]:
        """Returns the closed surface as one mesh."""
        return _extruded(self)


@dataclass(frozen=True)
class Revolved:
    """A body of revolution about z: SDF's <ellipsoid>, <capsule> and <cone>."""

    profile: tuple[tuple[float, float], ...]  # distances from the axis and heights, upwards [m]
    scale: tuple[float, float, float] = (1.0, 1.0, 1.0)

    def parts(self) -> tuple[Mesh, ...]:
        """Returns the closed surface as one mesh."""
        return _revolved(self)


MeshSource: TypeAlias = MeshFile | Extrusion | Revolved


def convex_pieces(mesh: Mesh) -> list[np.ndarray]:
    """Returns convex bodies that a mesh consists of, for engines that collide with those only.

    A connected piece that is convex is one body. Of any other each triangle is one, with a
    thickness below it, or each pair of triangles that is a flat convex quadrilateral.

    Args:
        mesh: The mesh.

    Returns:
        The corners (V, 3) of each body [m].
    """
    bodies = []
    for points, faces in _connected(mesh.points, mesh.faces):
        if _is_convex(points, faces):
            bodies.append(points)
        else:
            bodies += _plates(points, faces)
    return bodies


def _plates(points: np.ndarray, faces: np.ndarray) -> list[np.ndarray]:
    """Gives each triangle, or flat pair of triangles, a thickness."""
    kept, corners, normals = _triangles(points, faces)
    back = corners - _THICKNESS * normals[:, None, :]
    plates = np.concatenate([corners, back], axis=1)
    pairs = _quadrilaterals(points, faces[kept], normals)
    single = np.ones(len(plates), dtype=bool)
    single[pairs.ravel()] = False
    return [*plates[single], *np.concatenate([plates[pairs[:, 0]], plates[pairs[:, 1]]], axis=1)]


def _quadrilaterals(points: np.ndarray, faces: np.ndarray, normals: np.ndarray) -> np.ndarray:
    """Returns pairs (P, 2) of triangles that form a flat convex quadrilateral, each in one pair."""
    count = len(faces)
    sides = np.concatenate([faces[:, [0, 1]], faces[:, [1, 2]], faces[:, [2, 0]]])
    owner, tip = np.tile(np.arange(count), 3), faces[:, [2, 0, 1]].T.ravel()
    keys = np.sort(sides, axis=1) @ (len(points), 1)
    order = np.argsort(keys, kind="stable")
    shared = np.flatnonzero(np.diff(keys[order]) == 0)
    a, b = order[shared], order[shared + 1]
    opposite = (sides[a] == sides[b][:, ::-1]).all(axis=1)  # both run around the same side
    a, b = a[opposite], b[opposite]
    along = normals[owner[a]]
    start, end = points[sides[a, 0]], points[sides[a, 1]]
    corners = np.stack([start, points[tip[b]], end, points[tip[a]]], axis=1)
    edges = np.roll(corners, -1, axis=1) - corners
    turns = np.einsum("pkc,pc->pk", np.cross(edges, np.roll(edges, -1, axis=1)), along)
    off = np.abs(np.einsum("pc,pc->p", corners[:, 1] - start, along))
    good = (
        (off < _FLAT)
        & (turns.min(axis=1) >= 0.0)
        & (np.einsum("pc,pc->p", along, normals[owner[b]]) > 1.0 - _FLAT)
    )
    chosen, used = [], np.zeros(count, dtype=bool)
    for i, k in zip(owner[a[good]], owner[b[good]]):
        if not (used[i] or used[k]):
            used[i] = used[k] = True
            chosen.append((i, k))
    return np.array(chosen, dtype=int).reshape(-1, 2)


def _triangles(points: np.ndarray, faces: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Returns which triangles are no lines, their corners (T, 3, 3) and unit normals (T, 3)."""
    corners = points[faces]
    sides = corners - np.roll(corners, 1, axis=1)
    normals = np.cross(sides[:, 1], sides[:, 2])
    twice = np.linalg.norm(normals, axis=1)
    kept = twice > _MIN_THICKNESS * np.linalg.norm(sides, axis=2).max(axis=1)
    return kept, corners[kept], normals[kept] / twice[kept, None]


def _is_convex(points: np.ndarray, faces: np.ndarray) -> bool:
    """Returns whether all points lie behind all triangles, with some volume between them."""
    _, corners, normals = _triangles(points, faces)
    if len(points) < 4 or len(normals) == 0 or len(normals) * len(points) > _MAX_PAIRS:
        return False
    centred = points - points.mean(axis=0)
    thinnest = np.linalg.svd(centred, full_matrices=False)[2][2]
    if np.ptp(centred @ thinnest) < _MIN_THICKNESS:
        return False
    ahead = points @ normals.T - (corners[:, 0] * normals).sum(axis=1)
    return bool(ahead.max() <= _CONVEX_TOLERANCE * np.ptp(points, axis=0).max())


def _connected(points: np.ndarray, faces: np.ndarray) -> list[tuple[np.ndarray, np.ndarray]]:
    """Returns the pieces (points, faces) whose triangles have no corner in common."""
    from scipy.sparse import coo_matrix
    from scipy.sparse.csgraph import connected_components

    span = np.ptp(points, axis=0).max() or 1.0
    _, first, same = np.unique(
        np.round(points / span, 6), axis=0, return_index=True, return_inverse=True
    )
    merged, faces = points[first], same.reshape(-1)[faces]
    a, b = faces[:, [0, 1]].ravel(), faces[:, [1, 2]].ravel()
    links = coo_matrix((np.ones(len(a), dtype=np.int8), (a, b)), shape=(len(merged),) * 2)
    _, label = connected_components(links, directed=False)
    of_face = label[faces[:, 0]]
    pieces = []
    for faces_in in np.split(
        faces[np.argsort(of_face, kind="stable")], np.flatnonzero(np.diff(np.sort(of_face))) + 1
    ):
        used, local = np.unique(faces_in, return_inverse=True)
        pieces.append((merged[used], local.reshape(-1, 3)))
    return pieces


@lru_cache(maxsize=256)
def _read(file: MeshFile, _mtime: int) -> tuple[Mesh, ...]:
    meshes = _READERS[file.path.suffix.lower()](file.path)
    for mesh in meshes:
        if (
            mesh.faces.min(initial=0) < 0
            or mesh.faces.max(initial=0) >= len(mesh.points)
            or not (np.abs(mesh.points) <= _MAX_COORDINATE).all()
        ):
            raise SdfError(
                f"{file.path}: a damaged mesh: it has corners that are not there, or "
                f"beyond {_MAX_COORDINATE:g}"
            )
    if file.submesh:
        meshes = [mesh for mesh in meshes if mesh.name == file.submesh]
        if not meshes:
            raise SdfError(f"{file.path}: has no submesh '{file.submesh}'")
    if file.centred or file.standing:
        points = np.concatenate([mesh.points[np.unique(mesh.faces)] for mesh in meshes])
        low, high = points.min(axis=0), points.max(axis=0)
        origin = 0.5 * (low + high) if file.centred else np.array([0.0, 0.0, low[2]])
        meshes = [replace(mesh, points=mesh.points - origin) for mesh in meshes]
    return tuple(meshes)


def _read_collada(path: Path) -> list[Mesh]:
    from .collada import read_collada

    return read_collada(path)


def _read_stl(path: Path) -> list[Mesh]:
    data = files.read_bytes(path, "mesh", MAX_FILE, SdfError)
    count = int.from_bytes(data[_STL_HEADER - 4 : _STL_HEADER], "little")
    if (
        len(data) >= _STL_HEADER + count * _STL_RECORD.itemsize
        and count > 0
        and not (data[:5] == b"solid" and b"facet" in data[:500])
    ):
        points = np.frombuffer(data, _STL_RECORD, count, _STL_HEADER)["points"].reshape(-1, 3)
    else:
        corners = re.findall(rb"vertex\s+(\S+)\s+(\S+)\s+(\S+)", data)
        try:
            points = np.array(corners, dtype=float).reshape(-1, 3)
        except ValueError as error:
            raise SdfError(f"{path}: a damaged STL file: {shown(error)}") from error
    if len(points) < 3 or not np.isfinite(points).all():
        raise SdfError(f"{path}: an STL file without triangles")
    points = points.astype(float)
    return [Mesh(points, np.arange(len(points) // 3 * 3).reshape(-1, 3))]


def _read_obj(path: Path) -> list[Mesh]:
    points: list[tuple[float, float, float]] = []
    faces: list[tuple[int, int, int]] = []
    try:
        data = files.read_bytes(path, "mesh", MAX_FILE, SdfError)
        text = files.decode_text(data, errors="replace")
        for line in text.splitlines():
            word, *rest = line.split() or [""]
            if word == "v":
                x, y, z = map(float, rest[:3])
                points.append((x, y, z))
            elif word == "f":
                corners = [int(x.split("/")[0]) for x in rest]
                corners = [k - 1 if k > 0 else len(points) + k for k in corners]
                faces += [
                    (corners[0], corners[k], corners[k + 1]) for k in range(1, len(corners) - 1)
                ]
    except ValueError as error:
        raise SdfError(f"{path}: a damaged OBJ file: {shown(error)}") from error
    if not faces or max(map(max, faces)) >= len(points):
        raise SdfError(f"{path}: an OBJ file without triangles")
    return [Mesh(np.array(points), np.array(faces))]


_READERS = {".dae": _read_collada, ".stl": _read_stl, ".obj": _read_obj}
MESH_SUFFIXES = tuple(_READERS)


@lru_cache(maxsize=256)
def _extruded(body: Extrusion) -> tuple[Mesh, ...]:
    base = np.array(body.outline)
    x, y = base.T
    if float(x @ np.roll(y, -1) - y @ np.roll(x, -1)) < 0.0:
        base = base[::-1]
    count, caps = len(base), _cut_ears(base)
    points = np.concatenate([np.c_[base, np.full(count, z)] for z in (0.0, body.height)])
    k = np.arange(count)
    after = (k + 1) % count
    sides = np.concatenate(
        [
            np.stack([k, after, after + count], axis=1),
            np.stack([k, after + count, k + count], axis=1),
        ]
    )
    return (Mesh(points, np.concatenate([caps[:, ::-1], caps + count, sides])),)


@lru_cache(maxsize=256)
def _revolved(body: Revolved) -> tuple[Mesh, ...]:
    angles = np.linspace(0.0, 2.0 * np.pi, _SIDES, endpoint=False)
    around = np.column_stack([np.cos(angles), np.sin(angles)])
    rings = [np.c_[radius * around, np.full(_SIDES, z)] for radius, z in body.profile]
    poles = [[0.0, 0.0, body.profile[0][1]], [0.0, 0.0, body.profile[-1][1]]]
    k, after = np.arange(_SIDES), np.roll(np.arange(_SIDES), -1)
    faces = []
    for ring in range(len(rings) - 1):
        a, b = ring * _SIDES, (ring + 1) * _SIDES
        faces += [np.stack([k + a, after + a, after + b], axis=1)]
        faces += [np.stack([k + a, after + b, k + b], axis=1)]
    last, pole = (len(rings) - 1) * _SIDES, len(rings) * _SIDES
    faces += [np.stack([after, k, np.full(_SIDES, pole)], axis=1)]
    faces += [np.stack([k + last, after + last, np.full(_SIDES, pole + 1)], axis=1)]
    points = np.concatenate([*rings, poles]) * body.scale
    return (Mesh(points, np.concatenate(faces)),)


def _cut_ears(outline: np.ndarray) -> np.ndarray:
    """Cuts the ears of a simple polygon, counter-clockwise, into triangles (T, 3)."""
    left, triangles = list(range(len(outline))), []
    while len(left) > 3:
        for i in range(len(left)):
            ear = left[i - 1], left[i], left[(i + 1) % len(left)]
            a, b, c = outline[list(ear)]
            rest = outline[[k for k in left if k not in ear]]
            if _turn(a, b, c) > 0.0 and not np.any(
                (_turn(a, b, rest.T) >= 0.0)
                & (_turn(b, c, rest.T) >= 0.0)
                & (_turn(c, a, rest.T) >= 0.0)
            ):
                break
        else:  # only corners in a line are left, or the outline crosses itself
            i = int(
                np.argmin(
                    [
                        abs(
                            _turn(
                                outline[left[k - 1]],
                                outline[left[k]],
                                outline[left[(k + 1) % len(left)]],
                            )
                        )
                        for k in range(len(left))
                    ]
                )
            )
            ear = left[i - 1], left[i], left[(i + 1) % len(left)]
        triangles.append(ear)
        left.pop(i)
    return np.array([*triangles, left])


def _turn(a: np.ndarray, b: np.ndarray, c: np.ndarray) -> Any:  # a number, or one of each column
    """Returns twice the area of a triangle, positive where it runs counter-clockwise."""
    return (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0])
