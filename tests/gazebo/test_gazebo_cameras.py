"""What Gazebo draws and measures for cameras and lidars; skipped where it is not set up."""

import itertools
import select
import subprocess

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from drawing import LASER_VEHICLE
from physics import push
from sensor_models.cameras import cameras_of
from sensor_models.lens import pinhole_of
from sensor_models.rendered.lidar import lidar_of
from waiting import until
from xtdrone_control.agents import HoverAgent
from xtdrone_core import FleetState, Scenario, VehicleSpec, resources
from xtdrone_core.contracts import Observer
from xtdrone_core.scenario.vehicles import fleet
from xtdrone_dynamics.constants import GRAVITY
from xtdrone_dynamics.quaternion import from_euler
from xtdrone_sim.engines.gazebo.engine import GazeboEngine
from xtdrone_sim.errors import EngineError
from xtdrone_sim.simulation import Simulation
from xtdrone_sim.vehicles.sdf import load_vehicle
from xtdrone_sim.world import load_world

pytestmark = [
    pytest.mark.gazebo,
    pytest.mark.skipif(
        not (resources.root() / ".setup/gazebo11/libxtdrone_lockstep.so").is_file(),
        reason="needs Gazebo 11: run scripts/setup_gazebo.sh",
    ),
]
HIGH = np.array([0.0, 0.0, 7.0])
LEVEL = np.array([0.0, 0.0, 0.0, 1.0])
TILTED = from_euler(0.2, 0.5, 1.0)


@pytest.fixture
def build():
    """build(*kinds) makes an engine with vehicles 3 m apart in the empty world, or at `places`."""
    engines = []

    def make(*kinds, places=None):
        places = places or [(3.0 * i, 0.0, 7.0) for i in range(len(kinds))]
        specs = tuple(
            VehicleSpec(kind, f"v_{i}", place)
            for i, (kind, place) in enumerate(zip(kinds, places, strict=True))
        )
        models = tuple(load_vehicle(kind) for kind in kinds)
        engines.append(GazeboEngine(load_world("empty"), specs, models))
        return engines[-1]

    yield make
    for engine in engines:
        engine.close()


@pytest.fixture
def look(build):
    """look(*kinds) gives the scene and the models of such an engine."""

    def make(*kinds):
        engine = build(*kinds)
        return engine.scene(None, None), engine.models

    return make


def level_at(*places):
    """A state of vehicles at these places, level."""
    state = FleetState.zeros(len(places), 0)
    state.pos[:] = places
    return state


def stereo_image(scene, model, vehicle):
    """What the left camera of a vehicle sees from on high."""
    (block,) = [block for block in model.sensors if block.kind == "camera"]
    image = pinhole_of(cameras_of(block)[0])
    return scene.draw(HIGH, LEVEL, image, 0.1, 100.0, key=(vehicle, block.name, "left"))


def ground_along(origin, directions):
    """Length of each vector from origin down to the ground, in units of its own; inf where none."""
    with np.errstate(divide="ignore"):
        return np.where(directions[..., 2] < 0.0, -origin[2] / directions[..., 2], np.inf)


def test_a_display_on_which_it_cannot_draw_is_named(look, monkeypatch):
    monkeypatch.setenv("DISPLAY", ":4711")
    with pytest.raises(EngineError, match="cannot draw on the display :4711"):
        look("iris_depth")


def test_depth_is_that_of_the_ground_at_each_pixel(look):
    scene, (model,) = look("iris_depth")
    (block,) = [block for block in model.sensors if block.kind == "depth"]
    image = pinhole_of(cameras_of(block)[0])
    right = image.left + (np.arange(image.width) + 0.5) / image.width * (image.right - image.left)
    down = image.bottom - (np.arange(image.height) + 0.5)[:, None] / image.height * (
        image.bottom - image.top
    )
    rays = np.stack(np.broadcast_arrays(1.0, -right, -down), axis=-1)
    turned = Rotation.from_quat(TILTED).apply(rays.reshape(-1, 3)).reshape(rays.shape)
    scene.place(level_at((50.0, 0.0, 7.0)))
    colours, depth = scene.draw(HIGH, TILTED, image, 0.1, 60.0, True, ("v_0", block.name, ""))
    wanted = ground_along(HIGH, turned)
    wanted[wanted > 60.0] = np.inf
    seen = np.isfinite(wanted) & np.isfinite(depth)
    assert seen.mean() > 0.5
    assert (np.isfinite(wanted) == np.isfinite(depth)).mean() > 0.995
    np.testing.assert_allclose(depth[seen], wanted[seen], rtol=2e-3)
    # The sky and the ground differ in colour along the same border.
    assert np.abs(colours[seen].mean(axis=0) - colours[~seen].mean(axis=0)).max() > 20


def test_a_camera_sees_the_other_vehicle_where_it_is_placed(look):
    scene, (model, _) = look("iris_stereo", "iris")
    (block,) = [block for block in model.sensors if block.kind == "camera"]
    image = pinhole_of(cameras_of(block)[0])

    def drawn(y):
        scene.place(level_at((-50.0, 0.0, 7.0), (2.0, y, 7.0)))
        return stereo_image(scene, model, "v_0").astype(int)

    empty = drawn(500.0)
    for y in (0.4, -0.5):
        columns = np.flatnonzero((np.abs(drawn(y) - empty).sum(axis=2) > 30).any(axis=0))
        place = image.left + (columns.mean() + 0.5) / image.width * (image.right - image.left)
        assert place == pytest.approx(-y / 2.0, abs=0.03)


def test_rays_meet_the_ground_and_others_but_not_their_own_vehicle(build):
    engine = build("iris_2d_lidar", "iris")
    scene = engine.scene(None, None)
    angles = np.linspace(-np.pi, np.pi, 721)
    flat = np.stack([np.cos(angles), np.sin(angles), 0.0 * angles], axis=1)
    turn = Rotation.from_quat(TILTED)
    wanted = ground_along(HIGH, turn.apply(flat))
    wanted[wanted > 60.0] = np.inf
    np.testing.assert_allclose(scene.cast(0, HIGH, turn.apply(flat), 60.0), wanted, rtol=1e-6)
    body = HIGH + (0.0, 0.0, 0.1)
    level = scene.cast(0, body, flat, 60.0)
    ahead = np.isfinite(level)
    assert ahead.any() and np.abs(angles[ahead]).max() < 0.2
    assert level[ahead].min() == pytest.approx(3.0, abs=0.4)
    assert engine.beam(0, body, flat[360]) == level[360]
    assert engine.beam(0, body, -np.eye(3)[2]) == pytest.approx(7.1, rel=1e-6)


def test_a_flights_range_finder_is_gazebos(tmp_path, monkeypatch):
    """Of PX4's plugin in the SDF; the geometry of the embedded engine has no part in it."""
    monkeypatch.setattr("xtdrone_sim.parts.Beams", None)
    path = tmp_path / "iris_laser.sdf"
    path.write_text(LASER_VEHICLE)
    found = []

    class Beam(Observer):
        def on_step(self, t_us, state, sensors):
            found.append((sensors.range_new[0], sensors.range_distance[0]))

    simulation = Simulation(
        Scenario(fleet(str(path), 1), engine="gazebo", speed=0.0), links=False, observers=(Beam(),)
    )
    try:
        simulation.run(until_us=400_000)
    finally:
        simulation.close()
    readings = [distance for new, distance in found if new]
    assert len(readings) == 7  # 20 Hz is every 13th step
    np.testing.assert_allclose(readings, 0.1, atol=0.1)


def test_gazebos_own_topic_has_the_scans_for_those_who_subscribe(build):
    (block,) = [block for block in load_vehicle("iris_2d_lidar").sensors if block.kind == "lidar"]
    lidar = lidar_of(block)
    engine = build(
        "iris_2d_lidar", "iris", places=[(0.0, 0.0, 7.0), (2.0, 0.5, 7.0 + lidar.pos[2])]
    )
    engine.reset()
    topic = f"/gazebo/empty/v_0/body/{block.name}/scan"
    script = f". {resources.root()}/.setup/gazebo11/env.sh; exec gz topic -e {topic}"
    hover = np.array([[0, 0, model.mass * GRAVITY, 0, 0, 0] for model in engine.models])

    def echoed():
        push(engine, hover, 4000)
        return select.select([echo.stdout], [], [], 0)[0]

    with subprocess.Popen(["bash", "-c", script], stdout=subprocess.PIPE, text=True) as echo:
        try:
            until(echoed, "gz topic has subscribed and echoes a scan", echo)
            lines = []
            for line in echo.stdout:
                lines.append(line)
                if "intensities" in line:
                    break
        finally:
            echo.kill()
    found = np.array([float(line.split()[1]) for line in lines if "ranges:" in line])
    angles = np.linspace(lidar.min_angle, lidar.max_angle, lidar.columns)
    flat = np.stack([np.cos(angles), np.sin(angles), 0.0 * angles], axis=1)
    wanted = engine.cast(0, engine.state.pos[0] + lidar.pos, flat, lidar.maximum)
    assert np.isfinite(wanted).sum() >= 10  # the other vehicle
    np.testing.assert_allclose(found, wanted, atol=1e-3)


@pytest.mark.long
def test_a_stereo_pair_at_25_hz_has_every_frame_in_flight(tmp_path):
    """752 x 480 twice, drawn by Gazebo, exact stamps, none missing and none twice the same."""
    folder = tmp_path / "iris_stereo_25"
    folder.mkdir()
    text = (resources.root() / "models/iris_stereo/model.sdf").read_text()
    assert "<update_rate>12.5</update_rate>" in text
    (folder / "model.sdf").write_text(text.replace("12.5", "25"))
    scenario = Scenario(
        fleet(str(folder / "model.sdf"), 1), engine="gazebo", speed=0.0, world="outdoor", gps="rtk"
    )
    found = []

    class Film(Observer):
        wants_readings = True

        def on_reading(self, reading):
            found.append(reading)

    simulation = Simulation(scenario, agent=HoverAgent(1), links=False, observers=(Film(),))
    try:
        assert simulation.rendered.renderer.startswith("gazebo: ")
        simulation.run(until_us=10_000_000)
    finally:
        simulation.close()
    assert [reading.t_us for reading in found] == list(range(40_000, 10_000_000, 40_000))
    for name in ("left", "right"):
        images = np.array([reading.data[name] for reading in found])
        assert images.shape[1:] == (480, 752)
        assert images.std(axis=(1, 2)).min() > 10.0
        assert all((a != b).mean() > 0.1 for a, b in itertools.pairwise(images))
    assert simulation.state.pos[0, 2] > 0.5  # it has seen a take-off
