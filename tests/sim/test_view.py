"""Flights in 3D: replays, pictures, films, and what is refused."""

import contextlib
import math
import os
import subprocess
import sys

import numpy as np
import pytest
import yaml

from xtdrone_core import FleetState, Scenario, XtdroneError, command
from xtdrone_core.runs.truth_log import TruthWriter
from xtdrone_core.scenario.vehicles import fleet
from xtdrone_sim.errors import ViewError
from xtdrone_sim.viewing import film, overlay, scene as scene_module
from xtdrone_sim.viewing.cameras import CAMERAS, Camera
from xtdrone_sim.viewing.flights import Replay
from xtdrone_sim.viewing.scene import FlightScene, View, pixels
from xtdrone_sim.viewing.stage import Stage
from xtdrone_sim.world import load_world

SIZE = 320, 180
N = 3
HALF_TURN = (0.0, 0.0, math.sqrt(0.5), math.sqrt(0.5))
HOUSE = """<sdf version="1.7"><world name="house"><model name="house"><static>true</static>
<link name="link"><collision name="ground"><geometry><plane><normal>0 0 1</normal></plane>
</geometry></collision>{}</link></model></world></sdf>"""
BOX = """<{0} name="{0}"><pose>{1} 0 5 0 0 0</pose><geometry><box><size>1 20 10</size></box>
</geometry></{0}>"""


def state_at(t_s, jumped=False):
    """Three iris that fly up and north; one may have jumped back to its start."""
    state = FleetState.zeros(N, 4)
    state.t_us = round(t_s * 1e6)
    state.pos[:] = [(3.0 * i, t_s, 1.0 + t_s) for i in range(N)]
    state.vel[:] = 0.0, 1.0, 1.0
    state.quat[1] = HALF_TURN
    if jumped:
        state.pos[2] = 6.0, 0.0, 20.0
    return state


def record(folder, name="a", engine="embedded", world="empty"):
    """A run of two seconds."""
    folder = folder / name
    folder.mkdir()
    scenario = Scenario(vehicles=fleet("iris", N), engine=engine, world=world)
    (folder / "scenario.yaml").write_text(yaml.safe_dump(scenario.to_dict()))
    writer = TruthWriter(folder / "truth.bin", N)
    for k in range(1, 101):
        writer.write(state_at(0.02 * k, jumped=k > 50))
    writer.close()
    (folder / "events.jsonl").write_text(
        '{"t_us": 500000, "event": "formation", "formation": "cube"}\n'
        '{"t_us": 1000000, "event": "settled"}\n'
    )
    return folder


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """Its folder."""
    return record(tmp_path_factory.mktemp("runs"))


@pytest.fixture
def stage(run):
    """A replay without smooth edges, which take most of the time here."""
    with contextlib.closing(Stage(Replay(run), Camera(), SIZE, samples=0)) as found:
        yield found


def test_poses_are_interpolated_but_not_where_a_vehicle_jumped(run):
    flight = Replay(run)
    assert (flight.start_s, flight.end_s) == (0.02, 2.0)
    for t_s in (0.5, 0.507):
        np.testing.assert_allclose(flight.state(t_s).pos, state_at(t_s).pos, atol=1e-9)
        np.testing.assert_allclose(flight.state(t_s).quat, state_at(t_s).quat, atol=1e-9)
    between = flight.state(1.01).pos.copy()
    np.testing.assert_allclose(between[:2], state_at(1.01).pos[:2], atol=1e-9)
    np.testing.assert_allclose(between[2], state_at(1.0).pos[2])
    np.testing.assert_allclose(flight.state(99.0).pos, state_at(2.0, jumped=True).pos)


def test_a_trail_ends_at_the_vehicle_and_its_other_points_stand_still(run):
    flight = Replay(run)
    trail = flight.trail(0.95, 0.5)
    np.testing.assert_allclose(trail[-1], state_at(0.95).pos, atol=1e-9)
    np.testing.assert_array_equal(trail[:-1], flight.trail(0.97, 0.5)[:-1])


def test_events_are_captions_for_a_while(run):
    flight = Replay(run)
    assert [flight.caption(t_s) for t_s in (0.4, 0.6, 1.1, 9.0)] == [
        "",
        "formation cube",
        "settled",
        "",
    ]


@pytest.mark.parametrize("engine", ["embedded", "gazebo"])
def test_a_killed_run_is_replayed_to_its_last_whole_record(tmp_path, engine):
    folder = record(tmp_path, engine=engine)
    with open(folder / "truth.bin", "ab") as file:
        file.write(b"\1" * 100)
    assert Replay(folder).end_s == 2.0


def test_vehicles_are_where_they_are_expected(run, stage):
    """Each changes the picture around its own place, and nothing else does."""
    scene, view = stage.scene, View(np.array([3.0, -6.0, 3.0]), np.array([3.0, 0.0, 1.5]))
    scene.shadows = False
    state = stage.flight.state(0.5).copy()
    scene.show(state, SIZE[1])
    full = scene.picture(view, SIZE).astype(int)
    assert full.std() > 10.0  # sky, ground, vehicles
    for i, (x, y) in enumerate(pixels(state.pos, view, SIZE)):
        without = state.copy()
        without.pos[i] = 0.0, 0.0, -50.0
        scene.show(without, SIZE[1])
        rows, columns = np.nonzero((full != scene.picture(view, SIZE)).any(axis=2))
        assert len(rows) > 20
        assert abs(rows.mean() - y) < 3 and abs(columns.mean() - x) < 3
        assert np.ptp(columns) < 40


def test_the_first_row_is_the_sky_and_shadows_darken_the_ground(run, stage):
    bright = stage.image(0.5, 0.0, SIZE).astype(float)
    assert bright[2, 160, 2] > 180.0  # blue above
    stage.names = stage.trails = stage.clock = False
    stage.scene.shadows = False
    without = stage.image(0.5, 0.0, SIZE).astype(float)
    stage.scene.shadows = True
    difference = without - stage.image(0.5, 0.0, SIZE)
    assert (difference.max(axis=2) > 25.0).sum() > 30


def test_names_trails_and_clock_are_drawn(run, stage):
    full = stage.image(1.0, 0.0, SIZE)
    for what in ("names", "trails", "clock"):
        setattr(stage, what, False)
        assert (stage.image(1.0, 0.0, SIZE) != full).any(), what
        setattr(stage, what, True)
    np.testing.assert_array_equal(stage.image(1.0, 0.0, SIZE), full)


def test_names_do_not_cover_each_other():
    black = np.zeros((*SIZE[::-1], 3), dtype=np.uint8)
    places = np.full((3, 2), 90.0)
    alone = overlay.draw(black, places[:1], ["iris_0"], np.ones((1, 3)))
    three = overlay.draw(black, places, ["iris_0"] * 3, np.ones((3, 3)))
    assert (three > 0).sum() > 2.5 * (alone > 0).sum()


@pytest.mark.parametrize("kind", CAMERAS)
def test_cameras_have_the_fleet_in_the_picture(run, stage, kind):
    stage.camera.choose(kind, 1)
    flight, state = stage.flight, stage.flight.state(0.8)
    stage.scene.show(state, SIZE[1])
    view = stage.camera.view(stage.scene, state, flight.everything, SIZE[0] / SIZE[1], 0.5, 0.0)
    found = pixels(state.pos, view, SIZE)
    seen = found[[1]] if kind == "follow" else found
    assert (seen > 0).all() and (seen < SIZE).all()
    if kind == "follow":  # it is behind: this one looks north
        assert view.eye[1] < state.pos[1, 1] - 1.0
    assert view.eye[2] > 0.2


@pytest.mark.parametrize("kind", ["fleet", "orbit", "follow"])
def test_no_camera_is_in_a_house_or_in_the_ground(tmp_path, run, kind):
    """Walls are around the fleet, nearer than the camera wants to be."""
    path = tmp_path / "house.world"
    path.write_text(
        HOUSE.format(
            "".join(BOX.format("visual", x) + BOX.format("collision", x) for x in (-4, 10))
        )
    )
    flight = Replay(run)
    with contextlib.closing(
        FlightScene(load_world(str(path)), flight.vehicles, flight.models, SIZE, 0)
    ) as scene:
        camera = Camera(kind, raised=-0.6)
        for k in range(20):
            state = flight.state(0.1 * k)
            scene.show(state, SIZE[1])
            eye, target = camera.view(scene, state, flight.everything, 1.8, 0.5, 0.5)
            away = eye - target
            reach = scene.ray_distances(target, (away / np.linalg.norm(away))[None], 100.0)[0]
            assert np.linalg.norm(away) < reach
            assert eye[2] > 0.0


def test_a_camera_rises_to_see_a_vehicle_behind_a_pillar(tmp_path, run):
    path = tmp_path / "pillar.world"
    path.write_text(
        HOUSE.format(
            "".join(
                f"""<{kind} name="{kind}"><pose>-0.5 -1.2 1.1 0 0 0</pose><geometry><box>
        <size>0.8 0.8 2.2</size></box></geometry></{kind}>"""
                for kind in ("visual", "collision")
            )
        )
    )
    flight = Replay(run)
    state = flight.state(0.1)
    with contextlib.closing(
        FlightScene(load_world(str(path)), flight.vehicles, flight.models, SIZE, 0)
    ) as scene:
        scene.show(state, SIZE[1])
        eye, _ = Camera("fleet").view(scene, state, flight.everything, 1.8, 0.5, 0.0)
        away = state.pos - eye
        length = np.linalg.norm(away, axis=1)
        assert (scene.ray_distances(eye, away / length[:, None], 100.0) > length - 0.3).all()


@pytest.mark.long
@pytest.mark.parametrize("suffix", [".mp4", ".gif"])
def test_a_film_has_its_images_and_they_move(run, stage, tmp_path, suffix):
    if suffix == ".mp4":
        pytest.importorskip("av")
    cv2 = pytest.importorskip("cv2")
    path = film.free_for(tmp_path / f"film{suffix}")
    film.write(path, film.images(stage, 0.02, 1.02, 0.5, 10.0, SIZE), 10.0)
    assert film.image_count(0.02, 1.02, 0.5, 10.0) == 21
    if suffix == ".gif":
        from PIL import Image

        with Image.open(path) as read:
            assert read.n_frames == 21 and read.size == SIZE and read.info["duration"] == 100
    video, found = cv2.VideoCapture(str(path)), []
    while (frame := video.read())[0]:
        found.append(frame[1].astype(int))
    assert len(found) == 21 and found[0].shape == (*SIZE[::-1], 3)
    assert all(image.std() > 10.0 for image in found)
    # As it was drawn: the colours and the upper side are right.
    stage.camera.cut()
    first = stage.image(0.02, 0.0, SIZE, "0.5 x").astype(int)
    assert np.abs(found[0][:, :, ::-1] - first).mean() < 6.0
    assert np.abs(found[-1] - found[0]).max() > 80
    assert film.free_for(path) == path  # it may be made again


def test_a_gif_has_the_colours_of_thin_trails(tmp_path):
    noise = np.random.default_rng(1).integers(0, 120, (*SIZE[::-1], 3), dtype=np.uint8)
    noise[10, :40] = 0, 0, 240
    film.write(tmp_path / "a.gif", [noise, noise], 10.0, [(0.0, 0.0, 240 / 255)])
    from PIL import Image

    with Image.open(tmp_path / "a.gif") as read:
        np.testing.assert_array_equal(np.asarray(read.convert("RGB"))[10, 20], (0, 0, 240))


def test_shadows_stand_still_while_a_fleet_moves_a_little():
    (first, reach), (second, other) = (
        scene_module.steady_shadows(np.array([x, 0.0, 5.0]), r)
        for x, r in ((10.0, 14.0), (10.4, 14.3))
    )
    np.testing.assert_array_equal(first, second)
    assert reach == other and reach > 14.3 + np.linalg.norm(first - (10.4, 0.0, 5.0))


def test_a_film_that_fails_leaves_no_file(stage, tmp_path):
    def broken():
        yield stage.image(0.5, 0.0, SIZE)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        film.write(tmp_path / "film.gif", broken(), 10.0)
    assert not list(tmp_path.iterdir())


def test_view_writes_a_picture(run, tmp_path, capsys):
    path = tmp_path / "picture.png"
    assert (
        command.main(
            [
                "view",
                str(run),
                "--png",
                str(path),
                "--from",
                "1",
                "--size",
                "320x180",
                "--camera",
                "follow",
                "--vehicle",
                "iris_2",
            ]
        )
        == 0
    )
    assert str(path) in capsys.readouterr().out
    assert path.read_bytes()[:4] == b"\x89PNG"


@pytest.mark.parametrize(
    "arguments, said",
    [
        (["--png", "x.gif"], "let it end in .png"),
        (["--gif", "/nowhere/x.gif"], "cannot write film"),
        (["--mp4", "x.avi"], "give a name that ends in .mp4, .gif, .png"),
        (["--png", "x.png", "--from", "3"], "the recording has 0.02 s to 2 s"),
        (["--png", "x.png", "--from", "1.5", "--to", "1"], "there is nothing"),
        (["--png", "x.png", "--vehicle", "iris_9"], "unknown vehicle 'iris_9'"),
        (["--size", "1x1"], "even pixels from 64 to 4096"),
        (["--size", "127x127"], "even pixels"),
        (["--camera", "orbti"], "did you mean 'orbit'?"),
        (["--speed", "0"], "speed 0 is not allowed"),
        (["--fps", "fast"], "fps fast is not allowed"),
        (["--names", "no names"], "names 'no names' is not allowed: give true or false"),
        (
            ["--gif", "x.gif", "--fps", "120", "--speed", "0.01", "--size", "640x480"],
            "would have 23761 images, at most 3255 of 640x480",
        ),
        (["--mp4", "a.mp4", "--gif", "a.gif"], "not allowed with"),
        ([], "there is no display for a window: give --mp4"),
    ],
)
def test_bad_arguments_are_one_line(run, tmp_path, monkeypatch, capsys, arguments, said):
    monkeypatch.chdir(tmp_path)
    for name in ("DISPLAY", "WAYLAND_DISPLAY", "QT_QPA_PLATFORM"):
        monkeypatch.delenv(name, raising=False)
    try:
        status = command.main(["view", str(run), *arguments])
    except SystemExit as error:
        status = error.code
    err = capsys.readouterr().err
    assert status in (1, 2)
    assert said in err and err.count("\n") == 1
    assert not list(tmp_path.iterdir())


def test_no_film_is_without_end(run):
    begin, end = 0.0, 2.0**62 * 1e-6  # as in a damaged truth log
    with pytest.raises(ViewError, match="at most 100000 of 64x64"):
        film.check_length(run / "a.mp4", film.image_count(begin, end, 1.0, 30.0), (64, 64))
    film.check_length(run / "a.mp4", film.image_count(0.0, 3000.0, 1.0, 30.0), (1280, 720))


def test_runs_that_cannot_be_shown_are_one_line(run, tmp_path):
    folder = record(tmp_path)
    (folder / "truth.bin").write_bytes(b"")
    with pytest.raises(XtdroneError, match="has no record: the run ended before"):
        Replay(folder)
    (folder / "truth.bin").unlink()
    with pytest.raises(ViewError, match=r"has no truth\.bin, the true poses"):
        Replay(folder)
    (folder / "scenario.yaml").unlink()
    with pytest.raises(XtdroneError, match=r"has no scenario\.yaml.*give the name of a run"):
        Replay(folder)
    (folder / "truth.bin").write_bytes(b"")
    with pytest.raises(XtdroneError, match="'xtdrone formation view' shows it"):
        Replay(folder)


def test_a_strangers_file_is_left_alone(tmp_path):
    path = tmp_path / "film.gif"
    path.write_bytes(b"GIF89a of somebody else")
    with pytest.raises(ViewError, match="is left alone"):
        film.free_for(path)


@pytest.mark.slow
def test_a_display_that_is_none_is_one_line(run, tmp_path):
    pytest.importorskip("PySide6")
    done = subprocess.run(
        [sys.executable, "-m", "xtdrone", "view", str(run)],
        capture_output=True,
        text=True,
        env={**os.environ, "DISPLAY": f"{tmp_path}/none", "QT_QPA_PLATFORM": "xcb"},
    )
    assert done.returncode == 1 and done.stderr.count("\n") == 1, done.stderr
    assert "give --mp4" in done.stderr or "apt-get install" in done.stderr
