"""What walks or drives: groups of points that are followed from one image to the next."""

import copy
from collections.abc import Mapping
from typing import Any

import numpy as np

from xtdrone_core.runs.snapshot import Memory
from xtdrone_dynamics.compiled import njit

SIDE = 24.0  # of the square around the vehicle in which groups are looked for [m]
_CELL = 0.2  # points in neighbouring cells belong together [m]
_LARGEST = 1.3  # a larger group is a wall, or several things [m]
_FEWEST = 4  # points of a group
_GATE = 0.6  # a group so near to where a track should be is that track [m]
_LOST_US = 1_000_000  # a track that was not seen for so long ends [us]
_SCATTER = 0.12  # deviation of a group's middle [m]
_PUSH = 2.0  # deviation of the acceleration of what moves [m/s^2]
_BEGUN_S = 0.4  # a track of this age may move [s]
_GONE = 0.45  # and when it is so far from where it began [m],
_PACE, _REST = 0.45, 0.2  # and when it is so fast; it moves until it is slower [m/s],
_STANDS_US, _WALKED = 3_000_000, 1.5  # for so long [us], if it has gone so far [m]: who turns round
# goes on at once
_STRAIGHT = 0.75  # part of the way of a track that is the way from its begin
_SURE = 3  # times that this is so one after the other
_FRESH = 0.05  # part of the points that are where it was free before: what stands has none,
_FRESH_S = 0.5  # in the mean of so long [s]


_PARTS = (
    "_state",
    "_covariance",
    "_begun",
    "_way",
    "_seen_us",
    "_quick_us",
    "_sure",
    "_fresh",
    "_moves",
)


class Tracks(Memory):
    """Follows groups of points of the size of people by Kalman filters of constant velocity.

    A group that has gone some way at some speed moves, if it is where it was free before; trees
    and posts, of which one sees another side or height as one flies past, do not.

    Attributes:
        count: Tracks that were found to move so far.
    """

    MEMORY = ("count", "_t_us", *_PARTS)

    def __init__(self) -> None:
        """Follows nothing yet."""
        self.count, self._t_us = 0, 0
        self._state = np.zeros((0, 4))  # x, y [m], and their velocities [m/s]
        self._covariance = np.zeros((0, 4, 4))
        self._begun = np.zeros((0, 3))  # x, y [m] and time [s]
        self._way = np.zeros(0)  # gone since then [m]
        self._seen_us = np.zeros(0, dtype=np.int64)
        self._quick_us = np.zeros(0, dtype=np.int64)  # when it was last not at rest
        self._sure = np.zeros(0, dtype=int)  # times one after the other that it seemed to move
        self._fresh = np.zeros(0)  # mean part of the points where it was free before
        self._moves = np.zeros(0, dtype=bool)

    def load(self, snapshot: Mapping[str, Any]) -> None:
        """Restores a state returned by save(), of any number of tracks."""
        for name in self.MEMORY:
            setattr(self, name, copy.copy(snapshot[name]))

    def see(
        self, t_us: int, points: np.ndarray, centre: np.ndarray, fresh: np.ndarray | None = None
    ) -> None:
        """Takes what was seen at a time.

        Args:
            t_us: Simulated time [us].
            points: (M, 3) at the heights of interest, world [m].
            centre: (3,) of the vehicle [m].
            fresh: (M,) which points are where it was known to be free before; None for all.
        """
        fresh = np.ones(len(points)) if fresh is None else np.asarray(fresh, dtype=float)
        found = groups(points, np.asarray(centre, dtype=float), fresh)
        before, dt = self._state[:, :2].copy(), 1e-6 * max(t_us - self._t_us, 0)
        self._predict(t_us)
        free = np.ones(len(found), dtype=bool)
        apart = np.linalg.norm(found[:, None, :2] - self._state[None, :, :2], axis=2)
        while apart.size and apart.min() < _GATE:
            group, track = np.unravel_index(int(apart.argmin()), apart.shape)
            apart[group], apart[:, track] = np.inf, np.inf
            free[group] = False
            self._correct(int(track), found[group, :2], t_us)
            part = dt / (dt + _FRESH_S)
            self._fresh[track] += part * (found[group, 3] - self._fresh[track])
        self._way += np.linalg.norm(self._state[:, :2] - before, axis=1)
        self._judge(t_us)
        self._keep(self._seen_us > t_us - _LOST_US)
        for x, y, _, part in found[free]:
            self._state = np.vstack([self._state, [x, y, 0.0, 0.0]])
            start = np.diag([_SCATTER**2, _SCATTER**2, 1.0, 1.0])
            self._covariance = np.concatenate([self._covariance, start[None]])
            self._begun = np.vstack([self._begun, [x, y, 1e-6 * t_us]])
            self._seen_us = np.append(self._seen_us, np.int64(t_us))
            self._quick_us = np.append(self._quick_us, np.int64(t_us))
            self._way = np.append(self._way, 0.0)
            self._sure = np.append(self._sure, 0)
            self._fresh = np.append(self._fresh, part)
            self._moves = np.append(self._moves, False)

    def at(self, t_us: int) -> np.ndarray:
        """Returns what moves: x, y [m] at a time and their velocities [m/s], (P, 4)."""
        rows = self._state[self._moves].copy()
        rows[:, :2] += 1e-6 * (t_us - self._t_us) * rows[:, 2:]
        return rows

    def _predict(self, t_us: int) -> None:
        dt = 1e-6 * max(t_us - self._t_us, 0)
        self._t_us = t_us
        step = np.eye(4)
        step[0, 2] = step[1, 3] = dt
        push = np.array([0.5 * dt * dt, dt]) * _PUSH
        noise = np.kron(np.outer(push, push), np.eye(2))
        self._state = self._state @ step.T
        self._covariance = step @ self._covariance @ step.T + noise

    def _correct(self, k: int, place: np.ndarray, t_us: int) -> None:
        covariance = self._covariance[k]
        gain = covariance[:, :2] @ np.linalg.inv(covariance[:2, :2] + _SCATTER**2 * np.eye(2))
        self._state[k] += gain @ (place - self._state[k, :2])
        self._covariance[k] = covariance - gain @ covariance[:2]
        self._seen_us[k] = t_us

    def _judge(self, t_us: int) -> None:
        """Decides which tracks move."""
        pace = np.linalg.norm(self._state[:, 2:], axis=1)
        gone = np.linalg.norm(self._state[:, :2] - self._begun[:, :2], axis=1)
        age = 1e-6 * t_us - self._begun[:, 2]
        seems = (age > _BEGUN_S) & (gone > _GONE) & (pace > _PACE) & (self._fresh > _FRESH)
        self._sure = np.where(seems & (gone > _STRAIGHT * self._way), self._sure + 1, 0)
        begins = ~self._moves & (self._sure >= _SURE)
        self.count += int(begins.sum())
        self._quick_us = np.where(pace < _REST, self._quick_us, t_us)
        stands_us = np.where(self._way > _WALKED, _STANDS_US, 0)
        ends = self._moves & (t_us - self._quick_us > stands_us)
        self._moves = (self._moves | begins) & ~ends
        # Who has turned round, or has begun to walk after a rest, is measured from there on.
        astray = ~self._moves & (self._way > _GONE / _STRAIGHT) & (gone <= _STRAIGHT * self._way)
        again = ends | astray
        self._begun[again, :2], self._way[again] = self._state[again, :2], 0.0

    def _keep(self, which: np.ndarray) -> None:
        for name in _PARTS:
            setattr(self, name, getattr(self, name)[which])


@njit(nogil=True)
def groups(points: np.ndarray, centre: np.ndarray, fresh: np.ndarray) -> np.ndarray:
    """Returns the groups (G, 4) of points (M, 3) that lie together.

    x, y [m], number of points, mean of `fresh` (M,).
    Groups that are too large or have too few points are left out, and so are points further from
    the centre (3,) than half the side of the window.
    """
    n = int(SIDE / _CELL)
    number = np.zeros((n, n), dtype=np.int32)
    total = np.zeros((n, n, 3))
    x0, y0 = centre[0] - 0.5 * SIDE, centre[1] - 0.5 * SIDE
    for m in range(points.shape[0]):
        x, y = points[m, 0], points[m, 1]
        if not (0.0 <= x - x0 < SIDE and 0.0 <= y - y0 < SIDE):
            continue
        i, j = min(int((x - x0) / _CELL), n - 1), min(int((y - y0) / _CELL), n - 1)
        number[i, j] += 1
        total[i, j, 0] += x
        total[i, j, 1] += y
        total[i, j, 2] += fresh[m]
    out = np.empty((n * n, 4))
    count = 0
    stack = np.empty((n * n, 2), dtype=np.int32)
    for i in range(n):
        for j in range(n):
            if number[i, j] == 0:
                continue
            stack[0, 0], stack[0, 1] = i, j
            depth = 1
            i0, i1, j0, j1 = i, i, j, j
            members, x, y, new = number[i, j], total[i, j, 0], total[i, j, 1], total[i, j, 2]
            number[i, j] = 0
            while depth > 0:
                depth -= 1
                a, b = stack[depth, 0], stack[depth, 1]
                i0, i1, j0, j1 = min(i0, a), max(i1, a), min(j0, b), max(j1, b)
                for c in range(max(a - 1, 0), min(a + 2, n)):
                    for d in range(max(b - 1, 0), min(b + 2, n)):
                        if number[c, d] > 0:
                            members += number[c, d]
                            x += total[c, d, 0]
                            y += total[c, d, 1]
                            new += total[c, d, 2]
                            number[c, d] = 0
                            stack[depth, 0], stack[depth, 1] = c, d
                            depth += 1
            if members >= _FEWEST and max(i1 - i0, j1 - j0) * _CELL < _LARGEST:
                out[count, 0], out[count, 1] = x / members, y / members
                out[count, 2], out[count, 3] = members, new / members
                count += 1
    return out[:count]
