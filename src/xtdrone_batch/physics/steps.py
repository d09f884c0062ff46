"""The step of a batch: a chunk of environments at a time on each thread, sub-steps inside.

A chunk is stepped by the kernels of the lockstep fleet, so that there is one physics; only the
motion of bodies and the contacts are the batch's own.
"""

from typing import NamedTuple

import numpy as np

from xtdrone_dynamics import quaternion, rigid_body
from xtdrone_dynamics.compiled import njit
from xtdrone_dynamics.constants import SEA_LEVEL_DENSITY
from xtdrone_sim.engines.body import place_fleet
from xtdrone_sim.plant.actuators import add_downwash, add_half_wings, add_wings, step_actuators
from xtdrone_sim.plant.ground import add_tyres
from xtdrone_sim.plant.water import add_hulls

from ..arrays import Air, BatchState, Records, Variation
from ..levels import AT_ACTUATOR
from .contacts import MAX_CONTACTS, touch_each_other, touch_objects
from .control import (
    CONTROL,
    ESTIMATE,
    Loops,
    LoopState,
    Scratch,
    command,
    filter_acceleration,
    load_memory,
    store_memory,
)
from .joints import accelerate_jointed

CHUNK = 32  # vehicles in a chunk; an environment that has more is a chunk of its own
MAX_SPEED, MAX_RATE = 1000.0, 500.0  # limits of the embedded engine, too [m/s], [rad/s]


class Chunk(NamedTuple):
    """The M vehicles of a chunk, in double precision; each thread has its own."""

    status: np.ndarray  # (M,) CONTROL
    estimate: np.ndarray  # (M,) MEASURED
    commands: np.ndarray  # (M, A)
    thrust: np.ndarray  # (M, A)
    values: np.ndarray  # (M, A) of LoopState
    servo_pos: np.ndarray  # (M, A)
    action: np.ndarray  # (M, K)
    pos: np.ndarray  # (M, 3), and so on as in BatchState
    quat: np.ndarray
    vel: np.ndarray
    ang_vel: np.ndarray
    acc: np.ndarray
    actuator: np.ndarray
    joint_pos: np.ndarray
    joint_vel: np.ndarray
    contact: np.ndarray
    tyre_load: np.ndarray
    tread: np.ndarray
    wind: np.ndarray
    air: np.ndarray  # (M, 3) wind with the wakes of others [m/s]
    mass: np.ndarray  # (M,) of Variation
    effectiveness: np.ndarray  # (M, A)
    body_pos: np.ndarray  # (M, B, 3), and so on as in FleetState
    body_quat: np.ndarray
    body_vel: np.ndarray
    body_rate: np.ndarray
    wrench: np.ndarray  # (M, B, 6)
    targets: np.ndarray  # (M, J)
    old_joint_vel: np.ndarray  # (M, J)
    joint_acc: np.ndarray  # (M, J)
    body_acc: np.ndarray  # (M, B, 3) scratch of joints.accelerate_jointed()
    body_spin: np.ndarray  # (M, B, 3)
    system: np.ndarray  # (M, 6, 6)
    unknowns: np.ndarray  # (M, 6)
    power: np.ndarray  # (M,)
    speed_limit: np.ndarray  # (M,) fraction of the rotors' speed that the battery allows
    density: np.ndarray  # (M,)
    rows: np.ndarray  # (MAX_CONTACTS, 16) of contacts
    indi: np.ndarray  # (M, K), and so on as in control.Scratch
    columns: np.ndarray
    poses: np.ndarray
    indi_joint_pos: np.ndarray
    exerted: np.ndarray


def new_chunk(records: Records, loops: Loops, loop_state: LoopState, width: int) -> Chunk:
    """Returns the arrays of a chunk.

    Args:
        records: Records of the M vehicles.
        loops: Their Loops.
        loop_state: That of the batch.
        width: Size of an action.
    """
    (m, bodies), joints = records.body.shape, records.joint.shape[1]
    actuators, tyres = records.actuator.shape[1], records.tyre.shape[1]
    vectored = loop_state.values.shape[2]
    zeros = {
        "commands": (m, actuators),
        "thrust": (m, actuators),
        "values": (m, vectored),
        "servo_pos": (m, vectored),
        "action": (m, width),
        "pos": (m, 3),
        "quat": (m, 4),
        "vel": (m, 3),
        "ang_vel": (m, 3),
        "acc": (m, 3),
        "actuator": (m, actuators),
        "joint_pos": (m, joints),
        "joint_vel": (m, joints),
        "contact": (m, 3),
        "tyre_load": (m, tyres, 3),
        "tread": (m, tyres, 2),
        "wind": (m, 3),
        "air": (m, 3),
        "effectiveness": (m, actuators),
        "body_pos": (m, bodies, 3),
        "body_quat": (m, bodies, 4),
        "body_vel": (m, bodies, 3),
        "body_rate": (m, bodies, 3),
        "wrench": (m, bodies, 6),
        "targets": (m, joints),
        "old_joint_vel": (m, joints),
        "joint_acc": (m, joints),
        "body_acc": (m, bodies, 3),
        "body_spin": (m, bodies, 3),
        "system": (m, 6, 6),
        "unknowns": (m, 6),
        "power": (m,),
        "rows": (MAX_CONTACTS, 16),
        "indi": (m, loop_state.indi.shape[2]),
        "poses": (m, bodies, 7),
        "indi_joint_pos": (m, joints),
        "exerted": (m, actuators),
    }
    arrays = {name: np.zeros(shape) for name, shape in zeros.items()}
    arrays["quat"][:, 3] = arrays["poses"][:, :, 6] = 1.0
    return Chunk(
        status=loops.status.astype(CONTROL),
        columns=loops.indi_model.columns.copy(),
        estimate=np.zeros(m, dtype=ESTIMATE),
        mass=np.ones(m),
        speed_limit=np.ones(m),
        density=np.full(m, SEA_LEVEL_DENSITY),
        **arrays,
    )


@njit(nogil=True)
def step(
    records: Records,
    air: Air,
    state: BatchState,
    variation: Variation,
    loops: Loops,
    loop_state: LoopState,
    objects: np.ndarray,
    action: np.ndarray,
    t_us: int,
    dt_us: int,
    sub_steps: int,
    which: np.ndarray,
    chunk: Chunk,
) -> None:
    """Advances some environments by some sub-steps under one action.

    Args:
        records, loops: Records and Loops of the M vehicles of a chunk: some environments.
        air, state, variation: See arrays.
        loop_state: See control.
        objects: (E, O) or (1, O) scenes.object_dtype; one row serves all environments.
        action: (E, V, K).
        t_us: Simulated time at the start [us].
        dt_us: Length of a sub-step [us].
        sub_steps: Number of sub-steps.
        which: Indices of the environments; several threads call this for different ones.
        chunk: The Chunk of this thread.
    """
    vehicles = state.pos.shape[1]
    environments = records.vehicle.shape[0] // vehicles
    for begin in range(0, len(which), environments):
        chosen = which[begin : begin + environments]
        for k in range(len(chosen)):
            for i in range(vehicles):
                _load(chunk, k * vehicles + i, state, variation, loop_state, action, chosen[k], i)
        for s in range(sub_steps):
            _accelerate(records, air, loops, chunk, vehicles, t_us + s * dt_us, dt_us * 1e-6)
            _touch(records, chunk, objects, chosen, vehicles, dt_us * 1e-6)
            _displace(chunk, dt_us * 1e-6)
        for k in range(len(chosen)):
            for i in range(vehicles):
                _store(chunk, k * vehicles + i, state, loop_state, chosen[k], i, sub_steps)


@njit
def _load(
    chunk: Chunk,
    m: int,
    state: BatchState,
    variation: Variation,
    loop_state: LoopState,
    action: np.ndarray,
    e: int,
    i: int,
) -> None:
    """Loads vehicle i of environment e into row m of the chunk."""
    for k in range(3):
        chunk.pos[m, k], chunk.vel[m, k] = state.pos[e, i, k], state.vel[e, i, k]
        chunk.ang_vel[m, k], chunk.acc[m, k] = state.ang_vel[e, i, k], state.acc[e, i, k]
        chunk.wind[m, k], chunk.contact[m, k] = state.wind[e, i, k], 0.0
    for k in range(4):
        chunk.quat[m, k] = state.quat[e, i, k]
    for k in range(chunk.actuator.shape[1]):
        chunk.actuator[m, k] = state.actuator[e, i, k]
        chunk.effectiveness[m, k] = variation.effectiveness[e, i, k]
    chunk.mass[m] = variation.mass[e, i]
    for k in range(chunk.joint_pos.shape[1]):
        chunk.joint_pos[m, k], chunk.joint_vel[m, k] = (
            state.joint_pos[e, i, k],
            state.joint_vel[e, i, k],
        )
    for t in range(chunk.tread.shape[1]):
        for k in range(3):
            chunk.tyre_load[m, t, k] = state.tyre_load[e, i, t, k]
        for k in range(2):
            chunk.tread[m, t, k] = state.tread[e, i, t, k]
    for k in range(chunk.action.shape[1]):
        chunk.action[m, k] = action[e, i, k]
    for k in range(chunk.values.shape[1]):
        chunk.values[m, k] = loop_state.values[e, i, k]
        chunk.servo_pos[m, k] = loop_state.servo_pos[e, i, k]
    for k in range(chunk.indi.shape[1]):
        chunk.indi[m, k] = loop_state.indi[e, i, k]
    load_memory(chunk.status[m], loop_state.memory[e, i])


@njit
def _store(
    chunk: Chunk, m: int, state: BatchState, loop_state: LoopState, e: int, i: int, sub_steps: int
) -> None:
    """Stores row m of the chunk back into vehicle i of environment e."""
    for k in range(3):
        state.pos[e, i, k], state.vel[e, i, k] = chunk.pos[m, k], chunk.vel[m, k]
        state.ang_vel[e, i, k], state.acc[e, i, k] = chunk.ang_vel[m, k], chunk.acc[m, k]
        state.contact[e, i, k] = chunk.contact[m, k] / sub_steps
    for k in range(4):
        state.quat[e, i, k] = chunk.quat[m, k]
    for k in range(chunk.actuator.shape[1]):
        state.actuator[e, i, k] = chunk.actuator[m, k]
    for k in range(chunk.joint_pos.shape[1]):
        state.joint_pos[e, i, k], state.joint_vel[e, i, k] = (
            chunk.joint_pos[m, k],
            chunk.joint_vel[m, k],
        )
    for t in range(chunk.tread.shape[1]):
        for k in range(3):
            state.tyre_load[e, i, t, k] = chunk.tyre_load[m, t, k]
        for k in range(2):
            state.tread[e, i, t, k] = chunk.tread[m, t, k]
    for k in range(chunk.values.shape[1]):
        loop_state.values[e, i, k] = chunk.values[m, k]
        loop_state.servo_pos[e, i, k] = chunk.servo_pos[m, k]
    for k in range(chunk.indi.shape[1]):
        loop_state.indi[e, i, k] = chunk.indi[m, k]
    store_memory(chunk.status[m], loop_state.memory[e, i])


@njit
def _accelerate(
    records: Records, air: Air, loops: Loops, chunk: Chunk, vehicles: int, t_us: int, dt: float
) -> None:
    """Computes commands and forces; advances velocities to the end of a sub-step, no contacts."""
    for m in range(chunk.pos.shape[0]):
        estimate = chunk.estimate[m]
        for k in range(3):
            estimate.pos[k], estimate.vel[k], estimate.ang_vel[k] = (
                chunk.pos[m, k],
                chunk.vel[m, k],
                chunk.ang_vel[m, k],
            )
            chunk.body_pos[m, 0, k], chunk.body_vel[m, 0, k] = chunk.pos[m, k], chunk.vel[m, k]
            chunk.body_rate[m, 0, k], chunk.air[m, k] = chunk.ang_vel[m, k], chunk.wind[m, k]
        for k in range(4):
            estimate.quat[k] = chunk.body_quat[m, 0, k] = chunk.quat[m, k]
        if loops.level != AT_ACTUATOR:
            filter_acceleration(chunk.status[m], chunk.acc[m], dt)
            estimate.accel[0], estimate.accel[1], estimate.accel[2] = quaternion.rotate_inverse(
                chunk.quat[m, 0],
                chunk.quat[m, 1],
                chunk.quat[m, 2],
                chunk.quat[m, 3],
                chunk.acc[m, 0],
                chunk.acc[m, 1],
                chunk.acc[m, 2] + air.gravity,
            )
    if records.joint.shape[1] > 0:
        place_fleet(
            records.vehicle,
            records.body,
            records.joint,
            chunk.pos,
            chunk.quat,
            chunk.vel,
            chunk.ang_vel,
            chunk.joint_pos,
            chunk.joint_vel,
            chunk.body_pos,
            chunk.body_quat,
            chunk.body_vel,
            chunk.body_rate,
        )
    command(
        loops,
        chunk.action,
        chunk.status,
        chunk.thrust,
        chunk.values,
        chunk.servo_pos,
        records,
        chunk.estimate,
        t_us,
        dt,
        Scratch(chunk.indi, chunk.columns, chunk.poses, chunk.indi_joint_pos, chunk.exerted),
        chunk.commands,
    )
    if records.base[0].wakes:
        for m in range(0, chunk.pos.shape[0], vehicles):
            n = m + vehicles
            add_downwash(
                records.vehicle[m:n],
                records.actuator[m:n],
                records.effects[m:n],
                chunk.effectiveness[m:n],
                chunk.pos[m:n],
                chunk.actuator[m:n],
                chunk.density[m:n],
                chunk.air[m:n],
            )
    step_actuators(
        chunk.commands,
        records.vehicle,
        records.actuator,
        records.effects,
        records.propellers,
        air.altitude,
        air.water,
        chunk.speed_limit,
        chunk.effectiveness,
        chunk.body_pos,
        chunk.body_quat,
        chunk.body_vel,
        chunk.body_rate,
        chunk.air,
        chunk.density,
        dt,
        chunk.actuator,
        chunk.wrench,
        chunk.targets,
        chunk.power,
    )
    add_wings(
        records.vehicle,
        records.wing,
        records.actuator,
        records.effects,
        chunk.effectiveness,
        chunk.body_quat,
        chunk.body_vel,
        chunk.body_rate,
        chunk.air,
        chunk.density,
        chunk.actuator,
        chunk.wrench,
    )
    add_half_wings(
        records.vehicle,
        records.half_wing,
        records.actuator,
        chunk.effectiveness,
        chunk.body_quat,
        chunk.body_vel,
        chunk.body_rate,
        chunk.air,
        chunk.density,
        chunk.actuator,
        chunk.wrench,
    )
    add_tyres(
        records.vehicle,
        records.tyre,
        chunk.tyre_load,
        chunk.body_quat,
        chunk.body_vel,
        chunk.body_rate,
        chunk.actuator,
        chunk.tread,
        dt,
        chunk.wrench,
    )
    add_hulls(
        records.vehicle,
        records.hull,
        air.water,
        air.water_weight,
        chunk.body_pos,
        chunk.body_quat,
        chunk.body_vel,
        chunk.body_rate,
        chunk.wrench,
    )
    for m in range(chunk.pos.shape[0]):
        if records.base[m].moves:
            _move_joints(
                records.vehicle[m].joints,
                chunk.targets[m],
                chunk.joint_pos[m],
                chunk.joint_vel[m],
                chunk.old_joint_vel[m],
                chunk.joint_acc[m],
                dt,
            )
            accelerate_jointed(
                records,
                m,
                chunk.mass[m],
                air.gravity,
                chunk.wrench[m],
                chunk.body_pos[m],
                chunk.body_quat[m],
                chunk.body_rate[m],
                chunk.old_joint_vel[m],
                chunk.joint_acc[m],
                chunk.body_acc[m],
                chunk.body_spin[m],
                chunk.system[m],
                chunk.unknowns[m],
                chunk.vel[m],
                chunk.ang_vel[m],
                dt,
            )
        else:
            _accelerate_free(records, air, chunk, m, dt)


@njit
def _accelerate_free(records: Records, air: Air, chunk: Chunk, m: int, dt: float) -> None:
    """Advances the velocities of a vehicle of one body."""
    base, scale = records.base[m], chunk.mass[m]
    inertia, inverse = base.inertia, base.inverse
    tx, ty, tz = quaternion.rotate_inverse(
        chunk.quat[m, 0],
        chunk.quat[m, 1],
        chunk.quat[m, 2],
        chunk.quat[m, 3],
        chunk.wrench[m, 0, 3],
        chunk.wrench[m, 0, 4],
        chunk.wrench[m, 0, 5],
    )
    velocities = rigid_body.accelerate(
        chunk.vel[m, 0],
        chunk.vel[m, 1],
        chunk.vel[m, 2],
        chunk.ang_vel[m, 0],
        chunk.ang_vel[m, 1],
        chunk.ang_vel[m, 2],
        (
            chunk.wrench[m, 0, 0] / scale,
            chunk.wrench[m, 0, 1] / scale,
            chunk.wrench[m, 0, 2] / scale,
        ),
        (tx / scale, ty / scale, tz / scale),
        records.vehicle[m].mass,
        (inertia[0], inertia[1], inertia[2], inertia[3], inertia[4], inertia[5]),
        (inverse[0], inverse[1], inverse[2], inverse[3], inverse[4], inverse[5]),
        air.gravity,
        dt,
    )
    for k in range(3):
        chunk.vel[m, k] = min(max(velocities[k], -MAX_SPEED), MAX_SPEED)
        chunk.ang_vel[m, k] = min(max(velocities[3 + k], -MAX_RATE), MAX_RATE)


@njit
def _move_joints(
    count: int,
    target: np.ndarray,
    pos: np.ndarray,
    vel: np.ndarray,
    old_vel: np.ndarray,
    acc: np.ndarray,
    dt: float,
) -> None:
    """Moves joints to their targets; writes their speeds before and their accelerations."""
    for j in range(count):
        old_vel[j] = vel[j]
        acc[j] = -vel[j] / dt - (pos[j] - target[j]) / (dt * dt)
        vel[j] = (target[j] - pos[j]) / dt
        pos[j] = target[j]


@njit
def _touch(
    records: Records,
    chunk: Chunk,
    objects: np.ndarray,
    chosen: np.ndarray,
    vehicles: int,
    dt: float,
) -> None:
    """Applies the contacts of the chunk's environments."""
    for k in range(len(chosen)):
        first = k * vehicles
        if vehicles > 1:
            last = first + vehicles
            touch_each_other(
                records.base[first:last],
                records.vehicle[first:last],
                chunk.mass[first:last],
                chunk.pos[first:last],
                chunk.vel[first:last],
                chunk.contact[first:last],
                dt,
            )
        row = objects[chosen[k] if objects.shape[0] > 1 else 0]
        for m in range(first, first + vehicles):
            touch_objects(
                records,
                row,
                records.point[m],
                records.base[m],
                chunk.mass[m] * records.vehicle[m].mass,
                chunk.mass[m],
                chunk.pos[m],
                chunk.quat[m],
                chunk.vel[m],
                chunk.ang_vel[m],
                chunk.contact[m],
                chunk.tyre_load[m],
                chunk.rows,
                dt,
            )


@njit
def _displace(chunk: Chunk, dt: float) -> None:
    """Advances the poses to the end of the sub-step."""
    for m in range(chunk.pos.shape[0]):
        pos, quat, vel, ang_vel = chunk.pos[m], chunk.quat[m], chunk.vel[m], chunk.ang_vel[m]
        for k in range(3):
            chunk.acc[m, k] = (vel[k] - chunk.estimate[m].vel[k]) / dt
        pos[0], pos[1], pos[2], quat[0], quat[1], quat[2], quat[3] = rigid_body.displace(
            pos[0],
            pos[1],
            pos[2],
            quat[0],
            quat[1],
            quat[2],
            quat[3],
            vel[0],
            vel[1],
            vel[2],
            ang_vel[0],
            ang_vel[1],
            ang_vel[2],
            dt,
        )
