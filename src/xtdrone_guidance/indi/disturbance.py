"""Measures the force and torque on a vehicle that its actuators do not explain.

The states of rotors and servos follow from their commands by the lag of the vehicle's model; the
wrench that they exert follows from the effectiveness matrix of the positions of the servos. The
motion is measured by gyroscope and accelerometer. Truth is not used.
"""

import math
from typing import ClassVar

import numpy as np

from xtdrone_autopilot.control.rate import torque_of
from xtdrone_autopilot.interfaces import Estimator
from xtdrone_core import FleetModel, SensorBatch
from xtdrone_core.fleet_model import ROTOR, SERVO, SURFACE
from xtdrone_core.runs.snapshot import Memory
from xtdrone_dynamics.abilities.effectiveness import effectiveness, fill, place
from xtdrone_dynamics.abilities.vehicle_type import MULTICOPTER
from xtdrone_dynamics.compiled import Record, fleet_kernel, njit
from xtdrone_dynamics.forces import rotor, servo
from xtdrone_dynamics.quaternion import rotate
from xtdrone_dynamics.shapes import Vector

from .aerodynamics import half_wings_of, without_wings

# Cut-off frequencies of the filters of force and torque, two equal poles each [Hz]. A servo that
# swings a rotor pushes the body back, which the effectiveness does not know, and a vehicle steered
# so loses its torque with its thrust: the disturbance is followed more slowly there.
CUT_OFF = (6.0, 16.0)
SERVO_CUT_OFF = (1.5, 1.0)
# Of what elevons out of trim add to the force of wings: they push the vehicle the wrong way first.
TRIM_CUT_OFF = 0.15  # [Hz]


def _gain(cut_off: float, dt: float) -> float:
    """Gain of a first-order low-pass at each step of dt [s]."""
    return 1.0 - math.exp(-2.0 * math.pi * cut_off * dt)


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
    """Steps the states of rotors, servos and control surfaces by their commands.

    Args:
        actuators: (N, A) records of the FleetModel.
        lag_up, lag_down: (N, A, 3) rotor.lag_factors() while speeding up and slowing down.
        commands: (N, A) of the last step.
        dt: Length of that step [s].
        speed: (N, A) of the rotors, updated [rad/s].
        thrust: (N, A) output, mean thrust of the rotors over the step [N].
        position: (N, A) of servos and surfaces, updated [rad] or [m].
        joint_pos: (N, J) output, positions of the joints that servos move.
    """
    for i in range(commands.shape[0]):
        for k in range(commands.shape[1]):
            actuator = actuators[i, k]
            if actuator.kind == ROTOR:
                up, down = lag_up[i, k], lag_down[i, k]
                target = rotor.target_speed(
                    commands[i, k],
                    actuator.input_scaling,
                    actuator.zero_position_armed,
                    actuator.max_rot_velocity,
                )
                speed[i, k], _, square = rotor.lagged(
                    speed[i, k], target, (up[0], up[1], up[2]), (down[0], down[1], down[2])
                )
                thrust[i, k] = actuator.motor_constant * square
            elif actuator.kind == SERVO:
                position[i, k] = servo.act(actuator, commands[i, k], position[i, k], dt)[0]
                joint_pos[i, actuator.joint] = position[i, k]
            elif actuator.kind == SURFACE:
                position[i, k] = servo.act(actuator, commands[i, k], position[i, k], dt)[0]


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
def _difference(
    vehicle: Record,
    estimate: Record,
    accel: np.ndarray,
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
        accel: (3,) specific force, body [m/s^2].
        ang_acc: Angular acceleration, body [rad/s^2].
        thrust: (A,) [N].
        columns: (6, A) effectiveness.
        n_rotors: Number of rotors.
    """
    j, rate, quat, bias = vehicle.inertia, estimate.ang_vel, estimate.quat, estimate.accel_bias
    tx, ty, tz = torque_of(
        ang_acc[0],
        ang_acc[1],
        ang_acc[2],
        rate[0],
        rate[1],
        rate[2],
        (j[0, 0], j[1, 1], j[2, 2], j[0, 1], j[0, 2], j[1, 2]),
    )
    fx = vehicle.mass * (accel[0] - bias[0])
    fy = vehicle.mass * (accel[1] - bias[1])
    fz = vehicle.mass * (accel[2] - bias[2])
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


@fleet_kernel
def compare(
    status: np.ndarray,
    estimates: np.ndarray,
    accel: np.ndarray,
    thrust: np.ndarray,
    columns: np.ndarray,
    n_rotors: np.ndarray,
    models: np.ndarray,
    half_wings: np.ndarray,
    position: np.ndarray,
    wings: np.ndarray,
    gains: np.ndarray,
    dt: float,
    last_rate: np.ndarray,
    filters: np.ndarray,
    trim: np.ndarray,
    wing_torque: np.ndarray,
    force: np.ndarray,
) -> None:
    """Filters the difference of measured and exerted wrench; writes the wind that wings feel.

    Args:
        status, estimates: (N,) records of VEHICLE_STATUS and ESTIMATE.
        accel: (N, 3) specific force, body [m/s^2].
        thrust: (N, A) [N].
        columns: (N, 6, A) effectiveness.
        n_rotors: (N,).
        models, half_wings: Records of the FleetModel.
        position: (N, A) of the elevons [rad].
        wings: (N,) of HALF_WINGS.
        gains: (N, 3) of the filters of force, torque and trim at each step.
        dt: Length of the step [s].
        last_rate: (N, 3) body rates of the step before, updated [rad/s].
        filters: (N, 2, 6) updated: both poles, of force in the world [N] and torque, body [N m].
        trim: (N, 3) updated: filtered force of wings beyond that in trim, world [N].
        wing_torque: (N, 3) output: torque of wings whose elevons are level, body [N m].
        force: (N, 3) output: filtered force and `trim`, world [N].
    """
    for i in range(len(status)):
        vehicle, estimate = status[i], estimates[i]
        rate = estimate.ang_vel
        flies = vehicle.armed and not (vehicle.landed or vehicle.maybe_landed)
        if vehicle.vehicle_type == MULTICOPTER and flies:
            wrench = _difference(
                vehicle,
                estimate,
                accel[i],
                (
                    (rate[0] - last_rate[i, 0]) / dt,
                    (rate[1] - last_rate[i, 1]) / dt,
                    (rate[2] - last_rate[i, 2]) / dt,
                ),
                thrust[i],
                columns[i],
                n_rotors[i],
            )
            if wings[i].lift > 0.0:
                wrench = without_wings(
                    wrench,
                    vehicle,
                    models[i],
                    half_wings[i],
                    estimate,
                    position[i],
                    thrust[i],
                    wings[i],
                    dt,
                    gains[i, 2],
                    trim[i],
                    wing_torque[i],
                )
            for axis, value in enumerate(wrench):
                gain = gains[i, 0] if axis < 3 else gains[i, 1]
                if math.isfinite(value):
                    filters[i, 0, axis] += gain * (value - filters[i, 0, axis])
                    filters[i, 1, axis] += gain * (filters[i, 0, axis] - filters[i, 1, axis])
        else:
            filters[i] = 0.0
            trim[i], wing_torque[i], vehicle.wind[:] = 0.0, 0.0, 0.0
        for axis in range(3):
            force[i, axis] = filters[i, 1, axis] + trim[i, axis]
            last_rate[i, axis] = rate[axis]


class Disturbance(Memory):
    """Disturbance of each vehicle of a fleet, from commands and inertial readings.

    Attributes:
        force: (N, 3) filtered, world [N]; without the weight.
        torque: (N, 3) filtered, body [N m].
        wing_torque: (N, 3) that of half wings whose elevons are level, by their model, body [N m].
        wings: (N,) of aerodynamics.HALF_WINGS.
    """

    MEMORY = ("_speed", "_position", "_last_rate", "_filters", "_trim", "force", "wing_torque")

    def __init__(self, fleet: FleetModel) -> None:
        """Starts with a fleet whose rotors stand."""
        n, width = fleet.actuator.shape
        self._fleet, self._columns = fleet, effectiveness(fleet)
        self._speed, self._thrust = np.zeros((n, width)), np.zeros((n, width))
        self._position = np.zeros((n, width))
        self._joint_pos = np.zeros(fleet.joint.shape)
        self._poses = np.zeros((*fleet.body.shape, 7))
        self._poses[..., 6] = 1.0
        self._moves = (fleet.actuator["kind"] == SERVO).any(axis=1)
        self._last_rate = np.zeros((n, 3))
        self._filters = np.zeros((n, 2, 6))
        self.torque, self.force = self._filters[:, 1, 3:], np.zeros((n, 3))
        self.wings = half_wings_of(fleet)
        self._trim, self.wing_torque = np.zeros((n, 3)), np.zeros((n, 3))
        self._dt, self._gains = 0.0, np.zeros((n, 3))
        self._lag_up, self._lag_down = np.zeros((n, width, 3)), np.zeros((n, width, 3))
        self.remember_start()

    def step(
        self,
        status: np.ndarray,
        estimator: Estimator,
        sensors: SensorBatch,
        commands: np.ndarray,
        dt: float,
    ) -> None:
        """Takes the commands (N, A) of the last dt [s], and the readings after it.

        See interfaces.ActuatorFeedback.
        """
        fleet = self._fleet
        if dt != self._dt:
            self._set_step(dt)
        exert(
            fleet.actuator,
            self._lag_up,
            self._lag_down,
            commands,
            dt,
            self._speed,
            self._thrust,
            self._position,
            self._joint_pos,
        )
        if self._moves.any():
            turn_columns(
                self._moves,
                fleet.vehicle,
                fleet.body,
                fleet.joint,
                fleet.actuator,
                fleet.half_wing,
                self._joint_pos,
                self._thrust,
                self._poses,
                self._columns,
            )
        compare(
            status,
            estimator.records,
            sensors.accel,
            self._thrust,
            self._columns,
            fleet.n_rotors,
            fleet.vehicle,
            fleet.half_wing,
            self._position,
            self.wings,
            self._gains,
            dt,
            self._last_rate,
            self._filters,
            self._trim,
            self.wing_torque,
            self.force,
        )

    def _set_step(self, dt: float) -> None:
        self._dt = dt
        for axis, (hertz, servo_hertz) in enumerate(zip(CUT_OFF, SERVO_CUT_OFF)):
            self._gains[:, axis] = np.where(self._moves, _gain(servo_hertz, dt), _gain(hertz, dt))
        self._gains[:, 2] = _gain(TRIM_CUT_OFF, dt)
        for i, k in np.ndindex(*self._fleet.actuator.shape):
            actuator = self._fleet.actuator[i, k]
            self._lag_up[i, k] = rotor.lag_factors(actuator["time_constant_up"], dt)
            self._lag_down[i, k] = rotor.lag_factors(actuator["time_constant_down"], dt)


class IndiLoop(Memory):
    """Base class of the loops, which share one Disturbance."""

    FEEDBACK = Disturbance
    MEMORY: ClassVar[tuple[str, ...]] = ("disturbance",)
    disturbance: Disturbance

    def take_feedback(self, feedback: Disturbance) -> None:
        """Takes the disturbance; see interfaces.UsesFeedback."""
        self.disturbance = feedback
        self.remember_start()
