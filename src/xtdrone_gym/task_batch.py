"""TaskBatch: a task in many environments at once, on plain arrays. Every interface is above it."""

import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from xtdrone_batch.errors import BatchError
from xtdrone_batch.randomisation import Randomisation, between, seed_streams
from xtdrone_batch.simulation import BatchSimulation
from xtdrone_batch.worlds.generate import World
from xtdrone_core import registry
from xtdrone_core.errors import shown, unknown_name
from xtdrone_core.sealing import sealed
from xtdrone_dynamics.compiled import njit

from .camera import TaskCamera
from .realism import TRUE, Realism, disturbed, draw_bias, draw_disturbance, measure, new_measured
from .task import ObservationArrays, RewardArrays, Task
from .tasks import TASKS

SEEDS = 2**31
MAX_HISTORY = 64
PRIVILEGED = 6  # numbers of privileged() beside the observation


def find_task(task: Task | str) -> Task:
    """Returns a task by its name or as module:TASK; a Task is returned as it is.

    Raises:
        XtdroneError: There is no such task.
    """
    if isinstance(task, Task):
        return task
    if task in TASKS:
        return TASKS[task]
    if not registry.is_own(task):
        raise BatchError(unknown_name("task", task, TASKS, "name one of your own as module:TASK"))
    found = registry.load_own("task", task)
    if not isinstance(found, Task):
        raise BatchError(
            f"'{shown(task)}' is a {type(found).__name__}: name an xtdrone_gym.task.Task, for "
            "example one of dataclasses.replace(TASKS['Position-v0'], ...)"
        )
    return found


def name_of(task: Task | str) -> str:
    """Returns the text by which find_task() finds a task in another process, too.

    Of a Task that no imported module holds, as of one made in a script itself, it is its own name,
    by which it is not found.
    """
    if isinstance(task, str) or TASKS.get(task.name) is task:
        return task if isinstance(task, str) else task.name
    for module in list(sys.modules.values()):
        for name, value in list(getattr(module, "__dict__", {}).items()):
            if value is task and module.__name__ != "__main__":
                return f"{module.__name__}:{name}"
    return task.name


@sealed
class TaskBatch:
    """E environments of V vehicles each that do a task; every step overwrites the arrays.

    Attributes:
        task: The Task.
        batch: The BatchSimulation.
        observation: (E, V, N) float32, or with a history (E, V, (H + 1) N), the newest first.
        reward: (E, V) float32.
        potential: (E, V) float32, by whose change a learner may shape the reward.
        ended: (E, V) bool: which vehicles have failed, or are done.
        terminated, truncated, done: (E,) bool: one has, the time is out, one of both.
        success: (E,) bool, whether the episode counts as a success if it ends now.
        action: (E, V, K) float32, the last one, within its bounds.
        arriving: (E, V, K) float32, the last action with the realism's delay and error.
        delay: (E,) by how many steps actions arrive late in this episode.
        reward_arrays: The arrays of the task's judge().
        final: As observation; of environments that step_and_restart() has restarted, their last
            observation before.
        first: (E, V) float32; of those the potential of their first state.
        hardness: 0..1, fraction of the realism, and of what the randomisation adds to the task's,
            in episodes that begin from now on.

    Examples:
        >>> import xtdrone as xd
        >>> xd.TaskBatch("Position-v0", 4, threads=1).reward.shape
        (4, 1)
    """

    def __init__(
        self,
        task: Task | str,
        environments: int = 1,
        *,
        vehicle: str = "iris",
        randomisation: Randomisation | None = None,
        realism: Realism = TRUE,
        history: int = 0,
        seed: int = 0,
        **options: Any,  # those of BatchSimulation, each of its own type
    ):
        """Builds the environments and begins their episodes.

        Args:
            task: A Task, its name, or module:TASK.
            environments: How many.
            vehicle: A multirotor of models/; all vehicles are of this type.
            randomisation: In place of the task's.
            realism: Errors of what is observed, and delay.
            history: So many earlier observations follow the newest one.
            seed: Seed of all random numbers.
            options: Those of BatchSimulation: threads, wind, controller, device.

        Raises:
            XtdroneError: There is no such task, or an option is not allowed.
        """
        self.task = task = find_task(task)
        if not 0 <= history <= MAX_HISTORY:
            raise BatchError(f"history = {history} is not allowed: give 0 to {MAX_HISTORY}")
        self.realism, self.history = realism, history
        fleet = "; ".join(f"{vehicle}@{x},{y},{z}" for x, y, z in task.starts)
        if task.world is not None:
            options["scenes"] = World(task.world)
        self._randomisation = randomisation or task.randomisation
        self.batch = BatchSimulation(
            fleet,
            environments,
            action=task.action,
            sub_steps=task.sub_steps,
            dtype="float32",
            seed=seed,
            randomisation=self._randomisation,
            **options,
        )
        self.limit_us = round(task.seconds * 1e6)
        lead, size, width = (environments, task.vehicles), task.size, len(task.low)
        self._low, self._high = (np.array(limit, np.float32) for limit in (task.low, task.high))
        self.observation = np.zeros((*lead, (history + 1) * size), dtype=np.float32)
        self.final = self.observation.copy()
        self.reward = np.zeros(lead, dtype=np.float32)
        self.potential, self.first = np.zeros((2, *lead), dtype=np.float32)
        self.terminated, self.truncated, self.done, self.success = np.zeros(
            (4, environments), dtype=np.bool_
        )
        self.ended = np.zeros(lead, dtype=np.bool_)
        self.action = np.zeros((*lead, width), dtype=np.float32)
        self.arriving = np.zeros_like(self.action) if realism.disturbs else self.action
        self._offset = np.zeros_like(self.action)
        self._given = np.zeros((realism.delay + 1, *self.action.shape), dtype=np.float32)
        self.delay = np.zeros(environments, dtype=np.int64)
        self._count = 0
        self._camera = None if task.camera is None else TaskCamera(self.batch, task)
        goal = np.zeros((*lead, len(task.goal[0])), dtype=np.float32)
        memory = np.zeros((*lead, task.memory), dtype=np.float32)
        state = self.batch.host_state()
        poses = state.pos, state.quat, state.vel, state.ang_vel
        image = np.zeros((*lead, 0), np.float32) if self._camera is None else self._camera.pooled
        now = np.zeros((*lead, size), dtype=np.float32)
        self.reward_arrays = RewardArrays(
            state,
            self.batch.scenes.objects,
            goal,
            memory,
            self.action,
            self.reward,
            self.potential,
            self.ended,
            self.success,
        )
        self.true = ObservationArrays(*poses, goal, memory, self.action, image, now)
        self._measured = new_measured(environments, task.vehicles) if realism.measures else None
        self.seen = (
            self.true
            if self._measured is None
            else self.true._replace(
                **{
                    name: getattr(self._measured, name)
                    for name in ("pos", "quat", "vel", "ang_vel")
                }
            )
        )
        self._limits, self._hardness = np.array(task.goal, dtype=float), 1.0
        self._widths = realism.widths()
        self._all = np.arange(environments)
        self._streams = np.zeros((environments, 4), dtype=np.uint64)
        self.begin(seed=seed)

    @property
    def environments(self) -> int:
        """Number of environments, E."""
        return self.batch.environments

    @property
    def goal(self) -> np.ndarray:
        """Goals (E, V, G); the task's file says what the numbers are."""
        return self.true.goal

    @property
    def memory(self) -> np.ndarray:
        """Memory (E, V, M) of the task; the task's file says what the numbers are."""
        return self.true.memory

    @property
    def hardness(self) -> float:
        """Fraction of the realism, see the class."""
        return self._hardness

    @hardness.setter
    def hardness(self, fraction: float) -> None:
        self._hardness = fraction
        self._widths = fraction * self.realism.widths()
        self.batch.randomise(between(self.task.randomisation, self._randomisation, fraction))

    def begin(self, mask: np.ndarray | None = None, seed: int | None = None) -> np.ndarray:
        """Begins episodes in all environments, or in those of a mask (E,) bool.

        Args:
            mask: Environments that begin.
            seed: Seed of all random numbers from now on.

        Returns:
            observation.
        """
        if seed is not None:
            seed_streams(seed % SEEDS + 1, self.batch.first, self._streams)
            seed %= SEEDS
        self.batch.reset(mask, seed)
        self.batch.host_state()
        which = self._all if mask is None else np.flatnonzero(mask)
        for array in (self.action, self.memory):
            array[which] = 0.0
        self._given[:, which] = 0.0
        for array in (self.ended, self.terminated, self.truncated, self.done):
            array[which] = False
        self._over(which, self.task.begin, self.reward_arrays, self._limits, self._streams)
        if self.realism.disturbs:
            self._over(
                which,
                draw_disturbance,
                round(self._hardness * self.realism.delay),
                0.5 * self._hardness * self.realism.action_bias * (self._high - self._low),
                self._streams,
                self.delay,
                self._offset,
            )
        if self._measured is not None:
            self._over(which, draw_bias, self._widths, self._streams, self._measured)
        self.task.advance(which, self.true, self.batch.t_us, self.task.step_s)
        self._over(which, self.task.judge, self.reward_arrays)
        self.reward[which], self.success[which] = 0.0, False
        self._observe(which)
        self._over(which, fill_history, self.seen.observation, self.observation)
        return self.observation

    def step(self, action: np.ndarray) -> None:
        """Makes one step of all environments; those that are over go on until begin().

        Args:
            action: (E, V, K) in the task's units; it is cut to the task's bounds.

        Raises:
            BatchError: Its shape is another, or a number is not finite.
        """
        self.take(action)
        if self.realism.disturbs:
            self._count += 1
            self._given[self._count % len(self._given)] = self.action
            self._over(
                self._all,
                disturbed,
                self.delay,
                self._offset,
                self._count,
                self._given,
                self.arriving,
            )
        self.batch.step(self.arriving)
        self._judge()

    def take(self, action: np.ndarray) -> None:
        """Keeps an action as the last one, within its bounds; see step()."""
        given = np.asarray(action, dtype=np.float32)
        if given.shape != self.action.shape:
            raise BatchError(
                f"actions of shape {given.shape} are not allowed: give "
                f"{self.action.shape} (environments, vehicles, "
                f"{', '.join(self.task.action_names)})"
            )
        np.clip(given, self._low, self._high, out=self.action)

    def follow(
        self, t_us: int, pos: np.ndarray, quat: np.ndarray, vel: np.ndarray, ang_vel: np.ndarray
    ) -> None:
        """Takes the poses of vehicles that move elsewhere, in place of a step.

        Args:
            t_us: Since the episodes began [us].
            pos: (E, V, 3) [m], and so on as in BatchState.
            quat: (E, V, 4) xyzw.
            vel: (E, V, 3) [m/s].
            ang_vel: (E, V, 3) [rad/s].
        """
        state = self.batch.state
        state.pos[:], state.quat[:], state.vel[:], state.ang_vel[:] = pos, quat, vel, ang_vel
        self.batch.t_us[:] = t_us
        self._judge()

    def _judge(self) -> None:
        """Updates goals, rewards, ends and observations after the vehicles have moved."""
        self.batch.host_state()
        self._over(self._all, self.task.advance, self.true, self.batch.t_us, self.task.step_s)
        self._over(self._all, self.task.judge, self.reward_arrays)
        np.any(self.ended, axis=1, out=self.terminated)
        np.greater_equal(self.batch.t_us, self.limit_us, out=self.truncated)
        self.truncated &= ~self.terminated
        np.logical_or(self.terminated, self.truncated, out=self.done)
        self._observe(self._all)
        self._over(self._all, shift_history, self.seen.observation, self.observation)

    def step_and_restart(self, action: np.ndarray) -> None:
        """Makes a step; then begins episodes that are over anew, their last observation in `final`.

        All but observation, goal and memory are those of the step.
        """
        self.step(action)
        which = np.flatnonzero(self.done)
        if len(which):
            self.final[which] = self.observation[which]
            of_step = (
                self.reward,
                self.potential,
                self.ended,
                self.terminated,
                self.truncated,
                self.done,
                self.success,
            )
            kept = [array[which] for array in of_step]
            self.begin(self.done.copy())
            self.first[which] = self.potential[which]
            for array, values in zip(of_step, kept):
                array[which] = values

    def stagger(self) -> None:
        """Sets the episodes' times at random, so that they do not all end in the same step."""
        steps = round(self.task.seconds / self.task.step_s)
        at = np.random.default_rng(self.environments).integers(0, steps, self.environments)
        self.batch.t_us[:] = at * round(self.task.step_s * 1e6)

    def privileged(self, out: np.ndarray) -> None:
        """Writes what only a critic may know (E, V, N + PRIVILEGED): the true observation, mass,
        mean effectiveness of the rotors, wind in the world [m/s], delay [steps].
        """
        size = self.task.size
        self._over(self._all, self.task.observe, self.true._replace(observation=out[..., :size]))
        variation = self.batch.variation
        out[..., size] = variation.mass
        out[..., size + 1] = variation.effectiveness.mean(axis=2)
        out[..., size + 2 : size + 5] = self.batch.host_state().wind
        out[..., size + 5] = self.delay[:, None]

    def _observe(self, which: np.ndarray) -> None:
        if self._measured is not None:
            self._over(
                which, measure, self._widths, self._streams, self.batch.host_state(), self._measured
            )
        if self._camera is not None:
            self._camera.look(which)
        self._over(which, self.task.observe, self.seen)

    def _over(self, which: np.ndarray, kernel: Callable[..., None], *arguments: object) -> None:
        """Calls a kernel for environments (indices), in parts by the threads."""
        self.batch.threads.over(
            len(which), lambda first, last: kernel(which[first:last], *arguments)
        )


@njit(nogil=True)
def fill_history(which: np.ndarray, now: np.ndarray, observation: np.ndarray) -> None:
    """Writes new observations (E, V, N) into all places of the history (E, V, (H + 1) N)."""
    size = now.shape[2]
    for e in which:
        for i in range(now.shape[1]):
            for k in range(observation.shape[2]):
                observation[e, i, k] = now[e, i, k % size]


@njit(nogil=True)
def shift_history(which: np.ndarray, now: np.ndarray, observation: np.ndarray) -> None:
    """Puts new observations (E, V, N) in front of the history (E, V, (H + 1) N)."""
    size = now.shape[2]
    for e in which:
        for i in range(now.shape[1]):
            for k in range(observation.shape[2] - 1, size - 1, -1):
                observation[e, i, k] = observation[e, i, k - size]
            for k in range(size):
                observation[e, i, k] = now[e, i, k]
