"""The window of the viewer, driven under Xvfb: keys, replay, live flight, pictures."""

import importlib.util
import os
import shutil
import subprocess
import sys

import numpy as np
import pytest

from waiting import LIMIT_S
from xtdrone_core import plot_style
from xtdrone_core.windows import display
from xtdrone_formation import FormationError
from xtdrone_formation.simple import run as simple_run
from xtdrone_formation.viewing.scenes import LiveFlight, Replay

MISSING = [
    name for name in ("pyqtgraph", "PySide6", "OpenGL") if importlib.util.find_spec(name) is None
]
pytestmark = [
    pytest.mark.skipif(bool(MISSING), reason=f"the viewer needs {', '.join(MISSING)}"),
    pytest.mark.skipif(shutil.which("Xvfb") is None, reason="Xvfb is not installed here"),
]


@pytest.fixture(scope="module")
def viewer():
    """The viewer's module, with a display and a Qt application for all tests of this file."""
    from xtdrone_core.windows import application
    from xtdrone_formation.viewing import viewer as module

    before = os.environ.get("DISPLAY")
    display.start_virtual(FormationError)
    application.application("#e9ebee")
    yield module
    if before is None:
        del os.environ["DISPLAY"]  # other tests see the machine as it is


@pytest.fixture(scope="module")
def run_folder(tmp_path_factory):
    """A short flight in the simple simulator."""
    patch = pytest.MonkeyPatch()
    patch.setenv("XTDRONE_RUNS", str(tmp_path_factory.mktemp("runs")))
    folder, _ = simple_run.run(6, ("T",), "consensus")
    patch.undo()
    return folder


def pixels(viewer, window):
    """The picture of the window as (H, W, 3)."""
    window.refresh()
    viewer.QtWidgets.QApplication.processEvents()
    image = window.grab().toImage().convertToFormat(viewer.QtGui.QImage.Format.Format_RGB888)
    rows = np.frombuffer(image.constBits(), dtype=np.uint8).reshape(image.height(), -1)
    return rows[:, : 3 * image.width()].reshape(image.height(), image.width(), 3).astype(int)


def like(image, colour):
    """Number of pixels near a colour #rrggbb."""
    return int((np.abs(image - 255 * np.array(plot_style.rgba(colour)[:3])).max(axis=2) < 40).sum())


def test_vehicles_slots_links_heights_and_trails_are_drawn(viewer, run_folder):
    canvas = viewer.canvas
    scene = Replay(run_folder)
    scene.seek(12.0)
    window = viewer.Viewer(scene)
    window.show()
    assert [window.view.line_count(layer) for layer in ("slots", "links", "height lines")] == [
        5 * 12,
        len(scene.edges),
        6,
    ]
    before = pixels(viewer, window)
    for colour, minimum in (
        (plot_style.LEADER, 100),
        (plot_style.FOLLOWERS[0], 50),
        (canvas.SLOT, 100),
        (canvas.LINK, 100),
        (canvas.INK, 500),
    ):
        assert like(before, colour) > minimum, colour
    for layer in canvas.LAYERS:
        window.show_layer(layer, False)
        after = pixels(viewer, window)
        assert (after != before).any(), layer
        before = after
    assert like(before, canvas.LINK) < 100 < like(before, plot_style.LEADER)  # the legend's line
    window.close()


def test_the_window_tells_time_formation_error_scale_and_keys(viewer, run_folder):
    scene = Replay(run_folder)
    scene.seek(14.0)
    window = viewer.Viewer(scene, speed=2.0)
    facts = window.facts()
    assert facts["time"] == f"14.0 of {scene.end_s:.1f} s, 2 x"
    assert facts["formation"] == "T" and facts["vehicles"] == "6"
    assert facts["slot error"].endswith("m RMS") and "vehicle " in facts["largest"]
    assert facts["links"] == str(len(scene.edges)) and "on the ground" in facts["grid"]
    words = " ".join(label.text() for label in window.findChildren(viewer.QtWidgets.QLabel))
    for text in (facts["time"], "play, pause", "zoom", "follow the leader", "leader"):
        assert text in words, text
    labels = [label.text for label in window.view.labels]
    assert {"x east [m]", "y north [m]", "z up [m]", "vehicle 5"} <= set(labels)
    assert "xtdrone formation" in window.windowTitle() and window.width() >= 800


def test_keys(viewer, run_folder):
    window = viewer.Viewer(Replay(run_folder))
    window.seek(10.0)
    actions = {key: action for row in window.keys for key, action in row.actions.items()}
    bound = {shortcut.key().toString() for shortcut in window.findChildren(viewer.QtGui.QShortcut)}
    assert bound == set(actions)
    actions["Right"]()
    actions["Shift+Left"]()
    assert window.scene.t_s == 1.0
    actions["+"]()
    assert window.bar.speed == 2.0
    actions["L"]()
    assert window.view.follow == "leader"
    actions["C"]()
    assert window.view.line_count("links") == 0 and not window.boxes["links"].isChecked()
    actions["Space"]()
    assert window.bar.playing
    actions["Q"]()


@pytest.mark.parametrize(
    "n, spread, height", [(2, 2.0, 3.0), (9, 200.0, 60.0), (30, 5.0, 150.0), (1000, 100.0, 20.0)]
)
def test_the_camera_frames_the_fleet(viewer, n, spread, height):
    scene = LiveFlight(n, ("line",))
    rng = np.random.default_rng(1)
    scene.pos[:] = rng.uniform(-0.5, 0.5, (n, 3)) * (spread, spread, 0.3 * spread) + (5, 9, height)
    window = viewer.Viewer(scene)
    window.show()
    viewer.QtWidgets.QApplication.processEvents()
    places = window.view.on_screen(scene.pos)
    size = np.array([window.view.width(), window.view.height()])
    assert (places > 0.02 * size).all() and (places < 0.98 * size).all()
    labels = window.view.label_positions()
    assert (labels > 0).all() and (labels < size).all()  # of the axes, too
    window.view.opts["distance"] *= 0.5  # as the mouse wheel does
    window.refresh()
    assert window.view.zoom == pytest.approx(0.5)
    window.look_at_all()
    np.testing.assert_allclose(window.view.on_screen(scene.pos), places, atol=1.0)
    window.close()


def test_play_pause_speed_and_the_end(viewer, run_folder):
    scene = Replay(run_folder)
    window = viewer.Viewer(scene)
    window.bar.button.click()
    assert window.bar.playing and window.bar.button.text() == "Pause"
    window.bar.button.click()
    assert not window.bar.playing
    window.bar.box.activated.emit(viewer.SPEEDS.index(4.0))
    assert window.bar.speed == 4.0
    window.seek(scene.end_s - 1.0)
    window.play()
    window.advance(2.0)
    assert not window.bar.playing and scene.t_s == scene.end_s
    window.play()
    assert scene.t_s == scene.start_s
    window.pause()


def test_the_camera_follows(viewer, run_folder):
    scene = Replay(run_folder)
    window = viewer.Viewer(scene)
    window.seek(15.0)
    window.set_follow("leader")
    np.testing.assert_allclose(list(window.view.opts["center"]), scene.pos[0], atol=1e-4)
    window.view.panned.emit()
    assert window.view.follow == "nobody" == window.follow.currentText()
    window.seek(2.0)
    centre = list(window.view.opts["center"])
    assert np.abs(np.array(centre) - scene.pos[0]).max() > 0.1
    window.look_at_all()
    assert list(window.view.opts["center"]) != centre


def test_a_live_flight_goes_on_while_it_is_watched(viewer, tmp_path):
    scene = LiveFlight(6, ("T",))
    window = viewer.Viewer(scene)
    window.play()
    while scene.t_s < 12.0:
        window.advance(0.5)
    assert scene.formation == "T"
    assert window.facts()["formation"] == "T"
    assert len(scene.edges) == 5 == window.view.line_count("links")
    window.pause()
    window.screenshot(tmp_path / "live.png")
    assert (tmp_path / "live.png").stat().st_size > 5_000


def test_a_replay_shows_what_was_flown(run_folder):
    scene = Replay(run_folder)
    scene.seek(14.0)
    assert scene.formation == "T" and scene.slots.shape == (5, 3)
    assert len(scene.edges) > 5  # consensus hears more than the leader
    trail = scene.trail(20)
    assert trail.shape == (20, 6, 3)
    np.testing.assert_array_equal(trail[-1], scene.pos)
    scene.seek(0.0)
    assert scene.formation == "" and scene.slots is None and len(scene.edges) == 0


def test_what_is_refused(viewer, run_folder):
    for options, words in (({"follow": "me"}, "cannot follow 'me'"), ({"speed": 0}, "speed 0")):
        with pytest.raises(FormationError, match=words):
            viewer.Viewer(Replay(run_folder), **options)
    window = viewer.Viewer(Replay(run_folder))
    with pytest.raises(FormationError, match="cannot write picture"):
        window.screenshot("/no/such/folder/x.png")


def command(*words, **environment):
    """`xtdrone formation view` in a process without a display."""
    env = {k: v for k, v in os.environ.items() if k not in ("DISPLAY", "WAYLAND_DISPLAY")}
    return subprocess.run(
        [sys.executable, "-m", "xtdrone_core.command", "formation", "view", *map(str, words)],
        env={**env, **environment},
        text=True,
        capture_output=True,
        timeout=LIMIT_S,
    )


def test_a_picture_without_a_display(run_folder, tmp_path):
    done = command(
        run_folder.name,
        "--at",
        12,
        "--png",
        tmp_path / "run.png",
        XTDRONE_RUNS=str(run_folder.parent),
    )
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "run.png").stat().st_size > 5_000


def test_no_display_and_no_xvfb_are_one_line(run_folder, tmp_path):
    done = command(run_folder)
    assert done.returncode == 1 and "there is no display" in done.stderr
    done = command(run_folder, "--png", tmp_path / "x.png", PATH=str(tmp_path))
    assert done.returncode == 1 and "xvfb" in done.stderr and done.stderr.count("\n") == 1
