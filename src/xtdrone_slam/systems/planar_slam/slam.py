"""SLAM in the plane: scans and IMU readings from the link in, a pose line each out, a grid left."""

import argparse
import sys
from functools import partial
from pathlib import Path

import numpy as np
from scipy.spatial.transform import Rotation

from xtdrone_slam.lidar.planar import PlanarSlam
from xtdrone_slam.systems import inertial_scans


def pose(slam: PlanarSlam) -> tuple[np.ndarray, Rotation]:
    """Returns position (3,) [m] and attitude, body to map."""
    return np.array([*slam.pose[:2], 0.0]), slam.attitude


def main() -> int:
    """Runs until the input ends; returns the exit status."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, help="for the map: map.pgm and map.yaml")
    parser.add_argument("--loops", type=int, default=1)
    parser.add_argument("--resolution", type=float, default=0.05)
    options = parser.parse_args()
    slam = inertial_scans.run(partial(PlanarSlam, bool(options.loops)), pose)
    if slam.keyframes:
        slam.grid(options.resolution).save(options.folder / "map")
    print(f"{slam.keyframes} keyframes, {slam.loops} loops closed", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
