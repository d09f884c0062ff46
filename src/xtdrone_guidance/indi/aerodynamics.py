"""Flight on half wings, from hover to fast: what INDI has to know of them.

With its elevons in trim, a half wing of Φ-theory exerts no moment, and a force that is linear in
|v| v: -L |v| v_n along the normal of the wing, with L = ½ ρ S (C_lα + C_D0) (1 - ζ_f κ), and
almost none along its chord; κ is 1 / ζ_m for a wing at the centre of gravity, see half_wings_of().
So the thrust axis n that gives a force f is known in closed form at every speed:
n T - L |v| v_n = f holds for n along f + L |v| v, which is f in hover, and nearly the way of the
air in fast flight. Transitions are no modes: they follow from the velocity. Where the thrust
pitches the vehicle, the elevons that hold it push by a part of the thrust across it, and n leans by
that.

The elevons hold the moment of the wings while L V^2 against force and slipstream is within their
reach, which bounds how hard a vehicle can brake: see braking_limit(). Of the wind, what blows onto
the wings is known by their force.

The wings stay at a right angle to the plane of f and v, without sideslip. E. Tal, S. Karaman:
Global Incremental Flight Control for Agile Maneuvering of a Tailsitter Flying Wing (2022).
"""

import math

import numpy as np

from xtdrone_autopilot.control.vector import clamp, wrap_pi, yaw_of
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
from xtdrone_dynamics.forces import half_wing
from xtdrone_dynamics.quaternion import from_matrix, rotate, rotate_inverse
from xtdrone_dynamics.shapes import Vector

HOVER_SPEED = 3.0  # airspeed up to which the yaw set-point counts [m/s]
TURN_RATE = 1.5  # at which the heading goes from one to the other [rad/s]
FLIGHT_SPEED, WING_SPEED = 4.0, 7.0  # wanted, and airspeed, from which on it flies on wings [m/s]
INTO_AIR = 1.0  # rate at which the wings are turned into the air, and out of it [1/s]
PRESENT = 1.0  # airspeed that the present attitude of the wings weighs as much as [m/s]
MIN_THRUST = 0.1  # smallest thrust, over the weight: the elevons need its slipstream
# Largest that is given for their slipstream alone, over the weight: in hover, where it has to
# descend, and in flight, where a gust would push the nose down while it brakes.
HOVER_WASH, FLIGHT_WASH = 0.5, 1.5
FACED_AIR = 4.0  # air onto the wings, in which the nose is pushed as in flight [m/s]
REACH = 0.985  # part of the elevons' deflection up to which they are asked to hold the wings
SLOW_AIR = 4.0  # airspeed below which elevons hold any braking [m/s]
SLOW_BRAKING = 0.25  # largest braking where they hold any, over the weight: more turns too fast
WIND_S = 0.5  # time constant with which the wind is learnt [s]
DRAFT_S = 1.5  # time constant with which its vertical part is forgotten [s]
WIND_DAMPING = 0.15  # change of force by wind below which it is learnt more slowly [N s/m]
MAX_WIND = 20.0  # [m/s]
_BASE, _ALONG = 0, 0.99
_LEAST_TRIM = 1e-3  # smallest κ: the wings need no elevon
_NO_MOMENT = 1e-4  # lever of the thrust that counts as none [m]
INVERTED = 0.3  # upward part of the belly's direction from which a vehicle flies inverted
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
        wings = [w for w in vehicle.half_wings if w.body == _BASE and w.forward[2] > _ALONG]
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
def exerted(
    model: Record,
    half_wings: np.ndarray,
    share: float,
    deflection: np.ndarray,
    thrust: np.ndarray,
    air: Vector,
    rate: np.ndarray,
) -> tuple[float, float, float, float, float, float]:
    """Returns force [N] and torque [N m] of a vehicle's half wings, body.

    Args:
        model: Record of the vehicle in a FleetModel.
        half_wings: (H,) records of a FleetModel.
        share: Of the deflections that counts, 0 for level elevons.
        deflection: (A,) of the elevons [rad].
        thrust: (A,) of the rotors [N].
        air: Velocity relative to the air, body [m/s].
        rate: (3,) body rates [rad/s].
    """
    fx, fy, fz, tx, ty, tz = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    for k in range(model.half_wings):
        wing = half_wings[k]
        if wing.body == _BASE:
            one = half_wing.wrench(
                wing,
                share * deflection[wing.control],
                thrust[wing.rotor],
                SEA_LEVEL_DENSITY,
                air[0],
                air[1],
                air[2],
                rate[0],
                rate[1],
                rate[2],
            )
            fx, fy, fz = fx + one[0], fy + one[1], fz + one[2]
            tx, ty, tz = tx + one[3], ty + one[4], tz + one[5]
    return fx, fy, fz, tx, ty, tz


@njit
def learn_wind(
    wings: Record, quat: np.ndarray, air: Vector, force: Vector, dt: float, wind: np.ndarray
) -> None:
    """Changes the wind as the force across the wings that is not explained asks for.

    Along the normal, and more slowly along the span, where a wing feels little: the step of
    Levenberg and Marquardt. In fast flight the normal points upwards, and what it feels are up- and
    downdrafts, which do not last.

    Args:
        wings: Record of HALF_WINGS.
        quat: (4,) attitude xyzw, body to world.
        air: Velocity relative to the air, body [m/s].
        force: What is not explained, world [N].
        dt: Length of the step [s].
        wind: (3,) updated, world [m/s].
    """
    fx, fy, _ = rotate_inverse(quat[0], quat[1], quat[2], quat[3], force[0], force[1], force[2])
    speed = max(math.sqrt(air[0] * air[0] + air[1] * air[1] + air[2] * air[2]), 1e-6)
    damping = WIND_DAMPING * WIND_DAMPING
    # How the force along the normal, -N |v| v_n, changes with the wind: along it, and with |v|.
    normal, along = wings.normal * speed, wings.normal * air[0] / speed
    gx, gy, gz = normal + along * air[0], along * air[1], along * air[2]
    side = wings.side * speed
    change = dt / WIND_S * fx / (gx * gx + gy * gy + gz * gz + damping)
    slip = dt / WIND_S * side * fy / (side * side + damping)
    bx, by, bz = rotate(
        quat[0], quat[1], quat[2], quat[3], change * gx, change * gy + slip, change * gz
    )
    if math.isfinite(bx + by + bz):
        wind[0] = clamp(wind[0] + bx, -MAX_WIND, MAX_WIND)
        wind[1] = clamp(wind[1] + by, -MAX_WIND, MAX_WIND)
        wind[2] = clamp(wind[2] + bz, -MAX_WIND, MAX_WIND) * (1.0 - dt / DRAFT_S)


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
def trimmed(wings: Record, air: Vector, thrust: float) -> Vector:
    """Returns the force of wings in trim, body [N]: -L |v| v_n along the normal, and their lean.

    Args:
        wings: Record of HALF_WINGS.
        air: Velocity relative to the air, body [m/s].
        thrust: Of all rotors [N].
    """
    size = -wings.lift * math.sqrt(air[0] * air[0] + air[1] * air[1] + air[2] * air[2])
    return size * air[0] + wings.lean * thrust, 0.0, 0.0


@njit
def flies(vehicle: Record, estimate: Record, air: Vector) -> bool:
    """Returns whether a vehicle flies on its wings or begins to: it is fast, or is to be so soon.

    Args:
        vehicle, estimate: Records of VEHICLE_STATUS and ESTIMATE.
        air: Velocity relative to the air, world [m/s].
    """
    vel, wanted = estimate.vel, vehicle.sp_vel
    speed = math.sqrt(vel[0] * vel[0] + vel[1] * vel[1] + vel[2] * vel[2])
    ahead = math.hypot(wanted[0], wanted[1])
    if speed > 1.0:
        ahead = (wanted[0] * vel[0] + wanted[1] * vel[1] + wanted[2] * vel[2]) / speed
    airspeed = math.sqrt(air[0] * air[0] + air[1] * air[1] + air[2] * air[2])
    return airspeed > WING_SPEED or ahead > FLIGHT_SPEED


@njit
def _unless_inverted(quat: np.ndarray, heading: float) -> float:
    """Returns a heading [rad], or that of the wings where the vehicle flies inverted against it."""
    _, _, belly = rotate(quat[0], quat[1], quat[2], quat[3], 1.0, 0.0, 0.0)
    left_x, left_y, _ = rotate(quat[0], quat[1], quat[2], quat[3], 0.0, 1.0, 0.0)
    own = math.atan2(-left_x, left_y)
    return own if belly > INVERTED and math.cos(heading - own) < 0.0 else heading


@njit
def turn_heading(
    vehicle: Record, estimate: Record, heading: float, flying: bool, air: Vector, dt: float
) -> float:
    """Returns the heading one step later [rad].

    That is the way of the air in flight, and inverted, as in a loop, that of the wings. In hover in
    wind, or while a vehicle brakes, wings stay edge-on to the air; in still air the yaw set-point
    counts.

    Args:
        vehicle, estimate: Records of VEHICLE_STATUS and ESTIMATE.
        heading: That of the step before; NaN at the start [rad].
        flying: See flies().
        air: Velocity relative to the air, world [m/s].
        dt: Length of the step [s].
    """
    if vehicle.landed or not math.isfinite(heading):
        heading = yaw_of(estimate.quat)
    wanted = vehicle.sp_yaw if math.isfinite(vehicle.sp_yaw) else heading
    if math.hypot(air[0], air[1]) > HOVER_SPEED:
        wanted = math.atan2(air[1], air[0])
        if flying:
            wanted = _unless_inverted(estimate.quat, wanted)
        else:
            wanted += math.copysign(0.5 * math.pi, wrap_pi(heading - wanted))
    turn = TURN_RATE * dt
    return wrap_pi(heading + clamp(wrap_pi(wanted - heading), -turn, turn))


@njit
def point_wings(
    vehicle: Record,
    wings: Record,
    estimate: Record,
    heading: float,
    share: float,
    air: Vector,
    force: Vector,
) -> None:
    """Writes attitude and thrust set-points of a vehicle for a force of rotors and wings.

    Args:
        vehicle, wings, estimate: Records of VEHICLE_STATUS, HALF_WINGS and ESTIMATE.
        heading: See turn_heading() [rad].
        share: Of flight 0..1, in which the wings meet the air without sideslip.
        air: Velocity relative to the air, world [m/s].
        force: Wanted, without the weight, world [N].
    """
    quat = estimate.quat
    present = PRESENT * vehicle.mass * GRAVITY
    # In hover, wind along the span gives no lift; in flight, the wings are turned out of it.
    ux, uy, uz = air
    bx, by, bz = rotate(quat[0], quat[1], quat[2], quat[3], 0.0, 1.0, 0.0)
    slip = (1.0 - share) * (ux * bx + uy * by + uz * bz)
    ux, uy, uz = ux - slip * bx, uy - slip * by, uz - slip * bz
    fx, fy, fz = within_reach(wings, vehicle.mass * GRAVITY, (ux, uy, uz), force)
    size = wings.lift * math.sqrt(ux * ux + uy * uy + uz * uz)
    nx, ny, nz = _unit(fx + size * ux, fy + size * uy, fz + size * uz)
    # To the left: across the force and the way of the air, in hover across the heading.
    vx = share * ux + HOVER_SPEED * math.cos(heading)
    vy = share * uy + HOVER_SPEED * math.sin(heading)
    vz = share * uz
    bx, by, bz = present * bx, present * by, present * bz
    lx, ly, lz = fy * vz - fz * vy + bx, fz * vx - fx * vz + by, fx * vy - fy * vx + bz
    ax, ay, az = _unit(ly * nz - lz * ny, lz * nx - lx * nz, lx * ny - ly * nx)
    lx, ly, lz = ny * az - nz * ay, nz * ax - nx * az, nx * ay - ny * ax
    across = wings.lean * vehicle.sp_thrust
    ahead = vehicle.sp_thrust + size * (ux * nx + uy * ny + uz * nz)
    sine = across / max(math.hypot(across, ahead), 1e-9)
    cosine = math.sqrt(1.0 - sine * sine)
    nx, ax = cosine * nx - sine * ax, cosine * ax + sine * nx
    ny, ay = cosine * ny - sine * ay, cosine * ay + sine * ny
    nz, az = cosine * nz - sine * az, cosine * az + sine * nz
    qx, qy, qz, qw = from_matrix(ax, lx, nx, ay, ly, ny, az, lz, nz)
    vehicle.sp_quat[0], vehicle.sp_quat[1] = qx, qy
    vehicle.sp_quat[2], vehicle.sp_quat[3] = qz, qw
    vehicle.sp_yaw_rate = 0.0
    _, _, along = rotate_inverse(quat[0], quat[1], quat[2], quat[3], fx, fy, fz)
    onto, _, _ = rotate_inverse(quat[0], quat[1], quat[2], quat[3], air[0], air[1], air[2])
    faced = max(share, min(abs(onto) / FACED_AIR, 1.0))
    largest = HOVER_WASH + faced * (FLIGHT_WASH - HOVER_WASH)
    lowest = _lowest_thrust(vehicle, wings, quat, air, largest)
    vehicle.sp_thrust = clamp(along, lowest, vehicle.thrust_max)


@njit
def _lowest_thrust(
    vehicle: Record, wings: Record, quat: np.ndarray, air: Vector, largest: float
) -> float:
    """Returns the smallest thrust [N]: its slipstream lets the elevons exert the pitch torque.

    Args:
        vehicle, wings: Records of VEHICLE_STATUS, with the torque of the last step, and HALF_WINGS.
        quat: (4,) attitude xyzw, body to world.
        air: Velocity relative to the air, world [m/s].
        largest: That is given, over the weight.
    """
    weight = vehicle.mass * GRAVITY
    speed = math.sqrt(air[0] * air[0] + air[1] * air[1] + air[2] * air[2])
    _, _, ahead = rotate_inverse(quat[0], quat[1], quat[2], quat[3], air[0], air[1], air[2])
    wanted = abs(vehicle.sp_torque[1]) / max(wings.turn[1], 1e-9) - speed * ahead
    return clamp(wanted / wings.wash, MIN_THRUST * weight, largest * weight)


@njit
def turn_rates(
    wings: Record, mass: float, air: Vector, force: Vector, acceleration: np.ndarray, jerk: Vector
) -> Vector:
    """Returns the rates with which the wings turn as their path does, world [rad/s].

    Those of the thrust axis, along f + L |v| v, and about it those of the path, v x a / |v|^2.

    Args:
        wings: Record of HALF_WINGS.
        mass: [kg].
        air: Velocity relative to the air, world [m/s].
        force: Wanted, without the weight, world [N].
        acceleration: (3,) along the path, world [m/s^2].
        jerk: Its rate of change [m/s^3].
    """
    vx, vy, vz = air
    ax, ay, az = acceleration[0], acceleration[1], acceleration[2]
    square = vx * vx + vy * vy + vz * vz
    size, grows = wings.lift * math.sqrt(square), wings.lift * (vx * ax + vy * ay + vz * az)
    grows /= max(math.sqrt(square), 1e-3)
    nx, ny, nz = force[0] + size * vx, force[1] + size * vy, force[2] + size * vz
    cx = mass * jerk[0] + size * ax + grows * vx
    cy = mass * jerk[1] + size * ay + grows * vy
    cz = mass * jerk[2] + size * az + grows * vz
    inverse = 1.0 / max(nx * nx + ny * ny + nz * nz, 1e-6)
    about = (vy * az - vz * ay) * nx + (vz * ax - vx * az) * ny + (vx * ay - vy * ax) * nz
    about *= wings.lift / (wings.lift * square + mass * GRAVITY)
    return (
        (ny * cz - nz * cy + about * nx) * inverse,
        (nz * cx - nx * cz + about * ny) * inverse,
        (nx * cy - ny * cx + about * nz) * inverse,
    )


@njit
def _unit(x: float, y: float, z: float) -> Vector:
    """Returns the unit vector along (x, y, z)."""
    size = max(math.sqrt(x * x + y * y + z * z), 1e-9)
    return x / size, y / size, z / size
