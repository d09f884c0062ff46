"""The main program of the OpenCV baselines: stereo pairs from the link in, a pose line each out."""

import argparse
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol, TypeVar

import numpy as np
from scipy.spatial.transform import Rotation

from xtdrone_slam.benchmark import link
from xtdrone_slam.datasets import calibration


class Odometry(Protocol):
    """The part of a baseline that takes a pair."""

    def step(self, left: np.ndarray, right: np.ndarray) -> tuple[np.ndarray | None, int]:
        """Returns the pose (4, 4) of the body, or None if lost, and the number of features."""


Made = TypeVar("Made", bound=Odometry)


def main(
    description: str,
    make: Callable[..., Made],
    parameters: dict[str, Any],
    afterwards: Callable[[Made], None] | None = None,
) -> int:
    """Parses the command line, then runs until the input ends; returns the exit status.

    Args:
        description: Text of --help.
        make: make(Calibration, **parameters) returns the odometry.
        parameters: Options of the command line with their default values; the type of a default
            is that of the option.
        afterwards: Called with the odometry after each answer has been written.
    """
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("dataset", type=Path, help="folder with mav0, for its calibration")
    for name, default in parameters.items():
        parser.add_argument(f"--{name}", type=type(default), default=default)
    options = vars(parser.parse_args())
    stereo = calibration.read_euroc(options.pop("dataset") / "mav0")
    odometry = make(stereo, **options)
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
