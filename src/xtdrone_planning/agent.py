"""The Agent that flies to goals through what nobody has seen."""

from collections.abc import Callable
from typing import Annotated, Any

import numpy as np

from xtdrone_core import Estimates
from xtdrone_core.errors import shown
from xtdrone_core.scenario.options import Option

from .errors import PlanningError
from .maps import map_files
from .maps.distance_field import DistanceField
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
from .pilot import Pilot
from .planners.planner import PLANNERS, Limits
from .progress import Progress
from .seeing import SeeingAgent

_NEAR = 0.4  # a vehicle at rest so near is at its goal [m]
_WINDOW = 24.0, 24.0, 6.0  # of the distance field [m]
_REACH = 1.2  # of it [m]


def read_goals(text: str) -> np.ndarray:
    """Reads goals 'x,y,z;x,y,z' as (G, 3) [m].

    Raises:
        PlanningError: It is something else.
    """
    try:
        goals = np.array([[float(word) for word in part.split(",")] for part in text.split(";")])
    except ValueError:
        goals = np.zeros(0)
    if goals.ndim != 2 or goals.shape[1] != 3 or not np.isfinite(goals).all():
        raise PlanningError(
            f"goal '{shown(text)}' is not allowed: give x,y,z in metres, several with ';' between"
        )
    return goals


def make_pilot(planner: str, limits: Limits, resolution: float, map_size: float) -> Pilot:
    """Returns a Pilot with a planner, an unknown map of square ground and its distance field.

    Args:
        planner: A name, module:Class or FILE.py:Class.
        limits: What it keeps within.
        resolution: Side of a voxel [m].
        map_size: Side of the map [m].

    Raises:
        XtdroneError: There is no such planner, or the heights of the limits are none.
    """
    limits.check()
    return Pilot(PLANNERS.load(planner)(), limits, *make_map(limits, resolution, map_size))


def make_map(limits: Limits, resolution: float, map_size: float) -> tuple[VoxelMap, DistanceField]:
    """Returns an unknown map of square ground, and its distance field."""
    height = max(limits.high - limits.low, 4.0) + 6.0
    reach = max(_REACH, limits.clearance + 2.0 * resolution)
    return (
        VoxelMap((map_size, map_size, height), resolution),
        DistanceField(_WINDOW, resolution, reach),
    )


class NavigateAgent(SeeingAgent):
    """Take-off, a flight to goals between obstacles that only the sensors have seen, landing.

    Depth images and scans of a lidar fill a voxel map by the vehicle's own estimates; every
    100 ms a planner plans through it. What is flown always ends with a stop in known free space.
    In addition to the events of FlightAgent: `goal` (index, reached), `held` (reason) and
    `given_up` (reason).
    """

    MEMORY = (*SeeingAgent.MEMORY, "_index", "_reached")

    def __init__(
        self,
        n: int = 1,
        goal: Annotated[str, Option("x,y,z, or several with ';' between", unit="m")] = "20,0,2",
        planner: PlannerName = "local",
        speed: Speed = 3.0,
        acceleration: Acceleration = 4.0,
        radius: Radius = 0.45,
        clearance: Clearance = 0.9,
        low: Low = 1.0,
        high: High = 3.5,
        height: TakeOffHeight = 2.0,
        resolution: Resolution = 0.15,
        map_size: MapSize = 100.0,
        map: Annotated[
            str, Option("what is known before: .npz of a flight, .ply of points, OctoMap's .bt")
        ] = "",
        patience: Patience = 12.0,
        on_event: Callable[..., None] | None = None,
    ) -> None:
        """Prepares a flight of one vehicle; on_event(t_us, name, **values) is called at each event.

        Raises:
            XtdroneError: More than one vehicle, no such planner, or a goal or map that cannot be
                read.
        """
        self._goals = read_goals(goal)
        limits = Limits(speed, acceleration, radius, clearance, low, high)
        super().__init__(n, height, make_pilot(planner, limits, resolution, map_size), on_event)
        self._known = map_files.read(map) if map else None
        self._patience_us = round(patience * 1e6)
        self._index, self._reached = 0, 0

    def goals_reached(self) -> dict[str, tuple[int, int]]:
        """Returns how many goals were reached, of how many."""
        return {"goals": (self._reached, len(self._goals))}

    def goals(self) -> np.ndarray:
        """Returns the goals (G, 3) [m]."""
        return self._goals

    def begin_flight(self, t_us: int, estimates: Estimates) -> None:
        """Sets out for the first goal."""
        if self._known is not None:
            self.pilot.voxels.insert_boxes(*self._known)
        self.pilot.goal = self._goals[0]

    def fly_on(self, t_us: int, estimates: Estimates) -> bool:
        """Returns True at the last goal, or when it gives up."""
        if self._is_there(t_us, estimates.pos[0]):
            self._reached += 1
            return self._next_goal(t_us, True)
        reason = self.stuck(t_us, estimates, self._patience_us)
        if reason:
            self.event(t_us, "given_up", reason=reason)
            return self._next_goal(t_us, False)
        return False

    def metrics(self) -> dict[str, Any]:
        """Returns what is measured of a flight, for its summary."""
        return {"goals_reached": self._reached, **super().metrics()}

    def _is_there(self, t_us: int, pos: np.ndarray) -> bool:
        """Whether it is at its goal: nearly at rest, or passing one that is not the last."""
        goal = self._goals[self._index]
        near = float(np.linalg.norm(pos - goal))
        last = self._index == len(self._goals) - 1
        return near < (_NEAR if last else 2.0 * _NEAR) and (self.pilot.is_at_rest(t_us) or not last)

    def _next_goal(self, t_us: int, reached: bool) -> bool:
        """Goes on to the next goal; returns True after the last one."""
        self.event(t_us, "goal", index=self._index, reached=reached)
        self.pilot.held_us, self._said = -1, self._said if not reached else ""
        if self._index + 1 == len(self._goals):
            return True
        self._index += 1
        self._progress = Progress()
        self.pilot.goal = self._goals[self._index]
        return False
