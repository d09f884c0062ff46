"""A voxel map that moves with the vehicle."""

import math
from pathlib import Path

import numpy as np
import numpy.typing as npt

from xtdrone_core.errors import shown
from xtdrone_core.runs.snapshot import Memory

from ..errors import PlanningError
from . import voxel_kernels as kernels
from .voxel_kernels import UNKNOWN

_ROLL = 8  # the window moves when the vehicle is this part of a side off its centre
_FORMAT = "xtdrone voxel map 1"


class VoxelMap(Memory):
    """Log-odds of voxels in a window of the world that moves with the vehicle.

    The voxel with the numbers (a, b, c) spans from (a, b, c) times the resolution to the next, and
    lies in the array at its numbers modulo the array's shape: moving the window copies nothing.

    Attributes:
        resolution: Side of a voxel [m].
        cells: (X, Y, Z) int8 log-odds in ring order; UNKNOWN, free up to 0, occupied above.
        low: (3,) int64 number of the window's lowest voxel on each axis.
    """

    MEMORY = ("cells", "low")

    def __init__(
        self, size: npt.ArrayLike, resolution: float, centre: npt.ArrayLike = (0.0, 0.0, 0.0)
    ) -> None:
        """Makes an unknown map.

        Args:
            size: (3,) sides of the window [m].
            resolution: Side of a voxel [m].
            centre: (3,) of the window, world [m].

        Raises:
            PlanningError: A number is not positive.
        """
        sides = np.array(size, dtype=float)
        if sides.shape != (3,) or not (np.isfinite(sides).all() and (sides > 0).all()):
            raise PlanningError(f"a map of {shown(size)} m is not allowed: give 3 positive sides")
        if not (math.isfinite(resolution) and 0.01 <= resolution <= sides.min()):
            raise PlanningError(
                f"a resolution of {resolution:g} m is not allowed: give 0.01 m to the map's side"
            )
        shape = np.maximum(np.round(sides / resolution), 1).astype(int)
        self.resolution = float(resolution)
        self.cells = np.full(tuple(shape), UNKNOWN, dtype=np.int8)
        self.low = self._numbers(centre) - shape // 2
        self._marked = np.empty(0, dtype=np.int64)

    @property
    def shape(self) -> np.ndarray:
        """(3,) number of voxels on each axis."""
        return np.array(self.cells.shape, dtype=np.int64)

    @property
    def bounds(self) -> np.ndarray:
        """(2, 3) lowest and highest corner of the window [m]."""
        return np.array([self.low, self.low + self.shape]) * self.resolution

    def clear(self) -> None:
        """Forgets everything."""
        self.cells.fill(UNKNOWN)

    def follow(self, pos: np.ndarray) -> None:
        """Moves the window when a place is far from its centre; what enters is unknown."""
        shape = self.shape
        off = self._numbers(pos) - (self.low + shape // 2)
        for axis in np.flatnonzero(np.abs(off) > shape // _ROLL):
            self._roll(int(axis), int(off[axis]))

    def insert_depth(
        self, depth: np.ndarray, lens: npt.ArrayLike, pos: np.ndarray, matrix: np.ndarray
    ) -> None:
        """Takes a depth image.

        Args:
            depth: (H, W) float32 along the optical axis [m]; inf without a return.
            lens: fx, fy, cx, cy [pixels], near, far [m].
            pos: (3,) of the camera, world [m].
            matrix: (3, 3) optical frame (x right, y down, z forward) to world.
        """
        kernels.insert_depth(
            self.cells,
            self.low,
            self.resolution,
            np.ascontiguousarray(depth, dtype=np.float32),
            np.array(lens, dtype=float),
            np.array(pos, dtype=float),
            np.ascontiguousarray(matrix, dtype=float),
            self._scratch(depth.size),
        )

    def insert_rays(self, origins: np.ndarray, ends: np.ndarray, returned: np.ndarray) -> None:
        """Takes the rays of a lidar.

        Args:
            origins: (M, 3), or (1, 3) for all, where they begin, world [m].
            ends: (M, 3) where they end: at a return, or at the sensor's range.
            returned: (M,) bool, which have met something.
        """
        kernels.insert_rays(
            self.cells,
            self.low,
            self.resolution,
            np.ascontiguousarray(origins, dtype=float),
            np.ascontiguousarray(ends, dtype=float),
            np.ascontiguousarray(returned, dtype=bool),
            self._scratch(min(self.cells.size, 1 << 22)),
        )

    def insert_boxes(self, corners: np.ndarray, sides: np.ndarray, occupied: np.ndarray) -> None:
        """Takes what is known from elsewhere, where nothing is known yet.

        Args:
            corners: (M, 3) lowest corners of cubes, world [m].
            sides: (M,) [m].
            occupied: (M,) bool; a voxel that one of these touches is occupied.
        """
        for which, value in ((occupied, kernels.HIT), (~occupied, -kernels.HIT)):
            kernels.set_boxes(
                self.cells,
                self.low,
                self.resolution,
                np.ascontiguousarray(corners[which], dtype=float),
                np.ascontiguousarray(sides[which], dtype=float),
                value,
            )

    def set_free(self, pos: np.ndarray, radius: float) -> None:
        """Makes what is unknown within a radius [m] of a place free, as a vehicle flies there."""
        kernels.set_ball(
            self.cells, self.low, self.resolution, np.array(pos, dtype=float), float(radius)
        )

    def at(self, places: npt.ArrayLike) -> np.ndarray:
        """Returns the log-odds (M,) int8 of the voxels at places (M, 3) [m].

        Places outside of the window are UNKNOWN.
        """
        numbers = self._numbers(places)
        inside = ((numbers >= self.low) & (numbers < self.low + self.shape)).all(axis=-1)
        x, y, z = np.moveaxis(numbers % self.shape, -1, 0)
        return np.where(inside, self.cells[x, y, z], np.int8(UNKNOWN))

    def occupied(self) -> np.ndarray:
        """Returns the centres (M, 3) float32 of the occupied voxels [m]."""
        ring = np.argwhere(self.cells > 0)
        numbers = self.low + (ring - self.low) % self.shape
        return ((numbers + 0.5) * self.resolution).astype(np.float32)

    def known_volume(self) -> tuple[float, float]:
        """Returns the volumes that are known to be free and to be occupied [m^3]."""
        free, occupied = kernels.count_states(self.cells)
        return free * self.resolution**3, occupied * self.resolution**3

    def unrolled(self) -> np.ndarray:
        """Returns a copy of the log-odds (X, Y, Z) in the order of the world."""
        return np.roll(self.cells, tuple(-self.low % self.shape), axis=(0, 1, 2))

    def write(self, path: Path | str) -> None:
        """Writes the map as .npz, or the centres of its occupied voxels as .ply.

        Raises:
            PlanningError: The name ends otherwise, or the file cannot be written.
        """
        path = Path(path)
        try:
            if path.suffix == ".npz":
                np.savez_compressed(
                    path,
                    format=_FORMAT,
                    cells=self.unrolled(),
                    low=self.low,
                    resolution=self.resolution,
                )
            elif path.suffix == ".ply":
                _write_ply(path, self.occupied())
            else:
                raise PlanningError(
                    f"map file '{shown(path.name)}' is not allowed: give NAME.npz or NAME.ply"
                )
        except OSError as error:
            raise PlanningError(f"cannot write map '{shown(path)}': {error.strerror}") from error

    @classmethod
    def read(cls, path: Path | str) -> "VoxelMap":
        """Reads a map that write() has written as .npz.

        Raises:
            PlanningError: There is no such file, or it is no map.
        """
        try:
            with np.load(path, allow_pickle=False) as file:
                if str(file["format"]) != _FORMAT:
                    raise ValueError
                cells, low, resolution = file["cells"], file["low"], float(file["resolution"])
                if cells.ndim != 3 or cells.dtype != np.int8 or low.shape != (3,):
                    raise ValueError
        except FileNotFoundError as error:
            raise PlanningError(f"there is no map '{shown(path)}'") from error
        except (OSError, ValueError, KeyError, EOFError) as error:
            raise PlanningError(
                f"'{shown(path)}' is no map: give an .npz that a flight has written"
            ) from error
        out = cls(np.array(cells.shape) * resolution, resolution)
        out.low = low.astype(np.int64)
        out.cells[:] = np.roll(cells, tuple(out.low % out.shape), axis=(0, 1, 2))
        return out

    def _numbers(self, places: npt.ArrayLike) -> np.ndarray:
        return np.floor(np.asarray(places, dtype=float) / self.resolution).astype(np.int64)

    def _scratch(self, size: int) -> np.ndarray:
        if len(self._marked) < size:
            self._marked = np.empty(size, dtype=np.int64)
        return self._marked

    def _roll(self, axis: int, by: int) -> None:
        """Moves the window along an axis, and forgets the voxels that are new in it."""
        n = self.cells.shape[axis]
        entering = np.arange(min(abs(by), n)) + (self.low[axis] + (n if by > 0 else -abs(by)))
        if abs(by) >= n:
            entering = np.arange(n)
        index: list[slice | np.ndarray] = [slice(None)] * 3
        index[axis] = entering % n
        self.cells[tuple(index)] = UNKNOWN
        self.low[axis] += by


def _write_ply(path: Path, points: np.ndarray) -> None:
    header = (
        "ply\nformat binary_little_endian 1.0\n"
        f"element vertex {len(points)}\n"
        "property float x\nproperty float y\nproperty float z\nend_header\n"
    )
    path.write_bytes(header.encode() + points.astype("<f4").tobytes())
