"""The result of a tuning as a table, as JSON, and as a figure of fitted over measured curves."""

import json
import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from xtdrone_control.teleoperation.control import STEP_S
from xtdrone_core import plot_style
from xtdrone_core.outputs import cannot_write

from .errors import TuneError
from .objective import NAMES
from .tuning import Preview, Tuned

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_MAX_POINTS = 3000  # points of a curve; more are not visible
UNITS = {"height": "m", "yaw": "deg", "pitch": "deg", "roll": "deg"}


def lines(tuned: Sequence[Tuned], together: np.ndarray) -> list[str]:
    """Returns the table as lines of text.

    Args:
        tuned: The axes.
        together: (4,) J of the whole simulator on the tuned part.
    """
    head = (
        f"{'axis':8}{'J':>10}{'of doing':>10}{'of best':>10}{'held-out':>10}{'of doing':>10}"
        f"{'J of all':>10}  gains",
        f"{'':8}{'':>10}{'nothing':>10}{'constant':>10}{'J':>10}"
        f"{'nothing':>10}{'together':>10}  k, p, i, d; delay, lean",
    )
    out = [*head]
    names = list(UNITS)
    for one in tuned:
        if one.fitted is None:
            out.append(f"{one.name:8}{'does not move with its stick':>40}")
            continue
        rest = one.held_out
        held = f"{rest.cost:10.3g}{rest.relative_cost:10.1%}" if rest else f"{'-':>10}{'-':>10}"
        out.append(
            f"{one.name:8}{one.fitted.cost:10.3g}{one.fitted.relative_cost:10.1%}"
            f"{one.fitted.unexplained:10.1%}{held}{together[names.index(one.name)]:10.3g}"
            f"  {_candidate(one)}"
        )
    return out


def preview_lines(seconds: float, previews: Sequence[Preview]) -> list[str]:
    """Returns how much each axis of a log moves, as lines of text."""
    out = [f"{seconds:.1f} s", f"{'axis':8}{'stick, std':>12}{'motion':>12}"]
    return out + [
        f"{one.name:8}{one.stick:12.3f}{scale_of(one.name) * one.motion:8.2f} "
        f"{UNITS[one.name]:3}{'' if one.moves else '  does not move with its stick'}"
        for one in previews
    ]


def _candidate(one: Tuned) -> str:
    words = ", ".join(f"{value:.4g}" for value in one.gains)
    delay, *lean = one.candidate[4:]
    if delay:
        words += f"; {1e3 * delay:.0f} ms"
    if any(lean):
        words += f"; {math.degrees(math.hypot(*lean)):.1f} deg"
    return words


def data(tuned: Sequence[Tuned], together: np.ndarray) -> dict[str, Any]:
    """Returns the result for programs, as result.json has it."""
    names, out = list(UNITS), {}
    for one in tuned:
        row: dict[str, Any] = {"moves": one.moves}
        if one.fitted is not None:
            row |= {name: float(value) for name, value in zip(NAMES, one.candidate)}
            row |= {
                "J": one.fitted.cost,
                "J_nothing": one.fitted.nothing,
                "J_constant": one.fitted.spread,
                "J_together": float(together[names.index(one.name)]),
            }
        if one.held_out is not None:
            row |= {"held_out_J": one.held_out.cost, "held_out_J_nothing": one.held_out.nothing}
        out[one.name] = row
    return out


def write_json(path: Path, values: dict[str, Any]) -> Path:
    """Writes data(); returns the path."""
    try:
        path.write_text(json.dumps(values, indent=2) + "\n")
    except OSError as failed:
        raise cannot_write(path, failed, TuneError) from failed
    return path


def draw(tuned: Sequence[Tuned], title: str) -> "Figure":
    """Draws measured and fitted curves of each axis that moves, the held-out part behind it."""
    shown = [one for one in tuned if one.fitted is not None]
    figure = plot_style.figure(12, 1.8 + 2.2 * len(shown), title)
    rows = plot_style.time_axes(
        figure,
        [f"{one.name} [{UNITS[one.name]}]" for one in shown],
        [one.name for one in shown],
        xlabel="time [s]",
    )
    for row, one in zip(rows, shown, strict=True):
        row.set_ylabel(f"[{UNITS[one.name]}]")
        _curves(row, one)
    plot_style.legend(figure, below=True)
    return figure


def scale_of(axis: str) -> float:
    """Returns the factor from metres or radians to the unit in which an axis is shown."""
    return math.degrees(1.0) if UNITS[axis] == "deg" else 1.0


def curves(one: Tuned) -> Iterator[tuple[str, np.ndarray, np.ndarray, np.ndarray]]:
    """Yields "fitted" or "held out", times [s], measured and simulated (k,) of an axis as shown."""
    begin, scale = 0.0, scale_of(one.name)
    for label, part in (("fitted", one.fitted), ("held out", one.held_out)):
        if part is None:
            continue
        t_s = begin + np.arange(len(part.measured)) * STEP_S
        begin = t_s[-1] + STEP_S
        thin = slice(None, None, max(1, len(t_s) // _MAX_POINTS))
        yield label, t_s[thin], scale * part.measured[thin], scale * part.flown[thin]


def _curves(row: "Axes", one: Tuned) -> None:
    event: dict[str, Any] = plot_style.EVENT
    for k, (label, t_s, measured, flown) in enumerate(curves(one)):
        row.plot(t_s, measured, color="#888888", lw=1.0, label="measured")
        row.plot(t_s, flown, color=plot_style.series(k), lw=1.5, label=f"simulated, {label}")
        if k == 1:
            row.axvline(float(t_s[0]), **event)
