"""Training of a policy: from a task to a folder with the policy, its curve and checkpoints.

policy.onnx, policy.json   the policy, written at each checkpoint
curve.csv, curve.png       reward and success over steps and seconds
checkpoint.zip             all that a later call goes on from, bit for bit
tensorboard/               the same curves, where asked for
"""

import copy
import csv
import dataclasses
import json
import math
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch

from xtdrone_batch.randomisation import Randomisation
from xtdrone_core import extras
from xtdrone_core.errors import unknown_name
from xtdrone_core.racing.track import read_track
from xtdrone_core.runs import snapshot

from ..errors import LearningError
from ..policy import policy_file
from ..realism import TRUE, Realism
from ..task import Task
from ..task_batch import TaskBatch, find_task, name_of
from . import export
from .curve import draw
from .ppo import Actor, Learner, Progress, arrays_of, evaluate, set_arrays
from .settings import SETTINGS, Settings

CHECKPOINT_STEPS = 1 << 20  # steps between two checkpoints, about; on any machine
EVALUATION_STEPS = 1 << 17  # steps between two evaluations, at first
RARER_STEPS = 1 << 21  # after twice as many they are twice as far apart, and so on
_EVALUATED = 256  # episodes, now and then
_UNSEEN = 2**30  # seeds of evaluations are from here on


@dataclass(frozen=True)
class Plan:
    """A task and its environments, learned until the first of target, steps and seconds."""

    task: Task | str  # a Task, its name, or module:TASK
    track: str = ""  # race track on which it is learned, by its name or file
    vehicle: str = "iris"
    any_vehicle: bool = False  # the policy may fly other vehicles than that
    environments: int = 512
    seed: int = 0
    target: float = 1.01  # success of an evaluation; above 1: never
    steps: int = 10**12  # steps of all vehicles together
    seconds: float = math.inf  # time of training [s]
    threads: int = 0  # 0 = one for each core
    episodes: int = 1000  # unseen ones, by which the success is judged at the end
    history: int = 0
    realism: Realism = TRUE
    changes: dict[str, Any] = field(default_factory=dict)  # changes of the task's randomisation
    curriculum: float = 0.0  # steps over which realism and changes grow from nothing; 0 = at once
    settings: dict[str, Any] = field(default_factory=dict)  # Settings other than the task's

    @property
    def name(self) -> str:
        """Name of the task."""
        return find_task(self.task).name

    def learned(self) -> Task:
        """Returns the task, on its track where there is one.

        Raises:
            XtdroneError: There is no such task or track, or the task knows no track.
        """
        task = find_task(self.task)
        if not self.track:
            return task
        if task.learn_on is None:
            raise LearningError(
                f"{task.name} is not learned on a track: give Track-v0, or leave --track out"
            )
        return task.learn_on(task, read_track(self.track))

    def randomisation(self) -> Randomisation:
        """Returns the task's randomisation with the changes."""
        return dataclasses.replace(self.learned().randomisation, **self.changes)

    def tasks(self, environments: int, seed: int) -> TaskBatch:
        """Returns environments of the task."""
        return TaskBatch(
            self.learned(),
            environments,
            vehicle=self.vehicle,
            history=self.history,
            realism=self.realism,
            randomisation=self.randomisation(),
            seed=seed,
            threads=self.threads,
        )


class Training:
    """One training, from the beginning or from its last checkpoint.

    Attributes:
        plan: The Plan.
        folder: Where everything is written; None for nowhere.
        learner: The Learner.
        curve: (Progress, success of an evaluation) so far.
        success: Success of the last evaluation.
        kept: The actor of the best evaluation so far, which becomes the policy.
    """

    def __init__(
        self,
        plan: Plan,
        folder: Path | None = None,
        resume: bool = False,
        tensorboard: bool = False,
    ):
        """Builds the environments and networks.

        Raises:
            XtdroneError: The plan or its checkpoint is not allowed.
        """
        self.plan, self.folder, self._data = plan, folder, _plan_data(plan)
        torch.set_num_threads(1)  # actor and critic have a thread each; networks are small
        tasks = plan.tasks(plan.environments, plan.seed)
        given = {**_settings_of(tasks.task), **plan.settings}
        for name in given:
            if name not in SETTINGS:
                raise LearningError(unknown_name("setting", name, SETTINGS))
        settings = dataclasses.replace(Settings(), **given)
        tasks.hardness = self._hardness(0)
        self.learner = Learner(tasks, settings, plan.seed)
        self.curve: list[tuple[Progress, float]] = []
        self.success = self._best = math.nan
        self.kept = copy.deepcopy(self.learner.actor)
        self._trial: TaskBatch | None = None
        self._writer = _tensorboard(folder) if tensorboard and folder is not None else None
        if folder is not None:
            self._open(folder, resume)

    def run(self, watch: Callable[[Progress, float], None] | None = None) -> float:
        """Learns until the plan's end; returns the success of a last evaluation.

        Args:
            watch: Called after each iteration with it and the success of the last evaluation.
        """
        plan, learner = self.plan, self.learner
        while (
            learner.steps < plan.steps
            and learner.seconds < plan.seconds
            and not self.success >= plan.target
        ):
            (progress,) = learner.learn(1)
            learner.tasks.hardness = self._hardness(progress.steps)
            rarer = max((progress.steps // RARER_STEPS).bit_length() - 1, 0)
            evaluated = self._is_due(progress, EVALUATION_STEPS << rarer)
            if evaluated:
                self.success = self.evaluate(learner.actor, _EVALUATED, progress.iteration)
                if not self.success < self._best:
                    self._best = self.success
                    self.kept.load_state_dict(learner.actor.state_dict())
            self.curve.append((progress, self.success if evaluated else math.nan))
            self._log(progress, evaluated)
            if watch is not None:
                watch(progress, self.success)
            if self._is_due(progress, CHECKPOINT_STEPS):
                self.checkpoint()
        if math.isnan(self._best):  # too short for an evaluation
            self.kept.load_state_dict(learner.actor.state_dict())
        self.success = self.evaluate(self.kept, plan.episodes, 0)
        self.checkpoint()
        if self.folder is not None:
            draw([self.folder / "curve.csv"], self.folder / "curve.png", plan.name)
        return self.success

    def evaluate(self, actor: Actor, episodes: int, number: int) -> float:
        """Returns the success rate of unseen episodes, without exploration."""
        if self._trial is None or self._trial.environments != episodes:
            self._trial = self.plan.tasks(episodes, _UNSEEN)
        return evaluate(actor, self.learner.scaling, self._trial, seed=_UNSEEN + number)

    def checkpoint(self) -> None:
        """Writes the policy and all that a later call goes on from; begins new episodes."""
        learner = self.learner
        if self.folder is not None:
            self.write_policy(self.folder / "policy.onnx")
            snapshot.write(
                self.folder / "checkpoint.zip",
                {**learner.save(), "best": self._best, "kept": arrays_of(self.kept)},
                self._data,
            )
        learner.restart()

    def write_policy(self, path: Path) -> Path:
        """Writes the policy, the best one so far."""
        return policy_file.write(
            path, export.network(self.kept, self.learner.scaling), self.describe()
        )

    def describe(self) -> policy_file.Description:
        """Returns the description in the policy's JSON."""
        plan, learner, task = self.plan, self.learner, self.learner.tasks.task
        scaling = learner.scaling
        return policy_file.Description(
            task=name_of(plan.task),
            vehicle=policy_file.ANY if plan.any_vehicle else plan.vehicle,
            action=task.action,
            actions=task.action_names,
            centre=tuple(map(float, scaling.centre)),
            half=tuple(map(float, scaling.half)),
            period_us=round(task.step_s * 1e6),
            observation=tuple((part.name, part.width) for part in task.parts),
            history=plan.history,
            memory=learner.actor.recurrent,
            randomisation=dataclasses.asdict(plan.randomisation()),
            realism=dataclasses.asdict(plan.realism),
            training={
                "vehicle": plan.vehicle,
                "track": plan.track,
                "steps": learner.steps,
                "seconds": round(learner.seconds, 3),
                "seed": plan.seed,
                "success": None if math.isnan(self.success) else self.success,
                "settings": dataclasses.asdict(learner.settings),
            },
        )

    def _hardness(self, steps: int) -> float:
        """Returns the hardness of new episodes, after so many steps."""
        return min(steps / self.plan.curriculum, 1.0) if self.plan.curriculum else 1.0

    def _is_due(self, progress: Progress, steps: int) -> bool:
        """Tells whether so many steps, about, have passed since it was due the last time."""
        return progress.iteration % max(1, round(steps * progress.iteration / progress.steps)) == 0

    def _open(self, folder: Path, resume: bool) -> None:
        checkpoint = folder / "checkpoint.zip"
        folder.mkdir(parents=True, exist_ok=True)
        if checkpoint.exists():
            if not resume:
                raise LearningError(
                    f"'{folder}' holds a training already: give --resume to go on, or another --out"
                )
            saved, saved_plan = snapshot.read(checkpoint)
            if saved_plan != self._data:
                raise LearningError(
                    f"'{folder}' holds a training of another plan: give the "
                    "options that it was begun with, or another --out"
                )
            self.learner.load(saved)
            self.learner.tasks.hardness = self._hardness(self.learner.steps)
            self.learner.restart()
            self._best = saved["best"]
            set_arrays(self.kept, saved["kept"])
            _shorten(folder / "curve.csv", self.learner.iteration)
        elif resume:
            raise LearningError(f"there is no training to resume in '{folder}': leave --resume out")
        else:
            (folder / "curve.csv").write_text(",".join(_COLUMNS) + "\n")

    def _log(self, progress: Progress, evaluated: bool) -> None:
        if self.folder is None:
            return
        values = [*progress, self.success if evaluated else ""]
        with open(self.folder / "curve.csv", "a") as file:
            csv.writer(file, lineterminator="\n").writerow(values)
        if self._writer is not None:
            for name, value in zip(_COLUMNS[2:], values[2:]):
                if value != "":
                    self._writer.add_scalar(name, value, progress.steps)
            self._writer.flush()


def _settings_of(task: Task) -> dict[str, Any]:
    return {name: value for name, value in task.learner.items() if name != "environments"}


_COLUMNS = (*Progress._fields, "evaluated")


def _plan_data(plan: Plan) -> dict[str, Any]:
    """Returns what two trainings must share for the one to go on with the other."""
    data = dataclasses.asdict(dataclasses.replace(plan, task=name_of(plan.task)))
    for name in ("target", "steps", "seconds", "threads", "episodes"):
        del data[name]
    return json.loads(json.dumps(data))


def _shorten(path: Path, iteration: int) -> None:
    """Leaves out of a curve what came after a checkpoint."""
    lines = path.read_text().splitlines()
    kept = [
        line
        for line in lines[1:]
        if line.count(",") == len(_COLUMNS) - 1 and int(line.split(",")[0]) <= iteration
    ]
    path.write_text("\n".join([lines[0], *kept]) + "\n")


def _tensorboard(folder: Path) -> Any:  # a SummaryWriter of PyTorch, which is optional
    try:
        from torch.utils.tensorboard import SummaryWriter
    except ImportError as error:
        raise LearningError(
            extras.lacking("TensorBoard's log", error, "learn", "leave --tensorboard out")
        ) from error
    return SummaryWriter(str(folder / "tensorboard"))
