"""The step of a batch: environments one after the other on each thread, sub-steps inside.

Each environment is stepped by the kernels of the lockstep fleet, so that there is one physics; only
the motion of free bodies and the contacts are the batch's own.
"""

from typing import Any

import numpy as np

from xtdrone_dynamics import quaternion, rigid_body
from xtdrone_dynamics.compiled import njit
from xtdrone_dynamics.constants import SEA_LEVEL_DENSITY
from xtdrone_sim.engines.body import place_fleet
from xtdrone_sim.plant.actuators import (
    add_downwash,
    add_half_wings,
    add_wings,
    step_actuators,
)
from xtdrone_sim.plant.ground import add_tyres
from xtdrone_sim.plant.water import add_hulls

from .contacts import MOST, touch_each_other, touch_objects
from .control import AT_ACTUATOR, MEASURED, command, filter_acceleration, keep, recall
from .joints import accelerate_jointed

FASTEST, FASTEST_TURN = 1000.0, 500.0  # as in the embedded engine [m/s], [rad/s]


@njit(nogil=True)
def step(records: Any, air: Any, state: Any, variation: Any, loops: Any, loop_state: Any,
         objects: np.ndarray, action: np.ndarray, t_us: int, dt_us: int, sub_steps: int,
         which: np.ndarray) -> None:
    """Advances some environments by some sub-steps under one action.

    Args:
        records, air, state, variation: See arrays.
        loops, loop_state: See control.
        objects: (E, O) or (1, O) scenes.object_dtype; one row serves all environments.
        action: (E, V, K).
        t_us: Simulated time at the start [us].
        dt_us: Of a sub-step [us].
        sub_steps: How many.
        which: Indices of the environments; several threads call this for different ones.
    """
    scratch, status = new_scratch(records), loops.status.copy()
    for e in which:
        for i in range(state.pos.shape[1]):
            for k in range(3):
                state.contact[e, i, k] = 0.0
            recall(status[i], loop_state.memory[e, i])
        for s in range(sub_steps):
            step_one(records, air, state, variation, loops, loop_state, status,
                     objects[e if objects.shape[0] > 1 else 0], action[e], scratch, e,
                     t_us + s * dt_us, dt_us)
        for i in range(state.pos.shape[1]):
            for k in range(3):
                state.contact[e, i, k] /= sub_steps
            keep(status[i], loop_state.memory[e, i])


@njit
def new_scratch(records):
    """Arrays that one environment's step overwrites."""
    v, actuators = records.actuator.shape
    bodies = records.body.shape[1]
    return (np.zeros((v, bodies, 6)), np.zeros(records.joint.shape), np.zeros((v, actuators)),
            np.zeros(v), np.ones(v), np.full(v, SEA_LEVEL_DENSITY), np.zeros(v, dtype=MEASURED),
            np.zeros((v, bodies, 3)), np.zeros((v, bodies, 4)), np.zeros((v, bodies, 3)),
            np.zeros((v, bodies, 3)), np.zeros((v, 3)), np.zeros((MOST, 16)),
            np.zeros((v, actuators)), np.zeros(records.joint.shape),
            np.zeros(records.joint.shape), np.zeros((v, actuators)))


@njit
def step_one(records, air, state, variation, loops, loop_state, status, objects, action, scratch,
             e, t_us, dt_us):
    """One sub-step of environment e."""
    (wrench, targets, commands, power, share, density, measured, body_pos, body_quat, body_vel,
     body_rate, wind, rows, actuator, joint_vel, joint_acc, thrust) = scratch
    dt = dt_us * 1e-6
    v = records.vehicle.shape[0]
    for i in range(v):
        m = measured[i]
        for k in range(3):
            m.pos[k], m.vel[k] = state.pos[e, i, k], state.vel[e, i, k]
            m.ang_vel[k] = state.ang_vel[e, i, k]
            body_pos[i, 0, k], body_vel[i, 0, k] = m.pos[k], m.vel[k]
            body_rate[i, 0, k] = m.ang_vel[k]
            wind[i, k] = state.wind[e, i, k]
        for k in range(4):
            m.quat[k] = body_quat[i, 0, k] = state.quat[e, i, k]
        for k in range(actuator.shape[1]):
            actuator[i, k] = state.actuator[e, i, k]
        if loops.level != AT_ACTUATOR:
            filter_acceleration(status[i], state.acc[e, i], dt)
    if records.joint.shape[1] > 0:
        place_fleet(records.vehicle, records.body, records.joint, measured["pos"],
                    measured["quat"], measured["vel"], measured["ang_vel"], state.joint_pos[e],
                    state.joint_vel[e], body_pos, body_quat, body_vel, body_rate)
    command(loops, action, status, thrust, loop_state.values[e], loop_state.position[e], records,
            measured, t_us, dt, commands)
    ratio = variation.effectiveness[e]
    add_downwash(records.vehicle, records.actuator, records.effects, ratio, body_pos[:, 0],
                 actuator, density, wind)
    step_actuators(commands, records.vehicle, records.actuator, records.effects, air.altitude,
                   air.water, share, ratio, body_pos, body_quat, body_vel, body_rate, wind,
                   density, dt, actuator, wrench, targets, power)
    add_wings(records.vehicle, records.wing, records.actuator, records.effects, ratio, body_quat,
              body_vel, body_rate, wind, density, actuator, wrench)
    add_half_wings(records.vehicle, records.half_wing, records.actuator, ratio, body_quat,
                   body_vel, body_rate, wind, density, actuator, wrench)
    add_tyres(records.vehicle, records.tyre, state.tyre_load[e], body_quat, body_vel, body_rate,
              actuator, state.tread[e], dt, wrench)
    add_hulls(records.vehicle, records.hull, air.water, air.water_weight, body_pos, body_quat,
              body_vel, body_rate, wrench)
    for i in range(v):
        for k in range(actuator.shape[1]):
            state.actuator[e, i, k] = actuator[i, k]
        if records.base[i].moves:
            _follow(records.vehicle[i].joints, targets[i], state.joint_pos[e, i],
                    state.joint_vel[e, i], joint_vel[i], joint_acc[i], dt)
            accelerate_jointed(records, i, variation.mass[e, i], air.gravity, wrench[i],
                               body_pos[i], body_quat[i], body_rate[i], joint_vel[i],
                               joint_acc[i], state.vel[e, i], state.ang_vel[e, i], dt)
        else:
            _accelerate(records, air, state, variation, wrench[i, 0], e, i, dt)
    touch_each_other(records.base, records.vehicle, variation.mass[e], state.pos[e], state.vel[e],
                     state.contact[e], dt)
    for i in range(v):
        base = records.base[i]
        touch_objects(objects, records.point[i], base,
                      variation.mass[e, i] * records.vehicle[i].mass, variation.mass[e, i],
                      state.pos[e, i], state.quat[e, i], state.vel[e, i], state.ang_vel[e, i],
                      state.contact[e, i], state.tyre_load[e, i], rows, dt)
        _displace(state, measured[i], e, i, dt)


@njit
def _accelerate(records, air, state, variation, wrench, e, i, dt):
    """Velocities of vehicle i of environment e at the end of the step, without contacts."""
    base, scale = records.base[i], variation.mass[e, i]
    q, v, w = state.quat[e, i], state.vel[e, i], state.ang_vel[e, i]
    j, jj = base.inertia, base.inverse
    tx, ty, tz = quaternion.rotate_inverse(q[0], q[1], q[2], q[3], wrench[3], wrench[4],
                                           wrench[5])
    v[0], v[1], v[2], w[0], w[1], w[2] = rigid_body.accelerate(
        v[0], v[1], v[2], w[0], w[1], w[2],
        (wrench[0] / scale, wrench[1] / scale, wrench[2] / scale),
        (tx / scale, ty / scale, tz / scale), records.vehicle[i].mass,
        (j[0], j[1], j[2], j[3], j[4], j[5]), (jj[0], jj[1], jj[2], jj[3], jj[4], jj[5]),
        air.gravity, dt)
    for k in range(3):
        v[k] = min(max(v[k], -FASTEST), FASTEST)
        w[k] = min(max(w[k], -FASTEST_TURN), FASTEST_TURN)


@njit
def _follow(count, target, pos, vel, before, acc, dt):
    """Moves joints to their targets; gives their speeds before and their accelerations."""
    for j in range(count):
        before[j] = vel[j]
        acc[j] = -vel[j] / dt - (pos[j] - target[j]) / (dt * dt)
        vel[j] = (target[j] - pos[j]) / dt
        pos[j] = target[j]


@njit
def _displace(state, before, e, i, dt):
    """Pose of vehicle i of environment e at the end of the step."""
    p, q, v, w = state.pos[e, i], state.quat[e, i], state.vel[e, i], state.ang_vel[e, i]
    for k in range(3):
        state.acc[e, i, k] = (v[k] - before.vel[k]) / dt
    p[0], p[1], p[2], q[0], q[1], q[2], q[3] = rigid_body.displace(
        p[0], p[1], p[2], q[0], q[1], q[2], q[3], v[0], v[1], v[2], w[0], w[1], w[2], dt)


def radius_of(points: np.ndarray) -> float:
    """Radius of the sphere about the origin that holds some contact points [m]."""
    if not len(points):
        return 0.0
    return float((np.linalg.norm(points["pos"], axis=1) + points["radius"]).max())


