"""A path over time: at its speed along it, from rest to rest."""

import numpy as np

from .paths import SplinePath
from .planned import Planned


class TimedPath:
    """An open path as a trajectory; see xtdrone_guidance.planned.

    Attributes:
        duration: [s].
        settled: Time from which errors count: from the start [s].
    """

    settled = 0.0

    def __init__(self, path: SplinePath, speed: float, acceleration: float) -> None:
        """Plans it.

        Args:
            path: The path.
            speed: Largest [m/s].
            acceleration: Largest along the path; its bends do not slow it down [m/s^2].
        """
        self._path, self._speeds = path, path.speeds(speed, np.inf, acceleration)
        steps = 2.0 * np.diff(path.arc_lengths) / (self._speeds[:-1] + self._speeds[1:])
        self._times = np.concatenate([[0.0], np.cumsum(steps)])
        self._along = np.diff(self._speeds) / steps
        self.duration = float(self._times[-1])

    def at(self, t: float) -> Planned:
        """Returns position, velocity and acceleration at a time from 0 to `duration` [s]."""
        k = min(int(np.searchsorted(self._times, t, "right")) - 1, len(self._along) - 1)
        passed, along = t - self._times[k], float(self._along[k])
        speed = float(self._speeds[k]) + along * passed
        place = self._path.at(
            float(self._path.arc_lengths[k])
            + (float(self._speeds[k]) + 0.5 * along * passed) * passed
        )
        return Planned(
            place.pos,
            speed * place.tangent,
            speed * speed * place.curvature + along * place.tangent,
        )
