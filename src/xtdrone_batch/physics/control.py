"""Turns actions into actuator commands: the flight stack's own loops, INDI, or geometric control.

The loops are those of xtdrone_autopilot.control, fed with the true state, at their own rates.
"""

import math
from typing import NamedTuple

import numpy as np

from xtdrone_autopilot.control import attitude, position, rate, velocity
from xtdrone_autopilot.control.allocation import Mixer, mix_fleet, vector_fleet
from xtdrone_autopilot.control.vector import thrust_newtons
from xtdrone_autopilot.navigation.navigator import ACC_FILTER_S
from xtdrone_autopilot.parameters.store import ParameterStore
from xtdrone_autopilot.state.clock import LOOP_US
from xtdrone_autopilot.state.vehicle_status import (
    ATTITUDE,
    RATES,
    STAGE_FLIGHT,
    TRAJECTORY,
    VEHICLE_STATUS,
    command_of,
    describe_bodies,
    new_status,
)
from xtdrone_core import FleetModel
from xtdrone_core.errors import unknown_name
from xtdrone_core.modes import Mode
from xtdrone_dynamics.abilities.vehicle_type import vehicle_types, vtol_types
from xtdrone_dynamics.compiled import Record, njit
from xtdrone_dynamics.constants import GRAVITY

from ..arrays import Records
from ..errors import BatchError
from ..levels import AT_ACTUATOR, AT_ATTITUDE, AT_POSITION, AT_VELOCITY, Level
from .geometric import K_P, attitude_control, desired_acceleration, rotate_heading
from .indi import (
    ACCELERATION,
    JERK,
    IndiModel,
    control_rates,
    control_velocity,
    indi_model,
    measure,
    memory_size,
    remember,
)

_STATUS_FIELDS = (
    "vehicle_type",
    "vtol_type",
    "vtol_state",
    "hover_weight",
    "mode",
    "armed",
    "landed",
    "maybe_landed",
    "stage",
    "sp_kind",
    "sp_pos",
    "sp_vel",
    "sp_acc",
    "sp_yaw",
    "sp_yaw_rate",
    "sp_quat",
    "sp_rates",
    "sp_torque",
    "sp_thrust",
    "sp_side_force",
    "sp_tilt",
    "vel_integral",
    "free_yaw",
    "rate_integral",
    "acc_filtered",
    "wind",
    "tilt_limit",
    "climb_max",
    "sink_max",
    "hover",
    "mass",
    "inertia",
    "turn_max",
    "fully_actuated",
    "side_force_max",
    "thrust_poly",
    "thrust_max",
    "drag",
)
CONTROL = np.dtype(
    [(name, VEHICLE_STATUS[name]) for name in _STATUS_FIELDS]
    + [("heading", "f8", (2,))],  # cosine and sine of the yaw, 0 = none yet
    align=True,
)  # status of a vehicle, in the scratch of a thread

ESTIMATE = np.dtype(
    [
        ("pos", "f8", (3,)),
        ("quat", "f8", (4,)),
        ("vel", "f8", (3,)),
        ("ang_vel", "f8", (3,)),
        ("accel", "f8", (3,)),  # specific force, body; for INDI alone
    ],
    align=True,
)  # the true state, in place of an estimate, for the loops


class Allocation(NamedTuple):
    """Constants of the mixer of one environment's vehicles, see allocation.Mixer."""

    mixer: np.ndarray
    gain: np.ndarray
    hessian: np.ndarray
    used: np.ndarray
    whole: np.ndarray
    t_max: np.ndarray
    n_rotors: np.ndarray
    vectored: np.ndarray
    tiltrotor: np.ndarray
    forward_weight: np.ndarray
    weight: np.ndarray
    scale: np.ndarray
    low: np.ndarray
    high: np.ndarray


class Loops(NamedTuple):
    """Control loops of one environment's vehicles, the same in all environments."""

    level: int
    controller: int  # CASCADE, GEOMETRIC or INDI
    status: np.ndarray  # (V,) CONTROL, at the start
    parameters: np.ndarray  # (V,) parameters of the flight stack
    allocation: Allocation
    indi_model: IndiModel


class LoopState(NamedTuple):
    """Memory of the control loops from step to step."""

    memory: np.ndarray  # (E, V, MEMORY_SIZE) see load_memory()
    values: np.ndarray  # (E, V, A) thrusts and joint positions of vectored vehicles
    servo_pos: np.ndarray  # (E, V, A) positions of their servos
    indi: np.ndarray  # (E, V, K) memory of INDI, see indi.py; K = 0 without


class Scratch(NamedTuple):
    """Arrays of INDI for the M vehicles of a chunk."""

    indi: np.ndarray  # (M, K) of LoopState
    columns: np.ndarray  # (M, 6, A) effectiveness
    poses: np.ndarray  # (M, B, 7)
    joint_pos: np.ndarray  # (M, J)
    exerted: np.ndarray  # (M, A) thrusts [N]


CONTROLLERS = ("px4", "geometric", "indi")
CASCADE, GEOMETRIC, INDI = range(len(CONTROLLERS))
# Columns of the memory. The first IN_LANES are in this order in the scratch of the lanes, too.
HEADING, VEL_INTEGRAL, ACC_FILTERED, SP_QUAT, SP_YAW_RATE, RATE_INTEGRAL = 0, 2, 5, 8, 12, 13
SP_THRUST, IN_LANES, FREE_YAW, SP_SIDE_FORCE, MEMORY_SIZE = 16, 17, 17, 18, 20


def make_loops(
    model: FleetModel, environments: int, level: Level, controller: str, real: type
) -> tuple[Loops, LoopState]:
    """Returns the loops of a batch, at rest.

    Raises:
        BatchError: No such controller, or not for these vehicles.
    """
    if controller not in CONTROLLERS:
        raise BatchError(unknown_name("controller", controller, CONTROLLERS))
    if controller == "indi" and model.vehicle["half_wings"].any():
        raise BatchError(
            "controller 'indi' is not allowed for vehicles with half wings, which it flies in the "
            "flight stack alone: give 'px4'"
        )
    n = model.n
    store = ParameterStore(n, vehicle_types(model), vtol_types(model))
    status = new_status(n)
    describe_bodies(status, model)
    values = store.values
    status["mode"], status["stage"] = Mode.OFFBOARD, STAGE_FLIGHT
    status["armed"], status["landed"] = True, False
    status["free_yaw"] = np.nan
    hover = command_of(status["thrust_poly"], status["mass"] * GRAVITY)
    status["hover"] = np.clip(hover, 0.01, 1.0)
    status["tilt_limit"] = np.radians(values["MPC_TILTMAX_AIR"])
    status["climb_max"], status["sink_max"] = values["MPC_Z_VEL_MAX_UP"], values["MPC_Z_VEL_MAX_DN"]
    kept = np.zeros(n, dtype=CONTROL)
    for name in _STATUS_FIELDS:
        kept[name] = status[name]
    mixer = Mixer(model)
    vectoring = mixer.vectoring
    allocation = Allocation(
        mixer.pseudo_inverse,
        mixer.gain,
        mixer.hessian,
        mixer.used,
        mixer.intact,
        mixer.max_thrust,
        mixer.n_rotors,
        vectoring.used,
        vectoring.tiltrotor,
        vectoring.forward_weight,
        vectoring.weight,
        vectoring.scale,
        vectoring.low,
        vectoring.high,
    )
    loops = Loops(
        level.number, CONTROLLERS.index(controller), kept, values, allocation, indi_model(model)
    )
    memory: np.ndarray = np.zeros((environments, n, MEMORY_SIZE), dtype=real)
    memory[..., FREE_YAW], memory[..., SP_QUAT + 3] = np.nan, 1.0
    has_indi = loops.controller == INDI and level.number != AT_ACTUATOR
    start = [
        array[:, : model.actuator.shape[1] * bool(vectoring.any)]
        for array in (vectoring.values, vectoring.position)
    ]
    start.append(np.zeros((n, memory_size(model) * has_indi)))
    start[-1][:, ACCELERATION:JERK] = np.nan
    return loops, LoopState(
        memory, *(np.repeat(array[None], environments, axis=0) for array in start)
    )


@njit
def command(
    loops: Loops,
    action: np.ndarray,
    status: np.ndarray,
    thrust: np.ndarray,
    values: np.ndarray,
    servo_pos: np.ndarray,
    records: Records,
    estimate: np.ndarray,
    t_us: int,
    dt: float,
    scratch: Scratch,
    commands: np.ndarray,
) -> None:
    """Computes the commands of one environment's actuators for one sub-step.

    Args:
        loops: Loops of the batch.
        action: (V, K).
        status: (V,) CONTROL.
        thrust: (V, A) scratch.
        values, servo_pos: (V, A) of the LoopState.
        records: The Records.
        estimate: (V,) ESTIMATE.
        t_us: Simulated time [us].
        dt: Length of the sub-step [s].
        scratch: The Scratch.
        commands: (V, A), the output.
    """
    level = loops.level
    if level == AT_ACTUATOR:
        for i in range(commands.shape[0]):
            for k in range(commands.shape[1]):
                commands[i, k] = action[i, k]
        return
    params, indi = loops.parameters, scratch.indi
    if loops.controller == INDI:
        measure(
            loops.indi_model,
            records,
            status,
            estimate,
            loops.allocation.n_rotors,
            dt,
            scratch.poses,
            scratch.joint_pos,
            scratch.exerted,
            scratch.columns,
            indi,
        )
    if loops.controller == GEOMETRIC and level >= AT_VELOCITY:
        for i in range(status.shape[0]):
            status[i].sp_kind = RATES
            _control_geometric(status[i], action[i], level == AT_POSITION, estimate[i], dt)
    else:
        if t_us % LOOP_US == 0 or level < AT_VELOCITY:
            for i in range(status.shape[0]):
                _set_set_points(level, action[i], status[i])
        if level >= AT_VELOCITY and t_us % LOOP_US == 0:
            position.control_fleet(status, params, estimate)
            if loops.controller == INDI:
                for i in range(status.shape[0]):
                    control_velocity(status[i], params[i], estimate[i], LOOP_US * 1e-6, indi[i])
            else:
                velocity.control_fleet(status, params, estimate, LOOP_US * 1e-6)
        attitude.control_fleet(status, params, estimate)
        if loops.controller == INDI:
            for i in range(status.shape[0]):
                control_rates(status[i], params[i], estimate[i], loops.indi_model.reach[i], indi[i])
        else:
            rate.control_fleet(status, params, estimate, dt)
    allocation = loops.allocation
    if values.shape[1] > 0:
        vector_fleet(
            status,
            params,
            estimate,
            records.vehicle,
            records.body,
            records.joint,
            records.actuator,
            records.half_wing,
            allocation.vectored,
            allocation.tiltrotor,
            allocation.forward_weight,
            allocation.weight,
            allocation.scale,
            allocation.low,
            allocation.high,
            values,
            servo_pos,
            dt,
            thrust,
            commands,
        )
    mix_fleet(
        status,
        params,
        records.actuator,
        allocation.mixer,
        allocation.gain,
        allocation.hessian,
        allocation.used,
        allocation.whole,
        allocation.vectored,
        allocation.t_max,
        allocation.n_rotors,
        thrust,
        commands,
    )
    if loops.controller == INDI:
        remember(commands, indi)


@njit
def _control_geometric(
    status: Record, action: np.ndarray, at_position: bool, estimate: Record, dt: float
) -> None:
    """Writes the set-points of torque and thrust by geometric control."""
    pos, quat, vel, ang_vel, inertia = (
        estimate.pos,
        estimate.quat,
        estimate.vel,
        estimate.ang_vel,
        status.inertia,
    )
    wx, wy, wz, yaw_rate = action[0], action[1], action[2], action[3]
    if at_position:
        wx, wy, wz, yaw_rate = (K_P * (wx - pos[0]), K_P * (wy - pos[1]), K_P * (wz - pos[2]), 0.0)
        status.heading[0], status.heading[1] = math.cos(action[3]), math.sin(action[3])
    else:
        if status.heading[0] == 0.0 and status.heading[1] == 0.0:
            status.heading[0] = 1.0 - 2.0 * (quat[1] * quat[1] + quat[2] * quat[2])
            status.heading[1] = 2.0 * (quat[3] * quat[2] + quat[0] * quat[1])
        status.heading[0], status.heading[1] = rotate_heading(
            status.heading[0], status.heading[1], yaw_rate * dt
        )
    ax, ay, az = desired_acceleration(vel[0], vel[1], vel[2], wx, wy, wz, GRAVITY)
    status.sp_thrust, status.sp_torque[0], status.sp_torque[1], status.sp_torque[2] = (
        attitude_control(
            ax,
            ay,
            az,
            status.heading[0],
            status.heading[1],
            yaw_rate,
            quat[0],
            quat[1],
            quat[2],
            quat[3],
            ang_vel[0],
            ang_vel[1],
            ang_vel[2],
            status.mass,
            (
                inertia[0, 0],
                inertia[1, 1],
                inertia[2, 2],
                inertia[0, 1],
                inertia[0, 2],
                inertia[1, 2],
            ),
        )
    )


@njit
def _set_set_points(level: int, action: np.ndarray, status: Record) -> None:
    """Writes an action into the set-points of the loops."""
    for k in range(3):
        status.sp_pos[k] = status.sp_vel[k] = status.sp_acc[k] = math.nan
    status.sp_side_force[0] = status.sp_side_force[1] = 0.0
    status.sp_yaw = status.sp_yaw_rate = math.nan
    status.sp_kind = TRAJECTORY
    if level == AT_POSITION:
        for k in range(3):
            status.sp_pos[k] = action[k]
        status.sp_yaw = action[3]
    elif level == AT_VELOCITY:
        for k in range(3):
            status.sp_vel[k] = action[k]
        status.sp_yaw_rate = action[3]
    elif level == AT_ATTITUDE:
        status.sp_kind = ATTITUDE
        for k in range(4):
            status.sp_quat[k] = action[k]
        status.sp_thrust = thrust_newtons(status, min(max(action[4], 0.0), 1.0))
    else:
        status.sp_kind = RATES
        for k in range(3):
            status.sp_rates[k] = action[k]
        status.sp_thrust = thrust_newtons(status, min(max(action[3], 0.0), 1.0))


@njit
def load_memory(status: Record, memory: np.ndarray) -> None:
    """Copies the memory (MEMORY_SIZE,) of the loops into the status of a vehicle."""
    for k in range(3):
        status.vel_integral[k] = memory[VEL_INTEGRAL + k]
        status.rate_integral[k] = memory[RATE_INTEGRAL + k]
        status.acc_filtered[k] = memory[ACC_FILTERED + k]
    status.free_yaw = memory[FREE_YAW]
    status.heading[0], status.heading[1] = memory[HEADING], memory[HEADING + 1]
    for k in range(4):
        status.sp_quat[k] = memory[SP_QUAT + k]
    status.sp_side_force[0], status.sp_side_force[1] = (
        memory[SP_SIDE_FORCE],
        memory[SP_SIDE_FORCE + 1],
    )
    status.sp_thrust, status.sp_yaw_rate = memory[SP_THRUST], memory[SP_YAW_RATE]
    status.sp_kind = TRAJECTORY


@njit
def store_memory(status: Record, memory: np.ndarray) -> None:
    """Copies the memory of the loops back from the status of a vehicle."""
    for k in range(3):
        memory[VEL_INTEGRAL + k] = status.vel_integral[k]
        memory[RATE_INTEGRAL + k] = status.rate_integral[k]
        memory[ACC_FILTERED + k] = status.acc_filtered[k]
    memory[FREE_YAW] = status.free_yaw
    if math.isfinite(status.free_yaw):
        status.heading[0], status.heading[1] = math.cos(status.free_yaw), math.sin(status.free_yaw)
    memory[HEADING], memory[HEADING + 1] = status.heading[0], status.heading[1]
    for k in range(4):
        memory[SP_QUAT + k] = status.sp_quat[k]
    memory[SP_SIDE_FORCE], memory[SP_SIDE_FORCE + 1] = (
        status.sp_side_force[0],
        status.sp_side_force[1],
    )
    memory[SP_THRUST] = status.sp_thrust
    # No rate is a rate of 0 to the attitude loop; lanes compute with it.
    memory[SP_YAW_RATE] = status.sp_yaw_rate if math.isfinite(status.sp_yaw_rate) else 0.0


@njit
def filter_acceleration(status: Record, acc: np.ndarray, dt: float) -> None:
    """Low-passes the true acceleration (3,) for the damping of the velocity loop."""
    gain = dt / (ACC_FILTER_S + dt)
    for k in range(3):
        status.acc_filtered[k] += gain * (acc[k] - status.acc_filtered[k])
