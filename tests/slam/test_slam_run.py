"""Systems under test: the link, the KLT baseline on a drawn scene, and every way to fail."""

import re
import subprocess
import sys
import time

import numpy as np
import pytest

cv2 = pytest.importorskip("cv2")

from slam_wall import POSE, READ, SIZE, stereo, wall
from xtdrone_slam import SlamError
from xtdrone_slam.benchmark import adapters, link, runner
from xtdrone_slam.benchmark.session import Session
from xtdrone_slam.systems.klt.odometry import Odometry


def test_odometry_finds_a_known_motion():
    odometry = Odometry(stereo())
    for share in np.linspace(0.0, 1.0, 11):
        pos = share * np.array([0.4, -0.3, 0.2])
        pose, inliers = odometry.step(*wall(pos))
        assert inliers > 30
        assert np.allclose(pose[:3, 3], pos, atol=0.02)
        assert np.allclose(pose[:3, :3], np.eye(3), atol=0.01)


def test_odometry_says_that_it_is_lost():
    odometry = Odometry(stereo())
    odometry.step(*wall(np.zeros(3)))
    grey = np.full(SIZE[::-1], 128, dtype=np.uint8)
    assert odometry.step(grey, grey)[0] is None
    assert odometry.step(*wall(np.zeros(3)))[0] is None  # no keyframe to compare with
    assert odometry.step(*wall(np.zeros(3)))[0] is not None


def test_baseline_runs_as_a_process(dataset, tmp_path):
    outcome = runner.run(adapters.load("klt"), dataset, tmp_path / "run", speed=0.0)
    assert outcome.reason == ""
    assert outcome.answers == outcome.frames == 12 and outcome.dropped == 0
    rows = (tmp_path / "run" / "estimate.tum").read_text().splitlines()
    assert len(rows) == outcome.answers - outcome.lost
    assert float(rows[-1].split()[1]) == pytest.approx(0.22, abs=0.02)


@pytest.mark.slow
@pytest.mark.parametrize(
    "code, says",
    [
        (READ + "raise SystemExit(3)", "status 3"),
        (READ + "t > 200000 and sys.exit(4); " + POSE.format("0"), "status 4"),
        (READ + POSE.format("float('nan')"), "invalid pose"),
        (READ + "print(link.lost_line(t, 0), flush=True)", "never gave a pose"),
    ],
)
def test_failure_of_a_system_is_an_outcome(dataset, tmp_path, code, says):
    adapter = adapters.Adapter(
        "bad", (sys.executable, "-c", code.replace("{", "{{").replace("}", "}}")), "", True, {}
    )
    outcome = runner.run(adapter, dataset, tmp_path / "run", speed=0.0)
    assert re.search(says, outcome.reason), outcome.reason
    assert (tmp_path / "run" / "outcome.json").exists()


@pytest.mark.long
@pytest.mark.parametrize(
    "code, says",
    [
        ("import time; time.sleep(60)", "no answer for 1.5 s"),
        ("while True: pass", "no answer for 1.5 s"),
        (
            READ + POSE.format("0") + "; sys.stdin.buffer.close(); import time; time.sleep(60)",
            "no answer for|did not end within 0.5 s",
        ),
    ],
)
def test_system_that_hangs_is_ended(dataset, tmp_path, code, says):
    adapter = adapters.Adapter(
        "bad", (sys.executable, "-c", code.replace("{", "{{").replace("}", "}}")), "", True, {}
    )
    outcome = runner.run(adapter, dataset, tmp_path / "run", speed=0.0, timeout_s=0.5)
    assert re.search(says, outcome.reason), outcome.reason


@pytest.mark.slow
def test_a_system_that_answers_slowly_to_the_end_is_not_ended(dataset, tmp_path):
    """Together the pairs that are queued when the recording is over take longer than the limit."""
    code = READ + "import time; time.sleep(1.2 * (t > 400000)); " + POSE.format("0")
    adapter = adapters.Adapter(
        "slow", (sys.executable, "-c", code.replace("{", "{{").replace("}", "}}")), "", True, {}
    )
    outcome = runner.run(adapter, dataset, tmp_path / "run", speed=0.0, timeout_s=3.0)
    assert outcome.reason == "" and outcome.answers == len(dataset)


@pytest.mark.parametrize(
    "spent, hangs", [(0.0, True), (0.1, True), (0.6, False), (9.9, False), (10.1, True)]
)
def test_who_waits_for_a_busy_machine_does_not_hang(tmp_path, spent, hangs, monkeypatch):
    code = "import time; time.sleep(60)"
    process = subprocess.Popen(
        [sys.executable, "-c", code],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        start_new_session=True,
    )
    with open(tmp_path / "system.log", "w") as log:
        session = Session(process, tmp_path, log, timeout_s=10.0 / 3.0)  # 10 s before the first one
        try:
            monkeypatch.setattr(session.monitor, "spent_since", lambda moment: spent)
            later = time.monotonic() + 12.0
            monkeypatch.setattr(time, "monotonic", lambda: later)
            assert session.failed() == hangs
        finally:
            monkeypatch.undo()
            session.close()


def test_link_carries_pairs_and_answers():
    import io

    left, right = np.arange(12, dtype=np.uint8).reshape(2, 3, 2)
    stream = io.BytesIO(link.pack(5, left, right) + link.pack(-6, right, left)[:-1])
    ((t_us, a, b),) = link.frames(stream, (3, 2))
    assert t_us == 5 and np.array_equal(a, left) and np.array_equal(b, right)
    answer = link.parse(link.pose_line(7, (1, 2, 3), (0, 0, 0, 1), 42))
    assert (answer.t_us, answer.pose[:3], answer.features) == (7, (1, 2, 3), 42)
    assert link.parse("a log line") is None
    assert not link.parse("pose 1 nan 0 0 0 0 0 1 5").finite


def test_unknown_system_and_parameter():
    with pytest.raises(SlamError, match="klt"):
        adapters.load("kl")
    with pytest.raises(SlamError, match="features"):
        adapters.load("klt", feature=3)
