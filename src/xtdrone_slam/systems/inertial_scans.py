"""Main program of our laser SLAM systems: scans and IMU readings in, a pose line each out."""

import sys
from collections.abc import Callable
from typing import Protocol, TypeVar

import numpy as np
from scipy.spatial.transform import Rotation

from xtdrone_slam.benchmark import link

GRAVITY = 9.80665  # [m/s^2]


class System(Protocol):
    """The part of a system that takes readings and scans."""

    def imu(self, t: float, gyro: np.ndarray, accel: np.ndarray) -> None:
        """Takes a reading: time [s], (3,) [rad/s], (3,) [m/s^2]."""

    def scan(self, t: float, points: np.ndarray, times: np.ndarray) -> int:
        """Takes a scan of (M, 3) points at times (M,); returns the number of points used."""


Made = TypeVar("Made", bound=System)


def run(make: Callable[[], Made], pose: Callable[[Made], tuple[np.ndarray, Rotation]]) -> Made:
    """Runs until the input ends; returns the system.

    Args:
        make: Makes a system.
        pose: Returns its last position (3,) [m] and attitude.
    """
    trial, points = make(), np.ones((8, 3), dtype=np.float32)
    for t in (0.0, 0.1):  # compiles what a scan needs, or loads it, before the first one
        trial.imu(t, np.zeros(3), np.array([0.0, 0.0, GRAVITY]))
        trial.scan(t, points, np.zeros(len(points)))
    system = make()
    for kind, t_us, payload in link.messages(sys.stdin.buffer):
        if kind == link.IMU:
            system.imu(t_us * 1e-6, *link.reading(payload))
        elif kind == link.SCAN:
            scan = link.points(payload)
            used = system.scan(t_us * 1e-6, scan[:, :3], scan[:, 3].astype(float))
            position, attitude = pose(system)
            print(link.pose_line(t_us, position, attitude.as_quat(), used), flush=True)
    return system
