"""AUTO.PRECLAND: lands on the target that LANDING_TARGET reports, or searches for it."""

from xtdrone_core.modes import Mode
from xtdrone_dynamics.abilities.vehicle_type import FIXED_WING

from ..navigation.precision_landing import REQUIRED
from ..state.flight_state import ModeTask
from ..state.vehicle_status import TARGET_POSITION
from .flight_mode import FlightMode, ModeParts


class PrecisionLand(ModeTask):
    """Precision landings that a user has asked for."""

    def __init__(self, parts: ModeParts) -> None:
        """No vehicle lands."""
        self._status, self._estimator = parts.status, parts.estimator
        self._navigator, self._landings = parts.navigator, parts.landings

    def why_not(self, i: int) -> str:
        """Why vehicle i cannot land so, or an empty string."""
        if self._status["vehicle_type"][i] == FIXED_WING:
            return "precision landings are for what hovers: take AUTO.LAND, or hover first"
        return ""

    def begin(self, i: int) -> None:
        """Vehicle i stays where it is, and looks for the target."""
        self._navigator.begin(i)
        self._navigator.fly_to(i, self._estimator.pos[i], TARGET_POSITION)
        if self._status["armed"][i]:
            self._landings.begin(i, REQUIRED)


MODE = FlightMode(Mode.PRECLAND, PrecisionLand)
