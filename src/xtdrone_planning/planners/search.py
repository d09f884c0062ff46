"""A* through the distance field, on a grid of every second voxel or coarser."""

import math
from typing import NamedTuple

import numpy as np

from xtdrone_dynamics.compiled import njit

from ..maps.distance_field import OCCUPIED, UNSEEN, DistanceField
from .planner import Limits

REACHED, BORDER, CLOSED = 0, 1, 2  # how a search ends: at the goal, at the edge of what is near,
# or shut in
_UNSEEN_COST = 1.5  # of a way through what is unseen, over that through what is free
_CLOSE_COST = 3.0  # more at the least distance from obstacles than far from them
_START = 0.6  # so near to the start it may be nearer to obstacles than elsewhere [m]


class Found(NamedTuple):
    """A way."""

    end: int  # REACHED, BORDER or CLOSED
    path: np.ndarray  # (M, 3) from the start on [m]


class Search:
    """A* from a place to a goal, or to the best place at the edge of a horizon.

    What is unseen counts as free, a little dearer, so that ways lead through it where they are
    much shorter.
    """

    def __init__(self, stride: int = 2) -> None:
        """A grid of every stride-th voxel."""
        self._stride = stride
        self._cost = np.empty(0, dtype=np.float32)
        self._parent = np.empty(0, dtype=np.int32)
        self._heap = np.empty((0, 2))

    def find(
        self,
        field: DistanceField,
        start: np.ndarray,
        goal: np.ndarray,
        limits: Limits,
        horizon: float,
    ) -> Found:
        """Searches.

        Args:
            field: Where obstacles are.
            start, goal: (3,) [m].
            limits: radius, clearance, low and high of it.
            horizon: A way ends when it is so far from the start [m].

        Returns:
            The way. If it is CLOSED, it leads to the reachable place nearest to the goal.
        """
        shape = np.array(field.state.shape) // self._stride
        total = int(np.prod(shape))
        if len(self._cost) < total:
            self._cost = np.empty(total, dtype=np.float32)
            self._parent = np.empty(total, dtype=np.int32)
            self._heap = np.empty((8 * total, 2))
        end, last = _search(
            field.state,
            field.square,
            field.low,
            field.resolution,
            self._stride,
            start,
            goal,
            np.array(limits, dtype=float),
            horizon,
            self._cost[:total],
            self._parent[:total],
            self._heap,
        )
        cells = []
        while last >= 0:
            cells.append(last)
            last = int(self._parent[last])
        numbers = np.array(np.unravel_index(cells[::-1], tuple(shape))).T.reshape(-1, 3)
        side = self._stride * field.resolution
        path = (numbers + 0.5) * side + field.low * field.resolution
        path = np.concatenate([start[None], path[1:]])
        if end == REACHED:
            path[-1] = goal
            if len(path) == 1:
                path = np.array([start, goal])
        kept = shortened(
            field.square,
            field.low,
            field.resolution,
            path,
            0.5 * (limits.radius + limits.clearance),
        )
        return Found(int(end), path[kept])


@njit(nogil=True)
def _search(
    state: np.ndarray,
    square: np.ndarray,
    low: np.ndarray,
    resolution: float,
    stride: int,
    start: np.ndarray,
    goal: np.ndarray,
    limits: np.ndarray,
    horizon: float,
    cost: np.ndarray,
    parent: np.ndarray,
    heap: np.ndarray,
) -> tuple[int, int]:
    """Returns how the search ended, and its last cell."""
    nx, ny, nz = state.shape[0] // stride, state.shape[1] // stride, state.shape[2] // stride
    side = stride * resolution
    radius, wanted, lowest, highest = limits[2], limits[3], limits[4], limits[5]
    ox, oy, oz = low[0] * resolution, low[1] * resolution, low[2] * resolution
    cost[:] = np.inf
    first_x = min(max(int((start[0] - ox) / side), 0), nx - 1)
    first_y = min(max(int((start[1] - oy) / side), 0), ny - 1)
    first_z = min(max(int((start[2] - oz) / side), 0), nz - 1)
    first = (first_x * ny + first_y) * nz + first_z
    cost[first], parent[first] = 0.0, -1
    heap[0, 0], heap[0, 1] = 0.0, first
    count = 1
    best, best_left = first, np.inf
    while count > 0:
        cell = int(heap[0, 1])
        key = heap[0, 0]
        count -= 1
        _sink(heap, count)
        z, y, x = cell % nz, (cell // nz) % ny, cell // (nz * ny)
        px, py, pz = ox + (x + 0.5) * side, oy + (y + 0.5) * side, oz + (z + 0.5) * side
        left = _length(goal[0] - px, goal[1] - py, goal[2] - pz)
        if key > cost[cell] + left + 1e-4:
            continue  # a cheaper way to it was found since
        if left < best_left:
            best, best_left = cell, left
        if left <= 0.87 * side:
            return REACHED, cell
        gone = _length(start[0] - px, start[1] - py, start[2] - pz)
        if gone >= horizon or x == 0 or y == 0 or x == nx - 1 or y == ny - 1:
            return BORDER, cell
        for dx in range(-1, 2):
            for dy in range(-1, 2):
                for dz in range(-1, 2):
                    a, b, c = x + dx, y + dy, z + dz
                    if not (0 <= a < nx and 0 <= b < ny and 0 <= c < nz):
                        continue
                    step = math.sqrt(dx * dx + dy * dy + dz * dz) * side
                    if step == 0.0:
                        continue
                    h = oz + (c + 0.5) * side
                    if (h < lowest or h > highest) and abs(h - start[2]) >= abs(pz - start[2]):
                        continue
                    i, j, k = (
                        a * stride + stride // 2,
                        b * stride + stride // 2,
                        c * stride + stride // 2,
                    )
                    seen = state[i, j, k]
                    if seen == OCCUPIED:
                        continue
                    room = (math.sqrt(square[i, j, k]) - 0.5) * resolution
                    if room < radius:
                        if gone > _START:
                            continue
                        step *= 4.0
                    if room < wanted:
                        close = min((wanted - room) / (wanted - radius), 1.0)
                        step *= 1.0 + _CLOSE_COST * close * close
                    if seen == UNSEEN:
                        step *= _UNSEEN_COST
                    new = cost[cell] + step
                    other = (a * ny + b) * nz + c
                    if new < cost[other] - 1e-6 and count < heap.shape[0]:
                        cost[other], parent[other] = new, cell
                        qx, qy = ox + (a + 0.5) * side, oy + (b + 0.5) * side
                        left = _length(goal[0] - qx, goal[1] - qy, goal[2] - h)
                        _rise(heap, count, new + left, other)
                        count += 1
    return CLOSED, best


@njit
def _length(x: float, y: float, z: float) -> float:
    return math.sqrt(x * x + y * y + z * z)


@njit
def _rise(heap: np.ndarray, count: int, key: float, cell: int) -> None:
    """Puts an entry into a binary heap of `count` entries."""
    i = count
    while i > 0:
        above = (i - 1) // 2
        if heap[above, 0] <= key:
            break
        heap[i, 0], heap[i, 1] = heap[above, 0], heap[above, 1]
        i = above
    heap[i, 0], heap[i, 1] = key, cell


@njit
def _sink(heap: np.ndarray, count: int) -> None:
    """Fills the top of a heap with its entry number `count`, which then is none any more."""
    key, cell = heap[count, 0], heap[count, 1]
    i = 0
    while True:
        below = 2 * i + 1
        if below >= count:
            break
        if below + 1 < count and heap[below + 1, 0] < heap[below, 0]:
            below += 1
        if heap[below, 0] >= key:
            break
        heap[i, 0], heap[i, 1] = heap[below, 0], heap[below, 1]
        i = below
    heap[i, 0], heap[i, 1] = key, cell


@njit(nogil=True)
def is_open(
    square: np.ndarray,
    low: np.ndarray,
    resolution: float,
    a: np.ndarray,
    b: np.ndarray,
    radius: float,
) -> bool:
    """Whether a straight way keeps a distance from all that is occupied."""
    length = _length(b[0] - a[0], b[1] - a[1], b[2] - a[2])
    steps = int(length / (0.5 * resolution)) + 1
    for n in range(steps + 1):
        s = n / steps
        i = math.floor((a[0] + s * (b[0] - a[0])) / resolution) - low[0]
        j = math.floor((a[1] + s * (b[1] - a[1])) / resolution) - low[1]
        k = math.floor((a[2] + s * (b[2] - a[2])) / resolution) - low[2]
        if 0 <= i < square.shape[0] and 0 <= j < square.shape[1] and 0 <= k < square.shape[2]:
            if (math.sqrt(square[i, j, k]) - 0.5) * resolution < radius:
                return False
    return True


@njit(nogil=True)
def shortened(
    square: np.ndarray, low: np.ndarray, resolution: float, path: np.ndarray, radius: float
) -> np.ndarray:
    """Returns which points (M',) of a path remain when straight ways take its place."""
    kept = np.empty(path.shape[0], dtype=np.int64)
    kept[0] = 0
    count, here = 1, 0
    while here < path.shape[0] - 1:
        further = path.shape[0] - 1
        while further > here + 1 and not is_open(
            square, low, resolution, path[here], path[further], radius
        ):
            further -= 1
        kept[count] = further
        count += 1
        here = further
    return kept[:count]
