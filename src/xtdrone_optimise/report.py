"""The result of a study: a table of the best beside the start, a figure, and models that fly."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from xtdrone_core import plot_style

from .evaluation import write_model
from .optimisation import Graded
from .study import Study

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_SHOWN = 12  # of the best, in table and models


def shown(front: Sequence[Graded]) -> list[Graded]:
    """Returns at most so many of a front, spread over it."""
    places = np.unique(np.linspace(0, len(front) - 1, min(len(front), _SHOWN)).round().astype(int))
    return [front[k] for k in places] if front else []


def lines(study: Study, graded: Sequence[Graded], front: Sequence[Graded]) -> list[str]:
    """Returns the table as lines of text."""
    names = [one.name for one in study.variables]
    head = f"{'':8}" + "".join(f"{name:>14}" for name in [*study.objectives, *names])
    out = [head, _row("start", graded[0], names)]
    out += [_row(f"best {k}", one, names) for k, one in enumerate(shown(front), 1)]
    failed = sum(bool(one.measured.reason) for one in graded)
    allowed = sum(one.is_allowed for one in graded)
    out.append(
        f"{len(graded)} candidates: {allowed} allowed, {failed} did not fly, "
        f"{len(graded) - allowed - failed} break a constraint; {len(front)} of which none is "
        "better in everything"
    )
    if graded[0].measured.reason:
        out.append(f"the start did not fly: {graded[0].measured.reason}")
    for k, text in enumerate(study.constraints):
        if graded[0].excess[k] > 0.0:
            out.append(f"the start breaks {text.text}")
    return out


def _row(label: str, one: Graded, names: Sequence[str]) -> str:
    numbers = [*one.objectives, *(one.values[name] for name in names)]
    return f"{label:8}" + "".join(f"{number:14.5g}" for number in numbers)


def data(study: Study, graded: Sequence[Graded], front: Sequence[Graded]) -> dict[str, Any]:
    """Returns the result for programs, as result.json has it."""

    def plain(one: Graded) -> dict[str, Any]:
        objectives = dict(zip(study.objectives, map(_number, one.objectives)))
        return {"number": one.number, "values": dict(one.values), "objectives": objectives}

    return {
        "study": study.name,
        "method": study.method,
        "seed": study.seed,
        "evaluations": len(graded),
        "start": plain(graded[0]),
        "front": [plain(one) for one in front],
    }


def _number(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None


def write_models(study: Study, front: Sequence[Graded], folder: Path) -> list[Path]:
    """Writes the models of the best, best_1 and so on; returns their folders."""
    out = []
    for k, one in enumerate(shown(front), 1):
        out.append(write_model(study, one.values, folder / f"best_{k}").parent)
    return out


def draw(study: Study, graded: Sequence[Graded], front: Sequence[Graded]) -> "Figure":
    """Draws the front of two objectives, or how one fell with the evaluations."""
    names = list(study.objectives)
    figure = plot_style.figure(8, 5, study.name)
    axes = figure.subplots()
    allowed = [one for one in graded if one.is_allowed]
    other = [one for one in graded if not one.is_allowed and np.isfinite(one.objectives).all()]
    grey: dict[str, Any] = {
        "color": "#bbbbbb",
        "ls": "",
        "marker": ".",
        "label": "breaks a constraint",
    }
    dots: dict[str, Any] = {
        "color": plot_style.series(0),
        "ls": "",
        "marker": ".",
        "label": "allowed",
    }
    if len(names) == 1:
        for some, style in ((other, grey), (allowed, dots)):
            axes.plot([one.number for one in some], [one.objectives[0] for one in some], **style)
        if allowed:
            least = np.minimum.accumulate([one.objectives[0] for one in allowed])
            numbers = [one.number for one in allowed]
            axes.step(numbers, least, where="post", color=plot_style.series(1), label="best so far")
        axes.set(xlabel="evaluation", ylabel=names[0])
    else:
        for some, style in ((other, grey), (allowed, dots)):
            points = np.array([one.objectives[:2] for one in some]).reshape(-1, 2)
            axes.plot(points[:, 0], points[:, 1], **style)
        points = np.array([one.objectives[:2] for one in front]).reshape(-1, 2)
        axes.step(
            points[:, 0], points[:, 1], where="post", color=plot_style.series(1), label="front"
        )
        start = graded[0].objectives
        axes.plot(start[0], start[1], "k*", ms=12, ls="", label="start")
        axes.set(xlabel=names[0], ylabel=names[1])
    plot_style.legend(figure, below=True)
    return figure
