"""The Agent that flies to goals that are given one by one, and says how it gets on."""

import base64
from collections.abc import Callable, Sequence
from typing import Annotated, Any

import numpy as np

from xtdrone_core import Estimates
from xtdrone_core.errors import shown
from xtdrone_core.modes import Mode
from xtdrone_core.scenario.options import Option
from xtdrone_guidance.paths import read_points

from .agent import make_pilot
from .errors import PlanningError
from .maps.voxel_kernels import UNKNOWN
from .maps.voxel_map import VoxelMap
from .options import (
    Acceleration,
    Clearance,
    High,
    Low,
    MapSize,
    Patience,
    PlannerName,
    Radius,
    Resolution,
    Speed,
    TakeOffHeight,
)
from .planners.planner import Limits
from .progress import Progress
from .seeing import SeeingAgent

_EVERY = 5  # each so many samples of a trajectory are shown
_NEAR = 0.4  # a vehicle at rest so near is at its goal [m]
_HOVERING, _NOT_OURS, _HELD = "hovering", "not in OFFBOARD", "held: "  # states


class GoalAgent(SeeingAgent):
    """Take-off, flights to goals as they are asked for, with a hover in between.

    A goal that cannot be reached is held before, and given up after a while; the vehicle hovers on
    and takes the next one. Who takes the vehicle out of OFFBOARD flies it himself.

    Attributes:
        state: What it does now, in words.
        answered: Goals that were reached or given up.
        reached: Goals that were reached.
    """

    MEMORY = (*SeeingAgent.MEMORY, "state", "answered", "reached", "_asked", "_heading")

    def __init__(
        self,
        limits: Limits,
        planner: str = "local",
        height: float = 2.0,
        resolution: float = 0.15,
        map_size: float = 60.0,
        patience: float = 12.0,
        count: int = 0,
        on_event: Callable[..., None] | None = None,
        on_state: Callable[[str], None] | None = None,
    ) -> None:
        """Prepares a flight of one vehicle.

        Args:
            limits: What it keeps within.
            planner: A name, module:Class or FILE.py:Class.
            height: Of the take-off [m].
            resolution: Side of a voxel [m].
            map_size: Side of the map [m].
            patience: Held for so long it gives a goal up [s].
            count: It lands after so many goals; 0 for never.
            on_event: Called at each event, as that of NavigateAgent.
            on_state: Called with each new state.

        Raises:
            XtdroneError: There is no such planner, or a number is not allowed.
        """
        pilot = make_pilot(planner, limits, resolution, map_size)
        super().__init__(1, height, pilot, on_event)
        self._patience_us, self._count = round(patience * 1e6), count
        self._on_state = on_state or (lambda state: None)
        self.state, self.answered, self.reached = "", 0, 0
        self._asked: np.ndarray | None = None  # the goal that is to be flown to next, (3,) [m]
        self._heading: float | None = None  # at the goal [rad]
        self._say("on the ground")

    @property
    def is_flying(self) -> bool:
        """Whether it has begun to fly by sight."""
        return self._begun_us > 0

    def fly_to(self, goal: np.ndarray, yaw: float | None = None) -> None:
        """Takes a goal in place of the last one, once it is in the air.

        Args:
            goal: (3,) where to, world [m].
            yaw: Heading there [rad]; None for any.

        Raises:
            PlanningError: It is no place, or not within the heights of the limits.
        """
        limits = self.pilot.limits
        if not np.isfinite(goal).all():
            raise PlanningError(f"goal {_words(goal)} is not allowed: give x, y, z in metres")
        if not limits.low <= goal[2] <= limits.high:
            raise PlanningError(
                f"goal {_words(goal)} is not allowed: give a height of {limits.low:g} to "
                f"{limits.high:g} m"
            )
        self._asked, self._heading = np.array(goal, dtype=float), yaw

    def take_goal(self, goal: Sequence[float]) -> None:
        """Takes a goal (3,), world [m], as fly_to(); one of height 0 is at that of the take-off."""
        place = np.array(goal, dtype=float)
        if place[2] == 0.0:
            place[2] = self.hover_height
        self.fly_to(place)

    @property
    def hover_height(self) -> float:
        """Height of the take-off above the origin [m]."""
        return self.height + (0.0 if self.home is None else float(self.home[0, 2]))

    def navigation(self) -> dict[str, Any]:
        """Returns what it does and knows, as contracts.GoalTaker has it."""
        pilot = self.pilot
        asked = self._asked if self._asked is not None else pilot.goal
        return {
            "state": self.state,
            "goal": None if asked is None else _rounded(asked),
            "path": _rounded(pilot.path) if pilot.goal is not None else [],
            "trajectory": _rounded(pilot.flown.pos[::_EVERY]) if self.is_flying else [],
            "map": from_above(pilot.voxels, pilot.limits.low, pilot.limits.high),
        }

    def refuse(self, reason: str) -> None:
        """Says why a goal is not taken; the vehicle does what it did."""
        self._say(f"refused: {reason}")

    def goals(self) -> np.ndarray:
        """Returns the goal that is flown to, (G, 3) [m]."""
        return np.array([] if self.pilot.goal is None else self.pilot.goal).reshape(-1, 3)

    def goals_reached(self) -> dict[str, tuple[int, int]]:
        """Returns how many goals were reached, of how many."""
        return {"goals": (self.reached, self.answered)}

    def begin_flight(self, t_us: int, estimates: Estimates) -> None:
        """Hovers, until there is a goal."""
        self._say(_HOVERING)

    def fly_on(self, t_us: int, estimates: Estimates) -> bool:
        """Goes to what was asked for; returns True to land, or when somebody else has landed."""
        if estimates.mode[0] != Mode.OFFBOARD:
            self._say(_NOT_OURS)
            self._progress = Progress()
            return bool(estimates.landed[0] and not estimates.armed[0])
        pilot = self.pilot
        if self._asked is not None:
            pilot.goal, pilot.look, self._asked = self._asked, None, None
            self._go(t_us)
        elif pilot.goal is None:
            self._hover()
        elif np.linalg.norm(pilot.goal - estimates.pos[0]) < _NEAR and pilot.is_at_rest(t_us):
            pilot.look = self._heading
            self.reached += 1
            self._answer(t_us, True, f"reached {_words(pilot.goal)}")
        elif reason := self.stuck(t_us, estimates, self._patience_us):
            self.event(t_us, "given_up", reason=reason)
            self._answer(t_us, False, f"given up {_words(pilot.goal)}: {reason}")
        elif pilot.held_us >= 0:
            self._say(f"{_HELD}{pilot.reason}")
        else:
            self._say(f"flying to {_words(pilot.goal)}")
        return 0 < self._count <= self.answered

    def _hover(self) -> None:
        """Says whether it hovers because nothing was asked for, or for want of images."""
        if self.pilot.held_us >= 0:
            self._say(f"{_HELD}{self.pilot.reason}")
        elif self.state == _NOT_OURS or self.state.startswith(_HELD):
            self._say(_HOVERING)

    def _go(self, t_us: int) -> None:
        self.pilot.held_us, self.pilot.reason, self._said = -1, "", ""
        self._progress = Progress()
        self.event(t_us, "flying_to", goal=[round(float(x), 2) for x in self.pilot.goal])
        self._say(f"flying to {_words(self.pilot.goal)}")

    def _answer(self, t_us: int, reached: bool, state: str) -> None:
        """Says what has become of a goal; the vehicle holds."""
        self.event(t_us, "goal", index=self.answered, reached=reached)
        self.answered += 1
        self.pilot.goal, self.pilot.held_us = None, -1
        self._say(state)

    def _say(self, state: str) -> None:
        if state != self.state:
            self.state = state
            self._on_state(state)


class GoalsAgent(GoalAgent):
    """Take-off, flights to goals that come during the flight, landing after so many.

    Goals come from a click on the page's panel Goals, by ROS 2's /goal_pose, by take_goal() in
    Python, and from a file. In addition to the events of GoalAgent there are none.
    """

    MEMORY = (*GoalAgent.MEMORY, "_queue")

    def __init__(
        self,
        n: int = 1,
        plan: Annotated[
            str, Option("a .plan, .waypoints or .csv whose way-points are goals", unset="none")
        ] = "",
        count: Annotated[
            int,
            Option(
                "it lands after so many goals; 0: after those of the plan, or never",
                minimum=0,
                maximum=100_000,
            ),
        ] = 0,
        planner: PlannerName = "local",
        speed: Speed = 2.0,
        acceleration: Acceleration = 4.0,
        radius: Radius = 0.45,
        clearance: Clearance = 0.9,
        low: Low = 1.0,
        high: High = 3.5,
        height: TakeOffHeight = 2.0,
        resolution: Resolution = 0.15,
        map_size: MapSize = 60.0,
        patience: Patience = 12.0,
        on_event: Callable[..., None] | None = None,
    ) -> None:
        """Prepares a flight of one vehicle; on_event(t_us, name, **values) is called at each event.

        Raises:
            XtdroneError: More than one vehicle, no such planner, or a plan that cannot be read.
        """
        if n != 1:
            raise PlanningError(f"n = {n} is not allowed: give one vehicle")
        points = read_points(plan, "plan") if plan else np.zeros((0, 3))
        self._queue: list[list[float]] = points.tolist()  # relative to the start
        limits = Limits(speed, acceleration, radius, clearance, low, high)
        for k, point in enumerate(self._queue, 1):
            if not low <= point[2] <= high:
                raise PlanningError(
                    f"way-point {k} of plan '{shown(plan)}' is {point[2]:g} m high: give low and "
                    f"high around it, or heights of {low:g} to {high:g} m"
                )
        super().__init__(
            limits,
            planner,
            height,
            resolution,
            map_size,
            patience,
            count or len(self._queue),
            on_event,
        )

    def fly_on(self, t_us: int, estimates: Estimates) -> bool:
        """Takes the next way-point when it hovers; returns True at the end."""
        if self._queue and self.pilot.goal is None and self._asked is None:
            self.fly_to(np.array(self._queue.pop(0)) + self.home[0])
        return super().fly_on(t_us, estimates)


def from_above(voxels: VoxelMap, low: float, high: float) -> dict[str, Any]:
    """Returns what a map knows between two heights [m], as contracts.GoalTaker has it."""
    levels = np.floor(np.array([low, high]) / voxels.resolution).astype(int) - voxels.low[2]
    levels = np.clip(levels, 0, voxels.cells.shape[2] - 1)
    slab = voxels.unrolled()[:, :, levels[0] : levels[1] + 1]
    cells = (slab != UNKNOWN).any(axis=2).astype(np.uint8)
    cells[(slab > 0).any(axis=2)] = 2
    known = np.argwhere(cells)
    first, last = (known.min(axis=0), known.max(axis=0) + 1) if len(known) else ([0, 0], [0, 0])
    part = np.ascontiguousarray(cells[first[0] : last[0], first[1] : last[1]])
    return {
        "low": _rounded((voxels.low[:2] + first) * voxels.resolution),
        "resolution": voxels.resolution,
        "shape": list(part.shape),
        "cells": base64.b64encode(part.tobytes()).decode(),
    }


def _rounded(values: np.ndarray) -> list[Any]:  # numbers, or lists of them
    return list(np.round(values, 3).tolist())


def _words(goal: np.ndarray) -> str:
    return ",".join(f"{round(float(x), 2):g}" for x in goal)
