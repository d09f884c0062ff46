"""World files: generators, seeds, clearances, assets of every kind, motion, refusals."""

import math

import numpy as np
import pytest
import yaml

from sensor_models.rendered.lidar import LidarParameters
from xtdrone_batch.errors import BatchError
from xtdrone_batch.scenes import BOX, CYLINDER, KINDS, MESH, NO_OBJECT, PLANE, SPHERE
from xtdrone_batch.simulation import BatchSimulation
from xtdrone_batch.worlds.generate import World
from xtdrone_batch.worlds.world_file import parse_world
from xtdrone_core import resources
from xtdrone_core.command import main
from xtdrone_core.errors import XtdroneError
from xtdrone_sim.world import load_world

NAMES = resources.batch_world_names()


def world_of(folder, *objects, **keys):
    path = folder / "w.yaml"
    path.write_text(yaml.safe_dump({"ground": False, "objects": list(objects), **keys}))
    return World(path)


def standing(scenes, e=0):
    return scenes.objects[e][scenes.objects["kind"][e] != NO_OBJECT]


@pytest.mark.parametrize("name", NAMES)
def test_each_world_of_the_workspace(name):
    world = World(name)
    scenes = world.generate(40, seed=5)
    counts = (scenes.objects["kind"] != NO_OBJECT).sum(axis=1)
    assert counts.min() > 1 and counts.max() <= world.file.objects
    assert np.isfinite(scenes.objects["pos"]).all()
    assert (
        np.abs(
            np.linalg.norm(scenes.objects["quat"][scenes.objects["kind"] > 0], axis=-1) - 1.0
        ).max()
        < 1e-6
    )
    assert set(np.unique(scenes.objects["semantic"])) <= set(range(len(scenes.semantics) + 1))
    # Environments differ from each other, and are the same by themselves and in a batch.
    assert scenes.objects[0].tobytes() != scenes.objects[1].tobytes()
    assert scenes.objects[17:20].tobytes() == world.generate(3, 5, first=17).objects.tobytes()
    assert scenes.objects[0].tobytes() != world.generate(1, 6).objects[0].tobytes()


def test_scattered_instances_keep_their_distance():
    world = World("forest")
    scenes = world.generate(20, seed=1)
    x, y, clear = world.file.spawn
    for e in range(20):
        things = standing(scenes, e)[1:]
        trunks = things[things["kind"] == CYLINDER]
        reach = np.where(things["kind"] == CYLINDER, things["size"][:, 0], things["size"][:, 0])
        place = things["pos"][:, :2].astype(float)
        apart = np.linalg.norm(place[:, None] - place[None], axis=2) - reach - reach[:, None]
        apart[np.eye(len(apart), dtype=bool)] = np.inf
        assert apart.min() > 0.4 - 1e-5
        assert (np.linalg.norm(place - (x, y), axis=1) - reach).min() > clear - 1e-5
        low, high = scenes.bounds[e]
        assert (place >= low[:2]).all() and (place <= high[:2]).all()
        # They stand on the ground, tilted by 0.12 rad at most.
        foot = trunks["pos"][:, 2] - 0.5 * trunks["size"][:, 1]
        assert np.abs(foot).max() < 1e-5 and len(trunks) >= 60


def test_what_is_drawn_is_spread_evenly(tmp_path):
    world = world_of(
        tmp_path,
        {
            "asset": "box",
            "count": [0, 4],
            "size": [[1, 2, 3], [2, 2, 5]],
            "pos": [[-3, 0, 1], [3, 0, 1]],
            "yaw": [0, 1],
            "clearance": -1,
        },
        spawn={"radius": 0.0},
    )
    scenes = world.generate(4000, seed=2)
    o = scenes.objects[scenes.objects["kind"] == BOX]
    counts = np.bincount((scenes.objects["kind"] == BOX).sum(axis=1))
    assert len(counts) == 5 and counts == pytest.approx(800, rel=0.15)
    for values, low, high in (
        (o["pos"][:, 0], -3, 3),
        (o["size"][:, 0], 1, 2),
        (o["size"][:, 2], 3, 5),
        (2 * np.arctan2(o["quat"][:, 2], o["quat"][:, 3]), 0, 1),
    ):
        assert values.min() >= low - 1e-6 and values.max() <= high + 1e-6
        assert values.mean() == pytest.approx((low + high) / 2, abs=0.02 * (high - low))
        assert values.std() == pytest.approx((high - low) / math.sqrt(12), rel=0.02)
    assert (o["size"][:, 1] == 2.0).all() and (o["pos"][:, 1] == 0.0).all()


@pytest.mark.slow
def test_a_gate_is_open_and_a_room_is_closed(tmp_path):
    gate = world_of(tmp_path, {"asset": "gate", "pos": [5, 0, 2], "yaw": 0, "size": [1.5, 1.0]})
    bars = standing(gate.generate(1))
    low = bars["pos"] - 0.5 * bars["size"]
    high = bars["pos"] + 0.5 * bars["size"]
    inside = (low[:, 1:] < (0.74, 2.49)).all(axis=1) & (high[:, 1:] > (-0.74, 1.51)).all(axis=1)
    assert len(bars) == 4 and not inside.any()
    assert (low[:, 1].min(), high[:, 1].max()) == pytest.approx((-0.85, 0.85))
    assert (low[:, 2].min(), high[:, 2].max()) == pytest.approx((1.4, 2.6))
    room = world_of(
        tmp_path,
        {"asset": "room", "pos": [0, 0, 0], "yaw": 0, "size": [6, 4, 3], "clearance": -1},
        ground={},
    )
    batch = BatchSimulation("iris@0,0,1.5", 1, scenes=room)
    lidar = batch.add_lidar(
        LidarParameters(
            (0, 0, 0), (0, 0, 0, 1), 10, 0, 0, 73, -math.pi, math.pi, 31, -1.5, 1.5, 0, 50, 0, 0, 0
        )
    )
    batch.state.pos[0, 0] = 0.0, 0.0, 1.5
    ranges = lidar.scan().ranges
    assert ranges.min() == pytest.approx(1.5, abs=0.02)
    assert ranges.max() < math.hypot(math.hypot(3, 2), 1.5) + 0.01


def test_a_course_is_shared_by_what_stands_along_it():
    scenes = World("corridor").generate(3, seed=9)
    for e in range(3):
        things = standing(scenes, e)
        walls = things[things["semantic"] == 2]
        left, right = walls[:28], walls[28:]
        across = np.linalg.norm((left["pos"] - right["pos"])[:, :2], axis=1)
        assert across == pytest.approx(3.8, abs=1e-5)
        steps = np.linalg.norm(np.diff(0.5 * (left["pos"] + right["pos"]), axis=0), axis=1)
        assert steps == pytest.approx(2.5, abs=1e-5)


def test_resets_make_new_worlds_and_only_theirs():
    batch = BatchSimulation("iris@0,0,1.5", 6, scenes=World("forest"), seed=4)
    first = batch.scenes.objects.copy()
    mask = np.array([False, True, False, False, True, False])
    batch.reset(mask)
    changed = np.array([a.tobytes() != b.tobytes() for a, b in zip(first, batch.scenes.objects)])
    assert (changed == mask).all()
    batch.reset(seed=4)
    assert first.tobytes() == batch.scenes.objects.tobytes()
    other = BatchSimulation("iris@0,0,1.5", 2, scenes=World("forest"), seed=4, first=3, threads=1)
    assert first[3:5].tobytes() == other.scenes.objects.tobytes()


def test_what_moves_stays_in_its_bounds_and_turns_back():
    batch = BatchSimulation(
        "iris@0,0,30", 3, scenes=World("moving"), action="actuator", sub_steps=25
    )
    o = batch.scenes.objects
    moving = o["moving"] > 0
    before = o["pos"].copy()
    speed = np.abs(o["vel"].copy())
    action = np.zeros(batch.action_shape)
    batch.step(action)
    inside = (
        (np.abs(before[..., :2]) < 9.7).all(axis=-1)
        & moving
        & (before[..., 2] > 0.6)
        & (before[..., 2] < 5.9)
    )
    assert (o["pos"] - before)[inside] == pytest.approx(0.1 * o["vel"][inside], abs=1e-5)
    for _ in range(100):
        batch.step(action)
    assert np.abs(o["pos"][moving][:, :2]).max() < 10.3 and moving.sum() > 30
    assert (np.abs(o["vel"]) == speed).all()
    assert np.linalg.norm(o["quat"][moving], axis=-1) == pytest.approx(1.0, abs=1e-4)


# Assets from files --------------------------------------------------------------------------------

OBJ = "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 1 4 3\nf 2 3 4\n"
PLY = """ply
format ascii 1.0
element vertex 3
property float x
property float y
property float z
element face 1
property list uchar int vertex_indices
end_header
0 0 0
1 0 0
0 1 0
3 0 1 2
"""
URDF = """<robot name="r"><link name="a"><collision><origin xyz="0 0 0.5" rpy="0 0 0"/><geometry>
<box size="1 2 1"/></geometry></collision></link>
<link name="b"><collision><geometry><cylinder radius="0.2" length="3"/></geometry></collision>
<collision><origin xyz="0 0 2"/><geometry><sphere radius="0.4"/></geometry></collision>
<collision><geometry><mesh filename="m.obj" scale="2 2 2"/></geometry></collision></link>
<joint name="j" type="fixed"><parent link="a"/><child link="b"/>
<origin xyz="1 0 0" rpy="1.5707963 0 0"/></joint></robot>"""
SDF = """<sdf version="1.6"><model name="m"><link name="l"><pose>0 0 1 0 0 0</pose>
<collision name="c"><geometry><box><size>1 1 2</size></box></geometry></collision>
<collision name="d"><pose>0 3 0 0 0 0</pose><geometry><sphere><radius>0.5</radius></sphere>
</geometry></collision>
<collision name="e"><geometry><mesh><uri>m.obj</uri></mesh></geometry></collision>
</link></model></sdf>"""


@pytest.fixture
def files_(tmp_path):
    for name, text in (("m.obj", OBJ), ("p.ply", PLY), ("r.urdf", URDF), ("s.sdf", SDF)):
        (tmp_path / name).write_text(text)
    return tmp_path


def test_models_grow_and_turn_as_a_whole(files_):
    world = world_of(files_, {"asset": "r.urdf", "pos": [10, 0, 0], "yaw": math.pi / 2, "size": 2})
    box, cylinder, ball, mesh = standing(world.generate(1))
    assert [o["kind"] for o in (box, cylinder, ball, mesh)] == [BOX, CYLINDER, SPHERE, MESH]
    # Twice as large, and turned to the left.
    assert box["pos"] == pytest.approx((10, 0, 1)) and box["size"] == pytest.approx((2, 4, 2))
    assert cylinder["pos"] == pytest.approx((10, 2, 0), abs=1e-5)
    assert cylinder["size"][:2] == pytest.approx((0.4, 6))
    assert ball["pos"] == pytest.approx((14, 2, 0), abs=1e-5)
    assert ball["size"][0] == pytest.approx(0.8)
    assert mesh["size"] == pytest.approx((4, 4, 4)) and len(world.file.meshes) == 1
    world = world_of(files_, {"asset": "s.sdf", "pos": [0, 0, 0], "yaw": 0, "clearance": -1})
    box, ball, mesh = standing(world.generate(1))
    assert box["pos"] == pytest.approx((0, 0, 1)) and box["size"] == pytest.approx((1, 1, 2))
    assert ball["pos"] == pytest.approx((0, 3, 1)) and mesh["kind"] == MESH
    for name in ("m.obj", "p.ply"):
        world = world_of(files_, {"asset": name, "count": 3})
        assert (standing(world.generate(1))["kind"] == MESH).all()


@pytest.mark.parametrize("name", sorted({*resources.world_names()} - {*NAMES}))
def test_worlds_of_the_lockstep_are_batch_worlds(name):
    wanted = [shape for shape in load_world(name).shapes if shape.collides]
    if any(shape.kind not in KINDS for shape in wanted):
        with pytest.raises(XtdroneError, match="a batch has"):
            World(name)
        return
    scenes = World(name).generate(1)
    found = standing(scenes)
    assert len(found) == len(wanted)
    for o, shape in zip(found, wanted):
        assert o["kind"] == KINDS[shape.kind]
        assert o["pos"] == pytest.approx(shape.pose.pos, abs=1e-4)
        assert np.abs(o["quat"]) == pytest.approx(np.abs(shape.pose.quat), abs=1e-6)
        assert o["size"][: len(shape.size)] == pytest.approx(shape.size, rel=1e-6)
    assert found["kind"][0] in (PLANE, BOX)


REFUSED = [
    ({"objetcs": []}, "top: unknown key 'objetcs'.*did you mean 'objects'"),
    ({"objects": 3}, "objects: 3 is not allowed: give a list"),
    ({"bounds": [[0, 0, 0], [0, 1, 1]]}, "bounds: .* give the lowest corner"),
    ({"bounds": "wide"}, "bounds: wide is not allowed"),
    ({"objects": [{"asset": "cube"}]}, "unknown asset 'cube'"),
    ({"objects": [{}]}, r"objects\[0\].asset: nothing is not allowed"),
    ({"objects": [{"asset": "box", "size": [1, 2]}]}, r"objects\[0\].size: .*give 3 numbers"),
    ({"objects": [{"asset": "box", "size": [[1, 1, 1], [2, 0.5, 2]]}]}, "give the lower value"),
    ({"objects": [{"asset": "box", "size": [0, 1, 1]}]}, "size: .* give numbers from 1e-06"),
    ({"objects": [{"asset": "box", "count": 1.5}]}, "count: 1.5 is not allowed: give whole"),
    ({"objects": [{"asset": "box", "count": -1}]}, "count: -1 is not allowed"),
    ({"objects": [{"asset": "box", "count": 10**6}]}, "count: 1000000 is not allowed"),
    ({"objects": [{"asset": "box", "count": 90000}] * 2}, "180001 objects is not allowed"),
    ({"objects": [{"asset": "box", "colour": [2, 0, 0]}]}, "colour: .* to 1"),
    ({"objects": [{"asset": "box", "place": "road"}]}, "place: road is not allowed"),
    ({"objects": [{"asset": "gate", "velocity": [1, 0, 0]}]}, "only what has one part moves"),
    ({"objects": [{"asset": "box", "pos": [float("nan"), 0, 0]}]}, "pos: .* is not allowed"),
    ({"course": {"step": 0}}, "course.step: 0 is not allowed"),
    ([], "top: .* give keys of"),
]


@pytest.mark.parametrize(("given", "message"), REFUSED, ids=[each[1][:24] for each in REFUSED])
def test_bad_world_files_are_named(given, message, tmp_path):
    with pytest.raises(BatchError, match=message) as caught:
        parse_world(given, tmp_path / "w.yaml")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("bad.urdf", "<robot", "is not a URDF"),
        ("bad.ply", "ply\n", "is not a mesh"),
        ("bad.obj", "v 0 0 0\n", "bad.obj"),
        ("x.txt", "", "is not an asset: give an SDF"),
    ],
)
def test_bad_assets_are_named(name, text, message, tmp_path):
    (tmp_path / name).write_text(text)
    with pytest.raises(XtdroneError, match=message):
        parse_world({"objects": [{"asset": name}]}, tmp_path / "w.yaml")


def test_worlds_too_large_for_memory_are_refused(tmp_path):
    world = world_of(tmp_path, {"asset": "box", "count": 90_000, "clearance": -1})
    with pytest.raises(BatchError, match="100000 environments of 90001 objects need"):
        world.generate(100_000)


@pytest.mark.long
def test_the_command_lists_and_draws(tmp_path, capsys):
    picture = tmp_path / "f.png"
    assert main(["batch", "show", "room", "--environment", "3", "--out", str(picture)]) == 0
    printed = capsys.readouterr().out
    assert "room, environment 3 of seed 0" in printed and "furniture" in printed
    assert picture.stat().st_size > 20_000
    assert main(["batch", "show", "rom"]) == 1
    assert "unknown world 'rom'" in capsys.readouterr().err
