"""A primal-dual interior-point method for sparse non-linear programs.

It minimises a linear cost under equalities c(x) = 0, inequalities g(x) <= 0 and bounds, by Newton's
method on the conditions of a barrier problem whose weight falls to zero. A step is shortened until
it lowers a merit function, the barrier's cost plus the violation of the constraints; one that does
not is corrected once for the curvature of the constraints. J. Nocedal, S. Wright: Numerical
Optimization (2006), chapters 18 and 19; L. Grippo, F. Lampariello, S. Lucidi (1986) for the merit
that may rise for a few steps.
"""

from collections import deque
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np
from scipy import sparse

from .bordered import BorderedBand

_TO_BOUNDARY = 0.995  # part of the way to a bound that a step may go
_BACKTRACKS = 12  # halvings of a step
_MEMORY = 5  # steps whose merit the next may reach
_CONVEX_ABOVE = 1e-2  # weight of the barrier above which the curvature is made convex
_PENALTY = 1.0  # first weight of the constraints in the merit
_SHIFTS = 1e-4, 1e6  # first and last multiple of the identity that is added to the curvature


class Program(Protocol):
    """A non-linear program.

    Attributes:
        cost: (V,).
        low, high: (V,) bounds, infinite where there is none.
        order: (V + E,) variables and then equalities in an order in which those that share a
            constraint are neighbours.
        border: How many of the last of these have no such order.
    """

    cost: np.ndarray
    low: np.ndarray
    high: np.ndarray
    order: np.ndarray
    border: int

    def constraints(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Returns the equalities (E,) and the inequalities (I,)."""

    def jacobians(self, x: np.ndarray) -> tuple[sparse.csr_matrix, sparse.csr_matrix]:
        """Returns their derivatives (E, V) and (I, V)."""

    def hessian(
        self, x: np.ndarray, equality: np.ndarray, inequality: np.ndarray, convex: bool
    ) -> sparse.csr_matrix:
        """Returns the second derivatives (V, V) of the Lagrangian, or a convex part of them."""


class Solution(NamedTuple):
    """Where the method has ended."""

    x: np.ndarray  # (V,)
    equality: np.ndarray  # (E,) multipliers
    inequality: np.ndarray  # (I,) multipliers
    converged: bool
    iterations: int
    violation: float  # largest of the constraints


@dataclass
class _Point:
    """Variables, slacks of the inequalities, and multipliers."""

    x: np.ndarray
    slack: np.ndarray
    equality: np.ndarray
    inequality: np.ndarray
    low: np.ndarray
    high: np.ndarray

    def moved(self, step: "_Point", primal: float, dual: float) -> "_Point":
        """Returns the point after parts of a step."""
        return _Point(
            self.x + primal * step.x,
            self.slack + primal * step.slack,
            self.equality + primal * step.equality,
            self.inequality + dual * step.inequality,
            self.low + dual * step.low,
            self.high + dual * step.high,
        )


def minimise(
    program: Program,
    start: np.ndarray,
    multipliers: tuple[np.ndarray, np.ndarray] | None = None,
    barrier: float = 0.1,
    inside: float = 1e-2,
    tolerance: float = 1e-3,
    iterations: int = 200,
) -> Solution:
    """Minimises.

    Args:
        program: The program.
        start: (V,) first point.
        multipliers: First ones of equalities and inequalities; None for none known.
        barrier: First weight of the barrier.
        inside: Distance of the first point from its bounds, over their range.
        tolerance: Of the conditions of the optimum.
        iterations: At most.
    """
    return _Minimiser(program, start, multipliers, barrier, inside, tolerance).run(iterations)


def _reach(value: np.ndarray, change: np.ndarray) -> float:
    """Returns the part of a change that keeps positive values positive."""
    falling = change < 0.0
    return float(min(1.0, (_TO_BOUNDARY * value[falling] / -change[falling]).min(initial=1.0)))


class _Minimiser:
    """The state of a run."""

    def __init__(
        self,
        program: Program,
        start: np.ndarray,
        multipliers: tuple[np.ndarray, np.ndarray] | None,
        barrier: float,
        inside: float,
        tolerance: float,
    ) -> None:
        self._program, self._tolerance, self._weight = program, tolerance, barrier
        low, high = program.low, program.high
        self._has_low, self._has_high = np.isfinite(low), np.isfinite(high)
        margin = inside * np.where(self._has_low & self._has_high, high - low, 1.0)
        x = np.clip(start, low + margin, high - margin)
        c, g = program.constraints(x)
        equality, inequality = multipliers or (np.zeros(len(c)), barrier / np.maximum(-g, 0.1))
        inequality = np.maximum(inequality, 1e-6)
        above, below = self._distances(x)
        self._point = _Point(
            x,
            np.maximum(-g, 0.1 if multipliers is None else barrier / inequality),
            equality,
            inequality,
            np.where(self._has_low, barrier / above, 0.0),
            np.where(self._has_high, barrier / below, 0.0),
        )
        self._shift = self._least_shift = 0.0
        self._penalty = _PENALTY
        self._recent: deque[_Point] = deque(maxlen=_MEMORY)

    def run(self, iterations: int) -> Solution:
        """Iterates until the conditions hold."""
        for k in range(iterations + 1):
            c, g = self._program.constraints(self._point.x)
            self._jc, self._jg = self._program.jacobians(self._point.x)
            converged = self._error(c, g, 0.0) < self._tolerance
            if converged or k == iterations or not self._iterate(c, g):
                break
        violation = max(float(abs(c).max()), float(g.max(initial=0.0)))
        point = self._point
        return Solution(point.x, point.equality, point.inequality, converged, k, violation)

    def _distances(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Returns the distances (V,) from the lower and upper bounds; 1 without one."""
        return (
            np.where(self._has_low, x - self._program.low, 1.0),
            np.where(self._has_high, self._program.high - x, 1.0),
        )

    def _error(self, c: np.ndarray, g: np.ndarray, weight: float) -> float:
        """Returns by how much the conditions of the barrier problem are missed."""
        point, (above, below) = self._point, self._distances(self._point.x)
        gradient = self._program.cost + self._jc.T @ point.equality + self._jg.T @ point.inequality
        gaps = [
            point.slack * point.inequality - weight,
            (above * point.low - weight)[self._has_low],
            (below * point.high - weight)[self._has_high],
        ]
        return max(
            float(abs(gradient - point.low + point.high).max()),
            float(abs(c).max()),
            float(abs(g + point.slack).max(initial=0.0)),
            float(abs(np.concatenate(gaps)).max(initial=0.0)),
        )

    def _iterate(self, c: np.ndarray, g: np.ndarray) -> bool:
        """Moves the point by a step; returns False where there is none."""
        least = 0.1 * self._tolerance
        while self._weight > least and self._error(c, g, self._weight) < 10.0 * self._weight:
            self._weight = max(least, min(0.2 * self._weight, self._weight**1.5))
            self._recent.clear()
        self._gap = g + self._point.slack
        found = self._step(c)
        if found is None:
            return False
        factors, step, curvature = found
        primal = self._parts(step)[0]
        step, length = self._search(factors, step, curvature, primal, c)
        if length < 0.1 * primal:
            self._least_shift = min(max(4.0 * self._least_shift, _SHIFTS[0]), 1e4)
        elif length > 0.5 * primal:
            self._least_shift = self._least_shift / 4.0 if self._least_shift > 1e-7 else 0.0
        self._point = self._point.moved(step, length, self._parts(step)[1])
        return True

    def _step(self, c: np.ndarray) -> tuple[BorderedBand, _Point, float] | None:
        """Returns the factors, Newton's step and its curvature, which is made positive."""
        program, point = self._program, self._point
        convex = self._weight > _CONVEX_ABOVE
        self._shift = max(self._shift / 3.0 if self._shift > 1e-8 else 0.0, self._least_shift)
        while self._shift < _SHIFTS[1]:
            hessian = program.hessian(point.x, point.equality, point.inequality, convex)
            diagonal = self._bound_curvature() + self._shift
            ratio = point.inequality / point.slack
            upper = hessian + sparse.diags(diagonal) + self._jg.T @ sparse.diags(ratio) @ self._jg
            corner = sparse.diags(np.full(len(c), -1e-9))
            factors = BorderedBand(
                sparse.bmat([[upper, self._jc.T], [self._jc, corner]]),
                program.order,
                program.border,
            )
            if factors.regular:
                step = self._solved(factors, c, self._gap)
                curvature = float(step.x @ (upper @ step.x))
                if curvature >= 1e-10 * float(step.x @ step.x):
                    return factors, step, curvature
            if not convex:
                convex = True
            else:
                self._shift = max(8.0 * self._shift, _SHIFTS[0])
        return None

    def _bound_curvature(self) -> np.ndarray:
        above, below = self._distances(self._point.x)
        return self._point.low / above + self._point.high / below

    def _barrier_slope(self) -> np.ndarray:
        """Returns the derivative (V,) of the barrier's cost with respect to the variables."""
        above, below = self._distances(self._point.x)
        return (
            self._program.cost
            - np.where(self._has_low, self._weight / above, 0.0)
            + np.where(self._has_high, self._weight / below, 0.0)
        )

    def _solved(self, factors: BorderedBand, c: np.ndarray, gap: np.ndarray) -> _Point:
        """Returns the step that removes violations c (E,) and gap (I,) to first order."""
        point, weight = self._point, self._weight
        ratio = point.inequality / point.slack
        pull = ratio * gap + weight / point.slack
        right = -np.concatenate(
            [self._barrier_slope() + self._jc.T @ point.equality + self._jg.T @ pull, c]
        )
        x, equality = np.split(factors.solve(right), [len(point.x)])
        slack = -gap - self._jg @ x
        above, below = self._distances(point.x)
        return _Point(
            x,
            slack,
            equality,
            weight / point.slack - point.inequality - ratio * slack,
            np.where(self._has_low, (weight - point.low * x) / above - point.low, 0.0),
            np.where(self._has_high, (weight + point.high * x) / below - point.high, 0.0),
        )

    def _parts(self, step: _Point) -> tuple[float, float]:
        """Returns the parts of a step that stay inside, of variables and of multipliers."""
        point, (above, below) = self._point, self._distances(self._point.x)
        return (
            min(
                _reach(point.slack, step.slack),
                _reach(above[self._has_low], step.x[self._has_low]),
                _reach(below[self._has_high], -step.x[self._has_high]),
            ),
            min(
                _reach(point.inequality, step.inequality),
                _reach(point.low[self._has_low], step.low[self._has_low]),
                _reach(point.high[self._has_high], step.high[self._has_high]),
            ),
        )

    def _search(
        self, factors: BorderedBand, step: _Point, curvature: float, primal: float, c: np.ndarray
    ) -> tuple[_Point, float]:
        """Returns a step, corrected if that helps, and the part of it that lowers the merit."""
        violation = float(abs(c).sum() + abs(self._gap).sum())
        slope = float(
            self._barrier_slope() @ step.x - (self._weight / self._point.slack) @ step.slack
        )
        if violation > 1e-10:
            self._penalty = max(self._penalty, (slope + 0.5 * curvature) / (0.7 * violation))
        self._recent.append(self._point)
        before = max(self._merit(point) for point in self._recent)
        descent = slope - self._penalty * violation
        length = primal
        for attempt in range(_BACKTRACKS):
            target = before + 1e-4 * length * descent + 1e-10 * abs(before)
            trial = self._point.moved(step, length, 0.0)
            if self._merit(trial) <= target:
                break
            if attempt == 0:
                c_there, g_there = self._program.constraints(trial.x)
                corrected = self._solved(
                    factors, length * c + c_there, length * self._gap + g_there + trial.slack
                )
                part = self._parts(corrected)[0]
                if self._merit(self._point.moved(corrected, part, 0.0)) <= target:
                    return corrected, part
            length *= 0.5
        return step, length

    def _merit(self, point: _Point) -> float:
        """Returns the cost of the barrier problem plus the weighted violation."""
        c, g = self._program.constraints(point.x)
        above, below = self._distances(point.x)
        logarithms = np.log(above).sum() + np.log(below).sum() + np.log(point.slack).sum()
        violation = abs(c).sum() + abs(g + point.slack).sum()
        return float(
            self._program.cost @ point.x - self._weight * logarithms + self._penalty * violation
        )
