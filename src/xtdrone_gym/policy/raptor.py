"""RAPTOR: a policy of others that flies any quadrotor, and here any multirotor.

Its weights and its network come with the Python package foundation-policy (J. Eschmann, D. Albani,
G. Loianno, "RAPTOR: A foundation policy for quadrotor control", 2025). It is recurrent and finds
out by flying what it flies. It commands the speeds of four rotors; other multirotors get the force
and torques of those of a quadrotor that is as strong.
"""

import math
from typing import Any

import numpy as np

from xtdrone_core import FleetModel, extras
from xtdrone_core.vehicle import Vehicle
from xtdrone_dynamics.abilities.effectiveness import (
    cannot_hover,
    in_hover,
    largest_thrust,
    largest_torque,
)
from xtdrone_dynamics.quaternion import multiply, to_matrix

from ..errors import LearningError
from ..task_batch import TaskBatch, find_task

NAME = "raptor"  # in place of a policy's file
PERIOD_US = 10_000  # between two actions
_MAX_ERROR_M = 1.0  # of the position that it is told: it has learned near its goal
# Its rotors are front right, back right, back left, front left: signs of thrust, roll, pitch, yaw.
_SIGNS = np.array([[1, 1, 1, 1], [-1, -1, 1, 1], [-1, 1, 1, -1], [-1, 1, -1, 1]], dtype=float)
_COMMANDED = slice(2, 6)  # rows of the effectiveness: vertical force and torques


class FourRotors:
    """Commands of a vehicle's actuators that do what four rotors would."""

    def __init__(self, vehicle: Vehicle) -> None:
        """Finds the actuators' part in force and torques.

        Raises:
            LearningError: The vehicle does not hover, or has no torque about an axis.
        """
        fleet = FleetModel.of([vehicle])
        if obstacle := cannot_hover(fleet)[0]:
            raise LearningError(f"raptor does not fly {vehicle.type}, {obstacle}: choose another")
        rotors, actuator = fleet.rotor_mask[0], fleet.actuator[0]
        thrust = largest_thrust(fleet)[0]
        matrix = in_hover(fleet)[0, _COMMANDED]
        steering = np.abs(matrix).max(axis=0) > 0.0
        size = np.where(rotors, thrust, np.minimum(np.abs(actuator["upper"]), math.pi / 2))
        scaled = np.where(steering, matrix * np.where(steering, size, 0.0), 0.0)
        total = float(scaled[0, rotors].sum())
        largest = np.array([0.25 * total, *(0.5 * largest_torque(fleet)[0])])
        # Rows over their largest, so that no unit counts more than another.
        self._outputs = np.linalg.pinv(scaled / largest[:, None]) @ _SIGNS
        self._rotors, self._steering = rotors, steering
        self._size, self._thrust = size, thrust
        self._actuator = actuator

    def commands(self, action: np.ndarray) -> np.ndarray:
        """Returns commands (A,), NaN for actuators that steer nothing.

        Args:
            action: (4,) speeds of the rotors from none to the largest, -1..1.
        """
        part = self._outputs @ (0.5 * (np.clip(action, -1.0, 1.0) + 1.0)) ** 2
        actuator, thrust = self._actuator, np.clip(part, 0.0, 1.0) * self._thrust
        with np.errstate(divide="ignore", invalid="ignore"):
            speed = np.sqrt(thrust / actuator["motor_constant"])
            output = np.where(self._rotors, speed, np.clip(part, -1.0, 1.0) * self._size)
            command = (output - actuator["zero_position_armed"]) / actuator["input_scaling"]
        low = np.where(self._rotors, 0.0, -1.0)
        return np.where(self._steering, np.clip(command, low, 1.0), np.nan)


class Raptor:
    """Flies some vehicles of one type to their goals.

    Attributes:
        actions: (N, 4) last ones, -1..1.
    """

    def __init__(self, vehicles: tuple[Vehicle, ...]) -> None:
        """Loads the policy.

        Raises:
            LearningError: Its package is missing, or it does not fly the vehicle.
        """
        self._network = _network()
        self._rotors = [FourRotors(vehicle) for vehicle in vehicles]
        self.actions = np.zeros((len(vehicles), 4))
        self.begin()

    def begin(self) -> None:
        """Forgets what it has found out."""
        self._network.reset()
        self.actions[:] = 0.0

    def act(
        self,
        pos: np.ndarray,
        quat: np.ndarray,
        vel: np.ndarray,
        ang_vel: np.ndarray,
        goal: np.ndarray,
        heading: np.ndarray,
    ) -> np.ndarray:
        """Returns commands of the actuators (N, A).

        Args:
            pos, quat, vel, ang_vel: As in Estimates.
            goal: (N, 3) [m].
            heading: (N,) to keep, counter-clockwise from east [rad].
        """
        seen = np.array([_seen(*row) for row in zip(pos - goal, quat, vel, ang_vel, heading)])
        self.actions[:] = self._network.evaluate_step(np.hstack([seen, self.actions]))
        return np.array([own.commands(a) for own, a in zip(self._rotors, self.actions)])


class RaptorPilot:
    """Raptor through the episodes of a task whose goals are positions, as Pilot flies a policy.

    Attributes:
        tasks: TaskBatch of the task, which follows the vehicles.
        starts: (N, 3) of the task, in its frame [m].
        level: What its actions command.
        period_us: Between two actions [us].
    """

    level = "actuators"
    period_us = PERIOD_US

    def __init__(self, vehicles: tuple[Vehicle, ...], seed: int = 0, task_name: str = "") -> None:
        """Prepares the first episode.

        Args:
            vehicles: The fleet, N of one type.
            seed: Seed of the goals.
            task_name: A name or module:TASK in place of Position-v0.

        Raises:
            LearningError: The policy does not fly these vehicles, or not this task.
        """
        types = sorted({vehicle.type for vehicle in vehicles})
        if len(types) > 1:
            raise LearningError(f"a policy flies vehicles of one type, not {', '.join(types)}")
        task = find_task(task_name or "Position-v0")
        if task.vehicles != 1 or ("position_error", 3) not in [
            (part.name, part.width) for part in task.parts
        ]:
            raise LearningError(
                f"raptor flies one vehicle to a position, which {task.name} does not ask for: give "
                "Position-v0 or Hover-v0"
            )
        self._raptor, n = Raptor(vehicles), len(vehicles)
        self.tasks = TaskBatch(task, n, vehicle=types[0], seed=seed, threads=1)
        self.starts = np.tile(np.array(task.starts), (n, 1))
        self._headings: np.ndarray | None = None  # (N,) at which the episode began [rad]
        self._followed_us = 0  # when the task saw the vehicles next

    def begin(self) -> None:
        """Begins an episode with new goals."""
        self.tasks.begin()
        self._raptor.begin()
        self._headings, self._followed_us = None, 0

    def act(
        self, t_us: int, pos: np.ndarray, quat: np.ndarray, vel: np.ndarray, ang_vel: np.ndarray
    ) -> np.ndarray:
        """Returns the commands of the actuators (N, A); arguments as of Pilot.act()."""
        if self._headings is None:
            x, y, z, w = quat.T
            self._headings = np.arctan2(2 * (w * z + x * y), 1 - 2 * (y * y + z * z))
        if t_us >= self._followed_us:
            self._followed_us += round(self.tasks.task.step_s * 1e6)
            self.tasks.follow(t_us, *(each[:, None] for each in (pos, quat, vel, ang_vel)))
        goal = self.tasks.goal.reshape(len(pos), -1)[:, :3]
        return self._raptor.act(pos, quat, vel, ang_vel, goal, self._headings)


def _seen(
    error: np.ndarray, quat: np.ndarray, vel: np.ndarray, ang_vel: np.ndarray, heading: float
) -> np.ndarray:
    """Returns (18,): position, attitude row by row, velocity, body rates, from the heading."""
    c, s = math.cos(heading), math.sin(heading)
    turn = np.array([[c, s, 0.0], [-s, c, 0.0], [0.0, 0.0, 1.0]])
    error = error * min(1.0, _MAX_ERROR_M / max(float(np.linalg.norm(error)), 1e-9))
    half = -0.5 * heading
    attitude = to_matrix(*multiply(0.0, 0.0, math.sin(half), math.cos(half), *map(float, quat)))
    return np.concatenate([turn @ error, attitude, turn @ vel, ang_vel])


def _network() -> Any:  # a network of the optional package
    return extras.require("foundation_policy", "raptor", "raptor", LearningError).Raptor()
