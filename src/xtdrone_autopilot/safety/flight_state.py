"""Mode and arming state of a fleet: unconditional changes, with callbacks."""

import numpy as np

from xtdrone_core.modes import Mode

from ..now import Now
from ..outbox import INFO, Outbox
from ..vehicle_status import NEW_MODE

_ENDS_ON_GROUND = frozenset({Mode.LAND, Mode.RTL, Mode.TAKEOFF})  # they end with the flight


class FlightState:
    """Changes mode and arming; the Commander checks whether they are allowed.

    Attributes:
        on_enter: Mode -> called with the vehicle that enters it.
        on_disarm: Called with each vehicle that is disarmed.
    """

    def __init__(self, status: np.ndarray, now: Now, outbox: Outbox):
        """status: (N,) of VEHICLE_STATUS."""
        self._status, self._now, self._outbox = status, now, outbox
        self.on_enter = {}
        self.on_disarm = []

    def enter(self, i: int, mode: Mode) -> None:
        """Changes the mode of vehicle i."""
        v = self._status[i]
        v["mode"] = mode
        v["mode_t"] = self._now.t_us
        v["mode_stage"] = NEW_MODE
        v["descend"] = False
        self._outbox.announce(i)
        if mode in self.on_enter:
            self.on_enter[mode](i)

    def disarm(self, i: int, why: str = "") -> None:
        """Stops the rotors of vehicle i, wherever it is."""
        v = self._status[i]
        if not v["armed"]:
            return
        v["armed"] = False
        v["landed"] = True
        v["failsafe"] = False
        if v["mode"] in _ENDS_ON_GROUND:
            self.enter(i, Mode.LOITER)
        for follow in self.on_disarm:
            follow(i)
        self._outbox.announce(i)
        self._outbox.say(i, INFO, f"Disarmed {why}".rstrip())
