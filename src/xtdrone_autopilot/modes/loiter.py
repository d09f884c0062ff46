"""AUTO.LOITER: stays where it is; a fixed wing flies circles there."""

import math

from xtdrone_core.modes import ORBIT, Mode

from ..state.flight_state import ModeTask
from ..state.vehicle_status import HOVERS
from .flight_mode import FlightMode, ModeParts


class Loiter(ModeTask):
    """Loiters of a fleet."""

    def __init__(self, parts: ModeParts) -> None:
        """No vehicle loiters."""
        self._status, self._navigator, self._orbits = parts.status, parts.navigator, parts.orbits

    def begin(self, i: int) -> None:
        """Holds where vehicle i loiters already, or where it can come to rest."""
        self._navigator.hold(i)

    def leave(self, i: int) -> None:
        """The next loiter of vehicle i has the speed of the parameters."""
        self._navigator.loiter_speed[i] = math.nan

    def reached(self, i: int) -> None:
        """Vehicle i is on the circle of its orbit."""
        if self._status["nav_state"][i] == ORBIT:
            self._orbits.arrive(i)

    def transition_over(self, i: int) -> None:
        """Holds anew where vehicle i hovers now."""
        status = self._status[i]
        if status["vtol_state"] == HOVERS and status["armed"] and not status["landed"]:
            self._navigator.hold(i)


MODE = FlightMode(Mode.LOITER, Loiter)
