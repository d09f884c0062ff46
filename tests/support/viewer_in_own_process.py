"""The OpenGL viewer, driven under Xvfb: buttons, replay, live flight, pictures."""

import importlib.util
import os
import shutil
import subprocess
import sys

import numpy as np
import pytest

from xtdrone_formation import FormationError
from xtdrone_formation.simple import run as simple_run
from xtdrone_formation.viewing.scenes import LiveFlight, Replay

MISSING = [name for name in ("pyqtgraph", "PySide6", "OpenGL")
           if importlib.util.find_spec(name) is None]
pytestmark = [
    pytest.mark.skipif(bool(MISSING), reason=f"the viewer needs {', '.join(MISSING)}"),
    pytest.mark.skipif(shutil.which("Xvfb") is None, reason="Xvfb is not installed here"),
]


@pytest.fixture(scope="module")
def viewer():
    """The viewer's module, with a display and a Qt application for all tests of this file."""
    from xtdrone_formation.viewing import viewer as module

    before = os.environ.get("DISPLAY")
    module.ensure_display()
    module.application()
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


def picture(viewer, window):
    """The OpenGL part of the window as (H, W, 3)."""
    window.refresh()
    viewer.QtWidgets.QApplication.processEvents()
    image = window.view.grabFramebuffer().convertToFormat(
        viewer.pg.Qt.QtGui.QImage.Format.Format_RGB888)
    rows = np.frombuffer(image.constBits(), dtype=np.uint8).reshape(image.height(), -1)
    return rows[:, :3 * image.width()].reshape(image.height(), image.width(), 3).astype(int)


def like(image, colour):
    """Number of pixels near a colour of 0 to 1."""
    return int((np.abs(image - 255 * np.array(colour[:3])).max(axis=2) < 30).sum())


def test_vehicles_slots_edges_and_trails_are_drawn(viewer, run_folder):
    scene = Replay(run_folder)
    scene.seek(12.0)
    window = viewer.Viewer(scene)
    window.show()
    full = picture(viewer, window)
    assert like(full, viewer._LEADER) > 50
    assert like(full, viewer._FOLLOWER) > 5 * 30
    for name in ("slots", "trails", "edges"):
        before = picture(viewer, window)
        window._show[name].setChecked(False)
        assert (picture(viewer, window) != before).any(), name
    window.close()


def test_play_pause_speed_and_the_end(viewer, run_folder):
    scene = Replay(run_folder)
    window = viewer.Viewer(scene)
    window._play.click()
    assert window.playing and window._play.text() == "Pause"
    window._play.click()
    assert not window.playing
    window._speed.activated.emit(viewer.SPEEDS.index(4.0))
    assert window.speed == 4.0
    window.seek(scene.end_s - 1.0)
    window.play()
    window.advance(2.0)
    assert not window.playing and scene.t_s == scene.end_s
    window.play()
    assert scene.t_s == scene.start_s
    window.pause()


def test_the_camera_follows(viewer, run_folder):
    scene = Replay(run_folder)
    window = viewer.Viewer(scene)
    window.seek(15.0)
    for whom, centre in (("leader", scene.pos[0]), ("fleet", scene.pos.mean(axis=0))):
        window.set_follow(whom)
        np.testing.assert_allclose(list(window.view.opts["center"]), centre, atol=1e-4)
    window.set_follow("nobody")
    window.seek(2.0)
    np.testing.assert_allclose(list(window.view.opts["center"]), centre, atol=1e-4)


def test_a_live_flight_goes_on_while_it_is_watched(viewer, tmp_path):
    scene = LiveFlight(6, ("T",))
    window = viewer.Viewer(scene)
    window.play()
    while scene.t_s < 12.0:
        window.advance(0.5)
    assert scene.formation == "T"
    assert "T" in window._label.text() and "slot error" in window._label.text()
    assert len(scene.edges) == 5
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
    return subprocess.run([sys.executable, "-m", "xtdrone_core.command", "formation", "view",
                           *map(str, words)], env={**env, **environment}, text=True,
                          capture_output=True, timeout=120)


def test_a_picture_without_a_display(run_folder, tmp_path):
    done = command(run_folder, "--at", 12, "--png", tmp_path / "run.png")
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "run.png").stat().st_size > 5_000


def test_no_display_and_no_xvfb_are_one_line(run_folder, tmp_path):
    done = command(run_folder)
    assert done.returncode == 1 and "there is no display" in done.stderr
    done = command(run_folder, "--png", tmp_path / "x.png", PATH=str(tmp_path))
    assert done.returncode == 1 and "xvfb" in done.stderr and done.stderr.count("\n") == 1
