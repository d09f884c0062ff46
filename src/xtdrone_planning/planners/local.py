"""The planner of this workspace: A* on the distance field, then a B-spline."""

import math

import numpy as np

from . import guard, spline
from .planner import Plan, Situation, Trajectory
from .search import BORDER, CLOSED, Search

HORIZON = 10.0  # so much of a way is planned smoothly [m]
_KNOT_S = 0.2  # between knots [s]
_MOST = 80  # control points
_LASTS_S = 0.9 * _MOST * _KNOT_S  # so far ahead a way is planned at most [s]
_ROUNDS = 40  # steps of the optimisation
_SLOWER = (1.0, 0.7, 0.45, 0.25)  # parts of the speed that are tried one after the other
_WAITS_S = 1.0  # who does not leave a place for so long is planned slower
_ALONG = 0.6  # part of the acceleration that is used along the way
_SHUT = "no way to the goal: it is shut in, or the vehicle is"
_TOLERANCE = 1.25  # of speed and acceleration, of which the weights allow a little more


class LocalPlanner:
    """A* on the map, then a cubic B-spline that keeps clear of obstacles within the limits."""

    def __init__(self) -> None:
        """A planner without a past."""
        self._search = Search()
        self._points = np.zeros((_MOST, 3))

    def plan(self, situation: Situation) -> Plan:
        """Returns a smooth trajectory to the goal, or to the edge of what is near."""
        limits = situation.limits
        if situation.field.distance(situation.goal) < limits.radius:
            return Plan(None, reason="the goal is in an obstacle, or too close to one")
        found = self._search.find(situation.field, situation.pos, situation.goal, limits, math.inf)
        if found.end == CLOSED and len(found.path) < 2:
            return Plan(None, found.path, "no way: obstacles are all around")
        reason = _SHUT if found.end == CLOSED else ""
        # Who is faster than is allowed, as when the limit has just fallen, may slow down smoothly.
        now = float(np.linalg.norm(situation.vel))
        allowed = limits._replace(speed=max(limits.speed, now))
        # A spline through a narrow gap begins late and then hurries. Planned anew all the time it
        # may never begin; a slower one does.
        first = min(int(situation.waited / _WAITS_S), len(_SLOWER) - 1)
        for part in _SLOWER[first:]:
            length = min(HORIZON, _LASTS_S * part * limits.speed)
            path, whole = _beginning(found.path, length)
            trajectory = self.smooth(situation, path, whole and found.end != BORDER, part)
            if not guard.exceeds(trajectory, allowed, _TOLERANCE) and self._is_clear(
                situation, trajectory
            ):
                return Plan(trajectory, found.path, reason)
        what = "obstacles and of what moves" if len(situation.moving) else "obstacles"
        return Plan(None, found.path, reason or f"no smooth way is clear of {what}")

    def smooth(self, situation: Situation, path: np.ndarray, ends: bool, part: float) -> Trajectory:
        """Returns the optimised spline along a path (P, 3), at a part of the speed.

        It rests at the path's end if it ends there.
        """
        limits = situation.limits
        now = float(np.linalg.norm(situation.vel))
        speed = part * limits.speed
        slow = limits._replace(speed=max(speed, now))
        spline.start_points(situation.pos, situation.vel, situation.acc, _KNOT_S, self._points)
        direction = path[1] - path[0] if len(path) > 1 else np.zeros(3)
        along = float(situation.vel @ direction / max(float(np.linalg.norm(direction)), 1e-9))
        count = spline.guess(
            path, along, speed, _ALONG * limits.acceleration, _KNOT_S, ends, self._points
        )
        spline.optimise(
            self._points,
            count,
            ends,
            path[-1],
            _KNOT_S,
            np.array(slow, dtype=float),
            situation.field.square,
            situation.field.low,
            situation.field.resolution,
            _places(situation, count),
            situation.moving,
            _ROUNDS,
        )
        return Trajectory(situation.t_us, *spline.sample(self._points, count, _KNOT_S))

    @staticmethod
    def _is_clear(situation: Situation, trajectory: Trajectory) -> bool:
        """Whether nothing known is in the way, but for where the vehicle already is too close."""
        first = situation.field.distance(situation.pos)
        radius = min(situation.limits.radius, max(first - 0.02, 0.0))
        if guard.check(situation.field, trajectory, radius, known=False) != guard.CLEAR:
            return False
        return not guard.meets(trajectory, situation.moving, situation.limits.radius)


def _beginning(path: np.ndarray, length: float) -> tuple[np.ndarray, bool]:
    """Returns a path up to a length [m], and whether that is all of it."""
    steps = np.linalg.norm(np.diff(path, axis=0), axis=1)
    ends = np.cumsum(steps)
    if not len(ends) or ends[-1] <= length:
        return path, True
    k = int(np.argmax(ends > length))
    part = (length - ends[k] + steps[k]) / steps[k]
    return np.concatenate([path[: k + 1], [path[k] + part * (path[k + 1] - path[k])]]), False


def _places(situation: Situation, count: int) -> np.ndarray:
    """Returns where other vehicles will be, (V, T, 3) every half knot [m]."""
    times = situation.t_us + np.arange(2 * count) * round(0.5e6 * _KNOT_S)
    return np.array([other.places(times) for other in situation.others]).reshape(
        len(situation.others), len(times), 3
    )
