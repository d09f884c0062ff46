"""ArduPilot's frames: which of its motors is which rotor of a vehicle."""

from collections.abc import Sequence

from xtdrone_core.vehicle import Vehicle

from ..common.motors import match, unlike

_ALLOWED = "iris, solo, typhoon_h480, octorotor, or another with 4, 6 or 8 rotors as an X"
# Motors 1, 2, ... of a frame: direction from the nose, clockwise [degrees], and spin as seen from
# above, +1 counter-clockwise. The numbers are ArduPilot's, of FRAME_TYPE 1 (X).
FRAMES = {
    4: (1, ((45, 1), (-135, 1), (-45, -1), (135, -1))),
    6: (2, ((90, -1), (-90, 1), (-30, -1), (150, 1), (30, 1), (-150, -1))),
    8: (
        3,
        (
            (22.5, -1),
            (-157.5, -1),
            (67.5, 1),
            (157.5, 1),
            (-22.5, 1),
            (-112.5, 1),
            (-67.5, -1),
            (112.5, -1),
        ),
    ),
}


def motors(model: Vehicle) -> tuple[int, Sequence[int]]:
    """ArduPilot's frame of a multirotor.

    Returns:
        FRAME_CLASS, and for each rotor of the vehicle the number of its motor, from 0.

    Raises:
        AutopilotError: ArduPilot has no frame with these rotors.
    """
    if len(model.rotors) not in FRAMES:
        raise unlike(model, "ArduPilot", _ALLOWED)
    number, places = FRAMES[len(model.rotors)]
    return number, match(model, places, "ArduPilot", _ALLOWED)
