"""The window of `xtdrone slam watch`: its data, its keys, and a picture of it."""

import os

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

pytest.importorskip("cv2")
pytest.importorskip("evo")

from xtdrone_core import XtdroneError, command, libraries, plot_style
from xtdrone_slam import SlamError
from xtdrone_slam.evaluation.usage import usage_in_flight
from xtdrone_slam.viewing import progress, watch
from xtdrone_slam.viewing.progress import RunView, Tail

TURN = Rotation.from_rotvec([0.1, -0.2, 1.2])
SHIFT = np.array([1.0, 2.0, 3.0])


def write_run(folder, count=40, step_m=0.2, name="run_1"):
    """A run whose estimate is the truth in another frame, with CPU and memory."""
    place = folder / "hall" / "klt" / name
    place.mkdir(parents=True)
    t = 0.08 * np.arange(count)
    truth = np.column_stack([t, step_m * np.arange(count), np.sin(t), 1.0 + 0.1 * t])
    (folder / "hall" / "groundtruth.tum").write_text(
        "".join(f"{' '.join(map(str, row))} 0 0 0 1\n" for row in truth)
    )
    quat = " ".join(map(str, TURN.as_quat()))
    (place / "estimate.tum").write_text(
        "".join(
            f"{row[0]} {' '.join(map(str, TURN.apply(row[1:]) + SHIFT))} {quat}\n" for row in truth
        )
    )
    (place / "frames.csv").write_text(
        "t_us,latency_s,lost,features,wall_s\n"
        + "".join(
            f"{round(1e6 * x)},0.02,{int(k == 5)},{100 + k},{2.0 + x}\n" for k, x in enumerate(t)
        )
    )
    (place / "usage.csv").write_text(
        "t_s,cpu_percent,memory_mib,processes\n"
        + "".join(f"{0.1 * k},{50.0 + 10.0 * (-1) ** k},80.0,1\n" for k in range(60))
    )
    return place


def test_growing_files_are_followed(tmp_path):
    place = tmp_path / "flight" / "klt" / "run_1"
    place.mkdir(parents=True)
    assert progress.runs(tmp_path) == []
    (place / "frames.csv").write_text(
        "t_us,latency_s,lost,features,wall_s\n1000000,0.02,0,7,3.5\n2000000,0"
    )
    assert progress.runs(tmp_path) == [place]
    view = RunView(place)
    assert view.frames().tolist() == [[1.0, 20.0, 0.0, 7.0, 3.5]]
    with open(place / "frames.csv", "a") as file:
        file.write(".03,1,9,4.5\n")
    assert view.frames()[1].tolist() == [2.0, 30.0, 1.0, 9.0, 4.5]
    assert len(view.paths().estimate) == 0 and not view.finished
    assert Tail(tmp_path / "none", ",", 3).table().shape == (0, 3)


@pytest.mark.parametrize("count", [1, 3, 40])  # by the first pose, then by the positions
def test_estimate_is_aligned_from_the_first_pose_on(tmp_path, count):
    paths = RunView(write_run(tmp_path, count)).paths()
    assert np.allclose(paths.estimate, paths.truth) and paths.rmse < 1e-9
    assert paths.length == pytest.approx(0.2 * (count - 1), rel=0.1)


def test_usage_is_smoothed_and_on_the_time_of_the_flight(tmp_path):
    view = RunView(write_run(tmp_path))
    usage = view.usage(view.frames())
    assert usage[0, 0] == pytest.approx(0.0, abs=0.1)  # the first answer came at 2 s of wall time
    assert np.ptp(np.diff(usage[:, 0])) < 1e-9 and usage[-1, 0] <= view.frames()[-1, 0] + 1e-9
    assert np.allclose(usage[:, 1], 50.0, atol=1.0) and np.allclose(usage[:, 2], 80.0)
    assert usage_in_flight(np.zeros((0, 4)), view.frames()).shape == (0, 3)


@pytest.fixture
def window(tmp_path, monkeypatch):
    monkeypatch.setenv("QT_QPA_PLATFORM", "offscreen")
    pg = pytest.importorskip("pyqtgraph")
    if libraries.missing_for_qt(window=False):
        pytest.skip("Qt cannot draw here")
    from xtdrone_slam.viewing.window import Window

    for name in ("run_1", "run_2"):
        write_run(tmp_path / name, name=name)
    os.utime(tmp_path / "run_1" / "hall" / "klt" / "run_1" / "frames.csv", (1, 1))
    application = pg.mkQApp()
    yield Window(tmp_path)
    del application


@pytest.mark.slow
def test_window_says_what_it_shows(window):
    from pyqtgraph.Qt import QtCore, QtTest

    window.show()  # lays it out
    QtTest.QTest.qWaitForWindowActive(window)  # keys go to the active window
    window.update_plots()
    assert "klt on hall, run 2: running, 40 answers, 1 without a pose" in window.headline
    assert "0.00 % of" in window.headline
    labels = {
        panel.getAxis(side).labelText
        for panel in (window.map, window.height, *window.panels.values())
        for side in ("left", "bottom")
    }
    assert {
        "x, east [m]",
        "y, north [m]",
        "time of the flight [s]",
        "[m]",
        "[ms]",
        "[MiB]",
        "[% of a core]",
        "[number]",
    } <= labels

    def press(key):
        QtTest.QTest.keyClick(window, getattr(QtCore.Qt.Key, f"Key_{key}"))

    press("Left")
    assert "run 1" in window.headline
    press("Right")
    assert "run 2" in window.headline
    press("F")
    assert np.ptp(window.map.viewRange()[0]) < 12.0
    press("P")
    assert (window.run.folder / "watch.png").read_bytes()[:4] == b"\x89PNG"
    press("Space")
    (window.run.folder / "outcome.json").write_text("{}")
    window.update_plots()
    assert "running" in window.headline
    press("Space")
    assert "ended" in window.headline


def test_picture_needs_no_display(tmp_path, monkeypatch):
    pytest.importorskip("pyqtgraph")
    if libraries.missing_for_qt(window=False):
        pytest.skip("Qt cannot draw here")
    import cv2

    monkeypatch.setenv("XTDRONE_RUNS", str(tmp_path))
    monkeypatch.setenv("QT_QPA_PLATFORM", "offscreen")
    write_run(tmp_path / "one")
    assert not command.main(["slam", "watch", "one", "--png", str(tmp_path / "watch.png")])
    picture = cv2.imread(str(tmp_path / "watch.png"))
    colour = [int(plot_style.SERIES[0][k : k + 2], 16) for k in (5, 3, 1)]  # blue first
    assert picture.shape[0] > 400 and (picture == colour).all(axis=2).sum() > 100


def test_what_cannot_be_shown_is_said(tmp_path, monkeypatch):
    monkeypatch.setenv("XTDRONE_RUNS", str(tmp_path))
    with pytest.raises(SlamError, match="holds no run of a SLAM system"):
        watch.show(tmp_path, tmp_path / "a.png")
    with pytest.raises(XtdroneError, match="ends in"):
        watch.show(tmp_path, tmp_path / "a.txt")
    for name in ("DISPLAY", "WAYLAND_DISPLAY", "QT_QPA_PLATFORM"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(SlamError, match="no display for a window: give --png"):
        watch.show(tmp_path)
