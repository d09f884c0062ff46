"""Constraints between parameters: PX4 corrects the value of one, and reports it."""

from dataclasses import dataclass

from ..state.outbox import CRITICAL, Outbox
from .store import ParameterStore


@dataclass(frozen=True)
class Constraint:
    """Limits of a parameter: numbers, or the values of other parameters."""

    name: str
    max: str | float  # name of a parameter, or a number
    text: str  # message when the value is corrected
    min: str | None = None  # name of a parameter


CONSTRAINTS = (  # PX4's position controller; a tab marks what PX4 sends as an event as well
    Constraint("MPC_TILTMAX_AIR", 89.0, "Tilt constrained to safe value\t"),
    Constraint(
        "MPC_TILTMAX_LND", "MPC_TILTMAX_AIR", "Land tilt has been constrained by max tilt\t"
    ),
    Constraint(
        "MPC_XY_CRUISE", "MPC_XY_VEL_MAX", "Cruise speed has been constrained by max speed\t"
    ),
    Constraint(
        "MPC_VEL_MANUAL", "MPC_XY_VEL_MAX", "Manual speed has been constrained by max speed\t"
    ),
    Constraint(
        "MPC_VEL_MAN_BACK",
        "MPC_VEL_MANUAL",
        "Manual backward speed has been constrained by forward speed\t",
    ),
    Constraint(
        "MPC_VEL_MAN_SIDE",
        "MPC_VEL_MANUAL",
        "Manual sideways speed has been constrained by forward speed\t",
    ),
    Constraint(
        "MPC_Z_V_AUTO_UP", "MPC_Z_VEL_MAX_UP", "Ascent speed has been constrained by max speed\t"
    ),
    Constraint(
        "MPC_Z_V_AUTO_DN", "MPC_Z_VEL_MAX_DN", "Descent speed has been constrained by max speed\t"
    ),
    Constraint(
        "MPC_THR_HOVER",
        "MPC_THR_MAX",
        "Hover thrust has been constrained by min/max\t",
        "MPC_THR_MIN",
    ),
)


class Constraints:
    """Applies CONSTRAINTS to the vehicles of a fleet whose parameters have changed."""

    def __init__(self, parameters: ParameterStore, outbox: Outbox):
        """Watches parameters from now on; sends messages to outbox."""
        self._parameters, self._outbox = parameters, outbox
        self._changed: set[int] = set()
        parameters.listeners.append(lambda i, parameter: self._changed.add(i))

    def step(self) -> None:
        """Corrects parameters set since the last call, after which a whole file may be loaded."""
        while self._changed:
            i = self._changed.pop()
            for constraint in CONSTRAINTS:
                self._apply(i, constraint)

    def _apply(self, i: int, constraint: Constraint) -> None:
        """Corrects one parameter of vehicle i."""
        store = self._parameters
        value = store.reported(i, constraint.name)
        upper = constraint.max
        corrected = min(value, upper if isinstance(upper, float) else store.reported(i, upper))
        if constraint.min is not None:
            corrected = max(corrected, store.reported(i, constraint.min))
        if corrected != value:
            store.set(i, constraint.name, corrected)
            self._outbox.say(i, CRITICAL, constraint.text)
