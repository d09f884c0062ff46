"""Making way for people and cars that would run into the vehicle where it stops."""

import math

import numpy as np

from . import guard
from .local import LocalPlanner
from .planner import STEP_S, Situation, Trajectory

_WAYS = 16  # directions that are tried
_FAR = (0.8, 1.6, 2.6)  # [m]
_TRIED = 12  # of the best places
_WAIT_S = 2.5  # for so long it is to be left alone there [s]
_MARGIN = 0.2  # more than the least distance from what moves [m]
_TOLERANCE = 1.25  # of speed and acceleration, as of the planner


class Evasion:
    """Finds a place near by where nobody comes, and the way there."""

    def __init__(self) -> None:
        """Has nothing to remember."""
        self._planner = LocalPlanner()

    def find(self, situation: Situation) -> Trajectory | None:
        """Returns the shortest way to where what moves does not come, or None if all are shut.

        Where it comes everywhere, that to where it stays furthest away.
        It leads through what is known to be free, within the limits, and ends at rest.
        """
        best, most = None, -math.inf
        enough = situation.limits.radius + guard.BODY + _MARGIN
        for place in _places(situation, enough)[:_TRIED]:
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
            if gap >= enough:
                break
        stays = _gap(situation.pos[None], situation.moving)
        return best if most > stays else None


def _gap(pos: np.ndarray, moving: np.ndarray) -> float:
    return float(guard.least_gap(pos, moving, len(pos) + round(_WAIT_S / STEP_S)))


def _places(situation: Situation, enough: float) -> list[np.ndarray]:
    """Returns free places (3,) around the vehicle.

    First those that are far `enough` from what moves [m], the nearest and then those nearest to the
    goal before others; then those furthest from it.
    """
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
            gap = min(_gap(place[None], situation.moving), enough)
            left = float(np.linalg.norm(situation.goal - place))
            found.append((-gap, far, left, place))
    found.sort(key=lambda row: row[:3])
    return [place for *_, place in found]
