"""One environment of a task, as gymnasium.make() gives it."""

from typing import Any

import gymnasium
import numpy as np
from gymnasium.vector import AutoresetMode

from ..task import Task
from .vector_env import BatchVectorEnv
from .views import RENDER_MODES


class BatchEnv(gymnasium.Env):
    """A task in one environment; arguments are those of BatchVectorEnv."""

    metadata: dict[str, Any] = {"render_modes": list(RENDER_MODES), "render_fps": 50}

    def __init__(
        self,
        task: Task | str,
        render_mode: str | None = None,
        **options: Any,  # those of TaskBatch, each of its own type
    ):
        self._vector = BatchVectorEnv(
            task,
            1,
            autoreset_mode=AutoresetMode.DISABLED,
            threads=1,
            render_mode=render_mode,
            **options,
        )
        self.render_mode = render_mode
        self.metadata = self._vector.metadata
        self.observation_space = self._vector.single_observation_space
        self.action_space = self._vector.single_action_space

    def reset(self, *, seed: int | None = None, options: dict | None = None) -> tuple:
        """Begins an episode; returns observation and info."""
        super().reset(seed=seed)
        observation, info = self._vector.reset(seed=seed)
        return observation[0].copy(), info

    def step(self, action: np.ndarray) -> tuple:
        """Acts; returns observation, reward, terminated, truncated and info."""
        observation, reward, terminated, truncated, info = self._vector.step(
            np.asarray(action, dtype=np.float32)[None]
        )
        return (
            observation[0].copy(),
            float(reward[0]),
            bool(terminated[0]),
            bool(truncated[0]),
            info,
        )

    def render(self) -> np.ndarray | None:
        """Returns an image (h, w, 3), see rendering.View; None without render_mode."""
        images = self._vector.render()
        return None if images is None else images[0]

    def close(self) -> None:
        """Frees what render() needs."""
        self._vector.close()
