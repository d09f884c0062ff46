"""Gymnasium's vector environment over a TaskBatch."""

from collections.abc import Mapping
from typing import Any

import gymnasium
import numpy as np
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space

from xtdrone_batch.errors import BatchError
from xtdrone_batch.simulation import BatchSimulation

from ..task import Task
from ..task_batch import TaskBatch
from .views import RENDER_MODES, Views


class BatchVectorEnv(VectorEnv):
    """A task in many environments that are stepped together.

    Of a task with several vehicles the environment's observations and actions are those of all
    vehicles, one after the other, and its reward is their mean. Observations, rewards and ends
    are arrays of the environment, overwritten by the next step or reset; copy them to keep them.
    Actions are cut to their bounds.

    Attributes:
        tasks: The TaskBatch.
    """

    def __init__(
        self,
        task: Task | str,
        num_envs: int = 1,
        *,
        autoreset_mode: AutoresetMode | str = AutoresetMode.SAME_STEP,
        render_mode: str | None = None,
        **options: Any,  # those of TaskBatch, each of its own type
    ):
        """Builds the environments.

        Args:
            task: A Task, or its name.
            num_envs: How many environments.
            autoreset_mode: Gymnasium's: same_step (final observations in info["final_obs"]),
                next_step or disabled.
            render_mode: None, or rgb_array.
            options: Those of TaskBatch: vehicle, randomisation, realism, history, seed,
                threads, wind.

        Raises:
            XtdroneError: There is no such task, or an option is not allowed.
        """
        self.tasks = TaskBatch(task, num_envs, **options)
        self.num_envs = num_envs
        self._mode = AutoresetMode(autoreset_mode)
        self.render_mode = render_mode
        self._views = Views(self.tasks, render_mode)
        self.metadata = {
            "autoreset_mode": self._mode,
            "render_modes": list(RENDER_MODES),
            "render_fps": round(1.0 / self.tasks.task.step_s),
        }
        spec, many = self.tasks.task, self.tasks.task.vehicles
        bounds = np.tile(spec.per_number("bound"), many * (self.tasks.history + 1))
        self.single_observation_space = gymnasium.spaces.Box(-bounds, bounds)
        self.single_action_space = gymnasium.spaces.Box(
            np.tile(np.array(spec.low, np.float32), many),
            np.tile(np.array(spec.high, np.float32), many),
        )
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)
        self._observation = self.tasks.observation.reshape(num_envs, -1)
        # Episodes that the last step ended, for next_step.
        self._done = np.zeros(num_envs, dtype=np.bool_)

    @property
    def batch(self) -> BatchSimulation:
        """The simulation."""
        return self.tasks.batch

    def reset(
        self, *, seed: int | None = None, options: Mapping[str, Any] | None = None
    ) -> tuple[np.ndarray, dict]:
        """Begins episodes in all environments, or in those of options["reset_mask"] (E,) bool."""
        if seed is not None:
            self._np_random, _ = gymnasium.utils.seeding.np_random(seed)
        self.tasks.begin((options or {}).get("reset_mask"), seed)
        self._done[:] = False
        return self._observation, {}

    def step(self, actions: np.ndarray) -> tuple:
        """Acts in each environment; returns observation, reward, terminated, truncated, info."""
        tasks = self.tasks
        given = np.asarray(actions, dtype=np.float32)
        if given.shape != self.action_space.shape:
            raise BatchError(
                f"actions of shape {given.shape} are not allowed: give "
                f"{self.action_space.shape} (environments, "
                f"{', '.join(tasks.task.action_names)})"
            )
        given = given.reshape(tasks.action.shape)
        info: dict[str, Any] = {}
        if self._mode is AutoresetMode.SAME_STEP:
            tasks.step_and_restart(given)
            if tasks.done.any():
                final = np.full(self.num_envs, None, dtype=object)
                which = np.flatnonzero(tasks.done)
                final[which] = list(tasks.final.reshape(self.num_envs, -1)[which])
                info = {"final_obs": final, "_final_obs": tasks.done.copy()}
        else:
            tasks.step(given)
            if self._mode is AutoresetMode.NEXT_STEP:
                if self._done.any():
                    tasks.begin(self._done)
                    tasks.reward[self._done] = 0.0
                self._done[:] = tasks.done
        reward = tasks.reward[:, 0] if tasks.task.vehicles == 1 else tasks.reward.mean(axis=1)
        return self._observation, reward, tasks.terminated, tasks.truncated, info

    def render(self) -> tuple[np.ndarray, ...] | None:
        """Returns images (h, w, 3) of the first environments; None without a mode."""
        return self._views.images()

    def close_extras(self, **kwargs: object) -> None:
        """Frees what render() needs."""
        self._views.close()


def make_env(task: Task | str, num_envs: int = 1, **options: Any) -> BatchVectorEnv:  # its options
    """Makes environments of a task, as gymnasium.make_vec("xtdrone/NAME") does.

    Args:
        task: A Task, or its name: Position-v0.
        num_envs: How many.
        options: Those of BatchVectorEnv.

    Raises:
        XtdroneError: There is no such task, or an option is not allowed.
    """
    return BatchVectorEnv(task, num_envs, **options)
