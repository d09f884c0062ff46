"""Visual-inertial odometry on pictures: its tracker, and its systems as processes."""

import json

import numpy as np
import pytest

cv2 = pytest.importorskip("cv2")

from slam_wall import stereo, wall
from xtdrone_slam.benchmark import adapters, runner
from xtdrone_slam.datasets.dataset import Dataset, DatasetWriter
from xtdrone_slam.inertial.odometry import Settings, VisualInertialOdometry
from xtdrone_slam.inertial.tracker import Tracker

UP = np.array([0.0, 0.0, 9.80665])
SWING = 0.5  # amplitude of the flight before the wall [m]


def place(t):
    """Position (3,) before the wall: at rest, then to and fro."""
    return SWING * np.sin(max(t - 0.4, 0.0)) ** 2 * np.array([1.0, 0.5, -0.3])


def force(t, step=1e-3):
    """Specific force (3,) there."""
    return (place(t - step) - 2 * place(t) + place(t + step)) / step**2 + UP


def test_a_tracker_keeps_the_names_of_corners():
    tracker = Tracker(stereo(), 2, 80)
    first = tracker.step(*wall(place(0.0)), np.eye(3))
    still = tracker.step(*wall(place(0.0)), np.eye(3))
    assert tracker.moved < 0.1 and set(first.names) & set(still.names)
    moved = tracker.step(*wall(place(1.2)), np.eye(3))
    assert tracker.moved > 3.0
    both = set(first.names) & set(moved.names)
    assert len(both) > 20 and np.isfinite(moved.seen[:, 1]).all(axis=1).sum() > 20
    tracker.forget(both)
    assert not both & set(tracker.step(*wall(place(1.2)), np.eye(3)).names)


def test_a_tracker_stands_black_pictures():
    tracker, black = Tracker(stereo(), 2), np.zeros((240, 320), np.uint8)
    tracker.step(*wall(place(0.0)), np.eye(3))
    for _ in range(2):
        frame = tracker.step(black, black, np.eye(3))
        assert len(frame.names) == 0 and frame.seen.shape == (0, 2, 2)
    assert len(tracker.step(*wall(place(0.0)), np.eye(3)).names) > 20


def flown(settings, until=2.4, black=(9.0, 9.0)):
    """Flies before the wall; returns errors of the position (T,) and the odometry."""
    odometry, errors, origin = VisualInertialOdometry(stereo(), settings), [], None
    for k in range(round(until / 0.004) + 1):
        t = 0.004 * k
        odometry.imu(t, np.full(3, 0.004), force(t) + 0.02)
        if k % 20:
            continue
        images = wall(place(t))
        if black[0] <= t < black[1]:
            images = [np.zeros_like(image) for image in images]
        pose, _ = odometry.images(t, *images)
        if pose is not None:
            origin = place(t) - pose[:3, 3] if origin is None else origin
            errors.append(np.linalg.norm(pose[:3, 3] + origin - place(t)))
    return np.array(errors), odometry


@pytest.mark.slow
def test_odometry_starts_at_rest_and_follows_a_flight():
    errors, odometry = flown(Settings())
    assert odometry.started == "rest" and len(errors) >= 25 and errors.max() < 0.05
    assert np.abs(odometry.state.gyro_bias - 0.004).max() < 2e-3


@pytest.mark.slow
def test_odometry_bridges_black_pictures():
    errors, _ = flown(Settings(), black=(1.2, 1.7))
    assert len(errors) >= 25 and errors.max() < 0.12
    blind, odometry = flown(Settings(), until=12.0, black=(1.0, 20.0))
    assert 40 < len(blind) < 140  # when the velocity is no longer sure the pose counts as lost
    assert odometry.state.covariance[3:6, 3:6].diagonal().max() > 0.3**2


@pytest.mark.long
def test_odometry_starts_again_where_the_points_contradict_it():
    """The gyroscope's readings are wrong for a while, beyond what its noise allows."""
    odometry = VisualInertialOdometry(stereo(), Settings())
    begins = []
    for k in range(round(3.2 / 0.004) + 1):
        t = 0.004 * k
        wrong = 0.8 if 0.9 < t < 1.3 else 0.0
        odometry.imu(t, np.full(3, 0.004 + wrong), force(t))
        if k % 20 == 0:
            pose, _ = odometry.images(t, *wall(place(t)))
            begins.append((t, pose is None, odometry.started))
    assert begins[-1][1:] == (False, "flight")  # it was started at rest
    assert sum(lost for t, lost, _ in begins if t > 0.5) < 30


@pytest.mark.long
@pytest.mark.parametrize("system", ["msckf", "msckf_mono"])
def test_a_system_answers_each_pair_from_its_start_on(tmp_path, system):
    writer = DatasetWriter(tmp_path / "data", stereo())
    for k in range(401):
        t = 0.004 * k
        writer.imu(round(1e6 * t), np.full(3, 0.004), force(t))
        writer.truth(round(1e6 * t), place(t), (0.0, 0.0, 0.0, 1.0), np.zeros(3))
        if k % 20 == 0:
            writer.images(round(1e6 * t), *wall(place(t)))
    writer.close()
    outcome = runner.run(
        adapters.load(system), Dataset(tmp_path / "data"), tmp_path / "run", speed=0.0
    )
    assert (outcome.reason, outcome.answers) == ("", 21) and outcome.lost < 7
    estimate = np.loadtxt(tmp_path / "run" / "estimate.tum")
    end = place(estimate[-1, 0]) - place(estimate[0, 0])
    far = 0.1 if system == "msckf" else 0.2
    assert np.linalg.norm(estimate[-1, 1:4] - estimate[0, 1:4] - end) < far
    assert "rest" in (tmp_path / "run" / "system.log").read_text()
    assert json.loads((tmp_path / "run" / "outcome.json").read_text())["deterministic"]
