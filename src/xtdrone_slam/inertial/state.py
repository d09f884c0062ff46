"""The state of the multi-state-constraint Kalman filter and the covariance of its errors.

It has the IMU's state, earlier poses of the body (clones), and points of the world (landmarks), in
this order. propagation.py says what the errors are; that of a landmark is its shift.
"""

from dataclasses import dataclass, field

import numpy as np

from xtdrone_slam.datasets.calibration import Imu

from .propagation import ACCEL_BIAS, ERRORS, GYRO_BIAS, SHIFT, TURN, VELOCITY, propagate
from .rotations import exponential, left_jacobian

CLONE, POINT = 6, 3  # sizes of the errors of a clone, turn and shift, and of a landmark


@dataclass
class Prior:
    """Standard deviations of the errors at the start."""

    turn: float = 0.03  # about the horizontal; the heading is the filter's own [rad]
    velocity: float = 0.1  # [m/s]
    gyro_bias: float = 0.01  # [rad/s]
    accel_bias: float = 0.2  # [m/s^2]


@dataclass
class Pose:
    """What the IMU's state is at the start; its world is level."""

    rotation: np.ndarray = field(default_factory=lambda: np.eye(3))  # body to world
    velocity: np.ndarray = field(default_factory=lambda: np.zeros(3))  # world [m/s]
    gyro_bias: np.ndarray = field(default_factory=lambda: np.zeros(3))  # [rad/s]
    accel_bias: np.ndarray = field(default_factory=lambda: np.zeros(3))  # [m/s^2]


class State:
    """The estimate and its covariance.

    Attributes:
        rotation, velocity, position: (3, 3) body to world, (3,) [m/s], (3,) [m].
        gyro_bias, accel_bias: (3,) [rad/s], (3,) [m/s^2].
        rotations, positions: (P, 3, 3) and (P, 3) of the clones, the oldest first.
        landmarks: (L, 3) [m].
        first: (L, 3) the first estimate of each landmark, where its derivatives are taken [m].
        covariance: (15 + 6 P + 3 L,) squared.
    """

    def __init__(self, start: Pose, prior: Prior, imu: Imu) -> None:
        """Begins at the origin, without clones and landmarks.

        Args:
            start: The IMU's state.
            prior: How sure it is.
            imu: Noise of the IMU.
        """
        self.rotation, self.velocity = np.array(start.rotation), np.array(start.velocity)
        self.position = np.zeros(3)
        self.gyro_bias, self.accel_bias = np.array(start.gyro_bias), np.array(start.accel_bias)
        self.rotations, self.positions = np.zeros((0, 3, 3)), np.zeros((0, 3))
        self.landmarks, self.first = np.zeros((0, 3)), np.zeros((0, 3))
        deviations = np.zeros(ERRORS)
        deviations[:2], deviations[2] = prior.turn, 1e-6
        deviations[VELOCITY], deviations[SHIFT] = prior.velocity, 1e-6
        deviations[GYRO_BIAS], deviations[ACCEL_BIAS] = prior.gyro_bias, prior.accel_bias
        self.covariance = np.diag(deviations**2)
        self._noise = np.array(
            [
                imu.gyroscope_noise_density,
                imu.accelerometer_noise_density,
                imu.gyroscope_random_walk,
                imu.accelerometer_random_walk,
            ]
        )

    @property
    def points_from(self) -> int:
        """Row at which the errors of the landmarks begin."""
        return ERRORS + CLONE * len(self.positions)

    def propagate(self, times: np.ndarray, gyro: np.ndarray, accel: np.ndarray) -> None:
        """Moves the IMU's state along readings, each of which holds until the next time.

        Args:
            times: (K + 1,) [s].
            gyro, accel: (K, 3) [rad/s], [m/s^2].
        """
        propagate(
            self.rotation, self.velocity, self.position, self.gyro_bias, self.accel_bias,
            self.covariance, times, gyro, accel, self._noise,
        )  # fmt: skip

    def clone(self) -> None:
        """Adds the body's pose as the newest clone."""
        pose = [*range(ERRORS)[TURN], *range(ERRORS)[SHIFT]]
        rows = [*range(self.points_from), *pose, *range(self.points_from, len(self.covariance))]
        self._select(rows)
        self.rotations = np.concatenate([self.rotations, self.rotation[None]])
        self.positions = np.concatenate([self.positions, self.position[None]])

    def drop_clone(self, index: int) -> None:
        """Forgets a clone."""
        begin = ERRORS + CLONE * index
        self._select([*range(begin), *range(begin + CLONE, len(self.covariance))])
        self.rotations = np.delete(self.rotations, index, axis=0)
        self.positions = np.delete(self.positions, index, axis=0)

    def drop_landmarks(self, keep: np.ndarray) -> None:
        """Forgets the landmarks for which keep (L,) is false."""
        points = self.points_from + POINT * np.flatnonzero(keep)[:, None] + np.arange(POINT)
        self._select([*range(self.points_from), *points.ravel()])
        self.landmarks, self.first = self.landmarks[keep], self.first[keep]

    def add_landmark(
        self, point: np.ndarray, of_point: np.ndarray, of_state: np.ndarray, variance: float
    ) -> None:
        """Adds a landmark by three equations of it and of the state, whose residuals are 0.

        Args:
            point: (3,) world [m].
            of_point: (3, 3) by its shift.
            of_state: (3, N) by the errors of the state.
            variance: Of each equation.
        """
        inverse = np.linalg.inv(of_point)
        gain = -inverse @ of_state
        across = gain @ self.covariance
        own = across @ gain.T + variance * inverse @ inverse.T
        self.covariance = np.block([[self.covariance, across.T], [across, own]])
        self.landmarks = np.concatenate([self.landmarks, point[None]])
        self.first = np.concatenate([self.first, point[None]])

    def update(self, of_state: np.ndarray, residuals: np.ndarray, variance: float) -> None:
        """Corrects the state by equations.

        Args:
            of_state: (M, N) derivatives of what is measured by the errors.
            residuals: (M,) measured less expected.
            variance: Of each equation.
        """
        if len(residuals) > of_state.shape[1]:  # as many equations as errors say the same
            of_state, residuals = _compressed(of_state, residuals)
        across = self.covariance @ of_state.T
        innovation = of_state @ across
        innovation[np.diag_indices(len(innovation))] += variance
        gain = np.linalg.solve(innovation, across.T).T
        covariance = self.covariance - gain @ across.T
        self.covariance = 0.5 * (covariance + covariance.T)
        self._move(gain @ residuals)

    def _move(self, error: np.ndarray) -> None:
        """Moves the estimate by an error (N,)."""
        turn, mean = exponential(error[TURN]), left_jacobian(error[TURN])
        self.rotation = _orthogonal(turn @ self.rotation)
        self.velocity = turn @ self.velocity + mean @ error[VELOCITY]
        self.position = turn @ self.position + mean @ error[SHIFT]
        self.gyro_bias = self.gyro_bias + error[GYRO_BIAS]
        self.accel_bias = self.accel_bias + error[ACCEL_BIAS]
        for index, part in enumerate(error[ERRORS : self.points_from].reshape(-1, CLONE)):
            turn, mean = exponential(part[:3]), left_jacobian(part[:3])
            self.rotations[index] = turn @ self.rotations[index]
            self.positions[index] = turn @ self.positions[index] + mean @ part[3:]
        self.landmarks = self.landmarks + error[self.points_from :].reshape(-1, POINT)

    def _select(self, rows: list[int]) -> None:
        self.covariance = self.covariance[np.ix_(rows, rows)]


def _compressed(of_state: np.ndarray, residuals: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Returns as few equations (N, N), (N,) that say the same as more of them."""
    triangle: np.ndarray = np.linalg.qr(np.column_stack([of_state, residuals]), mode="r")  # type: ignore[assignment]  # mode r gives one
    return triangle[:-1, :-1], triangle[:-1, -1]


def _orthogonal(matrix: np.ndarray) -> np.ndarray:
    """Returns the rotation (3, 3) next to a matrix that is nearly one."""
    return 0.5 * matrix @ (3.0 * np.eye(3) - matrix.T @ matrix)
