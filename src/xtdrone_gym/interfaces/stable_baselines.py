"""Stable-Baselines3's vector environment over a TaskBatch: each vehicle is one of its environments.

PPO("MlpPolicy", BatchVecEnv("Position-v0", 1024)).learn(1_000_000)
"""

from collections.abc import Iterable, Sequence
from typing import Any, NoReturn

import numpy as np

from xtdrone_batch.errors import BatchError
from xtdrone_core import extras

from ..rows import Rows
from ..task import Task
from ..task_batch import TaskBatch
from .views import Views

try:
    from stable_baselines3.common.vec_env import VecEnv
    from stable_baselines3.common.vec_env.base_vec_env import VecEnvIndices
except ImportError as error:
    raise BatchError(extras.lacking("Stable-Baselines3", error, "learners")) from error


class BatchVecEnv(VecEnv):
    """A task in many environments; observations are of about 1 and actions -1..1, see Rows.

    Infos of a row whose episode has ended have terminal_observation, TimeLimit.truncated and
    is_success.

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
            environments: How many; the interface has one for each of their vehicles.
            render_mode: None, or rgb_array.
            discount: See Rows.
            options: Those of TaskBatch: vehicle, randomisation, realism, history,
                seed, threads, wind.

        Raises:
            XtdroneError: There is no such task, or an option is not allowed.
        """
        self.rows = rows = Rows(TaskBatch(task, environments, **options), discount)
        self._views = Views(rows.tasks, render_mode)
        self._action: np.ndarray | None = None
        self.render_mode = render_mode
        super().__init__(rows.count, rows.observation_space, rows.action_space)

    @property
    def tasks(self) -> TaskBatch:
        """The environments."""
        return self.rows.tasks

    def reset(self) -> np.ndarray:
        """Begins episodes; returns observations (R, N). seed() before it seeds all of them."""
        seed = self._seeds[0]
        self._reset_seeds()
        self._reset_options()
        self.reset_infos = [{} for _ in range(self.num_envs)]
        return self.rows.begin(seed)

    def step_async(self, actions: np.ndarray) -> None:
        """Keeps the actions (R, K) for step_wait()."""
        self._action = actions

    def step_wait(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, list[dict]]:
        """Acts; returns observations (R, N), rewards (R,), ends (R,) and infos."""
        rows, tasks = self.rows, self.tasks
        assert self._action is not None  # step_async() comes first
        rows.step(self._action)
        infos: list[dict] = [{} for _ in range(self.num_envs)]
        which = np.flatnonzero(rows.done)
        if len(which):
            success = rows.of_rows(tasks.success)
            for row, final in zip(which, rows.final(which), strict=True):
                infos[row] = {
                    "terminal_observation": final,
                    "is_success": bool(success[row]),
                    "TimeLimit.truncated": bool(rows.truncated[row]),
                }
        return rows.observation(), rows.reward, rows.done, infos

    def close(self) -> None:
        """Frees what render() needs."""
        self._views.close()

    def get_images(self) -> Sequence[np.ndarray | None]:
        """Returns images of the first environments, see rendering.View."""
        return self._views.images() or ()

    def get_attr(
        self, attr_name: str, indices: VecEnvIndices = None
    ) -> list[Any]:  # values of the attribute's type
        """Returns an attribute of this object, which all rows share."""
        return [getattr(self, attr_name) for _ in self._rows_of(indices)]

    def set_attr(self, attr_name: str, value: object, indices: VecEnvIndices = None) -> None:
        """Sets an attribute of this object, which all rows share."""
        setattr(self, attr_name, value)

    def env_method(
        self,
        method_name: str,
        *method_args: object,
        indices: VecEnvIndices = None,
        **method_kwargs: object,
    ) -> NoReturn:
        """Refuses: a row has no object of its own.

        Raises:
            BatchError: Always.
        """
        raise BatchError(
            f"env_method('{method_name}') is not allowed: a vehicle of a batch has no "
            "object of its own; call methods of `tasks`"
        )

    def env_is_wrapped(self, wrapper_class: type, indices: VecEnvIndices = None) -> list[bool]:
        """Returns false for each row."""
        return [False for _ in self._rows_of(indices)]

    def _rows_of(self, indices: VecEnvIndices) -> Iterable[int]:
        """Returns row indices; before VecEnv's constructor has run, too."""
        return range(self.rows.count) if indices is None else self._get_indices(indices)
