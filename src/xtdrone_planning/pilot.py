"""Flies one vehicle to goals through what it sees, with a stop that is always ready."""

import math
import time
from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np

from xtdrone_core.runs.snapshot import Memory
from xtdrone_guidance.planned import Planned

from .heading import turn
from .maps.distance_field import DistanceField
from .maps.moving import Tracks
from .maps.voxel_map import VoxelMap
from .planners import guard
from .planners.asking import Answer, Asker
from .planners.evading import Evasion
from .planners.planner import Limits, Planner, Situation, Trajectory

PLAN_US = 100_000  # between two plans [us]
_KEEP_S = 0.3  # a trajectory is flown as planned for at least so long before its stop [s]
_BRAKE = 0.7  # part of the acceleration that a stop uses
_AHEAD_S = 1.0  # the vehicle looks where it will be after this time [s]
TURN = 1.8  # largest yaw rate [rad/s]
_TURNED_S = 0.3  # it looks where it is to look at the goal for so long before it is there [s]
_BLIND_US = 500_000  # without an image for so long it stops [us]
_SCAN_US = 1_500_000  # held for so long it begins to look around [us]
_SCAN_RATE = 0.9  # [rad/s]
_LOST = 1.0  # its set-point is so far from the vehicle that it begins anew [m]
_ALONE_S = 2.0  # nobody should come to where it stops for so long [s]
_OWN = 0.55  # radius around the vehicle in which it would touch what were there [m]
_BETTER = 0.02  # who is too close to an obstacle stops at least so much farther from it [m]
_ROOM = 0.8  # part of the least distance at which what is flown is given up
_LEFT = 0.3  # it has left a place when it is so far from it [m]
_REST = 0.15  # slower is at rest [m/s]
HANGS_S = 60.0  # a planner without an answer for so long hangs; kernels may compile before it [s]


class Pilot(Memory):
    """From images and estimates to a set-point every 20 ms.

    What is flown always ends with a stop in space that is known to be free. A new plan takes its
    place as soon as it, flown for a moment and then braked, does so, too; else the vehicle brakes
    on what it flies. It stops at once if something is seen in its way where nothing had been.

    Attributes:
        voxels: The map.
        goal: (3,) where to [m]; None to hold.
        yaw: Heading [rad].
        look: Heading at rest near the goal [rad]; None for none.
        reason: Why it holds, or "".
        held_us: Since when it has been at rest without a way [us]; -1 while it flies.
        plan_ms: Processor time of each plan with its distance field [ms].
        tracks: What was seen to move.
        evaded: How often it has made way.
    """

    MEMORY: ClassVar[tuple[str, ...]] = (
        "voxels",
        "goal",
        "reason",
        "held_us",
        "plan_ms",
        "tracks",
        "evaded",
        "yaw",
        "_flown",
        "_path",
        "_next_us",
        "_stay",
    )

    def __init__(
        self,
        planner: Planner,
        limits: Limits,
        voxels: VoxelMap,
        field: DistanceField,
        centre: np.ndarray | None = None,
        on_plan: Callable[[Trajectory], None] | None = None,
        hangs_s: float = HANGS_S,
    ) -> None:
        """A pilot that holds; start() says where.

        Args:
            planner: What plans.
            limits: What it keeps within.
            voxels: The map to fill.
            field: Distances, of the map's resolution.
            centre: (3,) of map and field, which then stay there [m]; None for the vehicle.
            on_plan: Called with what is flown from now on, its stop included.
            hangs_s: A plan that takes longer is not waited for, wall-clock time [s].
        """
        self.limits, self.voxels, self._field = limits, voxels, field
        self._asker, self._evasion = Asker(planner, hangs_s), Evasion()
        self.tracks, self.evaded = Tracks(), 0
        self._centre = centre
        self._on_plan = on_plan or (lambda trajectory: None)
        self.goal: Any = None
        self.reason, self.held_us = "", -1
        self.plan_ms: list[float] = []
        self.yaw = 0.0
        self.look: Any = None  # where it looks at rest [rad]; None for ahead
        self.others: Callable[[], tuple[Trajectory, ...]] = tuple
        self._flown: Any = None  # the Trajectory that is flown
        self._path = [np.zeros((0, 3))]  # the way that was planned last, of any length
        self._next_us = 0
        self._stay: list[Any] = [
            np.full(3, np.nan),
            np.full(3, np.nan),
            0,
        ]  # place, goal, since when
        self._lead_us, self._keep_s = (
            0,
            _KEEP_S,
        )  # a plan begins so much later; its part that is kept

    @property
    def field(self) -> DistanceField:
        """Distances, as of the last plan."""
        return self._field

    @property
    def path(self) -> np.ndarray:
        """(M, 3) way that was planned last [m]."""
        return self._path[0]

    @property
    def flown(self) -> Trajectory:
        """What is flown, with the stop that it ends with."""
        return Trajectory(*self._flown)

    def start(self, t_us: int, pos: np.ndarray, yaw: float) -> None:
        """Holds a place; the vehicle is there, so there is nothing."""
        self._set(still(t_us, pos))
        self.yaw, self._next_us, self.held_us = yaw, t_us, -1
        self._follow(pos)
        self.voxels.set_free(pos, 2.0 * _OWN)

    def step(self, t_us: int, pos: np.ndarray, vel: np.ndarray, newest_us: int) -> Planned:
        """Returns the set-point; the yaw is `yaw`.

        Args:
            t_us: Simulated time [us].
            pos, vel: (3,) estimates, world [m], [m/s].
            newest_us: When the newest image was taken [us].
        """
        self._follow(pos)
        self.voxels.set_free(pos, _OWN)
        if t_us >= self._next_us:
            self._next_us = t_us + PLAN_US
            if np.linalg.norm(self.flown.since(t_us).pos - pos) > _LOST:
                self._begin_anew(guard.stopping(_straight(t_us, pos, vel), 0.0, self._deceleration))
            if t_us - newest_us > _BLIND_US:
                self._hold(t_us, f"no image since {max(newest_us, 0) * 1e-6:.1f} s")
            elif self.goal is not None:
                self._plan(t_us, pos)
            else:
                self.reason, self.held_us = "", -1
            self._make_way(t_us, pos)
            self._look(t_us)
        return self.flown.since(t_us)

    def is_at_rest(self, t_us: int) -> bool:
        """Whether the set-point rests."""
        return float(np.linalg.norm(self.flown.since(t_us).vel)) < _REST

    @property
    def _deceleration(self) -> float:
        return _BRAKE * self.limits.acceleration

    def _plan(self, t_us: int, pos: np.ndarray) -> None:
        """Plans, and flies the plan if it can be stopped in time."""
        begun = time.thread_time()
        self._update(t_us, pos)
        self._stop_before_what_is_new(t_us)
        situation = self._situation(t_us + self._lead_us)
        plan, thread_ms = self._asked(situation)
        self._path = [plan.path]
        reason, taken = plan.reason, False
        if plan.trajectory is not None:
            stop = guard.stopping(plan.trajectory, self._keep_s, self._deceleration)
            first = self._field.distance(situation.pos)
            radius = min(self.limits.radius, max(first - _BETTER, 0.0))
            found = guard.check(self._field, stop, radius)
            if guard.meets(stop, situation.moving, self.limits.radius):
                reason = "somebody would come too close"
            elif found != guard.CLEAR:
                reason = "the way leads through what is not seen yet"
                reason = reason if found == guard.UNSEEN else "it could not stop in time"
            elif self._field.distance(stop.pos[-1]) < min(first + _BETTER, self.limits.radius):
                reason = "too close to an obstacle, and no way leads off it"
            else:
                taken = self._take(t_us, stop, reason)
                reason = reason if taken else self.reason
        self.plan_ms.append(1e3 * (time.thread_time() - begun) + thread_ms)
        if not taken or reason:
            self._hold(t_us, reason)

    def _stop_before_what_is_new(self, t_us: int) -> None:
        """Stops as hard as it can if what was seen since leaves what is flown too little room."""
        left = self.flown.after(t_us)
        now = self._field.distance(left.pos[0])
        room = min(_ROOM * self.limits.radius, max(now - _BETTER, 0.0))
        if guard.check(self._field, left, room, known=False) == guard.CLEAR:
            return
        stop = guard.stopping(left, 0.0, self.limits.acceleration)
        if _length(stop) < _length(left) - _BETTER:
            self._begin_anew(stop)

    def _situation(self, begin_us: int) -> Situation:
        """Returns what is known, for a trajectory that begins at a time."""
        now = self.flown.since(begin_us)
        return Situation(
            begin_us,
            *now,
            np.asarray(now.pos if self.goal is None else self.goal, dtype=float),
            self.voxels,
            self._field,
            self.limits,
            self.others(),
            self.tracks.at(begin_us),
            self._waited(begin_us, np.asarray(now.pos)),
        )

    def _waited(self, t_us: int, pos: np.ndarray) -> float:
        """Returns for how long it has been where it is with the goal that it has [s]."""
        place, goal, since_us = self._stay
        same = self.goal is not None and np.array_equal(goal, self.goal)
        if not (same and np.linalg.norm(pos - place) < _LEFT):
            goal = np.full(3, np.nan) if self.goal is None else np.array(self.goal, dtype=float)
            self._stay, since_us = [pos.copy(), goal, t_us], t_us
        return 1e-6 * (t_us - since_us)

    def _make_way(self, t_us: int, pos: np.ndarray) -> None:
        """Flies aside if somebody would run into what is flown, or into where it stops."""
        moving = self.tracks.at(t_us)
        begun = (t_us - self.flown.begun_us) * 1e-6
        if not guard.meets(self.flown, moving, self.limits.radius, begun, _ALONE_S):
            return
        self._update(t_us, pos)
        situation = self._situation(t_us + self._lead_us)
        aside = self._evasion.find(situation, self.flown.after(situation.t_us).pos)
        if aside is not None and self._take(t_us, aside, ""):
            self.evaded += 1

    def _follow(self, pos: np.ndarray) -> None:
        """Moves the map with the vehicle; one of a place of its own stays, and forgets nothing."""
        if self._centre is None:
            self.voxels.follow(pos)

    def _update(self, t_us: int, pos: np.ndarray) -> None:
        """Computes the distances from what the map knows now."""
        self._field.update(self.voxels, pos if self._centre is None else self._centre)

    def _take(self, t_us: int, stop: Trajectory, reason: str) -> bool:
        """Flies a plan that can be stopped in time; returns whether it was taken."""
        self._set(stop)
        self._on_plan(stop)
        self.reason, self.held_us = reason, self.held_us if reason else -1
        return True

    def _begin_anew(self, stop: Trajectory) -> None:
        """Flies a stop from where the vehicle is, as it does not follow what is flown."""
        self._set(stop)

    def _asked(self, situation: Situation) -> Answer:
        """Asks the planner; returns its plan and its thread's processor time [ms]."""
        return self._asker.plan(situation)

    def _hold(self, t_us: int, reason: str) -> None:
        """Notes why nothing new is flown; what is flown ends with a stop."""
        self.reason = reason
        if self.held_us < 0 and self.is_at_rest(t_us):
            self.held_us = t_us

    def _set(self, trajectory: Trajectory) -> None:
        self._flown = [trajectory.begun_us, trajectory.pos, trajectory.vel, trajectory.acc]

    def _look(self, t_us: int) -> None:
        """Turns towards where the vehicle will be, or around if it has no way."""
        largest = TURN * PLAN_US * 1e-6
        now = self.flown.since(t_us)
        if self.held_us >= 0 and t_us - self.held_us > _SCAN_US:
            self.yaw += _SCAN_RATE * PLAN_US * 1e-6
            return
        ahead = self.flown.since(t_us + round(_AHEAD_S * 1e6)).pos - now.pos
        if self.look is not None and not self.reason and self._is_nearly_there(now.pos):
            ahead = np.array([math.cos(self.look), math.sin(self.look)])
        elif np.linalg.norm(ahead[:2]) < 0.4:
            ahead = _beyond(self.path, now.pos, 1.5)
        if np.linalg.norm(ahead[:2]) < 0.2:
            return
        left = float(turn(math.atan2(ahead[1], ahead[0]), self.yaw))
        self.yaw += min(max(left, -largest), largest)

    def _is_nearly_there(self, pos: np.ndarray) -> bool:
        """Whether it is time to turn towards where it is to look at the goal."""
        left = float(np.linalg.norm(self.goal - pos)) if self.goal is not None else 0.0
        return left < self.limits.speed * (_TURNED_S + abs(float(turn(self.look, self.yaw))) / TURN)


def _length(trajectory: Trajectory) -> float:
    return float(np.linalg.norm(np.diff(trajectory.pos, axis=0), axis=1).sum())


def still(t_us: int, pos: np.ndarray) -> Trajectory:
    """A trajectory that rests at a place."""
    rest = np.zeros((1, 3))
    return Trajectory(t_us, np.array(pos, dtype=float).reshape(1, 3), rest, rest.copy())


def _straight(t_us: int, pos: np.ndarray, vel: np.ndarray) -> Trajectory:
    """A trajectory that goes on as a vehicle flies."""
    return Trajectory(t_us, np.array([pos]), np.array([vel]), np.zeros((1, 3)))


def _beyond(path: np.ndarray, pos: np.ndarray, length: float) -> np.ndarray:
    """Returns the way (3,) from a place to the first corner of a path further away than that."""
    for corner in path[1:]:
        if np.linalg.norm(corner[:2] - pos[:2]) > length:
            return np.asarray(corner - pos)
    return np.asarray(path[-1] - pos) if len(path) else np.zeros(3)
