"""Results of benchmark runs, read from their folder and evaluated.

    FOLDER/FLIGHT/flight.json            options of the flight and the image link
    FOLDER/FLIGHT/groundtruth.tum
    FOLDER/FLIGHT/SYSTEM/run_1/          estimate.tum, outcome.json and the other files of a run
"""

import hashlib
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from xtdrone_core import XtdroneError, files, run_folder

from ..datasets import formats
from ..errors import SlamError
from .metrics import MAX_DIFF_S, Evaluation, evaluate

MAX_DROPPED = 0.01  # fraction of dropped pairs above which the machine was too slow for a fair run
MAX_LOST = 0.05  # fraction of answers without a pose above which the others are not representative
_RUN = "run_"


@dataclass(frozen=True)
class Run:
    """One run of a system."""

    number: int
    folder: Path
    outcome: dict  # fields of runner.Outcome
    reason: str  # why the run is invalid, or empty
    evaluation: Evaluation | None  # also of an invalid run, if it has a trajectory


@dataclass(frozen=True)
class System:
    """All runs of one system with one set of parameters on one flight."""

    label: str
    runs: tuple[Run, ...]

    @property
    def valid(self) -> tuple[Run, ...]:
        """The valid runs, which count in the statistics."""
        return tuple(run for run in self.runs if not run.reason)

    @property
    def identical(self) -> bool:
        """Whether there are two valid runs or more, all with the same estimate byte for byte."""
        sums = {hashlib.sha256((run.folder / "estimate.tum").read_bytes()).digest()
                for run in self.valid}
        return len(self.valid) > 1 and len(sums) == 1

    def values(self, name: str) -> np.ndarray:
        """A field of the outcomes of the valid runs, NaN where it is unknown."""
        return np.array([np.nan if run.outcome.get(name) is None else run.outcome[name]
                         for run in self.valid], dtype=float)

    def statistics(self, metric: str, key: str) -> np.ndarray:
        """A statistic of a metric of the valid runs."""
        return np.array([run.evaluation.statistics[metric][key] for run in self.valid])


@dataclass(frozen=True)
class Flight:
    """One recording or live flight, and the systems that were run on it."""

    name: str
    metadata: dict
    truth: np.ndarray  # (T, 8), columns as in a TUM file
    systems: tuple[System, ...]


def run_path(folder: Path, flight: str, system: str, number: int) -> Path:
    """Folder of a run."""
    return Path(folder) / flight / system / f"{_RUN}{number}"


def write_flight(folder: Path, name: str, truth: np.ndarray, metadata: dict) -> None:
    """Writes groundtruth.tum and flight.json of a flight.

    Raises:
        SlamError: It cannot be written.
    """
    at = Path(folder) / name
    formats.write_tum(at / "groundtruth.tum", truth)
    try:
        run_folder.write_json(at / "flight.json", metadata)
    except OSError as error:
        raise SlamError(f"cannot write '{at}': {error.strerror}") from error


_COUNTS = ("frames", "dropped", "lost", "answers")  # of every outcome
_MORE_COUNTS = ("not_arrived", "missing")


def read_outcome(folder: Path) -> dict | None:
    """The outcome in the folder of a run; None if the run is not finished."""
    try:
        outcome = files.check_keys(files.read_json(Path(folder) / "outcome.json"), "outcome",
                                   ("reason", *_COUNTS))
    except XtdroneError:
        return None
    counted = all(isinstance(outcome.get(name, 0), int) for name in (*_COUNTS, *_MORE_COUNTS))
    return outcome if counted and isinstance(outcome["reason"], str) else None


def exclusion_reason(outcome: dict) -> str:
    """Why a finished run does not count in the statistics; empty if it counts.

    Pairs lost by the channel are part of the test conditions and do not exclude a run.
    """
    arrived = outcome["frames"] - outcome.get("not_arrived", 0) - outcome.get("missing", 0)
    dropped, lost, answers = (outcome[name] for name in ("dropped", "lost", "answers"))
    if dropped > MAX_DROPPED * arrived:
        return (f"{dropped} of {arrived} pairs dropped, more than {MAX_DROPPED:.0%}: the system "
                "was too slow on this machine, or the machine was busy (try --speed below 1)")
    if lost > MAX_LOST * answers:
        return (f"tracking lost: {lost} of {answers} answers without a pose, more than "
                f"{MAX_LOST:.0%}")
    return ""


def load(folder: Path, align: str = "se3", max_diff_s: float = MAX_DIFF_S) -> list[Flight]:
    """All flights of a folder with at least one finished run, evaluated.

    Raises:
        SlamError: There is none.
    """
    flights = []
    for path in sorted(Path(folder).glob("*/groundtruth.tum")):
        systems = [System(child.name, runs) for child in sorted(path.parent.iterdir())
                   if child.is_dir() and (runs := _runs(child, path, align, max_diff_s))]
        if systems:
            flights.append(Flight(path.parent.name, _metadata(path.parent),
                                  formats.read_tum(path), tuple(systems)))
    if not flights:
        raise SlamError(f"'{folder}' holds no finished run: give a run folder of xtdrone slam run "
                        "or campaign")
    return flights


def merge(benchmarks: list[tuple[str, list[Flight]]]) -> list[Flight]:
    """Combines the flights of several benchmarks; those with the same truth become one.

    Args:
        benchmarks: Name and flights of each. If two benchmarks ran the same system on a flight, the
            name of the benchmark is appended to the second.
    """
    merged = []
    for name, flights in benchmarks:
        for flight in flights:
            same = next((i for i, other in enumerate(merged)
                         if np.array_equal(other.truth, flight.truth)
                         and _channel(other) == _channel(flight)), None)
            if same is None:
                taken = {other.name for other in merged}
                title = flight.name if flight.name not in taken else f"{flight.name} ({name})"
                merged.append(Flight(title, flight.metadata, flight.truth, flight.systems))
            else:
                merged[same] = _joined(merged[same], flight, name)
    return merged


def _joined(first, second, name):
    taken = {system.label for system in first.systems}
    new = [System(f"{system.label} ({name})" if system.label in taken else system.label,
                  system.runs) for system in second.systems]
    return Flight(first.name, first.metadata, first.truth, (*first.systems, *new))


def _channel(flight):
    return flight.metadata.get("bandwidth", 0), flight.metadata.get("loss", 0)


def _metadata(folder):
    try:
        return files.check_keys(files.read_json(folder / "flight.json"), "flight")
    except XtdroneError:
        return {}


def _runs(folder, truth, align, max_diff_s):
    found = []
    for path in folder.glob(f"{_RUN}*"):
        outcome = read_outcome(path)
        number = path.name.removeprefix(_RUN)
        if outcome is None or not number.isdigit():
            continue
        reason, evaluation = outcome["reason"] or exclusion_reason(outcome), None
        try:
            evaluation = evaluate(path / "estimate.tum", truth, align, max_diff_s=max_diff_s)
        except SlamError as error:
            reason = reason or str(error)
        found.append(Run(int(number), path, outcome, reason, evaluation))
    return tuple(sorted(found, key=lambda run: run.number))
