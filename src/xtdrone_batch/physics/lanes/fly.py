"""Multirotors of one body in lanes: a block of vehicles of one type in the vector unit at a time.

Each loop here runs over the lanes of one block in a flat scratch array, field by field, and calls
the scalar functions of the dynamics and of the flight stack. Such loops are compiled to vector
instructions as they stand; see xtdrone_dynamics.lanes for what must hold.
"""

from typing import NamedTuple, TypeVar

import numpy as np

from xtdrone_autopilot.state.clock import LOOP_US
from xtdrone_dynamics.constants import SEA_LEVEL_DENSITY
from xtdrone_dynamics.lanes import flush_denormals, kernel_in_lanes

from ...arrays import BatchState, Variation
from ...levels import AT_ACTUATOR, AT_POSITION, AT_RATES, AT_VELOCITY
from ..control import CASCADE, GEOMETRIC, INDI
from .control import (
    begin_mix,
    control_attitude,
    control_geometric,
    control_position,
    control_rates,
    filter_acceleration,
    mix_collective,
    mix_range,
    mix_tilt,
    mix_yaw,
)
from .dynamics import accelerations, add_rotor, advance_poses, advance_velocities, begin_forces
from .indi import control_force, control_torque, measure
from .layout import (
    AREAS,
    DRAG,
    FILTER_S,
    GROUP,
    POLY,
    QUAT,
    R_MAX_THRUST,
    ROTOR_ROWS,
    ROWS,
    SCALE,
    L,
    LaneModel,
)
from .memory import load_block, store_block

_Arrays = TypeVar("_Arrays", bound=NamedTuple)


def _command(
    block: np.ndarray,
    rotor_block: np.ndarray,
    vehicle: np.ndarray,
    rotor_params: np.ndarray,
    rotors: int,
    level: int,
    controller: int,
    max_thrust: float,
    velocity_loop_due: bool,
    dt: float,
    loop_s: float,
) -> None:
    """Computes the commands of the rotors from the actions in the scratch."""
    at_position = 1.0 if level == AT_POSITION else 0.0
    if controller == INDI:
        measure(block, rotor_block, vehicle, rotor_params, rotors, dt)
    if controller == GEOMETRIC and level >= AT_VELOCITY:
        control_geometric(block, vehicle, at_position, dt)
    else:
        if level >= AT_VELOCITY and controller == CASCADE:
            filter_acceleration(block, dt / (FILTER_S + dt))
        if level >= AT_VELOCITY and velocity_loop_due:
            if controller == INDI:
                control_force(block, vehicle, at_position, loop_s)
            else:
                control_position(block, vehicle, at_position, loop_s)
        if level != AT_RATES:
            control_attitude(block, vehicle)
        if controller == INDI:
            control_torque(block, vehicle)
        else:
            control_rates(block, vehicle, dt)
    begin_mix(block)
    for r in range(0, rotors, GROUP):
        mix_tilt(block, rotor_block[r : r + GROUP], rotor_params[r : r + GROUP])
    mix_range(block, max_thrust)
    for r in range(0, rotors, GROUP):
        mix_collective(block, rotor_block[r : r + GROUP], rotor_params[r : r + GROUP])
    for r in range(0, rotors, GROUP):
        mix_yaw(block, rotor_block[r : r + GROUP], rotor_params[r : r + GROUP])


def fly(
    lanes: LaneModel,
    i: int,
    rows: np.ndarray,
    state: BatchState,
    variation: Variation,
    memory: np.ndarray,
    indi: np.ndarray,
    action: np.ndarray,
    level: int,
    controller: int,
    dt: float,
    loop_s: float,
    t_us: int,
    dt_us: int,
    sub_steps: int,
) -> None:
    """Advances vehicles of one type.

    Args:
        lanes: The LaneModel.
        i: Index of a vehicle of their type in its environment.
        rows: (M,) uint64, indices of the vehicles in the flat batch.
        state, variation: BatchState and Variation of flat arrays, see flat().
        memory, indi: Flat memory of the LoopState, and that of INDI.
        action: Flat (N, K).
        level: One of the AT_ constants.
        controller: CASCADE, GEOMETRIC or INDI, which flies them.
        dt, loop_s: Length of a sub-step and of a step of the velocity loop [s], in the type of
            the lanes.
        t_us: Simulated time at the start [us].
        dt_us: Length of a sub-step [us].
        sub_steps: Number of sub-steps.
    """
    rotors, real = lanes.rotors[i], lanes.vehicle.dtype
    block, rotor_block = np.zeros(ROWS, real), np.zeros((lanes.rotor.shape[1], ROTOR_ROWS), real)
    block[QUAT + 3 * L : QUAT + 4 * L] = 1.0
    block[SCALE : SCALE + L] = 1.0
    flush_denormals(block.itemsize == 4)
    for begin in range(0, len(rows), L):
        fly_block(
            block,
            rotor_block,
            lanes.vehicle[i],
            lanes.rotor[i],
            rotors,
            rows[begin : begin + L],
            state,
            variation,
            memory,
            indi,
            action,
            level,
            controller,
            dt,
            loop_s,
            t_us,
            dt_us,
            sub_steps,
        )
    flush_denormals(False)


def fly_block(
    block: np.ndarray,
    rotor_block: np.ndarray,
    vehicle: np.ndarray,
    rotor_params: np.ndarray,
    rotors: int,
    rows: np.ndarray,
    state: BatchState,
    variation: Variation,
    memory: np.ndarray,
    indi: np.ndarray,
    action: np.ndarray,
    level: int,
    controller: int,
    dt: float,
    loop_s: float,
    t_us: int,
    dt_us: int,
    sub_steps: int,
) -> None:
    """Advances one block of vehicles.

    Args:
        block, rotor_block: (ROWS,) and (A, ROTOR_ROWS) scratch.
        vehicle, rotor_params: (CONSTANTS,) and (A, ROTOR_CONSTANTS) of their type.
        rotors: Number of rotors.
        rows: (M,) with M up to L.
        state, variation, memory, indi, action, level, controller, dt, loop_s, t_us, dt_us,
            sub_steps: See fly().
    """
    max_thrust = rotor_params[0, R_MAX_THRUST]
    for r in range(rotors):
        max_thrust = min(max_thrust, rotor_params[r, R_MAX_THRUST])
    width = state.actuator.size // variation.mass.size
    load_block(
        block,
        rotor_block,
        state,
        variation,
        memory,
        indi,
        action,
        vehicle[POLY : POLY + 3],
        rotors,
        width,
        level,
        controller,
        rows,
    )
    for s in range(sub_steps):
        if level != AT_ACTUATOR:
            _command(
                block,
                rotor_block,
                vehicle,
                rotor_params,
                rotors,
                level,
                controller,
                max_thrust,
                (t_us + s * dt_us) % LOOP_US == 0,
                dt,
                loop_s,
            )
        begin_forces(
            block,
            vehicle[DRAG],
            vehicle[DRAG + 1],
            vehicle[DRAG + 2],
            vehicle[AREAS],
            vehicle[AREAS + 1],
            vehicle[AREAS + 2],
            SEA_LEVEL_DENSITY,
        )
        for r in range(rotors):
            add_rotor(block, rotor_block[r], rotor_params[r])
        advance_velocities(block, vehicle, dt)
        advance_poses(block, dt)
        if controller == INDI or (level >= AT_VELOCITY and controller == CASCADE):
            accelerations(block, dt)
    store_block(block, rotor_block, state, memory, indi, rotors, width, level, controller, rows, dt)


FLY = {real: kernel_in_lanes(fly, real) for real in (np.float32, np.float64)}


def flat(arrays: _Arrays) -> _Arrays:
    """Returns a tuple of flat views of arrays."""
    return type(arrays)._make(array.reshape(-1) for array in arrays)
