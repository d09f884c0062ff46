"""What runs have left in a folder, read back and evaluated.

    FOLDER/FLIGHT/flight.json            what was flown, and how the images came
    FOLDER/FLIGHT/groundtruth.tum
    FOLDER/FLIGHT/SYSTEM/run_1/          estimate.tum, outcome.json and the rest of a run
"""

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from xtdrone_core import run_folder

from ..datasets import formats
from ..errors import SlamError
from .metrics import MAX_DIFF_S, Evaluation, evaluate

MAX_DROPPED = 0.01  # share of the pairs above which a run says more of the machine than the system
MAX_LOST = 0.05  # share of the answers without a pose above which the rest is no fair measure
_RUN = "run_"


@dataclass(frozen=True)
class Run:
    """One run of a system."""

    number: int
    folder: Path
    outcome: dict  # of a runner.Outcome
    reason: str  # why it does not count, or empty
    evaluation: Evaluation | None  # also of a run that does not count, where there is a trajectory


@dataclass(frozen=True)
class System:
    """All runs of one system, with one set of parameters, on one flight."""

    label: str
    runs: tuple[Run, ...]

    @property
    def good(self) -> tuple[Run, ...]:
        """Runs that count."""
        return tuple(run for run in self.runs if not run.reason)

    @property
    def identical(self) -> bool:
        """Whether all good runs, two or more, gave the same estimate to the last byte."""
        sums = {hashlib.sha256((run.folder / "estimate.tum").read_bytes()).digest()
                for run in self.good}
        return len(self.good) > 1 and len(sums) == 1

    def values(self, name: str) -> np.ndarray:
        """A value of the outcomes of the good runs, NaN where it is unknown."""
        return np.array([np.nan if run.outcome.get(name) is None else run.outcome[name]
                         for run in self.good], dtype=float)

    def statistics(self, metric: str, key: str) -> np.ndarray:
        """A statistic of a metric of the good runs."""
        return np.array([run.evaluation.statistics[metric][key] for run in self.good])


@dataclass(frozen=True)
class Flight:
    """One recording, or one live flight, and all systems that have seen it."""

    name: str
    about: dict
    truth: np.ndarray  # (T, 8), as formats has it
    systems: tuple[System, ...]


def place(folder: Path, flight: str, system: str, number: int) -> Path:
    """Folder of a run."""
    return Path(folder) / flight / system / f"{_RUN}{number}"


def begin_flight(folder: Path, name: str, truth: np.ndarray, about: dict) -> None:
    """Writes what belongs to a flight beside its runs.

    Raises:
        SlamError: It cannot be written.
    """
    at = Path(folder) / name
    formats.write_tum(at / "groundtruth.tum", truth)
    try:
        run_folder.write_json(at / "flight.json", about)
    except OSError as error:
        raise SlamError(f"cannot write '{at}': {error.strerror}") from error


def finished(folder: Path) -> dict | None:
    """The outcome of a run's folder; None where the run has not come to its end."""
    try:
        return json.loads((Path(folder) / "outcome.json").read_text())
    except (OSError, ValueError):
        return None


def unfair(outcome: dict) -> str:
    """Why a run that came to its end does not count in the means; empty where it does.

    Pairs that the channel lost are the flight's conditions, and no reason.
    """
    arrived = outcome["frames"] - outcome.get("not_arrived", 0) - outcome.get("missing", 0)
    dropped, lost, answers = (outcome[name] for name in ("dropped", "lost", "answers"))
    if dropped > MAX_DROPPED * arrived:
        return (f"{dropped} of {arrived} pairs dropped, more than {MAX_DROPPED:.0%}: the system "
                "was too slow on this machine, or the machine busy (--speed below 1 gives it time)")
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
        systems = [System(place.name, runs) for place in sorted(path.parent.iterdir())
                   if place.is_dir() and (runs := _runs(place, path, align, max_diff_s))]
        if systems:
            flights.append(Flight(path.parent.name, _about(path.parent), formats.read_tum(path),
                                  tuple(systems)))
    if not flights:
        raise SlamError(f"'{folder}' holds no finished run: give a folder that xtdrone slam run "
                        "or campaign has made")
    return flights


def merge(benchmarks: list[tuple[str, list[Flight]]]) -> list[Flight]:
    """The flights of several benchmarks, those with the same truth as one.

    Args:
        benchmarks: Name and flights of each. A system that two of them have on one flight gets
            the benchmark's name behind its own.
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
                merged.append(Flight(title, flight.about, flight.truth, flight.systems))
            else:
                merged[same] = _joined(merged[same], flight, name)
    return merged


def _joined(first, second, name):
    taken = {system.label for system in first.systems}
    new = [System(f"{system.label} ({name})" if system.label in taken else system.label,
                  system.runs) for system in second.systems]
    return Flight(first.name, first.about, first.truth, (*first.systems, *new))


def _channel(flight):
    return flight.about.get("bandwidth", 0), flight.about.get("loss", 0)


def _about(folder):
    try:
        return json.loads((folder / "flight.json").read_text())
    except (OSError, ValueError):
        return {}


def _runs(folder, truth, align, max_diff_s):
    found = []
    for path in folder.glob(f"{_RUN}*"):
        outcome = finished(path)
        number = path.name.removeprefix(_RUN)
        if outcome is None or not number.isdigit():
            continue
        reason, evaluation = outcome["reason"] or unfair(outcome), None
        try:
            evaluation = evaluate(path / "estimate.tum", truth, align, max_diff_s=max_diff_s)
        except SlamError as error:
            reason = reason or str(error)
        found.append(Run(int(number), path, outcome, reason, evaluation))
    return tuple(sorted(found, key=lambda run: run.number))
