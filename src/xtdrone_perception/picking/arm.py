"""The arm of a vehicle: where its gripper is, and the commands of its servos."""

from collections.abc import Sequence

import numpy as np

from xtdrone_core import FleetModel, Vehicle
from xtdrone_core.vehicle import Servo
from xtdrone_dynamics.abilities.effectiveness import place
from xtdrone_dynamics.quaternion import rotate_array

from ..errors import PerceptionError


class Arm:
    """The joints between a vehicle's base and its first gripper.

    Attributes:
        columns: Indices of their servos among the vehicle's actuators, from the base on.
    """

    def __init__(self, vehicle: Vehicle) -> None:
        """Finds the joints.

        Raises:
            PerceptionError: The vehicle has no gripper.
        """
        if not vehicle.grippers:
            raise PerceptionError(
                f"{vehicle.type} has no gripper: take a vehicle such as quadrotor_gripper"
            )
        self._gripper, self._fleet = vehicle.grippers[0], FleetModel.of([vehicle])
        servos = {
            each.body: k for k, each in enumerate(vehicle.actuators) if isinstance(each, Servo)
        }
        chain, body = list[int](), self._gripper.body
        while body >= 0:
            chain.append(body)
            body = vehicle.bodies[body].parent
        self.columns = [servos[body] for body in reversed(chain) if body in servos]
        self._servos = self._fleet.actuator[0, self.columns]

    def check(self, angles: Sequence[float]) -> None:
        """Refuses angles [rad] of another number of joints, or beyond their ends.

        Raises:
            PerceptionError: They are.
        """
        ends = [(servo["joint_lower"], servo["joint_upper"]) for servo in self._servos]
        if len(angles) != len(ends) or not all(
            low <= angle <= high for angle, (low, high) in zip(angles, ends)
        ):
            allowed = ", ".join(f"{low:g} to {high:g}" for low, high in ends)
            raise PerceptionError(
                f"arm '{','.join(f'{angle:g}' for angle in angles)}' is not allowed: give an "
                f"angle for each joint, {allowed} rad"
            )

    def commands(self, angles: np.ndarray) -> np.ndarray:
        """Returns the commands (K,) of the servos for angles (K,) [rad]."""
        commands: np.ndarray = (angles - self._servos["zero_position_armed"]) / self._servos[
            "input_scaling"
        ]
        return commands

    def gripper(self, angles: np.ndarray) -> np.ndarray:
        """Returns where the gripper is for angles (K,) [rad]: (3,) in the frame of the base [m]."""
        fleet = self._fleet
        joint_pos, poses = np.zeros(fleet.joint.shape), np.zeros((*fleet.body.shape, 7))
        poses[:, :, 6] = 1.0
        joint_pos[0, self._servos["joint"]] = angles
        place(fleet.vehicle, fleet.body, fleet.joint, joint_pos, poses)
        pose = poses[0, self._gripper.body]
        out: np.ndarray = pose[:3] + rotate_array([pose[3:]], [self._gripper.pos])[0]
        return out
