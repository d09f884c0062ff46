"""The step of a batch: a chunk of environments at a time on each thread, sub-steps inside.

A chunk is stepped by the kernels of the lockstep fleet, so that there is one physics; only the
motion of bodies and the contacts are the batch's own.
"""

from typing import Any, NamedTuple

import numpy as np

from xtdrone_dynamics import quaternion, rigid_body
from xtdrone_dynamics.compiled import njit
from xtdrone_dynamics.constants import SEA_LEVEL_DENSITY
from xtdrone_sim.engines.body import place_fleet
from xtdrone_sim.plant.actuators import add_downwash, add_half_wings, add_wings, step_actuators
from xtdrone_sim.plant.ground import add_tyres
from xtdrone_sim.plant.water import add_hulls

from ..arrays import Records
from ..levels import AT_ACTUATOR
from .contacts import MAX, touch_each_other, touch_objects
from .control import CONTROL, MEASURED, command, filter_acceleration, keep, recall
from .joints import accelerate_jointed

CHUNK = 32  # vehicles in a chunk; an environment that has more is a chunk of its own
MAX_SPEED, MAX_RATE = 1000.0, 500.0  # limits of the embedded engine, too [m/s], [rad/s]


class Chunk(NamedTuple):
    """The M vehicles of a chunk, in double precision; each thread has its own."""

    status: np.ndarray  # (M,) CONTROL
    measured: np.ndarray  # (M,) MEASURED
    commands: np.ndarray  # (M, A)
    thrust: np.ndarray  # (M, A)
    values: np.ndarray  # (M, A) of LoopState
    position: np.ndarray  # (M, A)
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
    share: np.ndarray  # (M,)
    density: np.ndarray  # (M,)
    rows: np.ndarray  # (MAX, 16) of contacts


def new_chunk(records: Records, status: np.ndarray, width: int, vectored: int) -> Chunk:
    """The arrays of a chunk.

    Args:
        records: Of the M vehicles.
        status: (M,) CONTROL at the start.
        width: Of an action.
        vectored: Actuators in LoopState.values, 0 without vectored vehicles.
    """
    (m, bodies), joints = records.body.shape, records.joint.shape[1]
    actuators, tyres = records.actuator.shape[1], records.tyre.shape[1]
    zeros = {
        "commands": (m, actuators),
        "thrust": (m, actuators),
        "values": (m, vectored),
        "position": (m, vectored),
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
        "rows": (MAX, 16),
    }
    found = {name: np.zeros(shape) for name, shape in zeros.items()}
    found["quat"][:, 3] = 1.0
    return Chunk(
        status=status.astype(CONTROL),
        measured=np.zeros(m, dtype=MEASURED),
        mass=np.ones(m),
        share=np.ones(m),
        density=np.full(m, SEA_LEVEL_DENSITY),
        **found,
    )


@njit(nogil=True)
def step(
    records: Any,
    air: Any,
    state: Any,
    variation: Any,
    loops: Any,
    loop_state: Any,
    objects: np.ndarray,
    action: np.ndarray,
    t_us: int,
    dt_us: int,
    sub_steps: int,
    which: np.ndarray,
    chunk: Any,
) -> None:
    """Advances some environments by some sub-steps under one action.

    Args:
        records, loops: Of the M vehicles of a chunk: those of some environments.
        air, state, variation: See arrays.
        loop_state: See control.
        objects: (E, O) or (1, O) scenes.object_dtype; one row serves all environments.
        action: (E, V, K).
        t_us: Simulated time at the start [us].
        dt_us: Of a sub-step [us].
        sub_steps: How many.
        which: Indices of the environments; several threads call this for different ones.
        chunk: The Chunk of this thread.
    """
    v = state.pos.shape[1]
    most = records.vehicle.shape[0] // v
    for begin in range(0, len(which), most):
        chosen = which[begin : begin + most]
        for k in range(len(chosen)):
            for i in range(v):
                _load(chunk, k * v + i, state, variation, loop_state, action, chosen[k], i)
        for s in range(sub_steps):
            _accelerate(records, air, loops, chunk, v, t_us + s * dt_us, dt_us * 1e-6)
            _touch(records, chunk, objects, chosen, v, dt_us * 1e-6)
            _displace(chunk, dt_us * 1e-6)
        for k in range(len(chosen)):
            for i in range(v):
                _store(chunk, k * v + i, state, loop_state, chosen[k], i, sub_steps)


@njit
def _load(c, m, state, variation, loop_state, action, e, i):
    """Vehicle i of environment e into row m of the chunk."""
    for k in range(3):
        c.pos[m, k], c.vel[m, k] = state.pos[e, i, k], state.vel[e, i, k]
        c.ang_vel[m, k], c.acc[m, k] = state.ang_vel[e, i, k], state.acc[e, i, k]
        c.wind[m, k], c.contact[m, k] = state.wind[e, i, k], 0.0
    for k in range(4):
        c.quat[m, k] = state.quat[e, i, k]
    for k in range(c.actuator.shape[1]):
        c.actuator[m, k] = state.actuator[e, i, k]
        c.effectiveness[m, k] = variation.effectiveness[e, i, k]
    c.mass[m] = variation.mass[e, i]
    for k in range(c.joint_pos.shape[1]):
        c.joint_pos[m, k], c.joint_vel[m, k] = state.joint_pos[e, i, k], state.joint_vel[e, i, k]
    for t in range(c.tread.shape[1]):
        for k in range(3):
            c.tyre_load[m, t, k] = state.tyre_load[e, i, t, k]
        for k in range(2):
            c.tread[m, t, k] = state.tread[e, i, t, k]
    for k in range(c.action.shape[1]):
        c.action[m, k] = action[e, i, k]
    for k in range(c.values.shape[1]):
        c.values[m, k] = loop_state.values[e, i, k]
        c.position[m, k] = loop_state.position[e, i, k]
    recall(c.status[m], loop_state.memory[e, i])


@njit
def _store(c, m, state, loop_state, e, i, sub_steps):
    """Row m of the chunk back into vehicle i of environment e."""
    for k in range(3):
        state.pos[e, i, k], state.vel[e, i, k] = c.pos[m, k], c.vel[m, k]
        state.ang_vel[e, i, k], state.acc[e, i, k] = c.ang_vel[m, k], c.acc[m, k]
        state.contact[e, i, k] = c.contact[m, k] / sub_steps
    for k in range(4):
        state.quat[e, i, k] = c.quat[m, k]
    for k in range(c.actuator.shape[1]):
        state.actuator[e, i, k] = c.actuator[m, k]
    for k in range(c.joint_pos.shape[1]):
        state.joint_pos[e, i, k], state.joint_vel[e, i, k] = c.joint_pos[m, k], c.joint_vel[m, k]
    for t in range(c.tread.shape[1]):
        for k in range(3):
            state.tyre_load[e, i, t, k] = c.tyre_load[m, t, k]
        for k in range(2):
            state.tread[e, i, t, k] = c.tread[m, t, k]
    for k in range(c.values.shape[1]):
        loop_state.values[e, i, k] = c.values[m, k]
        loop_state.position[e, i, k] = c.position[m, k]
    keep(c.status[m], loop_state.memory[e, i])


@njit
def _accelerate(records, air, loops, c, v, t_us, dt):
    """Commands, forces, and the velocities at the end of a sub-step without contacts."""
    for m in range(c.pos.shape[0]):
        to = c.measured[m]
        for k in range(3):
            to.pos[k], to.vel[k], to.ang_vel[k] = c.pos[m, k], c.vel[m, k], c.ang_vel[m, k]
            c.body_pos[m, 0, k], c.body_vel[m, 0, k] = c.pos[m, k], c.vel[m, k]
            c.body_rate[m, 0, k], c.air[m, k] = c.ang_vel[m, k], c.wind[m, k]
        for k in range(4):
            to.quat[k] = c.body_quat[m, 0, k] = c.quat[m, k]
        if loops.level != AT_ACTUATOR:
            filter_acceleration(c.status[m], c.acc[m], dt)
    if records.joint.shape[1] > 0:
        place_fleet(
            records.vehicle,
            records.body,
            records.joint,
            c.pos,
            c.quat,
            c.vel,
            c.ang_vel,
            c.joint_pos,
            c.joint_vel,
            c.body_pos,
            c.body_quat,
            c.body_vel,
            c.body_rate,
        )
    command(
        loops,
        c.action,
        c.status,
        c.thrust,
        c.values,
        c.position,
        records,
        c.measured,
        t_us,
        dt,
        c.commands,
    )
    if records.base[0].wakes:
        for m in range(0, c.pos.shape[0], v):
            n = m + v
            add_downwash(
                records.vehicle[m:n],
                records.actuator[m:n],
                records.effects[m:n],
                c.effectiveness[m:n],
                c.pos[m:n],
                c.actuator[m:n],
                c.density[m:n],
                c.air[m:n],
            )
    step_actuators(
        c.commands,
        records.vehicle,
        records.actuator,
        records.effects,
        air.altitude,
        air.water,
        c.share,
        c.effectiveness,
        c.body_pos,
        c.body_quat,
        c.body_vel,
        c.body_rate,
        c.air,
        c.density,
        dt,
        c.actuator,
        c.wrench,
        c.targets,
        c.power,
    )
    add_wings(
        records.vehicle,
        records.wing,
        records.actuator,
        records.effects,
        c.effectiveness,
        c.body_quat,
        c.body_vel,
        c.body_rate,
        c.air,
        c.density,
        c.actuator,
        c.wrench,
    )
    add_half_wings(
        records.vehicle,
        records.half_wing,
        records.actuator,
        c.effectiveness,
        c.body_quat,
        c.body_vel,
        c.body_rate,
        c.air,
        c.density,
        c.actuator,
        c.wrench,
    )
    add_tyres(
        records.vehicle,
        records.tyre,
        c.tyre_load,
        c.body_quat,
        c.body_vel,
        c.body_rate,
        c.actuator,
        c.tread,
        dt,
        c.wrench,
    )
    add_hulls(
        records.vehicle,
        records.hull,
        air.water,
        air.water_weight,
        c.body_pos,
        c.body_quat,
        c.body_vel,
        c.body_rate,
        c.wrench,
    )
    for m in range(c.pos.shape[0]):
        if records.base[m].moves:
            _follow(
                records.vehicle[m].joints,
                c.targets[m],
                c.joint_pos[m],
                c.joint_vel[m],
                c.old_joint_vel[m],
                c.joint_acc[m],
                dt,
            )
            accelerate_jointed(
                records,
                m,
                c.mass[m],
                air.gravity,
                c.wrench[m],
                c.body_pos[m],
                c.body_quat[m],
                c.body_rate[m],
                c.old_joint_vel[m],
                c.joint_acc[m],
                c.body_acc[m],
                c.body_spin[m],
                c.system[m],
                c.unknowns[m],
                c.vel[m],
                c.ang_vel[m],
                dt,
            )
        else:
            _accelerate_free(records, air, c, m, dt)


@njit
def _accelerate_free(records, air, c, m, dt):
    """Velocities of a vehicle of one body."""
    base, scale = records.base[m], c.mass[m]
    j, jj = base.inertia, base.inverse
    tx, ty, tz = quaternion.rotate_inverse(
        c.quat[m, 0],
        c.quat[m, 1],
        c.quat[m, 2],
        c.quat[m, 3],
        c.wrench[m, 0, 3],
        c.wrench[m, 0, 4],
        c.wrench[m, 0, 5],
    )
    found = rigid_body.accelerate(
        c.vel[m, 0],
        c.vel[m, 1],
        c.vel[m, 2],
        c.ang_vel[m, 0],
        c.ang_vel[m, 1],
        c.ang_vel[m, 2],
        (c.wrench[m, 0, 0] / scale, c.wrench[m, 0, 1] / scale, c.wrench[m, 0, 2] / scale),
        (tx / scale, ty / scale, tz / scale),
        records.vehicle[m].mass,
        (j[0], j[1], j[2], j[3], j[4], j[5]),
        (jj[0], jj[1], jj[2], jj[3], jj[4], jj[5]),
        air.gravity,
        dt,
    )
    for k in range(3):
        c.vel[m, k] = min(max(found[k], -MAX_SPEED), MAX_SPEED)
        c.ang_vel[m, k] = min(max(found[3 + k], -MAX_RATE), MAX_RATE)


@njit
def _follow(count, target, pos, vel, before, acc, dt):
    """Moves joints to their targets; gives their speeds before and their accelerations."""
    for j in range(count):
        before[j] = vel[j]
        acc[j] = -vel[j] / dt - (pos[j] - target[j]) / (dt * dt)
        vel[j] = (target[j] - pos[j]) / dt
        pos[j] = target[j]


@njit
def _touch(records, c, objects, chosen, v, dt):
    """Contacts of the chunk's environments."""
    for k in range(len(chosen)):
        first = k * v
        if v > 1:
            last = first + v
            touch_each_other(
                records.base[first:last],
                records.vehicle[first:last],
                c.mass[first:last],
                c.pos[first:last],
                c.vel[first:last],
                c.contact[first:last],
                dt,
            )
        row = objects[chosen[k] if objects.shape[0] > 1 else 0]
        for m in range(first, first + v):
            touch_objects(
                records,
                row,
                records.point[m],
                records.base[m],
                c.mass[m] * records.vehicle[m].mass,
                c.mass[m],
                c.pos[m],
                c.quat[m],
                c.vel[m],
                c.ang_vel[m],
                c.contact[m],
                c.tyre_load[m],
                c.rows,
                dt,
            )


@njit
def _displace(c, dt):
    """Poses at the end of the sub-step."""
    for m in range(c.pos.shape[0]):
        p, q, u, w = c.pos[m], c.quat[m], c.vel[m], c.ang_vel[m]
        for k in range(3):
            c.acc[m, k] = (u[k] - c.measured[m].vel[k]) / dt
        p[0], p[1], p[2], q[0], q[1], q[2], q[3] = rigid_body.displace(
            p[0], p[1], p[2], q[0], q[1], q[2], q[3], u[0], u[1], u[2], w[0], w[1], w[2], dt
        )
