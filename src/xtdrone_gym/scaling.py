"""Conversion between a task's units and numbers of about 1, for networks."""

from dataclasses import dataclass

import numpy as np

from xtdrone_autopilot.state.vehicle_status import command_of, describe_bodies, new_status
from xtdrone_core import FleetModel
from xtdrone_dynamics.constants import GRAVITY

from .task import Task
from .task_batch import TaskBatch


@dataclass(frozen=True, eq=False)
class Scaling:
    """An action of 0 is a hover; of -1 and 1 the task's bounds, or as far from a hover."""

    scale: np.ndarray  # (N,) of an observation, its history included
    base: np.ndarray  # (N0,) of an observation without history
    centre: np.ndarray  # (K,) of an action, in the task's units
    half: np.ndarray  # (K,)

    @classmethod
    def of(cls, tasks: TaskBatch) -> "Scaling":
        """Returns the scaling of a batch's task and vehicle."""
        return cls.of_task(tasks.task, tasks.batch.model, tasks.history)

    @classmethod
    def of_task(cls, task: Task, model: FleetModel, history: int) -> "Scaling":
        """Returns the scaling of a task, a fleet's first vehicle and a length of history."""
        low, high = np.array(task.low), np.array(task.high)
        centre, half = 0.5 * (low + high), 0.5 * (high - low)
        if task.action in ("rates", "attitude"):
            centre[-1] = half[-1] = hover_command(model)
        if task.action == "attitude":
            centre[:4] = 0.0, 0.0, 0.0, 1.0
        scale = task.per_number("scale")
        return cls(
            np.tile(scale, history + 1), scale, centre.astype(np.float32), half.astype(np.float32)
        )

    def observation(self, observation: np.ndarray) -> np.ndarray:
        """Returns observations (..., N) divided by their scales."""
        return observation / self.scale

    def privileged(self, privileged: np.ndarray) -> np.ndarray:
        """Returns TaskBatch.privileged() (..., N0 + PRIVILEGED), scaled likewise."""
        out = privileged.copy()
        n = len(self.base)
        out[..., :n] /= self.base
        out[..., n : n + 2] = 5.0 * (out[..., n : n + 2] - 1.0)
        out[..., n + 2 : n + 5] /= 5.0
        return out

    def action(self, output: np.ndarray) -> np.ndarray:
        """Returns a network's output (..., K) as an action in the task's units."""
        return self.centre + self.half * output


def hover_command(model: FleetModel) -> float:
    """Returns the common command of all rotors 0..1 at which the first vehicle hovers."""
    status = new_status(model.n)
    describe_bodies(status, model)
    return float(command_of(status["thrust_poly"], status["mass"] * GRAVITY)[0])
