"""Each action of `xtdrone slam`: help, bad input in one line, nothing in the current folder."""

import re

import numpy as np
import pytest

pytest.importorskip("cv2")
pytest.importorskip("evo")

from slam_wall import record_wall
from xtdrone_core import command
from xtdrone_core.runs import run_folder
from xtdrone_slam.datasets import formats

ACTIONS = (
    "record",
    "run",
    "watch",
    "live",
    "install",
    "campaign",
    "compare",
    "evaluate",
    "export",
    "import",
)
RUN = ["run", "--system", "klt", "--dataset", "wall"]


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    """A folder of runs with a dataset, and the truth as an estimate."""
    folder = tmp_path_factory.mktemp("runs")
    record_wall(folder / "wall" / "dataset")
    (folder / "plain").mkdir()
    row = np.array([0.1, 0, 0, 1, 0, 0, 0, 1.0])
    formats.write_tum(
        folder / "a.tum",
        np.array([row + [0.1 * k, 0.2 * k, k % 2, 0, 0, 0, 0, 0] for k in range(9)]),
    )
    return folder


@pytest.fixture
def here(recorded, tmp_path, monkeypatch):
    """An empty current folder, without a display."""
    monkeypatch.setenv("XTDRONE_RUNS", str(recorded))
    for name in ("DISPLAY", "WAYLAND_DISPLAY", "QT_QPA_PLATFORM"):
        monkeypatch.delenv(name, raising=False)
    empty = tmp_path / "here"
    empty.mkdir()
    monkeypatch.chdir(empty)
    return empty


def run(words):
    """Exit status of a command line."""
    try:
        return command.main(["slam", *words])
    except SystemExit as end:
        return end.code


@pytest.mark.parametrize("action", ACTIONS)
def test_help_has_an_example(action, capsys):
    assert run([action, "--help"]) == 0
    said = capsys.readouterr().out
    assert f"  xtdrone slam {action}" in said.partition("examples:")[2]


@pytest.mark.parametrize(
    "words, says",
    [
        (["record", "--world", "nosuch"], "unknown world 'nosuch'.*indoor"),
        (["record", "--trajectory", "nosuch"], "no trajectory 'nosuch': give reference or rounds"),
        (["record", "--texture", "2"], "fraction from 0 to 1"),
        (["record", "--name", "a/b"], "not a folder name"),
        (["run", "--system", "kl", "--dataset", "wall"], "did you mean 'klt'"),
        (["run", "--system", "klt", "--dataset", "plain"], "no dataset 'plain'.*the newest: wall"),
        ([*RUN, "--runs", "0"], "runs 0 is not allowed: give a whole number from 1"),
        ([*RUN, "--set", "feature=3"], "did you mean 'features'"),
        ([*RUN, "--set", "features=abc"], "features abc is not allowed"),
        ([*RUN, "--limit", "ape=3"], "unknown limit 'ape'.*ape_deg"),
        ([*RUN, "--gui"], "no display for a window: leave --gui away"),
        (["campaign", "nosuch.yaml"], "cannot read campaign 'nosuch.yaml'"),
        (["compare", "plan"], "no run 'plan'.*did you mean 'plain'"),
        (["compare", "plain"], "holds no finished run"),
        (["export", "plain", "--format", "kitti", "--out", "x"], "no dataset 'plain'"),
        (["export", "plain", "--format", "csv", "--out", "x"], "is not the run folder of a flight"),
        (
            ["import", "a.bag", "--calibration", "a", "--imu", "b", "--truth", "/c", "--out", "d"],
            "cannot read calibration 'a': No such file.*give Kalibr's",
        ),
        (["watch", "nosuch"], "no run 'nosuch'"),
        (["watch", "plain"], "no display for a window: give --png"),
        (["watch", "plain", "--png", "a.png"], "holds no run of a SLAM system"),
        (["watch", "plain", "--png", "a.txt"], "ends in .png"),
        (["evaluate", "a.tum", "--reference", "b.tum"], "cannot read"),
        (["install", "nosuch"], "unknown system 'nosuch'.*adapter.yaml"),
        (["live", "--trajectory", "nosuch"], "no trajectory 'nosuch'"),
        (["live", "--latency_ms", "-1"], "latency_ms -1 is not allowed"),
    ],
)
def test_bad_input_is_one_line_and_leaves_nothing(here, capsys, words, says):
    before = run_folder.names()
    assert run(words) in (1, 2)
    said = capsys.readouterr()
    assert said.err.count("\n") == 1 and not said.out
    assert re.search(says, said.err), said.err
    assert run_folder.names() == before and not list(here.iterdir())


def test_results_go_where_the_user_says(here, recorded, tmp_path, capsys):
    estimate = str(recorded / "a.tum")
    for words in (
        ["install", "klt"],
        ["evaluate", estimate, "--reference", estimate],
        ["export", "wall", "--format", "kitti", "--out", str(tmp_path / "kitti")],
    ):
        assert run(words) == 0, capsys.readouterr().err
        assert not list(here.iterdir()), words
    assert (tmp_path / "kitti" / "poses" / "00.txt").exists()
