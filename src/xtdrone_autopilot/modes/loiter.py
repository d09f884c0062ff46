"""AUTO.LOITER: stays where it is; a fixed wing flies circles there."""

from xtdrone_core.modes import Mode

from ..state.flight_state import ModeTask
from ..state.vehicle_status import HOVERS
from .flight_mode import FlightMode, ModeParts


class Loiter(ModeTask):
    """Loiters of a fleet."""

    def __init__(self, parts: ModeParts) -> None:
        """No vehicle loiters."""
        self._status, self._navigator = parts.status, parts.navigator

    def begin(self, i: int) -> None:
        """Holds where vehicle i loiters already, or where it can come to rest."""
        self._navigator.hold(i)

    def transition_over(self, i: int) -> None:
        """Holds anew where vehicle i hovers now."""
        status = self._status[i]
        if status["vtol_state"] == HOVERS and status["armed"] and not status["landed"]:
            self._navigator.hold(i)


MODE = FlightMode(Mode.LOITER, Loiter)
