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
_TOLERANCE = 1.6  # of speed and acceleration: who makes way may be harder than a planner


class Evasion:
    """Finds a place near by where nobody comes, and the way there."""

    def __init__(self) -> None:
        """Has nothing to remember."""
        self._planner = LocalPlanner()

    def find(self, situation: Situation, flown: np.ndarray | None = None) -> Trajectory | None:
        """Returns a way to where what moves does not come, or None if what is flown is as good.

        To stop at once, or the shortest of the ways aside; where it comes everywhere, that to where
        it stays furthest away. It leads through what is known to be free, and ends at rest.

        Args:
            situation: What is known.
            flown: (K, 3) places that are flown from now on [m]; None for where it is.
        """
        flown = situation.pos[None] if flown is None else flown
        best, most = None, _gap(flown, situation.moving)
        stop = _stop(situation)
        if _is_clear(situation, stop) and _gap(stop.pos, situation.moving) > most:
            best, most = stop, _gap(stop.pos, situation.moving)
        enough = situation.limits.radius + guard.BODY + _MARGIN
        for place in _places(situation, stop.pos[-1], enough)[:_TRIED]:
            way = np.array([situation.pos, place])
            trajectory = self._planner.smooth(situation, way, True, 1.0)
            if guard.exceeds(trajectory, situation.limits, _TOLERANCE):
                continue  # too near for a vehicle that is fast
            if not _is_clear(situation, trajectory):
                continue
            gap = _gap(trajectory.pos, situation.moving)
            if gap > most:
                best, most = trajectory, gap
            if gap >= enough:
                break
        return best


def _stop(situation: Situation) -> Trajectory:
    """Returns a stop straight ahead, as hard as it can."""
    state = (situation.pos[None], situation.vel[None], np.zeros((1, 3)))
    ahead = Trajectory(situation.t_us, *state)
    return guard.stopping(ahead, 0.0, situation.limits.acceleration)


def _is_clear(situation: Situation, trajectory: Trajectory) -> bool:
    """Whether a motion keeps off obstacles, but for where the vehicle is too close already."""
    room = max(situation.field.distance(situation.pos) - 0.02, 0.0)
    radius = min(situation.limits.radius, room)
    return guard.check(situation.field, trajectory, radius) == guard.CLEAR


def _gap(pos: np.ndarray, moving: np.ndarray) -> float:
    return float(guard.least_gap(pos, moving, len(pos) + round(_WAIT_S / STEP_S)))


def _places(situation: Situation, middle: np.ndarray, enough: float) -> list[np.ndarray]:
    """Returns free places (3,) around where the vehicle could stop, `middle` (3,) [m].

    First those that are far `enough` from what moves [m], the nearest and then those nearest to the
    goal before others; then those furthest from it.
    """
    found = []
    for k in range(_WAYS):
        angle = 2.0 * math.pi * k / _WAYS
        for far in _FAR:
            off = np.array([far * math.cos(angle), far * math.sin(angle), 0.0])
            place = middle + off
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
