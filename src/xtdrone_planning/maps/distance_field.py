"""Distances to the nearest occupied voxel, in a window around the vehicle."""

import math

import numpy as np
import numpy.typing as npt

from xtdrone_dynamics.compiled import njit

from ..errors import PlanningError
from .voxel_kernels import UNKNOWN
from .voxel_map import VoxelMap

FREE, UNSEEN, OCCUPIED = 0, 1, 2  # states of a voxel in the window
_LARGEST = 200  # reach in voxels, so that its square is a uint16


class DistanceField:
    """Exact Euclidean distances between voxels, up to a reach beyond which nothing matters.

    The squares of distances are separable: one pass along z, one along y and one along x, each
    over whole rows at once. A place outside of the window is unseen and far from everything.

    Attributes:
        resolution: Side of a voxel [m].
        reach: Longest distance [m]; further ones read as this.
        state: (X, Y, Z) uint8, FREE, UNSEEN or OCCUPIED, in the order of the world.
        square: (X, Y, Z) uint16 squared distances [voxels^2].
        low: (3,) number of the lowest voxel.
    """

    def __init__(self, size: npt.ArrayLike, resolution: float, reach: float = 1.5) -> None:
        """Makes a field that knows nothing.

        Args:
            size: (3,) sides of the window [m].
            resolution: The map's [m].
            reach: Longest distance that matters [m].

        Raises:
            PlanningError: The reach is too long or too short for the resolution.
        """
        self._cells = math.ceil(reach / resolution)
        if not 1 <= self._cells <= _LARGEST:
            raise PlanningError(
                f"a reach of {reach:g} m is not allowed: give {resolution:g} to "
                f"{_LARGEST * resolution:g}"
            )
        shape = tuple(np.maximum(np.round(np.array(size) / resolution), 1).astype(int))
        self.resolution, self.reach = float(resolution), self._cells * float(resolution)
        self.state = np.full(shape, UNSEEN, dtype=np.uint8)
        self.square = np.full(shape, self._cells**2, dtype=np.uint16)
        self.low = -np.array(shape, dtype=np.int64) // 2
        self._other = np.empty(shape, dtype=np.uint16)

    def update(self, voxels: VoxelMap, centre: npt.ArrayLike) -> None:
        """Computes the distances around a place from a map of the same resolution."""
        numbers = np.floor(np.asarray(centre, dtype=float) / self.resolution).astype(np.int64)
        self.low = numbers - np.array(self.state.shape, dtype=np.int64) // 2
        _states(voxels.cells, voxels.low, self.low, self.state)
        _squares(self.state, self._cells, self.square, self._other)

    def distance(self, place: npt.ArrayLike) -> float:
        """Returns the distance of a place from the nearest occupied voxel's surface [m].

        That of a place outside of the window is the reach.
        """
        x, y, z = np.asarray(place, dtype=float)
        cell = np.floor(np.array([x, y, z]) / self.resolution) - self.low
        if not ((cell >= 0) & (cell < self.state.shape)).all():
            return self.reach
        return float(clearance(self.square, self.low, self.resolution, x, y, z))

    def is_known(self, place: npt.ArrayLike) -> bool:
        """Whether the voxel at a place is known to be free."""
        x, y, z = np.asarray(place, dtype=float)
        return bool(state_at(self.state, self.low, self.resolution, x, y, z) == FREE)


@njit(nogil=True)
def _states(cells: np.ndarray, from_low: np.ndarray, low: np.ndarray, state: np.ndarray) -> None:
    """Copies the window from a map in ring order."""
    size, shape = cells.shape, state.shape
    for i in range(shape[0]):
        a = low[0] + i
        inside_x = from_low[0] <= a < from_low[0] + size[0]
        for j in range(shape[1]):
            b = low[1] + j
            out = state[i, j]
            if not (inside_x and from_low[1] <= b < from_low[1] + size[1]):
                out[:] = UNSEEN
                continue
            column = cells[a % size[0], b % size[1]]
            c = low[2] % size[2]
            for k in range(shape[2]):
                value = column[c]
                known = from_low[2] <= low[2] + k < from_low[2] + size[2] and value != UNKNOWN
                out[k] = (OCCUPIED if value > 0 else FREE) if known else UNSEEN
                c = c + 1 if c + 1 < size[2] else 0


@njit(nogil=True)
def _squares(state: np.ndarray, reach: int, square: np.ndarray, other: np.ndarray) -> None:
    """Writes squared distances, at most reach^2."""
    nx, ny, nz = state.shape
    limit = np.uint16(reach * reach)
    seen = np.zeros((nx, ny), dtype=np.bool_)  # columns that have something within reach
    for i in range(nx):
        for j in range(ny):
            out, column = square[i, j], state[i, j]
            last = -reach
            for k in range(nz):
                last = k if column[k] == OCCUPIED else last
                d = min(k - last, reach)
                out[k] = d * d
            if last < 0:
                continue
            seen[i, j] = True
            last = nz + reach
            for k in range(nz - 1, -1, -1):
                last = k if column[k] == OCCUPIED else last
                d = min(last - k, reach)
                out[k] = min(np.int64(out[k]), d * d)
    rows = np.zeros(nx, dtype=np.bool_)
    for i in range(nx):
        for j in range(ny):
            out = other[i, j]
            out[:] = limit
            for d in range(max(-reach, -j), min(reach, ny - 1 - j) + 1):
                if seen[i, j + d]:
                    rows[i] = True
                    _lower(out, square[i, j + d], np.uint16(d * d))
    for i in range(nx):
        for j in range(ny):
            square[i, j, :] = limit
        for d in range(max(-reach, -i), min(reach, nx - 1 - i) + 1):
            if rows[i + d]:
                for j in range(ny):
                    _lower(square[i, j], other[i + d, j], np.uint16(d * d))


@njit
def _lower(out: np.ndarray, row: np.ndarray, add: np.uint16) -> None:
    """Keeps the lower of two rows; no square is over 2 * 200^2, so 32 bits hold all of them."""
    for k in range(out.shape[0]):
        value = np.uint32(row[k]) + np.uint32(add)
        best = np.uint32(out[k])
        out[k] = np.uint16(value) if value < best else np.uint16(best)


@njit
def state_at(
    state: np.ndarray, low: np.ndarray, resolution: float, x: float, y: float, z: float
) -> int:
    """Returns the state of the voxel at a place; UNSEEN outside of the window."""
    a = math.floor(x / resolution) - low[0]
    b = math.floor(y / resolution) - low[1]
    c = math.floor(z / resolution) - low[2]
    if 0 <= a < state.shape[0] and 0 <= b < state.shape[1] and 0 <= c < state.shape[2]:
        return int(state[a, b, c])
    return UNSEEN


@njit
def clearance(
    square: np.ndarray, low: np.ndarray, resolution: float, x: float, y: float, z: float
) -> float:
    """Returns the distance [m] of a place from the nearest occupied voxel's surface."""
    return clearance_and_gradient(square, low, resolution, x, y, z)[0]


@njit
def clearance_and_gradient(
    square: np.ndarray, low: np.ndarray, resolution: float, x: float, y: float, z: float
) -> tuple[float, float, float, float]:
    """Returns the distance [m] from the nearest occupied surface, and its gradient.

    Trilinear between the centres of voxels, half a voxel less than to the nearest one's centre.
    """
    u = x / resolution - 0.5 - low[0]
    v = y / resolution - 0.5 - low[1]
    w = z / resolution - 0.5 - low[2]
    nx, ny, nz = square.shape
    a = min(max(math.floor(u), 0), nx - 2)
    b = min(max(math.floor(v), 0), ny - 2)
    c = min(max(math.floor(w), 0), nz - 2)
    u, v, w = min(max(u - a, 0.0), 1.0), min(max(v - b, 0.0), 1.0), min(max(w - c, 0.0), 1.0)
    d000 = math.sqrt(square[a, b, c])
    d001 = math.sqrt(square[a, b, c + 1])
    d010 = math.sqrt(square[a, b + 1, c])
    d011 = math.sqrt(square[a, b + 1, c + 1])
    d100 = math.sqrt(square[a + 1, b, c])
    d101 = math.sqrt(square[a + 1, b, c + 1])
    d110 = math.sqrt(square[a + 1, b + 1, c])
    d111 = math.sqrt(square[a + 1, b + 1, c + 1])
    d00, d01 = d000 + u * (d100 - d000), d001 + u * (d101 - d001)
    d10, d11 = d010 + u * (d110 - d010), d011 + u * (d111 - d011)
    d0, d1 = d00 + v * (d10 - d00), d01 + v * (d11 - d01)
    gx = (1 - v) * ((1 - w) * (d100 - d000) + w * (d101 - d001)) + v * (
        (1 - w) * (d110 - d010) + w * (d111 - d011)
    )
    gy = (1 - w) * (d10 - d00) + w * (d11 - d01)
    return (d0 + w * (d1 - d0) - 0.5) * resolution, gx, gy, d1 - d0
