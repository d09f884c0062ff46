"""Flights through the gates of a track, by a smooth path or in the least time.

The speed on the smooth path is the largest that keeps the acceleration across the path below a
bound, and along it below another: forwards from rest at the start, backwards from rest at the end
(Verscheure et al. 2009, section II, for a point mass).
"""

import numpy as np

from xtdrone_core.racing.track import Track
from xtdrone_guidance.lap_path import LapPath
from xtdrone_guidance.paths import reachable
from xtdrone_guidance.time_optimal.dynamics import Multirotor
from xtdrone_guidance.time_optimal.planner import TimeOptimal, gates

_STEP = 0.02  # resolution of the path [m]


class Course:
    """A flight of some laps, from rest before the first gate to rest behind the last.

    Attributes:
        duration: Time from start to end [s].
        lap: Length of a lap [m].
        start: (3,) start position [m].
        beyond: Number of gates that it passes after the last lap.
    """

    def __init__(self, track: Track, laps: int, speed: float, acceleration: float):
        """Plans the flight.

        Args:
            track: The track.
            laps: Number of laps.
            speed: Maximum speed [m/s].
            acceleration: Maximum acceleration across the path, and along it [m/s^2].
        """
        self._path = path = LapPath(track)
        self.lap = path.length
        first, last = path.gates[1] - path.gates[0], path.length - path.gates[-1]
        begin = -min(2.0, 0.5 * last)
        stop = self._stop(path, speed**2 / (2 * acceleration), first)
        end = laps * path.length + stop
        self.beyond = int((path.gates <= stop).sum())
        self._s = s = np.linspace(begin, end, int((end - begin) / _STEP) + 2)
        bend = np.linalg.norm(path.at(s)[2], axis=1)
        fastest = np.minimum(speed, np.sqrt(acceleration / np.maximum(bend, 1e-9)))
        fastest[0] = fastest[-1] = 0.0
        v = self._v = reachable(fastest, s[1] - s[0], acceleration)
        steps = 2.0 * np.diff(s) / (v[1:] + v[:-1])
        self._t = np.concatenate([[0.0], np.cumsum(steps)])
        self.duration = float(self._t[-1])
        self.start = path.at(s[:1])[0][0]

    @staticmethod
    def _stop(path: LapPath, braking: float, first: float) -> float:
        """Returns the length behind the finish at which to stop: midway between two gates [m]."""
        gates = np.append(path.gates, path.length)
        middles = 0.5 * (gates[1:] + gates[:-1])
        fits = middles[middles >= braking]
        return float(fits[0] if len(fits) else 0.5 * first)

    def at(self, t: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Returns position, velocity and acceleration, each (3,), at a time since the start [s]."""
        k = int(np.clip(np.searchsorted(self._t, t) - 1, 0, len(self._t) - 2))
        v0, v1 = self._v[k], self._v[k + 1]
        step = self._t[k + 1] - self._t[k]
        push = (v1 - v0) / step
        since = min(max(t - self._t[k], 0.0), step)
        v = v0 + push * since
        s = self._s[k] + v0 * since + 0.5 * push * since * since
        pos, along, bend = (values[0] for values in self._path.at(np.array([s])))
        return pos, v * along, push * along + v * v * bend


class TimedCourse:
    """A flight of some laps in the least time, from rest to rest; attributes as of Course.

    Attributes:
        plan: The TimeOptimal.
        times: (G,) at which it passes the gates [s].
    """

    def __init__(
        self,
        smooth: Course,
        track: Track,
        laps: int,
        multirotor: Multirotor,
        part: float,
        floor: float,
    ) -> None:
        """Plans the flight.

        Args:
            smooth: The flight through the middles, whose ends hold where the track names none.
            track: The track.
            laps: Number of laps.
            multirotor: The vehicle.
            part: Part of openings and balls that it may use.
            floor: Least height [m].

        Raises:
            XtdroneError: There is no such flight.
        """
        self.lap = smooth.lap
        start = smooth.start if track.start is None else np.array(track.start)
        end, beyond = smooth.at(smooth.duration)[0], smooth.beyond
        if track.end is not None:
            end, beyond = np.array(track.end), track.beyond
        self.plan = TimeOptimal(
            multirotor, np.array([start, end]), gates(track, laps, beyond, part), floor
        )
        self.start, self.duration, self.times = start, self.plan.duration, self.plan.times[1:-1]

    def at(self, t: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Returns position, velocity and acceleration, each (3,), at a time since the start [s]."""
        planned = self.plan.at(t)
        return planned.pos, planned.vel, planned.acc
