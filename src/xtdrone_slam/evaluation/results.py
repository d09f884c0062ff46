"""Results of benchmark runs, read from their folder and evaluated.

FOLDER/FLIGHT/flight.json            options of the flight and the image link
FOLDER/FLIGHT/groundtruth.tum
FOLDER/FLIGHT/SYSTEM/run_1/          estimate.tum, outcome.json and the other files of a run
"""

import hashlib
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from xtdrone_core import XtdroneError, files
from xtdrone_core.runs import run_folder

from ..datasets import formats, trajectory_file
from ..errors import SlamError
from .conventions import MAX_DIFF_S
from .metrics import METRICS, Evaluation, evaluate
from .verdict import DEFAULTS, FAILED, GOOD, POOR, Limits, Verdict, arrived_pairs, judge

_RUN = "run_"
_VERDICTS = (GOOD, POOR, FAILED)  # the worst last


@dataclass(frozen=True)
class Run:
    """One run of a system."""

    number: int
    folder: Path
    outcome: dict[str, Any]  # fields of runner.Outcome
    verdict: Verdict
    evaluation: Evaluation | None  # also of a failed run, if it has a trajectory


@dataclass(frozen=True)
class System:
    """All runs of one system with one set of parameters on one flight."""

    label: str
    runs: tuple[Run, ...]

    @property
    def good(self) -> tuple[Run, ...]:
        """The good runs."""
        return self._with(GOOD)

    @property
    def counted(self) -> tuple[Run, ...]:
        """The runs in means and plots: the good ones, or the poor ones if none is good."""
        return self.good or self._with(POOR)

    @property
    def title(self) -> str:
        """The label, which says so if no run is good."""
        return self.label if self.good or not self.counted else f"{self.label} (poor)"

    @property
    def identical(self) -> bool:
        """Whether two runs or more count, all with the same estimate byte for byte."""
        sums = {
            hashlib.sha256((run.folder / "estimate.tum").read_bytes()).digest()
            for run in self.counted
        }
        return len(self.counted) > 1 and len(sums) == 1

    @property
    def evaluations(self) -> list[Evaluation]:
        """Accuracy of the runs that count."""
        return [run.evaluation for run in self.counted if run.evaluation is not None]

    def _with(self, word: str) -> tuple[Run, ...]:
        return tuple(run for run in self.runs if run.verdict.word == word)

    def values(self, name: str) -> np.ndarray:
        """Returns a field of the outcomes of the runs that count, NaN where it is unknown."""
        return np.array(
            [
                np.nan if run.outcome.get(name) is None else run.outcome[name]
                for run in self.counted
            ],
            dtype=float,
        )

    def statistics(self, metric: str, key: str) -> np.ndarray:
        """Returns a statistic of a metric of the runs that count."""
        return np.array([each.statistics[metric][key] for each in self.evaluations])


@dataclass(frozen=True)
class Flight:
    """One recording or live flight, and the systems that were run on it."""

    name: str
    metadata: dict[str, Any]
    truth: np.ndarray  # (T, 8), columns as in a TUM file
    systems: tuple[System, ...]
    limits: Limits = DEFAULTS  # bounds for the verdicts

    @property
    def runs(self) -> list[tuple[System, Run]]:
        """All runs, each with its system."""
        return [(system, run) for system in self.systems for run in system.runs]


def run_path(folder: Path, flight: str, system: str, number: int) -> Path:
    """Returns the folder of a run."""
    return Path(folder) / flight / system / f"{_RUN}{number}"


def write_flight(folder: Path, name: str, truth: np.ndarray, metadata: dict[str, Any]) -> None:
    """Writes groundtruth.tum and flight.json of a flight.

    Raises:
        SlamError: It cannot be written.
    """
    target = Path(folder) / name
    formats.write_tum(target / "groundtruth.tum", truth)
    try:
        run_folder.write_json(target / "flight.json", metadata)
    except OSError as error:
        raise SlamError(f"cannot write '{target}': {error.strerror}") from error


_COUNTS = ("frames", "dropped", "lost", "answers")  # counts in every outcome
_MORE_COUNTS = ("not_arrived", "missing")


def read_outcome(folder: Path) -> dict[str, Any] | None:
    """Reads the outcome in the folder of a run; None if the run is not finished."""
    try:
        outcome = files.check_keys(
            files.read_json(Path(folder) / "outcome.json"), "outcome", ("reason", *_COUNTS)
        )
    except XtdroneError:
        return None
    counted = all(isinstance(outcome.get(name, 0), int) for name in (*_COUNTS, *_MORE_COUNTS))
    return outcome if counted and isinstance(outcome["reason"], str) else None


def load(
    folder: Path,
    align: str = "se3",
    max_diff_s: float = MAX_DIFF_S,
    limits: Limits = DEFAULTS,
    progress: Callable[[int, int], object] | None = None,
) -> list[Flight]:
    """Evaluates all flights of a folder with at least one finished run.

    Args:
        folder: Run folder of slam run or campaign.
        align, max_diff_s: Those of metrics.evaluate.
        limits: Limits of a good run.
        progress: Called as progress(1, total) after each run.

    Raises:
        SlamError: There is none.
    """
    total = len(list(Path(folder).glob(f"*/*/{_RUN}*/outcome.json")))

    def step() -> None:
        if progress is not None:
            progress(1, total)

    def read(path: Path, truth: Path) -> tuple[Run, ...]:
        return _runs(
            path, truth, align, max_diff_s, limits, lambda: progress and progress(1, total)
        )

    flights = []
    for path in sorted(Path(folder).glob("*/groundtruth.tum")):
        systems = [
            System(child.name, runs)
            for child in sorted(path.parent.iterdir())
            if child.is_dir() and (runs := read(child, path))
        ]
        if systems:
            flights.append(
                Flight(
                    path.parent.name,
                    _metadata(path.parent),
                    trajectory_file.read(path),
                    tuple(systems),
                    limits,
                )
            )
    if not flights:
        raise SlamError(
            f"'{folder}' holds no finished run: give a run folder of xtdrone slam run or campaign"
        )
    return flights


def merge(benchmarks: list[tuple[str, list[Flight]]]) -> list[Flight]:
    """Combines the flights of several benchmarks; those with the same truth become one.

    Args:
        benchmarks: Name and flights of each. If two benchmarks ran the same system on a flight, the
            name of the benchmark is appended to the second.
    """
    merged: list[Flight] = []
    for name, flights in benchmarks:
        for flight in flights:
            same = next(
                (
                    i
                    for i, other in enumerate(merged)
                    if np.array_equal(other.truth, flight.truth)
                    and _channel(other) == _channel(flight)
                ),
                None,
            )
            if same is None:
                names = {other.name for other in merged}
                title = flight.name if flight.name not in names else f"{flight.name} ({name})"
                merged.append(replace(flight, name=title))
            else:
                merged[same] = _joined(merged[same], flight, name)
    return merged


def _joined(first: Flight, second: Flight, name: str) -> Flight:
    labels = {system.label for system in first.systems}
    new = [
        System(f"{system.label} ({name})" if system.label in labels else system.label, system.runs)
        for system in second.systems
    ]
    return replace(first, systems=(*first.systems, *new))


def _channel(flight: Flight) -> tuple[Any, Any]:  # values of JSON
    return flight.metadata.get("bandwidth", 0), flight.metadata.get("loss", 0)


def _metadata(folder: Path) -> dict[str, Any]:
    try:
        return files.check_keys(files.read_json(folder / "flight.json"), "flight")
    except XtdroneError:
        return {}


def _runs(
    folder: Path,
    truth: Path,
    align: str,
    max_diff_s: float,
    limits: Limits,
    progress: Callable[[], object],
) -> tuple[Run, ...]:
    runs = []
    for path in folder.glob(f"{_RUN}*"):
        outcome = read_outcome(path)
        number = path.name.removeprefix(_RUN)
        if outcome is None or not number.isdigit():
            continue
        evaluation = None
        try:
            evaluation = evaluate(path / "estimate.tum", truth, align, max_diff_s=max_diff_s)
        except SlamError as error:
            outcome = {**outcome, "reason": outcome["reason"] or str(error)}
        runs.append(Run(int(number), path, outcome, judge(outcome, evaluation, limits), evaluation))
        progress()
    return tuple(sorted(runs, key=lambda run: run.number))


def summary(flights: list[Flight]) -> dict[str, Any]:
    """Returns the verdicts and figures as plain data, for summary.json."""
    return {
        "verdict": worst(flights),
        "limits": asdict(flights[0].limits),
        "runs": [
            _summary(flight, system, run) for flight in flights for system, run in flight.runs
        ],
    }


def worst(flights: list[Flight]) -> str:
    """Returns the worst verdict of all runs."""
    return max(
        (run.verdict.word for flight in flights for _, run in flight.runs), key=_VERDICTS.index
    )


def _summary(flight: Flight, system: System, run: Run) -> dict[str, Any]:
    values = {
        "flight": flight.name,
        "system": system.label,
        "run": run.number,
        "verdict": run.verdict.word,
        "reason": run.verdict.reason,
        "pairs": arrived_pairs(run.outcome),
        "dropped": run.outcome["dropped"],
        "poses": run.outcome["answers"] - run.outcome["lost"],
    }
    if run.evaluation is not None:
        rmse = {name: round(run.evaluation.statistics[name]["rmse"], 6) for name in METRICS}
        values.update(path_m=round(run.evaluation.path_m, 3), rmse=rmse)
    return values
