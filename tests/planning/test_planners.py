"""Ways, splines and stops: clear of obstacles, within limits, from the state they are given."""

import dataclasses

import numpy as np
import pytest

from xtdrone_planning.maps.distance_field import DistanceField
from xtdrone_planning.maps.voxel_kernels import UNKNOWN
from xtdrone_planning.maps.voxel_map import VoxelMap
from xtdrone_planning.planners import guard
from xtdrone_planning.planners.local import LocalPlanner
from xtdrone_planning.planners.planner import STEP_S, Limits, Situation, Trajectory
from xtdrone_planning.planners.search import BORDER, CLOSED, REACHED, Search, is_open

LIMITS = Limits(4.0, 5.0, 0.4, 0.9, 0.8, 3.2)
SIZE, RESOLUTION = (16.0, 16.0, 4.0), 0.2
HERE = np.array([0.0, 0.0, 2.0])


def places(voxels):
    """x, y, z of each voxel's centre, each (X, Y, Z) in the order of unrolled()."""
    axes = [
        (np.arange(n) + low + 0.5) * RESOLUTION for n, low in zip(voxels.cells.shape, voxels.low)
    ]
    return np.meshgrid(*axes, indexing="ij")


def situation(occupied, goal, vel=(0.0, 0.0, 0.0), unseen=None, others=()):
    """A world of which all is known but what `unseen` says; both take x, y and z."""
    voxels = VoxelMap(SIZE, RESOLUTION, HERE)
    x, y, z = places(voxels)
    cells = np.where(occupied(x, y, z), 9, -4).astype(np.int8)
    if unseen is not None:
        cells[unseen(x, y, z)] = UNKNOWN
    voxels.cells[:] = np.roll(cells, tuple(voxels.low % voxels.shape), axis=(0, 1, 2))
    field = DistanceField(SIZE, RESOLUTION, 1.2)
    field.update(voxels, HERE)
    return Situation(
        0, HERE, np.array(vel), np.zeros(3), np.array(goal), voxels, field, LIMITS, others
    )


def nothing(x, y, z):
    return np.zeros(x.shape, dtype=bool)


def trees(x, y, z, seed=2):
    out = nothing(x, y, z)
    rng = np.random.default_rng(seed)
    for _ in range(22):
        a, b = rng.uniform(-7.5, 7.5, 2)
        if np.hypot(a, b) > 1.5:
            out |= np.hypot(x - a, y - b) < 0.25
    return out


def wall_with_a_gap(x, y, z):
    return (abs(x - 3.0) < 0.2) & ~((y > 2.0) & (y < 4.5))


def box_around(x, y, z):
    return (np.maximum(abs(x), abs(y)) > 2.4) & (np.maximum(abs(x), abs(y)) < 2.9)


def room(of, trajectory):
    return min(of.field.distance(pos) for pos in trajectory.pos)


def test_a_way_leads_through_the_gap_of_a_wall():
    of = situation(wall_with_a_gap, (6.0, 0.0, 2.0))
    found = Search().find(of.field, HERE, of.goal, LIMITS, 20.0)
    assert found.end == REACHED
    assert (found.path[0] == HERE).all() and (found.path[-1] == of.goal).all()
    crossing = found.path[np.argmax(found.path[:, 0] > 2.5)]
    assert 1.5 < crossing[1] < 5.0
    length = np.linalg.norm(np.diff(found.path, axis=0), axis=1).sum()
    shortest = np.hypot(3.0, 2.4) * 2.0
    assert shortest * 0.98 < length < shortest * 1.2


def test_a_way_ends_at_the_horizon_or_where_all_is_shut():
    of = situation(nothing, (60.0, 0.0, 2.0))
    found = Search().find(of.field, HERE, of.goal, LIMITS, 6.0)
    assert found.end == BORDER
    assert np.linalg.norm(found.path[-1] - HERE) == pytest.approx(6.0, abs=0.5)
    shut = situation(box_around, (6.0, 0.0, 2.0))
    assert Search().find(shut.field, HERE, shut.goal, LIMITS, 6.0).end == CLOSED


@pytest.mark.parametrize("middle, crosses", [(2.5, 2.5), (5.5, 0.0)])
def test_the_wider_of_two_gaps_is_taken_if_it_is_not_far_off(middle, crosses):
    def wall(x, y, z):
        return (abs(x - 3.0) < 0.2) & ~((abs(y) < 0.7) | (abs(y - middle) < 1.3))

    of = situation(wall, (6.0, 0.0, 2.0))
    path = Search().find(of.field, HERE, of.goal, LIMITS, 20.0).path
    assert np.interp(3.0, path[:, 0], path[:, 1]) == pytest.approx(crosses, abs=0.7)


@pytest.mark.parametrize("axis", range(3))
@pytest.mark.parametrize("backwards", [False, True])
@pytest.mark.parametrize("thin", [False, True])
def test_a_straight_way_is_open_unless_something_is_on_it(axis, backwards, thin):
    """Half-way along a way from x and y = 0, or from z = 1 m, there is one layer of voxels."""
    begin = np.array([0.0, 0.0, 1.0])
    end = begin + 2.0 * np.eye(3)[axis]

    def layer(x, y, z):
        return thin & (abs((x, y, z)[axis] - (begin + end)[axis] / 2 - 0.1) < 0.05)

    field = situation(layer, (6.0, 0.0, 2.0)).field
    way = np.array([end, begin, end] if backwards else [begin, end, begin])
    assert is_open(field.square, field.low, field.resolution, way[0], way[1], 0.05) != thin


@pytest.mark.parametrize("speed", [0.0, 2.0, 4.0])
@pytest.mark.parametrize("seed", range(4))
def test_a_trajectory_begins_as_the_vehicle_flies_and_keeps_clear_and_within_limits(seed, speed):
    of = situation(
        lambda x, y, z: trees(x, y, z, seed), (30.0, 0.0, 2.0), (0.8 * speed, 0.6 * speed, 0.0)
    )
    plan = LocalPlanner().plan(of)
    trajectory = plan.trajectory
    assert trajectory is not None, plan.reason
    assert trajectory.pos[0] == pytest.approx(of.pos, abs=1e-9)
    assert trajectory.vel[0] == pytest.approx(of.vel, abs=1e-9)
    assert trajectory.acc[0] == pytest.approx(of.acc, abs=1e-9)
    assert room(of, trajectory) > LIMITS.radius
    assert not guard.exceeds(trajectory, LIMITS, 1.25)
    # Velocity and acceleration are the derivatives.
    assert np.diff(trajectory.pos, axis=0) / STEP_S == pytest.approx(
        0.5 * (trajectory.vel[1:] + trajectory.vel[:-1]), abs=0.01
    )
    assert np.diff(trajectory.vel, axis=0) / STEP_S == pytest.approx(
        0.5 * (trajectory.acc[1:] + trajectory.acc[:-1]), abs=0.01
    )


@pytest.mark.parametrize("speed", [0.0, 2.0])
@pytest.mark.parametrize("limit", [0.2, 0.5])
def test_who_has_to_be_slow_slows_down_and_flies_on(speed, limit):
    of = situation(nothing, (7.0, 0.0, 2.0), (speed, 0.0, 0.0))
    of = dataclasses.replace(of, limits=LIMITS._replace(speed=limit))
    plan = LocalPlanner().plan(of)
    assert plan.trajectory is not None, plan.reason
    speeds = np.linalg.norm(plan.trajectory.vel, axis=1)
    assert speeds[0] == pytest.approx(speed, abs=1e-6)
    assert speeds[len(speeds) // 2 :].max() < 1.5 * limit


def test_a_trajectory_rests_at_a_goal_that_is_near():
    of = situation(nothing, (3.0, 1.0, 2.2))
    trajectory = LocalPlanner().plan(of).trajectory
    assert trajectory.pos[-1] == pytest.approx(of.goal, abs=1e-6)
    assert trajectory.vel[-1] == pytest.approx(0.0, abs=1e-6)


def test_a_trajectory_makes_way_for_another_vehicle():
    still = Trajectory(0, np.array([[3.0, 0.1, 2.0]]), np.zeros((1, 3)), np.zeros((1, 3)))
    of = situation(nothing, (6.0, 0.0, 2.0), others=(still,))
    pos = LocalPlanner().plan(of).trajectory.pos
    assert np.linalg.norm(pos - still.pos, axis=1).min() > 1.2


@pytest.mark.parametrize(
    "walker", [(3.0, 0.1, 0.0, 0.0), (3.0, -2.0, 0.0, 1.2), (4.5, 0.1, -0.8, 0.0)]
)
@pytest.mark.parametrize("along", ["x", "y"])
def test_a_trajectory_makes_way_for_who_stands_or_walks(walker, along):
    """The same with x and y exchanged."""
    swap = [0, 1, 2] if along == "x" else [1, 0, 2]
    of = situation(nothing, np.array((6.0, 0.0, 2.0))[swap])
    walker = np.array(walker).reshape(2, 2)[:, swap[:2]]
    of = dataclasses.replace(of, moving=walker.reshape(1, 4))
    pos = LocalPlanner().plan(of).trajectory.pos
    then = walker[0] + walker[1] * STEP_S * np.arange(len(pos))[:, None]
    assert np.linalg.norm(pos[:, :2] - then, axis=1).min() > LIMITS.radius + guard.BODY


def test_no_way_has_a_reason():
    assert "shut in" in LocalPlanner().plan(situation(box_around, (6.0, 0.0, 2.0))).reason


@pytest.mark.parametrize("keep", [0.0, 0.3])
def test_a_stop_stays_on_the_way_and_ends_at_rest(keep):
    of = situation(trees, (30.0, 0.0, 2.0), (3.0, 0.0, 0.0))
    trajectory = LocalPlanner().plan(of).trajectory
    stop = guard.stopping(trajectory, keep, 4.0)
    assert stop.vel[-1] == pytest.approx(0.0)
    kept = int(keep / STEP_S)
    assert stop.pos[:kept] == pytest.approx(trajectory.pos[:kept], abs=1e-9)
    nearest = [np.linalg.norm(trajectory.pos - pos, axis=1).min() for pos in stop.pos]
    assert max(nearest) < 0.06
    assert np.diff(stop.pos, axis=0) / STEP_S == pytest.approx(
        0.5 * (stop.vel[1:] + stop.vel[:-1]), abs=0.05
    )
    assert np.linalg.norm(stop.vel, axis=1).max() < 4.1
    assert stop.since(10**9).pos == pytest.approx(stop.pos[-1])
    assert stop.since(-5).pos == pytest.approx(stop.pos[0])


def test_a_stop_is_checked_against_what_is_near_and_what_is_unseen():
    way = np.linspace(HERE, HERE + [5.0, 0.0, 0.0], 120)
    still = np.zeros_like(way)
    trajectory = Trajectory(0, way, still, still)
    free = situation(nothing, (6.0, 0.0, 2.0))
    dark = situation(nothing, (6.0, 0.0, 2.0), unseen=lambda x, y, z: x > 3.0)
    shut = situation(wall_with_a_gap, (6.0, 0.0, 2.0))
    assert guard.check(free.field, trajectory, 0.4) == guard.CLEAR
    assert guard.check(dark.field, trajectory, 0.4) == guard.UNSEEN
    assert guard.check(dark.field, trajectory, 0.4, known=False) == guard.CLEAR
    assert guard.check(shut.field, trajectory, 0.4) == guard.CLOSE


def two_posts(x, y, z):
    return np.minimum(np.hypot(x - 1.6, y - 0.75), np.hypot(x - 1.6, y + 0.75)) < 0.2


@pytest.mark.parametrize("waited, part", [(0.0, 1.25), (1.5, 0.9), (2.5, 0.6), (9.0, 0.4)])
def test_who_waits_before_a_gap_goes_through_it_slowly(waited, part):
    of = dataclasses.replace(situation(two_posts, (6.0, 0.0, 2.0)), waited=waited)
    plan = LocalPlanner().plan(of)
    assert plan.trajectory is not None
    assert np.linalg.norm(plan.trajectory.vel, axis=1).max() < part * LIMITS.speed
    assert plan.trajectory.at(0.6).pos[0] > 0.05 and room(of, plan.trajectory) > 0.4
