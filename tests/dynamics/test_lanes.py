"""Functions in lanes: constants of one type, and arithmetic in place of calls."""

import math

import numpy as np
import pytest

from xtdrone_dynamics import quaternion
from xtdrone_dynamics.lanes import LaneLoop, arctangent, kernel_in_lanes, lanes_of, short_arctangent

VALUES = np.concatenate([[0.0], np.geomspace(1e-12, 1e12, 60)])


def test_arctangent():
    for y in (*VALUES, *-VALUES[1:]):
        for x in (*VALUES, *-VALUES[1:]):
            assert arctangent(y, x) == pytest.approx(math.atan2(y, x), rel=4e-16, abs=4e-16)
            assert short_arctangent(y, x) == pytest.approx(math.atan2(y, x), rel=2e-7, abs=2e-7)


@pytest.mark.parametrize("real", [np.float32, np.float64])
def test_constants_have_the_type(real):
    made = lanes_of(real).inlined(quaternion.rotate)
    found = made(*(real(v) for v in (0.0, 0.0, math.sqrt(0.5), math.sqrt(0.5), 1.0, 0.0, 0.0)))
    assert found == pytest.approx((0.0, 1.0, 0.0), abs=1e-6)
    types = {str(each.signature.return_type) for each in made.overloads.values()}
    assert types == {f"UniTuple({np.dtype(real).name} x 3)"}


@LaneLoop
def _double(x):
    for k in range(x.size):
        x[k] = 2.0 * x[k]


def _kernel(x):
    _double(x)


def test_a_kernel_calls_its_loops():
    x = np.arange(5, dtype=np.float32)
    kernel_in_lanes(_kernel, np.float32)(x)
    assert x.tolist() == [0.0, 2.0, 4.0, 6.0, 8.0]
