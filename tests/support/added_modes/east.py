"""A flight mode by targets: each type of vehicle flies or drives to the east."""

from xtdrone_autopilot.modes.flight_mode import FlightMode, ModeParts
from xtdrone_autopilot.state.flight_state import ModeTask
from xtdrone_autopilot.state.vehicle_status import TARGET_LOITER
from xtdrone_core.modes import Mode

FAR = 15.0  # [m]


class East(ModeTask):
    """Flies to the east, and back to AUTO.LOITER once it is there."""

    def __init__(self, parts: ModeParts):
        """No vehicle flies."""
        self._parts = parts

    def begin(self, i):
        """Sets the target."""
        parts = self._parts
        parts.navigator.begin(i)
        parts.navigator.fly_to(i, parts.estimator.pos[i] + (FAR, 0.0, 0.0), TARGET_LOITER)
        parts.navigator.watch(i)

    def reached(self, i):
        """It is there."""
        self._parts.flight.enter(i, Mode.LOITER)


MODE = FlightMode(Mode.EAST, East)
