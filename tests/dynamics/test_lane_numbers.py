"""Kernels give the same bits on numbers in lanes as on numbers."""

import numba
import numpy as np
import pytest

from xtdrone_dynamics import lane_numbers
from xtdrone_dynamics.compiled import njit
from xtdrone_dynamics.lane_numbers import LANES, anywhere, chosen, lane_array


@njit
def compute(x, y, few):
    """Every operator, on the rows of an array of numbers or of numbers in lanes."""
    for k in range(1, x.shape[0]):
        a, b = x[k - 1], x[k]
        y[k] = chosen(a < b, a * 0.1 + b, chosen(a >= few, a / b, -a - b))
        y[k] += chosen(a != b, b * a, 1.0)
        y[k] -= chosen(b > 0.5, a, b)
        y[k] *= chosen(a <= b, b, few)
        y[k] += chosen(a == b, 3.0, 0.5)


@njit
def compute_lanes(x, y, few):
    """The same, in lanes."""
    compute(lane_array(x), lane_array(y), few)


@njit
def is_anywhere(x, limit):
    """Whether a number in lanes exceeds a limit in any lane."""
    return anywhere(lane_array(x)[0] > limit)


def numbers():
    """(20, LANES) numbers, small and large, zeros of both signs and NaN."""
    x = np.random.default_rng(0).normal(size=(20, LANES)) * 10.0 ** np.arange(-10, 10)[:, None]
    x[3, 2], x[4, 5], x[5] = np.nan, -0.0, 0.0
    return x


def test_each_lane_has_the_bits_of_a_number():
    x = numbers()
    y = np.zeros_like(x)
    compute_lanes(x, y, 0.3)
    for lane in range(LANES):
        one, result = x[:, lane].copy(), np.zeros(len(x))
        compute(one, result, 0.3)
        assert y[:, lane].tobytes() == result.tobytes()


def test_what_holds_in_one_lane_holds_anywhere():
    x = np.arange(LANES, dtype=float)[None]
    assert is_anywhere(x, LANES - 1.5)
    assert not is_anywhere(x, LANES - 0.5)


def test_the_machine_code_uses_the_vector_unit():
    fresh = numba.njit(error_model="numpy")(compute_lanes.py_func)  # the cache keeps no text
    fresh(numbers(), numbers(), 0.3)
    code = "".join(fresh.inspect_asm().values())
    if "pd\t" not in code:
        pytest.skip("not the machine code of an x86 processor")
    assert "mulpd" in code and "divpd" in code
    assert "mulsd" not in code


def test_outside_kernels_the_choice_is_pythons():
    assert lane_numbers.chosen(True, 1.0, 2.0) == 1.0
    assert lane_numbers.anywhere(False) is False
