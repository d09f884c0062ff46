"""A map of points in hashed voxels, and the thinning of clouds by voxels."""

import math

import numpy as np

from xtdrone_dynamics.compiled import njit

EMPTY = -1  # key of a free slot
NEIGHBOURS = 5  # points to which a plane is fitted
_BITS, _HALF = 21, 1 << 20  # of a coordinate in a key
_GOLDEN = np.uint64(0x9E3779B97F4A7C15)  # 2^64 over the golden ratio
_FULL = 0.5  # share of occupied slots at which a map grows


@njit
def key_of(x: float, y: float, z: float, scale: float) -> int:
    """Returns the key of the voxel of a point; `scale` is 1 / side."""
    i = math.floor(x * scale) + _HALF
    j = math.floor(y * scale) + _HALF
    k = math.floor(z * scale) + _HALF
    return (i << (2 * _BITS)) | (j << _BITS) | k


@njit
def slot_of(keys: np.ndarray, key: int) -> int:
    """Returns the slot with a key, or the free one where it belongs; len(keys) is a power of 2."""
    mask = len(keys) - 1
    mixed = np.uint64(key) * _GOLDEN  # whose high bits depend on all three coordinates
    slot = int(mixed >> np.uint64(32)) & mask
    while keys[slot] != EMPTY and keys[slot] != key:
        slot = (slot + 1) & mask
    return slot


@njit
def thin(points: np.ndarray, side: float, keys: np.ndarray) -> np.ndarray:
    """Returns the indices of the first point (M, 3) in each voxel; `keys` is scratch."""
    keys[:] = EMPTY
    chosen = np.empty(len(points), dtype=np.int64)
    count, scale = 0, 1.0 / side
    for i in range(len(points)):
        key = key_of(points[i, 0], points[i, 1], points[i, 2], scale)
        slot = slot_of(keys, key)
        if keys[slot] == EMPTY:
            keys[slot] = key
            chosen[count] = i
            count += 1
    return chosen[:count]


@njit
def insert(
    points: np.ndarray,
    keys: np.ndarray,
    counts: np.ndarray,
    cells: np.ndarray,
    side: float,
    spacing: float,
    begin: int,
) -> tuple[int, int]:
    """Adds points (M, 3) to a map that are `spacing` from those in their voxel [m].

    Returns:
        The index of the first point that was not taken as the map is too full, or M; and the
        number of new voxels.
    """
    scale, nearest, new = 1.0 / side, spacing * spacing, 0
    for i in range(begin, len(points)):
        x, y, z = points[i, 0], points[i, 1], points[i, 2]
        key = key_of(x, y, z, scale)
        slot = slot_of(keys, key)
        if keys[slot] == EMPTY:
            if new >= len(keys) // 8:
                return i, new
            keys[slot] = key
            new += 1
        count = counts[slot]
        if count == cells.shape[1]:
            continue
        free = True
        for j in range(count):
            dx, dy, dz = x - cells[slot, j, 0], y - cells[slot, j, 1], z - cells[slot, j, 2]
            if dx * dx + dy * dy + dz * dz < nearest:
                free = False
                break
        if free:
            cells[slot, count, 0], cells[slot, count, 1], cells[slot, count, 2] = x, y, z
            counts[slot] = count + 1
    return len(points), new


@njit
def nearest_points(
    x: float,
    y: float,
    z: float,
    keys: np.ndarray,
    counts: np.ndarray,
    cells: np.ndarray,
    side: float,
    found: np.ndarray,
    distances: np.ndarray,
) -> int:
    """Writes the points of a map nearest to a place, out of the 27 voxels about it.

    Args:
        x, y, z: The place [m].
        keys, counts, cells: The map.
        side: Of its voxels [m].
        found: (K, 3) [m], the nearest first; written.
        distances: (K,) squares of their distances [m^2]; written.

    Returns:
        How many were found, up to K.
    """
    scale, most = 1.0 / side, len(distances)
    i0, j0, k0 = math.floor(x * scale), math.floor(y * scale), math.floor(z * scale)
    number = 0
    for i in range(-1, 2):
        for j in range(-1, 2):
            for k in range(-1, 2):
                key = key_of(
                    (i0 + i + 0.5) * side, (j0 + j + 0.5) * side, (k0 + k + 0.5) * side, scale
                )
                slot = slot_of(keys, key)
                if keys[slot] == EMPTY:
                    continue
                for at in range(counts[slot]):
                    dx, dy, dz = (
                        cells[slot, at, 0] - x,
                        cells[slot, at, 1] - y,
                        cells[slot, at, 2] - z,
                    )
                    square = dx * dx + dy * dy + dz * dz
                    if number == most and square >= distances[most - 1]:
                        continue
                    place = min(number, most - 1)
                    while place > 0 and distances[place - 1] > square:
                        distances[place] = distances[place - 1]
                        found[place] = found[place - 1]
                        place -= 1
                    distances[place] = square
                    for axis in range(3):
                        found[place, axis] = cells[slot, at, axis]
                    number = min(number + 1, most)
    return number


class VoxelMap:
    """Points in voxels, some in each; it grows as needed.

    Attributes:
        side: Of a voxel [m].
        keys, counts, cells: (C,), (C,) and (C, K, 3) of the slots, for kernels.
    """

    def __init__(self, side: float, capacity: int = 1 << 14, in_a_voxel: int = 20) -> None:
        """Makes an empty map; `capacity` is a power of 2."""
        self.side = side
        self._spacing = side / math.sqrt(in_a_voxel)
        self._voxels = 0
        self._allocate(capacity, in_a_voxel)

    def _allocate(self, capacity: int, in_a_voxel: int) -> None:
        self.keys = np.full(capacity, EMPTY, dtype=np.int64)
        self.counts = np.zeros(capacity, dtype=np.int32)
        self.cells = np.zeros((capacity, in_a_voxel, 3), dtype=np.float32)

    def __len__(self) -> int:
        """Returns the number of points."""
        return int(self.counts.sum())

    def points(self) -> np.ndarray:
        """Returns all points (M, 3) float32 [m]."""
        width = self.cells.shape[1]
        return self.cells[np.arange(width) < self.counts[:, None]]

    def add(self, points: np.ndarray) -> None:
        """Adds points (M, 3) [m], but those close to others."""
        begin = 0
        while begin < len(points):
            begin, new = insert(
                points, self.keys, self.counts, self.cells, self.side, self._spacing, begin
            )
            self._voxels += new
            if self._voxels > _FULL * len(self.keys):
                self._grow()

    def _grow(self) -> None:
        points = self.points().astype(float)
        self._allocate(2 * len(self.keys), self.cells.shape[1])
        self._voxels = 0
        self.add(points)
