"""A formation flight from take-off to landing, whoever controls the followers."""

import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import numpy as np

from xtdrone_core import Estimates, SetPoints
from xtdrone_core.contracts import Flight
from xtdrone_core.flight_agent import FlightAgent
from xtdrone_core.scenario.arguments import Configured
from xtdrone_core.scenario.options import Option

from . import settling
from .declarations import FORMATIONS, SURVEY_TIME, Shape
from .errors import FormationError
from .formations import names as all_formations, shaped
from .settling import SETTLED_S, in_place
from .survey import Survey

if TYPE_CHECKING:  # slow to import
    from .assignment import Transition

GROUND_CLEARANCE = 2.5  # lowest slot above the ground [m]
_RETURN_HOLD_S = 1.0  # hover above the start grid before the descent [s]


class FormationFlight(FlightAgent, Configured):
    """Base class: takes off, flies a list of formations, returns to the start grid and lands.

    Subclasses define how formations are commanded and flown. In addition to the events of
    FlightAgent: `settled` (formation) and `unsettled` (formation; it timed out).
    """

    MEMORY = (
        *FlightAgent.MEMORY,
        "_index",
        "_inside_us",
        "_settled",
        "_settled_count",
        "_command_us",
        "_arrival_us",
        "survey",
    )
    FIXED: ClassVar[tuple[str, ...]] = ("height", "climb_speed", "land_from")

    def __init__(
        self,
        n: int,
        formations: Annotated[Sequence[str], FORMATIONS.option] = FORMATIONS.default,
        hold: Annotated[
            float,
            Option(
                "time to hold a formation after it has settled",
                unit="s",
                minimum=0.0,
                maximum=3600.0,
            ),
        ] = 8.0,
        interval: Annotated[
            float | None,
            Option(
                "fixed time from one formation to the next",
                unit="s",
                minimum=0.1,
                maximum=36e3,
                unset="until it has settled and was held",
            ),
        ] = None,
        time_out: Annotated[
            float,
            Option(
                "time to settle after the end of a transition",
                unit="s",
                minimum=0.1,
                maximum=3600.0,
            ),
        ] = 30.0,
        survey_time: Annotated[float, SURVEY_TIME.option] = SURVEY_TIME.default,
        on_event: Callable[..., None] | None = None,
        **shape: Annotated[Any, Shape],  # fields of Shape
    ) -> None:
        """Computes all formations, so that errors are found before the flight.

        n vehicles, the leader included; on_event(t_us, name, **values) is called at each event;
        **shape are fields of Shape.

        Raises:
            FormationError: A formation is unknown or does not fit n vehicles.
        """
        names = (formations,) if isinstance(formations, str) else tuple(formations)
        if not names:
            raise FormationError(
                f"no formation is given: name one or more of {', '.join(all_formations(n))}"
            )
        if n < 2:
            raise FormationError(
                f"n = {n} is not allowed: a formation has a leader and followers, "
                "give 2 or more vehicles"
            )
        self.names = names
        size = Shape(**shape)
        self.slots = [shaped(name, n, size) for name in names]
        lowest = min(min(slots[:, 2].min() for slots in self.slots), 0.0)
        super().__init__(
            n, height=GROUND_CLEARANCE - lowest, on_event=on_event, time_out=60.0 - 2.0 * lowest
        )
        self._index = -1  # current formation; len(names) during the return
        self._hold_us = round(hold * 1e6)
        self._fixed_us = None if interval is None else round(interval * 1e6)
        self._time_out = round(time_out * 1e6)
        self._inside_us: int | None = None  # time since which all vehicles are in their slots
        self._settled = False
        self._settled_count = 0
        self._command_us = self._arrival_us = 0
        self.survey = Survey(n, survey_time)

    def attach(self, flight: Flight) -> None:
        """Takes the start grid; warns if the GNSS receivers are too inaccurate for the slots."""
        sensors = flight.sensors
        self.survey.grid = flight.state.pos.copy()
        start = np.array([vehicle.pos for vehicle in flight.scenario.vehicles])
        warning = (
            ""
            if flight.scenario.pose_source != "sensors"
            else settling.accuracy_warning(
                [*self.slots, start[1:] - start[0]], sensors.gps_eph.max(), sensors.gps_epv.max()
            )
        )
        if warning:
            print(f"formation: {warning}", file=sys.stderr, flush=True)

    def step(self, t_us: int, estimates: Estimates) -> SetPoints:
        """Flies as FlightAgent.step() does, by positions corrected on the start grid."""
        if t_us < self._next_us or self.done:
            return super().step(t_us, estimates)
        survey = self.survey
        out = super().step(t_us, survey.corrected(t_us, estimates))
        survey.restore(t_us, out)
        if survey.due and self.home is not None:
            self.home = survey.find(t_us, self.home)
        return out

    def command(self, t_us: int, name: str, slots: np.ndarray) -> None:
        """Begins the formation `name` with slots (N - 1, 3) [m]."""
        raise NotImplementedError

    def go_back(self, t_us: int) -> None:
        """Begins the return to the start grid."""
        raise NotImplementedError

    def errors(self, t_us: int, pos: np.ndarray) -> np.ndarray:
        """Returns each follower's distance from its final slot [m]; inf during a transition."""
        raise NotImplementedError

    def control(self, t_us: int, estimates: Estimates, out: SetPoints) -> None:
        """Writes the set-points of one period to `out`."""

    def begin(self, t_us: int, estimates: Estimates) -> None:
        """Commands the first formation."""
        self._next(t_us)

    def fly(self, t_us: int, estimates: Estimates, out: SetPoints) -> bool:
        """Flies one period, and commands the next formation when it is due."""
        if self._finished(t_us, estimates.pos):
            if self._index == len(self.names):
                self.leave(t_us)
                out.pos[:], out.vel[:] = estimates.pos, 0.0
                return True
            self._next(t_us)
        self.control(t_us, estimates, out)
        return False

    def goals_reached(self) -> dict[str, tuple[int, int]]:
        """Returns how many formations have settled, and how many there are."""
        return {"formations": (self._settled_count, len(self.names))}

    def leave(self, t_us: int) -> None:
        """Ends the formation flight, before descent and landing; does nothing here."""

    def _next(self, t_us: int) -> None:
        self._index += 1
        self._command_us = self._arrival_us = t_us
        self._inside_us, self._settled = None, False
        if self._index < len(self.names):
            self.command(t_us, self.names[self._index], self.slots[self._index])
        else:
            self.go_back(t_us)

    def _finished(self, t_us: int, pos: np.ndarray) -> bool:
        """Returns whether the current formation is finished."""
        errors = self.errors(t_us, pos)
        if not np.isfinite(errors).all():
            self._arrival_us = t_us
        if not in_place(errors):
            self._inside_us = None
        elif self._inside_us is None:
            self._inside_us = t_us
        inside = 0 if self._inside_us is None else t_us - self._inside_us
        overdue = t_us - self._arrival_us > self._time_out + self._hold_us
        if self._index == len(self.names):
            return inside >= _RETURN_HOLD_S * 1e6 or overdue
        if not self._settled and inside >= SETTLED_S * 1e6:
            self._settled = True
            self._settled_count += 1
            self.event(t_us, "settled", formation=self.names[self._index])
        if self._fixed_us is not None:
            return t_us - self._command_us >= self._fixed_us
        if overdue and not self._settled:
            self.event(t_us, "unsettled", formation=self.names[self._index])
        return overdue or (self._settled and inside >= SETTLED_S * 1e6 + self._hold_us)


def event_values(name: str, transition: "Transition") -> dict[str, Any]:
    """Returns the values of the event `formation` for a Transition."""
    return {
        "formation": name,
        "slots": np.round(transition.goal, 3).tolist(),
        "method": transition.method,
        "min_separation": round(transition.min_separation, 3),
        "duration_s": round(sum(transition.durations), 3),
    }
