"""The flight of least time through passages as a sparse non-linear program.

Every leg from one passage to the next has intervals of equal length, and the lengths are variables.
The implicit midpoint rule ties the states at both ends of an interval; it keeps the norm of the
quaternion.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy import sparse

from .dynamics import POS, RATES, STATES, Multirotor, RigidBody

INTERVALS_S = 1e-3, 0.5  # least and greatest length of an interval [s]
_LEAN = slice(6, 8)  # the part of the quaternion that is the tilt
_FREE_AT_END = [8, 9]  # the part of the quaternion that is the heading


@dataclass(frozen=True)
class Passage:
    """A region that the flight passes: a ball about a way-point, or the opening of a gate.

    Each row w of `weights` asks for sum_j w_j (axes_j . (p - pos))^2 <= 1.
    """

    pos: np.ndarray  # (3,) centre [m]
    axes: np.ndarray  # (3, 3) rows, world
    weights: np.ndarray  # (W, 3) [1/m^2]
    beside: "Passage | None" = None  # what holds one interval before and after

    @classmethod
    def ball(cls, pos: np.ndarray, radius: float) -> "Passage":
        """Returns a ball."""
        return cls(np.asarray(pos, float), np.eye(3), np.full((1, 3), radius**-2))

    @classmethod
    def gate(
        cls, pos: np.ndarray, axes: np.ndarray, half: np.ndarray, clear: np.ndarray
    ) -> "Passage":
        """Returns an opening.

        Args:
            pos: (3,) its centre [m].
            axes: (3, 3) its direction, left and up as rows, world.
            half: (3,) half sizes of the box along them that is passed [m].
            clear: (2,) half sizes along left and up that hold before and after [m].
        """
        beside = np.diag([0.0, *clear**-2.0])[1:]
        weights = np.diag(half**-2.0)
        return cls(pos, axes, weights, cls(pos, axes, beside))

    def excess(self, pos: np.ndarray) -> np.ndarray:
        """Returns (W,) what a position is outside by: 0 or less inside."""
        offsets: np.ndarray = self.weights @ (self.axes @ (pos - self.pos)) ** 2 - 1.0
        return offsets

    def slope(self, pos: np.ndarray) -> np.ndarray:
        """Returns the derivative (W, 3) of excess()."""
        slopes: np.ndarray = 2.0 * (self.weights * (self.axes @ (pos - self.pos))) @ self.axes
        return slopes


class Motion(NamedTuple):
    """A flight in K intervals."""

    states: np.ndarray  # (K + 1, 13) see dynamics
    commands: np.ndarray  # (K, R) thrusts over the largest
    intervals: np.ndarray  # (L,) number of intervals of each leg
    lengths: np.ndarray  # (L,) of an interval [s]

    @property
    def times(self) -> np.ndarray:
        """Times (K + 1,) of the states [s]."""
        return np.concatenate([[0.0], np.cumsum(np.repeat(self.lengths, self.intervals))])


class TimeProgram:
    """The program; see interior_point.Program.

    Its variables are states (K + 1, 13), commands (K, R) and the length of an interval of each leg,
    without the first state and most of the last, which are at rest and level.
    """

    def __init__(
        self,
        multirotor: Multirotor,
        ends: np.ndarray,
        passages: Sequence[Passage],
        intervals: np.ndarray,
        floor: float,
    ) -> None:
        """Lays out variables and constraints.

        Args:
            multirotor: The vehicle.
            ends: (2, 3) where it rests before and after [m].
            passages: In their order.
            intervals: (L,) number of intervals of each leg, one leg more than passages.
            floor: Least height [m].
        """
        self._body, self._intervals = RigidBody(multirotor), intervals
        self._leg = np.repeat(np.arange(len(intervals)), intervals)
        self._regions = [*_regions(passages, np.cumsum(intervals)[:-1])]
        self.region_rows = sum(len(region.weights) for region, _ in self._regions)
        limited = multirotor.max_tilt < math.pi
        self._tilted = np.arange(1, len(self._leg)) if limited else np.arange(0)
        self._tilt = math.sin(0.5 * multirotor.max_tilt) ** -2
        k, r = len(self._leg), self._body.rotors
        self._x = np.arange((k + 1) * STATES).reshape(k + 1, STATES)
        self._u = self._x.size + np.arange(k * r).reshape(k, r)
        self._h = self._x.size + self._u.size + np.arange(len(intervals))
        size = self._x.size + self._u.size + self._h.size
        low, high, cost = np.full(size, -np.inf), np.full(size, np.inf), np.zeros(size)
        low[self._x[1:-1, 2]] = floor
        low[self._x[1:-1, RATES]] = -multirotor.max_rates
        high[self._x[1:-1, RATES]] = multirotor.max_rates
        low[self._u], high[self._u] = 0.0, 1.0
        low[self._h], high[self._h] = INTERVALS_S
        cost[self._h] = intervals
        self._fixed = np.zeros(size)
        self._fixed[self._x[0, POS]], self._fixed[self._x[-1, POS]] = ends
        self._fixed[self._x[0, 9]] = 1.0
        fixed = np.zeros(size, dtype=np.bool_)
        fixed[self._x[0]] = fixed[self._x[-1]] = True
        fixed[self._x[-1, _FREE_AT_END]] = False
        self._free = np.flatnonzero(~fixed)
        self._column = np.full(size, -1)
        self._column[self._free] = np.arange(len(self._free))
        self.cost, self.low, self.high = cost[self._free], low[self._free], high[self._free]
        self._lay_out()

    def _lay_out(self) -> None:
        """Notes the order of the program, and where its blocks of an interval stand."""
        k, r = len(self._leg), self._body.rotors
        rows = np.arange(k * STATES).reshape(k, STATES)
        stages = np.hstack(
            [self._column[self._x[:-1]], self._column[self._u], len(self._free) + rows]
        )
        columns = np.concatenate([stages.ravel(), self._column[self._x[-1]], self._column[self._h]])
        self.order, self.border = columns[columns >= 0], len(self._h)
        involved = np.hstack([self._x[:-1], self._x[1:], self._u, self._h[self._leg][:, None]])
        self._involved = self._column[involved]
        self._rows = rows
        self._spread = np.zeros((STATES + r + 1, involved.shape[1]))
        self._spread[:STATES, : 2 * STATES] = 0.5 * np.hstack([np.eye(STATES)] * 2)
        self._spread[STATES:, 2 * STATES :] = np.eye(r + 1)

    def unpack(self, variables: np.ndarray) -> Motion:
        """Returns the motion of variables (V,)."""
        full = self._fixed.copy()
        full[self._free] = variables
        return Motion(full[self._x], full[self._u], self._intervals, full[self._h])

    def pack(self, motion: Motion) -> np.ndarray:
        """Returns the variables (V,) of a motion."""
        parts = motion.states.ravel(), motion.commands.ravel(), motion.lengths
        full: np.ndarray = np.concatenate(parts)[self._free]
        return full

    def constraints(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Returns by what the motion misses its states (E,), and passages and tilt (I,)."""
        states, commands, _, lengths = self.unpack(x)
        rate = self._body.rate(0.5 * (states[:-1] + states[1:]), commands)
        missed = states[1:] - states[:-1] - lengths[self._leg][:, None] * rate
        excess = [p.excess(states[n, POS]) for p, n in self._regions]
        leans = self._tilt * (states[self._tilted, _LEAN] ** 2).sum(axis=1) - 1.0
        return missed.ravel(), np.concatenate([*excess, leans])

    def jacobians(self, x: np.ndarray) -> tuple[sparse.csr_matrix, sparse.csr_matrix]:
        """Returns their derivatives."""
        states, commands, _, lengths = self.unpack(x)
        slopes = self._body.slopes(0.5 * (states[:-1] + states[1:]), commands)
        length = lengths[self._leg][:, None, None]
        half, eye = 0.5 * length * slopes.by_state, np.eye(STATES)
        motion = self._sparse(
            [
                (
                    np.dstack(
                        [
                            -eye - half,
                            eye - half,
                            -length * slopes.by_command,
                            -slopes.rate[:, :, None],
                        ]
                    ),
                    self._rows,
                    self._involved,
                )
            ],
            self._rows.size,
        )
        blocks, count = [], 0
        for passage, node in self._regions:
            slope = passage.slope(states[node, POS])
            rows = count + np.arange(len(slope))
            blocks.append((slope[None], rows[None], self._column[self._x[node, POS]][None]))
            count += len(slope)
        rows = count + np.arange(len(self._tilted))[:, None]
        leans = 2.0 * self._tilt * states[self._tilted, None, _LEAN]
        blocks.append((leans, rows, self._column[self._x[self._tilted, _LEAN]]))
        count += len(rows)
        return motion, self._sparse(blocks, count)

    def hessian(
        self, x: np.ndarray, equality: np.ndarray, inequality: np.ndarray, convex: bool
    ) -> sparse.csr_matrix:
        """Returns the second derivatives of the Lagrangian, or the convex part of each interval."""
        states, commands, _, lengths = self.unpack(x)
        middle, weights = 0.5 * (states[:-1] + states[1:]), equality.reshape(-1, STATES)
        slopes = self._body.slopes(middle, commands)
        block = np.zeros((len(self._leg), len(self._spread), len(self._spread)))
        curvature = self._body.curvature(middle, commands, weights)
        block[:, :-1, :-1] = -lengths[self._leg][:, None, None] * curvature
        by_length = np.concatenate([slopes.by_state, slopes.by_command], axis=2)
        block[:, :-1, -1] = block[:, -1, :-1] = -np.einsum("ki,kij->kj", weights, by_length)
        if convex:
            values, vectors = np.linalg.eigh(block)
            block = (vectors * np.maximum(values, 0.0)[:, None]) @ vectors.transpose(0, 2, 1)
        block = self._spread.T @ block @ self._spread
        blocks, first = [(block, self._involved, self._involved)], 0
        for passage, node in self._regions:
            weight = inequality[first : first + len(passage.weights)] @ passage.weights
            first += len(passage.weights)
            place = self._column[self._x[node, POS]][None]
            curved = 2.0 * passage.axes.T @ (weight[:, None] * passage.axes)
            blocks.append((curved[None], place, place))
        curved = 2.0 * self._tilt * inequality[first:, None, None] * np.eye(2)
        place = self._column[self._x[self._tilted, _LEAN]]
        blocks.append((curved, place, place))
        return self._sparse(blocks, len(self._free))

    def _sparse(
        self, blocks: Sequence[tuple[np.ndarray, np.ndarray, np.ndarray]], rows: int
    ) -> sparse.csr_matrix:
        """Assembles blocks (K, A, B) at rows (K, A) and columns (K, B), without those below 0."""
        data, row, column = [np.zeros(0)], [np.zeros(0, int)], [np.zeros(0, int)]
        for block, where, which in blocks:
            data.append(block.ravel())
            row.append(np.broadcast_to(where[:, :, None], block.shape).ravel())
            column.append(np.broadcast_to(which[:, None, :], block.shape).ravel())
        values, i, j = np.concatenate(data), np.concatenate(row), np.concatenate(column)
        keep = (i >= 0) & (j >= 0) & (values != 0.0)
        return sparse.csr_matrix((values[keep], (i[keep], j[keep])), (rows, len(self._free)))


def _regions(passages: Sequence[Passage], nodes: np.ndarray) -> Iterator[tuple[Passage, int]]:
    """Yields each region with the index of the state that lies in it."""
    for passage, node in zip(passages, nodes.tolist()):
        yield passage, node
        if passage.beside is not None:
            yield passage.beside, node - 1
            yield passage.beside, node + 1
