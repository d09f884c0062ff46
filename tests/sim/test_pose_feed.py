"""Poses from outside: true ones, and those of a motion capture."""

import numpy as np
import pytest

from xtdrone_core.state import FleetState
from xtdrone_dynamics.quaternion import multiply
from xtdrone_sim.observers.pose_feed import ANGLE_NOISE, POSITION_NOISE, MotionCapture, TruthPose

TIMES = range(0, 8_000_000, 10_000)
POS, QUAT = (1.0, -2.0, 3.0), (0.1, 0.2, 0.3, np.sqrt(0.86))


class Taking:
    """An autopilot that keeps its poses."""

    def __init__(self):
        self.poses = []

    def take_pose(self, i, t_us, pos, quat):
        self.poses.append((i, t_us, *pos, *quat))


def poses(kind, *arguments, times=TIMES):
    state = FleetState.zeros(2, 1, 1)
    state.pos[:], state.quat[:] = POS, QUAT
    taking = Taking()
    feed = kind(taking, *arguments)
    for t_us in times:
        feed.on_step(t_us, state, None)
    return np.array(taking.poses)


def test_true_poses_are_passed_as_they_are():
    assert poses(TruthPose)[:, 2:] == pytest.approx(np.tile([*POS, *QUAT], (2 * len(TIMES), 1)))


def test_a_motion_capture_has_its_noise_about_the_true_pose():
    found = poses(MotionCapture, 3)
    error = found[:, 2:5] - POS
    assert error.std(axis=0) == pytest.approx(POSITION_NOISE, rel=0.1)
    assert abs(error.mean(axis=0)).max() < 0.2 * POSITION_NOISE
    back = (-QUAT[0], -QUAT[1], -QUAT[2], QUAT[3])
    turns = np.array([multiply(*back, *quat) for quat in found[:, 5:]])
    assert 2.0 * turns[:, :3].std(axis=0) == pytest.approx(ANGLE_NOISE, rel=0.1)
    assert np.linalg.norm(found[:, 5:], axis=1) == pytest.approx(1.0)


def test_its_noise_depends_on_seed_vehicle_and_time_alone():
    whole, later = poses(MotionCapture, 3), poses(MotionCapture, 3, times=TIMES[400:])
    assert (whole[800:] == later).all()
    assert (poses(MotionCapture, 4) != whole)[:, 2:].any(axis=1).all()
    assert (whole[::2, 2:] != whole[1::2, 2:]).any(axis=1).all()
