"""Lidar-inertial odometry: an iterated Kalman filter of an IMU and of scans on a voxel map.

The IMU's readings move the state and undistort the scan; the distances of its points from the
planes of the map then correct the state, as equations of a Gauss-Newton iteration that begins at
the prediction (Xu and Zhang, FAST-LIO, 2021). In a bare corridor, where the scan says nothing about
the way along it, the prediction stays.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from scipy.spatial.transform import Rotation

from . import registration, undistortion
from .undistortion import Motion
from .voxel_map import VoxelMap, thin

GRAVITY = 9.80665  # [m/s^2]
_GYRO_NOISE, _ACCEL_NOISE = 5e-3, 5e-2  # densities, with the vibrations of a frame [1/sqrt(Hz)]
_GYRO_WALK, _ACCEL_WALK = 1e-4, 3e-3  # of the biases
# Standard deviations at the start: attitude, position, velocity, biases of gyro and accelerometer.
_START = np.repeat([0.02, 1e-4, 0.3, 5e-3, 0.2], 3)
_DISTANCE = 0.05  # standard deviation of a point's distance from its plane [m]
_KERNEL = 0.1  # from here on a distance counts less [m]
_CONVERGED = 1e-4  # [m] and [rad]
_ITERATIONS = 6
_AT_REST = 50  # readings from which the attitude at the start is taken


@dataclass
class State:
    """What the filter estimates; its errors have this order."""

    rotation: np.ndarray = field(default_factory=lambda: np.eye(3))  # body to world
    position: np.ndarray = field(default_factory=lambda: np.zeros(3))  # [m]
    velocity: np.ndarray = field(default_factory=lambda: np.zeros(3))  # world [m/s]
    gyro_bias: np.ndarray = field(default_factory=lambda: np.zeros(3))  # [rad/s]
    accel_bias: np.ndarray = field(default_factory=lambda: np.zeros(3))  # [m/s^2]

    def plus(self, error: np.ndarray) -> "State":
        """Returns the state moved by an error (15,)."""
        turn = Rotation.from_rotvec(error[:3]).as_matrix()
        return State(
            self.rotation @ turn,
            self.position + error[3:6],
            self.velocity + error[6:9],
            self.gyro_bias + error[9:12],
            self.accel_bias + error[12:],
        )

    def minus(self, other: "State") -> np.ndarray:
        """Returns the error (15,) that moves another state to this one."""
        turn = Rotation.from_matrix(other.rotation.T @ self.rotation).as_rotvec()
        return np.concatenate(
            [
                turn,
                self.position - other.position,
                self.velocity - other.velocity,
                self.gyro_bias - other.gyro_bias,
                self.accel_bias - other.accel_bias,
            ]
        )


Equations = Callable[[State, np.ndarray, np.ndarray], int]


class InertialFilter:
    """Moves a state by IMU readings, and corrects it by the equations of a scan.

    Attributes:
        state: The estimate at the end of the last scan; its world begins level.
        started: Whether a scan has come.
    """

    def __init__(self) -> None:
        """Begins at the origin."""
        self.state, self.started = State(), False
        self._covariance = np.diag(_START**2)
        self._readings: list[tuple[float, np.ndarray, np.ndarray]] = []

    def imu(self, t: float, gyro: np.ndarray, accel: np.ndarray) -> None:
        """Takes a reading: time [s], (3,) [rad/s], (3,) [m/s^2]."""
        self._readings.append((t, np.array(gyro), np.array(accel)))

    def begin(self, t: float) -> Motion:
        """Levels the world by the readings before the first scan at t; returns rest."""
        self.started = True
        if self._readings:
            force = np.mean([accel for _, _, accel in self._readings[-_AT_REST:]], axis=0)
            self.state.rotation = Rotation.align_vectors([[0, 0, 1.0]], [force])[0].as_matrix()
        del self._readings[:-1]
        return undistortion.constant_velocity(t - 1.0, t, np.zeros(3), np.zeros(3))

    def predict(self, t: float) -> Motion:
        """Moves the state on to a time [s]; returns the motion since the last one."""
        state, readings = self.state, self._readings
        times = np.array([each[0] for each in readings] or [t])
        gyro = np.array([each[1] for each in readings] or [np.zeros(3)]) - state.gyro_bias
        accel = np.array([each[2] for each in readings] or [np.zeros(3)]) - state.accel_bias
        if times[-1] < t - 1e-6:  # a gap at the end: the last reading holds
            times, gyro, accel = np.append(times, t), _held(gyro), _held(accel)
        motion = undistortion.by_imu(times, gyro, accel, state.rotation, state.velocity, GRAVITY)
        self._propagate(motion, accel)
        self.state = State(
            motion.rotations[-1],
            state.position + motion.positions[-1],
            motion.velocities[-1],
            state.gyro_bias,
            state.accel_bias,
        )
        del readings[:-1]
        return motion

    def _propagate(self, motion: Motion, accel: np.ndarray) -> None:
        """Moves the covariance along a motion."""
        covariance = self._covariance
        for k in range(len(motion.times) - 1):
            dt, rotation = motion.times[k + 1] - motion.times[k], motion.rotations[k]
            step = np.eye(15)
            step[:3, :3] = Rotation.from_rotvec(-motion.rates[k] * dt).as_matrix()
            step[:3, 9:12] = -dt * np.eye(3)
            step[3:6, 6:9] = dt * np.eye(3)
            step[6:9, :3] = -dt * rotation @ _cross(accel[k])
            step[6:9, 12:] = -dt * rotation
            covariance = step @ covariance @ step.T
            noise = np.repeat(
                [_GYRO_NOISE**2, 0.0, _ACCEL_NOISE**2, _GYRO_WALK**2, _ACCEL_WALK**2], 3
            )
            covariance[np.diag_indices(15)] += dt * noise
        self._covariance = covariance

    def correct(self, equations: Equations) -> int:
        """Corrects the state by measured distances.

        Args:
            equations: Writes J^T W J (6, 6) and J^T W r (6,) of the distances at a state, with a
                turn in the body's frame first and then a shift in the world's; returns their
                number.
        """
        predicted, state = self.state, self.state
        prior = np.linalg.inv(self._covariance)
        matrix, vector = np.empty((6, 6)), np.empty(6)
        used = 0
        for _ in range(_ITERATIONS):
            used = equations(state, matrix, vector)
            information = prior.copy()
            information[:6, :6] += matrix / _DISTANCE**2
            gradient = prior @ state.minus(predicted)
            gradient[:6] += vector / _DISTANCE**2
            step = -np.linalg.solve(information, gradient)
            state = state.plus(step)
            if np.abs(step[:6]).max() < _CONVERGED:
                break
        self.state, self._covariance = state, np.linalg.inv(information)
        return used

    def turn(self, yaw: float, position: np.ndarray) -> None:
        """Turns the state about the vertical [rad] and puts it to a position (3,) [m]."""
        rotation = Rotation.from_rotvec([0.0, 0.0, yaw]).as_matrix()
        state = self.state
        self.state = replace(
            state,
            rotation=rotation @ state.rotation,
            position=np.array(position, dtype=float),
            velocity=rotation @ state.velocity,
        )


class InertialOdometry:
    """Takes IMU readings and scans; its world begins level at the first scan."""

    def __init__(self, voxel: float = 0.5, leaf: float = 0.4, points: int = 2000) -> None:
        """Makes an empty map.

        Args:
            voxel: Side of a voxel of the map [m].
            leaf: Distance of the points of a scan that are registered [m].
            points: The most of them.
        """
        self.map, self._filter = VoxelMap(voxel), InertialFilter()
        self._leaf, self._points = leaf, points
        self._scratch = np.empty(1 << 17, dtype=np.int64)

    @property
    def state(self) -> State:
        """The estimate at the end of the last scan."""
        return self._filter.state

    def imu(self, t: float, gyro: np.ndarray, accel: np.ndarray) -> None:
        """Takes a reading: time [s], (3,) [rad/s], (3,) [m/s^2]."""
        self._filter.imu(t, gyro, accel)

    def scan(self, t: float, points: np.ndarray, times: np.ndarray) -> int:
        """Takes a scan; its readings have been taken before.

        Args:
            t: Time of its end [s].
            points: (M, 3) in the body's frames of their times [m].
            times: (M,) from the end on, 0 or less [s].

        Returns:
            The number of points used.
        """
        first = not self._filter.started
        motion = self._filter.begin(t) if first else self._filter.predict(t)
        flat = undistortion.undistorted(points, t + times, motion)
        dense = flat[thin(flat, 0.5 * self._leaf, self._fitting(len(flat)))]
        chosen = dense[thin(dense, self._leaf, self._fitting(len(dense)))]
        chosen = chosen[:: -(-len(chosen) // self._points)] if len(chosen) else chosen
        table, used = self.map, len(chosen)
        if not first:
            used = self._filter.correct(
                lambda state, matrix, vector: registration.equations(
                    chosen, state.rotation, state.position, table.keys, table.counts, table.cells,
                    table.side, table.side, _KERNEL, matrix, vector,
                )
            )  # fmt: skip
        table.add(dense @ self.state.rotation.T + self.state.position)
        return used

    def _fitting(self, count: int) -> np.ndarray:
        """Returns scratch for the keys of so many points."""
        size = 1 << max(4, (2 * count).bit_length())
        if size > len(self._scratch):
            self._scratch = np.empty(size, dtype=np.int64)
        return self._scratch[:size]


def _held(rows: np.ndarray) -> np.ndarray:
    """Returns rows (K, 3) with the last one once more."""
    return np.concatenate([rows, rows[-1:]])


def _cross(vector: Sequence[float] | np.ndarray) -> np.ndarray:
    """Returns the matrix (3, 3) of the cross product with a vector."""
    x, y, z = vector
    return np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
