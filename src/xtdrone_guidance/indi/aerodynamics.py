"""Flight on half wings, from hover to fast: what INDI has to know of them.

In trim a half wing exerts -L |v| v_n along its normal alone, see trim.py. So the thrust axis n that
gives a force f is known in closed form at every speed: n T - L |v| v_n = f holds for n along
f + L |v| v, which is f in hover, and nearly the way of the air in fast flight. Transitions are no
modes: they follow from the velocity. Where the thrust pitches the vehicle, the elevons that hold it
push by a part of the thrust across it, and n leans by that.

Of the wind, what blows onto the wings is known by their force.

The wings stay at a right angle to the plane of f and v, without sideslip. E. Tal, S. Karaman:
Global Incremental Flight Control for Agile Maneuvering of a Tailsitter Flying Wing (2022).
"""

import math

import numpy as np

from xtdrone_autopilot.control.vector import clamp, wrap_pi, yaw_of
from xtdrone_autopilot.state.vehicle_status import STAGE_FLIGHT
from xtdrone_dynamics.compiled import Record, njit
from xtdrone_dynamics.constants import GRAVITY, SEA_LEVEL_DENSITY
from xtdrone_dynamics.forces import half_wing
from xtdrone_dynamics.quaternion import from_matrix, rotate, rotate_inverse
from xtdrone_dynamics.shapes import Vector

from .trim import BASE, within_reach

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
WIND_S = 0.5  # time constant with which the wind is learnt [s]
DRAFT_S = 1.5  # time constant with which its vertical part is forgotten [s]
WIND_DAMPING = 0.15  # change of force by wind below which it is learnt more slowly [N s/m]
MAX_WIND = 20.0  # [m/s]
INVERTED = 0.3  # upward part of the belly's direction from which a vehicle flies inverted


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
        if wing.body == BASE:
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
    faced = min(abs(onto) / FACED_AIR, 1.0) if vehicle.stage == STAGE_FLIGHT else 0.0
    largest = HOVER_WASH + max(share, faced) * (FLIGHT_WASH - HOVER_WASH)
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
    wings: Record, mass: float, air: Vector, force: Vector, acceleration: Vector, jerk: Vector
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
