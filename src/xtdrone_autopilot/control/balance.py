"""The torque that keeps a vehicle level whose centre of gravity is moved by an arm.

Where its servos are is told by a model of their lag, not measured.
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
def _follow(actuator, moving, commands, position, dt):
    """Advances the modelled positions (A,) of one vehicle's servos."""
    for k in range(len(moving)):
        a = actuator[k]
        if moving[k]:
            target = a.zero_position_armed + a.input_scaling * commands[k]
            target = min(a.joint_upper, max(a.joint_lower, target))
            position[k] = servo.follow(position[k], target, a.rate, a.time_constant, dt)


@njit
def _centre(vehicle, body, joints, actuator, moving, position):
    """Horizontal offset of the centre of gravity from the base's origin, its frame [m]."""
    places, poses = np.zeros((1, joints.shape[1])), np.zeros((1, body.shape[1], 7))
    poses[:, :, 6] = 1.0
    for k in range(len(moving)):
        if moving[k]:
            places[0, actuator[0, k].joint] = position[k]
    place(vehicle, body, joints, places, poses)
    x = y = 0.0
    for b in range(vehicle[0].bodies):
        one, p = body[0, b], poses[0, b]
        cx, cy, _ = rotate(p[3], p[4], p[5], p[6], one.cog[0], one.cog[1], one.cog[2])
        x += one.mass * (p[0] + cx) / vehicle[0].mass
        y += one.mass * (p[1] + cy) / vehicle[0].mass
    return x, y


@njit
def _balance(status, vehicle, body, joints, actuator, moving, carries, commands, position, dt):
    for i in range(status.shape[0]):
        if not carries[i]:
            continue
        _follow(actuator[i], moving[i], commands[i], position[i], dt)
        v = status[i]
        if v.armed:
            x, y = _centre(
                vehicle[i : i + 1],
                body[i : i + 1],
                joints[i : i + 1],
                actuator[i : i + 1],
                moving[i],
                position[i],
            )
            v.sp_torque[0] += y * v.sp_thrust
            v.sp_torque[1] -= x * v.sp_thrust


class Balance(Memory):
    """The arms of a fleet."""

    MEMORY = ("_position",)

    def __init__(self, fleet: FleetModel, own: np.ndarray):
        """fleet: The vehicles; own: (N, A) bool of output.not_allocated()."""
        self._fleet = fleet
        self._moving = own & (fleet.actuator["kind"] == SERVO)
        self._carries = self._moving.any(axis=1)
        self._any = bool(self._carries.any())
        self._position = np.zeros(own.shape)
        self.remember_start()

    def step(self, status: np.ndarray, commands: np.ndarray, dt: float) -> None:
        """Adds to sp_torque what the thrust lacks about the moved centre of gravity.

        Args:
            status: (N,) of VEHICLE_STATUS.
            commands: (N, A) of the last step.
            dt: Length of the step [s].
        """
        f = self._fleet
        if self._any:
            _balance(
                status,
                f.vehicle,
                f.body,
                f.joint,
                f.actuator,
                self._moving,
                self._carries,
                commands,
                self._position,
                dt,
            )
