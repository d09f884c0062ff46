"""People: how they are found and predicted, and that a vehicle keeps off them."""

from types import SimpleNamespace

import numpy as np
import pytest
from lxml import etree

from xtdrone_core import Reading
from xtdrone_core.command import main
from xtdrone_core.runs import snapshot
from xtdrone_planning.forest import bounds_of, objects_of
from xtdrone_planning.maps.distance_field import DistanceField
from xtdrone_planning.maps.moving import Tracks, groups
from xtdrone_planning.maps.voxel_map import VoxelMap
from xtdrone_planning.people import walks
from xtdrone_planning.planners import guard
from xtdrone_planning.planners.evading import Evasion
from xtdrone_planning.planners.planner import STEP_S, Limits, Situation, Trajectory
from xtdrone_planning.sight import Sight
from xtdrone_sim.world.sdf_world import load_world

STEP_US = 100_000


def seen_side(place, radius, viewer, count=40):
    """Points (count, 3) of the side of a post that a viewer sees, with 1 cm of noise."""
    rng = np.random.default_rng(round(1e3 * float(np.sum(viewer))))
    toward = np.arctan2(*(viewer[:2] - place)[::-1])
    angles = toward + np.linspace(-1.3, 1.3, count)
    ring = place + radius * np.stack([np.cos(angles), np.sin(angles)], axis=-1)
    heights = rng.uniform(0.8, 1.7, (count, 1))
    return np.hstack([ring + rng.normal(0.0, 0.01, ring.shape), heights])


def test_points_that_lie_together_are_a_group_and_walls_are_none():
    post = seen_side(np.array([3.0, 1.0]), 0.2, np.zeros(3))
    far = seen_side(np.array([30.0, 1.0]), 0.2, np.zeros(3))
    wall = np.array([[5.0, y, 1.0] for y in np.arange(-4.0, 0.0, 0.05)])
    points = np.concatenate([post, far, wall, [[-3.0, -3.0, 1.0]]])
    found = groups(points, np.zeros(3), points[:, 2] > 1.25)
    assert len(found) == 1
    assert found[0, :2] == pytest.approx((2.87, 0.96), abs=0.06)
    assert found[0, 2] == 40
    assert found[0, 3] == pytest.approx((post[:, 2] > 1.25).mean())


def tracks_of(walkers, posts, seconds=3.0, viewer=lambda t: np.array([2.0 * t, 0.0, 1.3])):
    tracks = Tracks()
    for t_us in range(0, round(seconds * 1e6) + 1, STEP_US):
        t = t_us * 1e-6
        here = viewer(t)
        points = [seen_side(pos + t * vel, 0.25, here) for pos, vel in walkers]
        points += [seen_side(place, 0.25, here) for place in posts]
        tracks.see(t_us, np.concatenate(points), here)
    return tracks


def test_who_walks_moves_and_trees_that_one_flies_past_do_not():
    walker = np.array([8.0, 3.0]), np.array([-0.5, -1.0])
    posts = [np.array([x, y]) for x in (2.0, 4.0, 6.0) for y in (-2.0, 1.2)]
    tracks = tracks_of([walker], posts)
    assert tracks.count == 1
    ((x, y, u, v),) = tracks.at(3_000_000)
    assert (x, y) == pytest.approx(walker[0] + 3.0 * walker[1], abs=0.35)
    assert (u, v) == pytest.approx(walker[1], abs=0.25)
    ahead = tracks.at(4_000_000)[0, :2]
    assert ahead == pytest.approx((x + u, y + v))


@pytest.mark.parametrize("part, count", [(0.0, 0), (0.25, 1)])
def test_what_is_where_nothing_was_seen_to_be_free_does_not_move(part, count):
    """A tree that leans seems to walk as one sees more and more of its height."""
    tracks = Tracks()
    for t_us in range(0, 2_000_001, STEP_US):
        points = seen_side(np.array([5.0, 1e-6 * t_us]), 0.25, np.zeros(3))
        tracks.see(t_us, points, np.zeros(3), np.arange(len(points)) < part * len(points))
    assert tracks.count == count


def test_who_is_hidden_for_a_moment_walks_on_and_is_forgotten_later():
    tracks = tracks_of([(np.array([3.0, 3.0]), np.array([0.0, -1.0]))], [], 2.0)
    nothing = np.zeros((0, 3))
    tracks.see(2_500_000, nothing, np.array([4.0, 0.0, 1.3]))
    assert tracks.at(2_500_000)[0, 1] == pytest.approx(0.5, abs=0.35)
    tracks.see(3_500_000, nothing, np.array([4.0, 0.0, 1.3]))
    assert len(tracks.at(3_500_000)) == 0


def test_who_turns_round_is_still_known_to_move():
    tracks = Tracks()
    seen = []
    for t_us in range(0, 6_000_000, STEP_US):
        t = 1e-6 * t_us
        x = 3.0 + min(t, 3.0) - max(t - 3.6, 0.0)  # walks away, stands for 0.6 s, comes back
        tracks.see(t_us, seen_side((x, 1.0), 0.25, np.zeros(3)), np.zeros(3))
        seen.append(tracks.at(t_us))
    assert all(len(rows) == 1 for rows in seen[20:])
    assert tracks.count == 1
    assert seen[45][0, 2] < -0.4  # 0.9 s after it has turned round


def test_who_was_not_known_to_walk_is_known_after_a_turn():
    """One who came from where nothing had been seen walks back."""
    tracks = Tracks()
    for t_us in range(0, 4_400_001, STEP_US):
        t = 1e-6 * t_us
        x = 3.0 + min(t, 3.0) - max(t - 3.0, 0.0)
        points = seen_side(np.array([x, 1.0]), 0.25, np.zeros(3))
        tracks.see(t_us, points, np.zeros(3), np.full(len(points), t > 3.0))
    assert len(tracks.at(4_400_000)) == 1
    assert tracks.at(4_400_000)[0, 2] < -0.5


@pytest.mark.parametrize("behind, count", [(8.0, 1), (np.nan, 0)])
def test_what_moves_is_seen_where_it_was_free(behind, count):
    """Something 4 m ahead goes aside, before a wall or before what is never seen."""
    camera = {"fx": 60.0, "fy": 60.0, "cx": 31.5, "cy": 23.5, "near": 0.3, "far": 10.0}
    camera |= {"width": 64, "height": 48, "pos": (0.0, 0.0, 0.0), "quat": (0.0, 0.0, 0.0, 1.0)}
    sensor = {"vehicle": "a", "sensor": "camera", "kind": "depth", "parameters": [camera]}
    voxels = VoxelMap((20, 20, 6), 0.2, (0, 0, 1.5))
    sight = Sight("a", [sensor], voxels)
    assert sight.widest == pytest.approx((10.0, np.arctan(32.0 / 60.0)))
    tracks = Tracks()
    sight.tracks = tracks, 0.5, 3.0
    here = SimpleNamespace(pos=np.array([[0.0, 0.0, 1.5]]), quat=np.array([[0.0, 0.0, 0.0, 1.0]]))
    for t_us in range(0, 4_000_001, STEP_US):
        aside = 1.0 - 1e-6 * max(t_us - 2_000_000, 0)
        across = (np.arange(64) - 31.5) / 60.0 * 4.0
        depth = np.full((48, 64), behind, dtype=np.float32)
        depth[:, np.abs(across - aside) < 0.25] = 4.0
        sight.on_reading(Reading("depth", "a", "camera", t_us, {"depth": depth}))
        sight.take(t_us, here)
    assert tracks.count == count


def test_tracks_survive_a_snapshot(tmp_path):
    tracks = tracks_of([(np.array([3.0, 3.0]), np.array([0.0, -1.0]))], [], 2.0)
    snapshot.write(tmp_path / "snapshot", tracks.save(), {})
    other = Tracks()
    other.load(snapshot.read(tmp_path / "snapshot")[0])
    assert (other.at(2_000_000) == tracks.at(2_000_000)).all()
    assert other.count == 1


@pytest.mark.parametrize(
    "moving, rest, meets",
    [
        ((4.5, 0.0, -1.0, 0.0), 0.0, True),  # head-on
        ((3.0, 3.0, 0.0, -1.0), 0.0, False),  # it stops before
        ((3.0, 3.0, 0.0, -1.0), 2.0, True),  # and stands in the way then
        ((3.0, 3.0, 0.0, 1.0), 2.0, False),  # leaves
        ((0.0, 0.8, 0.0, 1.0), 0.0, False),  # is close, and leaves
        ((0.0, 0.8, 0.0, -1.0), 0.0, True),
    ],
)
def test_what_moves_meets_a_trajectory_or_not(moving, rest, meets):
    pos = np.zeros((76, 3))
    pos[:, 0] = np.linspace(0.0, 3.0, 76)  # 1.5 s
    trajectory = Trajectory(0, pos, np.zeros((76, 3)), np.zeros((76, 3)))
    assert guard.meets(trajectory, np.array([moving]), 0.45, rest=rest) == meets


@pytest.mark.parametrize("speed", [0.0, 1.5, 3.0])
def test_who_makes_way_keeps_within_the_limits(speed):
    voxels = VoxelMap((20, 20, 6), 0.2, (0, 0, 2))
    voxels.set_free(np.array([0.0, 0.0, 2.0]), 6.0)
    field = DistanceField((12, 12, 4), 0.2)
    field.update(voxels, (0, 0, 2))
    limits = Limits(3.0, 4.0, 0.4, 0.8, 1.0, 3.0)
    begin = np.array([0.0, 0.0, 2.0]), np.array([speed, 0.0, 0.0]), np.zeros(3)
    moving = np.array([[3.0 + speed, 0.0, -1.2, 0.0]])
    flown = begin[0] + np.arange(150)[:, None] * STEP_S * begin[1]
    found = Evasion().find(
        Situation(0, *begin, np.array([9.0, 0.0, 2.0]), voxels, field, limits, (), moving), flown
    )
    assert found is not None
    assert not guard.exceeds(found, limits, 1.65)
    assert guard.least_gap(found.pos, moving, 200) > 0.85


def test_people_walk_between_trees_and_away_from_take_off_and_landing(tmp_path, capsys):
    objects, bounds = objects_of("navigation_forest", 1), bounds_of("navigation_forest")
    people = walks(objects, bounds, 8, 1)
    assert len(people) == 8
    for walk in people:
        places = np.array([point[1:3] for point in walk.way_points()])
        assert np.linalg.norm(places, axis=1).min() >= 4.0
        apart = np.linalg.norm(places[:, None] - objects["pos"][None, :, :2], axis=2)
        assert (apart > objects["size"][:, 0] + 0.5).all()
        times = [point[0] for point in walk.way_points()]
        assert (np.diff(times) > 0.0).all()
    path = tmp_path / "people.world"
    command = ["planning", "world", "navigation_forest", "--seed", "1", "--people", "8"]
    assert main([*command, "--out", str(path)]) == 0
    world = load_world(path)
    assert len(world.actors) == 8
    assert all(0.7 < actor.fastest < 2.0 and actor.figure == "person" for actor in world.actors)
    walked = [
        np.ptp([actor.pose(t).pos[:2] for t in range(0, 60, 5)], axis=0) for actor in world.actors
    ]
    assert all(np.hypot(*span) > 4.0 for span in walked)
    assert etree.parse(str(path)).getroot().tag == "sdf"
