"""PettingZoo's parallel environment over a TaskBatch: each vehicle is an agent."""

from typing import Any

import numpy as np
from gymnasium.spaces import Box

from xtdrone_batch.errors import BatchError
from xtdrone_core import extras

from ..task import Task
from ..task_batch import TaskBatch
from .views import RENDER_MODES, Views

try:
    from pettingzoo import ParallelEnv
except ImportError as error:
    raise BatchError(extras.lacking("PettingZoo", error, "gym")) from error


class BatchParallelEnv(ParallelEnv):  # type: ignore[misc]  # optional
    """A task in one environment, whose vehicles are "vehicle_0", "vehicle_1", ...

    An episode begins and ends for all of them together. Actions and observations are in the
    task's units; actions are cut to their bounds.

    Attributes:
        tasks: The TaskBatch.
    """

    def __init__(
        self,
        task: Task | str,
        render_mode: str | None = None,
        **options: Any,  # those of TaskBatch, each of its own type
    ):
        """Builds the environment.

        Args:
            task: A Task, or its name.
            render_mode: None, or rgb_array.
            options: Those of TaskBatch: vehicle, randomisation, realism, history, seed, wind.

        Raises:
            XtdroneError: There is no such task, or an option is not allowed.
        """
        self.tasks = TaskBatch(task, 1, **{"threads": 1, **options})
        spec, count = self.tasks.task, self.tasks.task.vehicles
        self.render_mode, self._views = render_mode, Views(self.tasks, render_mode)
        self.metadata = {
            "name": spec.name,
            "render_modes": list(RENDER_MODES),
            "render_fps": round(1.0 / spec.step_s),
            "is_parallelizable": True,
        }
        self.possible_agents = [f"vehicle_{i}" for i in range(count)]
        self.agents: list[str] = []
        bound = np.tile(spec.per_number("bound"), self.tasks.history + 1)
        low, high = (np.array(limit, np.float32) for limit in (spec.low, spec.high))
        self.observation_spaces = {name: Box(-bound, bound) for name in self.possible_agents}
        self.action_spaces = {name: Box(low, high) for name in self.possible_agents}
        whole = np.tile(bound, count)
        self.state_space = Box(-whole, whole)

    def observation_space(self, agent: str) -> Box:
        """Returns the space of an agent."""
        return self.observation_spaces[agent]

    def action_space(self, agent: str) -> Box:
        """Returns the space of an agent."""
        return self.action_spaces[agent]

    def reset(self, seed: int | None = None, options: dict | None = None) -> tuple[dict, dict]:
        """Begins an episode; returns observations and infos."""
        self.tasks.begin(seed=seed)
        self.agents = list(self.possible_agents)
        return self._observations(), self._all({})

    def step(self, actions: dict) -> tuple[dict, dict, dict, dict, dict]:
        """Acts; returns observations, rewards, terminations, truncations and infos.

        Raises:
            BatchError: The episode is over, or an agent has no action.
        """
        if not self.agents:
            raise BatchError("step() after the end of an episode is not allowed: call reset()")
        missing = [name for name in self.agents if name not in actions]
        if missing:
            raise BatchError(
                f"actions of {', '.join(actions) or 'nobody'} are not enough: give "
                f"one of each of {', '.join(self.agents)}"
            )
        tasks = self.tasks
        tasks.step(
            np.stack([np.asarray(actions[name], dtype=np.float32) for name in self.agents])[None]
        )
        rewards = dict(zip(self.agents, map(float, tasks.reward[0]), strict=True))
        results = (
            self._observations(),
            rewards,
            self._all(bool(tasks.terminated[0])),
            self._all(bool(tasks.truncated[0])),
            {name: {"is_success": bool(tasks.success[0])} for name in self.agents},
        )
        if tasks.done[0]:
            self.agents = []
        return results

    def state(self) -> np.ndarray:
        """Returns the observations of all vehicles, one after the other."""
        return self.tasks.observation[0].reshape(-1).copy()

    def render(self) -> np.ndarray | None:
        """Returns an image (h, w, 3), see rendering.View; None without render_mode."""
        images = self._views.images()
        return None if images is None else images[0]

    def close(self) -> None:
        """Frees what render() needs."""
        self._views.close()

    def _observations(self) -> dict[str, np.ndarray]:
        return {name: self.tasks.observation[0, i].copy() for i, name in enumerate(self.agents)}

    def _all(self, value: Any) -> dict[str, Any]:  # any value, the same for each agent
        return {name: value.copy() if isinstance(value, dict) else value for name in self.agents}


def parallel_env(task: Task | str, **options: Any) -> BatchParallelEnv:  # its options
    """Makes an environment, under PettingZoo's usual name; see BatchParallelEnv."""
    return BatchParallelEnv(task, **options)
