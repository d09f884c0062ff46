"""Vehicles that fly from point to point, each leg a smooth motion from rest to rest."""

from collections.abc import Sequence

import numpy as np

from xtdrone_core.flight_agent import minimum_jerk
from xtdrone_core.runs.snapshot import Memory

_PEAK_SPEED = 1.875  # of a minimum-jerk motion, times the mean speed
_PEAK_ACCELERATION = 5.7735  # times the way, divided by the square of the time
_SHORTEST_S = 0.5


class Legs(Memory):
    """Where each vehicle flies.

    Attributes:
        last: (N, 3) where each begins its present leg [m].
        flown: (N,) length of all legs that were begun [m].
    """

    MEMORY = ("last", "flown", "_next", "_begin_us", "_seconds", "_points")

    def __init__(self, n: int, speed: float, acceleration: float) -> None:
        """Vehicles that rest at the origin.

        Args:
            n: How many.
            speed: Largest [m/s].
            acceleration: Largest [m/s^2].
        """
        self._speed, self._acceleration = speed, acceleration
        self.last, self._next = np.zeros((n, 3)), np.zeros((n, 3))
        self.flown = np.zeros(n)
        self._begin_us = np.zeros(n, dtype=np.int64)
        self._seconds = np.full(n, _SHORTEST_S)
        self._points: list[list[np.ndarray]] = [[] for _ in range(n)]

    def begin(self, i: int, t_us: int, place: np.ndarray, points: Sequence[np.ndarray]) -> None:
        """Sends a vehicle that rests at a place (3,) along points (3,) [m]."""
        self._next[i] = place
        self.go(i, t_us, points)

    def go(self, i: int, t_us: int, points: Sequence[np.ndarray]) -> None:
        """Sends a vehicle from where its last leg ends along points (3,) [m]."""
        self._points[i] = [*points]
        self._take_next(i, t_us)

    def is_over(self, i: int, t_us: int) -> bool:
        """Whether a vehicle has flown all its points; begins the next leg where one has ended."""
        if t_us - self._begin_us[i] < 1e6 * self._seconds[i]:
            return False
        if not self._points[i]:
            return True
        self._take_next(i, t_us)
        return False

    def at(self, i: int, t_us: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Returns position [m], velocity [m/s] and acceleration [m/s^2], each (3,)."""
        duration = self._seconds[i]
        s, ds, dds = minimum_jerk((t_us - self._begin_us[i]) * 1e-6 / duration)
        way = self._next[i] - self.last[i]
        return self.last[i] + s * way, ds / duration * way, dds / duration**2 * way

    def ends(self) -> np.ndarray:
        """Returns where each vehicle flies to in the end (N, 3) [m]."""
        return np.array(
            [points[-1] if points else end for points, end in zip(self._points, self._next)]
        )

    def _take_next(self, i: int, t_us: int) -> None:
        self.last[i], self._next[i] = self._next[i], self._points[i].pop(0)
        length = float(np.linalg.norm(self._next[i] - self.last[i]))
        self.flown[i] += length
        self._begin_us[i] = t_us
        self._seconds[i] = max(
            _PEAK_SPEED * length / self._speed,
            (_PEAK_ACCELERATION * length / self._acceleration) ** 0.5,
            _SHORTEST_S,
        )
