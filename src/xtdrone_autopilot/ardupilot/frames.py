"""ArduPilot's frames: which of its motors is which rotor of a vehicle."""

import math
from collections.abc import Sequence

import numpy as np

from xtdrone_core.vehicle import Vehicle

from ..errors import AutopilotError

_ALIGNED = math.radians(22.0)  # most that a rotor may stand beside its motor's direction
# Motors 1, 2, ... of a frame: direction from the nose, clockwise [degrees], and spin as seen from
# above, +1 counter-clockwise. The numbers are ArduPilot's, of FRAME_TYPE 1 (X).
FRAMES = {
    4: (1, ((45, 1), (-135, 1), (-45, -1), (135, -1))),
    6: (2, ((90, -1), (-90, 1), (-30, -1), (150, 1), (30, 1), (-150, -1))),
    8: (3, ((22.5, -1), (-157.5, -1), (67.5, 1), (157.5, 1), (-22.5, 1), (-112.5, 1), (-67.5, -1),
            (112.5, -1))),
}


def motors(model: Vehicle) -> tuple[int, Sequence[int]]:
    """ArduPilot's frame of a multirotor.

    Returns:
        FRAME_CLASS, and for each rotor of the vehicle the number of its motor, from 0.

    Raises:
        AutopilotError: ArduPilot has no frame with these rotors.
    """
    rotors = model.rotors
    allowed = "iris, solo, typhoon_h480, octorotor, or another with 4, 6 or 8 rotors as an X"
    if len(rotors) not in FRAMES or len(rotors) != len(model.actuators) - len(_servos(model)):
        raise AutopilotError(f"'{model.type}' has no frame of ArduPilot's: give {allowed}, or fly "
                             "autopilot:=embedded")
    number, places = FRAMES[len(rotors)]
    found = []
    for rotor in rotors:
        # Clockwise from the nose: body x ahead, y to the left.
        at = math.atan2(-rotor.pos[1], rotor.pos[0])
        away = [abs(math.remainder(math.radians(angle) - at, math.tau)) for angle, _ in places]
        best = int(np.argmin(away))
        if away[best] > _ALIGNED or places[best][1] != rotor.direction or best in found:
            raise AutopilotError(f"the rotors of '{model.type}' do not stand or turn as those of a "
                                 f"frame of ArduPilot's: give {allowed}, or fly "
                                 "autopilot:=embedded")
        found.append(best)
    return number, found


def _servos(model):
    """Actuators that ArduPilot leaves alone: those of a camera mount."""
    return [actuator for actuator in model.actuators if actuator.name.startswith("gimbal_")]
