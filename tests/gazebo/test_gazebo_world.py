"""The SDF that Gazebo gets, and the set-up's refusals; needs no Gazebo."""

import math
import os
import subprocess

import numpy as np
import pytest
from lxml import etree

from sensor_models.cameras import cameras_of
from xtdrone_core import VehicleSpec, resources
from xtdrone_dynamics.constants import GRAVITY
from xtdrone_sim.engines.gazebo import engine as gazebo_engine
from xtdrone_sim.engines.gazebo.scene import scanners
from xtdrone_sim.engines.gazebo.world import model_sdf, world_sdf
from xtdrone_sim.errors import EngineError
from xtdrone_sim.vehicles.pose import Pose, start_pose
from xtdrone_sim.vehicles.sdf import load_vehicle
from xtdrone_sim.world import load_world
from xtdrone_sim.world.models import read_model

ONE_BODY = [name for name in resources.vehicle_names() if len(load_vehicle(name).bodies) == 1]
WORLDS = resources.world_names()
SCRIPT = resources.root() / "scripts" / "setup_gazebo.sh"


@pytest.mark.parametrize(
    "world, vehicle",
    [  # each vehicle in one world, each world with several vehicles
        pytest.param(world, vehicle, marks=[] if (k - m) % len(WORLDS) == 0 else [pytest.mark.long])
        for m, world in enumerate(WORLDS)
        for k, vehicle in enumerate(ONE_BODY)
    ],
)
def test_the_world_holds_the_vehicle_as_one_body_and_the_plugin(world, vehicle):
    spec, model = VehicleSpec(vehicle, "one", (1.0, 2.0, 0.5), 0.3), load_vehicle(vehicle)
    text = world_sdf(load_world(world), (spec,), (model,), "/p.so", "/s", "/looks", 0.004)
    root = etree.fromstring(text)
    plugins = root.findall(".//plugin")
    assert [p.get("filename") for p in plugins] == ["/p.so"]
    assert plugins[0].findtext("socket") == "/s"
    assert float(root.findtext(".//physics/max_step_size")) == 0.004
    (body,) = root.findall(".//model[@name='one']")
    (link,) = body.findall("link")
    assert float(link.findtext("inertial/mass")) == model.mass
    inertia = [
        [float(link.findtext(f"inertial/inertia/i{''.join(sorted(a + b))}")) for a in "xyz"]
        for b in "xyz"
    ]
    np.testing.assert_allclose(inertia, model.inertia, atol=1e-15)
    pose = [float(x) for x in body.findtext("pose").split()]
    np.testing.assert_allclose(pose[:3], start_pose(spec, model).pos)
    assert pose[5] == pytest.approx(0.3)
    assert link.findall("collision") and link.findall("visual")
    assert all(c.findtext("surface/contact/ode/kp") for c in link.findall("collision"))
    assert "urn:xtdrone" not in text


def test_four_feet_carry_a_vehicle_and_are_damped_critically():
    spec, model = VehicleSpec("iris", "one", (0.0, 0.0, 0.0)), load_vehicle("iris")
    text = world_sdf(load_world("empty"), (spec,), (model,), "/p.so", "/s", "/looks", 0.004)
    root = etree.fromstring(text)
    contact = root.find(".//model[@name='one']//collision/surface/contact/ode")
    kp, kd, max_vel, min_depth = (float(one.text) for one in contact)
    assert [one.tag for one in contact] == ["kp", "kd", "max_vel", "min_depth"]
    assert 4 * kp * 5e-4 == pytest.approx(model.mass * GRAVITY)  # half a millimetre deep
    assert kd == pytest.approx(2.0 * math.sqrt(kp * model.mass / 4))
    assert (max_vel, min_depth) == (1.0, 0.0)


def test_a_world_without_physics_gets_that_of_the_lockstep(tmp_path):
    path = tmp_path / "bare.world"
    path.write_text('<sdf version="1.7"><world name="bare"/></sdf>')
    text = world_sdf(load_world(str(path)), (), (), "/p.so", "/s", "/looks", 0.004)
    (physics,) = etree.fromstring(text).iter("physics")
    assert {one.tag: float(one.text) for one in physics} == {
        "max_step_size": 0.004,
        "real_time_factor": 0.0,
        "real_time_update_rate": 0.0,
    }


@pytest.mark.parametrize("static", [True, False])
def test_an_inserted_model_has_a_mass_where_it_moves(static):
    text = (
        f'<sdf version="1.7"><model name="ball"><static>{static}</static><link name="l"><inertial>'
        "<mass>2</mass></inertial><collision name='c'><geometry><sphere><radius>0.2</radius>"
        "</sphere></geometry></collision></link></model></sdf>"
    )
    model = etree.fromstring(model_sdf(read_model(text, "ball", Pose((0.0, 0.0, 1.0)))))
    (link,) = model.iter("link")
    assert [float(mass.text) for mass in link.iter("mass")] == ([] if static else [2.0])
    assert bool(link.findall("collision/surface/contact")) is not static


@pytest.mark.parametrize(
    "vehicle,kind,names",
    [
        ("iris_stereo", "multicamera", ["left", "right"]),
        ("iris_depth", "depth", ["image"]),
        ("iris_3d_lidar", None, []),
    ],
)
def test_cameras_are_gazebos_own_sensors_without_noise_and_asleep(vehicle, kind, names):
    specs, models = (VehicleSpec(vehicle, "one", (0.0, 0.0, 0.0)),), (load_vehicle(vehicle),)
    world = load_world("outdoor")
    root = etree.fromstring(world_sdf(world, specs, models, "/p.so", "/s", "/looks", 0.004))
    assert root.findtext(".//plugin/looks") == "/looks"
    sensors = root.findall(".//sensor")
    assert [sensor.get("type") for sensor in sensors] == ([kind] if kind else [])
    cameras = [camera for sensor in sensors for camera in sensor.findall("camera")]
    assert [camera.get("name") for camera in cameras] == names
    assert not root.findall(".//noise") and not root.findall(".//distortion")
    wanted = [
        camera
        for block in models[0].sensors
        if block.kind in ("camera", "depth")
        for camera in cameras_of(block)
    ]
    for element, camera in zip(cameras, wanted):
        assert int(element.findtext("image/width")) == camera.width
        place = [float(x) for x in element.findtext("pose").split()]
        np.testing.assert_allclose(place[:3], camera.pos)
    assert all(sensor.findtext("always_on") == "0" for sensor in sensors)


def test_without_set_up_it_says_what_to_do(monkeypatch, tmp_path):
    (tmp_path / "models").symlink_to(resources.root() / "models")
    world = load_world("empty")
    spec, model = VehicleSpec("iris", "iris_0", (0.0, 0.0, 0.0)), load_vehicle("iris")
    monkeypatch.setenv("XTDRONE_ROOT", str(tmp_path))
    with pytest.raises(EngineError, match="setup_gazebo.sh"):
        gazebo_engine.GazeboEngine(world, (spec,), (model,))


def test_a_world_with_something_called_like_a_vehicle_is_refused(tmp_path):
    path = tmp_path / "w.world"
    path.write_text(
        '<sdf version="1.7"><world name="w"><model name="one"><static>1</static>'
        '<link name="l"/></model></world></sdf>'
    )
    spec, model = VehicleSpec("iris", "one", (0.0, 0.0, 0.0)), load_vehicle("iris")
    with pytest.raises(EngineError, match="'one' like a vehicle.*: rename one"):
        world_sdf(load_world(str(path)), (spec,), (model,), "/p.so", "/s", "/looks", 0.004)


@pytest.mark.parametrize("uri", ["http://localhost:xx", "localhost", "http://localhost"])
def test_a_master_address_without_a_port_is_refused(uri):
    with pytest.raises(EngineError, match=f"GAZEBO_MASTER_URI is '{uri}': give"):
        gazebo_engine.refuse_taken_port(uri)


def test_a_plugin_of_other_sources_is_refused(monkeypatch, tmp_path):
    setup = tmp_path / ".setup" / "gazebo11"
    setup.mkdir(parents=True)
    for name in ("libxtdrone_lockstep.so", "env.sh"):
        (setup / name).touch()
    (setup / "plugin").write_text("0123456789abcdef\n")
    for name in ("models", "worlds", "src"):
        (tmp_path / name).symlink_to(resources.root() / name)
    monkeypatch.setenv("XTDRONE_ROOT", str(tmp_path))
    spec, model = VehicleSpec("iris", "iris_0", (0.0, 0.0, 0.0)), load_vehicle("iris")
    with pytest.raises(EngineError, match="other sources: run scripts/setup_gazebo.sh again"):
        gazebo_engine.GazeboEngine(load_world("empty"), (spec,), (model,))


def test_scanners_of_the_fleet_for_gazebos_own_topics():
    kinds = "iris", "iris_2d_lidar", "iris_3d_lidar"
    specs = [VehicleSpec(kind, f"v_{i}", (0.0, 0.0, 0.0)) for i, kind in enumerate(kinds)]
    lines = scanners(specs, [load_vehicle(kind) for kind in kinds]).splitlines()
    assert [line.split("\t")[:3] for line in lines] == [
        ["v_1", "body", "laser"],
        ["v_2", "body", "velodyne"],
    ]
    numbers = [float(x) for x in lines[0].split("\t")[3].split()]
    assert len(numbers) == 16 and numbers[0] == 40_000
    assert numbers[8:] == pytest.approx([1081, -2.35619449, 2.35619449, 1, 0, 0, 0.1, 30])


def test_set_up_refuses_what_it_does_not_know():
    done = subprocess.run([SCRIPT, "--fast"], capture_output=True, text=True)
    assert done.returncode == 1 and "unknown option" in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_set_up_refuses_without_apt(tmp_path):
    for name in ("bash", "dirname", "env"):
        target = subprocess.run(["which", name], capture_output=True, text=True).stdout.strip()
        (tmp_path / name).symlink_to(target)
    done = subprocess.run(
        [SCRIPT], capture_output=True, text=True, env={**os.environ, "PATH": str(tmp_path)}
    )
    assert done.returncode == 1 and "no apt-get here" in done.stderr
