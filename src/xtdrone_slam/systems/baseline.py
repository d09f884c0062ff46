"""The process of a baseline on OpenCV: pairs from the link in, a line for each out."""

import sys
from pathlib import Path

from scipy.spatial.transform import Rotation

from xtdrone_slam.benchmark import link
from xtdrone_slam.datasets import calibration


def run(dataset: Path, make, afterwards=None) -> int:
    """Runs until the images end; returns the exit status.

    Args:
        dataset: Folder with mav0, for its calibration.
        make: make(Calibration) gives an odometry, whose step(left, right) gives the pose (4, 4) of
            the body or None, and the number of features.
        afterwards: Called with the odometry once the answer to a pair has been told.
    """
    stereo = calibration.read_euroc(dataset / "mav0")
    odometry = make(stereo)
    shape = stereo.left.height, stereo.left.width
    for t_us, left, right in link.frames(sys.stdin.buffer, shape):
        pose, features = odometry.step(left, right)
        if pose is None:
            print(link.lost_line(t_us, features), flush=True)
        else:
            quat = Rotation.from_matrix(pose[:3, :3]).as_quat()
            print(link.pose_line(t_us, pose[:3, 3], quat, features), flush=True)
        if afterwards is not None:
            afterwards(odometry)
    return 0
