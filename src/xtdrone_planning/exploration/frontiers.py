"""Frontiers: where known free space meets what is unseen, and places to see them from."""

import math
from typing import NamedTuple

import numpy as np

from xtdrone_dynamics.compiled import njit

from ..maps.distance_field import FREE, UNSEEN, DistanceField
from ..planners.planner import Limits
from ..planners.search import is_open

GROUP = 1.6  # side of the upright blocks that frontiers are grouped by [m]
_LEAST = 24  # voxels of a group that is worth a look
_RADII, _ANGLES = (1.2, 2.0, 2.8), 12  # of the places tried around a group [m]
_FAR = 1e6


class Viewpoint(NamedTuple):
    """A place to see a group of frontiers from."""

    pos: np.ndarray  # (3,) [m]
    yaw: float  # [rad]
    gain: int  # voxels of the group


def frontiers(field: DistanceField, limits: Limits, bounds: np.ndarray) -> np.ndarray:
    """Returns the centres (F, 3) of free voxels beside unseen ones, at heights of flight [m].

    Args:
        field: What is known.
        limits: Heights.
        bounds: (2, 3) lowest and highest place that is to be explored [m].
    """
    cells = _frontiers(field.state)
    places = (cells + field.low + 0.5) * field.resolution
    inside = (places >= bounds[0]).all(axis=1) & (places <= bounds[1]).all(axis=1)
    inside &= (places[:, 2] >= limits.low - 0.3) & (places[:, 2] <= limits.high + 0.3)
    return np.asarray(places[inside])


def viewpoints(
    field: DistanceField, places: np.ndarray, limits: Limits, height: float
) -> list[Viewpoint]:
    """Returns a place to see each large enough group of frontiers from."""
    out = []
    blocks = np.floor(places[:, :2] / GROUP).astype(np.int64)
    _, group = np.unique(blocks, axis=0, return_inverse=True)
    group = group.ravel()
    for g in range(group.max() + 1 if len(group) else 0):
        own = places[group == g]
        if len(own) >= _LEAST:
            found = _viewpoint(field, own, limits, height)
            if found is not None:
                out.append(found)
    return out


def _viewpoint(
    field: DistanceField, own: np.ndarray, limits: Limits, height: float
) -> Viewpoint | None:
    """Returns the roomiest free place that looks through the middle of a group at the unseen."""
    middle = own[np.argmin(((own - own.mean(axis=0)) ** 2).sum(axis=1))]
    best, most = None, limits.radius + 0.1
    for radius in _RADII:
        for k in range(_ANGLES):
            angle = 2.0 * math.pi * k / _ANGLES
            pos = np.array(
                [
                    middle[0] + radius * math.cos(angle),
                    middle[1] + radius * math.sin(angle),
                    min(max(height, limits.low), limits.high),
                ]
            )
            beyond = middle + (middle - pos) * (0.6 / radius)
            if not field.is_known(pos) or field.is_known(beyond):
                continue
            room = min(field.distance(pos), limits.clearance) + 0.05 * radius
            if room > most and is_open(
                field.square, field.low, field.resolution, pos, middle, 0.05
            ):
                yaw = math.atan2(middle[1] - pos[1], middle[0] - pos[0])
                best, most = Viewpoint(pos, yaw, len(own)), room
    return best


def distances(
    field: DistanceField, start: np.ndarray, places: np.ndarray, limits: Limits, stride: int = 2
) -> np.ndarray:
    """Returns the lengths (P,) of ways from a place to others [m]; inf where there is none."""
    costs = _flood(
        field.state, field.square, field.low, field.resolution, stride, start, np.array(limits)
    )
    side = stride * field.resolution
    cells = np.floor((places - field.low * field.resolution) / side).astype(int)
    cells = np.clip(cells, 0, np.array(costs.shape) - 1)
    found = costs[cells[:, 0], cells[:, 1], cells[:, 2]]
    return np.where(found < _FAR, found, np.inf)


def tour(lengths: np.ndarray) -> list[int]:
    """Returns an order of places that makes a short way, from place 0 on, by insertion and 2-opt.

    Args:
        lengths: (P + 1, P + 1) of the ways between them; the first is where the vehicle is. Of
            the two ways between two places the shorter one counts, so that a part of the tour is
            as long backwards as forwards, and the exchange ends.
    """
    lengths = lengths.copy()
    lengths[1:, 1:] = np.minimum(lengths[1:, 1:], lengths[1:, 1:].T)
    order = [0]
    left = set(range(1, len(lengths)))
    while left:
        nearest = min(left, key=lambda k: lengths[order[-1], k])
        order.append(nearest)
        left.remove(nearest)
    better = True
    while better:
        better = False
        for i in range(1, len(order) - 1):
            for j in range(i + 1, len(order)):
                before = lengths[order[i - 1], order[i]]
                after = lengths[order[i - 1], order[j]]
                if j + 1 < len(order):
                    before += lengths[order[j], order[j + 1]]
                    after += lengths[order[i], order[j + 1]]
                if after < before - 1e-6:
                    order[i : j + 1] = order[i : j + 1][::-1]
                    better = True
    return order[1:]


@njit(nogil=True)
def _frontiers(state: np.ndarray) -> np.ndarray:
    """Returns the free voxels (F, 3) that have an unseen one beside them on their level."""
    nx, ny, nz = state.shape
    count = 0
    for turn in range(2):
        out = np.empty((count if turn else 0, 3), dtype=np.int64)
        n = 0
        for i in range(1, nx - 1):
            for j in range(1, ny - 1):
                for k in range(nz):
                    if state[i, j, k] == FREE and (
                        state[i - 1, j, k] == UNSEEN
                        or state[i + 1, j, k] == UNSEEN
                        or state[i, j - 1, k] == UNSEEN
                        or state[i, j + 1, k] == UNSEEN
                    ):
                        if turn:
                            out[n, 0], out[n, 1], out[n, 2] = i, j, k
                        n += 1
        count = n
    return out


@njit(nogil=True)
def _flood(
    state: np.ndarray,
    square: np.ndarray,
    low: np.ndarray,
    resolution: float,
    stride: int,
    start: np.ndarray,
    limits: np.ndarray,
) -> np.ndarray:
    """Returns the length of the way to each cell, through what is known to be free.

    By rounds of relaxation from a queue, which a cell enters again when its way becomes shorter.
    """
    nx, ny, nz = state.shape[0] // stride, state.shape[1] // stride, state.shape[2] // stride
    side = stride * resolution
    cost = np.full((nx, ny, nz), _FAR)
    size = nx * ny * nz
    queue, waits = np.empty(size, dtype=np.int64), np.zeros(size, dtype=np.bool_)
    x = min(max(int((start[0] - low[0] * resolution) / side), 0), nx - 1)
    y = min(max(int((start[1] - low[1] * resolution) / side), 0), ny - 1)
    z = min(max(int((start[2] - low[2] * resolution) / side), 0), nz - 1)
    cost[x, y, z] = 0.0
    queue[0], head, count = (x * ny + y) * nz + z, 0, 1
    waits[queue[0]] = True
    while count > 0:
        cell = queue[head]
        head = (head + 1) % size
        count -= 1
        waits[cell] = False
        z, y, x = cell % nz, (cell // nz) % ny, cell // (nz * ny)
        for dx in range(-1, 2):
            for dy in range(-1, 2):
                for dz in range(-1, 2):
                    a, b, c = x + dx, y + dy, z + dz
                    if not (0 <= a < nx and 0 <= b < ny and 0 <= c < nz):
                        continue
                    i, j, k = (
                        a * stride + stride // 2,
                        b * stride + stride // 2,
                        c * stride + stride // 2,
                    )
                    h = (k + low[2] + 0.5) * resolution
                    if state[i, j, k] != FREE or h < limits[4] - 0.3 or h > limits[5] + 0.3:
                        continue
                    if (math.sqrt(square[i, j, k]) - 0.5) * resolution < limits[2]:
                        continue
                    new = cost[x, y, z] + side * math.sqrt(dx * dx + dy * dy + dz * dz)
                    if new < cost[a, b, c] - 1e-9:
                        cost[a, b, c] = new
                        other = (a * ny + b) * nz + c
                        if not waits[other]:
                            queue[(head + count) % size] = other
                            count += 1
                            waits[other] = True
    return cost
