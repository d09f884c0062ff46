"""rsl-rl's vector environment over a TaskBatch: each vehicle is one of its environments."""

from typing import Any

import numpy as np

from xtdrone_batch.errors import BatchError
from xtdrone_core import extras

from ..rows import Rows
from ..task import Task
from ..task_batch import TaskBatch

try:
    import torch
    from rsl_rl.env import VecEnv
    from tensordict import TensorDict
except ImportError as error:
    raise BatchError(extras.lacking("rsl-rl", error, "learners")) from error


class RslRlEnv(VecEnv):  # type: ignore[misc]  # optional
    """A task in many environments; observations are of about 1 and actions -1..1, see Rows.

    Observations have two groups: "policy", and "privileged", which only a critic may know:
    obs_groups = {"actor": ["policy"], "critic": ["policy", "privileged"]}. Tensors are the CPU's.

    Attributes:
        rows: The Rows.
    """

    device = "cpu"

    def __init__(
        self,
        task: Task | str,
        environments: int = 1,
        *,
        discount: float | None = None,
        **options: Any,  # those of TaskBatch, each of its own type
    ):
        """Builds the environments.

        Args:
            task: A Task, or its name.
            environments: How many; the interface has one for each of their vehicles.
            discount: See Rows.
            options: Those of TaskBatch: vehicle, randomisation, realism, history,
                seed, threads, wind.

        Raises:
            XtdroneError: There is no such task, or an option is not allowed.
        """
        self.rows = Rows(TaskBatch(task, environments, **options), discount)
        spec = self.rows.tasks.task
        self.num_envs, self.num_actions = self.rows.count, len(spec.low)
        self.max_episode_length = round(spec.seconds / spec.step_s)
        self.cfg = {
            "task": spec.name,
            "environments": environments,
            **{name: repr(value) for name, value in options.items()},
        }

    @property
    def tasks(self) -> TaskBatch:
        """The environments."""
        return self.rows.tasks

    @property
    def episode_length_buf(self) -> torch.Tensor:
        """Steps (R,) of each row's episode so far; the runner may set them at the start."""
        steps = np.round(self.tasks.batch.t_us / self._step_us).astype(np.int64)
        return torch.from_numpy(self.rows.of_rows(steps))

    @episode_length_buf.setter
    def episode_length_buf(self, steps: torch.Tensor) -> None:
        # The vehicles of an environment have one time, that of the first row.
        first = steps.cpu().numpy()[:: self.tasks.task.vehicles]
        self.tasks.batch.t_us[:] = first * self._step_us

    @property
    def _step_us(self) -> int:
        return round(1e6 * self.tasks.task.step_s)

    def get_observations(self) -> TensorDict:
        """Returns the observations."""
        return TensorDict(
            {
                "policy": torch.from_numpy(self.rows.observation()),
                "privileged": torch.from_numpy(self.rows.state()),
            },
            [self.num_envs],
        )

    def step(self, actions: torch.Tensor) -> tuple[TensorDict, torch.Tensor, torch.Tensor, dict]:
        """Makes a step by actions (R, K); returns observations, rewards, ends and extras.

        Ended episodes have begun anew; extras has time_outs (R,) and the success rate.
        """
        rows, tasks = self.rows, self.tasks
        rows.step(actions.detach().cpu().numpy())
        extras: dict[str, Any] = {"time_outs": torch.from_numpy(rows.truncated.astype(np.float32))}
        if tasks.done.any():
            extras["log"] = {"/success": float(tasks.success[tasks.done].mean())}
        return (
            self.get_observations(),
            torch.from_numpy(rows.reward),
            torch.from_numpy(rows.done),
            extras,
        )
