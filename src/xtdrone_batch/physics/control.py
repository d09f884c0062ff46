"""From actions to actuator commands: the flight stack's own control loops, or geometric control.

The loops are those of xtdrone_autopilot.control, fed with the true state, at their own rates. What
an action holds is told by LEVELS.
"""

import math
from typing import Any, NamedTuple

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
from xtdrone_dynamics.compiled import njit
from xtdrone_dynamics.constants import GRAVITY

from ..errors import BatchError
from ..levels import AT_ACTUATOR, AT_ATTITUDE, AT_POSITION, AT_VELOCITY, Level
from .geometric import K_P, attitude_control, desired_acceleration, rotate_heading

_KEPT = (
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
    "drag",
)
CONTROL = np.dtype(
    [(name, VEHICLE_STATUS.fields[name][0]) for name in _KEPT]
    + [("heading", "f8", (2,))],  # cosine and sine of the yaw, 0 = none yet
    align=True,
)  # of one environment, in the scratch of a thread

MEASURED = np.dtype(
    [("pos", "f8", (3,)), ("quat", "f8", (4,)), ("vel", "f8", (3,)), ("ang_vel", "f8", (3,))],
    align=True,
)  # what the loops read of the state


class Allocation(NamedTuple):
    """What the mixer of one environment's vehicles needs, see allocation.Mixer."""

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
    """The control loops of one environment's vehicles: what all environments share."""

    level: int
    geometric: bool
    status: np.ndarray  # (V,) CONTROL, at the start
    parameters: np.ndarray  # (V,) of the flight stack
    allocation: Allocation


class LoopState(NamedTuple):
    """What the control loops keep from step to step."""

    memory: np.ndarray  # (E, V, MEMORY_SIZE) see recall()
    values: np.ndarray  # (E, V, A) thrusts and joint positions of vectored vehicles
    position: np.ndarray  # (E, V, A) of their servos


# The first IN_LANES stand in this order in the scratch of the lanes, too.
HEADING, VEL_INTEGRAL, ACC_FILTERED, SP_QUAT, SP_YAW_RATE, RATE_INTEGRAL = 0, 2, 5, 8, 12, 13
SP_THRUST, IN_LANES, FREE_YAW, SP_SIDE_FORCE, MEMORY_SIZE = 16, 17, 17, 18, 20


def make_loops(
    model: FleetModel, environments: int, level: Level, controller: str, real: type
) -> tuple[Loops, LoopState]:
    """The loops of a batch, at rest.

    Raises:
        BatchError: No such controller.
    """
    if controller not in ("px4", "geometric"):
        raise BatchError(unknown_name("controller", controller, ("px4", "geometric")))
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
    for name in _KEPT:
        kept[name] = status[name]
    mixer = Mixer(model)
    u = mixer.vectoring
    allocation = Allocation(
        mixer.pseudo_inverse,
        mixer.gain,
        mixer.hessian,
        mixer.used,
        mixer.intact,
        mixer.max_thrust,
        mixer.n_rotors,
        u.used,
        u.tiltrotor,
        u.forward_weight,
        u.weight,
        u.scale,
        u.low,
        u.high,
    )
    loops = Loops(level.number, controller == "geometric", kept, values, allocation)
    memory = np.zeros((environments, n, MEMORY_SIZE), dtype=real)
    memory[..., FREE_YAW], memory[..., SP_QUAT + 3] = np.nan, 1.0
    start = [array[:, : model.actuator.shape[1] * bool(u.any)] for array in (u.values, u.position)]
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
    places: np.ndarray,
    records: Any,
    measured: np.ndarray,
    t_us: int,
    dt: float,
    commands: np.ndarray,
) -> None:
    """Commands of one environment's actuators for one sub-step.

    Args:
        loops: Of the batch.
        action: (V, K).
        status: (V,) CONTROL.
        thrust: (V, A) scratch.
        values, places: (V, A) values and position of the LoopState.
        records: The Records.
        measured: (V,) MEASURED.
        t_us: Simulated time [us].
        dt: Length of the sub-step [s].
        commands: (V, A), the output.
    """
    level = loops.level
    if level == AT_ACTUATOR:
        for i in range(commands.shape[0]):
            for k in range(commands.shape[1]):
                commands[i, k] = action[i, k]
        return
    q = loops.parameters
    if loops.geometric and level >= AT_VELOCITY:
        for i in range(status.shape[0]):
            status[i].sp_kind = RATES
            _fly_geometric(status[i], action[i], level == AT_POSITION, measured[i], dt)
    else:
        if t_us % LOOP_US == 0 or level < AT_VELOCITY:
            for i in range(status.shape[0]):
                _take(level, action[i], status[i])
        if level >= AT_VELOCITY and t_us % LOOP_US == 0:
            position.control_fleet(status, q, measured)
            velocity.control_fleet(status, q, measured, LOOP_US * 1e-6)
        attitude.control_fleet(status, q, measured)
        rate.control_fleet(status, q, measured, dt)
    a = loops.allocation
    if values.shape[1] > 0:
        vector_fleet(
            status,
            q,
            records.vehicle,
            records.body,
            records.joint,
            records.actuator,
            records.half_wing,
            a.vectored,
            a.tiltrotor,
            a.forward_weight,
            a.weight,
            a.scale,
            a.low,
            a.high,
            values,
            places,
            dt,
            thrust,
            commands,
        )
    mix_fleet(
        status,
        q,
        records.actuator,
        a.mixer,
        a.gain,
        a.hessian,
        a.used,
        a.whole,
        a.vectored,
        a.t_max,
        a.n_rotors,
        thrust,
        commands,
    )


@njit
def _fly_geometric(v, action, to_place, measured, dt):
    """Writes torque and thrust of geometric control for one vehicle."""
    p, q, u, w, j = measured.pos, measured.quat, measured.vel, measured.ang_vel, v.inertia
    wx, wy, wz, yaw_rate = action[0], action[1], action[2], action[3]
    if to_place:
        wx, wy, wz, yaw_rate = (K_P * (wx - p[0]), K_P * (wy - p[1]), K_P * (wz - p[2]), 0.0)
        v.heading[0], v.heading[1] = math.cos(action[3]), math.sin(action[3])
    else:
        if v.heading[0] == 0.0 and v.heading[1] == 0.0:
            v.heading[0] = 1.0 - 2.0 * (q[1] * q[1] + q[2] * q[2])
            v.heading[1] = 2.0 * (q[3] * q[2] + q[0] * q[1])
        v.heading[0], v.heading[1] = rotate_heading(v.heading[0], v.heading[1], yaw_rate * dt)
    ax, ay, az = desired_acceleration(u[0], u[1], u[2], wx, wy, wz, GRAVITY)
    v.sp_thrust, v.sp_torque[0], v.sp_torque[1], v.sp_torque[2] = attitude_control(
        ax,
        ay,
        az,
        v.heading[0],
        v.heading[1],
        yaw_rate,
        q[0],
        q[1],
        q[2],
        q[3],
        w[0],
        w[1],
        w[2],
        v.mass,
        (j[0, 0], j[1, 1], j[2, 2], j[0, 1], j[0, 2], j[1, 2]),
    )


@njit
def _take(level, action, v):
    """Writes an action as the set-points of the loops."""
    for k in range(3):
        v.sp_pos[k] = v.sp_vel[k] = v.sp_acc[k] = math.nan
    v.sp_side_force[0] = v.sp_side_force[1] = 0.0
    v.sp_yaw = v.sp_yaw_rate = math.nan
    v.sp_kind = TRAJECTORY
    if level == AT_POSITION:
        for k in range(3):
            v.sp_pos[k] = action[k]
        v.sp_yaw = action[3]
    elif level == AT_VELOCITY:
        for k in range(3):
            v.sp_vel[k] = action[k]
        v.sp_yaw_rate = action[3]
    elif level == AT_ATTITUDE:
        v.sp_kind = ATTITUDE
        for k in range(4):
            v.sp_quat[k] = action[k]
        v.sp_thrust = thrust_newtons(v, min(max(action[4], 0.0), 1.0))
    else:
        v.sp_kind = RATES
        for k in range(3):
            v.sp_rates[k] = action[k]
        v.sp_thrust = thrust_newtons(v, min(max(action[3], 0.0), 1.0))


@njit
def recall(v: Any, memory: np.ndarray) -> None:
    """Copies what the loops keep into the record of a vehicle; memory (MEMORY_SIZE,)."""
    for k in range(3):
        v.vel_integral[k] = memory[VEL_INTEGRAL + k]
        v.rate_integral[k] = memory[RATE_INTEGRAL + k]
        v.acc_filtered[k] = memory[ACC_FILTERED + k]
    v.free_yaw = memory[FREE_YAW]
    v.heading[0], v.heading[1] = memory[HEADING], memory[HEADING + 1]
    for k in range(4):
        v.sp_quat[k] = memory[SP_QUAT + k]
    v.sp_side_force[0], v.sp_side_force[1] = memory[SP_SIDE_FORCE], memory[SP_SIDE_FORCE + 1]
    v.sp_thrust, v.sp_yaw_rate = memory[SP_THRUST], memory[SP_YAW_RATE]
    v.sp_kind = TRAJECTORY


@njit
def keep(v: Any, memory: np.ndarray) -> None:
    """The inverse of recall()."""
    for k in range(3):
        memory[VEL_INTEGRAL + k] = v.vel_integral[k]
        memory[RATE_INTEGRAL + k] = v.rate_integral[k]
        memory[ACC_FILTERED + k] = v.acc_filtered[k]
    memory[FREE_YAW] = v.free_yaw
    if math.isfinite(v.free_yaw):
        v.heading[0], v.heading[1] = math.cos(v.free_yaw), math.sin(v.free_yaw)
    memory[HEADING], memory[HEADING + 1] = v.heading[0], v.heading[1]
    for k in range(4):
        memory[SP_QUAT + k] = v.sp_quat[k]
    memory[SP_SIDE_FORCE], memory[SP_SIDE_FORCE + 1] = v.sp_side_force[0], v.sp_side_force[1]
    memory[SP_THRUST] = v.sp_thrust
    # No rate is a rate of 0 to the attitude loop; lanes compute with it.
    memory[SP_YAW_RATE] = v.sp_yaw_rate if math.isfinite(v.sp_yaw_rate) else 0.0


@njit
def filter_acceleration(v: Any, acc: np.ndarray, dt: float) -> None:
    """Low-passes the true acceleration (3,) for the damping of the velocity loop."""
    gain = dt / (ACC_FILTER_S + dt)
    for k in range(3):
        v.acc_filtered[k] += gain * (acc[k] - v.acc_filtered[k])
