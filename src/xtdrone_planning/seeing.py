"""What all Agents that fly by what they see share: sensors, map, pilot, truth for the picture."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from xtdrone_core import Estimates, FleetState, SensorBatch, SetPoints
from xtdrone_core.contracts import Flight, Observer
from xtdrone_core.flight_agent import FlightAgent
from xtdrone_core.runs import run_folder

from .errors import PlanningError
from .pilot import Pilot
from .progress import Progress
from .sight import Sight

_MAP = "map.npz"
_BELOW, _ABOVE = 0.6, 0.3  # what moves is looked for so far out of the heights of the flight [m]
_WANDERS = 5  # times the patience for which a vehicle may fly and not come nearer


class SeeingAgent(FlightAgent):
    """Takes off one vehicle, fills a map with what it sees, and lands it.

    Inherit and implement begin_flight(), fly_on() and goals().

    Attributes:
        pilot: The Pilot, with the map.
    """

    MEMORY: ClassVar[tuple[str, ...]] = (
        *FlightAgent.MEMORY,
        "pilot",
        "_progress",
        "_said",
        "_begun_us",
        "_ended_us",
    )

    def __init__(
        self, n: int, height: float, pilot: Pilot, on_event: Callable[..., None] | None
    ) -> None:
        """Prepares one vehicle.

        Raises:
            XtdroneError: More than one, or a height that is not positive.
        """
        if n != 1:
            raise PlanningError(f"n = {n} is not allowed: give one vehicle")
        super().__init__(n, height, on_event=on_event)
        self.pilot = pilot
        self._progress = Progress()
        self._said = ""  # the last reason that was reported
        self._begun_us, self._ended_us = 0, 0  # when it began and ended to fly by sight [us]
        self._sight: Sight | None = None
        self._truth: _Truth | None = None

    def begin_flight(self, t_us: int, estimates: Estimates) -> None:
        """Called once at the take-off height."""

    def fly_on(self, t_us: int, estimates: Estimates) -> bool:
        """Called after each step of the pilot; returns True to land."""
        raise NotImplementedError

    def goals(self) -> np.ndarray:
        """Returns what the picture marks, (G, 3) [m]."""
        raise NotImplementedError

    def attach(self, flight: Flight) -> None:
        """Finds the sensors.

        Raises:
            PlanningError: The vehicle cannot see.
        """
        self.see_by(Sight.of_flight(flight, 0, self.pilot.voxels))
        assert self._sight is not None
        self._truth = _Truth()
        flight.observers += [self._sight, self._truth]

    def stuck(self, t_us: int, estimates: Estimates, patience_us: int) -> str:
        """Returns why the goal is to be given up, or "".

        It has held for a time [us], or has flown five times as long without coming nearer.
        """
        pilot = self.pilot
        if pilot.held_us >= 0 and t_us - pilot.held_us > patience_us:
            return pilot.reason
        return self._progress.wandering(t_us, estimates.pos[0], pilot.goal, _WANDERS * patience_us)

    @property
    def sight(self) -> Sight | None:
        """What it sees by; None before it was given."""
        return self._sight

    def see_by(self, sight: Sight) -> None:
        """Sees by readings that come from elsewhere, as a ROS node has them."""
        self._sight = sight
        limits = self.pilot.limits
        sight.tracks = self.pilot.tracks, limits.low - _BELOW, limits.high + _ABOVE

    def begin(self, t_us: int, estimates: Estimates) -> None:
        """Begins to fly by sight."""
        if self._sight is None:
            raise PlanningError("the Agent needs its flight: use xd.Simulation or xtdrone fly")
        self.pilot.start(t_us, self.home[0] + [0.0, 0.0, self.height], float(self._yaw[0]))
        self._begun_us, self._ended_us = t_us, 0
        self.begin_flight(t_us, estimates)

    def step(self, t_us: int, estimates: Estimates) -> SetPoints:
        """Takes images in every phase, so that the map is there when the flight begins."""
        if self._sight is not None and t_us >= self._next_us:
            self._sight.take(t_us, estimates)
        return super().step(t_us, estimates)

    def fly(self, t_us: int, estimates: Estimates, out: SetPoints) -> bool:
        """Flies on; returns True at the end."""
        assert self._sight is not None
        pilot = self.pilot
        planned = pilot.step(t_us, estimates.pos[0], estimates.vel[0], self._sight.newest_us)
        out.pos[0], out.vel[0], out.acc[0] = planned
        out.yaw[0] = pilot.yaw
        self._yaw = np.array([pilot.yaw])
        if pilot.held_us >= 0 and pilot.reason != self._said:
            self._said = pilot.reason
            self.event(t_us, "held", reason=pilot.reason)
        if not self.fly_on(t_us, estimates):
            return False
        self._ended_us = t_us
        return True

    def report(self, folder: Path | str) -> None:
        """Saves the map, draws it with the way, and prints what was flown."""
        if self._truth is None or not self.pilot.plan_ms:
            return
        from .picture import draw

        folder = Path(folder)
        self.pilot.voxels.write(folder / _MAP)
        metrics = self.metrics()
        run_folder.update_summary(folder, **metrics)
        for name, value in metrics.items():
            print(f"{name}: {value}")
        draw(folder / "plots" / "navigation.png", self.pilot.voxels, self.way, self.goals())

    def metrics(self) -> dict[str, Any]:
        """Returns what is measured of a flight, for its summary."""
        free, occupied = self.pilot.voxels.known_volume()
        held = {"held": self._said} if self._said else {}
        return {
            "way_m": round(self.flown_way, 2),
            "way_s": round(self.flown_s, 1),
            "plans": len(self.pilot.plan_ms),
            "plan_ms_median": round(float(np.median(self.pilot.plan_ms)), 2),
            "plan_ms_99": round(float(np.percentile(self.pilot.plan_ms, 99)), 2),
            "seen_moving": self.pilot.tracks.count,
            "made_way": self.pilot.evaded,
            "seen_free_m3": round(free, 1),
            "seen_occupied_m3": round(occupied, 2),
            **held,
        }

    @property
    def way(self) -> np.ndarray:
        """(K, 3) true positions, ten a second [m]."""
        return np.array([] if self._truth is None else self._truth.pos).reshape(-1, 3)

    @property
    def flown_s(self) -> float:
        """Time from the take-off height to the end of the flight by sight, or until now [s]."""
        return 1e-6 * _Truth.period_us * max(len(self._flown_rows) - 1, 0)

    @property
    def flown_way(self) -> float:
        """Length of the true way in that time [m]."""
        rows = self._flown_rows
        return float(np.linalg.norm(np.diff(rows, axis=0), axis=1).sum())

    @property
    def _flown_rows(self) -> np.ndarray:
        first, last = (t // _Truth.period_us for t in (self._begun_us, self._ended_us))
        return self.way[max(first - 1, 0) : last if last > 0 else None]


class _Truth(Observer):
    """Records where the vehicle truly is, for pictures and figures alone."""

    period_us = 100_000

    def __init__(self) -> None:
        self.pos: list[np.ndarray] = []

    def on_step(self, t_us: int, state: FleetState, sensors: SensorBatch) -> None:
        """Keeps the position of the first vehicle."""
        self.pos.append(state.pos[0].copy())
