"""Exported flights, read by trimesh and usd-core, and by three.js in Chromium; refusals."""

import subprocess
import sys

import numpy as np
import pytest

import gltf_page
import recorded_flights
from xtdrone_core import FleetModel, FleetState, Scenario
from xtdrone_core.command import main
from xtdrone_core.runs.truth_log import read_truth
from xtdrone_sim.engines.body import place_bodies
from xtdrone_sim.vehicles.sdf import load_vehicle
from xtdrone_sim.world import load_world
from xtdrone_web.export.glb import FlightGlb
from xtdrone_web.export.motion import sampled
from xtdrone_web.export.stage import fill
from xtdrone_web.export.usd import FlightUsd
from xtdrone_web.replay.recording import Recording, empty

SECONDS, RATE = 9.0, 25.0
NAMES = ("iris_stereo_0", "iris_1")


@pytest.fixture(scope="module")
def flown(tmp_path_factory):
    return recorded_flights.fly(
        tmp_path_factory.mktemp("export") / "flown", SECONDS, vehicles="iris_stereo@0,0; iris@3,0"
    )


@pytest.fixture(scope="module")
def glb(flown):
    path = flown.parent / "flight.glb"
    assert main(["export", str(flown), "--out", str(path)]) == 0
    return path


@pytest.fixture(scope="module")
def usd(flown):
    pytest.importorskip("pxr")
    path = flown.parent / "flight.usdz"
    assert main(["export", str(flown), "--out", str(path), "--world", "empty"]) == 0
    return path


def truth_at(flown, begin_s, t_s):
    """True poses (K, N, 13) of the log at times, which are those of its records."""
    t_us, table = read_truth(flown / "truth.bin", len(NAMES))
    rows = np.searchsorted(t_us, (begin_s + np.asarray(t_s)) * 1e6 - 1000)
    assert np.abs(t_us[rows] * 1e-6 - begin_s - t_s).max() < 1e-3
    return table[rows]


class Told:
    """JSON and accessors of a GLB."""

    def __init__(self, path):
        self.json, self.binary = gltf_page.told(path.read_bytes())
        self.index = {node["name"]: k for k, node in enumerate(self.json["nodes"])}

    def values(self, number):
        accessor = self.json["accessors"][number]
        wide = {"SCALAR": 1, "VEC3": 3, "VEC4": 4}[accessor["type"]]
        start = self.json["bufferViews"][accessor["bufferView"]]["byteOffset"]
        return np.frombuffer(self.binary, "<f4", wide * accessor["count"], start).reshape(-1, wide)

    def track(self, node, path):
        """Times (K,) and values of a node's channel."""
        found = self.json["animations"][0]
        channel = next(
            channel
            for channel in found["channels"]
            if channel["target"] == {"node": self.index[node], "path": path}
        )
        sampler = found["samplers"][channel["sampler"]]
        return self.values(sampler["input"])[:, 0], self.values(sampler["output"])


def test_gltf_moves_as_the_truth_log_says(flown, glb):
    told = Told(glb)
    begin = told.json["asset"]["extras"]["begin_s"]
    for i, name in enumerate(NAMES):
        t_s, pos = told.track(name, "translation")
        _, quat = told.track(name, "rotation")
        truth = truth_at(flown, begin, t_s)[:, i]
        assert len(t_s) > 100 and np.allclose(np.diff(t_s), 1.0 / RATE, atol=1e-6)
        assert np.abs(pos - truth[:, :3]).max() < 1e-3 and np.ptp(truth[:, 2]) > 1.0
        assert np.abs(np.sum(quat * truth[:, 3:7], axis=1)).min() > 1.0 - 1e-6
    _, spin = told.track("iris_1/rotor_0", "rotation")
    turns = 2.0 * np.arccos(np.clip(np.abs(np.sum(spin[1:] * spin[:-1], axis=1)), 0.0, 1.0))
    assert turns[0] < 1e-3 and turns[-1] == pytest.approx(2.0, abs=1e-2)  # it is on, at the limit


def test_gltf_has_cameras_paths_and_light(glb):
    told = Told(glb).json
    names = {node["name"] for node in told["nodes"]}
    assert {"world", "overview", "paths/iris_1", "iris_stereo_0/stereo_camera_left"} <= names
    assert len(told["cameras"]) == 3
    assert all(0.2 < camera["perspective"]["yfov"] < 2.5 for camera in told["cameras"])
    assert told["extensionsUsed"] == ["KHR_lights_punctual", "KHR_materials_unlit"]


def test_gltf_is_read_by_trimesh_with_y_up(flown, glb):
    trimesh = pytest.importorskip("trimesh")
    scene = trimesh.load(glb)
    first = truth_at(flown, 0.02, [0.0])[0]
    for i, name in enumerate(NAMES):
        matrix, _ = scene.graph.get(name)
        x, y, z = first[i, :3]
        np.testing.assert_allclose(matrix[:3, 3], (x, z, -y), atol=1e-3)
    size = scene.bounds[1] - scene.bounds[0]
    assert size[0] == pytest.approx(1000.0, abs=1.0) and size[1] < 20.0  # the ground lies


def test_usd_moves_as_the_truth_log_says(flown, usd):
    from pxr import Usd, UsdGeom

    stage = Usd.Stage.Open(str(usd))
    assert UsdGeom.GetStageUpAxis(stage) == "Z" and UsdGeom.GetStageMetersPerUnit(stage) == 1.0
    assert stage.GetTimeCodesPerSecond() == RATE
    begin = stage.GetRootLayer().customLayerData["begin_s"]
    frames = np.arange(0, int(stage.GetEndTimeCode()) + 1, 5)
    truth = truth_at(flown, begin, frames / RATE)
    for k, frame in enumerate(frames):
        cache = UsdGeom.XformCache(float(frame))
        for i, name in enumerate(NAMES):
            pose = cache.GetLocalToWorldTransform(stage.GetPrimAtPath(f"/Flight/{name}"))
            assert np.abs(np.array(pose.ExtractTranslation()) - truth[k, i, :3]).max() < 1e-3


def test_usd_keeps_the_rules_of_its_own_validators(usd):
    from pxr import Usd, UsdGeom, UsdValidation

    context = UsdValidation.ValidationContext(
        UsdValidation.ValidationRegistry().GetOrLoadAllValidators()
    )
    assert [error.GetMessage() for error in context.Validate(Usd.Stage.Open(str(usd)))] == []
    bad = Usd.Stage.CreateInMemory()  # the validators do find what is wrong
    UsdGeom.Xform.Define(bad, "/without_a_default_prim")
    assert context.Validate(bad)


def test_usd_shows_materials_through_its_references(usd):
    from pxr import Usd, UsdGeom, UsdShade

    stage = Usd.Stage.Open(str(usd))
    body = stage.GetPrimAtPath("/Flight/iris_1/body_0/shape")
    meshes = [prim for prim in body.GetChildren() if prim.IsA(UsdGeom.Mesh)]
    assert meshes and all(
        UsdShade.MaterialBindingAPI(mesh).ComputeBoundMaterial()[0] for mesh in meshes
    )
    turn = stage.GetPrimAtPath("/Flight/iris_1/rotor_0") or next(
        prim for prim in stage.Traverse() if prim.GetName() == "rotor_0"
    )
    assert UsdGeom.Xformable(turn).TransformMightBeTimeVarying()


@pytest.fixture(scope="module")
def gimbal():
    """A recording of a typhoon whose gimbal and legs move."""
    model, spec = load_vehicle("typhoon_h480"), Scenario(vehicles="typhoon_h480").vehicles[0]
    t_s = np.arange(0.0, 1.001, 0.02)
    table = empty(len(t_s), 1)
    table["pos"][:, 0] = (1.0, 2.0, 3.0)
    for k in (6, 7):
        table["actuator"][:, 0, k] = 0.5 * np.sin((k - 3) * t_s)
    return Recording("gimbal", "MCAP", load_world("empty"), [spec], [model], t_s, table)


def bodies_of(recording, t_s):
    """Positions (B, 3) and attitudes (B, 4) of all bodies, as the engines have them."""
    model = recording.models[0]
    fleet, records = FleetModel.of((model,)), recording.at(t_s)
    state = FleetState.zeros(1, len(model.actuators), len(model.joints), len(model.bodies))
    state.pos[:], state.quat[:] = records["pos"], records["quat"]
    for k, actuator in enumerate(model.actuators[:8]):
        if actuator.kind == "servo":
            state.joint_pos[0, actuator.joint] = records["actuator"][0, k]
    place_bodies(fleet, state)
    return state.body_pos[0], state.body_quat[0]


def test_joints_turn_as_the_engines_have_them(gimbal, tmp_path):
    trimesh = pytest.importorskip("trimesh")
    motion = sampled(gimbal, [0], 0.0, 1.0, 10.0)
    stage = FlightGlb("gimbal", motion)
    fill(stage, gimbal, [0], motion)
    stage.write(tmp_path / "gimbal.glb")
    told = Told(tmp_path / "gimbal.glb")
    for k in (0, 5, 10):
        pos, quat = bodies_of(gimbal, k / 10.0)
        for body in range(len(pos)):
            at = np.eye(4)
            chain, nodes = told.index[f"typhoon_h480_0/body_{body}"], told.json["nodes"]
            while chain:  # up to the root, which turns z up to y up
                node = nodes[chain]
                tracks = {
                    channel["target"]["path"]: told.values(
                        told.json["animations"][0]["samplers"][channel["sampler"]]["output"]
                    )[k]
                    for channel in told.json["animations"][0]["channels"]
                    if channel["target"]["node"] == chain
                }
                x, y, z, w = tracks.get("rotation", node["rotation"])
                own = trimesh.transformations.quaternion_matrix((w, x, y, z))
                own[:3, 3] = tracks.get("translation", node["translation"])
                at = own @ at
                chain = next(n for n, each in enumerate(nodes) if chain in each.get("children", ()))
            np.testing.assert_allclose(at[:3, 3], pos[body], atol=1e-5)
            x, y, z, w = quat[body]
            np.testing.assert_allclose(
                at[:3, :3],
                trimesh.transformations.quaternion_matrix((w, x, y, z))[:3, :3],
                atol=1e-5,
            )


def test_usd_joints_and_rotors(gimbal):
    pytest.importorskip("pxr")
    from pxr import UsdGeom

    gimbal.table["actuator"][:, 0, 0] = 500.0
    motion = sampled(gimbal, [0], 0.0, 1.0, 10.0)
    made = FlightUsd("gimbal", motion)
    fill(made, gimbal, [0], motion)
    prims = {prim.GetName(): prim for prim in made.stage.Traverse()}
    for k in (0, 5, 10):
        cache = UsdGeom.XformCache(float(k))
        pos, _ = bodies_of(gimbal, k / 10.0)
        for body in range(len(pos)):
            pose = cache.GetLocalToWorldTransform(prims[f"body_{body}"])
            np.testing.assert_allclose(pose.ExtractTranslation(), pos[body], atol=1e-5)
    spin = prims["rotor_0"].GetAttribute("xformOp:rotateZ:spin")
    direction = gimbal.models[0].rotors[0].direction
    assert np.radians(spin.Get(10)) == pytest.approx(direction * 500.0, rel=1e-6)


@pytest.mark.parametrize(
    "words, said",
    [
        (["--out", "x.fbx"], "give a name that ends in .glb, .usdc, .usda, .usdz"),
        (["--vehicles", "iris_7"], "unknown vehicle 'iris_7'"),
        (["--from", "60"], "there is nothing"),
        (["--rate", "0"], "rate"),
        (["--out", "nowhere/x.glb"], "give a file in a folder that can be written"),
    ],
)
def test_refused_in_a_line(flown, tmp_path, monkeypatch, capsys, words, said):
    monkeypatch.chdir(tmp_path)
    try:
        status = main(["export", str(flown), *words])
    except SystemExit as ended:
        status = ended.code
    error = capsys.readouterr().err
    assert status and said in error and "Traceback" not in error
    assert list(tmp_path.iterdir()) == []


def test_somebody_elses_file_is_left_alone(flown, usd, tmp_path, capsys):
    for name in ("mine.glb", "mine.usda"):
        (tmp_path / name).write_text("#usda 1.0\n")
        assert main(["export", str(flown), "--out", str(tmp_path / name)])
        assert "it is left alone" in capsys.readouterr().err
        assert (tmp_path / name).read_text() == "#usda 1.0\n"
    assert main(["export", str(flown), "--out", str(usd)]) == 0  # our own is replaced


def test_without_usd_core_it_says_what_to_install(flown, tmp_path):
    code = (
        "import sys; sys.modules['pxr'] = None\n"
        "from xtdrone_core.command import main\n"
        f"sys.exit(main(['export', {str(flown)!r}, '--out', 'x.usdc']))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, cwd=tmp_path
    )
    assert done.returncode and done.stderr.count("\n") == 1
    assert "pip install" in done.stderr and "[usd]'" in done.stderr


def test_some_vehicles_a_span_and_less(flown, tmp_path):
    path = tmp_path / "some.glb"
    assert (
        main(
            [
                "export",
                str(flown),
                "--out",
                str(path),
                "--vehicles",
                "iris_1",
                "--from",
                "1",
                "--to",
                "2",
                "--rate",
                "50",
                "--paths",
                "false",
                "--cameras",
                "false",
            ]
        )
        == 0
    )
    told = Told(path)
    assert "iris_1" in told.index and "iris_stereo_0" not in told.index
    assert "cameras" not in told.json and not any("path" in name for name in told.index)
    t_s, _ = told.track("iris_1", "translation")
    assert len(t_s) == 51 and told.json["asset"]["extras"]["begin_s"] == 1.0


@pytest.mark.long
def test_three_js_plays_it(flown, glb, context):
    with gltf_page.playing(context, glb) as page:
        found = [gltf_page.where(page, t, NAMES) for t in (0.0, 3.0, 8.0)]
    truth = truth_at(flown, Told(glb).json["asset"]["extras"]["begin_s"], [0.0, 3.0, 8.0])
    x, y, z = np.moveaxis(truth[..., :3], -1, 0)
    assert np.abs(np.array(found) - np.stack([x, z, -y], axis=-1)).max() < 1e-3


def test_people_and_cars_move_as_the_world_has_them(gimbal, tmp_path):
    world = load_world("street")
    flight = Recording(
        "street", "run", world, gimbal.specs, gimbal.models, gimbal.t_s + 5.0, gimbal.table
    )
    motion = sampled(flight, [0], 5.0, 6.0, 10.0)
    stage = FlightGlb("street", motion)
    fill(stage, flight, [0], motion, cameras=False)
    stage.write(tmp_path / "street.glb")
    told = Told(tmp_path / "street.glb")
    for name, limb in (("car_red", "front_left_wheel"), ("ann", "left_leg")):
        actor = next(each for each in world.actors if each.name == name)
        k = [each.name for each in actor.limbs].index(limb)
        _, pos = told.track(f"{name}/{limb}", "translation")
        _, quat = told.track(f"{name}/{limb}", "rotation")
        poses = [actor.limbs_at(5.0 + t)[k] for t in motion.t_s]
        assert np.abs(pos - [pose.pos for pose in poses]).max() < 1e-4 and np.ptp(pos[:, :2]) > 1.0
        assert np.abs(np.sum(quat * [pose.quat for pose in poses], axis=1)).min() > 1.0 - 1e-5
        assert np.sum(quat[1:] * quat[:-1], axis=1).min() >= 0.0
