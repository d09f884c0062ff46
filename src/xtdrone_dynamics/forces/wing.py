"""Lift, drag and pitching moment of a wing or another lifting surface, with stall.

The equations and parameter names are those of the plugin LiftDrag of PX4's sitl_gazebo: linear
coefficients up to the angle of stall, then slopes of their own, bounded by those of a flat plate
(W. Hoburg, R. Tedrake: System Identification of Post Stall Aerodynamics for UAV Perching, 2009).
"""

import math

from ..compiled import Record, njit

_FINITE = 0.7  # fraction of a flat plate's lift at a finite span; the plugin's value
_STILL = 0.01  # slower air exerts no force [m/s]


@njit
def lift_coefficient(wing: Record, alpha: float) -> float:
    """Returns the lift coefficient without control surface; alpha: angle of attack [rad]."""
    if abs(alpha) <= wing.alpha_stall:
        return float(wing.cla * alpha)
    side = 1.0 if alpha > 0.0 else -1.0
    beyond = wing.cla * wing.alpha_stall + wing.cla_stall * (side * alpha - wing.alpha_stall)
    plate = 2.0 * _FINITE * math.sin(side * alpha) * math.cos(alpha)
    return float(side * max(beyond, plate))


@njit
def drag_coefficient(wing: Record, alpha: float) -> float:
    """Returns the drag coefficient without control surface; alpha: angle of attack [rad]."""
    size = abs(alpha)
    if size <= wing.alpha_stall:
        return float(abs(wing.cd_alpha0 + wing.cda * size))
    beyond = (
        wing.cd_alpha0 + wing.cda * wing.alpha_stall + wing.cda_stall * (size - wing.alpha_stall)
    )
    return float(abs(min(beyond, wing.cd_alpha0 + 2.0 * math.sin(size) ** 2)))


@njit
def moment_coefficient(wing: Record, alpha: float) -> float:
    """Returns the moment coefficient without control surface; alpha: angle of attack [rad]."""
    inside = min(wing.alpha_stall, max(-wing.alpha_stall, alpha))
    return float(wing.cm_alpha0 + wing.cma * inside + wing.cma_stall * (alpha - inside))


@njit
def slipstream(thrust: float, disc_area: float, density: float, along: float) -> float:
    """Speed of the air far behind a rotor, relative to its vehicle; momentum theory.

    Args:
        thrust: Of the rotor, along its axis [N].
        disc_area: Of the rotor [m^2].
        density: Of the air [kg/m^3].
        along: Velocity of the vehicle relative to the air along the rotor's axis [m/s].

    Returns:
        sqrt(along^2 + 2 thrust / (density disc_area)), continued to negative squares by its
        sign [m/s].
    """
    square = along * abs(along) + 2.0 * thrust / (density * disc_area)
    return math.copysign(math.sqrt(abs(square)), square)


@njit
def forces(
    wing: Record, deflection: float, ratio: float, vx: float, vy: float, vz: float
) -> tuple[float, float, float, float, float, float]:
    """Force and moment of a wing at its centre of pressure.

    Args:
        wing: The wing's record.
        deflection: Of its control surface [rad].
        ratio: Density of the air over that of the world's origin at sea level.
        vx, vy, vz: Velocity of the centre of pressure relative to the air, body frame [m/s].

    Returns:
        (force xyz [N], moment xyz [N m]), body frame.
    """
    fx, fy, fz = wing.forward[0], wing.forward[1], wing.forward[2]
    along = vx * fx + vy * fy + vz * fz
    ux, uy, uz = wing.upward[0], wing.upward[1], wing.upward[2]
    if wing.radial_symmetry:  # upward is where the air comes from, across the axis
        ux, uy, uz = along * fx - vx, along * fy - vy, along * fz - vz
        size = math.sqrt(ux * ux + uy * uy + uz * uz)
        if size < _STILL:
            ux, uy, uz = wing.upward[0], wing.upward[1], wing.upward[2]
        else:
            ux, uy, uz = ux / size, uy / size, uz / size
    up = vx * ux + vy * uy + vz * uz
    square = along * along + up * up  # squared speed in the plane of lift and drag
    if square <= _STILL * _STILL:
        return 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    alpha = wing.alpha0 + math.atan2(-up, along)
    if alpha > math.pi:
        alpha -= math.tau
    elif alpha < -math.pi:
        alpha += math.tau
    lift = lift_coefficient(wing, alpha) + wing.cl_delta * deflection
    drag = drag_coefficient(wing, alpha) + abs(wing.cd_delta * deflection)
    moment = moment_coefficient(wing, alpha) + wing.cm_delta * deflection
    pressure = 0.5 * wing.air_density * ratio * wing.area
    speed = math.sqrt(square)
    # Lift is normal to the velocity in the plane, drag against it.
    on_up = pressure * speed * (lift * along - drag * up)
    on_forward = -pressure * speed * (lift * up + drag * along)
    torque = pressure * square * moment  # about the axis forward x upward, nose up
    return (
        on_forward * fx + on_up * ux,
        on_forward * fy + on_up * uy,
        on_forward * fz + on_up * uz,
        torque * (fy * uz - fz * uy),
        torque * (fz * ux - fx * uz),
        torque * (fx * uy - fy * ux),
    )
