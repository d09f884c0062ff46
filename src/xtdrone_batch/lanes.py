"""Multirotors of one body in lanes: a block of vehicles of one type in the vector unit at a time.

Each loop here runs over the lanes of one block in a flat scratch array, field by field, and calls
the scalar functions of the dynamics and of the flight stack. Such loops are compiled to vector
instructions as they stand; see xtdrone_dynamics.lanes for what must hold.
"""

import math
from typing import Any, NamedTuple

import numpy as np

from xtdrone_autopilot.control.allocation import (
    rotor_command,
    thrust_range,
    tilt_fraction,
    yaw_fraction,
)
from xtdrone_autopilot.control.attitude import body_rates, rate_limits
from xtdrone_autopilot.control.rate import one_rate, rate_gains, torque_of
from xtdrone_autopilot.control.vector import axes_quat, limit_norm2
from xtdrone_autopilot.control.velocity import (
    MIN_THRUST,
    loop_acceleration,
    saturate,
    thrust_vector,
)
from xtdrone_autopilot.navigation.navigator import ACC_FILTER_S
from xtdrone_autopilot.now import LOOP_US
from xtdrone_core import FleetModel
from xtdrone_core.fleet_model import ROTOR
from xtdrone_core.vehicle import KINDS
from xtdrone_dynamics import quaternion, rigid_body
from xtdrone_dynamics.compiled import njit
from xtdrone_dynamics.constants import GRAVITY, SEA_LEVEL_DENSITY
from xtdrone_dynamics.forces import aerodynamics, rotor
from xtdrone_dynamics.lanes import LANES, LaneLoop, flush_denormals, kernel_in_lanes

from . import control
from .control import (
    AT_ACTUATOR,
    AT_ATTITUDE,
    AT_POSITION,
    AT_RATES,
    AT_VELOCITY,
    FREE_YAW,
    IN_LANES,
    RATE_INTEGRAL,
    REMEMBERED,
    Loops,
)
from .geometric import K_P, attitude_control, turned, wanted_acceleration

L = LANES
# Unsigned, so that no index is taken for one that counts from the end.
ONE, TWO, THREE, FOUR, ROW = map(np.uintp, (1, 2, 3, 4, L))
# Rows of the scratch, each of L numbers.
POS, QUAT, VEL, RATE, OLD_VEL, WIND, FORCE, TORQUE, AIRSPEED = (
    0,
    3 * L,
    7 * L,
    10 * L,
    13 * L,
    16 * L,
    19 * L,
    22 * L,
    25 * L,
)
SCALE, ACTION = 28 * L, 29 * L
# What the flight stack's loops keep from step to step, as in LoopState.memory.
MEMORY = 33 * L
HEADING, VEL_INTEGRAL, FILTERED, SP_QUAT, SP_YAW_RATE, INTEGRAL, WANTED = (
    MEMORY + L * row
    for row in (
        control.HEADING,
        control.VEL_INTEGRAL,
        control.ACC_FILTERED,
        control.SP_QUAT,
        control.SP_YAW_RATE,
        control.RATE_INTEGRAL,
        control.SP_THRUST,
    )
)
# WANTED: thrust [N], and torque [N m] in the next rows.
LOW, HIGH, SPAN, SHARE, ACC, SP_RATES = 53 * L, 54 * L, 55 * L, 56 * L, 57 * L, 60 * L
ROWS = 63 * L
# Rows of each rotor: speed [rad/s], thrust [N] or command, factor on its forces.
SPEED, THRUST, RATIO, ROTOR_ROWS = 0, L, 2 * L, 3 * L

# What the loops read of a vehicle, all of one type.
MASS, INERTIA, INVERSE, GRAVITATION, DRAG, AREAS, GAINS, POLY = 0, 1, 7, 13, 14, 17, 20, 29
# Of the velocity and attitude loops.
(
    HOVER,
    TAN_TILT,
    MIN,
    TOP,
    MARGIN,
    XY_P,
    Z_P,
    XY_D,
    Z_D,
    XY_I,
    Z_I,
    PLACE_XY,
    PLACE_Z,
    XY_MAX,
    CLIMB,
    SINK,
    ATTITUDE,
    WEIGHT,
    LIMITS,
) = (*range(32, 49), 51, 52)
CONSTANTS = 55
FILTER_S = ACC_FILTER_S
# Of a rotor. The loops of the mixer take GROUP of them; those that a vehicle lacks do nothing.
GROUP = 4
(
    R_POS,
    R_AXIS,
    R_DIRECTION,
    R_THRUST,
    R_MOMENT,
    R_DRAG,
    R_ROLL,
    R_UP,
    R_DOWN,
    R_SCALING,
    R_ZERO,
    R_TOP,
    R_MIX,
    R_MAX,
) = 0, 3, 6, 7, 8, 9, 10, 11, 14, 17, 18, 19, 20, 24
ROTOR_CONSTANTS = 25


class LaneModel(NamedTuple):
    """Constants of the vehicles in lanes, in the type that the loops compute in."""

    fits: np.ndarray  # (V,) bool, whether the vehicle runs in lanes
    vehicle: np.ndarray  # (V, CONSTANTS)
    rotor: np.ndarray  # (V, A, ROTOR_CONSTANTS), A a multiple of GROUP
    rotors: np.ndarray  # (V,)


def lane_model(model: FleetModel, loops: Loops, gravity: float, dt: float, real: type) -> LaneModel:
    """The constants; vehicles and actions that need more than these loops do not fit."""
    n = model.n
    vehicle = np.zeros((n, CONSTANTS), dtype=real)
    most = -(-model.actuator.shape[1] // GROUP) * GROUP
    rotors = np.zeros((n, most, ROTOR_CONSTANTS), dtype=real)
    rotors[..., R_THRUST] = rotors[..., R_SCALING] = 1.0
    fits = np.array([_fits(model, loops, i) for i in range(n)], dtype=np.bool_)
    for i in np.flatnonzero(fits):
        c, body, effects = vehicle[i], model.vehicles[i].bodies[0], model.effects[i]
        c[MASS], c[GRAVITATION] = body.mass, gravity
        c[INERTIA : INERTIA + 6] = model.body[i, 0]["inertia"]
        inverse = np.linalg.inv(np.array(body.inertia))
        c[INVERSE : INVERSE + 6] = inverse[(0, 1, 2, 0, 0, 1), (0, 1, 2, 1, 2, 2)]
        c[DRAG : DRAG + 3], c[AREAS : AREAS + 3] = effects["linear_drag"], effects["drag_areas"]
        c[GAINS : GAINS + 9] = np.concatenate(rate_gains(loops.status[i], loops.parameters[i]))
        _fill_loops(c, loops.status[i], loops.parameters[i])
        c[POLY : POLY + 3] = loops.status[i]["thrust_poly"]
        for r in range(model.vehicle["rotors"][i]):
            a, row = model.actuator[i, r], rotors[i, r]
            row[R_POS : R_POS + 3], row[R_AXIS : R_AXIS + 3] = a["pos"], a["axis"]
            for place, name in (
                (R_DIRECTION, "direction"),
                (R_THRUST, "motor_constant"),
                (R_MOMENT, "moment_constant"),
                (R_DRAG, "rotor_drag_coefficient"),
                (R_ROLL, "rolling_moment_coefficient"),
                (R_SCALING, "input_scaling"),
                (R_ZERO, "zero_position_armed"),
                (R_TOP, "max_rot_velocity"),
            ):
                row[place] = a[name]
            row[R_UP : R_UP + 3] = rotor.lag_factors(a["time_constant_up"], dt)
            row[R_DOWN : R_DOWN + 3] = rotor.lag_factors(a["time_constant_down"], dt)
            row[R_MIX : R_MIX + 4] = loops.allocation.mixer[i, r, 2:]
            row[R_MAX] = loops.allocation.t_max[i, r]
    return LaneModel(fits, vehicle, rotors, model.vehicle["rotors"].astype(np.int64))


def _fill_loops(c, v, q):
    """Constants of the flight stack's velocity and attitude loops."""
    c[HOVER], c[TAN_TILT] = v["hover"], math.tan(v["tilt_limit"])
    c[MIN] = max(q["MPC_THR_MIN"], MIN_THRUST)
    for place, name in (
        (TOP, "MPC_THR_MAX"),
        (MARGIN, "MPC_THR_XY_MARG"),
        (XY_P, "MPC_XY_VEL_P_ACC"),
        (Z_P, "MPC_Z_VEL_P_ACC"),
        (XY_D, "MPC_XY_VEL_D_ACC"),
        (Z_D, "MPC_Z_VEL_D_ACC"),
        (XY_I, "MPC_XY_VEL_I_ACC"),
        (Z_I, "MPC_Z_VEL_I_ACC"),
        (PLACE_XY, "MPC_XY_P"),
        (PLACE_Z, "MPC_Z_P"),
        (XY_MAX, "MPC_XY_VEL_MAX"),
        (ATTITUDE, "MC_ROLL_P"),
        (ATTITUDE + 1, "MC_PITCH_P"),
        (ATTITUDE + 2, "MC_YAW_P"),
        (WEIGHT, "MC_YAW_WEIGHT"),
    ):
        c[place] = q[name]
    c[CLIMB], c[SINK], c[LIMITS : LIMITS + 3] = v["climb_max"], v["sink_max"], rate_limits(q)


def _fits(model: FleetModel, loops: Loops, i: int) -> bool:
    """Whether a vehicle is a multirotor of one body without further effects."""
    vehicle, effects = model.vehicles[i], model.effects[i]
    rotors = model.actuator[i, : len(vehicle.actuators)]
    plain = (
        len(vehicle.bodies) == 1
        and not vehicle.wings
        and not vehicle.half_wings
        and not vehicle.tyres
        and not vehicle.hulls
        and model.kinds == KINDS
    )
    still = not (
        effects["ground_radius"]
        or effects["lift"]
        or effects["damping"]
        or effects["wake_radius"]
        or effects["air_density"]
    )
    one_way = bool(
        (rotors["kind"] == ROTOR).all()
        and (rotors["lower"] >= 0.0).all()
        and not rotors["max_relative_airspeed"].any()
    )
    q, v = loops.parameters[i], loops.status[i]
    mixed = loops.level == AT_ACTUATOR or (
        not loops.allocation.vectored[i]
        and not v["fully_actuated"]
        and q["MC_AIRMODE"] == 0
        and q["MPC_ACC_DECOUPLE"] != 0
    )
    return bool(plain and still and one_way and mixed and len(rotors) > 0)


@LaneLoop
def _control_rates(x, c, dt):
    """Rate loop of the flight stack: WANTED torque."""
    j = (c[INERTIA], c[INERTIA + 1], c[INERTIA + 2], c[INERTIA + 3], c[INERTIA + 4], c[INERTIA + 5])
    g0, g1, g2, i0, i1, i2, l0, l1, l2 = (
        c[GAINS],
        c[GAINS + 1],
        c[GAINS + 2],
        c[GAINS + 3],
        c[GAINS + 4],
        c[GAINS + 5],
        c[GAINS + 6],
        c[GAINS + 7],
        c[GAINS + 8],
    )
    for k in range(L):
        wx, wy, wz = x[RATE + k], x[RATE + L + k], x[RATE + 2 * L + k]
        ax, bx = one_rate(x[SP_RATES + k], wx, x[INTEGRAL + k], g0, i0, l0, True, dt)
        ay, by = one_rate(x[SP_RATES + L + k], wy, x[INTEGRAL + L + k], g1, i1, l1, True, dt)
        az, bz = one_rate(
            x[SP_RATES + 2 * L + k], wz, x[INTEGRAL + 2 * L + k], g2, i2, l2, True, dt
        )
        tx, ty, tz = torque_of(ax, ay, az, wx, wy, wz, j)
        x[WANTED + L + k], x[WANTED + 2 * L + k], x[WANTED + 3 * L + k] = tx, ty, tz
        x[INTEGRAL + k], x[INTEGRAL + L + k], x[INTEGRAL + 2 * L + k] = bx, by, bz


@LaneLoop
def _control_velocity(x, c, to_place, dt):
    """Geometric control: WANTED thrust and torque from the velocity or position in ACTION."""
    mass = c[MASS]
    j = (c[INERTIA], c[INERTIA + 1], c[INERTIA + 2], c[INERTIA + 3], c[INERTIA + 4], c[INERTIA + 5])
    gain = K_P * to_place
    moves = 1.0 - to_place
    for k in range(L):
        wx = moves * x[ACTION + k] + gain * (x[ACTION + k] - x[POS + k])
        wy = moves * x[ACTION + L + k] + gain * (x[ACTION + L + k] - x[POS + L + k])
        wz = moves * x[ACTION + 2 * L + k] + gain * (x[ACTION + 2 * L + k] - x[POS + 2 * L + k])
        yaw_rate = moves * x[ACTION + 3 * L + k]
        cy, sy = turned(x[HEADING + k], x[HEADING + L + k], yaw_rate * dt)
        ax, ay, az = wanted_acceleration(
            x[VEL + k], x[VEL + L + k], x[VEL + 2 * L + k], wx, wy, wz, GRAVITY
        )
        f, tx, ty, tz = attitude_control(
            ax,
            ay,
            az,
            cy,
            sy,
            yaw_rate,
            x[QUAT + k],
            x[QUAT + L + k],
            x[QUAT + 2 * L + k],
            x[QUAT + 3 * L + k],
            x[RATE + k],
            x[RATE + L + k],
            x[RATE + 2 * L + k],
            mass,
            j,
        )
        x[HEADING + k], x[HEADING + L + k] = cy, sy
        x[WANTED + k], x[WANTED + L + k] = f, tx
        x[WANTED + 2 * L + k], x[WANTED + 3 * L + k] = ty, tz


@LaneLoop
def _filter_acceleration(x, share):
    """Low-passed acceleration, for the damping of the velocity loop."""
    for k in range(3 * L):
        x[FILTERED + k] += share * (x[ACC + k] - x[FILTERED + k])


@LaneLoop
def _control_place(x, c, to_place, dt):
    """Position and velocity loop of the flight stack: attitude set-point and WANTED thrust.

    Every second sub-step, as there; dt is theirs [s].
    """
    hover, tan_tilt, least, top, margin = c[HOVER], c[TAN_TILT], c[MIN], c[TOP], c[MARGIN]
    pxy, pz, dxy, dz, ixy, iz = c[XY_P], c[Z_P], c[XY_D], c[Z_D], c[XY_I], c[Z_I]
    gxy, gz, most, climb, sink = c[PLACE_XY], c[PLACE_Z], c[XY_MAX], c[CLIMB], c[SINK]
    c0, c1, c2 = c[POLY], c[POLY + 1], c[POLY + 2]
    moves = 1.0 - to_place
    for k in range(L):
        gx, gy, gh = x[ACTION + k], x[ACTION + L + k], x[ACTION + 2 * L + k]
        wx = moves * gx + to_place * gxy * (gx - x[POS + k])
        wy = moves * gy + to_place * gxy * (gy - x[POS + L + k])
        wz = moves * gh + to_place * gz * (gh - x[POS + 2 * L + k])
        wx, wy = limit_norm2(wx, wy, most)
        wz = min(max(wz, -sink), climb)
        sx, sy = x[VEL_INTEGRAL + k], x[VEL_INTEGRAL + L + k]
        sz = min(max(x[VEL_INTEGRAL + 2 * L + k], -GRAVITY), GRAVITY)
        ex, ey, ez = wx - x[VEL + k], wy - x[VEL + L + k], wz - x[VEL + 2 * L + k]
        ax = loop_acceleration(0.0, ex, pxy, sx, dxy, x[FILTERED + k])
        ay = loop_acceleration(0.0, ey, pxy, sy, dxy, x[FILTERED + L + k])
        az = loop_acceleration(0.0, ez, pz, sz, dz, x[FILTERED + 2 * L + k])
        tx, ty, tz = thrust_vector(ax, ay, az, hover, tan_tilt, True, least)
        tx, ty, tz, ex, ey, ez = saturate(
            ax, ay, ex, ey, ez, tx, ty, tz, hover, least, top, margin, pxy
        )
        x[VEL_INTEGRAL + k], x[VEL_INTEGRAL + L + k] = sx + ixy * ex * dt, sy + ixy * ey * dt
        x[VEL_INTEGRAL + 2 * L + k] = sz + iz * ez * dt
        yaw_rate = moves * x[ACTION + 3 * L + k]
        cy, sy = turned(x[HEADING + k], x[HEADING + L + k], yaw_rate * dt)
        thrust = math.sqrt(tx * tx + ty * ty + tz * tz)
        qx, qy, qz, qw = axes_quat(tx / thrust, ty / thrust, tz / thrust, cy, sy)
        x[HEADING + k], x[HEADING + L + k], x[SP_YAW_RATE + k] = cy, sy, yaw_rate
        x[WANTED + k] = c0 + thrust * (c1 + thrust * c2)
        x[SP_QUAT + k], x[SP_QUAT + L + k] = qx, qy
        x[SP_QUAT + 2 * L + k], x[SP_QUAT + 3 * L + k] = qz, qw


@LaneLoop
def _control_attitude(x, c):
    """Attitude loop of the flight stack: body rates in ACTION's place."""
    gains = c[ATTITUDE], c[ATTITUDE + 1], c[ATTITUDE + 2]
    weight, limits = c[WEIGHT], (c[LIMITS], c[LIMITS + 1], c[LIMITS + 2])
    for k in range(L):
        p, q, r = body_rates(
            x[QUAT + k],
            x[QUAT + L + k],
            x[QUAT + 2 * L + k],
            x[QUAT + 3 * L + k],
            x[SP_QUAT + k],
            x[SP_QUAT + L + k],
            x[SP_QUAT + 2 * L + k],
            x[SP_QUAT + 3 * L + k],
            x[SP_YAW_RATE + k],
            gains,
            weight,
            limits,
        )
        x[SP_RATES + k], x[SP_RATES + L + k], x[SP_RATES + 2 * L + k] = p, q, r


@LaneLoop
def _begin_mix(x):
    for k in range(L):
        x[LOW + k] = x[HIGH + k] = x[SPAN + k] = 0.0
        x[SHARE + k] = 1.0


@njit
def _mixed(p, r):
    """What mixing takes of a rotor's constants."""
    return (
        p[r, R_MIX],
        p[r, R_MIX + 1],
        p[r, R_MIX + 2],
        p[r, R_MIX + 3],
        p[r, R_MAX],
        p[r, R_THRUST],
        p[r, R_SCALING],
        p[r, R_ZERO],
    )


@njit
def _tilt(y, r, k, m, thrust, roll, pitch):
    """Thrust of a rotor for roll and pitch, and the share of it that is left above zero."""
    tilt = m[1] * roll + m[2] * pitch
    y[r, THRUST + k] = tilt
    return tilt, tilt_fraction(tilt, m[0] * thrust)


@LaneLoop
def _mix_tilt(x, y, p):
    """Thrusts of some rotors for roll and pitch, with their extremes; y, p: their rows."""
    m, n, o, q = _mixed(p, 0), _mixed(p, 1), _mixed(p, 2), _mixed(p, 3)
    most = max(max(abs(m[3]), abs(n[3])), max(abs(o[3]), abs(q[3])))
    for k in range(L):
        thrust, roll, pitch = x[WANTED + k], x[WANTED + L + k], x[WANTED + 2 * L + k]
        yaw = abs(x[WANTED + 3 * L + k])
        a, e = _tilt(y, 0, k, m, thrust, roll, pitch)
        b, f = _tilt(y, 1, k, n, thrust, roll, pitch)
        c, g = _tilt(y, 2, k, o, thrust, roll, pitch)
        d, h = _tilt(y, 3, k, q, thrust, roll, pitch)
        x[LOW + k] = min(x[LOW + k], min(min(a, b), min(c, d)))
        x[HIGH + k] = max(x[HIGH + k], max(max(a, b), max(c, d)))
        x[SHARE + k] = min(x[SHARE + k], min(min(e, f), min(g, h)))
        x[SPAN + k] = max(x[SPAN + k], yaw * most)


@LaneLoop
def _mix_range(x, most):
    for k in range(L):
        span, low, high = thrust_range(x[LOW + k], x[HIGH + k], x[SPAN + k], most, x[SHARE + k])
        x[SPAN + k], x[LOW + k], x[HIGH + k] = span, low, high
        x[SHARE + k] = 1.0


@njit
def _collective_of(y, r, k, m, span, wanted, low, high, yaw):
    """Adds the collective to a rotor's thrust; the share of yaw that its range leaves."""
    thrust = span * y[r, THRUST + k] + min(max(m[0] * wanted, low), high)
    y[r, THRUST + k] = thrust
    return yaw_fraction(m[3] * yaw, thrust, m[4])


@LaneLoop
def _mix_collective(x, y, p):
    m, n, o, q = _mixed(p, 0), _mixed(p, 1), _mixed(p, 2), _mixed(p, 3)
    for k in range(L):
        span, low, high = x[SPAN + k], x[LOW + k], x[HIGH + k]
        wanted, yaw = x[WANTED + k], x[WANTED + 3 * L + k]
        a = _collective_of(y, 0, k, m, span, wanted, low, high, yaw)
        b = _collective_of(y, 1, k, n, span, wanted, low, high, yaw)
        c = _collective_of(y, 2, k, o, span, wanted, low, high, yaw)
        d = _collective_of(y, 3, k, q, span, wanted, low, high, yaw)
        x[SHARE + k] = min(x[SHARE + k], min(min(a, b), min(c, d)))


@njit
def _command_of(y, r, k, m, yaw):
    """Puts a rotor's command in place of its thrust."""
    thrust = min(max(y[r, THRUST + k] + m[3] * yaw, 0.0), m[4])
    y[r, THRUST + k] = rotor_command(thrust, m[5], m[6], m[7], 1.0)


@LaneLoop
def _mix_yaw(x, y, p):
    """Commands of some rotors, in place of their thrusts."""
    m, n, o, q = _mixed(p, 0), _mixed(p, 1), _mixed(p, 2), _mixed(p, 3)
    for k in range(L):
        yaw = x[SHARE + k] * x[WANTED + 3 * L + k]
        _command_of(y, 0, k, m, yaw)
        _command_of(y, 1, k, n, yaw)
        _command_of(y, 2, k, o, yaw)
        _command_of(y, 3, k, q, yaw)


@LaneLoop
def _begin_forces(x, kx, ky, kz, ax, ay, az, density):
    """Velocity relative to the air, and the drag of the body."""
    for k in range(L):
        ux, uy, uz = quaternion.rotate_inverse(
            x[QUAT + k],
            x[QUAT + L + k],
            x[QUAT + 2 * L + k],
            x[QUAT + 3 * L + k],
            x[VEL + k] - x[WIND + k],
            x[VEL + L + k] - x[WIND + L + k],
            x[VEL + 2 * L + k] - x[WIND + 2 * L + k],
        )
        fx, fy, fz = aerodynamics.linear_drag(kx, ky, kz, ux, uy, uz)
        dx, dy, dz = aerodynamics.quadratic_drag(ax, ay, az, density, ux, uy, uz)
        x[AIRSPEED + k], x[AIRSPEED + L + k], x[AIRSPEED + 2 * L + k] = ux, uy, uz
        x[FORCE + k], x[FORCE + L + k], x[FORCE + 2 * L + k] = fx + dx, fy + dy, fz + dz
        x[TORQUE + k] = x[TORQUE + L + k] = x[TORQUE + 2 * L + k] = 0.0


@LaneLoop
def _add_rotor(x, y, p):
    """Lag of one rotor, and its force and torque on the vehicle; p: its constants."""
    rx, ry, rz, ax, ay, az = p[0], p[1], p[2], p[3], p[4], p[5]
    direction, thrust, moment, drag, roll = p[6], p[7], p[8], p[9], p[10]
    up, down = (p[11], p[12], p[13]), (p[14], p[15], p[16])
    scaling, zero, top = p[17], p[18], p[19]
    for k in range(L):
        target = rotor.target_speed(y[THRUST + k], scaling, zero, top)
        after, mean, square = rotor.lagged(y[SPEED + k], target, up, down)
        ratio = y[RATIO + k]
        ux, uy, uz = x[AIRSPEED + k], x[AIRSPEED + L + k], x[AIRSPEED + 2 * L + k]
        wx, wy, wz = x[RATE + k], x[RATE + L + k], x[RATE + 2 * L + k]
        fx, fy, fz, mx, my, mz = rotor.wrench(
            mean,
            square,
            direction,
            ax,
            ay,
            az,
            thrust * ratio,
            moment,
            drag * ratio,
            roll * ratio,
            ux + wy * rz - wz * ry,
            uy + wz * rx - wx * rz,
            uz + wx * ry - wy * rx,
        )
        y[SPEED + k] = after
        x[FORCE + k] += fx
        x[FORCE + L + k] += fy
        x[FORCE + 2 * L + k] += fz
        x[TORQUE + k] += mx + ry * fz - rz * fy
        x[TORQUE + L + k] += my + rz * fx - rx * fz
        x[TORQUE + 2 * L + k] += mz + rx * fy - ry * fx


@LaneLoop
def _accelerate(x, c, dt):
    """Velocities at the end of the step."""
    mass, gravity = c[MASS], c[GRAVITATION]
    j = (c[INERTIA], c[INERTIA + 1], c[INERTIA + 2], c[INERTIA + 3], c[INERTIA + 4], c[INERTIA + 5])
    i = (c[INVERSE], c[INVERSE + 1], c[INVERSE + 2], c[INVERSE + 3], c[INVERSE + 4], c[INVERSE + 5])
    for k in range(L):
        lighter = 1.0 / x[SCALE + k]
        fx, fy, fz = quaternion.rotate(
            x[QUAT + k],
            x[QUAT + L + k],
            x[QUAT + 2 * L + k],
            x[QUAT + 3 * L + k],
            lighter * x[FORCE + k],
            lighter * x[FORCE + L + k],
            lighter * x[FORCE + 2 * L + k],
        )
        vx, vy, vz, wx, wy, wz = rigid_body.accelerate(
            x[VEL + k],
            x[VEL + L + k],
            x[VEL + 2 * L + k],
            x[RATE + k],
            x[RATE + L + k],
            x[RATE + 2 * L + k],
            (fx, fy, fz),
            (lighter * x[TORQUE + k], lighter * x[TORQUE + L + k], lighter * x[TORQUE + 2 * L + k]),
            mass,
            j,
            i,
            gravity,
            dt,
        )
        x[OLD_VEL + k], x[OLD_VEL + L + k] = x[VEL + k], x[VEL + L + k]
        x[OLD_VEL + 2 * L + k] = x[VEL + 2 * L + k]
        x[VEL + k], x[VEL + L + k], x[VEL + 2 * L + k] = vx, vy, vz
        x[RATE + k], x[RATE + L + k], x[RATE + 2 * L + k] = wx, wy, wz


@LaneLoop
def _displace(x, dt):
    """Poses at the end of the step, with the velocities within the engine's limits."""
    for k in range(L):
        vx, vy = min(max(x[VEL + k], -1e3), 1e3), min(max(x[VEL + L + k], -1e3), 1e3)
        vz = min(max(x[VEL + 2 * L + k], -1e3), 1e3)
        wx, wy = min(max(x[RATE + k], -5e2), 5e2), min(max(x[RATE + L + k], -5e2), 5e2)
        wz = min(max(x[RATE + 2 * L + k], -5e2), 5e2)
        px, py, pz, qx, qy, qz, qw = rigid_body.displace(
            x[POS + k],
            x[POS + L + k],
            x[POS + 2 * L + k],
            x[QUAT + k],
            x[QUAT + L + k],
            x[QUAT + 2 * L + k],
            x[QUAT + 3 * L + k],
            vx,
            vy,
            vz,
            wx,
            wy,
            wz,
            dt,
        )
        x[VEL + k], x[VEL + L + k], x[VEL + 2 * L + k] = vx, vy, vz
        x[RATE + k], x[RATE + L + k], x[RATE + 2 * L + k] = wx, wy, wz
        x[POS + k], x[POS + L + k], x[POS + 2 * L + k] = px, py, pz
        x[QUAT + k], x[QUAT + L + k] = qx, qy
        x[QUAT + 2 * L + k], x[QUAT + 3 * L + k] = qz, qw


@LaneLoop
def _gather(out, source, rows, width):
    """One number of each vehicle into the lanes: of these rows of a flat array."""
    wide = np.uintp(width)
    for k in range(rows.size):
        lane = np.uintp(k)
        out[lane] = source[rows[lane] * wide]


@LaneLoop
def _scatter(lanes, target, rows, width):
    """The inverse of _gather()."""
    wide = np.uintp(width)
    for k in range(rows.size):
        lane = np.uintp(k)
        target[rows[lane] * wide] = lanes[lane]


@LaneLoop
def _gather3(out, source, rows):
    """The three numbers of each vehicle into three rows of lanes."""
    for k in range(rows.size):
        lane = np.uintp(k)
        at = rows[lane] * THREE
        out[lane] = source[at]
        out[lane + ROW] = source[at + ONE]
        out[lane + TWO * ROW] = source[at + TWO]


@LaneLoop
def _gather4(out, source, rows):
    """The four numbers of each vehicle into four rows of lanes."""
    for k in range(rows.size):
        lane = np.uintp(k)
        at = rows[lane] * FOUR
        out[lane] = source[at]
        out[lane + ROW] = source[at + ONE]
        out[lane + TWO * ROW] = source[at + TWO]
        out[lane + THREE * ROW] = source[at + THREE]


@LaneLoop
def _scatter3(lanes, target, rows):
    """The inverse of _gather3()."""
    for k in range(rows.size):
        lane = np.uintp(k)
        at = rows[lane] * THREE
        target[at] = lanes[lane]
        target[at + ONE] = lanes[lane + ROW]
        target[at + TWO] = lanes[lane + TWO * ROW]


@LaneLoop
def _scatter4(lanes, target, rows):
    """The inverse of _gather4()."""
    for k in range(rows.size):
        lane = np.uintp(k)
        at = rows[lane] * FOUR
        target[at] = lanes[lane]
        target[at + ONE] = lanes[lane + ROW]
        target[at + TWO] = lanes[lane + TWO * ROW]
        target[at + THREE] = lanes[lane + THREE * ROW]


@LaneLoop
def _clear3(target, rows):
    for k in range(rows.size):
        at = rows[np.uintp(k)] * THREE
        target[at] = target[at + ONE] = target[at + TWO] = 0.0


@LaneLoop
def _accelerations(x, dt):
    """Mean accelerations over the last sub-step."""
    for k in range(3 * L):
        x[ACC + k] = (x[VEL + k] - x[OLD_VEL + k]) / dt


@njit
def _recall(out, k, memory, at):
    for j in range(IN_LANES):
        out[np.uintp(j) * ROW + k] = memory[at + np.uintp(j)]


@njit
def _keep(lanes, k, memory, at):
    for j in range(IN_LANES):
        memory[at + np.uintp(j)] = lanes[np.uintp(j) * ROW + k]


@LaneLoop
def _recall_all(out, memory, rows):
    """What the loops keep of each vehicle into rows of lanes."""
    for k in range(rows.size):
        lane = np.uintp(k)
        _recall(out, lane, memory, rows[lane] * np.uintp(REMEMBERED))


@LaneLoop
def _keep_all(lanes, memory, rows):
    """The inverse of _recall_all()."""
    for k in range(rows.size):
        lane = np.uintp(k)
        _keep(lanes, lane, memory, rows[lane] * np.uintp(REMEMBERED))


@LaneLoop
def _headings(x, level):
    """Cosine and sine of the yaw that each vehicle shall have."""
    for k in range(L):
        cy, sy = x[HEADING + k], x[HEADING + L + k]
        if level == AT_POSITION:
            cy, sy = math.cos(x[ACTION + 3 * L + k]), math.sin(x[ACTION + 3 * L + k])
        elif cy == 0.0 and sy == 0.0:
            qx, qy, qz, qw = (
                x[QUAT + k],
                x[QUAT + L + k],
                x[QUAT + 2 * L + k],
                x[QUAT + 3 * L + k],
            )
            cy, sy = 1.0 - 2.0 * (qy * qy + qz * qz), 2.0 * (qw * qz + qx * qy)
        x[HEADING + k], x[HEADING + L + k] = cy, sy


@LaneLoop
def _keep_yaw(x, memory, rows):
    """The yaw that the loops would go on from without lanes."""
    for k in range(rows.size):
        at = rows[k] * np.uintp(REMEMBERED) + np.uintp(FREE_YAW)
        memory[at] = math.atan2(x[HEADING + L + k], x[HEADING + k])


@LaneLoop
def _clear(x):
    for k in range(L):
        x[k] = 0.0


@LaneLoop
def _collective(x, a, b, c):
    """WANTED thrust from the common command of all rotors that stands there."""
    for k in range(L):
        u = min(max(x[WANTED + k], 0.0), 1.0)
        x[WANTED + k] = a + u * (b + u * c)


@LaneLoop
def _limit_commands(y):
    for k in range(L):
        y[THRUST + k] = min(max(y[THRUST + k], 0.0), 1.0)


def _load_block(
    x, y, state, variation, memory, action, poly, rotors, width, level, geometric, rows
):
    """A block of vehicles into the scratch."""
    _gather3(x[POS : POS + 3 * L], state.pos, rows)
    _gather4(x[QUAT : QUAT + 4 * L], state.quat, rows)
    _gather3(x[VEL : VEL + 3 * L], state.vel, rows)
    _gather3(x[RATE : RATE + 3 * L], state.ang_vel, rows)
    _gather3(x[WIND : WIND + 3 * L], state.wind, rows)
    _gather(x[SCALE : SCALE + L], variation.mass, rows, 1)
    for r in range(rotors):
        _gather(y[r, SPEED : SPEED + L], state.actuator[r:], rows, width)
        _gather(y[r, RATIO : RATIO + L], variation.effectiveness[r:], rows, width)
        if level == AT_ACTUATOR:
            _gather(y[r, THRUST : THRUST + L], action[r:], rows, width)
            _limit_commands(y[r])
    if level == AT_ACTUATOR:
        return
    if level < AT_VELOCITY:
        for a in range(3):
            _gather(
                x[INTEGRAL + a * L : INTEGRAL + (a + 1) * L],
                memory[RATE_INTEGRAL + a :],
                rows,
                REMEMBERED,
            )
    if level == AT_RATES:
        for a in range(3):
            _gather(x[SP_RATES + a * L : SP_RATES + (a + 1) * L], action[a:], rows, 4)
        _gather(x[WANTED : WANTED + L], action[3:], rows, 4)
        _collective(x, poly[0], poly[1], poly[2])
    elif level == AT_ATTITUDE:
        for a in range(4):
            _gather(x[SP_QUAT + a * L : SP_QUAT + (a + 1) * L], action[a:], rows, 5)
        _gather(x[WANTED : WANTED + L], action[4:], rows, 5)
        _collective(x, poly[0], poly[1], poly[2])
        _clear(x[SP_YAW_RATE : SP_YAW_RATE + L])
    else:
        _gather4(x[ACTION : ACTION + 4 * L], action, rows)
        _recall_all(x[MEMORY : MEMORY + IN_LANES * L], memory, rows)
        _headings(x, level)
        if not geometric:
            _gather3(x[ACC : ACC + 3 * L], state.acc, rows)


def _store_block(x, y, state, memory, rotors, width, level, geometric, rows, dt):
    """A block of the scratch back into the arrays."""
    _accelerations(x, dt)
    _scatter3(x[POS : POS + 3 * L], state.pos, rows)
    _scatter4(x[QUAT : QUAT + 4 * L], state.quat, rows)
    _scatter3(x[VEL : VEL + 3 * L], state.vel, rows)
    _scatter3(x[RATE : RATE + 3 * L], state.ang_vel, rows)
    _scatter3(x[ACC : ACC + 3 * L], state.acc, rows)
    _clear3(state.contact, rows)
    for r in range(rotors):
        _scatter(y[r, SPEED : SPEED + L], state.actuator[r:], rows, width)
    if level == AT_ACTUATOR:
        return
    if level < AT_VELOCITY:
        for a in range(3):
            _scatter(
                x[INTEGRAL + a * L : INTEGRAL + (a + 1) * L],
                memory[RATE_INTEGRAL + a :],
                rows,
                REMEMBERED,
            )
    else:
        _keep_all(x[MEMORY : MEMORY + IN_LANES * L], memory, rows)
        if level == AT_VELOCITY and not geometric:
            _keep_yaw(x, memory, rows)


def _command(x, y, c, p, rotors, level, geometric, smallest, begins, dt, loop_s):
    """Commands of the rotors for the actions in the scratch."""
    to_place = 1.0 if level == AT_POSITION else 0.0
    if geometric and level >= AT_VELOCITY:
        _control_velocity(x, c, to_place, dt)
    else:
        if level >= AT_VELOCITY:
            _filter_acceleration(x, dt / (FILTER_S + dt))
            if begins:
                _control_place(x, c, to_place, loop_s)
        if level != AT_RATES:
            _control_attitude(x, c)
        _control_rates(x, c, dt)
    _begin_mix(x)
    for r in range(0, rotors, GROUP):
        _mix_tilt(x, y[r : r + GROUP], p[r : r + GROUP])
    _mix_range(x, smallest)
    for r in range(0, rotors, GROUP):
        _mix_collective(x, y[r : r + GROUP], p[r : r + GROUP])
    for r in range(0, rotors, GROUP):
        _mix_yaw(x, y[r : r + GROUP], p[r : r + GROUP])


def fly(
    lanes: Any,
    i: int,
    rows: np.ndarray,
    state: Any,
    variation: Any,
    memory: np.ndarray,
    action: np.ndarray,
    level: int,
    geometric: bool,
    dt: float,
    loop_s: float,
    t_us: int,
    dt_us: int,
    sub_steps: int,
) -> None:
    """Advances vehicles of one type.

    Args:
        lanes: The LaneModel.
        i: Index of their type: of a vehicle of the environment.
        rows: (M,) uint64, the vehicles in the flat batch.
        state, variation: As in arrays, each with all axes made one, see flat().
        memory: Of the LoopState, likewise.
        action: (N, K), likewise.
        level: An AT_.
        geometric: Whether geometric control flies them.
        dt, loop_s: Length of a sub-step and of a step of the velocity loop [s], in the type of
            the lanes.
        t_us: Simulated time at the start [us].
        dt_us: Length of a sub-step [us].
        sub_steps: How many.
    """
    rotors, real = lanes.rotors[i], lanes.vehicle.dtype
    x, y = np.zeros(ROWS, real), np.zeros((lanes.rotor.shape[1], ROTOR_ROWS), real)
    x[QUAT + 3 * L : QUAT + 4 * L] = 1.0
    x[SCALE : SCALE + L] = 1.0
    flush_denormals(x.itemsize == 4)
    for begin in range(0, len(rows), L):
        fly_block(
            x,
            y,
            lanes.vehicle[i],
            lanes.rotor[i],
            rotors,
            rows[begin : begin + L],
            state,
            variation,
            memory,
            action,
            level,
            geometric,
            dt,
            loop_s,
            t_us,
            dt_us,
            sub_steps,
        )
    flush_denormals(False)


def fly_block(
    x: np.ndarray,
    y: np.ndarray,
    c: np.ndarray,
    p: np.ndarray,
    rotors: int,
    rows: np.ndarray,
    state: Any,
    variation: Any,
    memory: np.ndarray,
    action: np.ndarray,
    level: int,
    geometric: bool,
    dt: float,
    loop_s: float,
    t_us: int,
    dt_us: int,
    sub_steps: int,
) -> None:
    """Advances one block of vehicles.

    Args:
        x, y: (ROWS,) and (A, ROTOR_ROWS) scratch.
        c, p: (CONSTANTS,) and (A, ROTOR_CONSTANTS) of their type.
        rotors: How many.
        rows: (M,) with M up to L.
        state, variation, memory, action, level, geometric, dt, loop_s, t_us, dt_us, sub_steps: See
            fly().
    """
    smallest = p[0, R_MAX]
    for r in range(rotors):
        smallest = min(smallest, p[r, R_MAX])
    width = state.actuator.size // variation.mass.size
    _load_block(
        x,
        y,
        state,
        variation,
        memory,
        action,
        c[POLY : POLY + 3],
        rotors,
        width,
        level,
        geometric,
        rows,
    )
    for s in range(sub_steps):
        if level != AT_ACTUATOR:
            _command(
                x,
                y,
                c,
                p,
                rotors,
                level,
                geometric,
                smallest,
                (t_us + s * dt_us) % LOOP_US == 0,
                dt,
                loop_s,
            )
        _begin_forces(
            x,
            c[DRAG],
            c[DRAG + 1],
            c[DRAG + 2],
            c[AREAS],
            c[AREAS + 1],
            c[AREAS + 2],
            SEA_LEVEL_DENSITY,
        )
        for r in range(rotors):
            _add_rotor(x, y[r], p[r])
        _accelerate(x, c, dt)
        _displace(x, dt)
        if level >= AT_VELOCITY and not geometric:
            _accelerations(x, dt)
    _store_block(x, y, state, memory, rotors, width, level, geometric, rows, dt)


FLY = {real: kernel_in_lanes(fly, real) for real in (np.float32, np.float64)}


def flat(arrays: Any) -> Any:
    """A tuple of arrays with all axes made one."""
    views = [array.reshape(-1) for array in arrays]
    return type(arrays)(*views) if hasattr(arrays, "_fields") else tuple(views)
