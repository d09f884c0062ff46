"""Kernels of the measurement: the wrench that actuators exert, and what the motion shows beside it.

Each has a form for one vehicle, by scalars and rows of arrays, which a batch flies, too.
"""

import math

import numpy as np

from xtdrone_autopilot.control.rate import torque_of
from xtdrone_autopilot.state.vehicle_status import STAGE_RAMP
from xtdrone_core.fleet_model import ROTOR, SERVO
from xtdrone_dynamics.abilities.effectiveness import fill, place
from xtdrone_dynamics.abilities.vehicle_type import MULTICOPTER
from xtdrone_dynamics.compiled import Record, fleet_kernel, njit
from xtdrone_dynamics.constants import GRAVITY
from xtdrone_dynamics.forces import rotor, servo
from xtdrone_dynamics.quaternion import rotate
from xtdrone_dynamics.shapes import Vector

# A vehicle whose take-off ramps up stands until its rotors exert so much of the weight, or until it
# climbs [m/s].
CARRIED, MIN_CLIMB = 0.9, 0.3


@njit
def exert_one(
    actuators: np.ndarray,
    lag_up: np.ndarray,
    lag_down: np.ndarray,
    commands: np.ndarray,
    dt: float,
    speed: np.ndarray,
    thrust: np.ndarray,
    position: np.ndarray,
) -> None:
    """Steps the states of one vehicle's rotors and servos by their commands; see exert()."""
    for k in range(commands.shape[0]):
        actuator = actuators[k]
        if actuator.kind == ROTOR:
            up, down = lag_up[k], lag_down[k]
            target = rotor.target_speed(
                commands[k],
                actuator.input_scaling,
                actuator.zero_position_armed,
                actuator.max_rot_velocity,
            )
            speed[k], _, square = rotor.lagged(
                speed[k], target, (up[0], up[1], up[2]), (down[0], down[1], down[2])
            )
            thrust[k] = actuator.motor_constant * square
        elif actuator.kind == SERVO:
            position[k] = servo.act(actuator, commands[k], position[k], dt)[0]


@njit
def set_joints(actuators: np.ndarray, position: np.ndarray, joint_pos: np.ndarray) -> None:
    """Writes the positions (A,) of one vehicle's servos to those of their joints (J,)."""
    for k in range(position.shape[0]):
        if actuators[k].kind == SERVO:
            joint_pos[actuators[k].joint] = position[k]


@fleet_kernel
def exert(
    actuators: np.ndarray,
    lag_up: np.ndarray,
    lag_down: np.ndarray,
    commands: np.ndarray,
    dt: float,
    speed: np.ndarray,
    thrust: np.ndarray,
    position: np.ndarray,
    joint_pos: np.ndarray,
) -> None:
    """Steps the states of rotors and servos by their commands.

    Args:
        actuators: (N, A) records of the FleetModel.
        lag_up, lag_down: (N, A, 3) rotor.lag_factors() while speeding up and slowing down.
        commands: (N, A) of the last step.
        dt: Length of that step [s].
        speed: (N, A) of the rotors, updated [rad/s].
        thrust: (N, A) output, mean thrust of the rotors over the step [N].
        position: (N, A) of the servos, updated [rad] or [m].
        joint_pos: (N, J) output, positions of the joints that servos move.
    """
    for i in range(commands.shape[0]):
        exert_one(
            actuators[i], lag_up[i], lag_down[i], commands[i], dt, speed[i], thrust[i], position[i]
        )
        set_joints(actuators[i], position[i], joint_pos[i])


@njit
def turn_columns(
    moves: np.ndarray,
    models: np.ndarray,
    bodies: np.ndarray,
    joints: np.ndarray,
    actuators: np.ndarray,
    half_wings: np.ndarray,
    joint_pos: np.ndarray,
    thrust: np.ndarray,
    poses: np.ndarray,
    columns: np.ndarray,
) -> None:
    """Updates the effectiveness (N, 6, A) of the vehicles whose servos move rotors, see fill().

    Args:
        moves: (N,) bool, which those are.
        models, bodies, joints, actuators, half_wings: Records of the FleetModel.
        joint_pos: (N, J) [rad] or [m].
        thrust: (N, A) [N].
        poses: (N, B, 7) scratch; the base's is at rest.
        columns: (N, 6, A) output.
    """
    for i in range(len(moves)):
        if moves[i]:
            one = slice(i, i + 1)
            columns[i] = 0.0
            place(models[one], bodies[one], joints[one], joint_pos[one], poses[one])
            fill(
                models[one],
                bodies[one],
                joints[one],
                actuators[one],
                half_wings[one],
                poses[one],
                thrust[one],
                0.0,
                0.0,
                0.0,
                columns[one],
            )


@njit
def motion_wrench(
    mass: float,
    accel: Vector,
    inertia: tuple[float, float, float, float, float, float],
    ang_acc: Vector,
    rate: Vector,
) -> tuple[float, float, float, float, float, float]:
    """Returns the force [N] and torque [N m] that a motion shows, body.

    Args:
        mass: [kg].
        accel: Specific force, body [m/s^2].
        inertia: xx, yy, zz, xy, xz, yz [kg m^2].
        ang_acc: Angular acceleration, body [rad/s^2].
        rate: Body rates [rad/s].
    """
    tx, ty, tz = torque_of(ang_acc[0], ang_acc[1], ang_acc[2], rate[0], rate[1], rate[2], inertia)
    return mass * accel[0], mass * accel[1], mass * accel[2], tx, ty, tz


@njit
def two_poles(first: float, second: float, value: float, gain: float) -> tuple[float, float]:
    """Returns both states of a low-pass of two equal poles after a step."""
    first += gain * (value - first)
    return first, second + gain * (first - second)


@njit
def _difference(
    vehicle: Record,
    estimate: Record,
    accel: Vector,
    ang_acc: Vector,
    thrust: np.ndarray,
    columns: np.ndarray,
    n_rotors: int,
) -> tuple[float, float, float, float, float, float]:
    """Returns force, world [N], and torque, body [N m], that the rotors do not explain.

    Unless the vehicle is fully actuated, its force is commanded along the body's z axis alone: what
    tilted rotors exert across it counts as a disturbance.

    Args:
        vehicle, estimate: Records of VEHICLE_STATUS and ESTIMATE.
        accel: Specific force without the sensor's bias, body [m/s^2].
        ang_acc: Angular acceleration, body [rad/s^2].
        thrust: (A,) [N].
        columns: (6, A) effectiveness.
        n_rotors: Number of rotors.
    """
    j, rate, quat = vehicle.inertia, estimate.ang_vel, estimate.quat
    fx, fy, fz, tx, ty, tz = motion_wrench(
        vehicle.mass,
        accel,
        (j[0, 0], j[1, 1], j[2, 2], j[0, 1], j[0, 2], j[1, 2]),
        ang_acc,
        (rate[0], rate[1], rate[2]),
    )
    for k in range(n_rotors):
        if vehicle.fully_actuated:
            fx -= columns[0, k] * thrust[k]
            fy -= columns[1, k] * thrust[k]
        fz -= columns[2, k] * thrust[k]
        tx -= columns[3, k] * thrust[k]
        ty -= columns[4, k] * thrust[k]
        tz -= columns[5, k] * thrust[k]
    fx, fy, fz = rotate(quat[0], quat[1], quat[2], quat[3], fx, fy, fz)
    return fx, fy, fz, tx, ty, tz


@njit
def measured(filters: np.ndarray) -> bool:
    """Returns whether a vehicle flies, by its filters (12,): they are zero on the ground alone."""
    return filters[2] != 0.0


@njit
def _leaves_ground(
    vehicle: Record, climb: float, thrust: np.ndarray, columns: np.ndarray, n_rotors: int
) -> bool:
    """Returns whether a vehicle flies, or its feet are free: it climbs, or its rotors carry it.

    A take-off is detected long before that, and what the ground pushes is not to be fought: it
    would topple a vehicle in wind.

    Args:
        vehicle: Record of VEHICLE_STATUS.
        climb: Vertical speed [m/s].
        thrust, columns, n_rotors: See _difference().
    """
    lift = 0.0
    for k in range(n_rotors):
        lift += columns[2, k] * thrust[k]
    carried = lift > CARRIED * vehicle.mass * GRAVITY
    return carried or climb > MIN_CLIMB or vehicle.stage != STAGE_RAMP


@njit
def compare_one(
    vehicle: Record,
    estimate: Record,
    accel: Vector,
    thrust: np.ndarray,
    columns: np.ndarray,
    n_rotors: int,
    gains: np.ndarray,
    dt: float,
    last_rate: np.ndarray,
    filters: np.ndarray,
) -> None:
    """Filters the difference of measured and exerted wrench of one vehicle; see compare()."""
    rate = estimate.ang_vel
    flies = vehicle.armed and not (vehicle.landed or vehicle.maybe_landed)
    if (
        flies
        and vehicle.vehicle_type == MULTICOPTER
        and (
            measured(filters) or _leaves_ground(vehicle, estimate.vel[2], thrust, columns, n_rotors)
        )
    ):
        wrench = _difference(
            vehicle,
            estimate,
            accel,
            (
                (rate[0] - last_rate[0]) / dt,
                (rate[1] - last_rate[1]) / dt,
                (rate[2] - last_rate[2]) / dt,
            ),
            thrust,
            columns,
            n_rotors,
        )
        for axis in range(6):
            gain = gains[0] if axis < 3 else gains[1]
            if math.isfinite(wrench[axis]):
                filters[axis], filters[6 + axis] = two_poles(
                    filters[axis], filters[6 + axis], wrench[axis], gain
                )
    else:
        for k in range(12):
            filters[k] = 0.0
    for axis in range(3):
        last_rate[axis] = rate[axis]


@fleet_kernel
def compare(
    status: np.ndarray,
    estimates: np.ndarray,
    accel: np.ndarray,
    thrust: np.ndarray,
    columns: np.ndarray,
    n_rotors: np.ndarray,
    gains: np.ndarray,
    dt: float,
    last_rate: np.ndarray,
    filters: np.ndarray,
) -> None:
    """Filters the difference of measured and exerted wrench.

    Args:
        status, estimates: (N,) records of VEHICLE_STATUS and ESTIMATE.
        accel: (N, 3) specific force, body [m/s^2].
        thrust: (N, A) [N].
        columns: (N, 6, A) effectiveness.
        n_rotors: (N,).
        gains: (N, 2) of the filters of force and torque at each step.
        dt: Length of the step [s].
        last_rate: (N, 3) body rates of the step before, updated [rad/s].
        filters: (N, 12) updated: first pole, then second, of force in the world [N] and torque,
            body [N m].
    """
    for i in range(len(status)):
        bias = estimates[i].accel_bias
        compare_one(
            status[i],
            estimates[i],
            (accel[i, 0] - bias[0], accel[i, 1] - bias[1], accel[i, 2] - bias[2]),
            thrust[i],
            columns[i],
            n_rotors[i],
            gains[i],
            dt,
            last_rate[i],
            filters[i],
        )
