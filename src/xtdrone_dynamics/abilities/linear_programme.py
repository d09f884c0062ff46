"""Small linear programmes, by the two-phase simplex method on a dense tableau.

For a handful of constraints it answers before SciPy's solvers are imported, which take over where
its answer does not satisfy the constraints.
"""

import numpy as np

_SMALL = 1e-9  # coefficients and reduced costs below this are zero, once the rows are scaled
_PIVOT = 1e-7  # smaller ones are no pivots: rounding would grow too much
_ACCURATE = 1e-7  # of what the constraints may be off, relative to their scale
_STEPS = 50  # exchanges for each constraint, after which it goes in circles

Constraints = tuple[np.ndarray, np.ndarray]  # a matrix, and a value of each row


def maximise(gain: np.ndarray, at_most: Constraints, equal: Constraints) -> np.ndarray | None:
    """Finds x >= 0 of the largest gain @ x.

    Args:
        gain: (N,) gain of each variable.
        at_most: Matrix (M, N) and bounds (M,) >= 0: matrix @ x <= bounds.
        equal: Matrix (K, N) and values (K,): matrix @ x == values.

    Returns:
        (N,) the solution; None if nothing satisfies the constraints.

    Raises:
        ValueError: The gain has no bound.
    """
    try:
        found = _simplex(gain, at_most, equal)
    except ArithmeticError:
        return _by_scipy(gain, at_most, equal)
    return (
        found
        if found is None or _satisfies(found, at_most, equal)
        else _by_scipy(gain, at_most, equal)
    )


def _satisfies(solution: np.ndarray, at_most: Constraints, equal: Constraints) -> bool:
    (upper, bounds), (equations, values) = at_most, equal
    scale = np.maximum(np.abs(equations).max(axis=1, initial=0.0), 1.0)
    return bool(
        solution.min() >= -_ACCURATE
        and (upper @ solution <= bounds + _ACCURATE).all()
        and (np.abs(equations @ solution - values) <= _ACCURATE * scale).all()
    )


def _by_scipy(gain: np.ndarray, at_most: Constraints, equal: Constraints) -> np.ndarray | None:
    from scipy.optimize import linprog

    found = linprog(-gain, A_ub=at_most[0], b_ub=at_most[1], A_eq=equal[0], b_eq=equal[1])
    return found.x if found.success else None


def _simplex(gain: np.ndarray, at_most: Constraints, equal: Constraints) -> np.ndarray | None:
    """Does it in two phases, the first of which finds any solution of the equations."""
    (upper, bounds), (equations, values) = at_most, equal
    m, n = upper.shape
    k = len(values)
    scale = np.maximum(np.abs(equations).max(axis=1, initial=0.0), _SMALL)
    signs = np.where(np.asarray(values) < 0.0, -1.0, 1.0) / scale
    # Columns: the variables, a slack for each bound, an artificial for each equation, the value.
    table = np.zeros((m + k, n + m + k + 1))
    table[:m, :n], table[:m, n : n + m], table[:m, -1] = upper, np.eye(m), bounds
    table[m:, :n] = equations * signs[:, None]
    table[m:, :n][np.abs(equations) < _SMALL] = 0.0
    table[m:, n + m : -1], table[m:, -1] = np.eye(k), values * signs
    basis = np.arange(n, n + m + k)
    artificial = np.zeros(n + m + k)
    artificial[n + m :] = -1.0
    _climb(table, basis, artificial)
    if table[basis >= n + m, -1].sum() > _ACCURATE:
        return None
    _drive_out(table, basis, n + m)
    table[:, n + m : -1] = 0.0
    _climb(table, basis, np.concatenate([gain, np.zeros(m + k)]))
    solution = np.zeros(n + m + k)
    solution[basis] = table[:, -1]
    return solution[:n]


def _climb(table: np.ndarray, basis: np.ndarray, gain: np.ndarray) -> None:
    """Exchanges variables of the basis until the gain is the largest.

    Raises:
        ArithmeticError: It does not come to an end.
        ValueError: The gain has no bound.
    """
    least = _SMALL * max(1.0, np.abs(gain).max())
    for _ in range(_STEPS * len(basis)):
        improving = np.flatnonzero(gain - gain[basis] @ table[:, :-1] > least)
        if not improving.size:
            return
        column = table[:, improving[0]]
        rows = np.flatnonzero(column > _PIVOT)
        if not rows.size:
            raise ValueError("the gain has no bound")
        ratios = table[rows, -1] / column[rows]
        ties = rows[ratios <= ratios.min() + _SMALL]
        _exchange(table, basis, int(ties[np.argmax(column[ties])]), int(improving[0]))
    raise ArithmeticError("the simplex method does not end")


def _drive_out(table: np.ndarray, basis: np.ndarray, first: int) -> None:
    """Takes the artificial variables, which are zero, out of the basis.

    One remains where an equation follows from the others; its row is zero.
    """
    for row in np.flatnonzero(basis >= first):
        others = np.flatnonzero(np.abs(table[row, :first]) > _PIVOT)
        if others.size:
            _exchange(table, basis, int(row), int(others[0]))
        else:
            table[row] = 0.0


def _exchange(table: np.ndarray, basis: np.ndarray, row: int, column: int) -> None:
    """Puts a variable into the basis in place of that of a row."""
    table[row] /= table[row, column]
    factors = table[:, column].copy()
    factors[row] = 0.0
    table -= factors[:, None] * table[row]
    basis[row] = column
