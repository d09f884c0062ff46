"""Aerodynamic effects beyond XTDrone (3)-(6): drag of the body, ground effect, inflow, downwash."""

import math

from ..compiled import Record, njit
from ..shapes import Vector

_NEAREST = 0.5  # heights below this many radii count as this: the theory ends there


@njit
def linear_drag(kx: float, ky: float, kz: float, vx: float, vy: float, vz: float) -> Vector:
    """Drag force proportional to velocity; Pegasus (2), with m D in place of D.

    Args:
        kx, ky, kz: Coefficient along each body axis [N s/m].
        vx, vy, vz: Velocity relative to the air, body frame [m/s].

    Returns:
        (x, y, z) [N], body frame.
    """
    return -kx * vx, -ky * vy, -kz * vz


@njit
def quadratic_drag(
    ax: float, ay: float, az: float, density: float, vx: float, vy: float, vz: float
) -> Vector:
    """Drag force of a fuselage: half density, drag area, speed times velocity.

    Args:
        ax, ay, az: Drag area (drag coefficient times area) along each body axis [m^2].
        density: Density of the air [kg/m^3].
        vx, vy, vz: Velocity relative to the air, body frame [m/s].

    Returns:
        (x, y, z) [N], body frame.
    """
    scale = -0.5 * density * math.sqrt(vx * vx + vy * vy + vz * vz)
    return scale * ax * vx, scale * ay * vy, scale * az * vz


@njit
def drag(effects: Record, density: float, vx: float, vy: float, vz: float) -> Vector:
    """Drag force of a body by the effects that its vehicle names.

    Args:
        effects: The record of the vehicle's effects.
        density: Density of the air [kg/m^3].
        vx, vy, vz: Velocity relative to the air, body frame [m/s].

    Returns:
        (x, y, z) [N], body frame.
    """
    fx, fy, fz = linear_drag(
        effects.linear_drag[0], effects.linear_drag[1], effects.linear_drag[2], vx, vy, vz
    )
    dx, dy, dz = quadratic_drag(
        effects.drag_areas[0], effects.drag_areas[1], effects.drag_areas[2], density, vx, vy, vz
    )
    return fx + dx, fy + dy, fz + dz


@njit
def ground_effect(radius: float, height: float) -> float:
    """Thrust near the ground over thrust far from it, at equal rotor speed.

    Cheeseman and Bennett (1955): 1 / (1 - (R / 4 z)^2).

    Args:
        radius: Radius of the rotor [m].
        height: Height of the hub above the ground [m].

    Returns:
        The ratio, 1 to 1.33.
    """
    ratio = radius / (4.0 * max(height, _NEAREST * radius))
    return 1.0 / (1.0 - ratio * ratio)


@njit
def inflow_thrust(
    lift: float, damping: float, speed: float, across_squared: float, along: float
) -> float:
    """Thrust that a moving rotor has more than a hovering one at equal speed.

    Svacha et al. (2017): k_h |v_h|^2 - k_z omega v_z; the first term is
    translational lift, the second one the damping of climb and descent.

    Args:
        lift: k_h [N s^2/m^2].
        damping: k_z [N s^2/m].
        speed: Speed of the rotor [rad/s].
        across_squared: Squared velocity of the hub relative to the air, across
            the axis [m^2/s^2].
        along: The same velocity along the axis [m/s].

    Returns:
        Force along the axis [N].
    """
    return lift * across_squared - damping * speed * along


@njit
def downwash(
    thrust: float, disc_area: float, radius: float, density: float, below: float, aside: float
) -> float:
    """Speed of the air that a hovering multirotor induces at a point below it.

    The wake of momentum theory, twice the induced velocity, is taken as a round
    turbulent jet: its core ends six diameters down, then the speed on the axis
    falls with distance while the jet widens by a tenth of it.

    Args:
        thrust: Thrust of all rotors [N].
        disc_area: Disc area of all rotors [m^2].
        radius: Radius of the wake at its start: of the whole vehicle [m].
        density: Density of the air [kg/m^3].
        below: Distance of the point below the rotors [m].
        aside: Its horizontal distance from the axis [m].

    Returns:
        Speed downwards [m/s], 0 above the rotors.
    """
    if below <= 0.0 or thrust <= 0.0:
        return 0.0
    wake = 2.0 * math.sqrt(0.5 * thrust / (density * disc_area))
    width = radius + 0.1 * below
    return wake * min(1.0, 12.0 * radius / below) * math.exp(-((aside / width) ** 2))
