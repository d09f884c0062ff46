"""Whatever goes wrong, the run is marked with the reason and what was recorded stays."""

import resource
import subprocess
import sys

import numpy as np
import pytest

from waiting import LIMIT_S

pytest.importorskip("cv2")

from slam_wall import POSE, READ, stereo, wall
from xtdrone_slam import SlamError
from xtdrone_slam.benchmark import adapters, runner
from xtdrone_slam.benchmark.channel import Channel
from xtdrone_slam.datasets.dataset import Dataset, DatasetWriter
from xtdrone_slam.datasets.formats import LineFile


def system(code):
    """A system of one line of Python."""
    return adapters.Adapter(
        "bad", (sys.executable, "-c", code.replace("{", "{{").replace("}", "}}")), "", True, {}
    )


def replay(code, dataset, folder, **options):
    return runner.run(system(code), dataset, folder, speed=0.0, **options)


def test_jump_is_told_and_the_run_goes_on(dataset, tmp_path):
    outcome = replay(READ + POSE.format("0 if t < 500000 else 30"), dataset, tmp_path)
    assert outcome.reason.startswith("jumped 30.0 m in 0.08 s at 0.56 s")
    assert outcome.answers == 12  # to the end
    assert len((tmp_path / "estimate.tum").read_text().splitlines()) == 12


def test_full_disk_marks_the_run(dataset, tmp_path):
    (tmp_path / "estimate.tum").symlink_to("/dev/full")
    outcome = replay(READ + POSE.format("0"), dataset, tmp_path)
    assert "No space left" in outcome.reason and "estimate.tum" in outcome.reason
    (tmp_path / "two").mkdir()
    (tmp_path / "two" / "usage.csv").symlink_to("/dev/full")
    with pytest.raises(SlamError, match="usage.csv"):
        replay(READ + POSE.format("0"), dataset, tmp_path / "two")


def test_images_that_are_missing_are_told(tmp_path):
    writer = DatasetWriter(tmp_path / "data", stereo())
    for i in range(4):
        writer.truth(80_000 * (i + 1), (0, 0, 0), (0, 0, 0, 1), (0, 0, 0))
        writer.images(80_000 * (i + 1), *wall(np.zeros(3)))
    writer.close()
    (tmp_path / "data/mav0/cam1/data/160000000.png").unlink()
    (tmp_path / "data/mav0/cam0/data/240000000.png").write_bytes(b"\x89PNG half of it")
    outcome = replay(READ + POSE.format("0"), Dataset(tmp_path / "data"), tmp_path / "run")
    assert outcome.reason.startswith("2 pairs of the recording are missing")
    assert "160000000.png" in outcome.reason and outcome.missing == 2
    assert outcome.answers == 2


def test_lossy_channel_leaves_out_the_same_pairs_for_all(dataset, tmp_path):
    kept = []
    for name in ("one", "two"):
        outcome = replay(
            READ + POSE.format("0"), dataset, tmp_path / name, channel=Channel(loss=0.5, seed=3)
        )
        assert outcome.reason == "" and 0 < outcome.not_arrived < 12
        assert outcome.answers + outcome.not_arrived + outcome.dropped == 12
        kept.append((tmp_path / name / "estimate.tum").read_text())
    assert kept[0] == kept[1]
    outcome = replay(READ + POSE.format("0"), dataset, tmp_path / "none", channel=Channel(loss=1))
    assert outcome.reason == "never gave a pose" and outcome.not_arrived == 12


def test_narrow_channel_delays_and_drops():
    channel = Channel(bandwidth=1.0)  # 1 MB/s: 100 ms for 100 kB
    arrivals = [channel.arrival(t_us, 100_000) for t_us in range(0, 400_000, 80_000)]
    assert arrivals == [100_000, None, 260_000, None, 420_000]
    assert [Channel().arrival(t, 10**6) for t in (0, 1)] == [0, 1]
    for wrong in ({"bandwidth": -1}, {"loss": 1.1}, {"loss": float("nan")}):
        with pytest.raises(SlamError):
            Channel(**wrong)


_RECORD = """
import sys; sys.path[:0] = {paths!r}
from slam_wall import stereo, wall
from xtdrone_slam import SlamError
from xtdrone_slam.datasets.dataset import DatasetWriter
writer = DatasetWriter({folder!r}, stereo())
try:
    for i in range(100_000):
        writer.truth(4000 * i, (0.001 * i, 0, 0), (0, 0, 0, 1), (0, 0, 0))
        if i % 20 == 0:
            writer.images(4000 * i, *wall((0, 0, 0)))
except SlamError as error:
    print(error)
    sys.exit(1)
"""


def test_recording_stays_whole_when_no_more_can_be_written(tmp_path):
    """Files that may not grow beyond 100 kB stand for the disk that is full."""
    paths = sys.path
    done = subprocess.run(
        [sys.executable, "-c", _RECORD.format(paths=paths, folder=str(tmp_path / "data"))],
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000)),
        capture_output=True,
        text=True,
        timeout=LIMIT_S,
    )
    assert done.returncode == 1 and "File too large" in done.stdout, done.stderr
    left = Dataset(tmp_path / "data")
    truth = left.truth()
    assert len(left) > 20 and len(truth) > 20 * (len(left) - 1)
    assert np.allclose(truth[:, 1], 0.25 * truth[:, 0])
    for index in range(len(left)):
        assert left.pair(index)[1].shape == (240, 320)


def test_line_file_that_failed_says_so_again():
    file = LineFile("/dev/full")
    with pytest.raises(SlamError, match="No space"):
        file.write("a")
    with pytest.raises(SlamError, match="earlier"):
        file.write("b")
    file.close()
