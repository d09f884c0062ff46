"""Least squares within limits by an active set, as scalar loops over arrays of the caller.

The actuators are kept in two sets, free ones and those at a limit. The free ones move towards their
unconstrained optimum; the first that meets its limit on the way stays there. At the optimum of the
free ones, that one leaves its limit whose multiplier has the wrong sign most. Each turn improves
the objective, so that the sets do not recur; in flight one or two turns are the rule.
"""

import math

import numpy as np

from xtdrone_dynamics.compiled import njit

TURNS = 4  # largest number of turns over the number of unknowns
MULTIPLIER = 1e-10  # multipliers below this fraction of the largest right side count as zero


@njit
def solve(
    hessian: np.ndarray,
    right: np.ndarray,
    low: np.ndarray,
    high: np.ndarray,
    x: np.ndarray,
    count: int,
    bound: np.ndarray,
    factor: np.ndarray,
    move: np.ndarray,
) -> int:
    """Minimises x^T hessian x / 2 - right^T x within low <= x <= high.

    Args:
        hessian: (A, A) positive definite: the normal equations of the least squares.
        right: (A,) their right side.
        low, high: (A,) limits; where both are equal, x is that value.
        x: (A,) where the search begins, and the solution.
        count: Number of unknowns, which come first in these arrays.
        bound: (A,) output: -1 at the lower limit, 1 at the upper one, 0 between them.
        factor, move: (A, A) and (A,) scratch.

    Returns:
        Number of turns.
    """
    largest = 0.0
    for k in range(count):
        x[k] = min(max(x[k], low[k]), high[k])
        bound[k] = 0.0 if low[k] < high[k] else 1.0
        largest = max(largest, abs(right[k]))
    for turn in range(TURNS * count + 1):
        _descend(hessian, right, x, count, bound, factor, move)
        met = _move(low, high, x, count, bound, move)
        if met < 0:
            freed = _wrong_bound(hessian, right, low, high, x, count, bound, MULTIPLIER * largest)
            if freed < 0:
                return turn + 1
            bound[freed] = 0.0
    return TURNS * count + 1


@njit
def _slope(hessian: np.ndarray, right: np.ndarray, x: np.ndarray, count: int, k: int) -> float:
    """Returns the descent of the objective along unknown k."""
    slope = right[k]
    for j in range(count):
        slope -= hessian[k, j] * x[j]
    return slope


@njit
def _descend(
    hessian: np.ndarray,
    right: np.ndarray,
    x: np.ndarray,
    count: int,
    bound: np.ndarray,
    factor: np.ndarray,
    move: np.ndarray,
) -> None:
    """Writes to move the way of the free unknowns to their optimum, by a Cholesky factor."""
    for k in range(count):
        move[k] = 0.0
        if bound[k] != 0.0:
            continue
        value = _slope(hessian, right, x, count, k)
        for j in range(k):
            if bound[j] == 0.0:
                entry = hessian[k, j]
                for i in range(j):
                    if bound[i] == 0.0:
                        entry -= factor[k, i] * factor[j, i]
                factor[k, j] = entry / factor[j, j]
                value -= factor[k, j] * move[j]
        square = hessian[k, k]
        for j in range(k):
            if bound[j] == 0.0:
                square -= factor[k, j] * factor[k, j]
        factor[k, k] = math.sqrt(square)
        move[k] = value / factor[k, k]
    for k in range(count - 1, -1, -1):
        if bound[k] == 0.0:
            for j in range(k + 1, count):
                if bound[j] == 0.0:
                    move[k] -= factor[j, k] * move[j]
            move[k] /= factor[k, k]


@njit
def _move(
    low: np.ndarray,
    high: np.ndarray,
    x: np.ndarray,
    count: int,
    bound: np.ndarray,
    move: np.ndarray,
) -> int:
    """Moves x as far as the limits allow; returns the unknown that met its limit, or -1."""
    share, met = 1.0, -1
    for k in range(count):
        if bound[k] == 0.0:
            room = (high[k] if move[k] > 0.0 else low[k]) - x[k]
            if abs(room) < share * abs(move[k]):
                share, met = room / move[k], k
    for k in range(count):
        if bound[k] == 0.0:
            x[k] = min(max(x[k] + share * move[k], low[k]), high[k])
    if met >= 0:
        bound[met] = 1.0 if move[met] > 0.0 else -1.0
        x[met] = high[met] if move[met] > 0.0 else low[met]
    return met


@njit
def _wrong_bound(
    hessian: np.ndarray,
    right: np.ndarray,
    low: np.ndarray,
    high: np.ndarray,
    x: np.ndarray,
    count: int,
    bound: np.ndarray,
    tolerance: float,
) -> int:
    """Returns the unknown at a limit which the objective pushes away from it most, or -1."""
    worst, most = -1, tolerance
    for k in range(count):
        if bound[k] != 0.0 and low[k] < high[k]:
            away = -bound[k] * _slope(hessian, right, x, count, k)
            if away > most:
                worst, most = k, away
    return worst


@njit
def solve_change(
    left: np.ndarray, right: np.ndarray, low: np.ndarray, high: np.ndarray
) -> np.ndarray:
    """Returns the optimum x (A,) of the normal equations left x = right within low..high."""
    count = len(right)
    x, bound, move = np.zeros(count), np.zeros(count), np.zeros(count)
    solve(left, right, low, high, x, count, bound, np.zeros((count, count)), move)
    return x
