"""The Agent that explores: it flies until nothing is left to see."""

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import numpy as np

from xtdrone_core import Estimates
from xtdrone_core.contracts import Flight
from xtdrone_core.errors import shown
from xtdrone_core.scenario.options import Option
from xtdrone_sim.world import load_world

from ..errors import PlanningError
from ..maps.distance_field import DistanceField
from ..maps.voxel_map import VoxelMap
from ..options import Acceleration, Resolution, Speed
from ..pilot import Pilot
from ..planners.local import LocalPlanner
from ..planners.planner import Limits
from ..seeing import SeeingAgent
from .coverage import Coverage
from .frontiers import Viewpoint, distances, frontiers, tour, viewpoints

SCHEMES = ("tour", "nearest")
PERCENT = (50, 90, 98)  # of what there is
_CHOOSE_US = 1_000_000  # between two choices [us]
_NEAR = 0.5  # so near to a viewpoint it looks [m]
_LOOK_US = 1_200_000  # for so long it looks there [us]
_STUCK_US = 4_000_000  # held for so long it leaves a viewpoint out [us]
_FRUITLESS_US = 10_000_000  # without anything new for so long, too [us]
_NEW = 0.3  # less is nothing new [m^3]
_MOST = 14  # viewpoints in a tour
_APART = 0.8  # a viewpoint so near to one left out is left out, too [m]
_DETOUR = 3.0  # a way through what is not known counts so much longer


class ExploreAgent(SeeingAgent):
    """Take-off, exploration of an area by frontiers with viewpoints and a tour, landing.

    In addition to the events of FlightAgent: `viewpoint` (pos, left), `held` (reason) and
    `explored` (seen_m3).
    """

    MEMORY = (
        *SeeingAgent.MEMORY,
        "coverage",
        "_next_choice_us",
        "_near_us",
        "_left_out",
        "_seen",
        "_known",
        "_new_us",
    )

    def __init__(
        self,
        n: int = 1,
        scheme: Annotated[str, Option("tour, or nearest: the baseline", choices=SCHEMES)] = "tour",
        area: Annotated[str, Option("x0,y0,x1,y1 of what is explored", unit="m")] = "-18,-12,18,12",
        speed: Speed = 1.5,
        acceleration: Acceleration = 2.5,
        height: Annotated[
            float, Option("of the flight", unit="m", minimum=0.5, maximum=100.0)
        ] = 1.5,
        resolution: Resolution = 0.2,
        seconds: Annotated[
            float, Option("it lands after this time", unit="s", minimum=5.0, maximum=36_000.0)
        ] = 600.0,
        on_event: Callable[..., None] | None = None,
    ) -> None:
        """Prepares a flight of one vehicle; on_event(t_us, name, **values) is called at each event.

        Raises:
            XtdroneError: More than one vehicle, or an area that cannot be read.
        """
        low, high = _area(area)
        centre = np.array([*(0.5 * (low + high)), height])
        side = high - low + 4.0
        limits = Limits(speed, acceleration, 0.42, 0.7, height - 0.5, height + 0.5)
        voxels = VoxelMap((*side, 5.0), resolution, centre)
        field = DistanceField((*side, 3.0), resolution, 1.2)
        super().__init__(n, height, Pilot(LocalPlanner(), limits, voxels, field, centre), on_event)
        self._bounds = np.array([[*low, 0.0], [*high, height + 1.0]])
        self._scheme, self._limits_us = scheme, round(seconds * 1e6)
        # time [s], known volume [m^3] and seen part of what there is, each second
        self.coverage: list[list[float]] = []
        self._there_is: Coverage | None = None
        self._known, self._new_us = 0.0, 0  # the largest known volume [m^3], and since when
        self._next_choice_us, self._near_us = 0, -1
        self._left_out: list[list[float]] = []  # viewpoints that did not help
        self._seen: list[list[float]] = []  # viewpoints that were chosen

    def goals(self) -> np.ndarray:
        """Returns the viewpoints that were flown to (V, 3) [m]."""
        return np.array(self._seen).reshape(-1, 3)

    def attach(self, flight: Flight) -> None:
        """Finds the sensors; and what there is to see, for the figures alone.

        Raises:
            PlanningError: The vehicle cannot see.
        """
        super().attach(flight)
        pilot, limits = self.pilot, self.pilot.limits
        bounds = np.array([[*row[:2], z] for row, z in zip(self._bounds, limits[4:])])
        start = np.array([*flight.scenario.vehicles[0].pos[:2], self.height])
        shapes = load_world(flight.scenario.world).shapes
        self._there_is = Coverage(shapes, bounds, start, pilot.voxels.resolution)

    def begin_flight(self, t_us: int, estimates: Estimates) -> None:
        """Looks around first."""
        self._next_choice_us = t_us + _CHOOSE_US
        self.pilot.goal = self.home[0] + [0.0, 0.0, self.height]

    def fly_on(self, t_us: int, estimates: Estimates) -> bool:
        """Chooses viewpoints; returns True when none is left, or the time is over."""
        pilot, since = self.pilot, t_us - self._begun_us
        near = float(np.linalg.norm(estimates.pos[0] - pilot.goal)) < _NEAR
        self._near_us = (self._near_us if self._near_us >= 0 else t_us) if near else -1
        stuck = pilot.held_us >= 0 and t_us - pilot.held_us > _STUCK_US
        stuck |= t_us - max(self._new_us, self._begun_us) > _FRUITLESS_US
        looked = self._near_us >= 0 and t_us - self._near_us > _LOOK_US
        if t_us < self._next_choice_us and not looked and not stuck:
            return since > self._limits_us
        if looked or stuck:
            self._left_out.append(np.asarray(pilot.goal).tolist())
            self._near_us, pilot.held_us, self._new_us = -1, -1, t_us
        self._next_choice_us = t_us + _CHOOSE_US
        known = sum(pilot.voxels.known_volume())
        if known > self._known + _NEW:
            self._known, self._new_us = known, t_us
        seen = self._there_is.seen(pilot.voxels) if self._there_is else np.nan
        self.coverage.append([since * 1e-6, known, seen])
        return not self._choose(t_us, estimates.pos[0]) or since > self._limits_us

    def report(self, folder: Path | str) -> None:
        """Draws also what was known over time."""
        super().report(folder)
        if self.coverage:
            from ..picture import draw_coverage

            rows = np.array(self.coverage)
            draw_coverage(Path(folder) / "plots" / "coverage.png", {self._scheme: rows})

    def metrics(self) -> dict[str, Any]:
        """Returns what is measured of a flight, for its summary."""
        rows = np.array(self.coverage or [[0.0, 0.0, 0.0]])
        out: dict[str, Any] = {"scheme": self._scheme, "viewpoints": len(self._seen)}
        out["seen_percent"] = round(100.0 * float(rows[-1, 2]), 2)
        for percent in PERCENT:
            seconds = seconds_to(rows, percent)
            out[f"seconds_to_{percent}_percent"] = None if np.isnan(seconds) else round(seconds, 1)
        return {**out, **super().metrics()}

    def _choose(self, t_us: int, pos: np.ndarray) -> bool:
        """Sets out for the next viewpoint; returns whether there is one."""
        pilot = self.pilot
        views = [
            view
            for view in viewpoints(
                pilot.field,
                frontiers(pilot.field, pilot.limits, self._bounds),
                pilot.limits,
                self.height,
            )
            if all(np.linalg.norm(view.pos - left) > _APART for left in self._left_out)
        ]
        if not views:
            self.event(t_us, "explored", seen_m3=round(sum(pilot.voxels.known_volume()), 1))
            return False
        chosen = self._first(pos, views)
        if np.linalg.norm(chosen.pos - pilot.goal) > 1e-6:
            self._seen.append(chosen.pos.tolist())
            self.event(t_us, "viewpoint", pos=np.round(chosen.pos, 2).tolist(), left=len(views))
        pilot.goal, pilot.look = chosen.pos, chosen.yaw
        return True

    def _first(self, pos: np.ndarray, views: list[Viewpoint]) -> Viewpoint:
        """Returns the viewpoint to fly to: the one before, as long as there is one, or the next."""
        places = np.array([view.pos for view in views])
        off = np.linalg.norm(places - self.pilot.goal, axis=1)
        if off.min() < _APART:  # there is still something to see: it is not left for another one
            return views[int(np.argmin(off))]
        there = self._lengths(pos, places)
        if self._scheme == "nearest":
            return views[int(np.argmin(there))]
        near = np.argsort(there, kind="stable")[:_MOST]
        kept, places = [views[k] for k in near], places[near]
        lengths = np.zeros((len(kept) + 1, len(kept) + 1))
        lengths[0, 1:] = there[near]
        for k in range(len(kept)):
            lengths[k + 1, 1:] = self._lengths(places[k], places)
        return kept[tour(lengths)[0] - 1]

    def _lengths(self, pos: np.ndarray, places: np.ndarray) -> np.ndarray:
        """Returns the lengths of ways; where none is known, that of a detour [m]."""
        found = distances(self.pilot.field, pos, places, self.pilot.limits)
        straight = np.linalg.norm(places - pos, axis=1)
        return np.where(np.isfinite(found), found, _DETOUR * straight)


def seconds_to(rows: np.ndarray, percent: float) -> float:
    """Returns when so much of what there is was seen [s]; NaN if it never was.

    Args:
        rows: (T, 3) of ExploreAgent.coverage.
        percent: 0 to 100.
    """
    enough = rows[:, 2] >= 0.01 * percent
    return float(rows[np.argmax(enough), 0]) if enough.any() else np.nan


def _area(text: str) -> tuple[np.ndarray, np.ndarray]:
    """Reads the corners of an area, (2,) each [m].

    Raises:
        PlanningError: It is none.
    """
    try:
        numbers = np.array([float(word) for word in text.split(",")])
    except ValueError:
        numbers = np.zeros(0)
    if len(numbers) != 4 or not np.isfinite(numbers).all() or (numbers[2:] <= numbers[:2]).any():
        raise PlanningError(
            f"area '{shown(text)}' is not allowed: give x0,y0,x1,y1 in metres, the lower ones first"
        )
    return numbers[:2], numbers[2:]
