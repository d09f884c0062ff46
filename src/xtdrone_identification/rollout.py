"""Compiled predictions of a flight by the physics of its vehicle.

They call the scalar functions of xtdrone_dynamics that the engines call, with the records of a
FleetModel, so that a parameter means here what it means in a flight.
"""

import numpy as np

from xtdrone_dynamics import quaternion, rigid_body
from xtdrone_dynamics.compiled import Record, njit
from xtdrone_dynamics.constants import GRAVITY
from xtdrone_dynamics.forces import aerodynamics, rotor
from xtdrone_dynamics.shapes import Vector

_NO_PROPELLERS = np.zeros(1)  # rotors are fitted by their constants


@njit
def _command(inputs: np.ndarray, k: int, first: int, back: float, j: int) -> float:
    """Input of rotor j a number of samples before k, at least that of the first sample.

    Between samples it follows Catmull and Rom's spline: at samples it is exact, and smooth in
    `back`, which a fit by differences needs.
    """
    last = inputs.shape[0] - 1
    place = min(max(k - back, float(first)), float(last))
    low = min(int(place), last - 1)
    x = place - low
    b, c = inputs[low, j], inputs[low + 1, j]
    a, d = inputs[max(low - 1, first), j], inputs[min(low + 2, last), j]
    return b + 0.5 * x * (
        c - a + x * (2.0 * a - 5.0 * b + 4.0 * c - d + x * (3.0 * (b - c) + d - a))
    )


@njit
def _wrench(
    actuators: np.ndarray,
    effects: Record,
    density: float,
    inputs: np.ndarray,
    k: int,
    first: int,
    back: float,
    speeds: np.ndarray,
    lags: np.ndarray,
    height: float,
    velocity: Vector,
    rates: Vector,
) -> tuple[float, float, float, float, float, float]:
    """Force and moment of all rotors and of the body's drag over a step, in the body's axes.

    The speeds are advanced in place; lags are those of _fill_lags().
    """
    ux, uy, uz = velocity
    wx, wy, wz = rates
    fx, fy, fz = aerodynamics.drag(effects, density, ux, uy, uz)
    mx = my = mz = 0.0
    for j in range(inputs.shape[1]):
        actuator = actuators[j]
        rx, ry, rz = actuator.pos[0], actuator.pos[1], actuator.pos[2]
        command = min(actuator.upper, max(actuator.lower, _command(inputs, k, first, back, j)))
        speeds[j], hx, hy, hz, bx, by, bz, _ = rotor.act(
            actuator,
            effects,
            _NO_PROPELLERS,
            command,
            speeds[j],
            1.0,
            1.0,
            height,
            ux + wy * rz - wz * ry,
            uy + wz * rx - wx * rz,
            uz + wx * ry - wy * rx,
            (lags[j, 0], lags[j, 1], lags[j, 2]),
            (lags[j, 3], lags[j, 4], lags[j, 5]),
        )
        fx, fy, fz = fx + hx, fy + hy, fz + hz
        mx += bx + ry * hz - rz * hy
        my += by + rz * hx - rx * hz
        mz += bz + rx * hy - ry * hx
    return fx, fy, fz, mx, my, mz


@njit
def _fill_lags(actuators: np.ndarray, dt: float, lags: np.ndarray) -> None:
    """Fills (R, 6) with lag_factors() of each rotor, speeding up and slowing down."""
    for j in range(lags.shape[0]):
        lags[j, 0], lags[j, 1], lags[j, 2] = rotor.lag_factors(actuators[j].time_constant_up, dt)
        lags[j, 3], lags[j, 4], lags[j, 5] = rotor.lag_factors(actuators[j].time_constant_down, dt)


@njit
def settle(actuators: np.ndarray, inputs: np.ndarray, k: int, speeds: np.ndarray) -> None:
    """Sets speeds (R,) to where the inputs of sample k hold them."""
    for j in range(inputs.shape[1]):
        actuator = actuators[j]
        speeds[j] = rotor.target_speed(
            inputs[k, j],
            actuator.input_scaling,
            actuator.zero_position_armed,
            actuator.max_rot_velocity,
        )


@njit
def predict(
    actuators: np.ndarray,
    effects: np.ndarray,
    body: np.ndarray,
    inputs: np.ndarray,
    quat: np.ndarray,
    vel: np.ndarray,
    height: np.ndarray,
    begins: np.ndarray,
    nodes: np.ndarray,
    starts: np.ndarray,
    dt: float,
    rates: np.ndarray,
    force: np.ndarray,
    motion: np.ndarray,
    speed: np.ndarray,
) -> None:
    """Predicts body rates, specific force and velocity between nodes, along a measured flight.

    The motors run through each stretch, whatever the vehicle does. Body rates start anew at each
    node; velocity and attitude relative to the air, which only drag depends on, are the measured
    ones. The specific force is that of a step, at its end, as an accelerometer has it.

    Args:
        actuators: (R,) records of the rotors.
        effects: (1,) record of the effects.
        body: (19,) mass, inertia xx, yy, zz, xy, xz, yz, torque xyz, sensor's place xyz, delay in
            samples, wind xyz, density, 0.
        inputs: (K, R) commands or speeds.
        quat, vel, height: (K, 4), (K, 3), (K,) measured.
        begins: (S + 1,) indices of the stretches, and K.
        nodes: (N + 1,) indices of the nodes, and K.
        starts: (N, 3) body rates at the nodes.
        dt: Length of a sample [s].
        rates: (K, 3) output [rad/s].
        force: (K, 3) output, specific force at the sensor; of a stretch's first sample 0 [m/s^2].
        motion: (K, 3) output, change of velocity since the node [m/s].
        speed: (K, R) output, speeds at the samples [rad/s].
    """
    mass = body[0]
    inertia = (body[1], body[2], body[3], body[4], body[5], body[6])
    inverse = rigid_body.symmetric_inverse(inertia)
    px, py, pz = body[10], body[11], body[12]
    back, density = body[13], body[17]
    speeds = np.zeros(inputs.shape[1])
    lags = np.empty((inputs.shape[1], 6))
    _fill_lags(actuators, dt, lags)
    node = -1
    wx = wy = wz = 0.0
    vx = vy = vz = 0.0
    for s in range(begins.shape[0] - 1):
        first, last = begins[s], begins[s + 1]
        settle(actuators, inputs, first, speeds)
        force[first, 0] = force[first, 1] = force[first, 2] = 0.0
        for k in range(first, last):
            if nodes[node + 1] == k:
                node += 1
                wx, wy, wz = starts[node, 0], starts[node, 1], starts[node, 2]
                vx = vy = vz = 0.0
            rates[k, 0], rates[k, 1], rates[k, 2] = wx, wy, wz
            motion[k, 0], motion[k, 1], motion[k, 2] = vx, vy, vz
            for j in range(inputs.shape[1]):
                speed[k, j] = speeds[j]
            if k + 1 >= last:
                break
            qx, qy, qz, qw = quat[k, 0], quat[k, 1], quat[k, 2], quat[k, 3]
            air = quaternion.rotate_inverse(
                qx, qy, qz, qw, vel[k, 0] - body[14], vel[k, 1] - body[15], vel[k, 2] - body[16]
            )
            fx, fy, fz, mx, my, mz = _wrench(
                actuators,
                effects[0],
                density,
                inputs,
                k,
                first,
                back,
                speeds,
                lags,
                height[k],
                air,
                (wx, wy, wz),
            )
            fx, fy, fz = fx / mass, fy / mass, fz / mass
            gx, gy, gz = quaternion.rotate(qx, qy, qz, qw, fx, fy, fz)
            vx, vy, vz = vx + dt * gx, vy + dt * gy, vz + dt * (gz - GRAVITY)
            _, _, _, ox, oy, oz = rigid_body.accelerate(
                0.0,
                0.0,
                0.0,
                wx,
                wy,
                wz,
                (0.0, 0.0, 0.0),
                (mx + body[7], my + body[8], mz + body[9]),
                mass,
                inertia,
                inverse,
                0.0,
                dt,
            )
            ax, ay, az = (ox - wx) / dt, (oy - wy) / dt, (oz - wz) / dt
            wx, wy, wz = ox, oy, oz
            along, square = wx * px + wy * py + wz * pz, wx * wx + wy * wy + wz * wz
            force[k + 1, 0] = fx + ay * pz - az * py + wx * along - px * square
            force[k + 1, 1] = fy + az * px - ax * pz + wy * along - py * square
            force[k + 1, 2] = fz + ax * py - ay * px + wz * along - pz * square


@njit
def fly_open(
    actuators: np.ndarray,
    effects: np.ndarray,
    body: np.ndarray,
    inputs: np.ndarray,
    speed: np.ndarray,
    pos: np.ndarray,
    quat: np.ndarray,
    vel: np.ndarray,
    gyro: np.ndarray,
    chosen: np.ndarray,
    first: np.ndarray,
    steps: int,
    dt: float,
    out: np.ndarray,
) -> None:
    """Flies freely from measured states: the predictions that a model is scored by.

    Args:
        actuators, effects, body, inputs, dt: As of predict().
        speed: (K, R) speeds that predict() found [rad/s].
        pos, quat, vel, gyro: Measured states, without the offset of the gyroscope.
        chosen: (P,) samples from which to fly.
        first: (P,) first sample of the stretch of each.
        steps: How many samples ahead.
        out: (P, steps + 1, 13) output: position, quaternion, velocity, body rates.
    """
    mass = body[0]
    inertia = (body[1], body[2], body[3], body[4], body[5], body[6])
    inverse = rigid_body.symmetric_inverse(inertia)
    speeds = np.zeros(inputs.shape[1])
    lags = np.empty((inputs.shape[1], 6))
    _fill_lags(actuators, dt, lags)
    for i in range(chosen.shape[0]):
        k = chosen[i]
        speeds[:] = speed[k]
        state = out[i, 0]
        state[0:3] = pos[k]
        state[3:7] = quat[k]
        state[7:10] = vel[k]
        state[10:13] = gyro[k]
        for n in range(steps):
            before, after = out[i, n], out[i, n + 1]
            qx, qy, qz, qw = before[3], before[4], before[5], before[6]
            wx, wy, wz = before[10], before[11], before[12]
            air = quaternion.rotate_inverse(
                qx, qy, qz, qw, before[7] - body[14], before[8] - body[15], before[9] - body[16]
            )
            fx, fy, fz, mx, my, mz = _wrench(
                actuators,
                effects[0],
                body[17],
                inputs,
                k + n,
                first[i],
                body[13],
                speeds,
                lags,
                before[2],
                air,
                (wx, wy, wz),
            )
            force = quaternion.rotate(qx, qy, qz, qw, fx, fy, fz)
            vx, vy, vz, wx, wy, wz = rigid_body.accelerate(
                before[7],
                before[8],
                before[9],
                wx,
                wy,
                wz,
                force,
                (mx + body[7], my + body[8], mz + body[9]),
                mass,
                inertia,
                inverse,
                GRAVITY,
                dt,
            )
            px, py, pz, qx, qy, qz, qw = rigid_body.displace(
                before[0], before[1], before[2], qx, qy, qz, qw, vx, vy, vz, wx, wy, wz, dt
            )
            after[0], after[1], after[2] = px, py, pz
            after[3], after[4], after[5], after[6] = qx, qy, qz, qw
            after[7], after[8], after[9] = vx, vy, vz
            after[10], after[11], after[12] = wx, wy, wz
