"""A world of points, a flight in it, and what an IMU and a stereo pair measure: no images."""

import math

import numpy as np
from scipy.spatial.transform import Rotation

from xtdrone_slam.datasets.calibration import Imu
from xtdrone_slam.inertial.msckf import Frame, Rig
from xtdrone_slam.inertial.propagation import GRAVITY

IMU = Imu(250.0, 1e-3, 1e-4, 1e-2, 1e-3)
STEP = 0.004  # [s]
OPTICAL = np.array([[0.0, 0.0, 1.0], [-1.0, 0.0, 0.0], [0.0, -1.0, 0.0]])
DEVIATION = 1.0 / 460.0  # of an observation, at unit distance


def rig(cameras=2):
    """The cameras 12 cm apart that look ahead."""
    poses = []
    for y in (0.06, -0.06)[:cameras]:
        pose = np.eye(4)
        pose[:3, :3], pose[:3, 3] = OPTICAL, (0.15, y, 0.05)
        poses.append(pose)
    return Rig.of(poses)


def pose(t):
    """Position (3,) and attitude of the flight: a loop with climbs and turns."""
    place = np.array([3 * math.sin(0.5 * t), 2 * math.sin(0.8 * t), 0.7 * math.sin(0.9 * t)])
    turn = Rotation.from_euler(
        "ZYX", [0.8 * math.sin(0.4 * t), 0.15 * math.sin(1.1 * t), 0.12 * math.sin(1.3 * t)]
    )
    return place, turn


def velocity(t, step=1e-4):
    """Velocity (3,) of the flight."""
    return (pose(t + step)[0] - pose(t - step)[0]) / (2 * step)


class World:
    """Points around the flight, and noise."""

    def __init__(self, seed=1, points=500, imu=IMU):
        """Draws points, biases and noise from a seed."""
        self._rng = np.random.default_rng(seed)
        self._imu = imu
        around = self._rng.uniform([-9, -9, -3], [12, 9, 4], (points, 3))
        self.points = around[np.abs(around[:, 1]) + np.abs(around[:, 0]) > 7.0]
        self.gyro_bias = self._rng.normal(0.0, 0.01, 3)
        self.accel_bias = self._rng.normal(0.0, 0.1, 3)

    def normal(self, size):
        """Draws numbers (size,) of a normal distribution."""
        return self._rng.normal(0.0, 1.0, size)

    def readings(self, begin, end):
        """Returns times (K + 1,), gyroscope and accelerometer (K, 3) that hold to the next time."""
        count = round((end - begin) / STEP)
        times = begin + STEP * np.arange(count + 1)
        noise = STEP**-0.5
        gyro, accel = np.empty((count, 3)), np.empty((count, 3))
        for k, t in enumerate(times[:-1]):
            first, second = pose(t)[1], pose(t + STEP)[1]
            gyro[k] = (first.inv() * second).as_rotvec() / STEP
            change = (velocity(t + STEP) - velocity(t)) / STEP + [0.0, 0.0, GRAVITY]
            accel[k] = pose(t + 0.5 * STEP)[1].inv().apply(change)
            gyro[k] += self.gyro_bias + noise * self._imu.gyroscope_noise_density * self.normal(3)
            accel[k] += (
                self.accel_bias + noise * self._imu.accelerometer_noise_density * self.normal(3)
            )
        return times, gyro, accel

    def frame(self, t, cameras, most=60, deviation=DEVIATION):
        """Returns the points that the cameras see at a time."""
        place, turn = pose(t)
        in_body = turn.inv().apply(self.points - place)
        views = []
        for rotation, position in zip(cameras.rotations, cameras.positions, strict=True):
            ray = (in_body - position) @ rotation
            with np.errstate(divide="ignore", invalid="ignore"):
                flat = ray[:, :2] / ray[:, 2:]
            visible = (ray[:, 2] > 0.3) & (np.abs(flat[:, 0]) < 0.8) & (np.abs(flat[:, 1]) < 0.5)
            views.append(np.where(visible[:, None], flat, np.nan))
        seen = np.stack(views, axis=1)
        names = np.flatnonzero(np.isfinite(seen[:, 0, 0]))[:most]
        noise = deviation * self.normal(seen[names].size).reshape(seen[names].shape)
        return Frame(names, seen[names] + noise)


def errors(state, t):
    """Returns the error of attitude [rad], velocity and position (9,), as the filter has it."""
    place, turn = pose(t)
    angle = (turn * Rotation.from_matrix(state.rotation).inv()).as_rotvec()
    rotation = Rotation.from_rotvec(angle)
    return np.concatenate(
        [
            angle,
            velocity(t) - rotation.apply(state.velocity),
            place - rotation.apply(state.position),
        ]
    )
