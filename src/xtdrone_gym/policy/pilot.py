"""Pilot: actions of a policy for measured poses, wherever they come from."""

import numpy as np

from xtdrone_core import FleetModel, XtdroneError
from xtdrone_core.errors import shown
from xtdrone_core.racing.track import Track
from xtdrone_core.vehicle import Vehicle

from ..errors import LearningError
from ..scaling import Scaling
from ..task import Task
from ..task_batch import TaskBatch, find_task
from .policy_file import ANY, Policy


class Pilot:
    """Flies vehicles through episodes of a policy's task, in the task's own frame.

    Of a task with one vehicle in an environment each vehicle flies an episode of its own.

    Attributes:
        policy: The Policy.
        tasks: TaskBatch of the task, which follows the vehicles.
        starts: (N, 3) of the task, in its frame [m].
        level: What its actions command.
        period_us: Between two actions [us].
    """

    def __init__(
        self,
        policy: Policy,
        vehicles: tuple[Vehicle, ...],
        seed: int = 0,
        task_name: str = "",
        track: Track | None = None,
    ):
        """Prepares the first episode.

        Args:
            policy: The policy.
            vehicles: The fleet, N of one type.
            seed: Seed of the goals.
            task_name: A name or module:TASK in place of the policy's own task.
            track: A race track, whose laps are the task; one with gates.

        Raises:
            LearningError: The policy is for another vehicle, number of vehicles or task.
        """
        self.policy, self._d = policy, policy.description
        self.level, self.period_us = policy.description.action, policy.description.period_us
        self._check_vehicles(vehicles)
        task = self._find_task(task_name)
        if track is not None:
            task = _laps_of(task, track)
        if len(vehicles) % task.vehicles:
            raise LearningError(
                f"{task.name} has {task.vehicles} vehicles in an episode: fly so "
                f"many, or a multiple, not {len(vehicles)}"
            )
        self.tasks = TaskBatch(
            task,
            len(vehicles) // task.vehicles,
            vehicle=vehicles[0].type,
            history=self._d.history,
            seed=seed,
            threads=1,
        )
        self._check_task(task)
        self.scaling = Scaling.of_task(task, FleetModel.of([vehicles[0]]), self._d.history)
        self.starts = np.tile(np.array(task.starts), (self.tasks.environments, 1))
        self._memory = policy.first_memory(len(vehicles))

    def begin(self) -> None:
        """Begins an episode with new goals."""
        self.tasks.begin()
        self._memory[:] = 0.0

    def act(
        self, t_us: int, pos: np.ndarray, quat: np.ndarray, vel: np.ndarray, ang_vel: np.ndarray
    ) -> np.ndarray:
        """Returns the actions (N, K) in the task's units.

        Args:
            t_us: Since the episode began [us].
            pos: (N, 3) in the task's frame [m].
            quat: (N, 4) xyzw, body to world.
            vel: (N, 3) world [m/s].
            ang_vel: (N, 3) body [rad/s].
        """
        tasks, n = self.tasks, len(pos)
        lead = tasks.action.shape[:2]
        tasks.follow(
            t_us,
            pos.reshape(*lead, 3),
            quat.reshape(*lead, 4),
            vel.reshape(*lead, 3),
            ang_vel.reshape(*lead, 3),
        )
        output, self._memory = self.policy.act(tasks.observation.reshape(n, -1), self._memory)
        tasks.take(self.scaling.action(output).reshape(tasks.action.shape))
        return tasks.action.reshape(n, -1)

    def _find_task(self, name: str) -> Task:
        try:
            return find_task(name or self._d.task)
        except XtdroneError as error:
            raise LearningError(
                f"the task of policy '{shown(self.policy.path)}' is not found: {error}"
                + ("" if name else "; --task names it in place of the policy's file")
            ) from error

    def _check_vehicles(self, vehicles: tuple[Vehicle, ...]) -> None:
        types = sorted({vehicle.type for vehicle in vehicles})
        if len(types) > 1:
            raise LearningError(f"a policy flies vehicles of one type, not {', '.join(types)}")
        if self._d.vehicle not in (ANY, types[0]):
            raise LearningError(
                f"policy '{shown(self.policy.path)}' is for '{shown(self._d.vehicle)}', not for "
                f"'{types[0]}': fly --vehicle {shown(self._d.vehicle)}, or learn one with "
                f"--vehicle {types[0]}"
            )

    def _check_task(self, task: Task) -> None:
        description = self._d
        parts = tuple((part.name, part.width) for part in task.parts)
        for what, wanted, described in (
            ("observation", parts, description.observation),
            ("action", task.action, description.action),
            ("actions", task.action_names, description.actions),
            ("period_us", round(task.step_s * 1e6), description.period_us),
        ):
            if wanted != described:
                raise LearningError(
                    f"policy '{shown(self.policy.path)}' does not fit "
                    f"{task.name}: its {what} is {shown(described)} and the task's "
                    f"{wanted}"
                )


def _laps_of(task: Task, track: Track) -> Task:
    if task.on_track is None:
        raise LearningError(
            f"a policy of {task.name} knows no gates, and track '{track.name}' has some: give one "
            "that 'xtdrone learn Track-v0' has written, or fly it without --track"
        )
    return task.on_track(task, track)
