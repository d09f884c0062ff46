"""Making way for people and cars that would run into the vehicle where it stops."""

import math

import numpy as np

from . import guard
from .local import LocalPlanner
from .planner import STEP_S, Situation, Trajectory

_WAYS = 16  # directions that are tried
_FAR = (0.8, 1.6, 2.6)  # [m]
_TRIED = 8  # of the best places
_WAIT_S = 2.5  # for so long it is to be left alone there [s]
_TOLERANCE = 1.25  # of speed and acceleration, as of the planner


class Evasion:
    """Finds a place near by where nobody comes, and the way there."""

    def __init__(self) -> None:
        """Has nothing to remember."""
        self._planner = LocalPlanner()

    def find(self, situation: Situation) -> Trajectory | None:
        """Returns the way to where what moves stays furthest away, or None if all are shut.

        It leads through what is known to be free, within the limits, and ends at rest.
        """
        best, most = None, -math.inf
        for place in _places(situation)[:_TRIED]:
            way = np.array([situation.pos, place])
            trajectory = self._planner.smooth(situation, way, True, 1.0)
            radius = min(
                situation.limits.radius, max(situation.field.distance(situation.pos) - 0.02, 0.0)
            )
            if guard.exceeds(trajectory, situation.limits, _TOLERANCE):
                continue  # too near for a vehicle that is fast
            if guard.check(situation.field, trajectory, radius) != guard.CLEAR:
                continue
            gap = _gap(trajectory.pos, situation.moving)
            if gap > most:
                best, most = trajectory, gap
        stays = _gap(situation.pos[None], situation.moving)
        return best if most > stays else None


def _gap(pos: np.ndarray, moving: np.ndarray) -> float:
    return float(guard.least_gap(pos, moving, len(pos) + round(_WAIT_S / STEP_S)))


def _places(situation: Situation) -> list[np.ndarray]:
    """Returns free places (3,) around the vehicle, first those furthest from what moves."""
    found = []
    for k in range(_WAYS):
        angle = 2.0 * math.pi * k / _WAYS
        for far in _FAR:
            off = np.array([far * math.cos(angle), far * math.sin(angle), 0.0])
            place = situation.pos + off
            if (
                not situation.field.is_known(place)
                or situation.field.distance(place) < situation.limits.radius
            ):
                break  # what is beyond is not open either
            found.append((_gap(place[None], situation.moving), place))
    found.sort(key=lambda row: -row[0])
    return [place for _, place in found]
