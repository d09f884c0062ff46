"""Flights without dynamics: what is seen of a world of voxels, and where the set-points go."""

import re
import threading

import numpy as np
import pytest

from xtdrone_core.runs import snapshot
from xtdrone_planning.maps.distance_field import DistanceField
from xtdrone_planning.maps.voxel_map import VoxelMap
from xtdrone_planning.pilot import Pilot
from xtdrone_planning.planners.local import LocalPlanner
from xtdrone_planning.planners.planner import Limits, Plan, Trajectory

pytestmark = pytest.mark.slow

LIMITS = Limits(3.0, 4.0, 0.4, 0.8, 1.0, 3.0)
SIZE, RESOLUTION = (24.0, 16.0, 5.0), 0.2
START = np.array([-9.0, 0.0, 2.0])
LENS = (30.0, 30.0, 31.5, 23.5, 0.4, 8.0)
STEP_US = 20_000


class World:
    """What stands there, and what a camera sees of it."""

    def __init__(self, occupied):
        voxels = VoxelMap(SIZE, RESOLUTION, (0.0, 0.0, 2.0))
        axes = [
            (np.arange(n) + low + 0.5) * RESOLUTION
            for n, low in zip(voxels.cells.shape, voxels.low)
        ]
        cells = np.where(occupied(*np.meshgrid(*axes, indexing="ij")), 9, -4)
        voxels.cells[:] = np.roll(cells, tuple(voxels.low % voxels.shape), axis=(0, 1, 2))
        self.field = DistanceField(SIZE, RESOLUTION, 3.0)
        self.field.update(voxels, (0.0, 0.0, 2.0))

    def depth(self, pos, yaw):
        """The image (48, 64) of a camera that looks along a heading, by steps of distances."""
        v, u = np.mgrid[:48, :64]
        rays = np.stack([(u - LENS[2]) / LENS[0], (v - LENS[3]) / LENS[1], 0.0 * u + 1.0], axis=-1)
        length = np.linalg.norm(rays, axis=-1)
        directions = rays @ axes_of(yaw).T / length[..., None]
        gone = np.full(u.shape, 0.2)
        low, shape = self.field.low, np.array(self.field.state.shape)
        for _ in range(60):
            cells = np.floor((pos + directions * gone[..., None]) / RESOLUTION).astype(int) - low
            inside = ((cells >= 0) & (cells < shape)).all(axis=-1)
            x, y, z = np.moveaxis(np.clip(cells, 0, shape - 1), -1, 0)
            room = np.where(inside, np.sqrt(self.field.square[x, y, z]) * RESOLUTION, 1.0)
            gone += np.where(room > 0.0, np.maximum(room - RESOLUTION, 0.05), 0.0)
        depth = gone / length
        return np.where((depth < LENS[5]) & (depth > LENS[4]), depth, np.inf).astype(np.float32)


def axes_of(yaw):
    c, s = np.cos(yaw), np.sin(yaw)
    return np.array([[s, 0.0, c], [-c, 0.0, s], [0.0, -1.0, 0.0]])


def a_pilot(planner=None, hangs_s=60.0):
    return Pilot(
        planner or LocalPlanner(),
        LIMITS,
        VoxelMap((40.0, 40.0, 6.0), RESOLUTION, START),
        DistanceField((16.0, 16.0, 5.0), RESOLUTION, 1.2),
        hangs_s=hangs_s,
    )


def flown(
    occupied,
    goal,
    seconds=20.0,
    planner=None,
    sees=lambda t: True,
    at=None,
    hangs_s=60.0,
    stays=False,
):
    """A flight whose set-points are met exactly; returns the pilot and the places."""
    world, pilot = World(occupied), a_pilot(planner, hangs_s)
    pilot.start(0, START, 0.0)
    pilot.goal = np.array(goal)
    pos, vel, newest, places = START, np.zeros(3), 0, []
    for t_us in range(0, round(seconds * 1e6), STEP_US):
        if t_us % 100_000 == 0 and sees(t_us * 1e-6):
            pilot.voxels.insert_depth(world.depth(pos, pilot.yaw), LENS, pos, axes_of(pilot.yaw))
            newest = t_us
        if at is not None:
            at(t_us, pilot)
        pos, vel, _ = pilot.step(t_us, pos, vel, newest)
        places.append(pos)
        if np.linalg.norm(pos - pilot.goal) < 0.1 and not stays:
            break
    return pilot, np.array(places), world


def nothing(x, y, z):
    return np.zeros(x.shape, dtype=bool)


def trees(x, y, z):
    out = nothing(x, y, z)
    rng = np.random.default_rng(4)
    for a, b in rng.uniform((-7.0, -7.0), (8.0, 7.0), (14, 2)):
        out |= np.hypot(x - a, y - b) < 0.3
    return out


def wall(x, y, z):
    return abs(x - 2.0) < 0.3


def room_around(x, y, z):
    return (np.abs(x + 9.0) > 2.6) | (np.abs(y) > 2.6)


def test_it_flies_between_trees_that_it_has_not_known():
    pilot, places, world = flown(trees, (9.0, 0.0, 2.0))
    assert np.linalg.norm(places[-1] - pilot.goal) < 0.1
    assert min(world.field.distance(pos) for pos in places) > 0.25
    assert np.linalg.norm(np.diff(places, axis=0), axis=1).sum() < 1.15 * 18.0
    speed = np.linalg.norm(np.diff(places, axis=0), axis=1) / 0.02
    assert speed.max() < 1.25 * LIMITS.speed
    # The first second it looks, then it should not dawdle.
    assert len(places) * 0.02 < 12.0


def after(t_us, then):
    """The planner of the workspace, which does something else from a time on."""

    class Changing(LocalPlanner):
        def plan(self, situation):
            plan = super().plan(situation)
            return then(plan) if situation.t_us >= t_us else plan

    return Changing()


class Creeping:
    """Goes 4 cm nearer to the wall with each plan, as a spline that cuts corners may."""

    def plan(self, situation):
        t = np.arange(0.0, 1.01, 0.02)[:, None]
        ahead = np.array([[0.04, 0.0, 0.0]])
        pos = situation.pos + ahead * (3 * t**2 - 2 * t**3)
        vel, acc = ahead * 6 * (t - t**2), ahead * (6 - 12 * t)
        return Plan(Trajectory(situation.t_us, pos, vel, acc))


def test_who_is_too_close_does_not_come_closer_by_small_steps():
    pilot = a_pilot(Creeping())
    voxels = pilot.voxels
    voxels.cells.fill(-4)
    numbers = voxels.low[0] + np.arange(voxels.shape[0])
    voxels.cells[numbers[(numbers + 0.5) * RESOLUTION > -7.8] % voxels.shape[0]] = 9
    pos = np.array([-8.4, 0.0, 2.0])
    pilot.start(0, pos, 0.0)
    pilot.goal = np.array([9.0, 0.0, 2.0])
    for t_us in range(0, 20_000_000, STEP_US):
        pos = pilot.step(t_us, pos, np.zeros(3), t_us).pos
    assert pilot.field.distance(pos) > LIMITS.radius - 0.1
    assert pilot.reason == "too close to an obstacle, and no way leads off it"


def fail(plan):
    raise RuntimeError("killed\nby a test")


def sleep(plan):
    threading.Event().wait()


class Silent:
    def plan(self, situation):
        return Plan(None, reason="it does not want to")


@pytest.mark.parametrize(
    "occupied, goal, options, reason",
    [
        (nothing, (9.0, 0.0, 2.0), dict(sees=lambda t: t < 3.0), "no image since"),
        (nothing, (9.0, 0.0, 2.0), dict(planner=after(3_000_000, fail)), "RuntimeError killed$"),
        (
            nothing,
            (9.0, 0.0, 2.0),
            dict(planner=after(3_000_000, sleep), hangs_s=2.0),
            "hangs: no answer in 2 s",
        ),
        (nothing, (9.0, 0.0, 2.0), dict(planner=Silent()), "it does not want to"),
        (wall, (2.0, 0.0, 2.0), {}, "the goal is in an obstacle"),
        (room_around, (9.0, 0.0, 2.0), dict(seconds=16.0), "shut in|no smooth way|all around"),
    ],
)
def test_it_brakes_holds_and_says_why(occupied, goal, options, reason):
    pilot, places, world = flown(occupied, goal, **{"seconds": 10.0, **options})
    assert re.search(reason, pilot.reason)
    assert pilot.held_us >= 0
    assert np.linalg.norm(places[-1] - places[-50]) < 0.2
    assert min(world.field.distance(pos) for pos in places) > 0.25
    # It has braked, not stopped at once.
    vel = np.diff(places, axis=0) / 0.02
    assert np.linalg.norm(np.diff(vel, axis=0) / 0.02, axis=1).max() < 3.0 * LIMITS.acceleration


def test_it_goes_on_when_images_come_back():
    pilot, places, _ = flown(nothing, (9.0, 0.0, 2.0), sees=lambda t: not 2.5 < t < 5.0)
    assert np.linalg.norm(places[-1] - pilot.goal) < 0.1


@pytest.mark.long
def test_a_flight_that_is_loaded_goes_on_as_it_was(tmp_path):
    saved = {}

    def save(t_us, pilot):
        if t_us == 3_000_000:
            snapshot.write(tmp_path / "snapshot", pilot.save(), {})
            saved["yaw"] = pilot.yaw

    def load(t_us, pilot):
        if t_us == 3_000_000:
            pilot.yaw = 99.0
            pilot.voxels.clear()
            pilot.load(snapshot.read(tmp_path / "snapshot")[0])

    _, places, _ = flown(trees, (9.0, 0.0, 2.0), 5.0, at=save)
    _, again, _ = flown(trees, (9.0, 0.0, 2.0), 5.0, at=load)
    assert (places == again).all()
    fresh = a_pilot()
    fresh.load(snapshot.read(tmp_path / "snapshot")[0])
    assert len(fresh.path) > 1
    assert (
        fresh.voxels.occupied() == flown(trees, (9.0, 0.0, 2.0), 3.02)[0].voxels.occupied()
    ).all()


def walking(begin, velocity):
    """Feeds a pilot with what it sees of a person; `apart` are their distances so far."""
    apart = []

    def at(t_us, pilot):
        here = pilot.flown.since(t_us).pos
        place = np.array(begin) + 1e-6 * t_us * np.array(velocity)
        apart.append(float(np.linalg.norm(here[:2] - place)))
        if t_us % 100_000 == 0:
            angles = np.linspace(0.0, 2.0 * np.pi, 20)
            ring = place + 0.25 * np.stack([np.cos(angles), np.sin(angles)], axis=-1)
            pilot.tracks.see(t_us, np.hstack([ring, np.full((20, 1), 1.5)]), here)

    return at, apart


@pytest.mark.long
@pytest.mark.parametrize(
    "begin, velocity, goal",
    [
        ((1.0, 8.0), (0.0, -1.2), (9.0, 0.0, 2.0)),  # across its way
        ((6.0, 0.0), (-1.2, 0.0), (9.0, 0.0, 2.0)),  # towards it
        ((-9.0, 7.0), (0.0, -1.2), (-9.0, 0.4, 2.0)),  # where it rests
    ],
)
def test_it_keeps_off_people(begin, velocity, goal):
    at, apart = walking(begin, velocity)
    rests = goal[0] < 0.0
    pilot, places, _ = flown(nothing, goal, 12.0, at=at, stays=rests)
    assert not rests or pilot.evaded > 0
    assert min(apart) > 0.75
    assert np.linalg.norm(places[-1] - pilot.goal) < 1.0


def test_a_planner_is_told_for_how_long_the_vehicle_has_not_left_its_place():
    told = []

    class Waiting:
        def plan(self, situation):
            told.append(situation.waited)
            return Plan(None, reason="it waits")

    def at(t_us, pilot):
        if t_us == 1_500_000:
            pilot.goal = np.array([5.0, 0.0, 2.0])

    flown(nothing, (9.0, 0.0, 2.0), 2.5, Waiting(), at=at)
    assert told[:3] == pytest.approx([0.0, 0.1, 0.2])
    assert told[14:17] == pytest.approx([1.4, 0.0, 0.1])


class Straight:
    """Flies along x at 2 m/s, whatever there is, and then has no plan."""

    asked = 0

    def plan(self, situation):
        self.asked += 1
        if self.asked > 1:
            return Plan(None, reason="none")
        t = 0.02 * np.arange(200)[:, None]
        velocity = np.tile([2.0, 0.0, 0.0], (200, 1))
        return Plan(
            Trajectory(situation.t_us, situation.pos + velocity * t, velocity, 0 * velocity)
        )


def test_it_stops_before_what_is_seen_where_space_had_seemed_free():
    pilot = a_pilot(Straight())
    shape = pilot.voxels.cells.shape
    pilot.voxels.cells[:] = np.full(shape, -6, dtype=np.int8)  # all of it is known to be free
    pilot.start(0, START, 0.0)
    pilot.goal = START + [8.0, 0.0, 0.0]
    pilot.step(0, START, np.zeros(3), 0)
    before = pilot.flown.pos[-1]
    place = pilot.flown.since(80_000).pos
    tree = np.floor((before + [-0.1, 0.0, 0.0]) / RESOLUTION).astype(int)
    for cell in [tree + [0, dy, dz] for dy in (-1, 0, 1) for dz in range(-3, 4)]:
        pilot.voxels.cells[tuple(cell % shape)] = 9
    pilot.step(100_000, place, np.array([2.0, 0.0, 0.0]), 100_000)
    assert pilot.flown.pos[-1, 0] < before[0] - 0.1 and pilot.flown.vel[-1] == pytest.approx(0.0)
    assert pilot.reason == "none"
