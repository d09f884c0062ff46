"""Main program of the drivers of laser SLAM systems: scans from the link in, a pose line each out.

A driver is run by the Python of its system's own environment, so that this module imports NumPy and
`link` alone.
"""

import argparse
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol

import numpy as np

sys.path.append(str(Path(__file__).resolve().parents[1] / "benchmark"))  # last: shadows nothing

import link


class Odometry(Protocol):
    """The part of a driver that takes a scan."""

    def step(self, t_us: int, points: np.ndarray, times: np.ndarray) -> tuple[np.ndarray, int]:
        """Returns the pose (4, 4) at the end of a scan, and the number of points used.

        Args:
            t_us: Time of that end [us].
            points: (M, 3) float64 in the frame of the IMU [m].
            times: (M,) from the end of the scan on, 0 or less [s].
        """


def run(description: str, make: Callable[..., Odometry], parameters: dict[str, Any]) -> None:
    """Parses the command line, then runs until the input ends.

    Args:
        description: Text of --help.
        make: make(**parameters) returns the odometry.
        parameters: Options of the command line with their default values.
    """
    parser = argparse.ArgumentParser(description=description)
    for name, default in parameters.items():
        parser.add_argument(f"--{name}", type=type(default), default=default)
    answers = link.answers()
    odometry = make(**vars(parser.parse_args()))
    for kind, t_us, payload in link.messages(sys.stdin.buffer):
        if kind == link.SCAN:
            scan = link.points(payload).astype(float)
            pose, count = odometry.step(t_us, scan[:, :3].copy(), scan[:, 3].copy())
            quat = link.quaternion(pose[:3, :3])
            print(link.pose_line(t_us, pose[:3, 3], quat, count), file=answers)


def deskewed(points: np.ndarray, times: np.ndarray, twist: np.ndarray) -> np.ndarray:
    """Returns the points (M, 3) of a scan in the frame of its end, at a constant velocity.

    Args:
        points: (M, 3) as measured [m].
        times: (M,) from the end of the scan on [s].
        twist: (6,) velocity [m/s] and angular rate [rad/s], in the frame of the body.
    """
    angles = times[:, None] * twist[3:]
    turned = points + np.cross(angles, points) + 0.5 * np.cross(angles, np.cross(angles, points))
    return turned + times[:, None] * twist[:3]


def twist_between(before: np.ndarray, after: np.ndarray, dt: float) -> np.ndarray:
    """Returns the mean velocity and rate (6,) between two poses (4, 4), in the body frame."""
    step = np.linalg.inv(before) @ after
    rotation = step[:3, :3]
    sine = 0.5 * np.array(
        [
            rotation[2, 1] - rotation[1, 2],
            rotation[0, 2] - rotation[2, 0],
            rotation[1, 0] - rotation[0, 1],
        ]
    )
    angle = np.arctan2(np.linalg.norm(sine), 0.5 * (np.trace(rotation) - 1.0))
    factor = 1.0 if angle < 1e-9 else angle / np.sin(angle)
    return np.concatenate([step[:3, 3], factor * sine]) / dt
