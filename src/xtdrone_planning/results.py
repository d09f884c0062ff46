"""Results of flights with planners: one line of JSON each, and the table of them."""

import dataclasses
import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from xtdrone_core import files
from xtdrone_core.outputs import cannot_write
from xtdrone_core.runs import log_file

from .errors import PlanningError


@dataclass(frozen=True)
class Case:
    """A planner and how fast it flies."""

    planner: str
    speed: float  # [m/s]


@dataclass(frozen=True)
class Scene:
    """An environment of a world of a batch, and who walks there."""

    world: str
    seed: int
    people: int = 0


@dataclass(frozen=True)
class Result:
    """One flight."""

    case: Case
    scene: Scene
    reached: bool
    touched: str  # what the vehicle touched in the air, or ""
    way: float  # from the take-off height to the goal [m]
    shortest: float  # [m]
    seconds: float  # simulated, for that way [s]
    reason: str  # why it held last, or ""
    plan_ms: float  # median processor time of a plan [ms]

    @property
    def success(self) -> bool:
        """Whether the goal was reached and nothing was touched."""
        return self.reached and not self.touched

    def __str__(self) -> str:
        """One line."""
        what = f"touched {self.touched}" if self.touched else self.reason or "not at the goal"
        people = f" with {self.scene.people} people" if self.scene.people else ""
        return (
            f"{self.case.planner} {self.case.speed:g} m/s, {self.scene.world} {self.scene.seed}"
            f"{people}: {'ok' if self.success else what}; "
            f"{self.way:.1f} m in {self.seconds:.1f} s, shortest {self.shortest:.1f} m"
        )


class Kept:
    """Results in a file of lines, to which each flight is added as it ends.

    A program that was killed leaves at most one incomplete line, which is left out; so only the
    flight that was in the air is flown again.
    """

    def __init__(self, path: Path | None) -> None:
        """Reads what is there.

        Args:
            path: The file; None to keep nothing.

        Raises:
            PlanningError: It is no file of results.
        """
        self._path = path
        self._results: dict[tuple[Case, Scene], Result] = {}
        if path is None or not path.exists():
            return
        text = files.read_text(path, what="file of results", error=PlanningError)
        lines = text.splitlines()
        for number, line in enumerate(lines, 1):
            try:
                row = json.loads(line)
                row["case"], row["scene"] = Case(**row["case"]), Scene(**row["scene"])
                result = Result(**row)
            except (ValueError, KeyError, TypeError) as error:
                if number == len(lines) and not text.endswith("\n"):
                    self._cut(len(text.encode()) - len(line.encode()))
                    continue
                raise PlanningError(
                    f"line {number} of '{path}' is no result of a flight: give --out another file"
                ) from error
            self._results[result.case, result.scene] = result

    def find(self, case: Case, scene: Scene) -> Result | None:
        """Returns the result of a flight that was flown before."""
        return self._results.get((case, scene))

    def add(self, result: Result) -> None:
        """Appends a result.

        Raises:
            PlanningError: The file cannot be written.
        """
        self._results[result.case, result.scene] = result
        if self._path is None:
            return
        line = json.dumps(dataclasses.asdict(result)) + "\n"
        try:
            log_file.append(self._path, line.encode())
        except OSError as error:
            raise cannot_write(self._path, error, PlanningError) from error

    def _cut(self, size: int) -> None:
        assert self._path is not None
        with self._path.open("r+b") as file:
            file.truncate(size)


def summary(results: Sequence[Result]) -> list[str]:
    """Returns a table of cases: successes, touches, way over the shortest, mean speed, plans."""
    lines = [
        "| planner | speed [m/s] | flights | untouched at the goal | touched | way / shortest "
        "| mean speed [m/s] | plan [ms] |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for case in dict.fromkeys(result.case for result in results):
        own = [result for result in results if result.case == case]
        good = [result for result in own if result.success]
        ratio = np.mean([result.way / result.shortest for result in good]) if good else math.nan
        mean = np.mean([result.way / result.seconds for result in good]) if good else math.nan
        lines.append(
            f"| {case.planner} | {case.speed:g} | {len(own)} | {len(good)} "
            f"({100 * len(good) / len(own):.0f} %) | {sum(bool(r.touched) for r in own)} "
            f"| {ratio:.3f} | {mean:.2f} | {np.median([r.plan_ms for r in own]):.1f} |"
        )
    return lines
