"""skrl's wrapper over a TaskBatch: each vehicle is one of its environments."""

from typing import Any

import numpy as np

from xtdrone_batch.errors import BatchError
from xtdrone_core import extras

from ..rows import Rows
from ..task import Task
from ..task_batch import TaskBatch
from .views import Views

try:
    import torch
    from gymnasium.spaces import Box
    from skrl.envs.wrappers.torch.base import Wrapper
except ImportError as error:
    raise BatchError(extras.lacking("skrl", error, "learners")) from error


class SkrlEnv(Wrapper):  # type: ignore[misc]  # optional
    """A task in many environments; observations are of about 1 and actions -1..1, see Rows.

    state() is what only a critic may know. Tensors are the CPU's.

    Attributes:
        rows: The Rows.
    """

    def __init__(
        self,
        task: Task | str,
        environments: int = 1,
        *,
        discount: float | None = None,
        render_mode: str | None = None,
        **options: Any,  # those of TaskBatch, each of its own type
    ):
        """Builds the environments.

        Args:
            task: A Task, or its name.
            environments: How many; the wrapper has one for each of their vehicles.
            render_mode: None, or rgb_array.
            discount: See Rows.
            options: Those of TaskBatch: vehicle, randomisation, realism, history,
                seed, threads, wind.

        Raises:
            XtdroneError: There is no such task, or an option is not allowed.
        """
        self.rows = Rows(TaskBatch(task, environments, **options), discount)
        self._views = Views(self.rows.tasks, render_mode)
        super().__init__(self.rows.tasks)
        self._device = torch.device("cpu")

    @property
    def tasks(self) -> TaskBatch:
        """The environments."""
        return self.rows.tasks

    def reset(self) -> tuple[torch.Tensor, dict[str, Any]]:
        """Begins episodes; returns observations (R, N), and an empty info."""
        return torch.from_numpy(self.rows.begin()), {}

    def step(
        self, actions: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor, dict[str, Any]]:
        """Acts; returns observations (R, N), rewards, terminated, truncated (R, 1), and an info.

        Args:
            actions: (R, K).
        """
        rows, tasks = self.rows, self.rows.tasks
        rows.step(actions.detach().cpu().numpy())
        info = {}
        if tasks.done.any():  # skrl tracks what is in "episode"
            info["episode"] = {"success": torch.tensor(tasks.success[tasks.done].mean())}
        return (
            torch.from_numpy(rows.observation()),
            _column(rows.reward),
            _column(rows.done & ~rows.truncated),
            _column(rows.truncated),
            info,
        )

    def state(self) -> torch.Tensor:
        """Returns the states (R, N0 + PRIVILEGED), see TaskBatch.privileged()."""
        return torch.from_numpy(self.rows.state())

    def render(self, *args: object, **kwargs: object) -> tuple[np.ndarray, ...] | None:
        """Returns images of the first environments; None without render_mode."""
        return self._views.images()

    def close(self) -> None:
        """Frees what render() needs."""
        self._views.close()

    @property
    def num_envs(self) -> int:
        """Number of rows, R."""
        return self.rows.count

    @property
    def num_agents(self) -> int:
        """Number of agents of a row."""
        return 1

    @property
    def observation_space(self) -> Box:
        """Space of a row."""
        return self.rows.observation_space

    @property
    def action_space(self) -> Box:
        """Space of a row."""
        return self.rows.action_space

    @property
    def state_space(self) -> Box:
        """Space of a row of state()."""
        return self.rows.state_space


def _column(values: np.ndarray) -> torch.Tensor:
    return torch.from_numpy(values)[:, None]
