"""Frontiers, viewpoints and tours; the baseline planner of OMPL."""

import itertools

import numpy as np
import pytest

from xtdrone_planning.exploration.agent import seconds_to
from xtdrone_planning.exploration.coverage import Coverage
from xtdrone_planning.exploration.frontiers import distances, frontiers, tour, viewpoints
from xtdrone_planning.maps.distance_field import FREE, OCCUPIED, UNSEEN, DistanceField
from xtdrone_planning.maps.voxel_map import VoxelMap
from xtdrone_planning.pilot import Pilot
from xtdrone_planning.planners.local import LocalPlanner
from xtdrone_planning.planners.planner import Limits
from xtdrone_sim.vehicles.pose import Pose
from xtdrone_sim.vehicles.shapes import Shape

LIMITS = Limits(2.0, 3.0, 0.4, 0.7, 0.8, 2.0)
BOUNDS = np.array([[-8.0, -8.0, 0.0], [8.0, 8.0, 3.0]])


def field_of(state):
    """A field of 16 x 16 x 3 m whose states are given by x and y of each voxel."""
    field = DistanceField((16.0, 16.0, 3.0), 0.2, 1.2)
    field.low = np.array([-40, -40, 0])
    x, y = np.meshgrid((np.arange(80) - 39.5) * 0.2, (np.arange(80) - 39.5) * 0.2, indexing="ij")
    field.state[:] = state(x, y)[:, :, None]
    near = np.argwhere(field.state[:, :, 0] == OCCUPIED)
    cells = np.argwhere(np.ones((80, 80)))
    squares = np.full(len(cells), 36)
    if len(near):
        squares = ((cells[:, None] - near[None]) ** 2).sum(axis=-1).min(axis=1)
    field.square[:] = np.minimum(squares, 36).reshape(80, 80)[:, :, None]
    return field


def known_disc(x, y):
    return np.where(np.hypot(x, y) < 4.0, FREE, UNSEEN)


def two_rooms(x, y):
    """A wall at x = 0 with a door at y = 5, all known."""
    return np.where((np.abs(x) < 0.2) & (np.abs(y - 5.0) > 1.0), OCCUPIED, FREE)


def test_frontiers_are_where_known_space_ends():
    places = frontiers(field_of(known_disc), LIMITS, BOUNDS)
    assert len(places) > 100
    assert np.hypot(places[:, 0], places[:, 1]) == pytest.approx(3.9, abs=0.3)
    assert not len(frontiers(field_of(two_rooms), LIMITS, BOUNDS[:, :] * 0.9))


def test_viewpoints_are_free_and_look_at_what_is_new():
    field = field_of(known_disc)
    views = viewpoints(field, frontiers(field, LIMITS, BOUNDS), LIMITS, 1.4)
    assert len(views) >= 8
    for view in views:
        assert field.is_known(view.pos)
        ahead = np.array([np.cos(view.yaw), np.sin(view.yaw), 0.0])
        assert not all(field.is_known(view.pos + s * ahead) for s in (1.8, 2.6, 3.4))


def test_a_way_to_the_other_room_leads_through_the_door():
    there = np.array([[3.0, -5.0, 1.4], [-3.0, -5.0, 1.4], [0.0, -5.0, 1.4]])
    found = distances(field_of(two_rooms), np.array([-3.0, 0.0, 1.4]), there, LIMITS)
    assert found[0] == pytest.approx(np.hypot(3, 5) + np.hypot(3, 10), rel=0.12)
    assert found[1] == pytest.approx(5.0, abs=0.5)
    assert np.isinf(found[2])


@pytest.mark.parametrize("seed", range(4))
def test_a_tour_is_nearly_the_best_of_all_orders(seed):
    places = np.random.default_rng(seed).uniform(-5, 5, (7, 2))
    lengths = np.linalg.norm(places[:, None] - places[None], axis=-1)

    def length(order):
        return sum(lengths[a, b] for a, b in itertools.pairwise([0, *order]))

    found = tour(lengths)
    assert sorted(found) == list(range(1, 7))
    best = min(length(order) for order in itertools.permutations(range(1, 7)))
    assert length(found) <= 1.1 * best


@pytest.mark.parametrize("seed", range(4))
def test_a_tour_ends_where_ways_differ_by_direction(seed):
    lengths = np.random.default_rng(seed).uniform(1.0, 9.0, (25, 25))
    assert sorted(tour(lengths)) == list(range(1, 25))


def test_the_map_of_an_exploration_stays_and_forgets_nothing():
    voxels = VoxelMap((16.0, 16.0, 5.0), 0.2, (0.0, 0.0, 1.4))
    field = DistanceField((16.0, 16.0, 3.0), 0.2, 1.2)
    pilot = Pilot(LocalPlanner(), LIMITS, voxels, field, np.array([0.0, 0.0, 1.4]))
    pilot.start(0, np.array([-6.0, 0.0, 1.4]), 0.0)
    known = voxels.known_volume()
    pilot.step(20_000, np.array([7.0, 0.0, 1.4]), np.zeros(3), 0)
    assert sum(voxels.known_volume()) > sum(known) and (voxels.at([[-6.0, 0.0, 1.4]]) <= 0).all()


def test_what_there_is_to_see_is_what_the_start_leads_to():
    wall = Shape("wall", "box", (0.2, 8.0, 3.0), Pose((0.0, 0.0, 1.5), (0.0, 0.0, 0.0, 1.0)), True)
    pillar = Shape("p", "cylinder", (0.5, 3.0), Pose((-2.0, 0.0, 1.5), (0.0, 0.0, 0.0, 1.0)), True)
    bounds = np.array([[-4.0, -4.0, 1.0], [4.0, 4.0, 2.0]])
    there_is = Coverage([wall, pillar], bounds, np.array([-3.0, 1.0, 1.5]), 0.2)
    volume = len(there_is.places) * 0.2**3
    assert there_is.places[:, 0].max() < 0.0
    assert volume == pytest.approx(4.0 * 8.0 - np.pi * 0.25, rel=0.15)
    voxels = VoxelMap((16.0, 16.0, 5.0), 0.2, (0.0, 0.0, 1.4))
    assert there_is.seen(voxels) == 0.0
    voxels.cells.fill(-4)
    assert there_is.seen(voxels) == 1.0


def test_when_so_much_was_seen():
    rows = np.array([[1.0, 5.0, 0.2], [2.0, 7.0, 0.6], [3.0, 9.0, 0.99]])
    assert seconds_to(rows, 50) == 2.0 and seconds_to(rows, 98) == 3.0
    assert np.isnan(seconds_to(rows[:2], 98))


def test_ompl_finds_a_way_on_the_map():
    pytest.importorskip("ompl", reason="OMPL is an extra: pip install 'xtdrone[planning]'")
    from test_planners import room, situation, wall_with_a_gap

    from xtdrone_planning.planners.sampling import OmplPlanner

    of = situation(wall_with_a_gap, (6.0, 0.0, 2.0))
    plan = OmplPlanner().plan(of)
    assert plan.trajectory is not None, plan.reason
    assert plan.trajectory.pos[-1] == pytest.approx(of.goal, abs=0.05)
    assert room(of, plan.trajectory) > 0.35
