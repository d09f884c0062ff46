"""What one parameter asks of another: PX4 corrects the one, and says so."""

from dataclasses import dataclass

from ..state.outbox import CRITICAL, Outbox
from .store import ParameterStore


@dataclass(frozen=True)
class Constraint:
    """A parameter that is kept at most at a number, or between the values of two others."""

    name: str
    most: str | float
    text: str
    least: str | None = None


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
    """Applies them to the vehicles of a fleet whose parameters have changed."""

    def __init__(self, parameters: ParameterStore, outbox: Outbox):
        """parameters: watched from now on; outbox: for what is said."""
        self._parameters, self._outbox = parameters, outbox
        self._changed: set[int] = set()
        parameters.listeners.append(lambda i, parameter: self._changed.add(i))

    def step(self) -> None:
        """Corrects what has been set since the last call; files are whole by then."""
        while self._changed:
            i = self._changed.pop()
            for constraint in CONSTRAINTS:
                self._apply(i, constraint)

    def _apply(self, i, constraint):
        store = self._parameters
        value = store.reported(i, constraint.name)
        most = (
            constraint.most
            if isinstance(constraint.most, float)
            else store.reported(i, constraint.most)
        )
        right = min(value, most)
        if constraint.least is not None:
            right = max(right, store.reported(i, constraint.least))
        if right != value:
            store.set(i, constraint.name, right)
            self._outbox.say(i, CRITICAL, constraint.text)
