"""Lidar-inertial odometry: scans and IMU readings from the link in, a pose line each out."""

import argparse
import sys

import numpy as np
from scipy.spatial.transform import Rotation

from xtdrone_slam.benchmark import link
from xtdrone_slam.lidar.inertial import GRAVITY, InertialOdometry

PARAMETERS = {"voxel": 0.5, "leaf": 0.4, "points": 2000}


def main() -> int:
    """Runs until the input ends; returns the exit status."""
    parser = argparse.ArgumentParser(description=__doc__)
    for name, default in PARAMETERS.items():
        parser.add_argument(f"--{name}", type=type(default), default=default)
    _compile()
    odometry = InertialOdometry(**vars(parser.parse_args()))
    for kind, t_us, payload in link.messages(sys.stdin.buffer):
        if kind == link.IMU:
            odometry.imu(t_us * 1e-6, *link.reading(payload))
        elif kind == link.SCAN:
            scan = link.points(payload)
            used = odometry.scan(t_us * 1e-6, scan[:, :3], scan[:, 3].astype(float))
            state = odometry.state
            quat = Rotation.from_matrix(state.rotation).as_quat()
            print(link.pose_line(t_us, state.position, quat, used), flush=True)
    return 0


def _compile() -> None:
    """Compiles what a scan needs, or loads it, before the first one is waited for."""
    trial, points = InertialOdometry(), np.ones((8, 3), dtype=np.float32)
    for t in (0.0, 0.1):
        trial.imu(t, np.zeros(3), np.array([0.0, 0.0, GRAVITY]))
        trial.scan(t, points, np.zeros(len(points)))


if __name__ == "__main__":
    sys.exit(main())
