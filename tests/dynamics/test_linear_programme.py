"""Small linear programmes, against SciPy's solver."""

import numpy as np
import pytest
from scipy.optimize import linprog

from xtdrone_dynamics.abilities.linear_programme import maximise


def theirs(gain, at_most, equal):
    done = linprog(-gain, A_ub=at_most[0], b_ub=at_most[1], A_eq=equal[0], b_eq=equal[1])
    return done.x if done.success else None


@pytest.mark.parametrize("seed", range(40))
def test_random_programmes(seed):
    stream = np.random.default_rng(seed)
    n, m, k = stream.integers(2, 40), stream.integers(1, 9), stream.integers(1, 6)
    gain = stream.normal(size=n)
    at_most = (np.eye(m)[:, stream.integers(0, m, n)], np.ones(m))  # every variable is bounded
    # Those that are infeasible, degenerate and redundant, too.
    matrix = stream.normal(size=(k, n)) * 10.0 ** stream.uniform(-3, 3, (k, 1))
    values = matrix @ (stream.uniform(0.0, 1.0, n) * stream.integers(0, 2) / n)
    if seed % 4 == 0:
        values = stream.normal(size=k) * 100.0
    if seed % 4 == 1:
        matrix, values = np.vstack([matrix, matrix[:1]]), np.append(values, values[0])
    ours, expected = (
        maximise(gain, at_most, (matrix, values)),
        theirs(gain, at_most, (matrix, values)),
    )
    assert (ours is None) == (expected is None)
    if ours is not None:
        assert gain @ ours == pytest.approx(gain @ expected, rel=1e-6, abs=1e-6)
        assert (ours >= -1e-9).all() and (at_most[0] @ ours <= 1.0 + 1e-9).all()
        np.testing.assert_allclose(matrix @ ours, values, rtol=1e-6, atol=1e-6)


def test_noise_of_rounding_is_no_constraint():
    found = maximise(
        np.ones(2), (np.eye(2), np.ones(2)), (np.array([[1e-17, -3e-17]]), np.zeros(1))
    )
    np.testing.assert_allclose(found, 1.0)


def test_a_gain_without_a_bound_is_refused():
    with pytest.raises(ValueError, match="no bound"):
        maximise(np.ones(1), (np.zeros((1, 1)), np.ones(1)), (np.zeros((1, 1)), np.zeros(1)))
