"""Frontiers, viewpoints and tours; the baseline planner of OMPL."""

import itertools

import numpy as np
import pytest

from xtdrone_planning.exploration.agent import seconds_to
from xtdrone_planning.exploration.coverage import Coverage
from xtdrone_planning.exploration.frontiers import (
    View,
    distances,
    frontiers,
    nearest,
    reachable,
    seen_from,
    tour,
    viewpoints,
)
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
    patches = frontiers(field_of(known_disc), LIMITS, BOUNDS)
    assert patches.voxels.sum() > 100
    assert np.hypot(*patches.pos[:, :2].T) == pytest.approx(3.9, abs=0.3)
    outward = (patches.pos[:, :2] * patches.out).sum(axis=1)
    assert (outward > 0.8 * np.hypot(*patches.pos[:, :2].T)).all()
    assert not len(frontiers(field_of(two_rooms), LIMITS, BOUNDS[:, :] * 0.9).voxels)


@pytest.mark.parametrize(
    "unseen, out",
    [
        ([(1, 0)], (1.0, 0.0)),
        ([(0, -1)], (0.0, -1.0)),
        ([(-1, 0), (0, 1)], (-(0.5**0.5), 0.5**0.5)),
        ([(1, 0), (-1, 0)], (0.0, 0.0)),
    ],
)
def test_a_lone_free_voxel_is_a_frontier_towards_what_is_unseen_beside_it(unseen, out):
    field = field_of(known_disc)
    field.state[:], cell = OCCUPIED, np.array([30, 45, 7])
    field.state[tuple(cell)] = FREE
    for beside in unseen:
        for far in range(1, 5):
            field.state[tuple(cell + far * np.array([*beside, 0]))] = UNSEEN
    patches = frontiers(field, LIMITS, BOUNDS)
    assert patches.pos == pytest.approx((cell + field.low + 0.5)[None] * 0.2)
    assert patches.out == pytest.approx(np.array([out]))
    assert patches.voxels.tolist() == [1]


@pytest.mark.parametrize(("voxels", "counts"), [(1, False), (2, False), (3, True), (8, True)])
def test_a_film_of_unseen_space_before_a_wall_is_no_frontier(voxels, counts):
    field = field_of(lambda x, y: np.where(x < 2.0, FREE, OCCUPIED))
    first = int(np.argmax(field.state[:, 40, 5] == OCCUPIED))
    field.state[first : first + voxels] = UNSEEN
    assert bool(len(frontiers(field, LIMITS, BOUNDS).voxels)) == counts


def test_places_in_the_open_are_all_in_the_window_and_as_far_as_a_king_goes():
    places, ways = reachable(field_of(lambda x, y: np.full(x.shape, FREE)), START, LIMITS)
    assert len(places) == 20 * 20 and abs(places[:, :2]).max() < 8.0
    cells = np.round((places[:, :2] - 0.2) / 0.4)  # from that of the start
    longer, shorter = abs(cells).max(axis=1), abs(cells).min(axis=1)
    assert ways == pytest.approx(0.4 * (longer + (2**0.5 - 1) * shorter))


START, VIEW, WORTH = np.array([0.0, 0.0, 1.4]), View(6.0, 0.5), 80


def test_a_few_viewpoints_show_all_frontiers():
    field = field_of(known_disc)
    patches = frontiers(field, LIMITS, BOUNDS)
    views, ways = viewpoints(field, patches, LIMITS, START, VIEW, WORTH)
    seen = np.zeros(len(patches.voxels), dtype=bool)
    for view, way in zip(views, ways, strict=True):
        assert field.is_known(view.pos) and way >= np.hypot(*view.pos[:2]) - 0.3
        own = seen_from(field, patches, view.pos[None], np.array([view.yaw]), VIEW)[0, 0]
        assert patches.voxels[own].sum() >= view.gain >= WORTH
        seen |= own
    assert patches.voxels[~seen].sum() < WORTH
    assert len(views) < 0.5 * len(patches.voxels)


def test_a_frontier_is_not_seen_through_a_wall_nor_from_behind_nor_from_afar():
    def half_known(x, y):
        wall = (np.abs(x + 2.0) < 0.2) & (y < 0.0)
        return np.where(wall, OCCUPIED, np.where(x < 4.0, FREE, UNSEEN))

    field = field_of(half_known)
    patches = frontiers(field, LIMITS, BOUNDS)
    places = np.array([[0.0, -4.0, 1.4], [-3.0, -4.0, 1.4], [-3.0, 1.0, 1.4], [6.0, -4.0, 1.4]])
    # [:, 0] looks east
    seen = seen_from(field, patches, places, np.array([0.0, np.pi]), View(7.5, 1.5))
    assert seen[0, 0].sum() > 8 and not seen[0, 1].any()
    assert not seen[1].any()
    assert seen[2, 0].sum() < 0.6 * seen[0, 0].sum()
    assert not seen[3].any()


def test_the_baseline_goes_where_the_nearest_frontier_is():
    def disc(x, y):
        return np.where(np.hypot(x - 1.0, y) < 4.0, FREE, UNSEEN)

    field = field_of(disc)
    patches = frontiers(field, LIMITS, BOUNDS)
    (view,), (way,) = nearest(field, patches, LIMITS, START, VIEW, WORTH)
    assert way < 2.5 and view.pos[0] < 0.5 and np.cos(view.yaw) < 0.0
    known = field_of(two_rooms)
    assert (
        nearest(known, frontiers(known, LIMITS, 0.9 * BOUNDS), LIMITS, START, VIEW, WORTH)[0] == []
    )


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
