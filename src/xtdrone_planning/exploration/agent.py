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
from ..heading import turn
from ..maps.distance_field import DistanceField
from ..maps.voxel_map import VoxelMap
from ..options import Acceleration, Resolution, Speed
from ..pilot import TURN, Pilot
from ..planners.local import LocalPlanner
from ..planners.planner import Limits
from ..seeing import SeeingAgent
from .coverage import Coverage
from .frontiers import (
    Patches,
    View,
    Viewpoint,
    distances,
    frontiers,
    nearest,
    seen_from,
    tour,
    viewpoints,
)

SCHEMES = ("tour", "nearest")
PERCENT = (50, 90, 98)  # of what there is
_CHOOSE_US = 500_000  # between two looks at what there is left to see [us]
_COVERAGE_US = 1_000_000  # between two rows of the coverage [us]
_NEAR, _TURNED = 0.5, 0.25  # so near to a viewpoint [m], and turned so far [rad], it looks
_LOOK_US = 400_000  # for so long it looks there [us]
_STUCK_US = 4_000_000  # held for so long it gives a viewpoint up [us]
_LATE_S, _SLOWER = 6.0, 2.0  # and when it takes so much longer than the way at full speed [s]
_WORTH = 80, 40, 20  # voxels of frontier that a viewpoint shows: large gaps first, then the rest
_KEPT = 0.35  # a viewpoint is flown to as long as so much of what it shows is unseen
_TRIES = 2  # a frontier that is still there after so many looks is left out
_SIGHT = 6.0  # a frontier is to be seen from so near [m]
_MOST = 24  # viewpoints in a tour
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
        "_late_us",
        "_near_us",
        "_view",
        "_tried",
        "_seen",
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
        self._lens = View(_SIGHT, np.pi)
        self._next_choice_us, self._late_us, self._near_us = 0, 0, -1
        self._view: list[Any] = []  # where to, heading, and voxels it is to show to be worth it
        self._tried: dict[str, int] = {}  # how often a block of frontiers was looked at in vain
        self._seen: list[list[float]] = []  # viewpoints that were chosen

    def goals(self) -> np.ndarray:
        """Returns the viewpoints that were flown to (V, 3) [m]."""
        return np.array(self._seen).reshape(-1, 3)

    def attach(self, flight: Flight) -> None:
        """Finds the sensors; and what there is to see, for the figures alone.

        Raises:
            PlanningError: The vehicle cannot see, or begins outside of the area.
        """
        super().attach(flight)
        place = np.array(flight.scenario.vehicles[0].pos[:2])
        low, high = self._bounds[:, :2]
        if (place < low).any() or (place > high).any():
            area = ",".join(f"{number:g}" for number in (*low, *high))
            raise PlanningError(
                f"the vehicle begins at {place[0]:g},{place[1]:g}, outside of the area {area}: "
                "give one that has its start"
            )
        pilot, limits = self.pilot, self.pilot.limits
        bounds = np.array([[*row[:2], z] for row, z in zip(self._bounds, limits[4:])])
        start = np.array([*place, self.height])
        shapes = load_world(flight.scenario.world).shapes
        self._there_is = Coverage(shapes, bounds, start, pilot.voxels.resolution)
        assert self.sight is not None
        reach, half_angle = self.sight.widest
        self._lens = View(min(reach, _SIGHT), min(half_angle, np.pi))

    def begin_flight(self, t_us: int, estimates: Estimates) -> None:
        """Looks around first."""
        self._next_choice_us = t_us + _CHOOSE_US
        self.pilot.goal = self.home[0] + [0.0, 0.0, self.height]

    def fly_on(self, t_us: int, estimates: Estimates) -> bool:
        """Chooses viewpoints; returns True when none is left, or the time is over."""
        since = t_us - self._begun_us
        if t_us < self._next_choice_us:
            return since > self._limits_us
        self._next_choice_us = t_us + _CHOOSE_US
        self._measure(since)
        pilot = self.pilot
        patches = self._left()
        in_view = self._in_view(patches)
        if self._has_looked(t_us, estimates.pos[0]) or self._is_late(t_us):
            for block in patches.block[in_view]:
                name = "{},{}".format(*block)
                self._tried[name] = self._tried.get(name, 0) + 1
            patches, pilot.held_us = self._left(), -1
        elif self._view and patches.voxels[in_view].sum() >= self._view[2]:
            return since > self._limits_us
        return not self._choose(t_us, estimates.pos[0], patches) or since > self._limits_us

    def _measure(self, since: int) -> None:
        """Notes the coverage."""
        if self.coverage and since * 1e-6 - self.coverage[-1][0] < 1e-6 * _COVERAGE_US - 1e-9:
            return
        known = sum(self.pilot.voxels.known_volume())
        seen = self._there_is.seen(self.pilot.voxels) if self._there_is else np.nan
        self.coverage.append([since * 1e-6, known, seen])

    def _left(self) -> Patches:
        """Returns the frontiers, but for those that were looked at in vain."""
        patches = frontiers(self.pilot.field, self.pilot.limits, self._bounds)
        tries = [self._tried.get("{},{}".format(*block), 0) for block in patches.block]
        kept = np.array(tries, dtype=int) < _TRIES
        return Patches(*(part[kept] for part in patches))

    def _in_view(self, patches: Patches) -> np.ndarray:
        """Returns which frontiers (F,) the viewpoint is to show."""
        if not self._view:
            return np.zeros(len(patches.voxels), dtype=bool)
        pos, yaw = np.array(self._view[0])[None], np.array([self._view[1]])
        return seen_from(self.pilot.field, patches, pos, yaw, self._lens)[0, 0]

    def _has_looked(self, t_us: int, pos: np.ndarray) -> bool:
        """Whether it has been at its viewpoint, turned towards what it is to show, for a while."""
        there = bool(self._view) and float(np.linalg.norm(pos - self._view[0])) < _NEAR
        there = there and abs(float(turn(self.pilot.yaw, self._view[1]))) < _TURNED
        self._near_us = (self._near_us if self._near_us >= 0 else t_us) if there else -1
        return there and t_us - self._near_us >= _LOOK_US

    def _is_late(self, t_us: int) -> bool:
        """Whether it does not get to its viewpoint."""
        stuck = self.pilot.held_us >= 0 and t_us - self.pilot.held_us > _STUCK_US
        return bool(self._view) and (stuck or t_us > self._late_us)

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

    def _choose(self, t_us: int, pos: np.ndarray, patches: Patches) -> bool:
        """Sets out for the next viewpoint; returns whether there is one."""
        pilot = self.pilot
        start = np.array([*pos[:2], self.height])
        find = nearest if self._scheme == "nearest" else viewpoints
        # Who has seen next to nothing yet, as before a wall, looks at what little there is.
        for worth in _WORTH if self._seen else (*_WORTH, 1):
            views, ways = find(pilot.field, patches, pilot.limits, start, self._lens, worth)
            if views:
                break
        else:
            self.event(t_us, "explored", seen_m3=round(sum(pilot.voxels.known_volume()), 1))
            return False
        first = self._first(views, ways)
        chosen, way = views[first], ways[first]
        kept = max(worth, _KEPT * chosen.gain)
        self._view, self._near_us = [chosen.pos.tolist(), chosen.yaw, kept], -1
        self._late_us = t_us + round(1e6 * (_LATE_S + _SLOWER * way / pilot.limits.speed))
        self._seen.append(chosen.pos.tolist())
        self.event(t_us, "viewpoint", pos=np.round(chosen.pos, 2).tolist(), left=len(views))
        pilot.goal, pilot.look = chosen.pos, chosen.yaw
        return True

    def _first(self, views: list[Viewpoint], ways: np.ndarray) -> int:
        """Returns the number of the viewpoint with which the quickest tour begins."""
        near = np.argsort(ways, kind="stable")[:_MOST]
        places = np.array([views[k].pos for k in near])
        yaws = np.array([views[k].yaw for k in near])
        speed = self.pilot.limits.speed
        seconds = np.zeros((len(near) + 1, len(near) + 1))
        seconds[0, 1:] = np.maximum(ways[near] / speed, np.abs(turn(yaws, self.pilot.yaw)) / TURN)
        for k in range(len(near)):
            turned = np.abs(turn(yaws, yaws[k])) / TURN
            seconds[k + 1, 1:] = np.maximum(self._lengths(places[k], places) / speed, turned)
        return int(near[tour(seconds)[0] - 1])

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
