"""Scans of a lidar: in a dataset, on the link, and to a system under test."""

import json

import numpy as np
import pytest

from xtdrone_slam import SlamError
from xtdrone_slam.benchmark import adapters, link, runner
from xtdrone_slam.datasets.calibration import Imu
from xtdrone_slam.datasets.dataset import Dataset, DatasetWriter
from xtdrone_slam.datasets.scans import Scanner
from xtdrone_slam.flight import tours, trajectories
from xtdrone_slam.flight.options import FlightOptions

IMU = Imu(250.0, 1e-3, 1e-5, 1e-2, 1e-3)
LEVEL = (0.0, 0.0, 0.0, 1.0)
SYSTEM = """
import sys
sys.path.append({folder!r})
import link
answers = link.answers()
readings = 0
for kind, t_us, payload in link.messages(sys.stdin.buffer):
    if kind == link.IMU:
        readings += 1
    elif kind == link.SCAN:
        points = link.points(payload)
        print(link.pose_line(t_us, points[0, :3], (0, 0, 0, 1), readings), file=answers)
"""


def parameters(**changed):
    values = dict(
        pos=(0.1, 0.0, 0.3), quat=LEVEL, rate=10.0, latency=0.1, sweep=0.1, columns=4,
        min_angle=-np.pi, max_angle=np.pi / 2, rows=2, min_elevation=0.0, max_elevation=np.pi / 4,
        minimum=0.1, maximum=50.0, resolution=0.0, noise_mean=0.0, noise_stddev=0.0,
    )  # fmt: skip
    return {**values, **changed}


def recorded(folder, scans=3):
    """A dataset of a lidar alone, whose first beam sees 1, 2, 3 ... metres."""
    scanner = Scanner.from_simulation(parameters(), (0.0, 0.0, 0.1))
    writer = DatasetWriter(folder, IMU, scanner)
    for k in range(scans):
        writer.imu(100_000 * k + 50_000, np.zeros(3), (0.0, 0.0, 9.8))
        writer.truth(100_000 * (k + 1), (0.1 * k, 0.0, 1.0), LEVEL, np.zeros(3))
        ranges = np.full((2, 4), np.inf)
        ranges[0, 0] = k + 1.0
        writer.scan(100_000 * (k + 1), ranges)
    writer.close()
    return Dataset(folder)


def test_points_of_a_scan_have_place_time_and_row():
    scanner = Scanner.from_simulation(parameters(), (0.0, 0.0, 0.1))
    ranges = np.array([[1.0, np.inf, 2.0, -np.inf], [np.inf, 3.0, np.inf, np.inf]])
    points = scanner.points(ranges)
    rise = 3.0 * np.sqrt(0.5)
    expected = [
        [-0.9, 0.0, 0.2, -0.1, 0.0],  # behind, in the first column
        [0.1, -rise, 0.2 + rise, -0.075, 1.0],  # to the right and up
        [2.1, 0.0, 0.2, -0.05, 0.0],
    ]
    np.testing.assert_allclose(points, expected, atol=1e-6)
    np.testing.assert_array_equal(link.points(link.pack_scan(1, points)[16:]), points)


def test_scans_are_written_and_read(tmp_path):
    dataset = recorded(tmp_path / "data")
    assert dataset.scans.scanner == Scanner.from_simulation(parameters(), (0.0, 0.0, 0.1))
    assert dataset.times_us.tolist() == [100_000, 200_000, 300_000] and not dataset.has_pairs
    assert dataset.scans.ranges(1)[0, 0] == 2.0 and len(dataset.scans.points(2)) == 1
    assert len(dataset.imu()) == len(dataset.truth()) == 3
    with pytest.raises(SlamError, match="has scans and no stereo pairs"):
        _ = dataset.calibration


def test_a_system_gets_scans_after_their_imu_readings(tmp_path):
    folder = tmp_path / "counting"
    folder.mkdir()
    (folder / "adapter.yaml").write_text(
        "command: ['{python}', '{adapter}/system.py']\ninputs: [lidar, imu]\n"
    )
    (folder / "system.py").write_text(SYSTEM.format(folder=str(runner.__file__).rsplit("/", 1)[0]))
    dataset = recorded(tmp_path / "data")
    outcome = runner.run(adapters.load(str(folder)), dataset, tmp_path / "run", speed=0.0)
    assert (outcome.reason, outcome.answers, outcome.features) == ("", 3, 2.0)
    estimate = np.loadtxt(tmp_path / "run" / "estimate.tum")
    np.testing.assert_allclose(estimate[:, 1], [-0.9, -1.9, -2.9], atol=1e-6)


def test_a_system_and_a_dataset_that_do_not_fit_are_named(tmp_path):
    dataset = recorded(tmp_path / "data")
    with pytest.raises(SlamError, match="has scans and no stereo pairs"):
        runner.run(adapters.load("klt"), dataset, tmp_path / "run")
    (tmp_path / "both").mkdir()
    (tmp_path / "both" / "adapter.yaml").write_text("command: [x]\ninputs: [lidar, stereo]\n")
    with pytest.raises(SlamError, match="give lidar without stereo"):
        adapters.load(str(tmp_path / "both"))


def test_a_recording_has_sweeps_unless_they_are_switched_off():
    assert FlightOptions(vehicle="iris_3d_lidar").sensors() == "lidar.sweep=0.1"
    assert FlightOptions(vehicle="iris_2d_lidar", sweep=0.5).sensors() == "lidar.sweep=0.02"
    assert FlightOptions(vehicle="iris_3d_lidar", sweep=0).sensors() == ""
    assert FlightOptions().sensors() == ""
    with pytest.raises(SlamError, match="a sweep of 2 is not allowed"):
        FlightOptions(sweep=2)


def test_a_recording_begins_at_the_hover_unless_it_is_told_otherwise(tmp_path):
    assert FlightOptions(begin="ground").label == "indoor_ground"
    FlightOptions().save(tmp_path)
    told = json.loads((tmp_path / "slam.json").read_text())
    del told["begin"]  # as recordings have it that were made before
    (tmp_path / "slam.json").write_text(json.dumps(told))
    assert FlightOptions().matches(tmp_path)
    assert not FlightOptions(begin="ground").matches(tmp_path)
    with pytest.raises(SlamError, match="begin of 'landing' is not allowed: give hover or ground"):
        FlightOptions(begin="landing")


@pytest.mark.parametrize("name", ["tour", "aisle", "park"])
def test_tours_are_flown_gently(name):
    table = getattr(tours, name)()
    velocity = np.diff(table[:, 1:4], axis=0) / np.diff(table[:, 0])[:, None]
    assert np.linalg.norm(velocity, axis=1).max() < 3.01
    assert np.linalg.norm(np.diff(velocity, axis=0), axis=1).max() < 0.5  # 5 m/s^2
    assert np.abs(np.diff(table[:, 4])).max() < 0.25  # 2.5 rad/s
    assert np.linalg.norm(velocity, axis=1).sum() * 0.1 > 99.0
    trajectories.load(name)
