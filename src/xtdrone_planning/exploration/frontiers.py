"""Frontiers: where known free space meets what is unseen, and places to see them from."""

import math
from typing import NamedTuple

import numpy as np

from xtdrone_dynamics.compiled import njit

from ..heading import turn
from ..maps.distance_field import FREE, OCCUPIED, UNSEEN, DistanceField
from ..planners.planner import Limits

PATCH = 0.8  # side of the upright blocks that frontiers are grouped by [m]
_FACES = 0.25  # a frontier is seen from in front of it: cosine of the largest angle
_BEFORE = 0.5  # so near before a frontier a line of sight may end [m]
_YAWS = 16  # headings that are tried
_CLOSE = 2.0  # the nearest frontier is looked at from so near [m]
_EVERY = 2  # cells between two places that are tried
_FILM = 0.5  # unseen space before a surface that is no thicker is no frontier [m]
_SPARE = 0.05  # more room than a way needs [m]
_FAR = 1e6


class View(NamedTuple):
    """What a vehicle sees from a place."""

    reach: float  # [m]
    half_angle: float  # to either side [rad]


class Patches(NamedTuple):
    """Frontiers, put together in upright blocks."""

    block: np.ndarray  # (F, 2) number of the block
    pos: np.ndarray  # (F, 3) middle [m]
    out: np.ndarray  # (F, 2) direction towards the unseen, a unit vector
    voxels: np.ndarray  # (F,) how many


class Viewpoint(NamedTuple):
    """A place to see frontiers from."""

    pos: np.ndarray  # (3,) [m]
    yaw: float  # [rad]
    gain: int  # voxels of frontier that are seen from there


def frontiers(field: DistanceField, limits: Limits, bounds: np.ndarray) -> Patches:
    """Returns free voxels beside unseen ones, at heights of flight.

    Args:
        field: What is known.
        limits: Heights.
        bounds: (2, 3) lowest and highest place that is to be explored [m].
    """
    cells, outward = _frontiers(field.state, int(_FILM / field.resolution))
    places = (cells + field.low + 0.5) * field.resolution
    inside = (places >= bounds[0]).all(axis=1) & (places <= bounds[1]).all(axis=1)
    inside &= (places[:, 2] >= limits.low - 0.3) & (places[:, 2] <= limits.high + 0.3)
    places, outward = places[inside], outward[inside]
    blocks = np.floor(places[:, :2] / PATCH).astype(np.int64)
    block, group, count = np.unique(blocks, axis=0, return_inverse=True, return_counts=True)
    group = group.ravel()
    pos, out = np.zeros((len(block), 3)), np.zeros((len(block), 2))
    np.add.at(pos, group, places)
    np.add.at(out, group, outward)
    length = np.maximum(np.linalg.norm(out, axis=1), 1e-9)
    return Patches(block, pos / count[:, None], out / length[:, None], count)


def seen_from(
    field: DistanceField, patches: Patches, places: np.ndarray, yaws: np.ndarray, view: View
) -> np.ndarray:
    """Returns which patches are seen from places (P, 3) by headings (Y,) [rad], (P, Y, F)."""
    seen = _lines(
        field.state, field.low, field.resolution, places, patches.pos, patches.out, view.reach
    )
    off = patches.pos[None, :, :2] - places[:, None, :2]
    angle = np.arctan2(off[..., 1], off[..., 0])
    return seen[:, None] & (np.abs(turn(angle[:, None], yaws[:, None])) < view.half_angle)


def viewpoints(
    field: DistanceField,
    patches: Patches,
    limits: Limits,
    start: np.ndarray,
    view: View,
    worth: int,
) -> tuple[list[Viewpoint], np.ndarray]:
    """Returns a few places from which all frontiers are seen that can be, and the ways to them.

    The place and heading that see most first, then those that see most of the rest.

    Args:
        field: What is known.
        patches: Where that ends.
        limits: Heights and least distance.
        start: (3,) where the vehicle is [m]; viewpoints are at its height.
        view: What is seen from a place.
        worth: Fewer voxels of frontier make no viewpoint.

    Returns:
        The viewpoints, and the lengths (V,) of the ways to them from the start [m].
    """
    places, ways = reachable(field, start, limits)
    yaws = np.arange(_YAWS) * (2.0 * math.pi / _YAWS)
    covers = seen_from(field, patches, places, yaws, view)
    covers = covers.reshape(len(places) * _YAWS, len(patches.voxels))
    left = patches.voxels.astype(np.float32)
    numbers = covers.astype(np.float32)
    out, lengths = [], []
    while len(covers):
        gains = numbers @ left
        best = int(np.argmax(gains))
        if gains[best] < worth:
            break
        place, yaw = divmod(best, _YAWS)
        out.append(Viewpoint(places[place], float(yaws[yaw]), int(gains[best])))
        lengths.append(ways[place])
        left[covers[best]] = 0.0
    return out, np.array(lengths)


def nearest(
    field: DistanceField,
    patches: Patches,
    limits: Limits,
    start: np.ndarray,
    view: View,
    worth: int,
) -> tuple[list[Viewpoint], np.ndarray]:
    """Returns the nearest place close to a frontier, turned towards it, as viewpoints() does.

    Yamauchi, "A frontier-based approach for autonomous exploration", CIRA 1997: each goal is the
    nearest accessible frontier. What is left when none can be seen from close by is looked at from
    the nearest of the viewpoints.
    """
    places, ways = reachable(field, start, limits)
    off = patches.pos[None, :, :2] - places[:, None, :2]
    close = np.linalg.norm(off, axis=2) < _CLOSE
    for place in np.argsort(ways, kind="stable"):
        if not close[place].any():
            continue
        angles = np.arctan2(off[place, :, 1], off[place, :, 0])
        yaws = angles[close[place]]
        covers = seen_from(field, patches, places[[place]], yaws, view)[0]
        gains = (covers & covers[:, close[place]].diagonal()[:, None]) @ patches.voxels
        best = int(np.argmax(gains))
        if gains[best] >= worth:
            return [Viewpoint(places[place], float(yaws[best]), int(gains[best]))], ways[[place]]
    views, lengths = viewpoints(field, patches, limits, start, view, worth)
    first = np.argsort(lengths)[:1]
    return [views[k] for k in first], lengths[first]


def reachable(
    field: DistanceField, start: np.ndarray, limits: Limits
) -> tuple[np.ndarray, np.ndarray]:
    """Returns places (P, 3) at the height of the start, and the lengths (P,) of ways there."""
    stride = 2
    costs = _flood(
        field.state, field.square, field.low, field.resolution, stride, start, np.array(limits)
    )
    side = stride * field.resolution
    level = int(np.clip((start[2] - field.low[2] * field.resolution) / side, 0, costs.shape[2] - 1))
    cells = np.argwhere(costs[::_EVERY, ::_EVERY, level] < _FAR) * _EVERY
    ways = costs[cells[:, 0], cells[:, 1], level]
    places = np.empty((len(cells), 3))
    places[:, :2] = (cells + 0.5) * side + field.low[:2] * field.resolution
    places[:, 2] = start[2]
    roomy = np.array([field.distance(place) > limits.radius + _SPARE for place in places])
    return places[roomy], ways[roomy]


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
    """Returns an order of places that makes a short way, from place 0 on.

    By insertion of the nearest, then by turning parts round (2-opt) and moving them (Or-opt).

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
    return [int(k) for k in _improved(lengths, np.array(order, dtype=np.int64))[1:]]


@njit(nogil=True)
def _frontiers(state: np.ndarray, film: int) -> tuple[np.ndarray, np.ndarray]:
    """Returns the free voxels (F, 3) that have an unseen one beside them on their level.

    And where those are, (F, 2), the sum of the unit vectors to them. A film of so many unseen
    voxels on a surface does not count: rays that graze a wall never show that it is free.
    """
    nx, ny, nz = state.shape
    count = 0
    for fills in (False, True):
        out = np.empty((count if fills else 0, 3), dtype=np.int64)
        outward = np.zeros((count if fills else 0, 2))
        n = 0
        for i in range(1, nx - 1):
            for j in range(1, ny - 1):
                for k in range(nz):
                    if state[i, j, k] != FREE:
                        continue
                    found = False
                    for dx, dy in ((-1, 0), (1, 0), (0, -1), (0, 1)):
                        if not _opens(state, i, j, k, dx, dy, film):
                            continue
                        found = True
                        if fills:
                            outward[n, 0] += dx
                            outward[n, 1] += dy
                    if found:
                        if fills:
                            out[n, 0], out[n, 1], out[n, 2] = i, j, k
                        n += 1
        count = n
    return out, outward


@njit
def _opens(state: np.ndarray, i: int, j: int, k: int, dx: int, dy: int, film: int) -> bool:
    """Whether unseen voxels lie beside one, in a direction, and no surface right behind them."""
    if state[i + dx, j + dy, k] != UNSEEN:
        return False
    for n in range(2, film + 2):
        a, b = i + n * dx, j + n * dy
        inside = 0 <= a < state.shape[0] and 0 <= b < state.shape[1]
        if not inside or state[a, b, k] != UNSEEN:
            return not inside or state[a, b, k] != OCCUPIED
    return True


@njit(nogil=True)
def _lines(
    state: np.ndarray,
    low: np.ndarray,
    resolution: float,
    places: np.ndarray,
    patches: np.ndarray,
    out: np.ndarray,
    reach: float,
) -> np.ndarray:
    """Returns which patches (F, 3) are seen from places (P, 3), in the open and from in front."""
    seen = np.zeros((places.shape[0], patches.shape[0]), dtype=np.bool_)
    for p in range(places.shape[0]):
        for f in range(patches.shape[0]):
            dx, dy = patches[f, 0] - places[p, 0], patches[f, 1] - places[p, 1]
            dz = patches[f, 2] - places[p, 2]
            length = math.sqrt(dx * dx + dy * dy + dz * dz)
            faces = out[f, 0] != 0.0 or out[f, 1] != 0.0
            front = dx * out[f, 0] + dy * out[f, 1] >= _FACES * length
            if length > reach or (faces and not front):
                continue
            steps = int((length - _BEFORE) / (0.75 * resolution))
            clear = True
            for n in range(1, steps + 1):
                s = n * 0.75 * resolution / length
                i = math.floor((places[p, 0] + s * dx) / resolution) - low[0]
                j = math.floor((places[p, 1] + s * dy) / resolution) - low[1]
                k = math.floor((places[p, 2] + s * dz) / resolution) - low[2]
                if state[i, j, k] != FREE:
                    clear = False
                    break
            seen[p, f] = clear
    return seen


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


@njit(nogil=True)
def _improved(lengths: np.ndarray, order: np.ndarray) -> np.ndarray:
    """Returns an order that no turn and no move of a part makes shorter; its first one stays."""
    count = order.shape[0]
    better = True
    while better:
        better = False
        now = _length(lengths, order)
        for i in range(1, count):
            for j in range(i, count):
                turned = order.copy()
                turned[i : j + 1] = order[i : j + 1][::-1]
                if _length(lengths, turned) < now - 1e-6:
                    order, better = turned, True
                    now = _length(lengths, order)
                part, rest = order[i : j + 1].copy(), np.concatenate((order[:i], order[j + 1 :]))
                for k in range(1, rest.shape[0] + 1):
                    moved = np.concatenate((rest[:k], part, rest[k:]))
                    if _length(lengths, moved) < now - 1e-6:
                        order, better = moved, True
                        now = _length(lengths, order)
                        break
    return order


@njit
def _length(lengths: np.ndarray, order: np.ndarray) -> float:
    total = 0.0
    for k in range(order.shape[0] - 1):
        total += lengths[order[k], order[k + 1]]
    return total
