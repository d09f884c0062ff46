"""Every vehicle of every environment as one row, as learners with one shared policy want it."""

import numpy as np
from gymnasium.spaces import Box

from .scaling import Scaling
from .task_batch import PRIVILEGED, TaskBatch


class Rows:
    """A TaskBatch as R = E V rows of numbers of about 1; an environment that is over begins anew.

    An action of 0 hovers, -1 and 1 are the bounds, see Scaling. All arrays are new ones, which
    later steps leave as they are.

    Attributes:
        tasks: The TaskBatch.
        scaling: Between its units and those of the rows.
        count: R.
        observation_space, action_space, state_space: Spaces of one row.
        reward: (R,) of the last step.
        done: (R,) bool, whether that was the last one of an episode.
        truncated: (R,) bool, whether the episode was over for another reason than this
            vehicle: the time, or another vehicle. The state that follows has a value then.
    """

    def __init__(self, tasks: TaskBatch, discount: float | None = None, shaping: float = 1.0):
        """Makes the rows of a batch of tasks.

        Args:
            tasks: The batch.
            discount: The learner's; rewards then contain the change of the task's potential,
                see RewardArrays. None for the task's rewards alone.
            shaping: Weight of that change.
        """
        self.tasks = tasks
        self.scaling = Scaling.of(tasks)
        spec, history = self.tasks.task, self.tasks.history
        self.count = tasks.environments * spec.vehicles
        self._discount, self._shaping = discount, shaping
        self._potential = np.zeros_like(self.tasks.potential)  # before the next step
        self.reward = np.zeros(self.count, dtype=np.float32)
        self.done, self.truncated = np.zeros((2, self.count), dtype=np.bool_)
        bound = np.tile(spec.per_number("bound"), history + 1) / self.scaling.scale
        width = len(spec.low)
        self.observation_space = Box(-bound, bound)
        self.action_space = Box(-1.0, 1.0, (width,))
        self._state = np.zeros(
            (tasks.environments, spec.vehicles, spec.size + PRIVILEGED), dtype=np.float32
        )
        self.state_space = Box(-np.inf, np.inf, (self._state.shape[2],))

    def begin(self, seed: int | None = None) -> np.ndarray:
        """Begins new episodes everywhere; returns observations (R, N)."""
        self.tasks.begin(seed=seed)
        self._potential[:] = self.tasks.potential
        return self.observation()

    def step(self, action: np.ndarray) -> None:
        """Makes one step by actions (R, K)."""
        tasks = self.tasks
        tasks.step_and_restart(
            self.scaling.action(np.asarray(action, dtype=np.float32)).reshape(tasks.action.shape)
        )
        reward = tasks.reward
        if self._discount is not None:
            reward = reward + self._shaping * (self._discount * tasks.potential - self._potential)
            self._potential[:] = np.where(tasks.done[:, None], tasks.first, tasks.potential)
        self.reward = reward.reshape(-1).copy()
        self.done = self.of_rows(tasks.done)
        self.truncated = self.done & ~tasks.ended.reshape(-1)

    def observation(self) -> np.ndarray:
        """Returns the observations (R, N)."""
        return self._scaled(self.tasks.observation)

    def final(self, rows: np.ndarray) -> np.ndarray:
        """Returns the last observations (M, N) of rows whose episodes ended in the last step."""
        return self.scaling.observation(self.tasks.final.reshape(self.count, -1)[rows])

    def state(self) -> np.ndarray:
        """Returns (R, N0 + PRIVILEGED) numbers for a critic alone, see TaskBatch.privileged()."""
        self.tasks.privileged(self._state)
        return self.scaling.privileged(self._state).reshape(self.count, -1)

    def unknown_state(self, observation: np.ndarray) -> np.ndarray:
        """Returns state() of observations (M, N) about which no more is known."""
        size = self.tasks.task.size
        out = np.zeros((len(observation), size + PRIVILEGED), dtype=np.float32)
        out[:, :size] = observation[:, :size]
        return out

    def of_rows(self, array: np.ndarray) -> np.ndarray:
        """Returns (R,) of an array (E,) of the tasks, such as success."""
        return np.repeat(array, self.tasks.task.vehicles)

    def _scaled(self, observation: np.ndarray) -> np.ndarray:
        return self.scaling.observation(observation.reshape(self.count, -1))
