"""The Agent `marker_landing`: takes off, flies near a pad, and lands on its marker."""

import math
from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import numpy as np

from xtdrone_core import Estimates, Mode, SetPoints
from xtdrone_core.contracts import Flight
from xtdrone_core.flight_agent import FlightAgent
from xtdrone_core.scenario.options import Option

from ..errors import PerceptionError
from ..markers import detect
from ..markers.picture import nested_of
from .tracker import MarkerTracker, landing_tracker

PAD = "tag36h11:0,1,2:0.8"  # that of the world `landing`
_SPEED = 3.0  # towards the pad [m/s]
_RETRY_US = 500_000  # time until a request that was not granted is repeated [us]


class MarkerLandingAgent(FlightAgent):
    """Lands each vehicle by AUTO.PRECLAND on a marker that its camera sees.

    The vehicles fly to a place near the pad, where the mode takes over; what they see goes to the
    flight stack as the landing target. Without a target they land as PX4 does: after a search,
    where they are. Events: those of FlightAgent, `precland`, `touchdown` (its distance from the
    marker, as seen last).
    """

    MEMORY = (*FlightAgent.MEMORY, "_requested_mode_us", "_arrived")

    def __init__(
        self,
        n: int = 1,
        marker: Annotated[
            str, Option("FAMILY:ID,...:SIZE of the pad, nested markers from the largest")
        ] = PAD,
        east: Annotated[
            float, Option("of the pad from the start, about", unit="m", minimum=-1e4, maximum=1e4)
        ] = 6.0,
        north: Annotated[
            float, Option("of the pad from the start, about", unit="m", minimum=-1e4, maximum=1e4)
        ] = 4.0,
        height: Annotated[
            float, Option("of the flight there", unit="m", minimum=1.0, maximum=100.0)
        ] = 5.0,
        library: Annotated[str, Option("of the detector", choices=detect.LIBRARIES)] = (
            detect.OPENCV
        ),
        time_out: Annotated[
            float, Option("of the landing", unit="s", minimum=10.0, maximum=3600.0)
        ] = 120.0,
        on_event: Callable[..., None] | None = None,
    ) -> None:
        """Prepares a flight of n vehicles; on_event(t_us, name, **values) is called at each event.

        Raises:
            PerceptionError: There are no such markers.
        """
        super().__init__(n, height, time_out=60.0, on_event=on_event)
        self._markers, self._library = nested_of(marker), library
        self._away = np.array([east, north, 0.0])
        self._landing_us = round(time_out * 1e6)
        self.tracker: MarkerTracker | None = None
        self._begun_us: int | None = None
        self._requested_mode_us = -_RETRY_US
        self._arrived = False

    def attach(self, flight: Flight) -> None:
        """Looks at the cameras. Called once, before the flight.

        Raises:
            PerceptionError: A vehicle has no camera.
            ScenarioError: The autopilot takes no landing target.
        """
        self.tracker = landing_tracker(flight, self._markers, self._library, range(self.n))
        flight.observers.append(self.tracker)

    def begin(self, t_us: int, estimates: Estimates) -> None:
        """The flight to the pad begins."""
        self._begun_us = t_us

    def fly(self, t_us: int, estimates: Estimates, out: SetPoints) -> bool:
        """Flies to the pad, then lets AUTO.PRECLAND land; never ends in AUTO.LAND."""
        assert self._begun_us is not None
        goal = self.home + self._away + [0.0, 0.0, self.height]
        path = goal - (self.home + [0.0, 0.0, self.height])
        distance = max(float(np.linalg.norm(self._away)), 1e-6)
        flown = min(_SPEED * (t_us - self._begun_us) * 1e-6 / distance, 1.0)
        out.pos[:] = goal - (1.0 - flown) * path
        near = np.linalg.norm(estimates.pos - goal, axis=1) < 1.0
        if flown >= 1.0 and near.all():
            self._arrived = True
        if self._arrived:
            self._land_precisely(t_us, estimates, out)
        if t_us - self._begun_us > self._landing_us:
            raise PerceptionError(
                f"not every vehicle has landed {self._landing_us / 1e6:g} s after it was airborne: "
                "give more --set time_out"
            )
        return False

    def _land_precisely(self, t_us: int, estimates: Estimates, out: SetPoints) -> None:
        up = estimates.armed
        if not up.any():
            self.done = True
            for i in range(self.n):
                self.event(t_us, "touchdown", index=i, away=self._missed(i, t_us, estimates))
            return
        flying = up & (estimates.mode != Mode.PRECLAND)
        if flying.any() and t_us - self._requested_mode_us >= _RETRY_US:
            self._requested_mode_us = t_us
            self.event(t_us, "precland")
            out.mode[flying] = Mode.PRECLAND

    def _missed(self, i: int, t_us: int, estimates: Estimates) -> float | None:
        """Horizontal distance of vehicle i from its marker [m], None where it saw none."""
        assert self.tracker is not None
        motion = self.tracker.motions[i]
        if not motion.seen:
            return None
        return round(math.hypot(*(motion.at(t_us)[0] - estimates.pos[i])[:2]), 3)

    def goals_reached(self) -> dict[str, tuple[int, int]]:
        """Returns how many vehicles have landed on a marker."""
        motions = self.tracker.motions.values() if self.tracker else ()
        return {"marker landings": (sum(motion.seen for motion in motions), self.n)}

    def report(self, folder: Path) -> None:
        """Writes in how many images a marker was seen."""
        if self.tracker is not None:
            self.tracker.write_counts(folder)
