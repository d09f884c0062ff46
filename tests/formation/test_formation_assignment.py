"""Assignment and transitions: optimal, within limits, and never too close."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from xtdrone_formation import FormationError, assign, plan, separation, slots
from xtdrone_formation.assignment import CLEARANCE

SPEED, ACCELERATION = 3.0, 2.0


def spread(rng, m, spacing=2.0):
    """m random places, at least `spacing` from each other and from the leader at zero."""
    size = 1.2 * spacing * (m + 1) ** (1 / 3) + spacing
    points = [np.zeros(3)]
    while len(points) <= m:
        point = rng.uniform(-size, size, 3)
        if min(np.linalg.norm(point - other) for other in points) >= spacing:
            points.append(point)
    return np.array(points[1:])


@given(seed=st.integers(0, 2**32 - 1), m=st.integers(1, 6))
@settings(max_examples=40)
def test_assignment_is_a_permutation_and_optimal(seed, m):
    rng = np.random.default_rng(seed)
    start, goal = rng.uniform(-5, 5, (2, m, 3))
    order = assign(start, goal)
    assert sorted(order) == list(range(m))
    cost = np.linalg.norm(start - goal[order], axis=1).sum()
    best = min(
        np.linalg.norm(start - goal[list(p)], axis=1).sum()
        for p in itertools.permutations(range(m))
    )
    assert cost == pytest.approx(best)


@given(seed=st.integers(0, 2**32 - 1), m=st.integers(1, 49))
@settings(max_examples=60)
def test_random_transitions_keep_their_separation_and_limits(seed, m):
    rng = np.random.default_rng(seed)
    start, goal = spread(rng, m), spread(rng, m)
    transition = plan(start, goal, 0, SPEED, ACCELERATION)
    np.testing.assert_allclose(transition.at(0)[0], start)
    np.testing.assert_allclose(transition.at(transition.end_us)[0], goal[transition.order])
    for t_us in np.linspace(0, transition.end_us, 120).astype(int):
        pos, vel, acc = transition.at(int(t_us))
        assert separation(pos) >= min(transition.min_separation, CLEARANCE) - 0.01
        assert np.linalg.norm(vel, axis=1).max() <= SPEED * 1.001
        assert np.linalg.norm(acc, axis=1).max() <= ACCELERATION * 1.001


@pytest.mark.parametrize("n", [9, 18, 50])
def test_transitions_between_formations_keep_their_separation(n):
    order = [
        name
        for name in (
            "origin",
            "cube",
            "pyramid",
            "triangle",
            "sphere",
            "diamond",
            "T",
            "V",
            "origin",
        )
        if n != 18 or name != "T"
    ]
    for one, other in itertools.pairwise(order):
        assert plan(slots(one, n), slots(other, n)).min_separation >= CLEARANCE - 1e-6


@pytest.mark.parametrize("end", [5.0, 101.5])
def test_a_follower_is_led_around_the_leader(end):
    """Also on a transition so long that its sample points are metres apart."""
    transition = plan([[-end + 1.5, 0, 0]], [[end, 0, 0]])
    times = np.linspace(0, transition.end_us, 4000).astype(int)
    nearest = min(np.linalg.norm(transition.at(int(t))[0]) for t in times)
    assert CLEARANCE - 0.01 <= nearest == pytest.approx(transition.min_separation, abs=0.01)


@pytest.mark.parametrize("axis", [0, 2])
@pytest.mark.parametrize("m", [1, 5, 20])
def test_a_line_passes_through_the_leader(axis, m):
    """All on one line through the leader, level or upright, from one side of it to the other."""
    line = np.zeros((m, 3))
    line[:, axis] = 2.0 * np.arange(1, m + 1)
    transition = plan(line, -line, floor=-2.0 * m)
    for t_us in np.linspace(0, transition.end_us, 200).astype(int):
        places = transition.at(int(t_us))[0]
        assert separation(places) >= CLEARANCE - 0.01
        assert places[:, 2].min() >= -2.0 * m - 1e-6


def test_the_same_slots_after_a_turn_ask_for_no_motion():
    start = slots("cube", 9)
    transition = plan(start, slots("cube", 9, rotation=np.pi / 2))
    np.testing.assert_allclose(transition.goal, start, atol=1e-9)


def test_velocity_and_acceleration_are_the_derivatives():
    transition = plan([[-5, 0, 0], [-5, 2, 0]], [[5, 0, 0], [5, -2, 1]], 1000)
    step = 100
    for t in np.linspace(2000, transition.end_us - 2000, 50).astype(int):
        before, now, after = (transition.at(int(t) + k)[0] for k in (-step, 0, step))
        _, vel, acc = transition.at(int(t))
        np.testing.assert_allclose((after - before) / (2e-6 * step), vel, atol=1e-5)
        np.testing.assert_allclose((after - 2 * now + before) / (1e-6 * step) ** 2, acc, atol=1e-3)


def test_the_way_stays_above_the_floor():
    start, goal = slots("triangle", 18), slots("sphere", 18)
    floor = min(start[:, 2].min(), goal[:, 2].min())
    transition = plan(start, goal, floor=floor)
    assert (
        min(transition.at(int(t))[0][:, 2].min() for t in np.linspace(0, transition.end_us, 100))
        >= floor - 1e-6
    )


@pytest.mark.parametrize(
    "way, speed, acceleration, duration",
    [
        ((3, 0, 0), 10.0, 100.0, 1.875 * 3 / 10),  # that of a minimum-jerk motion
        ((3, 0, 0), 10.0, 1.0, np.sqrt(3 * 10 / np.sqrt(3))),
        ((0, 0, 3), 10.0, 100.0, 1.875 * 3 / 2.5),
        ((0, 0, -3), 10.0, 100.0, 1.875 * 3 / 1.3),
        ((0.01, 0, 0.01), 10.0, 100.0, 0.5),
    ],
)
def test_a_straight_way_takes_what_its_tightest_limit_needs(way, speed, acceleration, duration):
    start = np.array([[5.0, 0.0, 0.0]])
    transition = plan(start, start + way, 0, speed, acceleration)
    assert transition.durations == pytest.approx((duration,))


def test_a_detour_below_the_floor_is_level():
    """From above to below the leader, on whom it would come down if it went over the leader."""
    transition = plan([[-2, 0, 2]], [[0, 0, -2]], floor=-2.0)
    assert transition.method == "detours"
    assert transition.detours[0, 0, 0] < 0.0 and not transition.detours[..., 1:].any()


@pytest.mark.parametrize(
    "start, goal, words",
    [([[3, 0, 0]], [[3, 0, 0], [6, 0, 0]], ["2 slots do not fit 1 followers"])],
)
def test_what_is_refused_in_one_line(start, goal, words):
    with pytest.raises(FormationError) as caught:
        plan(start, goal)
    for word in words:
        assert word in str(caught.value)
