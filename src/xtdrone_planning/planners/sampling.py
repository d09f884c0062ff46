"""The plain baseline: RRT-Connect of OMPL on the map, flown along straight lines."""

import math
from itertools import pairwise
from typing import Any

import numpy as np

from xtdrone_core import extras

from ..errors import PlanningError
from ..maps.distance_field import DistanceField
from .planner import STEP_S, Limits, Plan, Situation, Trajectory
from .search import is_open

HORIZON = 10.0  # a goal further away is replaced by a place so far on the way to it [m]
_CHECKS = 20_000  # of the condition to end, until there is no way
_ALONG = 0.6  # part of the acceleration that is used
_REST = 0.3  # slower counts as at rest [m/s]


class OmplPlanner:
    """RRT-Connect of OMPL on the map; straight lines with a stop at each corner.

    A way is kept until something is in it or it ends; then the vehicle rests and plans anew. What
    is unseen counts as free. OMPL is an extra: pip install 'xtdrone[planning]'.
    """

    def __init__(self) -> None:
        """Loads OMPL.

        Raises:
            PlanningError: It is not installed.
        """
        extras.require("ompl", "planner 'ompl'", "planning", PlanningError)
        from ompl import base, geometric, util

        util.setLogLevel(util.LOG_NONE)
        util.RNG.setSeed(1)
        self._base, self._geometric = base, geometric
        self._path: np.ndarray | None = None  # (P, 3) corners that are still ahead

    def plan(self, situation: Situation) -> Plan:
        """Returns the straight lines that are still ahead, or new ones at rest."""
        field, limits, pos = situation.field, situation.limits, situation.pos
        if self._path is not None:
            self._path = _ahead(self._path, pos)
            way = np.concatenate([pos[None], self._path])
            if len(self._path) and _is_clear(field, way, limits.radius):
                return Plan(_straight(situation, way), way)
            self._path = None
        if np.linalg.norm(situation.vel) > _REST:
            return Plan(None, reason="something is in the way")
        target = _target(field, pos, situation.goal, limits)
        found = self._found(field, pos, target, limits)
        if found is None:
            return Plan(None, reason="OMPL has found no way")
        self._path = found[1:]
        return Plan(_straight(situation, found), found)

    def _found(
        self, field: DistanceField, start: np.ndarray, target: np.ndarray, limits: Limits
    ) -> np.ndarray | None:
        """Returns corners (P, 3) from start to target, or None."""
        base, geometric = self._base, self._geometric
        space = base.RealVectorStateSpace(3)
        bounds = base.RealVectorBounds(3)
        low = field.low * field.resolution
        high = low + np.array(field.state.shape) * field.resolution
        low[2], high[2] = min(limits.low, start[2]), max(limits.high, start[2])
        for k in range(3):
            bounds.setLow(k, float(low[k]))
            bounds.setHigh(k, float(high[k]))
        space.setBounds(bounds)
        setup = geometric.SimpleSetup(space)
        own = min(limits.radius, field.distance(start) - 0.01)

        def is_valid(state: Any) -> bool:  # a state of OMPL, which has no types
            place = np.array([state[0], state[1], state[2]])
            near = float(np.linalg.norm(place - start)) < 0.5
            return field.distance(place) >= (own if near else limits.radius + 0.05)

        setup.setStateValidityChecker(is_valid)
        setup.getSpaceInformation().setStateValidityCheckingResolution(0.005)
        ends = []
        for place in (start, target):
            state = space.allocState()
            for k in range(3):
                state[k] = float(place[k])
            ends.append(state)
        setup.setStartAndGoalStates(*ends)
        setup.setPlanner(geometric.RRTConnect(setup.getSpaceInformation()))
        left = iter(range(_CHECKS))
        setup.solve(base.PlannerTerminationCondition(lambda: next(left, None) is None))
        if not setup.haveExactSolutionPath():
            return None
        setup.simplifySolution()
        states = setup.getSolutionPath().getStates()
        return np.array([[state[0], state[1], state[2]] for state in states])


def _target(field: DistanceField, pos: np.ndarray, goal: np.ndarray, limits: Limits) -> np.ndarray:
    """Returns the goal, or a free place towards it at the horizon [m]."""
    way = goal - pos
    length = float(np.linalg.norm(way))
    horizon = min(HORIZON, 0.5 * min(field.state.shape[:2]) * field.resolution - 1.0)
    if length <= horizon:
        return goal
    aside = np.array([-way[1], way[0], 0.0]) / max(math.hypot(way[0], way[1]), 1e-9)
    for off in (0.0, 1.0, -1.0, 2.0, -2.0, 3.0, -3.0):
        place = pos + way * (horizon / length) + off * aside
        if field.distance(place) > limits.radius + 0.1:
            return np.asarray(place)
    return np.asarray(pos + way * (horizon / length))


def _ahead(path: np.ndarray, pos: np.ndarray) -> np.ndarray:
    """Returns the corners that are not reached yet."""
    return path[1:] if len(path) and np.linalg.norm(path[0] - pos) < 0.1 else path


def _is_clear(field: DistanceField, way: np.ndarray, radius: float) -> bool:
    own = min(radius, field.distance(way[0]) - 0.02)
    return all(
        is_open(field.square, field.low, field.resolution, a, b, own if k == 0 else radius)
        for k, (a, b) in enumerate(pairwise(way))
    )


def _straight(situation: Situation, way: np.ndarray) -> Trajectory:
    """Returns the motion along straight lines, at rest at each corner."""
    limits = situation.limits
    pos, vel, acc = [situation.pos], [situation.vel], [situation.acc]
    speed = float(np.linalg.norm(situation.vel))
    along = _ALONG * limits.acceleration
    for a, b in pairwise(way):
        length = float(np.linalg.norm(b - a))
        direction = (b - a) / max(length, 1e-9)
        s = 0.0
        while s < length - 1e-3:
            before = speed
            most = math.sqrt(2.0 * along * (length - s))
            speed = max(min(speed + along * STEP_S, limits.speed, most), 0.02)
            s = min(s + 0.5 * (before + speed) * STEP_S, length)
            pos.append(a + s * direction)
            vel.append(speed * direction)
            acc.append((speed - before) / STEP_S * direction)
        speed = 0.0
        vel[-1], acc[-1] = np.zeros(3), np.zeros(3)
    return Trajectory(situation.t_us, np.array(pos), np.array(vel), np.array(acc))
