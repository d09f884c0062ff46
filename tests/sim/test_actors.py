"""People and cars of worlds: where they are, what sees and touches them, what is refused."""

import itertools
import math

import numpy as np
import pytest

import xtdrone as xd
from sensor_models.lens import Pinhole
from xtdrone_core import FleetState, ScenarioError
from xtdrone_core.scenario.vehicles import parse_vehicles
from xtdrone_sim.errors import SdfError
from xtdrone_sim.rendering.scene import RenderedScene
from xtdrone_sim.vehicles.sdf import load_vehicle
from xtdrone_sim.world import load_world

PATH = "<trajectory id='0' type='walking'>{}</trajectory>"
POINT = "<waypoint><time>{}</time><pose>{} 0 0 0 0 0</pose></waypoint>"


def write(folder, actor):
    path = folder / "test.world"
    path.write_text(f"""<sdf version="1.7"><world name="w">
<include><uri>model://ground_plane</uri></include>
{actor}
</world></sdf>""")
    return path


def actor(*points, figure="person", more=""):
    path = PATH.format("\n".join(POINT.format(*point) for point in points))
    return (
        f'<actor name="ann"><xtdrone:figure xmlns:xtdrone="urn:xtdrone">{figure}'
        f"</xtdrone:figure>{more}<script><loop>1</loop>{path}</script></actor>"
    )


WALK = actor((0, -3), (4, 3))


def test_limbs_swing_with_the_way_and_come_to_rest(tmp_path):
    path = write(tmp_path, actor((0, 0), (4, 6), (8, 6), (12, 6)))
    (ann,) = load_world(path).actors
    names = [limb.name for limb in ann.limbs]
    left, right = names.index("left_leg"), names.index("right_leg")
    assert ann.arc_length(2.0) == pytest.approx(3.0)
    assert ann.arc_length(13.0) == pytest.approx(
        ann.arc_length(12.0) + ann.arc_length(1.0)
    )  # the next round

    def leaning(k, t):  # of a limb, forwards
        _, y, _, w = ann.limbs[k].at(ann.arc_length(t), 1.0).quat
        return 2.0 * math.atan2(y, w)

    angles = np.array([[leaning(left, t), leaning(right, t)] for t in np.linspace(0.5, 3.5, 31)])
    assert np.ptp(angles) > 0.9 and np.allclose(angles[:, 0], -angles[:, 1], atol=1e-4)
    at_rest = ann.limbs_at(10.0)
    assert at_rest[left].quat == pytest.approx(ann.pose(10.0).quat, abs=1e-3)
    for limb, pose in zip(ann.limbs, ann.limbs_at(2.0)):
        assert np.allclose(pose.pos, np.add(ann.pose(2.0).pos, limb.pose.pos))  # about its joint


def test_wheels_roll_without_slip(tmp_path):
    (cab,) = load_world(write(tmp_path, actor((0, 0), (4, 20), figure="car"))).actors
    wheel = next(limb for limb in cab.limbs if limb.name == "front_left_wheel")
    assert wheel.turn == pytest.approx(1.0 / wheel.pose.pos[2])  # it stands on the ground
    assert wheel.axis == (0.0, 1.0, 0.0)  # forwards


def test_colour_paints_what_is_named_so(tmp_path):
    more = '<xtdrone:colour xmlns:xtdrone="urn:xtdrone">0 1 0</xtdrone:colour>'
    (ann,) = load_world(write(tmp_path, actor((0, 0), (1, 1), more=more))).actors
    green = {
        shape.name.rpartition("::")[2]
        for limb in ann.limbs
        for shape in limb.shapes
        if shape.look.colour == (0.0, 1.0, 0.0, 1.0)
    }
    assert green == {"paint_shirt", "paint_sleeve"}


def test_lidars_range_finders_and_depth_cameras_see_a_person_where_it_is(tmp_path):
    world = load_world(write(tmp_path, WALK))
    scene = RenderedScene(world, parse_vehicles("iris@-9,0,5"), [load_vehicle("iris")], (32, 32))
    state = FleetState.zeros(1, 4)
    state.pos[0] = -9.0, 0.0, 5.0
    for t in (1.0, 2.0, 3.0):
        state.t_us = round(t * 1e6)
        scene.place(state)
        x = world.actors[0].pose(t).pos[0]
        found = scene.cast(0, (x, -5.0, 1.3), np.array([0.0, 1.0, 0.0]), 100.0)[0]
        assert 4.5 < found < 5.0  # the chest or an arm
        assert scene.cast(0, (x + 1.5, -5.0, 1.3), np.array([0.0, 1.0, 0.0]), 100.0)[0] == np.inf
        _, depth = scene.draw(
            (x, -5.0, 1.3),
            (0, 0, math.sqrt(0.5), math.sqrt(0.5)),
            Pinhole(-0.5, 0.5, -0.5, 0.5, 32, 32),
            0.1,
            50.0,
            depth=True,
        )
        assert depth[16, 16] == pytest.approx(found, abs=0.2)  # or beside the arm
    scene.close()


def test_a_person_walks_into_a_sleeping_vehicle_which_is_told(tmp_path):
    touched = []
    with xd.Simulation(
        xd.Scenario(vehicles="iris@1,0; iris@0,9", gps="rtk", world=str(write(tmp_path, WALK)))
    ) as sim:
        sim.on_contact(lambda t, one, other: touched.append((round(t, 2), one, other)))
        sim.run(3.2)
        ann = next(t for t, one, other in touched if {one, other} == {"ann", "iris_0"})
        assert 1.8 < ann < 2.6  # it comes to x = 1 after 2.6 s, with its feet before it
        assert not any(
            "iris_1" in (one, other) and "ann" in (one, other) for _, one, other in touched
        )
        assert sim.state.pos[1, :2] == pytest.approx((0.0, 9.0), abs=0.01)
        assert np.linalg.norm(sim.state.pos[0, :2] - (1.0, 0.0)) > 0.1
        assert sim.where("ann")[0] == pytest.approx(
            load_world(tmp_path / "test.world").actors[0].pose(sim.time).pos[0], abs=0.02
        )


@pytest.mark.slow
def test_the_same_flight_twice_and_after_load(tmp_path):
    world = str(write(tmp_path, WALK))
    ends = []
    with xd.Simulation(xd.Scenario(vehicles="iris@1,0", gps="rtk", world=world)) as sim:
        sim.run(1.5)
        sim.save(tmp_path / "scene.zip")
        for _ in range(2):
            sim.run(1.5)
            ends.append((sim.state.pos.copy(), sim.state.quat.copy()))
            sim.load(tmp_path / "scene.zip")
    assert np.array_equal(ends[0][0], ends[1][0]) and np.array_equal(ends[0][1], ends[1][1])


@pytest.mark.parametrize(
    "what, said",
    [
        (actor((0, 0)), "has one <waypoint>"),
        (actor((0, 0), (2, 1), (2, 3)), "<time> 2 of actor 'ann' does not rise"),
        (actor((-1, 0), (2, 1)), "<time> -1 of actor 'ann' does not rise"),
        (actor((0, 0), (2, "nan")), "<pose> is 'nan 0 0 0 0 0'"),
        (actor((0, 0), ("nan", 1)), "<time> is 'nan'"),
        (actor((0, 0), (1, 1), figure="unicorn"), "'unicorn' does not exist"),
    ],
)
def test_refused_with_file_and_line(tmp_path, what, said):
    with pytest.raises(SdfError) as refused:
        load_world(write(tmp_path, what))
    text = str(refused.value)
    assert said in text and "\n" not in text
    assert text.startswith(f"{tmp_path}/test.world:") and text.split(":")[1].isdigit()


@pytest.mark.parametrize(
    "options, said",
    [
        (dict(route=((0, 0),), way="once"), "has 1 points"),
        (dict(route=((0, 0), (1, 0))), "give 3 or more"),
        (dict(route=((0, 0), (1, math.nan)), way="once"), "two or three finite numbers"),
        (dict(route=((0, 0), (0, 0)), way="once"), "the same point twice"),
        (dict(route=((0, 0), (1, 0)), way="back"), "way of actor 'ann'"),
        (dict(route=((0, 0), (1, 0)), way="once", speed=0.0), "numbers above 0"),
    ],
)
def test_routes_that_are_none(options, said):
    with pytest.raises(ScenarioError, match=said):
        xd.Person(name="ann", **options)


@pytest.mark.parametrize("way", ["round", "to_and_fro", "once"])
def test_routes_are_walked_at_their_speed(way):
    route = ((0, 0), (10, 0), (10, 8), (0, 8))
    ann = xd.Person(name="ann", route=route, way=way, speed=2.0)
    (walker,) = load_world(xd.Scene(name="yard", actors=(ann,))).actors
    times = np.arange(0.1, walker.times[-1] - 0.1, 0.1)
    speeds = [(walker.arc_length(t + 0.05) - walker.arc_length(t - 0.05)) / 0.1 for t in times]
    assert np.median(speeds) == pytest.approx(2.0, rel=0.02) and max(speeds) < 2.7
    points = np.array([walker.pose(t).pos for t in times])
    for corner in route[1:3]:
        assert np.linalg.norm(points[:, :2] - corner, axis=1).min() < 0.4
    ends = {"round": (0.5, 0.0), "to_and_fro": (0.0, 0.0), "once": (0.0, 8.0)}[way]
    assert np.linalg.norm(np.subtract(walker.poses[-1].pos[:2], ends)) < 0.1
    assert walker.loop == (way != "once")
    for before, after in itertools.pairwise(times):  # it looks where it goes
        a, b = walker.pose(before), walker.pose(after)
        gone = np.subtract(b.pos, a.pos)
        if np.linalg.norm(gone) > 0.19:
            assert np.dot(gone, a.direction((1.0, 0.0, 0.0))) > 0.8 * np.linalg.norm(gone)


def test_street_has_room_and_nothing_drives_through_houses():
    world = load_world("street")
    assert {"car_red", "ann"} <= {each.name for each in world.actors} and not world.remarks
    houses = [shape for shape in world.shapes if shape.name.startswith("house") and shape.collides]
    for each in world.actors:
        for t in np.arange(0.0, each.times[-1], 0.5):
            x, y, z = each.pose(t).pos
            assert max(abs(x), abs(y)) > 7.0 or each.name == "eve"
            assert z == pytest.approx(0.0, abs=1e-6)
            for house in houses:
                apart = (
                    np.abs(np.subtract((x, y), house.pose.pos[:2])) - np.array(house.size[:2]) / 2
                )
                assert apart.max() > 1.0
