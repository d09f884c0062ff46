"""Whether the rotors of a fleet give the acceleration that a flight asks for."""

import math

import numpy as np

from xtdrone_core import FleetModel
from xtdrone_core.errors import XtdroneError
from xtdrone_dynamics.abilities.effectiveness import largest_thrust
from xtdrone_dynamics.abilities.vehicle_type import lifting_rotors
from xtdrone_dynamics.constants import GRAVITY


def check_thrust(fleet: FleetModel, force: float, what: str, remedy: str) -> None:
    """Refuses what needs more thrust than the lifting rotors of a vehicle give.

    Args:
        fleet: The vehicles; those without lifting rotors are not checked.
        force: Largest that is needed, over the weight.
        what: What needs it, for the message.
        remedy: What to do.

    Raises:
        XtdroneError: A vehicle has less.
    """
    thrust = np.where(lifting_rotors(fleet), largest_thrust(fleet), 0.0).sum(axis=1)
    for vehicle, ratio in zip(fleet.vehicles, thrust / (fleet.vehicle["mass"] * GRAVITY)):
        if 0.0 < ratio < force:
            raise XtdroneError(
                f"{what} needs a thrust of {force:.2f} times the weight, and '{vehicle.type}' has "
                f"{ratio:.2f}: {remedy}"
            )


def force_for(acceleration: float) -> float:
    """Returns the force for a level acceleration [m/s^2] in hover, over the weight."""
    return math.hypot(acceleration, GRAVITY) / GRAVITY
