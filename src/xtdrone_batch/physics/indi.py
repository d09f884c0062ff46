"""INDI in a batch: the loops of xtdrone_guidance.indi, with a memory for each vehicle."""

from typing import NamedTuple

import numpy as np

from xtdrone_core import FleetModel
from xtdrone_dynamics.abilities.effectiveness import effectiveness
from xtdrone_dynamics.compiled import Record, njit
from xtdrone_guidance.indi import rate_control, velocity_control
from xtdrone_guidance.indi.disturbance import actuator_lag, moves_rotors
from xtdrone_guidance.indi.wrench import compare_one, exert_one, set_joints, turn_columns

from ..arrays import STEP_US, Records

# Columns of the memory of a vehicle with A actuators; from ACTUATORS on speeds of rotors, positions
# of servos and the last commands, A of each.
RATE, FILTERS, FORCE, TORQUE, ACCELERATION, JERK, ACTUATORS = 0, 3, 9, 12, 15, 17, 19


class IndiModel(NamedTuple):
    """Constants of the vehicles of one environment."""

    columns: np.ndarray  # (V, 6, A) effectiveness
    lag_up: np.ndarray  # (V, A, 3)
    lag_down: np.ndarray  # (V, A, 3)
    gains: np.ndarray  # (V, 2) of the filters
    moves: np.ndarray  # (V,) bool, whose servos move rotors
    reach: np.ndarray  # (V, 3) torque beyond turn_max [N m]


def indi_model(model: FleetModel) -> IndiModel:
    """Returns the constants of the vehicles of one environment."""
    return IndiModel(
        effectiveness(model),
        *actuator_lag(model, STEP_US * 1e-6),
        moves_rotors(model),
        rate_control.rotor_reach(model),
    )


def memory_size(model: FleetModel) -> int:
    """Returns the number of columns of the memory."""
    return int(ACTUATORS + 3 * model.actuator.shape[1])


@njit
def measure(
    indi: IndiModel,
    records: Records,
    status: np.ndarray,
    estimate: np.ndarray,
    n_rotors: np.ndarray,
    dt: float,
    poses: np.ndarray,
    joint_pos: np.ndarray,
    thrust: np.ndarray,
    columns: np.ndarray,
    memory: np.ndarray,
) -> None:
    """Measures the disturbance of each vehicle, as Disturbance.step() does in the flight stack.

    Args:
        indi: The constants of M vehicles.
        records: The Records.
        status, estimate: (M,) CONTROL and ESTIMATE.
        n_rotors: (M,).
        dt: Length of the sub-step [s].
        poses, joint_pos, thrust: (M, B, 7), (M, J), (M, A) scratch.
        columns: (M, 6, A) effectiveness, updated where servos move rotors.
        memory: (M, K) updated.
    """
    width = columns.shape[2]
    positions, commands = ACTUATORS + width, ACTUATORS + 2 * width
    for m in range(status.shape[0]):
        exert_one(
            records.actuator[m],
            indi.lag_up[m],
            indi.lag_down[m],
            memory[m, commands : commands + width],
            dt,
            memory[m, ACTUATORS:positions],
            thrust[m],
            memory[m, positions:commands],
        )
        if indi.moves[m]:
            set_joints(records.actuator[m], memory[m, positions:commands], joint_pos[m])
    turn_columns(
        indi.moves,
        records.vehicle,
        records.body,
        records.joint,
        records.actuator,
        records.half_wing,
        joint_pos,
        thrust,
        poses,
        columns,
    )
    for m in range(status.shape[0]):
        accel = estimate[m].accel
        compare_one(
            status[m],
            estimate[m],
            (accel[0], accel[1], accel[2]),
            thrust[m],
            columns[m],
            n_rotors[m],
            indi.gains[m],
            dt,
            memory[m, RATE:FILTERS],
            memory[m, FILTERS:ACCELERATION],
        )


@njit
def control_velocity(
    status: Record, params: Record, estimate: Record, dt: float, memory: np.ndarray
) -> None:
    """Writes attitude and thrust set-points of a vehicle with memory (K,); dt is the loop's [s]."""
    velocity_control.control_one(
        status,
        params,
        estimate.vel,
        estimate.quat,
        memory[FORCE:TORQUE],
        1.0,
        dt,
        memory[ACCELERATION:JERK],
        memory[JERK:ACTUATORS],
    )


@njit
def control_rates(
    status: Record, params: Record, estimate: Record, reach: np.ndarray, memory: np.ndarray
) -> None:
    """Writes the torque set-point of a vehicle with memory (K,); reach: (3,) of IndiModel."""
    rate_control.control_one(status, params, estimate.ang_vel, memory[TORQUE:ACCELERATION], reach)


@njit
def remember(commands: np.ndarray, memory: np.ndarray) -> None:
    """Keeps the commands (M, A) that act until the next sub-step in the memory (M, K)."""
    width = commands.shape[1]
    for m in range(commands.shape[0]):
        for k in range(width):
            memory[m, ACTUATORS + 2 * width + k] = commands[m, k]
