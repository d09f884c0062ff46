"""Files of maps, read as boxes: .npz of a flight, .ply of points, OctoMap's .bt."""

from pathlib import Path
from typing import NamedTuple

import numpy as np

from xtdrone_core import files
from xtdrone_core.errors import shown

from ..errors import PlanningError
from .voxel_kernels import UNKNOWN
from .voxel_map import VoxelMap

SUFFIXES = (".npz", ".ply", ".bt")
_HEAD = b"# Octomap OcTree binary file"
_DEPTH, _HALF = 16, 1 << 15  # of OctoMap's trees, and its key of the coordinate 0
_FREE, _OCCUPIED, _INNER = 1, 2, 3  # the two bits of a child; 0 is unknown
_POINT = 1e-6  # side of a point [m]
_TYPES = {
    "char": "i1", "int8": "i1", "uchar": "u1", "uint8": "u1", "short": "i2", "int16": "i2",
    "ushort": "u2", "uint16": "u2", "int": "i4", "int32": "i4", "uint": "u4", "uint32": "u4",
    "float": "f4", "float32": "f4", "double": "f8", "float64": "f8",
}  # fmt: skip


class Boxes(NamedTuple):
    """Cubes of space that are known."""

    corners: np.ndarray  # (M, 3) lowest corners [m]
    sides: np.ndarray  # (M,) [m]
    occupied: np.ndarray  # (M,) bool


def read(path: Path | str) -> Boxes:
    """Reads what a file knows.

    Args:
        path: An .npz that a flight has written, a .ply of points on surfaces, or OctoMap's .bt.

    Raises:
        PlanningError: It is none of them, or damaged.
    """
    path = Path(path).expanduser()
    suffix = path.suffix.lower()
    if suffix not in SUFFIXES:
        raise PlanningError(
            f"map '{shown(path)}' is not allowed: give a file that ends with {', '.join(SUFFIXES)}"
        )
    if suffix == ".npz":
        return _of_map(VoxelMap.read(path))
    data = files.read_bytes(path, "map", error=PlanningError, maximum=1 << 30)
    try:
        return _of_ply(data) if suffix == ".ply" else _of_octomap(data)
    except (ValueError, KeyError, IndexError, OverflowError) as error:
        raise PlanningError(f"map '{shown(path)}' cannot be read: {error}") from error


def _of_map(voxels: VoxelMap) -> Boxes:
    cells = voxels.unrolled()
    known = np.argwhere(cells != UNKNOWN)
    corners = (known + voxels.low) * voxels.resolution
    return Boxes(corners, np.full(len(known), voxels.resolution), cells[tuple(known.T)] > 0)


def _of_ply(data: bytes) -> Boxes:
    """Reads the vertices of a PLY, which come first in it."""
    end = data.find(b"end_header")
    if not data.startswith(b"ply") or end < 0:
        raise ValueError("it does not begin as a PLY")
    lines = [line.split() for line in data[:end].decode("ascii", "replace").splitlines()]
    form = next((words[1] for words in lines if words[:1] == ["format"]), "")
    elements = [k for k, words in enumerate(lines) if words[:1] == ["element"]]
    if not elements or lines[elements[0]][1] != "vertex":
        raise ValueError("its first element is not 'vertex'")
    count = int(lines[elements[0]][2])
    last = elements[1] if len(elements) > 1 else len(lines)
    fields = [words for words in lines[elements[0] : last] if words[0] == "property"]
    names = [words[2] for words in fields]
    if not set("xyz") <= set(names):
        raise ValueError("its vertices have no x, y, z")
    body = data[data.index(b"\n", end) + 1 :]
    if form == "ascii":
        rows = np.array(body.split()[: count * len(names)], dtype=float)
        table = dict(zip(names, rows.reshape(count, len(names)).T, strict=True))
        points = np.stack([table[axis] for axis in "xyz"], axis=-1)
    elif form in ("binary_little_endian", "binary_big_endian"):
        order = "<" if "little" in form else ">"
        kind = np.dtype([(words[2], order + _TYPES[words[1]]) for words in fields])
        vertices = np.frombuffer(body, kind, count)
        points = np.stack([vertices[axis] for axis in "xyz"], axis=-1).astype(float)
    else:
        raise ValueError(f"its format is '{form}'")
    points = points[np.isfinite(points).all(axis=1)]
    return Boxes(points, np.full(len(points), _POINT), np.ones(len(points), dtype=bool))


def _of_octomap(data: bytes) -> Boxes:
    """Reads OctoMap's binary tree: two bytes for each inner node, each before those below it."""
    mark = data.find(b"\ndata")
    if not data.startswith(_HEAD) or mark < 0:
        raise ValueError("it does not begin as a binary tree of OctoMap (.bt, not .ot)")
    head = dict(
        line.split(maxsplit=1)
        for line in data[:mark].decode("ascii", "replace").splitlines()
        if len(line.split()) > 1 and not line.startswith("#")
    )
    resolution = float(head["res"])
    if not 0.0 < resolution < 1e3:
        raise ValueError(f"its resolution is {resolution:g} m")
    body = data[data.index(b"\n", mark + 1) + 1 :]
    nodes = np.frombuffer(body, "<u2", len(body) // 2)
    rows: list[tuple[int, int, int, int, bool]] = []
    stack = [(0, 0, 0, _DEPTH)] if len(nodes) else []
    place = 0
    while stack:
        x, y, z, level = stack.pop()
        bits = int(nodes[place])
        place += 1
        half = 1 << (level - 1)
        below = []
        for child in range(8):
            kind = bits >> (2 * child) & 3
            corner = (x + half * (child & 1), y + half * (child >> 1 & 1), z + half * (child >> 2))
            if kind == _INNER:
                below.append((*corner, level - 1))
            elif kind:
                rows.append((*corner, half, kind == _OCCUPIED))
        if below and level == 1:
            raise ValueError("its tree is deeper than 16 levels")
        stack += reversed(below)
    table = np.array(rows, dtype=float).reshape(-1, 5)
    corners = (table[:, :3] - _HALF) * resolution
    return Boxes(corners, table[:, 3] * resolution, table[:, 4] > 0)
