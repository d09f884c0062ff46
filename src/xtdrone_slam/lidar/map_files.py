"""Files of maps in space: PLY of points, and .bt of occupied voxels, as OctoMap reads it."""

from pathlib import Path

import numpy as np

from ..errors import SlamError

_DEPTH, _HALF = 16, 1 << 15  # of OctoMap's trees, and its key of the coordinate 0
_OCCUPIED, _INNER = 2, 3  # the two bits of a child; 0 is unknown, 1 free


def write_ply(path: Path, points: np.ndarray) -> None:
    """Writes points (M, 3) [m] as binary PLY.

    Raises:
        SlamError: The file cannot be written.
    """
    head = (
        f"ply\nformat binary_little_endian 1.0\nelement vertex {len(points)}\n"
        "property float x\nproperty float y\nproperty float z\nend_header\n"
    )
    _write(path, head.encode() + np.asarray(points, dtype="<f4").tobytes())


def write_octomap(path: Path, points: np.ndarray, resolution: float) -> None:
    """Writes the voxels of points (M, 3) [m] as occupied ones of OctoMap's binary tree.

    Args:
        path: File to write, .bt.
        points: What was seen; free space is left unknown.
        resolution: Side of a voxel [m].

    Raises:
        SlamError: A point is too far away, or the file cannot be written.
    """
    keys = np.floor(np.asarray(points, float).reshape(-1, 3) / resolution) + _HALF
    if not ((keys >= 0) & (keys < 2 * _HALF)).all():
        raise SlamError(
            f"a point is further than {_HALF * resolution:g} m from the origin: give a larger "
            "resolution"
        )
    codes = np.unique(_codes(keys.astype(np.int64)))
    tree, size = b"", 0
    if len(codes):
        tree = _tree(codes)
        size = len(tree) // 2 + len(codes)
    head = f"# Octomap OcTree binary file\nid OcTree\nsize {size}\nres {resolution:g}\ndata\n"
    _write(path, head.encode() + tree)


def _codes(keys: np.ndarray) -> np.ndarray:
    """Returns the way to each voxel (K, 3) from the root: three bits of x, y, z at each level."""
    codes = np.zeros(len(keys), dtype=np.int64)
    for level in range(_DEPTH):
        for axis in range(3):
            codes |= ((keys[:, axis] >> level) & 1) << (3 * level + axis)
    return codes


def _tree(codes: np.ndarray) -> bytes:
    """Returns the inner nodes above sorted leaves (K,), each before those below it."""
    nodes, depths, kinds = [], [], []
    below, kind = codes, _OCCUPIED
    for depth in range(_DEPTH - 1, -1, -1):
        above, place = np.unique(below >> 3, return_inverse=True)
        bits = np.zeros(len(above), dtype=np.uint16)
        np.bitwise_or.at(bits, place, (kind << (2 * (below & 7))).astype(np.uint16))
        nodes.append(above << (3 * (_DEPTH - depth)))
        depths.append(np.full(len(above), depth))
        kinds.append(bits)
        below, kind = above, _INNER
    order = np.lexsort([np.concatenate(depths), np.concatenate(nodes)])
    return np.concatenate(kinds)[order].astype("<u2").tobytes()


def _write(path: Path, data: bytes) -> None:
    try:
        Path(path).write_bytes(data)
    except OSError as error:
        raise SlamError(f"cannot write the map '{path}': {error.strerror}") from error
