"""Compiled kernels of the voxel map: what a depth image or a sweep of rays says about voxels.

A voxel is one signed byte: UNKNOWN, or the log-odds of being occupied in whole steps. Within one
image or sweep each voxel counts once: a voxel that was hit carries +MARK, and one that was passed
-MARK, until the last step takes the marks away.
"""

import math

import numpy as np

from xtdrone_dynamics.compiled import njit

UNKNOWN = -128
HIT, MISS = 4, 1  # steps of log-odds
LOWEST, HIGHEST = -6, 12  # log-odds are kept between these
MARK = 64
_LEVELS = 8  # of the pyramid of least depths: blocks of 1, 2, 4 ... 128 pixels
_HALF_DIAGONAL = 0.5 * math.sqrt(3.0)  # of a voxel, over its side
_NOTHING = 1e9


@njit(nogil=True)
def pyramid(depth: np.ndarray, far: float) -> np.ndarray:
    """Returns least depths (L, H, W) of square blocks; level k has blocks of 2^k pixels.

    A pixel without a return (inf) counts as `far`, one that is not a number as 0.
    """
    height, width = depth.shape
    out = np.empty((_LEVELS, height, width), dtype=np.float32)
    limit = np.float32(far)
    for i in range(height):
        for j in range(width):
            d = depth[i, j]
            out[0, i, j] = np.float32(0.0) if math.isnan(d) else min(d, limit)
    for level in range(1, _LEVELS):
        below = out[level - 1]
        rows, columns = (height - 1) >> (level - 1), (width - 1) >> (level - 1)
        for i in range(((height - 1) >> level) + 1):
            for j in range(((width - 1) >> level) + 1):
                i1, j1 = min(2 * i + 1, rows), min(2 * j + 1, columns)
                out[level, i, j] = min(
                    min(below[2 * i, 2 * j], below[2 * i, j1]), min(below[i1, 2 * j], below[i1, j1])
                )
    return out


@njit
def _hit(cells: np.ndarray, x: int, y: int, z: int, marked: np.ndarray, count: int) -> int:
    """Raises a voxel's log-odds unless it was hit before; returns the number of marked ones."""
    value = int(cells[x, y, z])
    if value > MARK // 2:
        return count
    if value == UNKNOWN:
        value = 0
    cells[x, y, z] = min(value + HIT, HIGHEST) + MARK
    marked[count] = (x * cells.shape[1] + y) * cells.shape[2] + z
    return count + 1


@njit
def _pass(value: int) -> int:
    """Returns the log-odds of a voxel that a ray has passed."""
    return max((0 if value == UNKNOWN else value) - MISS, LOWEST)


@njit
def _unmark(cells: np.ndarray, marked: np.ndarray, count: int, mark: int) -> None:
    flat = cells.reshape(cells.size)
    for k in range(count):
        flat[marked[k]] = int(flat[marked[k]]) - mark


@njit(nogil=True)
def insert_depth(
    cells: np.ndarray,
    low: np.ndarray,
    resolution: float,
    depth: np.ndarray,
    lens: np.ndarray,
    pos: np.ndarray,
    matrix: np.ndarray,
    marked: np.ndarray,
) -> None:
    """Takes a depth image: voxels at a return are hit, those in front of all returns are passed.

    A voxel counts as passed if it lies in front of the least depth of the pixels that it covers.

    Args:
        cells: (X, Y, Z) int8, in ring order.
        low: (3,) number of the lowest voxel on each axis.
        resolution: Side of a voxel [m].
        depth: (H, W) float32 along the optical axis [m]; inf without a return.
        lens: fx, fy, cx, cy [pixels], near, far [m].
        pos: (3,) of the camera, world [m].
        matrix: (3, 3) optical frame (x right, y down, z forward) to world.
        marked: (H W,) int64 scratch.
    """
    fx, fy, cx, cy, far = lens[0], lens[1], lens[2], lens[3], lens[5]
    height, width = depth.shape
    size = cells.shape
    inverse = 1.0 / resolution
    count = 0
    for i in range(height):
        v = (i - cy) / fy
        for j in range(width):
            d = float(depth[i, j])
            if not (d < far):
                continue
            u = (j - cx) / fx
            x = pos[0] + d * (matrix[0, 0] * u + matrix[0, 1] * v + matrix[0, 2])
            y = pos[1] + d * (matrix[1, 0] * u + matrix[1, 1] * v + matrix[1, 2])
            z = pos[2] + d * (matrix[2, 0] * u + matrix[2, 1] * v + matrix[2, 2])
            a = math.floor(x * inverse)
            b = math.floor(y * inverse)
            c = math.floor(z * inverse)
            if (
                0 <= a - low[0] < size[0]
                and 0 <= b - low[1] < size[1]
                and 0 <= c - low[2] < size[2]
            ):
                count = _hit(cells, a % size[0], b % size[1], c % size[2], marked, count)
    _clear_frustum(cells, low, resolution, pyramid(depth, far), lens, pos, matrix)
    _unmark(cells, marked, count, MARK)


@njit
def _clear_frustum(
    cells: np.ndarray,
    low: np.ndarray,
    resolution: float,
    least: np.ndarray,
    lens: np.ndarray,
    pos: np.ndarray,
    matrix: np.ndarray,
) -> None:
    """Passes the voxels in front of what was seen, column by column of the frustum."""
    fx, fy, cx, cy, near, far = lens[0], lens[1], lens[2], lens[3], lens[4], lens[5]
    height, width = least.shape[1], least.shape[2]
    size = cells.shape
    planes = np.array(
        [
            [0.0, 0.0, 1.0, -1e-3],
            [0.0, 0.0, -1.0, far],
            [fx, 0.0, cx, 0.0],
            [-fx, 0.0, width - 1.0 - cx, 0.0],
            [0.0, fy, cy, 0.0],
            [0.0, -fy, height - 1.0 - cy, 0.0],
        ]
    )
    first, last = np.empty(3, dtype=np.int64), np.empty(3, dtype=np.int64)
    for k in range(3):
        lowest, highest = pos[k], pos[k]
        for j in range(4):
            u = ((width - 1.0 if j & 1 else 0.0) - cx) / fx
            v = ((height - 1.0 if j & 2 else 0.0) - cy) / fy
            end = pos[k] + far * (matrix[k, 0] * u + matrix[k, 1] * v + matrix[k, 2])
            lowest, highest = min(lowest, end), max(highest, end)
        first[k] = max(math.floor(lowest / resolution), low[k])
        last[k] = min(math.floor(highest / resolution), low[k] + size[k] - 1)
    diagonal = _HALF_DIAGONAL * resolution
    for a in range(first[0], last[0] + 1):
        x = (a + 0.5) * resolution - pos[0]
        for b in range(first[1], last[1] + 1):
            y = (b + 0.5) * resolution - pos[1]
            # Which part of the column, as offsets from the camera's height, is in the frustum.
            bottom = (first[2] + 0.5) * resolution - pos[2]
            top = (last[2] + 0.5) * resolution - pos[2]
            for k in range(6):
                slope = offset = 0.0
                for j in range(3):
                    slope += planes[k, j] * matrix[2, j]
                    offset += planes[k, j] * (x * matrix[0, j] + y * matrix[1, j])
                offset += planes[k, 3]
                if slope > 1e-9:
                    bottom = max(bottom, -offset / slope)
                elif slope < -1e-9:
                    top = min(top, -offset / slope)
                elif offset < 0.0:
                    top = -_NOTHING
            if top < bottom:
                continue
            c0 = max(math.ceil((bottom + pos[2]) / resolution - 0.5), first[2])
            c1 = min(math.floor((top + pos[2]) / resolution - 0.5), last[2])
            column = cells[a % size[0], b % size[1]]
            for c in range(c0, c1 + 1):
                value = int(column[c % size[2]])
                if value > MARK // 2:
                    continue
                z = (c + 0.5) * resolution - pos[2]
                forward = matrix[0, 2] * x + matrix[1, 2] * y + matrix[2, 2] * z
                if forward <= 1e-3:
                    continue
                u = fx * (matrix[0, 0] * x + matrix[1, 0] * y + matrix[2, 0] * z) / forward + cx
                v = fy * (matrix[0, 1] * x + matrix[1, 1] * y + matrix[2, 1] * z) / forward + cy
                free = _least(least, u, v, max(fx, fy) * diagonal / forward)
                if free >= far and value > 0 and forward < 2.0 * near:
                    continue  # too near a thing has no return, either
                if forward + diagonal < free:
                    column[c % size[2]] = _pass(value)


@njit
def _least(least: np.ndarray, u: float, v: float, radius: float) -> float:
    """Returns the least depth of the pixels within a radius, from a level of four blocks."""
    height, width = least.shape[1], least.shape[2]
    level = 0
    while level < _LEVELS - 1 and (1 << level) < 2.0 * radius:
        level += 1
    i0 = min(max(int(v - radius), 0), height - 1) >> level
    i1 = min(max(int(v + radius + 1.0), 0), height - 1) >> level
    j0 = min(max(int(u - radius), 0), width - 1) >> level
    j1 = min(max(int(u + radius + 1.0), 0), width - 1) >> level
    out = least[level, i0, j0]
    for i in range(i0, i1 + 1):
        for j in range(j0, j1 + 1):
            out = min(out, least[level, i, j])
    return float(out)


@njit(nogil=True)
def insert_rays(
    cells: np.ndarray,
    low: np.ndarray,
    resolution: float,
    origins: np.ndarray,
    ends: np.ndarray,
    returned: np.ndarray,
    marked: np.ndarray,
) -> None:
    """Takes rays of a lidar: the last voxel of those that returned is hit, the others are passed.

    Args:
        cells, low, resolution: As in insert_depth().
        origins: (M, 3) or (1, 3) where the rays begin, world [m].
        ends: (M, 3) where they end [m].
        returned: (M,) bool, whether something is there.
        marked: (X Y Z,) or fewer int64 scratch; rays that find no room there pass no more voxels.
    """
    size = cells.shape
    count = 0
    for m in range(ends.shape[0]):
        if returned[m]:
            a = math.floor(ends[m, 0] / resolution)
            b = math.floor(ends[m, 1] / resolution)
            c = math.floor(ends[m, 2] / resolution)
            if (
                0 <= a - low[0] < size[0]
                and 0 <= b - low[1] < size[1]
                and 0 <= c - low[2] < size[2]
            ):
                count = _hit(cells, a % size[0], b % size[1], c % size[2], marked, count)
    hits = count
    here, step = np.empty(3, dtype=np.int64), np.empty(3, dtype=np.int64)
    due, every = np.empty(3), np.empty(3)  # fractions of the ray
    for m in range(ends.shape[0]):
        origin = origins[m if origins.shape[0] > 1 else 0]
        left = 0
        for k in range(3):
            along = ends[m, k] - origin[k]
            here[k] = math.floor(origin[k] / resolution)
            left += abs(math.floor(ends[m, k] / resolution) - here[k])
            step[k] = 1 if along >= 0.0 else -1
            every[k] = resolution / abs(along) if abs(along) > 1e-12 else _NOTHING
            border = (here[k] + (1 if along >= 0.0 else 0)) * resolution
            due[k] = (border - origin[k]) / along if abs(along) > 1e-12 else _NOTHING
        for _ in range(left + (0 if returned[m] else 1)):
            inside = True
            for k in range(3):
                inside = inside and 0 <= here[k] - low[k] < size[k]
            if inside and count < marked.size:
                x, y, z = here[0] % size[0], here[1] % size[1], here[2] % size[2]
                value = int(cells[x, y, z])
                if value == UNKNOWN or abs(value) <= MARK // 2:
                    cells[x, y, z] = _pass(value) - MARK
                    marked[count] = (x * size[1] + y) * size[2] + z
                    count += 1
            axis = 0 if due[0] <= due[1] else 1
            axis = axis if due[axis] <= due[2] else 2
            here[axis] += step[axis]
            due[axis] += every[axis]
    _unmark(cells, marked, hits, MARK)
    _unmark(cells, marked[hits:], count - hits, -MARK)


@njit(nogil=True)
def set_ball(
    cells: np.ndarray, low: np.ndarray, resolution: float, pos: np.ndarray, radius: float
) -> None:
    """Makes the unknown voxels within a radius of a place free: a vehicle that flies is there."""
    size = cells.shape
    reach = int(radius / resolution) + 1
    a0, b0, c0 = (
        math.floor(pos[0] / resolution),
        math.floor(pos[1] / resolution),
        math.floor(pos[2] / resolution),
    )
    for a in range(max(a0 - reach, low[0]), min(a0 + reach + 1, low[0] + size[0])):
        for b in range(max(b0 - reach, low[1]), min(b0 + reach + 1, low[1] + size[1])):
            for c in range(max(c0 - reach, low[2]), min(c0 + reach + 1, low[2] + size[2])):
                dx = (a + 0.5) * resolution - pos[0]
                dy = (b + 0.5) * resolution - pos[1]
                dz = (c + 0.5) * resolution - pos[2]
                x, y, z = a % size[0], b % size[1], c % size[2]
                if dx * dx + dy * dy + dz * dz <= radius * radius and cells[x, y, z] == UNKNOWN:
                    cells[x, y, z] = -MISS


@njit(nogil=True)
def set_boxes(
    cells: np.ndarray,
    low: np.ndarray,
    resolution: float,
    corners: np.ndarray,
    sides: np.ndarray,
    value: int,
) -> None:
    """Gives the unknown voxels in cubes a value.

    Args:
        cells, low, resolution: As in insert_depth().
        corners: (M, 3) lowest corners [m].
        sides: (M,) [m].
        value: Log-odds. Occupied voxels are all that a cube touches, free ones those whose middle
            is in it.
    """
    size = cells.shape
    shift = 0.0 if value > 0 else 0.5
    edge = 1e-3 if value > 0 else 0.0  # a cube does not touch its neighbour
    first, last = np.empty(3, dtype=np.int64), np.empty(3, dtype=np.int64)
    for m in range(corners.shape[0]):
        for k in range(3):
            begin, end = corners[m, k] / resolution, (corners[m, k] + sides[m]) / resolution
            begin, end = begin + edge, max(end - edge, begin + edge)
            first[k] = max(math.ceil(begin - shift) if value <= 0 else math.floor(begin), low[k])
            last[k] = min(
                math.ceil(end - shift) if value <= 0 else math.floor(end) + 1, low[k] + size[k]
            )
        for a in range(first[0], last[0]):
            for b in range(first[1], last[1]):
                for c in range(first[2], last[2]):
                    x, y, z = a % size[0], b % size[1], c % size[2]
                    if cells[x, y, z] == UNKNOWN:
                        cells[x, y, z] = value


@njit(nogil=True)
def count_states(cells: np.ndarray) -> tuple[int, int]:
    """Returns how many voxels are known to be free, and how many to be occupied."""
    free = occupied = 0
    flat = cells.reshape(cells.size)
    for k in range(flat.size):
        if flat[k] > 0:
            occupied += 1
        elif flat[k] != UNKNOWN:
            free += 1
    return free, occupied
