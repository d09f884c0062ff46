"""One environment of a task, as gymnasium.make() gives it."""

from typing import Any

import gymnasium
import numpy as np
from gymnasium.vector import AutoresetMode

from .vector_env import BatchVectorEnv


class BatchEnv(gymnasium.Env):
    """A task in one environment; arguments are those of BatchVectorEnv."""

    metadata = {"render_modes": []}

    def __init__(self, task: str, **options: Any):
        self._vector = BatchVectorEnv(task, 1, autoreset_mode=AutoresetMode.DISABLED, threads=1,
                                      **options)
        self.observation_space = self._vector.single_observation_space
        self.action_space = self._vector.single_action_space

    def reset(self, *, seed: int | None = None, options: dict | None = None) -> tuple:
        """Observation and info of a new episode."""
        super().reset(seed=seed)
        observation, info = self._vector.reset(seed=seed)
        return observation[0].copy(), info

    def step(self, action: np.ndarray) -> tuple:
        """Observation, reward, terminated, truncated, info after one action."""
        observation, reward, terminated, truncated, info = self._vector.step(
            np.asarray(action, dtype=np.float32)[None])
        return (observation[0].copy(), float(reward[0]), bool(terminated[0]), bool(truncated[0]),
                info)
