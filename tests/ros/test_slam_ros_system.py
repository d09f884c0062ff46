"""A ROS node behind the link: the adapter ros_node with a small node of the tests."""

import sys
from pathlib import Path

import numpy as np
import pytest

from ros_fixtures import environment, free_port, needs_ros
from xtdrone_slam.benchmark import adapters, runner
from xtdrone_slam.systems.ros_node.bridge import Answers

NODE = Path(__file__).parents[1] / "support" / "slam_ros_node.py"


@pytest.fixture
def ros(tmp_path, monkeypatch):
    for name, value in environment(free_port(), tmp_path).items():
        monkeypatch.setenv(name, value)


@pytest.fixture
def dataset(tmp_path):
    slam_wall = pytest.importorskip("slam_wall", exc_type=ImportError)
    return slam_wall.record_still_wall(tmp_path / "wall")


def run(dataset, tmp_path, what):
    adapter = adapters.load(
        "ros_node", start=f"{sys.executable} {NODE} {what}", pose="/brightness/pose", patience=20.0
    )
    return runner.run(adapter, dataset, tmp_path / "run", speed=0.0, timeout_s=30.0)


@needs_ros
def test_node_gets_the_pair_and_its_pose_comes_back(dataset, tmp_path, ros):
    outcome = run(dataset, tmp_path, "answer")
    assert outcome.reason == "", (tmp_path / "run" / "system.log").read_text()
    assert outcome.answers == 4 and outcome.lost == 0
    rows = np.loadtxt(tmp_path / "run" / "estimate.tum")
    assert np.allclose(rows[:, 0], [0.08, 0.16, 0.24, 0.32])
    assert np.allclose(rows[:, 1], dataset.pair(0)[0].mean(), atol=1e-6)
    assert np.allclose(rows[:, 2], [0.2, 0.4, 0.6, 0.8])  # IMU readings
    assert np.allclose(rows[:, 3], 2.0)  # the focal length


@needs_ros
def test_pair_without_a_pose_is_lost(dataset, tmp_path, ros):
    outcome = run(dataset, tmp_path, "gap")
    assert outcome.reason == "" and outcome.answers == 4 and outcome.lost == 2


@needs_ros
def test_node_that_does_not_start_is_told(dataset, tmp_path, ros):
    outcome = run(dataset, tmp_path, "fail")
    assert "status 1" in outcome.reason
    assert "ended with status 5" in (tmp_path / "run" / "system.log").read_text()


def test_pair_that_has_waited_long_enough_is_lost(capsys):
    patient, hasty = Answers(np.eye(4), 60.0), Answers(np.eye(4), 0.0)
    for answers in (patient, hasty):
        answers.published(10_000)
    assert (patient.give_up(), hasty.give_up()) == (1, 0)
    assert capsys.readouterr().out == "lost 10000 0\n"


def test_poses_of_the_left_camera_become_those_of_the_body(capsys):
    frame = np.eye(4)
    frame[:3, :3] = [[0, 0, 1], [-1, 0, 0], [0, -1, 0]]
    frame[:3, 3] = 0.15, 0.06, 0.02
    answers = Answers(frame, 9.0)
    answers.published(10_000)
    answers.published(90_000)
    answers.pose(90_400, frame[:3, 3], [-0.5, 0.5, -0.5, 0.5])
    lost, pose = capsys.readouterr().out.splitlines()
    assert lost == "lost 10000 0"
    assert np.allclose([float(x) for x in pose.split()[2:9]], [0, 0, 0, 0, 0, 0, 1], atol=1e-9)
