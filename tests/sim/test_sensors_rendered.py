"""Cameras and lidars: what they see, when it arrives, and what they leave alone."""

import dataclasses
import math
import subprocess
from types import SimpleNamespace

import numpy as np
import pytest

from drawing import LASER_VEHICLE, draws
from sensor_models import SensorError
from sensor_models.cameras import cameras_of
from sensor_models.changes import changed, parse_changes
from sensor_models.lens import Lens, pinhole_of, project
from sensor_models.parameters import presets
from sensor_models.rendered.lidar import column_ages, lidar_of, lidar_rays
from xtdrone_control.agents import SquareAgent
from xtdrone_core import FleetState, Reading, Scenario, SensorBlock, VehicleSpec
from xtdrone_core.contracts import Observer
from xtdrone_core.scenario.vehicles import fleet
from xtdrone_dynamics.quaternion import from_euler, to_matrix_array
from xtdrone_sim.errors import EngineError
from xtdrone_sim.rendering import offscreen
from xtdrone_sim.rendering.frame_publisher import FramePublisher
from xtdrone_sim.rendering.scene import Beams
from xtdrone_sim.rendering.sensors import RenderedSensors
from xtdrone_sim.simulation import Simulation
from xtdrone_sim.vehicles.sdf import load_vehicle
from xtdrone_sim.world import load_world

LEVEL = (0.0, 0.0, 0.0, 1.0)


@pytest.mark.parametrize(
    "named, working, found",
    [
        ("", ("egl", "osmesa"), "egl"),
        ("", ("osmesa",), "osmesa"),
        ("osmesa", ("egl", "osmesa"), "osmesa"),
        ("glfw", ("egl",), "egl"),
        ("", (), None),
        ("egl", ("osmesa",), None),
    ],
)
def test_what_works_draws(monkeypatch, named, working, found):
    """EGL that hangs or fails leaves OSMesa; nothing is one line that says what to install."""

    def run(words, env, timeout, **options):
        if env["MUJOCO_GL"] not in working:
            raise subprocess.TimeoutExpired(words, timeout)

    monkeypatch.setenv("MUJOCO_GL", named)
    monkeypatch.setattr(offscreen.subprocess, "run", run)
    backend = offscreen.backend.__wrapped__
    if found is not None:
        assert backend() == found
    else:
        with pytest.raises(EngineError, match="install libegl1"):
            backend()


WORLD = """<sdf version="1.7"><world name="wall">
<scene><ambient>1 1 1 1</ambient><background>0.5 0.5 0.5 1</background></scene>
<model name="wall"><static>true</static><link name="link">
  <collision name="c"><pose>{x} 0 0 0 0 0</pose><geometry><box><size>1 40 40</size></box></geometry>
  </collision>
  <visual name="v"><pose>{x} 0 0 0 0 0</pose><geometry><box><size>1 40 40</size></box></geometry>
    <material><diffuse>1 1 1 1</diffuse></material></visual>
</link></model></world></sdf>"""


def camera_block(kind="camera", **tags):
    return SensorBlock(kind, "eye", (0.0, 0.0, 0.0), LEVEL, {"update_rate": "25", **tags})


def facing_wall(tmp_path, blocks, distance=5.0, n=1):
    """RenderedSensors of n vehicles 4 m apart whose sensors look at a wall from a distance."""
    path = tmp_path / "wall.world"
    path.write_text(WORLD.format(x=distance + 0.5))
    model = dataclasses.replace(load_vehicle("iris"), sensors=tuple(blocks))
    specs = [VehicleSpec("iris", f"iris_{i}", (0.0, 4.0 * i, 0.0), 0.0) for i in range(n)]
    state = FleetState.zeros(n, 4)
    state.pos[:, 1] = 4.0 * np.arange(n)
    return RenderedSensors(load_world(str(path)), specs, [model] * n, 1), state


# Parameters --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "kind,name", [(kind, name) for kind in ("camera", "depth") for name in presets()[kind]]
)
def test_presets_of_cameras(kind, name):
    (camera,) = cameras_of(SensorBlock(kind, "eye", (0, 0, 0), LEVEL, {"preset": name}))
    assert camera.rate == presets()[kind][name]["rate"]
    assert Lens(camera, 1, 0, 200).pinhole.width >= camera.width


@pytest.mark.parametrize("name", presets()["lidar"])
def test_presets_of_lidars(name):
    lidar = lidar_of(SensorBlock("lidar", "eye", (0, 0, 0), LEVEL, {"preset": name}))
    assert lidar.rows * lidar.columns > 1000 and lidar.maximum > 10


def test_table_ii_is_read_from_sdf():
    (camera,) = cameras_of(
        camera_block(
            camera={
                "image": {"width": "640", "height": "400", "format": "L8"},
                "clip": {"near": "0.2", "far": "60"},
                "noise": {"mean": "0.01", "stddev": "0.02"},
                "lens": {
                    "intrinsics": {"fx": "500", "fy": "510", "cx": "310", "cy": "205", "s": "1.5"}
                },
                "distortion": {
                    "k1": "-0.2",
                    "k2": "0.05",
                    "k3": "0.01",
                    "p1": "0.001",
                    "p2": "-0.002",
                    "center": "0.49 0.52",
                },
            },
            plugin={"hackBaseline": "0.12", "latency": "0.02"},
        )
    )
    assert camera.camera_matrix == ((500, 1.5, 310), (0, 510, 205), (0, 0, 1))
    assert camera.distortion == (-0.2, 0.05, 0.001, -0.002, 0.01)
    assert camera.distortion_center == (0.49 * 640 - 0.5, 0.52 * 400 - 0.5)
    assert (camera.width, camera.height, camera.format) == (640, 400, "mono8")
    assert (camera.near, camera.far, camera.hack_baseline) == (0.2, 60, 0.12)
    assert (camera.noise_mean, camera.noise_stddev, camera.latency) == (0.01, 0.02, 0.02)


def test_pair_of_the_stereo_vehicle():
    (block,) = [b for b in load_vehicle("iris_stereo").sensors if b.kind == "camera"]
    left, right = cameras_of(block)
    assert (left.name, right.name) == ("left", "right")
    assert left.pos[1] - right.pos[1] == pytest.approx(0.12)
    assert (left.hack_baseline, right.hack_baseline) == (0.0, 0.12)
    assert (left.width, left.height, left.format) == (752, 480, "mono8")
    assert left.fx == pytest.approx(458, abs=0.1) and left.cx == 375.5


@pytest.mark.parametrize(
    "tags,words",
    [
        ({"update_rate": "-1"}, "give a number from 0"),
        ({"camera": {"image": {"format": "BAYER"}}}, "unknown format"),
        ({"camera": {"image": {"width": "0"}}}, "1 to 4096"),
        ({"camera": {"clip": {"near": "5", "far": "2"}}}, "near < far"),
        ({"camera": {"horizontal_fov": "4"}}, "0 to pi"),
        ({"camera": {"noise": {"stddev": "much"}}}, "give a number"),
        ({"camera": [{}, {}, {}]}, "stereo pair"),
        ({"latency": "-1"}, "seconds from 0"),
        ({"latency": "1e30"}, "0 to 10"),
        ({"preset": "mt9v035"}, "did you mean 'mt9v034'"),
        ({"preset": "mt9v034", "noise_stdev": "3"}, "did you mean <noise_stddev>"),
        ({"camera": {"image": {"widht": "64"}}}, "did you mean <width>"),
        ({"camera": {"imgae": {"width": "64"}}}, "did you mean <image>"),
        ({"camera": {"image": {"width": "64.5"}}}, "whole number"),
        ({"camera": {"lens": {"intrinsics": {"fx": "nan"}}}}, "give a number"),
        ({"plugin": {"hackBaselin": "0.1"}}, "did you mean <hackBaseline>"),
        ({"fx": "-2", "fy": "3"}, "above 0"),
        ({"cx": "1e30"}, "principal point"),
    ],
)
def test_bad_cameras_are_refused_in_one_line(tags, words):
    with pytest.raises(SensorError, match=words) as caught:
        cameras_of(camera_block(**tags))
    assert "\n" not in str(caught.value)


def test_a_distortion_that_folds_the_image_is_left_out(caplog):
    (camera,) = cameras_of(camera_block(preset="mt9v034", k1="-2", k2="0"))
    lens = Lens(camera, 1, 0, 200)
    assert lens.camera.distortion == (0.0,) * 5 and lens.camera.fx == camera.fx
    assert lens.pinhole == pinhole_of(camera) and "folds the image" in caplog.text


@pytest.mark.parametrize(
    "ray,words",
    [
        ({"scan": {"horizontal": {"samples": "0"}}}, "rays"),
        ({"range": {"min": "9", "max": "3"}}, "min < max"),
        ({"scan": {"horizontal": {"min_angle": "2", "max_angle": "1"}}}, "in order"),
        ({"noise": {"stddev": "-1"}}, "from 0"),
        ({"noise": {"stdev": "1"}}, "did you mean <stddev>"),
        ({"scan": {"horizontal": {"sample": "9"}}}, "did you mean <samples>"),
        ({"scan": {"horizontal": {"samples": "9.5"}}}, "whole number"),
        ({"scan": {"horizontal": {"min_angle": "-9"}}}, "at most a whole turn"),
        ({"scan": {"vertical": {"samples": "4", "max_angle": "2"}}}, "elevations"),
    ],
)
def test_bad_lidars_are_refused(ray, words):
    with pytest.raises(SensorError, match=words):
        lidar_of(SensorBlock("lidar", "eye", (0, 0, 0), LEVEL, {"update_rate": "10", "ray": ray}))


# What they see -----------------------------------------------------------------------------------


@pytest.mark.parametrize("preset", ["mt9v034", "mt9v034_distorted"])
def test_lens_bends_as_the_projection_says(preset):
    """A pinhole image that holds its own coordinates comes out as the inverse of project()."""
    (camera,) = cameras_of(
        camera_block(preset=preset, noise_stddev="0", skew="3", distortion_center="0.52 0.47")
    )
    lens = Lens(camera, 1, 0, 200)
    pixels = np.array([(5, 7), (700, 30), (375, 240), (100, 450), (740, 470)])
    x = (lens.x[pixels[:, 1], pixels[:, 0]] + 0.5) / lens.pinhole.width * (
        lens.pinhole.right - lens.pinhole.left
    ) + lens.pinhole.left
    y = lens.pinhole.bottom - (lens.y[pixels[:, 1], pixels[:, 0]] + 0.5) / lens.pinhole.height * (
        lens.pinhole.bottom - lens.pinhole.top
    )
    np.testing.assert_allclose(
        project(camera, np.column_stack([x, y, np.ones(5)])), pixels, atol=2e-4
    )


def test_plain_lens_copies_the_pinhole_image():
    (camera,) = cameras_of(camera_block(preset="mt9v034", noise_stddev="0", format="rgb8"))
    lens = Lens(camera, 1, 0, 200)
    assert (lens.pinhole.width, lens.pinhole.height) == (752, 480)
    raw = np.random.default_rng(1).integers(0, 256, (480, 752, 3), dtype=np.uint8)
    np.testing.assert_array_equal(lens.image(raw), raw[::-1])


def test_noise_of_pixels_has_the_moments_given():
    tags = {"noise_mean": "0.02", "noise_stddev": "0.03"}
    (camera,) = cameras_of(camera_block(preset="mt9v034", **tags))
    lens = Lens(camera, 1, 0, 200)
    raw = np.full((480, 752, 3), 100, dtype=np.uint8)
    one, two = lens.image(raw).astype(float), lens.image(raw).astype(float)
    assert one.mean() == pytest.approx(100 + 0.02 * 255, abs=0.05)
    assert one.std() == pytest.approx(math.hypot(0.03 * 255, 1 / math.sqrt(12)), rel=0.01)
    assert abs(np.corrcoef(one.ravel(), two.ravel())[0, 1]) < 0.01
    assert abs(np.corrcoef(one[:, 1:].ravel(), one[:, :-1].ravel())[0, 1]) < 0.01


@draws
def test_depth_camera_measures_a_wall(tmp_path):
    block = camera_block("depth", preset="r200", noise_stddev="0", latency="0")
    sensors, state = facing_wall(tmp_path, [block])
    state.quat[0] = from_euler(0.0, 0.0, 0.3)
    (reading,) = sensors.step(state, 0)
    (camera,) = cameras_of(block)
    _v, u = np.mgrid[0 : camera.height, 0 : camera.width]
    x = (u - camera.cx) / camera.fx  # to the right
    expected = 5.0 / (math.cos(0.3) + x * math.sin(0.3))
    seen = expected < camera.far * 0.999
    np.testing.assert_allclose(reading.data["depth"][seen], expected[seen], rtol=1e-4)
    assert reading.data["image"].shape == (360, 480, 3)
    sensors.close()


@draws
def test_depth_beyond_the_clip_planes_is_infinite(tmp_path):
    for distance in (0.2, 12.0):
        sensors, state = facing_wall(
            tmp_path, [camera_block("depth", preset="r200", latency="0")], distance
        )
        (reading,) = sensors.step(state, 0)
        assert np.isinf(reading.data["depth"]).all()
        sensors.close()


@draws
def test_lidar_measures_a_wall(tmp_path):
    block = SensorBlock(
        "lidar",
        "eye",
        (0, 0, 0),
        LEVEL,
        {"preset": "velodyne_vlp16", "noise_stddev": "0", "resolution": "0", "latency": "0"},
    )
    sensors, state = facing_wall(tmp_path, [block])
    state.quat[0] = from_euler(0.1, -0.2, 0.5)
    ranges = sensors.step(state, 0)[0].data["ranges"]
    assert ranges.shape == (16, 1800)
    azimuth = np.linspace(-math.pi, math.pi, 1800, endpoint=False)
    elevation = np.radians(np.linspace(-15, 15, 16))[:, None]
    rays = np.stack(
        np.broadcast_arrays(
            np.cos(elevation) * np.cos(azimuth),
            np.cos(elevation) * np.sin(azimuth),
            np.sin(elevation),
        ),
        axis=-1,
    )
    rays = rays @ to_matrix_array(state.quat)[0].T
    hits = np.isfinite(ranges)
    assert hits.any() and not hits[:, np.abs(azimuth) > 2.5].any()
    np.testing.assert_allclose(ranges[hits], 5.0 / rays[..., 0][hits], rtol=1e-5)
    sensors.close()


@draws
def test_lidar_noise_and_range(tmp_path):
    tags = {"preset": "hokuyo_utm30lx", "latency": "0", "noise_stddev": "0.05"}
    sensors, state = facing_wall(tmp_path, [SensorBlock("lidar", "eye", (0, 0, 0), LEVEL, tags)])
    ranges = sensors.step(state, 0)[0].data["ranges"][0]
    azimuth = np.linspace(-2.35619449, 2.35619449, 1081)
    hits = np.abs(azimuth) < 1.2
    errors = ranges[hits] - 5.0 / np.cos(azimuth[hits])
    assert errors.std() == pytest.approx(0.05, rel=0.2) and abs(errors.mean()) < 0.01
    assert np.isinf(ranges[np.abs(azimuth) > 1.5]).all()
    sensors.close()


def test_range_finder_sees_walls_but_not_its_own_vehicle(tmp_path):
    path = tmp_path / "wall.world"
    path.write_text(WORLD.format(x=5.5))
    state = FleetState.zeros(1, 4)
    state.t_us = 4000
    spec = VehicleSpec("iris", "iris_0", (0.0, 0.0, 0.0), 0.0)
    beams = Beams(
        load_world(str(path)), [spec], [load_vehicle("iris")], SimpleNamespace(state=state)
    )
    assert beams(0, (0.0, 0.0, 0.0), np.array([1.0, 0.0, 0.0])) == pytest.approx(5.0)
    assert beams(0, (0.0, 0.0, 0.0), np.array([-1.0, 0.0, 0.0])) == math.inf


def test_a_ground_plane_has_no_end_for_range_finders():
    """As for contacts, and in Gazebo; that of the world 'empty' is drawn 1 km wide."""
    beams = Beams(
        load_world("empty"),
        [VehicleSpec("iris", "iris_0", (0.0, 0.0, 0.0), 0.0)],
        [load_vehicle("iris")],
        SimpleNamespace(state=FleetState.zeros(1, 4)),
    )
    assert beams(0, (0.0, -3000.0, 7.0), np.array([0.0, 0.0, -1.0])) == pytest.approx(7.0)


# When it arrives ---------------------------------------------------------------------------------


@draws
@pytest.mark.parametrize("latency", [0.0, 0.02, 0.1])
@pytest.mark.slow
def test_images_arrive_late_with_their_own_stamp(tmp_path, latency):
    block = camera_block(camera={"image": {"width": "32", "height": "24"}}, latency=str(latency))
    sensors, state = facing_wall(tmp_path, [block], n=2)
    arrived = []
    for k in range(61):
        assert k % 10 or sensors.due(k * 4000)
        arrived += [(k * 4000, r.t_us, r.vehicle) for r in sensors.step(state, k * 4000)]
    late = round(latency * 1e6)
    expected = [
        (t + late, t, name)
        for t in range(0, 244_000 - late, 40_000)
        for name in ("iris_0", "iris_1")
    ]
    assert arrived == expected
    sensors.close()


@draws
def test_an_image_shows_the_instant_of_its_stamp(tmp_path):
    block = camera_block(
        "depth",
        camera={"image": {"width": "8", "height": "8"}, "clip": {"near": "0.1", "far": "50"}},
        latency="0.08",
    )
    sensors, state = facing_wall(tmp_path, [block])
    seen = []
    for k in range(101):
        state.pos[0, 0] = -0.01 * k
        seen += [
            (r.t_us // 4000, float(r.data["depth"][4, 4])) for r in sensors.step(state, k * 4000)
        ]
    assert len(seen) == 9
    for k, depth in seen:
        assert depth == pytest.approx(5.0 + 0.01 * k, rel=1e-4)
    sensors.close()


@draws
@pytest.mark.slow
def test_noise_is_the_vehicles_own_and_repeats(tmp_path):
    block = camera_block(
        camera={"image": {"width": "64", "height": "48"}}, noise_stddev="0.05", latency="0"
    )

    def frames(n):
        sensors, state = facing_wall(tmp_path, [block], n=n)
        out = [sensors.step(state, t) for t in (0, 40_000)]
        sensors.close()
        return [[r.data["image"] for r in readings] for readings in out]

    one, two = frames(1), frames(2)
    assert np.array_equal(one[1][0], two[1][0]) and np.array_equal(two[0][1], frames(2)[0][1])
    assert not np.array_equal(two[0][0], two[0][1])
    assert not np.array_equal(two[0][0], two[1][0])


class Film(Observer):
    """Keeps every reading."""

    wants_readings = True

    def __init__(self, seen):
        self.on_reading = seen.append


@draws
@pytest.mark.slow
def test_looking_does_not_change_the_flight():
    seen = []

    def end_of(vehicle, blind):
        simulation = Simulation(
            Scenario(fleet(vehicle, 1), speed=0.0), agent=SquareAgent(1), links=False
        )
        if not blind:
            simulation.observers.append(Film(seen))
        simulation.run(1_500_000)
        state = simulation.state.copy()
        simulation.close()
        return state

    seeing, blind = end_of("iris_stereo", False), end_of("iris_stereo", True)
    for name in ("pos", "quat", "vel", "ang_vel", "actuator"):
        assert np.array_equal(getattr(seeing, name), getattr(blind, name))
    assert [reading.t_us for reading in seen] == list(range(80_000, 1_460_000, 80_000))


def test_range_finder_of_px4s_plugin_measures_the_height_in_flight(tmp_path):
    path = tmp_path / "iris_laser.sdf"
    path.write_text(LASER_VEHICLE)
    simulation = Simulation(Scenario(fleet(str(path), 1), speed=0.0), links=False)
    try:
        simulation.run(1_000_000)
        batch = simulation.sensor_suite.step(simulation.state, simulation.t_us + 12_000)
        assert batch.range_distance[0] == pytest.approx(0.05, abs=0.2)
        assert math.isfinite(batch.range_distance[0])
    finally:
        simulation.close()


def test_images_are_published_only_as_long_as_they_are_wanted():
    described = [{"vehicle": "iris_0", "sensor": "eye", "arrays": [["image", "|u1", [2, 2]]]}]
    publisher = FramePublisher(SimpleNamespace(describe=lambda: described))
    try:
        assert not publisher.wants_readings
        publisher.publish(until_us=2e6)
        for t_us, wanted in ((1_000_000, True), (2_000_000, True), (2_100_000, False)):
            publisher.on_reading(
                Reading(
                    "camera", "iris_0", "eye", t_us, {"image": np.zeros((2, 2), dtype=np.uint8)}
                )
            )
            assert publisher.wants_readings is wanted
        publisher.publish()
        publisher.publish(until_us=3e6)  # somebody else wants them for ever
        publisher.on_reading(
            Reading(
                "camera", "iris_0", "eye", 9_000_000, {"image": np.zeros((2, 2), dtype=np.uint8)}
            )
        )
        assert publisher.wants_readings
    finally:
        publisher.close()


# Sweeps ------------------------------------------------------------------------------------------


def swept(tmp_path, sweep, speed=0.0, turn=0.0):
    """One scan of a lidar that faces a wall at 10 m while its vehicle moves and turns."""
    tags = {"preset": "velodyne_vlp16", "latency": "0", "noise_stddev": "0", "resolution": "0"}
    block = SensorBlock("lidar", "eye", (0, 0, 0), LEVEL, {**tags, "sweep": str(sweep)})
    sensors, state = facing_wall(tmp_path, [block], distance=10.0)
    readings = []
    for t_us in range(0, 100_001, 4_000):
        state.t_us = t_us
        state.pos[0] = speed * t_us * 1e-6, 0.0, 0.0
        state.quat[0] = from_euler(0.0, 0.0, turn * t_us * 1e-6)
        readings += sensors.step(state, t_us)
    sensors.close()
    assert [reading.t_us for reading in readings] == [0, 100_000]
    return lidar_of(block), readings[1].data["ranges"].astype(float)


@pytest.mark.parametrize("speed, turn", [(3.0, 0.0), (0.0, 1.5), (2.0, 1.0)])
def test_each_column_of_a_sweep_is_measured_at_its_time(tmp_path, speed, turn):
    lidar, ranges = swept(tmp_path, 0.1, speed, turn)
    times = 0.1 - column_ages(lidar)
    azimuth = np.linspace(lidar.min_angle, lidar.max_angle, lidar.columns) + turn * times
    seen = np.abs(azimuth) < 1.0
    row = lidar_rays(lidar)[8]
    expected = (10.0 - speed * times) / np.cos(azimuth) / np.hypot(row[:, 0], row[:, 1])
    np.testing.assert_allclose(ranges[8, seen], expected[seen], atol=0.03)


def test_a_sweep_at_rest_is_a_scan_of_one_instant(tmp_path):
    np.testing.assert_allclose(swept(tmp_path, 0.1)[1], swept(tmp_path, 0.0)[1], atol=1e-5)


def test_sweeps_are_switched_on_for_all_vehicles():
    block = SensorBlock(
        "lidar", "eye", (0, 0, 0), LEVEL, {"update_rate": "10", "plugin": {"latency": "0.1"}}
    )
    lidar = lidar_of(changed(block, parse_changes("lidar.sweep=0.1; lidar.latency=0")))
    assert (lidar.sweep, lidar.latency, lidar.rate) == (0.1, 0.0, 10.0)
    with pytest.raises(SensorError, match="sweep 0.2 of a lidar is not allowed"):
        lidar_of(changed(block, parse_changes("lidar.sweep=0.2")))
    with pytest.raises(SensorError, match="did you mean 'sweep'"):
        parse_changes("lidar.sweeep=0.1")
