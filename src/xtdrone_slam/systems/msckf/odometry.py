"""Visual-inertial odometry: images and IMU readings in, a pose line for each pair out."""

import argparse
import sys
from pathlib import Path

import numpy as np
from scipy.spatial.transform import Rotation

from xtdrone_slam.benchmark import link
from xtdrone_slam.datasets import calibration
from xtdrone_slam.datasets.calibration import Calibration
from xtdrone_slam.inertial.odometry import Settings, VisualInertialOdometry

_WARM_S = 0.32  # time at rest that compiles, or loads, what a start needs [s]
_PERIOD_S = 0.08


def main() -> int:
    """Runs until the input ends; returns the exit status."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("dataset", type=Path, help="folder with mav0, for its calibration")
    for name, default in vars(Settings()).items():
        parser.add_argument(f"--{name}", type=type(default), default=default)
    options = vars(parser.parse_args())
    stereo = calibration.read_euroc(options.pop("dataset") / "mav0")
    settings = Settings(**options)
    _warm_up(stereo, settings)
    odometry = VisualInertialOdometry(stereo, settings)
    started = False
    for kind, t_us, payload in link.messages(sys.stdin.buffer):
        if kind == link.IMU:
            odometry.imu(t_us * 1e-6, *link.reading(payload))
        elif kind == link.PAIR:
            left, right = link.images(payload, (stereo.left.height, stereo.left.width))
            pose, used = odometry.images(t_us * 1e-6, left, right)
            if pose is None:
                print(link.lost_line(t_us, used), flush=True)
                continue
            if not started:
                started = True
                print(f"started at {t_us} us: {odometry.started}", flush=True)
            quat = Rotation.from_matrix(pose[:3, :3]).as_quat()
            print(link.pose_line(t_us, pose[:3, 3], quat, used), flush=True)
    return 0


def _warm_up(stereo: Calibration, settings: Settings) -> None:
    """Starts a filter at rest before a picture of noise, so that the first pair is not late."""
    trial = VisualInertialOdometry(stereo, settings)
    shape = stereo.left.height, stereo.left.width
    image = np.random.default_rng(1).integers(0, 255, shape, dtype=np.uint8)
    for t in np.arange(0.0, 4 * _WARM_S, _PERIOD_S):
        trial.imu(t, np.zeros(3), np.array([0.0, 0.0, 9.80665]))
        trial.images(t, image, image)


if __name__ == "__main__":
    sys.exit(main())
