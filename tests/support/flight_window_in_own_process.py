"""The window of flights on Qt's platform 'offscreen': keys, replay, a running simulation."""

import logging
from dataclasses import replace

import numpy as np
import pytest

from xtdrone_core import FleetState
from xtdrone_core.runs.frame_ring import FrameWriter
from xtdrone_core.runs.truth_log import TruthWriter
from xtdrone_core.scenario.scenario import Scenario
from xtdrone_core.scenario.vehicles import fleet
from xtdrone_sim.engines.embedded import EmbeddedEngine
from xtdrone_sim.errors import EngineError
from xtdrone_sim.vehicles.pose import Pose
from xtdrone_sim.vehicles.sdf import load_vehicle
from xtdrone_sim.viewing import live
from xtdrone_sim.viewing.cameras import Camera
from xtdrone_sim.viewing.flights import Replay
from xtdrone_sim.viewing.live_flight import LiveFlight, SceneDescription
from xtdrone_sim.world import load_world
from xtdrone_sim.world.models import read_model

QtCore = pytest.importorskip("PySide6.QtCore")
from PySide6 import QtTest, QtWidgets  # noqa: E402

from xtdrone_sim.viewing import window as module  # noqa: E402

Key = QtCore.Qt.Key
SHIFT = QtCore.Qt.KeyboardModifier.ShiftModifier
BALL = """<sdf version="1.7"><model name="ball"><static>true</static><link name="link">
<visual name="v"><geometry><sphere><radius>2</radius></sphere></geometry>
</visual></link></model></sdf>"""


@pytest.fixture(scope="module")
def application():
    return QtWidgets.QApplication([])


@pytest.fixture
def window(application, tmp_path):
    """Of a flight of two iris for ten seconds, small and without shadows."""
    import yaml

    (tmp_path / "scenario.yaml").write_text(
        yaml.safe_dump(Scenario(vehicles=fleet("iris", 2)).to_dict())
    )
    writer = TruthWriter(tmp_path / "truth.bin", 2)
    for k in range(500):
        writer.write(moved(0.02 * k))
    writer.close()
    flight = Replay(tmp_path)
    found = module.Window(flight, Camera(), (500, 320), 1.0, flight.start_s, flight.end_s)
    found.shadows = False
    found.hold()  # time goes on only where a test says so
    found.show()
    QtTest.QTest.qWaitForWindowActive(found)  # keys go to the active window
    yield found
    found.close()


def moved(t_s):
    state = FleetState.zeros(2, 4)
    state.t_us = round(t_s * 1e6)
    state.pos[:] = (0.0, t_s, 2.0), (3.0, t_s, 2.0)
    return state


def press(window, *keys, modifier=QtCore.Qt.KeyboardModifier.NoModifier):
    for key in keys:
        QtTest.QTest.keyClick(window, key, modifier)


def shown(window):
    image = window.canvas.image
    rows = np.frombuffer(image.constBits(), dtype=np.uint8).reshape(image.height(), -1)
    return rows[:, : 3 * image.width()].astype(int)


def test_play_pause_step_seek_and_speed(window):
    press(window, Key.Key_Space)
    assert window.bar.playing and window.bar.button.text() == "Pause"
    press(window, Key.Key_Up)
    assert window.bar.speed == 2.0
    window.advance(0.1)
    assert window.t_s == pytest.approx(0.2)
    press(window, Key.Key_Space, Key.Key_Down)
    assert not window.bar.playing and window.bar.speed == 1.0
    press(window, Key.Key_Home)
    assert window.t_s == window.begin_s == 0.0
    press(window, Key.Key_Right, Key.Key_Right, Key.Key_Left)
    assert window.t_s == pytest.approx(0.1)
    press(window, Key.Key_Right, modifier=SHIFT)
    assert window.t_s == pytest.approx(5.1)
    window.bar.slider.setValue(300)
    assert window.t_s == pytest.approx(3.0)
    press(window, Key.Key_End)
    assert window.t_s == window.end_s
    labels = [label.text() for label in window.findChildren(QtWidgets.QLabel)]
    assert "10.0 of 10.0 s" in labels
    press(window, Key.Key_Space)  # starts again
    assert window.bar.playing and window.t_s == window.begin_s


def test_cameras_names_trails_shadows_and_help(window):
    press(window, Key.Key_Right)
    before = shown(window)
    for key in (Key.Key_N, Key.Key_T, Key.Key_S):
        press(window, key)
        assert (shown(window) != before).any()
        before = shown(window)
    press(window, Key.Key_C)
    assert window.stage.camera.kind == window.camera_box.currentText() == "orbit"
    press(window, Key.Key_V)
    assert (window.stage.camera.kind, window.vehicle_box.currentText()) == ("follow", "iris_1")
    press(window, Key.Key_H)
    assert window.help.isVisible() and "space" in window.help.text()


def test_the_mouse_turns_the_camera_and_r_turns_it_back(window):
    before = shown(window)
    canvas = window.canvas
    QtTest.QTest.mousePress(canvas, QtCore.Qt.MouseButton.LeftButton, pos=QtCore.QPoint(50, 50))
    QtTest.QTest.mouseMove(canvas, QtCore.QPoint(150, 90))
    QtTest.QTest.mouseRelease(canvas, QtCore.Qt.MouseButton.LeftButton)
    assert window.stage.camera.turned < -0.5 and window.stage.camera.raised > 0.1
    assert (shown(window) != before).any()
    press(window, Key.Key_R)
    assert window.stage.camera.turned == 0.0


def test_a_picture_is_saved(window, tmp_path):
    window.screenshot(str(tmp_path / "a.png"))
    assert (tmp_path / "a.png").read_bytes()[:4] == b"\x89PNG"


def test_slow_images_are_drawn_less_finely_and_quick_ones_finely_again(window):
    for _ in range(module.JUDGED):
        window.adapt(1.0)
    assert window.quality == 1
    for _ in range(module.JUDGED):
        window.adapt(0.001)
    assert window.quality == 0


def test_a_running_simulation_is_shown_as_it_flies(application, tmp_path):
    """What comes through the ring: poses, trails, speed, inserted models, an earlier time."""
    arrays = [["pos", "<f8", [2, 3]], ["quat", "<f8", [2, 4]]]
    with_ball = [*arrays, ["inserted", "<f8", [1, 13]]]
    ring, other = (
        FrameWriter(tmp_path / name, what) for name, what in (("a", arrays), ("b", with_ball))
    )
    scene = SceneDescription(
        world=str(load_world("empty").sdf),
        added=[],
        ring=str(ring.path),
        arrays=arrays,
        vehicles=[(s.type, s.name, s.pos, s.yaw) for s in fleet("iris", 2)],
        inserted=[],
    )
    flight = LiveFlight(SceneDescription.from_json(scene.to_json()))
    window = module.Window(flight, Camera(), (500, 320))
    window.hold()
    window.show()
    application.processEvents()
    assert flight.factor() == "paused" and "still" not in window.cameras
    for t_s in (1.0, 1.5, 2.0):
        state = moved(t_s)
        ring.write(state.t_us, {"pos": state.pos, "quat": state.quat})
        window.advance(0.0)
    assert window.t_s == 2.0 and flight.factor().endswith(" x")
    np.testing.assert_array_equal(flight.state(0.0).pos, moved(2.0).pos)
    assert len(flight.trail(2.0)) == 4
    before = shown(window)
    ball = read_model(BALL, "ball", Pose((0.0, 5.0, 2.0)))
    flight.scenes.put(
        replace(scene, ring=str(other.path), arrays=with_ball, inserted=[ball.plain()])
    )
    window.advance(0.0)
    other.write(
        2_000_000,
        {
            "pos": state.pos,
            "quat": state.quat,
            "inserted": np.array([[0, 5, 2, 0, 0, 0, 1, *[0] * 6]]),
        },
    )
    window.advance(0.0)
    assert (np.abs(shown(window) - before).max(axis=1) > 50).any()
    other.write(1_000_000, {"pos": state.pos, "quat": state.quat, "inserted": np.eye(1, 13, 6)})
    window.advance(0.0)
    assert window.t_s == 1.0 and len(flight.trail(1.0)) == 2
    window.close()


@pytest.fixture
def engine():
    found = EmbeddedEngine(load_world("empty"), fleet("iris", 2), (load_vehicle("iris"),) * 2)
    yield found
    found.close()


def fly(engine, steps=50):
    for _ in range(steps):
        engine.step(np.zeros((2, 1, 6)), np.zeros((2, 0)), 4000)


def test_the_end_of_the_window_is_not_that_of_the_flight(engine, caplog, monkeypatch):
    monkeypatch.setattr(live, "PERIOD_S", 0.0)
    engine.open_viewer()
    process, ring = engine.window.process, engine.window.ring.path
    fly(engine)
    assert process.poll() is None and ring.exists()
    engine.insert(read_model(BALL, "ball", Pose((0.0, 5.0, 2.0))))
    fly(engine)
    assert process.poll() is None
    process.kill()
    process.wait()
    with caplog.at_level(logging.WARNING):
        fly(engine)
    assert ["the flight goes on" in record.message for record in caplog.records] == [True]
    assert not ring.exists() and engine.state.t_us == 600_000


def test_a_window_closes_with_its_flight(engine):
    engine.open_viewer()
    process = engine.window.process
    engine.close()
    assert process.returncode == 0
    engine.close()


@pytest.mark.parametrize("platform", ["xcb", "none"])
def test_a_window_that_does_not_open_is_one_line(engine, monkeypatch, tmp_path, platform):
    monkeypatch.setenv("DISPLAY", f"{tmp_path}/none")
    monkeypatch.setenv("QT_QPA_PLATFORM", platform)
    with pytest.raises(EngineError, match="the window of the flight does not open: .*[Cc]ould not"):
        engine.open_viewer()
    assert engine.window is None
