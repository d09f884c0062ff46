"""Force and moment of a propeller at its hub, by the model that its numbers name.

No function here has the name of one that it calls in another module: functions for lanes and for
graphics cards are made by names.
"""

import math

import numpy as np

from ..compiled import njit
from . import blade_element, gill_dandrea, table
from .gill_dandrea import Loads
from .layout import BLADE_ELEMENT, GILL_DANDREA_1, GILL_DANDREA_2, MODEL, RADIUS


@njit
def model_loads(numbers: np.ndarray, at: int, omega: float, axial: float, across: float) -> Loads:
    """Loads of a propeller by its model.

    Args:
        numbers: All propellers' numbers, see layout.
        at: Where the propeller begins.
        omega: Speed, from 0 [rad/s].
        axial, across: Velocity relative to the air along and across the thrust [m/s].

    Returns:
        (thrust, H-force, torque, rolling and pitching moment), forces over half density and disc
        area, moments over that and the radius [m^2/s^2].
    """
    model = numbers[at + MODEL]
    if model == GILL_DANDREA_1:
        return gill_dandrea.first(numbers, at, omega, axial, across)
    if model == GILL_DANDREA_2:
        return gill_dandrea.second(numbers, at, omega, axial, across)
    if model == BLADE_ELEMENT:
        return blade_element.loads(numbers, at, omega, axial, across)
    return table.loads(numbers, at, omega, axial, across)


@njit
def wrench(
    numbers: np.ndarray,
    at: int,
    omega: float,
    direction: float,
    density: float,
    ax: float,
    ay: float,
    az: float,
    vx: float,
    vy: float,
    vz: float,
) -> tuple[float, float, float, float, float, float, float, float]:
    """Force and moment of a propeller at its hub, in the frame of the arguments.

    The H-force is against the flow across; the side that moves with the hub lifts more, and so the
    rolling moment depends on the direction; the pitching moment lifts the front.

    Args:
        numbers: All propellers' numbers.
        at: Where the propeller begins.
        omega: Speed, from 0 [rad/s].
        direction: +1 for rotation counter-clockwise about the thrust, -1 for clockwise.
        density: Of the air [kg/m^3].
        ax, ay, az: Unit vector of the thrust.
        vx, vy, vz: Velocity of the hub relative to the air [m/s].

    Returns:
        (fx, fy, fz, mx, my, mz, thrust, torque), forces [N] and moments [N m].
    """
    along = vx * ax + vy * ay + vz * az
    px, py, pz = vx - along * ax, vy - along * ay, vz - along * az
    across = math.sqrt(px * px + py * py + pz * pz)
    thrust, drag, torque, roll, nose = model_loads(numbers, at, omega, along, across)
    radius = numbers[at + RADIUS]
    scale = 0.5 * density * math.pi * radius * radius
    thrust, drag = scale * thrust, scale * drag
    torque, roll, nose = scale * radius * torque, scale * radius * roll, scale * radius * nose
    inverse = 1.0 / across if across > 0.0 else 0.0
    ex, ey, ez = px * inverse, py * inverse, pz * inverse
    reaction, roll = direction * torque, direction * roll
    return (
        thrust * ax - drag * ex,
        thrust * ay - drag * ey,
        thrust * az - drag * ez,
        -reaction * ax - roll * ex - nose * (ay * ez - az * ey),
        -reaction * ay - roll * ey - nose * (az * ex - ax * ez),
        -reaction * az - roll * ez - nose * (ax * ey - ay * ex),
        thrust,
        torque,
    )
