"""The verdict on a run: good, poor or failed, by limits that a user may change.

A run failed if it has no result: the system did not start, crashed, hung, jumped or gave no pose,
or the recording or the disk is damaged. It is poor if its result is outside the limits, else good.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

from xtdrone_core import files
from xtdrone_core.errors import XtdroneError, shown, unknown_name
from xtdrone_core.scenario.options import checked, option, options_of

from ..errors import SlamError

if TYPE_CHECKING:  # slow to import
    from .metrics import Evaluation

GOOD, POOR, FAILED = "good", "poor", "failed"


@dataclass(frozen=True)
class Limits:
    """Limits of a good run; docs/slam.md gives the reasons."""

    ape_percent: float = option(
        1.0,
        "highest RMSE of the APE translation, in per cent of the path",
        minimum=0.0,
        maximum=1e6,
    )
    ape_least_m: float = option(
        0.05,
        "RMSE of the APE translation that is good on any path",
        unit="m",
        minimum=0.0,
        maximum=1e6,
    )
    ape_deg: float = option(
        5.0, "highest RMSE of the APE rotation", unit="deg", minimum=0.0, maximum=180.0
    )
    complete_percent: float = option(
        95.0, "lowest percentage of the pairs that arrived with a pose", minimum=0.0, maximum=100.0
    )
    dropped_percent: float = option(
        1.0,
        "highest percentage of the pairs that arrived that may be dropped",
        minimum=0.0,
        maximum=100.0,
    )

    def changed(self, values: dict[str, Any]) -> "Limits":
        """Returns the limits with some values replaced.

        Raises:
            SlamError: An unknown name, or a value that is not allowed.
        """
        known = options_of(Limits)
        for name in values:
            if name not in known:
                raise SlamError(unknown_name("limit", name, known))
        try:
            return replace(
                self,
                **{
                    name: checked(name, float, known[name][1], value)
                    for name, value in values.items()
                },
            )
        except XtdroneError as error:
            raise SlamError(str(error)) from error

    def ape_m(self, path_m: float) -> float:
        """Returns the highest RMSE of the APE translation on a path of this length [m]."""
        return max(self.ape_least_m, 0.01 * self.ape_percent * path_m)

    def text(self) -> str:
        """Writes the limits in one line."""
        return (
            f"APE (RMSE) at most {self.ape_percent:g} % of the path ({self.ape_least_m:g} m on "
            f"short ones) and {self.ape_deg:g} degrees, poses for {self.complete_percent:g} % "
            f"of the pairs or more, {self.dropped_percent:g} % dropped at most"
        )


DEFAULTS = Limits()


class Verdict(NamedTuple):
    """Verdict on a run, and its reason."""

    word: str  # GOOD, POOR or FAILED
    reason: str  # empty for a good run

    def __str__(self) -> str:
        return f"{self.word}: {self.reason}" if self.reason else self.word


def parse_limits(assignments: Iterable[str]) -> Limits:
    """Reads the limits that a command line gives as NAME=VALUE.

    Raises:
        SlamError: An assignment that cannot be read, an unknown name, or a value not allowed.
    """
    return DEFAULTS.changed(parse_assignments(assignments, "limit"))


def parse_assignments(assignments: Iterable[str], what: str) -> dict[str, Any]:
    """Reads values of NAME=VALUE, each value in YAML.

    Raises:
        SlamError: One cannot be read.
    """
    values = {}
    for assignment in assignments:
        name, equals, value = assignment.partition("=")
        if not (name and equals):
            raise SlamError(f"cannot read the {what} '{shown(assignment)}': write NAME=VALUE")
        values[name] = files.parse_yaml(value, f"the {what} '{shown(assignment)}'", SlamError)
    return values


def judge(outcome: dict[str, Any], evaluation: "Evaluation | None", limits: Limits) -> Verdict:
    """Judges a finished run.

    Args:
        outcome: Fields of runner.Outcome.
        evaluation: Its accuracy; None if it could not be evaluated.
        limits: Limits of a good run.
    """
    if outcome["reason"]:
        return Verdict(FAILED, outcome["reason"])
    if evaluation is None:
        return Verdict(FAILED, "its trajectory cannot be evaluated")
    reasons = [*shortfall(outcome, limits), *_inaccuracy(evaluation, limits)]
    return Verdict(POOR, "; ".join(reasons)) if reasons else Verdict(GOOD, "")


def shortfall(outcome: dict[str, Any], limits: Limits) -> list[str]:
    """Says what a run lacks; pairs lost by the channel are a condition of the test."""
    arrived = arrived_pairs(outcome)
    dropped, poses = outcome["dropped"], outcome["answers"] - outcome["lost"]
    reasons = []
    if dropped > 0.01 * limits.dropped_percent * arrived:
        reasons.append(
            f"{dropped} of {arrived} pairs dropped, more than "
            f"{limits.dropped_percent:g} % (system too slow or machine busy: try "
            "--speed below 1)"
        )
    if poses < 0.01 * limits.complete_percent * arrived:
        reasons.append(
            f"poses for {poses} of {arrived} pairs, less than {limits.complete_percent:g} %"
        )
    return reasons


def arrived_pairs(outcome: dict[str, Any]) -> int:
    """Returns the number of pairs that the channel delivered."""
    return int(outcome["frames"]) - outcome.get("not_arrived", 0) - outcome.get("missing", 0)


def _inaccuracy(evaluation: "Evaluation", limits: Limits) -> list[str]:
    metres, degrees = (
        evaluation.statistics[name]["rmse"] for name in ("ape_translation", "ape_rotation")
    )
    reasons = []
    if metres > limits.ape_m(evaluation.path_m):
        reasons.append(
            f"APE {metres:.3g} m on a path of {evaluation.path_m:.1f} m, more than "
            f"{limits.ape_m(evaluation.path_m):.2g} m"
        )
    if degrees > limits.ape_deg:
        reasons.append(f"APE {degrees:.3g} degrees, more than {limits.ape_deg:g}")
    return reasons
