"""Mode and arming state of a fleet: unconditional changes, with callbacks."""

import numpy as np

from xtdrone_core.modes import MODES, Mode, may_arm

from .clock import StepClock
from .outbox import INFO, Outbox
from .vehicle_status import NEW_MODE


class FlightState:
    """Changes mode and arming; the Commander checks whether they are allowed.

    Attributes:
        on_enter: Mode -> called with the vehicle that enters it, or is armed in it.
        on_leave: Mode -> called with the vehicle that leaves it.
        on_disarm: Called with each vehicle that is disarmed.
    """

    def __init__(self, status: np.ndarray, clock: StepClock, outbox: Outbox):
        """status: (N,) of VEHICLE_STATUS."""
        self._status, self._clock, self._outbox = status, clock, outbox
        self.on_enter, self.on_leave = {}, {}
        self.on_disarm = []

    def enter(self, i: int, mode: Mode, failsafe: bool = False) -> None:
        """Changes the mode of vehicle i; the last one not of a failsafe is back once disarmed."""
        v = self._status[i]
        left = Mode(v["mode"])
        v["mode"], v["nav_state"] = mode, MODES[mode].nav_state
        if MODES[mode].arms and not failsafe:
            v["mode_disarmed"] = mode
        if left in self.on_leave and left != mode:
            self.on_leave[left](i)
        v["mode_t"] = self._clock.t_us
        v["mode_stage"] = NEW_MODE
        v["descend"] = False
        self._outbox.announce(i)
        if mode in self.on_enter:
            self.on_enter[mode](i)

    def show(self, i: int, nav_state: int) -> None:
        """Lets clients of vehicle i see its mode as one of its variants, or as itself again."""
        if self._status["nav_state"][i] != nav_state:
            self._status["nav_state"][i] = nav_state
            self._outbox.announce(i)

    def disarm(self, i: int, why: str = "internal command") -> None:
        """Stops the rotors of vehicle i, wherever it is."""
        v = self._status[i]
        if not v["armed"]:
            return
        v["armed"] = False
        v["landed"] = True
        v["failsafe"] = False
        for follow in self.on_disarm:
            follow(i)
        if v["mode"] != v["mode_disarmed"]:
            self.enter(i, Mode(v["mode_disarmed"]))
        elif not may_arm(v["nav_state"]):
            self.show(i, MODES[Mode(v["mode"])].nav_state)
        self._outbox.announce(i)
        self._outbox.say(i, INFO, f"Disarmed by {why}\t")
