"""The node that draws a map in the plane: what it makes of a LaserScan."""

from types import SimpleNamespace

import numpy as np
import pytest

pytest.importorskip("rospy")

from xtdrone_slam.ros.planar_map import PlanarMap


def scan(t_us, ranges):
    return SimpleNamespace(
        header=SimpleNamespace(
            stamp=SimpleNamespace(secs=t_us // 1_000_000, nsecs=t_us % 1_000_000 * 1000)
        ),
        angle_min=-np.pi, angle_increment=2 * np.pi / 360, time_increment=0.0001,
        range_min=0.1, range_max=30.0, ranges=ranges,
    )  # fmt: skip


def test_a_scan_becomes_a_pose_and_a_map():
    poses, grids = [], []
    planar = PlanarMap(poses.append, grids.append, (0.0, 0.0, 0.2), 0.1)
    azimuth = np.linspace(-np.pi, np.pi, 360, endpoint=False)
    walls = 3.0 / np.maximum(np.abs(np.cos(azimuth)), np.abs(np.sin(azimuth)))
    walls[0] = np.inf
    for k in range(5):
        planar.imu(100_000 * k, np.zeros(3), np.array([0.0, 0.0, 9.8]))
        planar.scan(scan(100_000 * k, walls.tolist()))
    assert len(poses) == 5 and len(grids) == 1
    assert poses[-1]["header"]["stamp"] == {"secs": 0, "nsecs": 436_000_000}
    assert abs(poses[-1]["pose"]["position"]["x"]) < 0.01
    assert grids[0]["info"]["width"] * grids[0]["info"]["height"] == len(grids[0]["data"])
    assert grids[0]["data"].count(100) > 150
