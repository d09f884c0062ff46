"""Which motor of a flight stack's frame is which rotor of a vehicle."""

import math
from collections.abc import Sequence

import numpy as np

from xtdrone_autopilot.errors import AutopilotError
from xtdrone_core.vehicle import Actuator, Vehicle

_MAX_OFFSET = math.radians(22.0)  # largest angle of a rotor from its motor's direction [rad]


def match(
    model: Vehicle, places: Sequence[tuple[float, int]], stack: str, allowed: str
) -> list[int]:
    """Assigns a motor of a flight stack's frame to each rotor.

    Args:
        model: The vehicle.
        places: Of motors 1, 2, ...: direction from the nose, clockwise [degrees], and spin as seen
            from above, +1 counter-clockwise.
        stack: The flight stack, for messages.
        allowed: Vehicles that it flies, for messages.

    Returns:
        For each rotor the number of its motor, from 0.

    Raises:
        AutopilotError: The rotors do not stand or turn so.
    """
    rotors = model.rotors
    if len(rotors) != len(places) or len(rotors) != len(model.actuators) - len(_servos(model)):
        raise unlike(model, stack, allowed)
    motors: list[int] = []
    for rotor in rotors:
        # Clockwise from the nose: body x ahead, y to the left.
        at = math.atan2(-rotor.pos[1], rotor.pos[0])
        away = [abs(math.remainder(math.radians(angle) - at, math.tau)) for angle, _ in places]
        best = int(np.argmin(away))
        if away[best] > _MAX_OFFSET or places[best][1] != rotor.direction or best in motors:
            raise AutopilotError(
                f"the rotors of '{model.type}' do not stand or turn as those of a "
                f"frame of {stack}'s: give {allowed}, or fly autopilot:=embedded"
            )
        motors.append(best)
    return motors


def unlike(model: Vehicle, stack: str, allowed: str) -> AutopilotError:
    """The error of a vehicle for which a flight stack has no frame."""
    return AutopilotError(
        f"'{model.type}' has no frame of {stack}'s: give {allowed}, or fly autopilot:=embedded"
    )


def _servos(model: Vehicle) -> list[Actuator]:
    """The actuators of a camera mount, which no motor is looked for."""
    return [actuator for actuator in model.actuators if actuator.name.startswith("gimbal_")]
