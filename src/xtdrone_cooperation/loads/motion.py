"""Motions of a load from which those of its vehicle follow.

The place of a load on a cable is a flat output (Sreenath, Lee and Kumar 2013): its acceleration
gives the direction of the cable, and so where the vehicle has to be.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from xtdrone_core.flight_agent import minimum_jerk

_DT_S = 0.02  # of the differences that give the vehicle's velocity and acceleration
GRAVITY = 9.80665


class Carried(NamedTuple):
    """What a vehicle has to fly so that its load moves as planned, each (3,), world."""

    pos: np.ndarray  # of the vehicle [m]
    vel: np.ndarray
    acc: np.ndarray
    load_acc: np.ndarray  # of the load [m/s^2]


class Dash:
    """A straight motion that speeds up smoothly, keeps its speed, and stops as smoothly.

    Attributes:
        duration: [s].
    """

    def __init__(self, start: np.ndarray, end: np.ndarray, speed: float, ramp: float) -> None:
        """Plans a motion between two places (3,).

        Args:
            start, end: The places [m].
            speed: Largest [m/s]; less where the way is short.
            ramp: Time in which it is reached, and lost [s].
        """
        way = float(np.linalg.norm(end - start))
        self._start, self._along = np.asarray(start), (end - start) / max(way, 1e-9)
        self._speed = min(speed, way / ramp)
        self._ramp, self.duration = ramp, 2.0 * ramp
        if self._speed > 0.0:
            self.duration = way / self._speed + ramp

    def at(self, t: float) -> tuple[np.ndarray, np.ndarray]:
        """Returns place [m] and acceleration [m/s^2], each (3,), of a time [s]."""
        t = min(max(t, 0.0), self.duration)
        up, down = min(t, self._ramp), max(t - (self.duration - self._ramp), 0.0)
        way = _ramped(up / self._ramp) * self._ramp + (t - up)
        way -= _ramped(down / self._ramp) * self._ramp
        rate = minimum_jerk(up / self._ramp)[1] - minimum_jerk(down / self._ramp)[1]
        return (
            self._start + self._speed * way * self._along,
            self._speed * rate / self._ramp * self._along,
        )


def _ramped(x: float) -> float:
    """The integral of minimum_jerk from 0 to x."""
    return x**4 * (2.5 - 3.0 * x + x * x)


def carried(
    load: Callable[[float], tuple[np.ndarray, np.ndarray]], t: float, length: float
) -> Carried:
    """Returns the motion of a vehicle whose load moves as planned.

    Args:
        load: Returns place and acceleration (3,) of the load at a time [s].
        t: The time [s].
        length: Of the cable [m].
    """
    up = np.array([0.0, 0.0, GRAVITY])
    places = []
    for moment in (t - _DT_S, t, t + _DT_S):
        pos, acc = load(moment)
        pull = (acc + up) / np.linalg.norm(acc + up)
        places.append(pos + length * pull)
    before, now, after = places
    return Carried(
        now, (after - before) / (2.0 * _DT_S), (after - 2.0 * now + before) / _DT_S**2, load(t)[1]
    )


def with_load(plan: Carried, share: float) -> np.ndarray:
    """Returns the acceleration to command (3,), which the flight stack takes as of all it lifts.

    Args:
        plan: The motion.
        share: Mass of the load over that of the vehicle.
    """
    return (plan.acc + share * plan.load_acc) / (1.0 + share)
