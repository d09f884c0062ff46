"""Position and velocity of a target on the ground, from where images show its foot."""

import math
from copy import copy

import numpy as np

_GATE = 13.8  # squared Mahalanobis distance that 99.9 % of two true coordinates are within
_FIRST_SPEED = 3.0  # standard deviation of the velocity at first [m/s]
_WALKS = 0.5  # acceleration of a person, white noise [m/s^2/sqrt(Hz)]


class GroundFilter:
    """A Kalman filter of constant velocity in the plane.

    Attributes:
        x: (4,) east, north [m], and their rates [m/s].
        covariance: (4, 4).
        t_us: Time of x.
    """

    def __init__(
        self, t_us: int, place: np.ndarray, spread: np.ndarray, agility: float = _WALKS
    ) -> None:
        """Begins with a measured place.

        Args:
            t_us: Its time [us].
            place: (2,) [m].
            spread: (2, 2) its covariance [m^2].
            agility: Density of the target's accelerations [m/s^2/sqrt(Hz)].
        """
        self.t_us, self._agility = t_us, agility
        self.x = np.array([*place, 0.0, 0.0])
        self.covariance = np.diag([0.0, 0.0, _FIRST_SPEED**2, _FIRST_SPEED**2])
        self.covariance[:2, :2] = spread

    def predicted(self, t_us: int) -> np.ndarray:
        """The state (4,) at a time, without changing it."""
        dt = (t_us - self.t_us) * 1e-6
        state: np.ndarray = _motion(dt) @ self.x
        return state

    def predict(self, t_us: int) -> None:
        """Goes on to a time; one before the state's changes nothing."""
        dt = (t_us - self.t_us) * 1e-6
        if dt <= 0.0:
            return
        motion = _motion(dt)
        noise = np.array([[dt**3 / 3.0, dt**2 / 2.0], [dt**2 / 2.0, dt]])
        self.x = motion @ self.x
        self.covariance = motion @ self.covariance @ motion.T + self._agility**2 * np.kron(
            noise, np.eye(2)
        )
        self.t_us = t_us

    def surprise(self, place: np.ndarray, spread: np.ndarray) -> float:
        """Squared Mahalanobis distance of a measured place from the state; see GATE."""
        error = place - self.x[:2]
        return float(error @ np.linalg.solve(self.covariance[:2, :2] + spread, error))

    def accepts(self, place: np.ndarray, spread: np.ndarray) -> bool:
        """Whether a measured place may be the target's."""
        return self.surprise(place, spread) < _GATE

    def update(self, place: np.ndarray, spread: np.ndarray) -> None:
        """Takes a measured place (2,) with its covariance (2, 2)."""
        gain = self.covariance[:, :2] @ np.linalg.inv(self.covariance[:2, :2] + spread)
        self.x = self.x + gain @ (place - self.x[:2])
        left = np.eye(4)
        left[:, :2] -= gain
        self.covariance = left @ self.covariance @ left.T + gain @ spread @ gain.T

    @property
    def deviation(self) -> float:
        """Standard deviation of the place, the larger axis [m]."""
        return math.sqrt(float(np.linalg.eigvalsh(self.covariance[:2, :2])[-1]))

    def deviation_at(self, t_us: int) -> float:
        """The deviation at a time, without changing the state [m]."""
        later = copy(self)
        later.predict(t_us)
        return later.deviation


def _motion(dt: float) -> np.ndarray:
    motion = np.eye(4)
    motion[0, 2] = motion[1, 3] = dt
    return motion
