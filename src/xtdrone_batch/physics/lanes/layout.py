"""Layout of the lanes' scratch, and the constants of the vehicles that fly in lanes.

A block of vehicles has a flat scratch array: rows of one number for each of L lanes.
"""

import math
from typing import NamedTuple

import numpy as np

from xtdrone_autopilot.control.attitude import rate_limits
from xtdrone_autopilot.control.rate import rate_gains
from xtdrone_autopilot.control.velocity import MIN_THRUST
from xtdrone_autopilot.navigation.navigator import ACC_FILTER_S
from xtdrone_core import FleetModel
from xtdrone_core.fleet_model import ROTOR
from xtdrone_core.vehicle import KINDS
from xtdrone_dynamics.constants import GRAVITY
from xtdrone_dynamics.forces import rotor
from xtdrone_dynamics.lanes import LANES
from xtdrone_guidance.force import MIN_LIFT, velocity_gains
from xtdrone_guidance.indi.rate_control import MAX_DISTURBANCE

from ...levels import AT_ACTUATOR
from .. import control
from ..control import Loops

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
# Memory of the flight stack's loops from step to step, as in LoopState.memory.
MEMORY = 33 * L
HEADING, VEL_INTEGRAL, FILTERED, SP_QUAT, SP_YAW_RATE, INTEGRAL, SP_WRENCH = (
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
# SP_WRENCH: thrust [N], and torque [N m] in the next rows.
LOW, HIGH, SPAN, FRACTION, ACC, SP_RATES = 53 * L, 54 * L, 55 * L, 56 * L, 57 * L, 60 * L
# Memory of INDI: last body rates, first and second poles of force [N] and torque [N m].
LAST_RATE, POLE, DISTURBANCE, ROWS = 63 * L, 66 * L, 72 * L, 78 * L
# Rows of each rotor: speed [rad/s], thrust [N] or command, factor on its forces, and the speed that
# INDI expects.
SPEED, THRUST, RATIO, EXPECTED, ROTOR_ROWS = 0, L, 2 * L, 3 * L, 4 * L

# Columns of the constants of a vehicle.
MASS, INERTIA, INVERSE, G, DRAG, AREAS, GAINS, POLY = 0, 1, 7, 13, 14, 17, 20, 29
# Columns of the constants of its velocity and attitude loops.
(
    HOVER,
    TAN_TILT,
    THR_MIN,
    THR_MAX,
    MARGIN,
    XY_P,
    Z_P,
    XY_D,
    Z_D,
    XY_I,
    Z_I,
    POS_XY_P,
    POS_Z_P,
    XY_MAX,
    CLIMB_MAX,
    SINK_MAX,
    ATTITUDE,
    WEIGHT,
    LIMITS,
) = (*range(32, 49), 51, 52)
# Columns of those of INDI: gains of the filters of force and torque, largest torque that is taken
# off, gains of velocity, least and largest force.
FILTER_GAINS, TORQUE_LIMITS, VELOCITY_GAINS, LOWEST, HIGHEST, CONSTANTS = 55, 57, 60, 62, 63, 64
FILTER_S = ACC_FILTER_S
# Columns of the constants of a rotor. The mixer takes GROUP rotors at a time; those that a
# vehicle lacks do nothing.
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
    R_MAX_SPEED,
    R_MIX,
    R_MAX_THRUST,
    R_EFFECT,  # force along z and torque of its thrust
) = 0, 3, 6, 7, 8, 9, 10, 11, 14, 17, 18, 19, 20, 24, 25
ROTOR_CONSTANTS = 29


class LaneModel(NamedTuple):
    """Constants of the vehicles in lanes, in the type that the loops compute in."""

    fits: np.ndarray  # (V,) bool, whether the vehicle runs in lanes
    vehicle: np.ndarray  # (V, CONSTANTS)
    rotor: np.ndarray  # (V, A, ROTOR_CONSTANTS), A a multiple of GROUP
    rotors: np.ndarray  # (V,)


def lane_model(model: FleetModel, loops: Loops, gravity: float, dt: float, real: type) -> LaneModel:
    """Returns the constants. Vehicles and actions that need more than these loops do not fit."""
    n = model.n
    vehicle: np.ndarray = np.zeros((n, CONSTANTS), dtype=real)
    max_rotors = -(-model.actuator.shape[1] // GROUP) * GROUP
    rotors: np.ndarray = np.zeros((n, max_rotors, ROTOR_CONSTANTS), dtype=real)
    rotors[..., R_THRUST] = rotors[..., R_SCALING] = 1.0
    fits = np.array([_fits(model, loops, i) for i in range(n)], dtype=np.bool_)
    for i in np.flatnonzero(fits):
        constants, body, effects = vehicle[i], model.vehicles[i].bodies[0], model.effects[i]
        constants[MASS], constants[G] = body.mass, gravity
        constants[INERTIA : INERTIA + 6] = model.body[i, 0]["inertia"]
        inverse = np.linalg.inv(np.array(body.inertia))
        constants[INVERSE : INVERSE + 6] = inverse[(0, 1, 2, 0, 0, 1), (0, 1, 2, 1, 2, 2)]
        constants[DRAG : DRAG + 3], constants[AREAS : AREAS + 3] = (
            effects["linear_drag"],
            effects["drag_areas"],
        )
        constants[GAINS : GAINS + 9] = np.concatenate(
            rate_gains(loops.status[i], loops.parameters[i])
        )
        _fill_loops(constants, loops.status[i], loops.parameters[i])
        _fill_indi(constants, loops, i)
        constants[POLY : POLY + 3] = loops.status[i]["thrust_poly"]
        for r in range(model.vehicle["rotors"][i]):
            actuator, row = model.actuator[i, r], rotors[i, r]
            row[R_POS : R_POS + 3], row[R_AXIS : R_AXIS + 3] = actuator["pos"], actuator["axis"]
            for column, name in (
                (R_DIRECTION, "direction"),
                (R_THRUST, "motor_constant"),
                (R_MOMENT, "moment_constant"),
                (R_DRAG, "rotor_drag_coefficient"),
                (R_ROLL, "rolling_moment_coefficient"),
                (R_SCALING, "input_scaling"),
                (R_ZERO, "zero_position_armed"),
                (R_MAX_SPEED, "max_rot_velocity"),
            ):
                row[column] = actuator[name]
            row[R_UP : R_UP + 3] = rotor.lag_factors(actuator["time_constant_up"], dt)
            row[R_DOWN : R_DOWN + 3] = rotor.lag_factors(actuator["time_constant_down"], dt)
            row[R_MIX : R_MIX + 4] = loops.allocation.mixer[i, r, 2:]
            row[R_MAX_THRUST] = loops.allocation.t_max[i, r]
            row[R_EFFECT : R_EFFECT + 4] = loops.indi_model.columns[i, 2:, r]
    return LaneModel(fits, vehicle, rotors, model.vehicle["rotors"].astype(np.int64))


def _fill_loops(constants: np.ndarray, status: np.void, params: np.void) -> None:
    """Constants of the flight stack's velocity and attitude loops."""
    constants[HOVER], constants[TAN_TILT] = status["hover"], math.tan(status["tilt_limit"])
    constants[THR_MIN] = max(params["MPC_THR_MIN"], MIN_THRUST)
    for column, name in (
        (THR_MAX, "MPC_THR_MAX"),
        (MARGIN, "MPC_THR_XY_MARG"),
        (XY_P, "MPC_XY_VEL_P_ACC"),
        (Z_P, "MPC_Z_VEL_P_ACC"),
        (XY_D, "MPC_XY_VEL_D_ACC"),
        (Z_D, "MPC_Z_VEL_D_ACC"),
        (XY_I, "MPC_XY_VEL_I_ACC"),
        (Z_I, "MPC_Z_VEL_I_ACC"),
        (POS_XY_P, "MPC_XY_P"),
        (POS_Z_P, "MPC_Z_P"),
        (XY_MAX, "MPC_XY_VEL_MAX"),
        (ATTITUDE, "MC_ROLL_P"),
        (ATTITUDE + 1, "MC_PITCH_P"),
        (ATTITUDE + 2, "MC_YAW_P"),
        (WEIGHT, "MC_YAW_WEIGHT"),
    ):
        constants[column] = params[name]
    constants[CLIMB_MAX], constants[SINK_MAX], constants[LIMITS : LIMITS + 3] = (
        status["climb_max"],
        status["sink_max"],
        rate_limits(params),
    )


def _fill_indi(constants: np.ndarray, loops: Loops, i: int) -> None:
    """Constants of the loops of INDI."""
    status, params = loops.status[i], loops.parameters[i]
    constants[FILTER_GAINS : FILTER_GAINS + 2] = loops.indi_model.gains[i]
    constants[TORQUE_LIMITS : TORQUE_LIMITS + 3] = (
        MAX_DISTURBANCE * np.diagonal(status["inertia"]) * status["turn_max"]
    )
    constants[VELOCITY_GAINS : VELOCITY_GAINS + 2] = velocity_gains(params)
    constants[LOWEST] = MIN_LIFT * status["mass"] * GRAVITY
    constants[HIGHEST] = params["MPC_THR_MAX"] * status["thrust_max"]


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
        and (rotors["propeller_at"] < 0).all()
    )
    params, status = loops.parameters[i], loops.status[i]
    mixed = loops.level == AT_ACTUATOR or (
        not loops.allocation.vectored[i]
        and not status["fully_actuated"]
        and params["MC_AIRMODE"] == 0
        and params["MPC_ACC_DECOUPLE"] != 0
    )
    return bool(plain and still and one_way and mixed and len(rotors) > 0)
