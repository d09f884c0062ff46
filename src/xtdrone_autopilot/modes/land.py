"""AUTO.LAND: straight down; a fixed wing descends on a circle."""

from xtdrone_core.modes import Mode

from ..state.flight_state import ModeTask
from ..state.vehicle_status import HOVERS
from .flight_mode import FlightMode, ModeParts


class Land(ModeTask):
    """Landings of a fleet."""

    def __init__(self, parts: ModeParts) -> None:
        """No vehicle lands."""
        self._status, self._navigator = parts.status, parts.navigator

    def begin(self, i: int) -> None:
        """Vehicle i lands where it is."""
        self._navigator.land(i)

    def transition_over(self, i: int) -> None:
        """Vehicle i lands where it hovers now."""
        status = self._status[i]
        if (
            status["vtol_state"] == HOVERS
            and status["armed"]
            and not status["landed"]
            and not status["descend"]
        ):
            self._navigator.land(i)


MODE = FlightMode(Mode.LAND, Land)
