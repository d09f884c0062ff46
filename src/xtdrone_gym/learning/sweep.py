"""Several trainings: one for each combination of what varies, and each seed."""

import csv
import dataclasses
import itertools
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from tqdm import tqdm

from xtdrone_campaign import sweep
from xtdrone_campaign.cluster import LOCAL, RayRunner
from xtdrone_campaign.runners import ONE_THREAD, ProcessRunner
from xtdrone_core.errors import shown, unknown_name
from xtdrone_core.scenario.options import number, pair

from ..errors import LearningError
from .settings import CHANGES, NUMBERS, SETTINGS, parse

if TYPE_CHECKING:
    from .training import Plan

MAX = 1000  # trainings
TABLE = "trainings.csv"


class Trial(NamedTuple):
    """One training of several."""

    varied: Mapping[str, str]
    plan: "Plan"

    @property
    def folder(self) -> str:
        """Its place in the folder of all."""
        values = ",".join(f"{name}={value}" for name, value in self.varied.items())
        return str(Path(values) / f"seed_{self.plan.seed}")


def trials(plan: "Plan", vary: Sequence[str], seeds: int) -> list[Trial]:
    """Returns every training of a sweep.

    Args:
        plan: What does not vary, and the first seed.
        vary: NAME=VALUES, of settings.NUMBERS or of Settings.
        seeds: Each combination is learned so many times.

    Raises:
        XtdroneError: A name or a value is not allowed.
    """
    varied: dict[str, tuple[str, ...]] = {}
    for word in vary:
        name, spec = pair("vary", word)
        if name in varied:
            raise LearningError(f"--vary gives {name} twice: give all its values in one")
        varied[name] = sweep.parse(name, spec)
    trials_of_sweep = []
    for values in itertools.product(*varied.values()):
        named = dict(zip(varied, values))
        one = plan
        for name, value in named.items():
            one = _changed(one, name, value)
        trials_of_sweep += [
            Trial(named, dataclasses.replace(one, seed=plan.seed + k)) for k in range(seeds)
        ]
    if len(trials_of_sweep) > MAX:
        raise LearningError(
            f"{len(trials_of_sweep)} trainings are not allowed: give fewer values or seeds, "
            f"at most {MAX} trainings"
        )
    return trials_of_sweep


def _changed(plan: "Plan", name: str, text: str) -> "Plan":
    """Returns a plan with another value of one quantity."""
    if name in NUMBERS:
        low, high, whole, unit = NUMBERS[name]
        value = number(name, text, low, high, whole, unit)
        if name in CHANGES:
            return dataclasses.replace(plan, changes={**plan.changes, name: value})
        return dataclasses.replace(plan, **{name: value})
    if name in SETTINGS:
        return dataclasses.replace(plan, settings={**plan.settings, **parse([f"{name}={text}"])})
    raise LearningError(unknown_name("quantity", name, (*NUMBERS, *SETTINGS)))


def train(task: "tuple[str, Plan]") -> dict[str, Any]:
    """Runs one training of several, (folder, Plan), in a process of its own."""
    from .training import Training

    folder, plan = Path(task[0]), task[1]
    training = Training(
        dataclasses.replace(plan, threads=1), folder, resume=(folder / "checkpoint.zip").exists()
    )
    success = training.run()
    return {
        "seed": plan.seed,
        "success": success,
        "steps": training.learner.steps,
        "seconds": round(training.learner.seconds, 3),
    }


def run(work: Sequence[Trial], folder: Path, ray: str | None) -> list[float]:
    """Trainings in processes of one thread each, or on Ray; returns their successes.

    Writes trainings.csv and curve.png into the folder.

    Args:
        work: The trainings.
        folder: Folder of all.
        ray: Address of a cluster, or "local"; None for processes.

    Raises:
        LearningError: A training failed; the same call goes on from the checkpoints of the others.
    """
    from .curve import draw

    seconds = max(trial.plan.seconds for trial in work)
    limit = 1e6 if seconds > 1e6 else 20.0 * seconds + 600.0
    folder.mkdir(parents=True, exist_ok=True)
    runner = (
        RayRunner(train, None if ray == LOCAL else ray, environment=ONE_THREAD, error=LearningError)
        if ray
        else ProcessRunner(train, min(len(work), len(os.sched_getaffinity(0))), limit)
    )
    rows: dict[int, dict[str, Any]] = {}
    task, names = work[0].plan.name, [trial.folder for trial in work]
    tasks = [(str((folder / trial.folder).resolve()), trial.plan) for trial in work]
    for done in tqdm(runner.run(tasks), total=len(work), desc=task, disable=None):
        name = names[done.index]
        if done.error:
            raise LearningError(f"the training {shown(name)} failed: {done.error}")
        row = done.value
        rows[done.index] = {**work[done.index].varied, **row}
        tqdm.write(
            f"{name}: {row['success']:.1%} after {row['steps'] / 1e6:.2f} million steps, "
            f"{row['seconds']:.1f} s"
        )
    with open(folder / TABLE, "w", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows[k] for k in range(len(work)))
    draw([folder / name / "curve.csv" for name in names], folder / "curve.png", task, names)
    return [rows[k]["success"] for k in range(len(work))]
