"""The Agent `marker_deck_landing`: lands on rovers and boats that drive, by their markers."""

from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import numpy as np

from xtdrone_control.deck_landing import DeckLandingAgent
from xtdrone_core import Estimates
from xtdrone_core.contracts import Flight
from xtdrone_core.scenario.options import Option
from xtdrone_dynamics.abilities.vehicle_type import MULTICOPTER, vehicle_types

from ..markers import detect
from ..markers.picture import nested_of
from .tracker import MarkerTracker

DECK = "tag36h11:10,11,12:0.8"  # that of rover_marker
_LOST_US = 1_000_000  # a deck that was not seen for so long is where its vehicle says [us]
_ACCELERATION = 1.0  # of a deck in waves, see Motion


class MarkerDeckLandingAgent(DeckLandingAgent):
    """Lands multirotors on rovers or boats that drive, whose markers their cameras see.

    Until its marker is seen, a carrier is where its own flight stack says; then its place and
    velocity are those that the images give. All else is as in DeckLandingAgent.
    """

    def __init__(
        self,
        n: int = 2,
        speed: Annotated[
            float, Option("of the rovers and boats", unit="m/s", minimum=0.0, maximum=1.4)
        ] = 1.0,
        height: Annotated[
            float,
            Option(
                "from which the descent begins, above the marker",
                unit="m",
                minimum=2.0,
                maximum=30.0,
            ),
        ] = 4.0,
        carry: Annotated[
            float, Option("time that they are carried on", unit="s", minimum=0.0, maximum=3600.0)
        ] = 2.0,
        marker: Annotated[
            str, Option("FAMILY:ID,...:SIZE of the decks, nested markers from the largest")
        ] = DECK,
        library: Annotated[str, Option("of the detector", choices=detect.LIBRARIES)] = (
            detect.OPENCV
        ),
        time_out: Annotated[
            float, Option("of the whole flight", unit="s", minimum=10.0, maximum=3600.0)
        ] = 120.0,
        on_event: Callable[..., None] | None = None,
    ) -> None:
        """Prepares n vehicles; on_event(t_us, name, **values) is called at each event.

        Raises:
            PerceptionError: There are no such markers.
        """
        super().__init__(n, speed, height, carry, time_out=time_out, on_event=on_event)
        self._markers, self._library = nested_of(marker), library
        self.tracker: MarkerTracker | None = None

    def attach(self, flight: Flight) -> None:
        """Looks at the cameras. Called once, before the flight.

        Raises:
            XtdroneError: There are not as many multirotors as carriers, or one has no camera.
        """
        super().attach(flight)
        flyers = np.flatnonzero(vehicle_types(flight.fleet) == MULTICOPTER)
        self.tracker = MarkerTracker(
            flight,
            self._markers,
            vehicles=flyers.tolist(),
            library=self._library,
            acceleration=_ACCELERATION,
        )
        flight.observers.append(self.tracker)

    def carrier(
        self, t_us: int, estimates: Estimates, i: int, j: int
    ) -> tuple[np.ndarray, np.ndarray]:
        """Where multirotor i sees its carrier j, or where that says it is."""
        assert self.tracker is not None
        motion = self.tracker.motions[i]
        if motion.seen and t_us - motion.seen_us < _LOST_US:
            return motion.at(t_us)
        return super().carrier(t_us, estimates, i, j)

    def report(self, folder: Path) -> None:
        """Writes in how many images a marker was seen."""
        if self.tracker is not None:
            self.tracker.write_counts(folder)
