"""Lidar-inertial odometry: scans and IMU readings in, a pose line each out, a map left."""

import argparse
import sys
from functools import partial
from pathlib import Path

import numpy as np
from scipy.spatial.transform import Rotation

from xtdrone_slam.lidar import map_files
from xtdrone_slam.lidar.inertial import InertialOdometry
from xtdrone_slam.systems import inertial_scans

PARAMETERS = {"voxel": 0.5, "leaf": 0.4, "points": 2000}
_RESOLUTION = 0.2  # of the OctoMap [m]


def pose(odometry: InertialOdometry) -> tuple[np.ndarray, Rotation]:
    """Returns position (3,) [m] and attitude, body to world."""
    return odometry.state.position, Rotation.from_matrix(odometry.state.rotation)


def main() -> int:
    """Runs until the input ends; returns the exit status."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, help="for the map: map.ply and map.bt")
    for name, default in PARAMETERS.items():
        parser.add_argument(f"--{name}", type=type(default), default=default)
    options = vars(parser.parse_args())
    folder = options.pop("folder")
    odometry = inertial_scans.run(partial(InertialOdometry, **options), pose)
    points = odometry.map.points()
    map_files.write_ply(folder / "map.ply", points)
    map_files.write_octomap(folder / "map.bt", points, _RESOLUTION)
    return 0


if __name__ == "__main__":
    sys.exit(main())
