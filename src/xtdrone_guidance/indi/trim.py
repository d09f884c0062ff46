"""Half wings in trim: their sums over a vehicle, and what its elevons can hold.

With its elevons in trim, a half wing of Φ-theory exerts no moment, and a force that is linear in
|v| v: -L |v| v_n along the normal of the wing, with L = ½ ρ S (C_lα + C_D0) (1 - ζ_f κ), and
almost none along its chord; κ is 1 / ζ_m for a wing at the centre of gravity, see half_wings_of().
The elevons hold the moment of the wings while L V^2 against force and slipstream is within their
reach, which bounds how hard a vehicle can brake: see braking_limit().
"""

import math

import numpy as np

from xtdrone_autopilot.control.vector import clamp
from xtdrone_core import FleetModel
from xtdrone_core.errors import XtdroneError
from xtdrone_core.fleet_model import SURFACE
from xtdrone_dynamics.abilities.effectiveness import (
    deflections,
    effectiveness,
    hover_thrust,
    in_hover,
)
from xtdrone_dynamics.compiled import Record, njit
from xtdrone_dynamics.constants import GRAVITY, SEA_LEVEL_DENSITY
from xtdrone_dynamics.shapes import Vector

REACH = 0.985  # part of the elevons' deflection up to which they are asked to hold the wings
SLOW_AIR = 4.0  # airspeed below which elevons hold any braking [m/s]
SLOW_BRAKING = 0.25  # largest braking where they hold any, over the weight: more turns too fast
BASE = 0  # body that carries the half wings
_ALONG = 0.99  # part of a wing's direction along the body's z axis from which it counts
_LEAST_TRIM = 1e-3  # smallest κ: the wings need no elevon
_NO_MOMENT = 1e-4  # lever of the thrust that counts as none [m]
_AIRSPEED = 10.0  # at which the elevons' torque is found [m/s]

HALF_WINGS = np.dtype(
    [
        ("lift", "f8"),  # L; 0 = it has no half wings [kg/m]
        ("normal", "f8"),  # ½ ρ S (C_lα + C_D0), the same with level elevons [kg/m]
        ("side", "f8"),  # ½ ρ S C_Y0, along the span [kg/m]
        ("wash", "f8"),  # slipstream at the wing over the thrust, 1 / (2 ρ S_p) [m^2/(N s^2)]
        ("reach", "f8"),  # largest deflection of the elevons beyond that of hover, over κ [rad]
        ("lean", "f8"),  # force of the elevons that hold the thrust's moment, over the thrust
        ("turn", "f8", (3,)),  # largest torque of the elevons over the airspeed squared [kg]
    ]
)


def half_wings_of(fleet: FleetModel) -> np.ndarray:
    """Sums of each vehicle, (N,) of HALF_WINGS: of half wings of its base along its z axis.

    A half wing p ahead of the centre of gravity, Δr ahead of which is its aerodynamic centre, is in
    trim for δ W_x = -κ W_z, with κ = (p + Δr) / (p ζ_f + Δr ζ_m).
    """
    out = np.zeros(fleet.n, HALF_WINGS)
    out["turn"] = _largest_turn(fleet)
    for i, (sums, vehicle, records) in enumerate(
        zip(out, fleet.vehicles, fleet.actuator, strict=True)
    ):
        wings = [w for w in vehicle.half_wings if w.body == BASE and w.forward[2] > _ALONG]
        if not wings:
            continue
        hover, sums["lean"] = _holding_thrust(fleet, i)
        for wing in wings:
            normal = 0.5 * SEA_LEVEL_DENSITY * wing.area * (wing.lift_slope + wing.cd0)
            ahead = wing.pos[2]
            trim = (ahead + wing.offset) / (ahead * wing.zeta_f + wing.offset * wing.zeta_m)
            free = REACH * float(deflections(records[wing.control])) - hover
            sums["normal"] += normal
            sums["side"] += 0.5 * SEA_LEVEL_DENSITY * wing.area * wing.cy0
            sums["lift"] += normal * (1.0 - wing.zeta_f * trim)
            sums["wash"] = 1.0 / (len(wings) * SEA_LEVEL_DENSITY * wing.disc_area)
            sums["reach"] = free / max(abs(trim), _LEAST_TRIM)
    return out


def _holding_thrust(fleet: FleetModel, i: int) -> tuple[float, float]:
    """Deflection [rad] of a vehicle's elevons in hover, and their force along x over the thrust.

    They hold the pitching moment of the thrust.
    """
    matrix, thrust = in_hover(fleet)[i], hover_thrust(fleet)[i]
    elevons = matrix[:, fleet.actuator["kind"][i] == SURFACE].sum(axis=1)
    moment = float(matrix[4] @ thrust)
    if elevons[4] == 0.0 or abs(moment) <= _NO_MOMENT * thrust.sum():
        return 0.0, 0.0
    deflection = -moment / float(elevons[4])
    return abs(deflection), deflection * float(elevons[0]) / float(thrust.sum())


def _largest_turn(fleet: FleetModel) -> np.ndarray:
    """Largest torque of each vehicle's elevons over the airspeed squared, (N, 3) [kg]."""
    torques = effectiveness(fleet, (0.0, 0.0, _AIRSPEED))[:, 3:] / _AIRSPEED**2
    surfaces = fleet.actuator["kind"] == SURFACE
    deflection = np.where(surfaces, deflections(fleet.actuator), 0.0)
    return (abs(torques) * deflection[:, None]).sum(axis=-1)


def check_trim(fleet: FleetModel, sums: np.ndarray) -> None:
    """Refuses vehicles whose elevons cannot hold thrust and wings between hover and 20 m/s.

    Args:
        fleet: The vehicles.
        sums: (N,) of HALF_WINGS.

    Raises:
        XtdroneError: There is one.
    """
    hovers = hover_thrust(fleet).any(axis=1)
    for i in np.flatnonzero(sums["normal"] != 0.0):
        weight = float(fleet.vehicle["mass"][i]) * GRAVITY
        if not hovers[i]:
            raise XtdroneError(
                f"'{fleet.vehicles[i].type}' cannot be trimmed in hover, its elevons do not hold "
                "the pitch torque of its rotors: give them more travel, or place the rotors above "
                "the centre of gravity"
            )
        for speed in np.arange(0.0, 20.1, 0.25):
            if sums[i]["lift"] < 0.0 or braking_limit(sums[i], speed, weight) > 0.0:
                raise XtdroneError(
                    f"'{fleet.vehicles[i].type}' cannot be trimmed at {speed:g} m/s, its elevons "
                    "do not hold its half wings: give it larger ones or more travel, or fly it "
                    "without indi"
                )


@njit
def braking_limit(wings: Record, speed: float, normal: float) -> float:
    """Returns the smallest force along the way that elevons can hold [N]; -inf = any.

    In trim, ζ_m δ = V^2 sin α / (V^2 cos α + w T), w the slipstream over the thrust. With the
    thrust axis along f + L V v, this is a quadratic inequality for the part of f along v.

    Args:
        wings: Record of HALF_WINGS.
        speed: Airspeed V [m/s].
        normal: Part of the force across the way [N].
    """
    square = speed * speed
    linear = square * (1.0 + wings.wash * wings.lift)
    rest = wings.lift * square * square + normal * (wings.wash * normal - square / wings.reach)
    under = linear * linear - 4.0 * wings.wash * rest
    return (math.sqrt(under) - linear) / (2.0 * wings.wash) if under > 0.0 else -math.inf


@njit
def within_reach(wings: Record, weight: float, air: Vector, force: Vector) -> Vector:
    """Returns a force that asks for no more braking than the elevons can hold, world [N].

    A vehicle that hangs brakes over the ground alone: what carries a descent is no braking.

    Args:
        wings: Record of HALF_WINGS.
        weight: [N].
        air: Velocity relative to the air, world [m/s].
        force: Wanted, world [N].
    """
    speed = max(math.sqrt(air[0] * air[0] + air[1] * air[1] + air[2] * air[2]), 1e-3)
    vx, vy, vz = air[0] / speed, air[1] / speed, air[2] / speed
    along = force[0] * vx + force[1] * vy + force[2] * vz
    square = force[0] * force[0] + force[1] * force[1] + force[2] * force[2]
    normal = math.sqrt(max(square - along * along, 0.0))
    least = braking_limit(wings, speed, normal)
    if speed < SLOW_AIR:
        level = max(math.hypot(vx, vy), 1e-6)
        vx, vy = vx / level, vy / level
        least, along = -SLOW_BRAKING * weight, force[0] * vx + force[1] * vy
    elif not math.isfinite(least):
        least = -SLOW_BRAKING * weight
    more = max(least - along, 0.0)
    return force[0] + more * vx, force[1] + more * vy, force[2]


@njit
def held_path(wings: Record, mass: float, air: Vector, path: np.ndarray) -> tuple[Vector, Vector]:
    """Returns acceleration and jerk of a path, less the braking that is not held in level flight.

    Wings that turned with all of it would turn their nose up, and the vehicle would rise.

    Args:
        wings: Record of HALF_WINGS.
        mass: [kg].
        air: Velocity relative to the air, world [m/s].
        path: (6,) or more: acceleration [m/s^2] and jerk [m/s^3] of the path, world.
    """
    ax, ay, az, jx, jy, jz = path[0], path[1], path[2], path[3], path[4], path[5]
    speed = max(math.sqrt(air[0] * air[0] + air[1] * air[1] + air[2] * air[2]), 1e-3)
    x, y, z = air[0] / speed, air[1] / speed, air[2] / speed
    along = ax * x + ay * y + az * z
    lacks = max(braking_limit(wings, speed, mass * GRAVITY) / mass - along, 0.0)
    change = clamp(lacks / max(-along, 1e-9), 0.0, 1.0) * (jx * x + jy * y + jz * z)
    return (
        (ax + lacks * x, ay + lacks * y, az + lacks * z),
        (jx - change * x, jy - change * y, jz - change * z),
    )


@njit
def trimmed(wings: Record, air: Vector, thrust: float) -> Vector:
    """Returns the force of wings in trim, body [N]: -L |v| v_n along the normal, and their lean.

    Args:
        wings: Record of HALF_WINGS.
        air: Velocity relative to the air, body [m/s].
        thrust: Of all rotors [N].
    """
    size = -wings.lift * math.sqrt(air[0] * air[0] + air[1] * air[1] + air[2] * air[2])
    return size * air[0] + wings.lean * thrust, 0.0, 0.0
