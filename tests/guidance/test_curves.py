"""Curves are closed, start where they say, and have the derivatives that they give."""

import numpy as np
import pytest
from scipy.integrate import trapezoid

from xtdrone_guidance.curves import CURVES, PATHS, Laps, descriptions
from xtdrone_guidance.paths import SplinePath
from xtdrone_guidance.timed_path import TimedPath


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


@pytest.mark.parametrize("count", [1, 3])
def test_laps_begin_at_rest_and_end_after_whole_ones_at_full_rate(count):
    """Laps of 8 s on a circle of radius 2 m; getting under way takes 1.5 s more."""
    laps = Laps(CURVES["circle"][0], 8.0, count)
    assert laps.duration == pytest.approx(8.0 * count + 1.5)
    begin, end = laps.at(0.0), laps.at(laps.duration)
    assert begin.vel == pytest.approx(np.zeros(3)) and begin.acc == pytest.approx(np.zeros(3))
    assert end.pos == pytest.approx(begin.pos, abs=1e-9)
    times = np.linspace(0.0, laps.duration, 4001)
    speeds = np.array([np.linalg.norm(laps.at(t).vel) for t in times])
    assert speeds[times >= laps.settled] == pytest.approx(2.0 * 2.0 * np.pi / 8.0)
    gone = trapezoid(speeds, times)
    assert gone == pytest.approx(count * 2.0 * np.pi * 2.0, rel=1e-6)


def test_each_curve_is_described():
    assert descriptions().keys() == CURVES.keys() | PATHS.keys()


@pytest.fixture(scope="module")
def loop():
    return SplinePath(PATHS["loop"][0], closed=False)


def test_the_loop_turns_once_and_comes_out_at_the_height_of_its_entry(loop):
    tangents = np.array([loop.at(s).tangent for s in np.linspace(0.0, loop.length, 600)])
    pitch = np.unwrap(np.arctan2(tangents[:, 2], tangents[:, 0]))
    assert pitch[-1] - pitch[0] == pytest.approx(2.0 * np.pi, abs=0.01)
    assert loop.points[-1, 2] == pytest.approx(0.0, abs=0.05)
    assert abs(loop.points[:, 1]).max() == 0.0
    bends = [np.linalg.norm(loop.at(s).curvature) for s in loop.arc_lengths[::10]]
    assert max(bends) == pytest.approx(1.0 / 2.5, rel=0.05)


def test_a_path_over_time_has_the_derivatives_that_it_gives_and_rests_at_its_ends(loop):
    timed, step = TimedPath(loop, 7.0, 2.0), 1e-4
    assert np.linalg.norm(timed.at(0.0).vel) < 0.01
    assert np.linalg.norm(timed.at(timed.duration).vel) < 0.01
    speeds = []
    for t in np.linspace(0.3, timed.duration - 0.3, 40):
        before, here, after = timed.at(t - step), timed.at(t), timed.at(t + step)
        assert (after.pos - before.pos) / (2 * step) == pytest.approx(here.vel, abs=0.02)
        speeds.append(np.linalg.norm(here.vel))
    assert max(speeds) == pytest.approx(7.0, abs=0.01)  # in the loop, too
