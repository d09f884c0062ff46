"""Kalman filter of the position and velocity of what a camera sees, in the world.

The acceleration is white noise; see Bar-Shalom, Li and Kirubarajan, "Estimation with Applications
to Tracking and Navigation", 2001, section 6.2.2.
"""

from dataclasses import dataclass, field

import numpy as np

from xtdrone_core.runs.snapshot import Memory

_GATE = 16.3  # of the test ratio of three numbers: 0.1 % of the good ones are rejected
_FORGOTTEN_US = 1_000_000  # it begins anew after so long without a measurement [us]
_FIRST_SPEED = 1.5  # standard deviation of the velocity at first [m/s]


@dataclass
class Motion(Memory):
    """Motion of one target.

    Attributes:
        t_us: Time of its state [us]; before 0 where it has not been seen.
        state: (6,) position [m], velocity [m/s], world.
        covariance: (6, 6) of them.
        seen_us: Time of the last measurement that was accepted [us].
    """

    MEMORY = ("t_us", "state", "covariance", "seen_us")

    acceleration: float = 0.5  # spectral density of the acceleration, its root [m/s^1.5]
    t_us: int = -1
    seen_us: int = -1
    state: np.ndarray = field(default_factory=lambda: np.zeros(6))
    covariance: np.ndarray = field(default_factory=lambda: np.zeros((6, 6)))

    @property
    def seen(self) -> bool:
        """Whether there has been a measurement."""
        return self.t_us >= 0

    def forget(self) -> None:
        """Makes it unseen."""
        self.t_us = self.seen_us = -1
        self.state[:], self.covariance[:] = 0.0, 0.0

    def at(self, t_us: int) -> tuple[np.ndarray, np.ndarray]:
        """Returns position (3,) [m] and velocity (3,) [m/s] at a time [us]."""
        dt = (t_us - self.t_us) * 1e-6
        return self.state[:3] + dt * self.state[3:], self.state[3:].copy()

    def measure(self, t_us: int, pos: np.ndarray, covariance: np.ndarray) -> bool:
        """Takes a position (3,) [m] with its covariance (3, 3) at a time [us].

        Returns:
            Whether it was accepted; an outlier or one from before the last is not.
        """
        if not self.seen or t_us - self.seen_us > _FORGOTTEN_US:
            self.state[:3], self.state[3:] = pos, 0.0
            self.covariance[:] = 0.0
            self.covariance[:3, :3] = covariance
            self.covariance[3:, 3:] = _FIRST_SPEED**2 * np.eye(3)
            self.t_us = self.seen_us = t_us
            return True
        if t_us <= self.t_us:
            return False
        self._predict(t_us)
        residual = pos - self.state[:3]
        total = self.covariance[:3, :3] + covariance
        if residual @ np.linalg.solve(total, residual) > _GATE:
            return False
        gain = np.linalg.solve(total, self.covariance[:3]).T
        self.state += gain @ residual
        kept = np.eye(6) - np.hstack([gain, np.zeros((6, 3))])
        self.covariance[:] = kept @ self.covariance @ kept.T + gain @ covariance @ gain.T
        self.seen_us = t_us
        return True

    def _predict(self, t_us: int) -> None:
        dt = (t_us - self.t_us) * 1e-6
        step = np.kron([[1.0, dt], [0.0, 1.0]], np.eye(3))
        noise = np.kron([[dt**3 / 3, dt**2 / 2], [dt**2 / 2, dt]], np.eye(3))
        self.state[:] = step @ self.state
        self.covariance[:] = step @ self.covariance @ step.T + self.acceleration**2 * noise
        self.t_us = t_us
