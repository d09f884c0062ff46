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

    The squares of distances are separable: two scans along x, then for y and for z the least of
    all neighbours within reach plus the square of their distance, over whole planes at once, in
    integers of one byte where they hold the reach (15 voxels), else of two. A place outside of the
    window is unseen and far from everything.

    Attributes:
        resolution: Side of a voxel [m].
        reach: Longest distance [m]; further ones read as this.
        state: (X, Y, Z) uint8, FREE, UNSEEN or OCCUPIED, in the order of the world.
        square: (X, Y, Z) uint8 or uint16 squared distances [voxels^2].
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
        nx, ny, nz = np.maximum(np.round(np.array(size) / resolution), 1).astype(int)
        kind = np.min_scalar_type(self._cells**2)
        self.resolution, self.reach = float(resolution), self._cells * float(resolution)
        self.state = np.full((nx, ny, nz), UNSEEN, dtype=np.uint8)
        self.square = np.full((nx, ny, nz), self._cells**2, dtype=kind)
        self.low = -np.array(self.square.shape, dtype=np.int64) // 2
        self._rows = (np.arange(self._cells + 1) ** 2).astype(kind)
        self._other = np.empty_like(self.square)
        self._padded = np.empty((2, ny, nz + self._cells), dtype=kind)

    def update(self, voxels: VoxelMap, centre: npt.ArrayLike) -> None:
        """Computes the distances around a place from a map of the same resolution."""
        numbers = np.floor(np.asarray(centre, dtype=float) / self.resolution).astype(np.int64)
        self.low = numbers - np.array(self.state.shape, dtype=np.int64) // 2
        _states(voxels.cells, voxels.low, self.low, self.state)
        _squares(self.state, self.square, self._other, self._padded, self._rows)

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
    first = min(max(from_low[2] - low[2], 0), shape[2])  # rows of z that the map has
    last = min(max(from_low[2] + size[2] - low[2], first), shape[2])
    ring = (low[2] + first) % size[2]
    turn = min(first + size[2] - ring, last)  # from here on the ring begins anew
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
            out[:first] = UNSEEN
            out[last:] = UNSEEN
            _read(column[ring : ring + turn - first], out[first:turn])
            _read(column[: last - turn], out[turn:last])


@njit
def _read(values: np.ndarray, out: np.ndarray) -> None:
    """Writes the states of log-odds, without a branch."""
    for k in range(out.shape[0]):
        value = values[k]
        out[k] = np.uint8((value == UNKNOWN) * UNSEEN + (value > 0) * OCCUPIED)


@njit(nogil=True)
def _squares(
    state: np.ndarray, square: np.ndarray, other: np.ndarray, padded: np.ndarray, rows: np.ndarray
) -> None:
    """Writes squared distances, at most reach^2.

    Args:
        state: (X, Y, Z).
        square, other: (X, Y, Z) result and scratch, of an integer type that holds reach^2.
        padded: (2, Y, Z + reach) scratch, of the same type.
        rows: (reach + 1,) squares of 0 ... reach, of the same type.
    """
    nx, ny, nz = state.shape
    reach, limit = rows.shape[0] - 1, rows[-1]
    _along_x(state, rows, other, square)
    rise, wide = padded[0], padded[1]
    rise[:, nz:] = limit
    for i in range(nx):
        if not _spread(other[i].reshape(ny * nz), square[i].reshape(ny * nz), rows, nz):
            continue
        rise[:, :nz] = square[i]
        width = nz + reach
        _spread(rise.reshape(ny * width), wide.reshape(ny * width), rows, 1)
        square[i] = wide[:, :nz]


@njit
def _along_x(state: np.ndarray, rows: np.ndarray, out: np.ndarray, steps: np.ndarray) -> None:
    """Writes squares of the distances along x; steps is scratch, all of the same shape."""
    nx = state.shape[0]
    flat = state.shape[1] * state.shape[2]
    reach = rows.shape[0] - 1
    most = steps.dtype.type(reach)
    for i in range(nx):
        here, now = state[i].reshape(flat), steps[i].reshape(flat)
        before = steps[max(i - 1, 0)].reshape(flat)
        for k in range(flat):
            gone = most if i == 0 else min(before[k], steps.dtype.type(most - 1)) + 1
            now[k] = steps.dtype.type(0 if here[k] == OCCUPIED else gone)
    for i in range(nx - 1, -1, -1):
        now, done = steps[i].reshape(flat), out[i].reshape(flat)
        if i < nx - 1:
            after = steps[i + 1].reshape(flat)
            for k in range(flat):
                back = steps.dtype.type(min(after[k], steps.dtype.type(most - 1)) + 1)
                now[k] = min(now[k], back)
        for k in range(flat):
            done[k] = steps.dtype.type(now[k] * now[k])


@njit
def _spread(values: np.ndarray, out: np.ndarray, rows: np.ndarray, stride: int) -> bool:
    """Writes the least of values and their neighbours' along one axis plus squared distances.

    Whole planes at once, so that a processor's lanes are full; no sum exceeds the limit.

    Args:
        values: (M,) squares, at most the last of rows.
        out: (M,) result.
        rows: (reach + 1,) squares of the distances.
        stride: Between neighbours on the axis.

    Returns:
        Whether any is below the limit.
    """
    limit, count = rows[-1], values.shape[0]
    least = limit
    for k in range(count):
        out[k] = values[k]
        least = min(least, values[k])
    if least == limit:
        return False
    for d in range(1, rows.shape[0] - 1):
        shift = d * stride
        if shift < count:
            _lower(out[: count - shift], values[shift:], rows[d], limit)
            _lower(out[shift:], values[: count - shift], rows[d], limit)
    return True


@njit
def _lower(out: np.ndarray, values: np.ndarray, add: int, limit: int) -> None:
    """Keeps the lower of out and the values plus a number; no sum exceeds the limit."""
    most = out.dtype.type(limit - add)
    for k in range(out.shape[0]):
        there = out.dtype.type(min(values[k], most) + add)
        out[k] = min(out[k], there)


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
