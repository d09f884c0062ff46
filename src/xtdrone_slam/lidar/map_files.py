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
    leaves = np.unique(keys.astype(np.int64), axis=0)
    nodes = [0]

    def branch(inside: np.ndarray, level: int) -> bytes:
        """Returns the node of the leaves (K, 3) in one cube, and the nodes below it."""
        nodes[0] += 1
        bits = (inside >> level) & 1
        child = bits[:, 0] | (bits[:, 1] << 1) | (bits[:, 2] << 2)
        kinds, below = 0, b""
        for index in np.unique(child):
            kinds |= (_INNER if level else _OCCUPIED) << (2 * int(index))
            if level:
                below += branch(inside[child == index], level - 1)
            else:
                nodes[0] += 1
        return kinds.to_bytes(2, "little") + below

    tree = branch(leaves, _DEPTH - 1) if len(leaves) else b""
    head = f"# Octomap OcTree binary file\nid OcTree\nsize {nodes[0]}\nres {resolution:g}\ndata\n"
    _write(path, head.encode() + tree)


def _write(path: Path, data: bytes) -> None:
    try:
        Path(path).write_bytes(data)
    except OSError as error:
        raise SlamError(f"cannot write the map '{path}': {error.strerror}") from error
