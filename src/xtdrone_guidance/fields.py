"""Vector fields that lead onto a path and along it.

Far from the path the field points at it, on the path along it, and between both it turns with the
arc tangent of the distance. A vehicle that follows the field may start anywhere and be late: it is
never pulled after a point that runs away, as in trajectory tracking. The acceleration is equation
(5) of dronesim, k_v (v_ref - v), by the flight stack's velocity loop, and how the field changes
along the way as feed-forward.
"""

import math
from typing import NamedTuple

import numpy as np

from .paths import Nearest, SplinePath

_STEP_S = 0.02  # step along the field in which its change is measured [s]
_SLOWEST = 0.3  # least speed along a path, whose ends are at rest [m/s]


class Guided(NamedTuple):
    """What the field asks for at a place."""

    vel: np.ndarray  # (3,) [m/s]
    acc: np.ndarray  # (3,) its change along the way [m/s^2]
    nearest: Nearest
    distance: float  # from the path [m]


class VectorField:
    """The field around a path.

    Attributes:
        path: The path.
        speed, acceleration, width: As given.
    """

    def __init__(
        self,
        path: SplinePath,
        speed: float,
        acceleration: float = 4.0,
        width: float = 1.0,
        along: float | None = None,
    ) -> None:
        """Makes the field.

        Args:
            path: The path.
            speed: Largest speed [m/s].
            acceleration: Largest across the path, and along it [m/s^2].
            width: Distance at which the field points half towards the path [m].
            along: Largest along the path, apart from that across it [m/s^2].
        """
        self.path, self.speed, self.acceleration, self.width = path, speed, acceleration, width
        self._speeds = path.speeds(speed, acceleration, along)

    def at(self, pos: np.ndarray, near: float | None = None) -> Guided:
        """Returns what the field asks for at a place (3,) [m]; `near` as for path.nearest()."""
        vel, nearest, distance = self._velocity(pos, near)
        ahead, _, _ = self._velocity(pos + _STEP_S * vel, nearest.arc_length)
        return Guided(vel, (ahead - vel) / _STEP_S, nearest, distance)

    def speed_at(self, arc_length: float) -> float:
        """Returns the speed along the path at an arc length [m/s]."""
        return max(_SLOWEST, float(np.interp(arc_length, self.path.arc_lengths, self._speeds)))

    def _velocity(self, pos: np.ndarray, near: float | None) -> tuple[np.ndarray, Nearest, float]:
        nearest = self.path.nearest(pos, near)
        offset = nearest.pos - pos
        distance = float(np.linalg.norm(offset))
        speed = self.speed_at(nearest.arc_length)
        angle = math.atan(distance / self.width)
        vel = math.cos(angle) * speed * nearest.tangent
        if distance > 1e-9:
            towards = max(speed, min(self.speed, _SLOWEST + distance))
            vel = vel + math.sin(angle) * towards / distance * offset
        return vel, nearest, distance
