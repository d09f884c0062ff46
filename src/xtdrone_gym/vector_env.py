"""Gymnasium's vector environment over a batch, and one environment on its own."""

from collections.abc import Mapping
from typing import Any

import gymnasium
import numpy as np
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space

from sensor_models.streams import next_uniform
from xtdrone_batch.errors import BatchError
from xtdrone_batch.randomisation import Randomisation, seed_streams
from xtdrone_batch.simulation import BatchSimulation
from xtdrone_core.errors import unknown_name
from xtdrone_dynamics.compiled import njit

from .task import Task
from .tasks import TASKS

_SEEDS = 2**31


class BatchVectorEnv(VectorEnv):
    """A task in many environments that are stepped together.

    Observations, rewards and ends are arrays of the environment, overwritten by the next step
    or reset; copy them to keep them. Actions are cut to their bounds.

    Attributes:
        batch: The BatchSimulation.
        task: The Task.
        goal: (E, 3) of each environment.
    """

    def __init__(self, task: Task | str, num_envs: int = 1, *, vehicle: str = "iris",
                 autoreset_mode: AutoresetMode | str = AutoresetMode.SAME_STEP,
                 randomisation: Randomisation | None = None, seed: int = 0,
                 **options: Any):
        """Builds the environments.

        Args:
            task: A Task, or its name.
            num_envs: How many environments.
            vehicle: Of models/, a multirotor.
            autoreset_mode: Gymnasium's: same_step (final observations in info["final_obs"]),
                next_step or disabled.
            randomisation: In place of the task's.
            seed: Of all random numbers, until reset(seed=...).
            options: Of BatchSimulation: threads, wind, controller.

        Raises:
            XtdroneError: There is no such task, or an option is not allowed.
        """
        if isinstance(task, str):
            if task not in TASKS:
                raise BatchError(unknown_name("task", task, TASKS))
            task = TASKS[task]
        self.task, self.num_envs = task, num_envs
        self._mode = AutoresetMode(autoreset_mode)
        self.metadata = {"autoreset_mode": self._mode, "render_modes": []}
        x, y, z = task.start
        self.batch = BatchSimulation(
            f"{vehicle}@{x},{y},{z}", num_envs, action=task.action, sub_steps=task.sub_steps,
            dtype="float32", seed=seed, randomisation=randomisation or task.randomisation,
            **options)
        bounds = np.concatenate([np.full(count, bound) for _, count, bound in task.observation])
        bounds = bounds.astype(np.float32)
        self.single_observation_space = gymnasium.spaces.Box(-bounds, bounds)
        self.single_action_space = gymnasium.spaces.Box(np.float32(task.low), np.float32(task.high))
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)
        self._limit_us = round(task.seconds * 1e6)
        self.goal = np.zeros((num_envs, 3), dtype=np.float32)
        self._action = np.zeros((num_envs, 1, len(task.low)), dtype=np.float32)
        self._observation = np.zeros((num_envs, len(bounds)), dtype=np.float32)
        self._reward = np.zeros(num_envs, dtype=np.float32)
        self._terminated = np.zeros(num_envs, dtype=np.bool_)
        self._truncated = np.zeros(num_envs, dtype=np.bool_)
        self._all = np.arange(num_envs)
        self._over = np.zeros(num_envs, dtype=np.bool_)  # of the last step, for next_step
        self._streams = np.zeros((num_envs, 4), dtype=np.uint64)
        seed_streams(seed + 1, 0, self._streams)

    def reset(self, *, seed: int | None = None,
              options: Mapping[str, Any] | None = None) -> tuple[np.ndarray, dict]:
        """Begins episodes in all environments, or in those of options["reset_mask"] (E,) bool."""
        if seed is not None:
            self._np_random, _ = gymnasium.utils.seeding.np_random(seed)
            seed_streams(seed % _SEEDS + 1, 0, self._streams)
        mask = (options or {}).get("reset_mask")
        self._begin(np.ones(self.num_envs, dtype=np.bool_) if mask is None else mask,
                    None if seed is None else seed % _SEEDS)
        self._evaluate(self._all)
        self._over[:] = False
        return self._observation, {}

    def step(self, actions: np.ndarray) -> tuple:
        """Observation, reward, terminated, truncated, info after one action in each environment."""
        given = np.asarray(actions, dtype=np.float32)
        if given.shape != (self.num_envs, len(self.task.low)):
            raise BatchError(f"actions of shape {given.shape} are not allowed: give "
                             f"{(self.num_envs, len(self.task.low))} "
                             f"(environments, {', '.join(self.task.action_names)})")
        np.clip(given, self.single_action_space.low, self.single_action_space.high,
                out=self._action[:, 0])
        self.batch.step(self._action)
        began = self._over.any() and self._mode is AutoresetMode.NEXT_STEP
        fresh = self._begin(self._over) if began else self._all[:0]
        self._evaluate(self._all)
        self._reward[fresh] = 0.0
        self._terminated[fresh] = self._truncated[fresh] = False
        np.logical_or(self._terminated, self._truncated, out=self._over)
        ends = self._reward, self._terminated, self._truncated
        info: dict[str, Any] = {}
        if self._mode is AutoresetMode.SAME_STEP and self._over.any():
            over = self._over.copy()
            final = np.full(self.num_envs, None, dtype=object)
            which = np.flatnonzero(over)
            final[which] = list(self._observation[which])
            info = {"final_obs": final, "_final_obs": over}
            ends = self._reward.copy(), self._terminated.copy(), self._truncated.copy()
            self._evaluate(self._begin(over))
        return self._observation, *ends, info

    def _begin(self, mask, seed=None):
        """Begins episodes; returns in which environments."""
        self.batch.reset(mask, seed)
        which = np.flatnonzero(mask)
        self._action[which] = 0.0
        _draw_goals(which, np.array(self.task.goal), self._streams, self.goal)
        return which

    def _evaluate(self, which):
        state = self.batch.host_state()
        self.batch.threads.over(len(which), lambda first, last: self.task.evaluate(
            which[first:last], state, self.goal, self._action, self.batch.t_us,
            self._limit_us, self._observation, self._reward, self._terminated, self._truncated))


@njit
def _draw_goals(which: np.ndarray, limits: np.ndarray, streams: np.ndarray,
                goal: np.ndarray) -> None:
    """Draws the goals of some environments, evenly between limits (2, 3)."""
    for e in which:
        for k in range(goal.shape[1]):
            share = next_uniform(streams[e])
            goal[e, k] = limits[0, k] + share * (limits[1, k] - limits[0, k])
