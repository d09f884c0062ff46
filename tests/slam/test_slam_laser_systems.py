"""Our laser SLAM systems as processes: poses of a vehicle at rest in a room, and the maps left."""

import numpy as np
import pytest

from xtdrone_slam.benchmark import adapters, runner
from xtdrone_slam.datasets.calibration import Imu
from xtdrone_slam.datasets.dataset import Dataset, DatasetWriter
from xtdrone_slam.datasets.scans import Scanner

LEVEL = (0.0, 0.0, 0.0, 1.0)
HALF = np.array([4.0, 3.0, 1.5])  # half sides of the room [m]


def at_rest(folder, rows):
    """A dataset of five scans in the middle of a room."""
    elevation = 0.2 * (rows > 1)
    scanner = Scanner.from_simulation(
        dict(
            pos=(0.0, 0.0, 0.0), quat=LEVEL, rate=10.0, latency=0.1, sweep=0.1, columns=720,
            min_angle=-np.pi, max_angle=np.pi - 0.01, rows=rows, min_elevation=-elevation,
            max_elevation=elevation, minimum=0.1, maximum=50.0, resolution=0.0, noise_mean=0.0,
            noise_stddev=0.01,
        ),
        np.zeros(3),
    )  # fmt: skip
    rays = scanner.points(np.ones((rows, 720)))[:, :3].reshape(720, rows, 3)
    with np.errstate(divide="ignore"):
        ranges = np.min(HALF / np.abs(rays), axis=2).T
    writer = DatasetWriter(folder, Imu(250.0, 1e-3, 1e-5, 1e-2, 1e-3), scanner)
    for t_us in range(0, 500_001, 4_000):
        writer.imu(t_us, np.zeros(3), (0.0, 0.0, 9.80665))
        writer.truth(t_us, np.zeros(3), LEVEL, np.zeros(3))
        if t_us % 100_000 == 0 and t_us:
            noise = np.random.default_rng(t_us).normal(0.0, 0.01, ranges.shape)
            writer.scan(t_us, ranges + noise)
    writer.close()
    return Dataset(folder)


@pytest.mark.long
@pytest.mark.parametrize(
    "system, rows, left",
    [("voxel_lio", 16, ("map.ply", "map.bt")), ("planar_slam", 1, ("map.pgm", "map.yaml"))],
)
def test_a_system_answers_each_scan_and_leaves_its_map(tmp_path, system, rows, left):
    dataset = at_rest(tmp_path / "data", rows)
    outcome = runner.run(adapters.load(system), dataset, tmp_path / "run", speed=0.0)
    assert (outcome.reason, outcome.answers, outcome.lost) == ("", 5, 0)
    assert outcome.features is not None and outcome.features > 100
    estimate = np.loadtxt(tmp_path / "run" / "estimate.tum")
    assert np.abs(estimate[:, 1:4]).max() < 0.03 and estimate[:, 7].min() > 0.999
    assert all((tmp_path / "run" / name).stat().st_size > 50 for name in left)
