"""Curves are closed, start where they say, and have the derivatives that they give."""

import numpy as np
import pytest

from xtdrone_guidance.curves import CURVES, descriptions


@pytest.mark.parametrize("name", CURVES)
def test_a_curve_begins_at_its_start_and_is_closed(name):
    curve, _ = CURVES[name]
    assert np.abs(curve(0.0).pos).max() < 1e-12
    assert np.abs(curve(2.0 * np.pi).pos).max() < 1e-9


@pytest.mark.parametrize("name", CURVES)
def test_derivatives_are_those_of_the_position(name):
    curve, step = CURVES[name][0], 1e-4
    for phase in np.linspace(0.0, 6.0, 13):
        before, here, after = curve(phase - step), curve(phase), curve(phase + step)
        assert (after.pos - before.pos) / (2 * step) == pytest.approx(here.first, abs=1e-6)
        assert (after.first - before.first) / (2 * step) == pytest.approx(here.second, abs=1e-6)


def test_each_curve_is_described():
    assert descriptions().keys() == CURVES.keys()
