"""Runs a study: asks its search, evaluates what is not in the journal, and grades it."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from xtdrone_campaign.runners import Done

from .evaluation import Candidate, Measured, evaluate
from .expressions import Value
from .journal import Journal, key
from .search import front, points_of, search
from .study import Study


@dataclass(frozen=True)
class Graded:
    """A candidate with its grades.

    Attributes:
        number: In the order of the search; 0 is the start.
        values: Variables by name.
        measured: What it showed.
        objectives: (M,), NaN where it failed.
        excess: (C,) of the constraints.
    """

    number: int
    values: Mapping[str, float]
    measured: Measured
    objectives: np.ndarray
    excess: np.ndarray

    @property
    def is_allowed(self) -> bool:
        """Whether it flew, and keeps every constraint."""
        return bool(np.isfinite(self.objectives).all() and (self.excess <= 0.0).all())


class SerialRunner:
    """Evaluates candidates in this process, one after the other; see runners.Runner."""

    def __init__(self, function: Callable[[Any], object]) -> None:
        """Takes the function of the tasks."""
        self._function = function

    def run(self, tasks: Sequence[object]) -> Any:  # an iterator that can be closed
        """Yields each task when it is done."""
        for k, task in enumerate(tasks):
            yield Done(k, self._function(task))


def run(
    study: Study,
    path: Path,
    runner: Any,  # a Runner, each of whose iterators can be closed
    journal: Journal,
    watch: Callable[..., object] = lambda more, graded: None,
) -> list[Graded]:
    """Runs a study to its number of evaluations; returns all candidates.

    Args:
        study: The study.
        path: Its file, which workers read.
        runner: What evaluates.
        journal: What is known already, and takes what is found.
        watch: Called with the evaluations since the last call, and `graded`, all candidates so far.
    """
    graded: list[Graded] = []
    asked = search(study)
    points = next(asked)
    while True:
        room = study.evaluations - len(graded)
        wanted = points_of(study, list(points))
        values = wanted[:room]
        _evaluate(study, path, values, runner, journal, partial(watch, graded=graded))
        fresh = [
            grade(study, len(graded) + k, v, journal.measured[key(v)]) for k, v in enumerate(values)
        ]
        graded += fresh
        watch(0, graded=graded)
        if len(graded) >= study.evaluations or len(fresh) < len(wanted):
            return graded
        answers = (
            np.array([one.objectives for one in fresh]),
            np.array([one.excess for one in fresh]),
        )
        points = asked.send(answers) if len(graded) > 1 else next(asked)


def _evaluate(
    study: Study,
    path: Path,
    values: Sequence[Mapping[str, float]],
    runner: Any,  # as of run()
    journal: Journal,
    watch: Callable[..., object],
) -> None:
    """Evaluates what the journal does not have; each goes there as soon as it is known."""
    missing = list({key(one): one for one in values if key(one) not in journal.measured}.values())
    watch(len(values) - len(missing))
    tasks = [Candidate(str(path.absolute()), dict(one)) for one in missing]
    with closing(runner.run(tasks)) as found:
        for done in found:
            measured = done.value if done.value is not None else Measured({}, done.error)
            journal.add(missing[done.index], measured)
            watch(1)


def grade(study: Study, number: int, values: Mapping[str, float], measured: Measured) -> Graded:
    """Returns a candidate with objectives and constraints."""
    known: dict[str, Value] = {**values}
    known |= {name: np.array(each) for name, each in measured.figures.items()}
    failed = bool(measured.reason)

    def value(names: Sequence[str], function: Callable[[Mapping[str, Value]], float]) -> float:
        return np.nan if failed or any(n not in known for n in names) else function(known)

    return Graded(
        number,
        values,
        measured,
        np.array([value(each.names, each.value) for each in study.objectives.values()]),
        np.array([value(each.names, each.excess) for each in study.constraints]),
    )


def best(graded: Sequence[Graded]) -> list[Graded]:
    """Returns the candidates that none other dominates."""
    if not graded:
        return []
    objectives = np.array([one.objectives for one in graded])
    allowed = np.array([one.is_allowed for one in graded])
    return [graded[k] for k in front(objectives, allowed)]


__all__ = ["Graded", "SerialRunner", "best", "evaluate", "grade", "run"]
