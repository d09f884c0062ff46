"""Torque that keeps a vehicle level while an arm moves its centre of gravity.

The positions of the arm's servos come from a model of their lag; nothing measures them.
"""

import numpy as np

from xtdrone_core import FleetModel
from xtdrone_core.fleet_model import SERVO
from xtdrone_core.runs.snapshot import Memory
from xtdrone_dynamics.abilities.effectiveness import place
from xtdrone_dynamics.compiled import njit
from xtdrone_dynamics.forces import servo
from xtdrone_dynamics.quaternion import rotate


@njit
def _follow(
    actuators: np.ndarray, moving: np.ndarray, commands: np.ndarray, position: np.ndarray, dt: float
) -> None:
    """Advances the modelled positions (A,) of one vehicle's servos."""
    for k in range(len(moving)):
        actuator = actuators[k]
        if moving[k]:
            target = actuator.zero_position_armed + actuator.input_scaling * commands[k]
            target = min(actuator.joint_upper, max(actuator.joint_lower, target))
            position[k] = servo.follow(
                position[k], target, actuator.rate, actuator.time_constant, dt
            )


@njit
def _centre(
    models: np.ndarray,
    bodies: np.ndarray,
    joints: np.ndarray,
    actuators: np.ndarray,
    moving: np.ndarray,
    position: np.ndarray,
) -> tuple[float, float]:
    """Returns the horizontal offset (x, y) of the centre of gravity from the base's origin [m]."""
    joint_pos, poses = np.zeros((1, joints.shape[1])), np.zeros((1, bodies.shape[1], 7))
    poses[:, :, 6] = 1.0
    for k in range(len(moving)):
        if moving[k]:
            joint_pos[0, actuators[0, k].joint] = position[k]
    place(models, bodies, joints, joint_pos, poses)
    x = y = 0.0
    for k in range(models[0].bodies):
        body, pose = bodies[0, k], poses[0, k]
        cx, cy, _ = rotate(
            pose[3], pose[4], pose[5], pose[6], body.cog[0], body.cog[1], body.cog[2]
        )
        x += body.mass * (pose[0] + cx) / models[0].mass
        y += body.mass * (pose[1] + cy) / models[0].mass
    return x, y


@njit
def _balance(
    status: np.ndarray,
    models: np.ndarray,
    bodies: np.ndarray,
    joints: np.ndarray,
    actuators: np.ndarray,
    moving: np.ndarray,
    carries: np.ndarray,
    commands: np.ndarray,
    position: np.ndarray,
    dt: float,
) -> None:
    """Advances the servo models of a fleet, and adds the torque of each armed vehicle."""
    for i in range(status.shape[0]):
        if not carries[i]:
            continue
        _follow(actuators[i], moving[i], commands[i], position[i], dt)
        vehicle = status[i]
        if vehicle.armed:
            x, y = _centre(
                models[i : i + 1],
                bodies[i : i + 1],
                joints[i : i + 1],
                actuators[i : i + 1],
                moving[i],
                position[i],
            )
            vehicle.sp_torque[0] += y * vehicle.sp_thrust
            vehicle.sp_torque[1] -= x * vehicle.sp_thrust


class Balance(Memory):
    """Compensation of the arms of a fleet.

    Attributes:
        on: Whether it compensates.
    """

    MEMORY = ("_position",)

    def __init__(self, fleet: FleetModel, own: np.ndarray) -> None:
        """Starts with all servos at zero; own is (N, A) bool from output.not_allocated()."""
        self._fleet = fleet
        self._moving = own & (fleet.actuator["kind"] == SERVO)
        self._carries = self._moving.any(axis=1)
        self.on = bool(self._carries.any())
        self._position = np.zeros(own.shape)
        self.remember_start()

    def step(self, status: np.ndarray, commands: np.ndarray, dt: float) -> None:
        """Adds to sp_torque the moment of the thrust about the moved centre of gravity.

        Args:
            status: (N,) of VEHICLE_STATUS.
            commands: (N, A) commands of the last step.
            dt: Length of the step [s].
        """
        fleet = self._fleet
        if self.on:
            _balance(
                status,
                fleet.vehicle,
                fleet.body,
                fleet.joint,
                fleet.actuator,
                self._moving,
                self._carries,
                commands,
                self._position,
                dt,
            )
