"""Trajectories of least snap: they pass the points, rest at the ends, keep the limits."""

import numpy as np
import pytest

from xtdrone_core.errors import XtdroneError
from xtdrone_dynamics.constants import GRAVITY
from xtdrone_guidance.minimum_snap import ORDERS, Limits, MinimumSnap

POINTS = np.array([[0, 0, 0], [6, 2, 1], [10, -3, 0], [14, 0, 2], [5, 5, 1], [0, 0, 0]], float)
LIMITS = Limits(speed=4.0, thrust=1.4, body_rate=2.0)


@pytest.mark.parametrize("minimise", ORDERS)
def test_the_points_are_passed_and_both_ends_are_at_rest(minimise):
    planned = MinimumSnap(POINTS, LIMITS, minimise)
    for time, point in zip(planned.times, POINTS, strict=True):
        assert planned.at(time).pos == pytest.approx(point, abs=1e-9)
    for time in (0.0, planned.duration):
        assert np.abs(planned.at(time).vel).max() < 1e-6
        assert np.abs(planned.at(time).acc).max() < 1e-6


@pytest.mark.parametrize("minimise", ORDERS)
def test_the_limits_are_kept_and_one_of_them_is_reached(minimise):
    planned = MinimumSnap(POINTS, LIMITS, minimise)
    times = np.linspace(0.0, planned.duration, 2001)
    acc = np.array([planned.at(t).acc for t in times]) + [0.0, 0.0, GRAVITY]
    speed = max(np.linalg.norm(planned.at(t).vel) for t in times) / LIMITS.speed
    thrust = np.linalg.norm(acc, axis=1).max() / (LIMITS.thrust * GRAVITY)
    axis = acc / np.linalg.norm(acc, axis=1, keepdims=True)
    turned = np.linalg.norm(np.diff(axis, axis=0), axis=1).max() / (times[1] * LIMITS.body_rate)
    assert max(speed, thrust, turned) == pytest.approx(1.0, abs=0.01)


def test_a_straight_leg_of_least_jerk_is_the_known_polynomial():
    planned = MinimumSnap([[0, 0, 0], [1, 0, 0]], Limits(speed=1.0), "jerk")
    for x in np.linspace(0.0, 1.0, 11):
        wanted = 10 * x**3 - 15 * x**4 + 6 * x**5
        assert planned.at(x * planned.duration).pos[0] == pytest.approx(wanted, abs=1e-9)


def test_no_neighbouring_allocation_of_the_time_has_less_snap():
    planned = MinimumSnap(POINTS, LIMITS)
    shares = np.diff(planned.times) / planned.duration

    def snap(shares):
        times = np.linspace(0.0, 1.0, 4001)
        changed = MinimumSnap.through(POINTS, shares / shares.sum())
        return (changed(times, 4) ** 2).sum()

    minimum = snap(shares)
    for k in range(len(shares)):
        other = shares.copy()
        other[k] *= 1.1
        assert snap(other) > minimum


@pytest.mark.parametrize(
    ("points", "limits", "reason"),
    [
        ([[0, 0, 0]], Limits(), "through 1 points is not allowed"),
        ([[0, 0, 0], [0, 0, 0]], Limits(), "no two neighbours at the same place"),
        ([[0, 0, 0], [1, 0, 0]], Limits(speed=0.0), "speed 0 of a trajectory"),
        ([[0, 0, 0], [1, 0, 0]], Limits(thrust=1.0), "thrust 1 of a trajectory"),
    ],
)
def test_what_cannot_be_planned_is_refused(points, limits, reason):
    with pytest.raises(XtdroneError, match=reason):
        MinimumSnap(points, limits)
