"""The report of a campaign: summary.md, and a plot of each figure over what varied."""

import math
import statistics
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from xtdrone_core import plot_style

from .flight import FIGURES, STATUSES
from .intervals import Estimate, mean, proportion
from .table import Table, replace

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_MAX_ROWS = 60  # combinations that the summary lists
_MAX_SERIES = 6  # curves of one panel
_UNITS = {"wind": " [m/s]", "gust": " [m/s]", "dryden": " [m/s]"}  # units of quantities that vary
_MAX_LABELS = 12  # ticks of numbers that are all labelled


def write(folder: Path, table: Table, command: str) -> list[Path]:
    """Writes summary.md, and plots/ of what is not the same in all flights; returns their paths.

    Args:
        folder: Folder of the campaign.
        table: Its flights.
        command: Command line that repeats it.
    """
    plots = folder / "plots"
    plots.mkdir(exist_ok=True)
    names = ["success", *(name for name in table.figures if len(set(table.columns[name])) > 1)]
    pictures = [
        plot_style.save(_plot(table, name), plots / f"{name}.png") for name in names if table.varied
    ]
    return [replace(folder / "summary.md", summary(table, command).encode()), *pictures]


def summary(table: Table, command: str) -> str:
    """Writes summary.md: all flights, each value of what varied, then combinations."""
    every = list(range(len(table)))
    lines = [
        "# Campaign",
        "",
        f"`{command}`",
        "",
        f"{len(table)} flights: "
        + ", ".join(
            f"{count} {status}"
            for status in STATUSES
            if (count := table.columns["status"].count(status))
        )
        + ".",
        "",
        "Proportions have Wilson's 95 % interval, means Student's.",
        "",
        "| | mean and 95 % interval | median | flights |",
        "|---|---|---|---|",
        f"| success | {_words(_estimate(table, 'success', every))} | | {len(table)} |",
    ]
    for name in table.figures:
        values = _values(table, name, every)
        lines.append(
            f"| {_label(name)} | {_words(mean(values))} | "
            f"{statistics.median(values):.4g} | {len(values)} |"
        )
    for name in table.varied:
        lines += ["", f"## By {name}", "", *_grouped(table, (name,))]
    if len(table.varied) > 1:
        rows = _grouped(table, table.varied)
        if len(rows) <= _MAX_ROWS:
            lines += ["", "## By combination", "", *rows]
    reasons = [
        f"- flight {flight}, {status}: {reason}"
        for flight, status, reason in zip(
            *(table.columns[name] for name in ("flight", "status", "reason"))
        )
        if reason
    ]
    if reasons:
        lines += ["", "## Why flights did not succeed", "", *reasons[:_MAX_ROWS]]
    if len(reasons) > _MAX_ROWS:
        lines.append(f"- and {len(reasons) - _MAX_ROWS} more, see flights.csv")
    return "\n".join(lines) + "\n"


def _grouped(table: Table, by: Sequence[str]) -> list[str]:
    """Writes a Markdown table with a row for each combination of values of some columns."""
    figures = [
        name
        for name in ("track_rms_m", "landing_error_m", "estimate_rms_m", "energy_kj")
        if name in table.figures
    ]
    heads = [*by, "flights", "success", *map(_label, figures)]
    lines = [f"| {' | '.join(heads)} |", "|" + "---|" * len(heads)]
    for values, rows in _groups(table, by):
        cells = [
            *map(_text, values),
            str(len(rows)),
            *(_words(_estimate(table, name, rows)) for name in ("success", *figures)),
        ]
        lines.append(f"| {' | '.join(cells)} |")
    return lines


def _groups(table: Table, by: Sequence[str]) -> list[tuple[tuple[object, ...], list[int]]]:
    """Returns the rows of each combination of values, in the order in which they appear."""
    groups: dict[tuple[object, ...], list[int]] = {}
    for row, values in enumerate(zip(*(table.columns[name] for name in by))):
        groups.setdefault(values, []).append(row)
    return list(groups.items())


def _values(table: Table, name: str, rows: Sequence[int]) -> list[float]:
    column = table.columns[name]
    return [column[row] for row in rows if column[row] is not None]


def _estimate(table: Table, name: str, rows: Sequence[int]) -> Estimate:
    values = _values(table, name, rows)
    return proportion(int(sum(values)), len(values)) if name == "success" else mean(values)


def _plot(table: Table, name: str) -> "Figure":
    """Draws one quantity: a panel for each one that varied."""
    count = len(table.varied)
    figure, panels = plot_style.panels(
        1, count, max(5.0, 4.2 * count), 4.0, _label(name) + ", mean and 95 % interval"
    )
    for panel, across in zip(panels if count > 1 else [panels], table.varied):
        others = [other for other in table.varied if other != across]
        series = _groups(table, others) if others else []
        if not 1 < len(series) <= _MAX_SERIES:
            series = [((), list(range(len(table))))]
        for k, (values, rows) in enumerate(series):
            label = ", ".join(f"{other} {_text(value)}" for other, value in zip(others, values))
            _curve(panel, table, name, across, rows, (k, len(series)), label)
        panel.set(xlabel=across + _UNITS.get(across, ""), ylabel=_label(name))
        if name == "success":
            panel.set_ylim(-0.03, 1.03)
        elif panel.get_ylim()[0] < 0.0:  # no figure is negative, an interval may be
            panel.set_ylim(bottom=0.0)
        plot_style.legend(panel, below=True)
    return figure


def _curve(
    panel: "Axes",
    table: Table,
    name: str,
    across: str,
    rows: Sequence[int],
    position: tuple[int, int],
    label: str,
) -> None:
    """Draws one curve with its intervals, beside those of the other series.

    Args:
        panel: The axes.
        table: The flights.
        name: What is drawn.
        across: Quantity on the horizontal axis.
        rows: Flights of this series.
        position: Number of this series, and of all.
        label: Label in the legend.
    """
    ticks = list(dict.fromkeys(table.columns[across]))
    numbers = not any(isinstance(tick, str) for tick in ticks)
    at = {tick: float(tick) if numbers else float(k) for k, tick in enumerate(ticks)}
    gap = min((b - a for a, b in zip(sorted(at.values()), sorted(at.values())[1:])), default=1.0)
    k, count = position
    points = [
        (
            at[tick] + (0.03 if numbers else 0.12) * gap * (k - (count - 1) / 2),
            _estimate(table, name, [row for row in rows if table.columns[across][row] == tick]),
        )
        for tick in ticks
    ]
    points = [(x, estimate) for x, estimate in points if math.isfinite(estimate.value)]
    bars = [
        [
            max(0.0, estimate.value - estimate.low) if math.isfinite(estimate.low) else 0.0
            for _, estimate in points
        ],
        [
            max(0.0, estimate.high - estimate.value) if math.isfinite(estimate.high) else 0.0
            for _, estimate in points
        ],
    ]
    panel.errorbar(
        [x for x, _ in points],
        [estimate.value for _, estimate in points],
        yerr=bars,
        fmt="o-" if numbers else "o",
        capsize=3,
        color=plot_style.series(k),
        label=label or None,
    )
    if not numbers or len(ticks) <= _MAX_LABELS:
        panel.set_xticks([at[tick] for tick in ticks], map(_text, ticks))
    if not numbers:
        panel.set_xlim(-0.5, len(ticks) - 0.5)


def _label(name: str) -> str:
    unit = FIGURES.get(name, ("", ""))[0]
    words = name.removesuffix(f"_{unit.replace('/', '_').replace('°', 'deg').lower()}")
    return words.replace("_", " ") + (f" [{unit}]" if unit else "")


def _words(estimate: Estimate) -> str:
    if math.isnan(estimate.value):
        return ""
    interval = "" if math.isnan(estimate.low) else f" ({estimate.low:.3g} to {estimate.high:.3g})"
    return f"{estimate.value:.4g}{interval}"


def _text(value: object) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)
