"""Occupancy grids from scans: counted along rays, saved as map_server reads them."""

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from xtdrone_dynamics.compiled import njit

from ..errors import SlamError

OCCUPIED, FREE, UNKNOWN = 100, 0, -1  # cells of nav_msgs/OccupancyGrid
_SHADES = {OCCUPIED: 0, FREE: 254, UNKNOWN: 205}  # of map_server's PGM files
_HITS = 0.35  # share of rays that end in a cell from which on it is occupied
_MARGIN = 1.0  # about what was seen [m]
_MAX_CELLS = 100_000_000


@njit
def count_ray(
    hits: np.ndarray, passes: np.ndarray, x0: float, y0: float, x1: float, y1: float
) -> None:
    """Counts a ray from one place to another, in cells, in its cells (rows, columns)."""
    steps = math.ceil(max(abs(x1 - x0), abs(y1 - y0))) + 1
    last_row, last_column = math.floor(y1), math.floor(x1)
    row_before = column_before = -1
    for k in range(steps):
        share = k / steps
        column = math.floor(x0 + share * (x1 - x0))
        row = math.floor(y0 + share * (y1 - y0))
        if (row == row_before and column == column_before) or (
            row == last_row and column == last_column
        ):
            continue
        row_before, column_before = row, column
        if 0 <= row < passes.shape[0] and 0 <= column < passes.shape[1]:
            passes[row, column] += 1
    if 0 <= last_row < hits.shape[0] and 0 <= last_column < hits.shape[1]:
        hits[last_row, last_column] += 1


@njit
def count_scan(hits: np.ndarray, passes: np.ndarray, x: float, y: float, ends: np.ndarray) -> None:
    """Counts the rays from a place to the ends (M, 2), all in cells."""
    for k in range(len(ends)):
        count_ray(hits, passes, x, y, ends[k, 0], ends[k, 1])


@dataclass(frozen=True)
class Grid:
    """An occupancy grid."""

    cells: np.ndarray  # (rows, columns) int8, the lowest y first: OCCUPIED, FREE or UNKNOWN
    resolution: float  # side of a cell [m]
    origin: tuple[float, float]  # x, y of the corner of the first cell [m]

    def message(self, secs: int, nsecs: int, frame: str = "map") -> dict[str, Any]:
        """Returns the fields of nav_msgs/OccupancyGrid."""
        rows, columns = self.cells.shape
        x, y = self.origin
        stamp = {"secs": secs, "nsecs": nsecs}
        return {
            "header": {"stamp": stamp, "frame_id": frame},
            "info": {
                "map_load_time": stamp,
                "resolution": self.resolution,
                "width": columns,
                "height": rows,
                "origin": {"position": {"x": x, "y": y}, "orientation": {"w": 1.0}},
            },
            "data": self.cells.reshape(-1).tolist(),
        }

    def save(self, path: Path) -> None:
        """Writes PATH.pgm and PATH.yaml, as map_server reads them.

        Raises:
            SlamError: They cannot be written.
        """
        image = np.empty(self.cells.shape, dtype=np.uint8)
        for value, shade in _SHADES.items():
            image[self.cells == value] = shade
        rows, columns = image.shape
        pgm, text = Path(f"{path}.pgm"), Path(f"{path}.yaml")
        try:
            pgm.write_bytes(b"P5\n%d %d\n255\n" % (columns, rows) + image[::-1].tobytes())
            text.write_text(
                f"image: {pgm.name}\nresolution: {self.resolution:g}\n"
                f"origin: [{self.origin[0]:.6g}, {self.origin[1]:.6g}, 0.0]\n"
                "negate: 0\noccupied_thresh: 0.65\nfree_thresh: 0.196\n"
            )
        except OSError as error:
            raise SlamError(f"cannot write the map '{pgm}': {error.strerror}") from error


def grid_of(poses: np.ndarray, scans: list[np.ndarray], resolution: float = 0.05) -> Grid:
    """Returns the grid of scans.

    Args:
        poses: (N, 3) x, y [m], yaw [rad] of each scan.
        scans: (M, 2) of each, in its frame [m].
        resolution: Side of a cell [m].

    Raises:
        SlamError: There is no scan, or the grid would be too large.
    """
    if not scans:
        raise SlamError("a map needs a scan: there is none")
    sine, cosine = np.sin(poses[:, 2]), np.cos(poses[:, 2])
    ends = [
        points @ np.array([[c, s], [-s, c]]) + pose[:2]
        for points, pose, s, c in zip(scans, poses, sine, cosine)
    ]
    everything = np.concatenate([poses[:, :2], *ends])
    low = np.floor((everything.min(axis=0) - _MARGIN) / resolution) * resolution
    columns, rows = np.ceil((everything.max(axis=0) + _MARGIN - low) / resolution).astype(int)
    if columns * rows > _MAX_CELLS:
        raise SlamError(f"a map of {columns} x {rows} cells is too large: give a larger resolution")
    hits, passes = (np.zeros((rows, columns), dtype=np.int32) for _ in range(2))
    for pose, end in zip(poses, ends):
        x, y = (pose[:2] - low) / resolution
        count_scan(hits, passes, x, y, (end - low) / resolution)
    cells = np.full((rows, columns), UNKNOWN, dtype=np.int8)
    seen = hits + passes > 0
    cells[seen] = FREE
    cells[seen & (hits >= _HITS * (hits + passes))] = OCCUPIED
    return Grid(cells, resolution, (float(low[0]), float(low[1])))
