"""Tables of a report, as Markdown, CSV, LaTeX and HTML."""

import csv
import html
import io
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from .conventions import DELTA_M
from .metrics import METRICS, UNITS
from .results import Flight, System
from .verdict import GOOD, POOR

_MAX_REASONS = 10  # runs whose reason is printed

_HEADS = {
    "ape_translation": "APE translation",
    "ape_rotation": "APE rotation",
    "rpe_translation": "RPE translation",
    "rpe_rotation": "RPE rotation",
}
_PAPER = ("rpe_rotation", "rpe_translation", "ape_rotation", "ape_translation")  # Table III's order
_STATISTICS = ("rmse", "mean", "median", "std", "min", "max", "sse")
_COSTS = (
    ("CPU, mean [% of a core]", "cpu_percent", 1),
    ("CPU, highest [%]", "cpu_max_percent", 1),
    ("memory, mean [MiB]", "memory_mean_mib", 1),
    ("memory, peak [MiB]", "memory_mib", 1),
    ("latency, mean [ms]", "latency_ms", 1),
    ("latency, 95 % [ms]", "latency_95_ms", 1),
    ("dropped pairs", "dropped", 1),
    ("pairs lost by the channel", "not_arrived", 1),
    ("pairs without a pose", "lost", 1),
    ("features", "features", 0),
)
_LATEX = {
    "\\": r"\textbackslash{}",
    "%": r"\%",
    "_": r"\_",
    "&": r"\&",
    "#": r"\#",
    "$": r"\$",
    "{": r"\{",
    "}": r"\}",
    "±": r"$\pm$",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
}


@dataclass(frozen=True)
class MeanStd:
    """Mean and standard deviation over runs."""

    mean: float
    std: float | None  # None: all runs are identical
    digits: int

    def __str__(self) -> str:
        if np.isnan(self.mean):
            return ""
        text = f"{self.mean:.{self.digits}f}"
        return text if self.std is None else f"{text} ± {self.std:.{self.digits}f}"


@dataclass(frozen=True)
class Table:
    """Rows of text and MeanStd cells below a header row."""

    name: str  # file name without suffix
    caption: str
    heads: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]  # text, numbers and MeanStd

    def markdown(self) -> str:
        """Writes a pipe table."""
        lines = [self.heads, ["---"] * len(self.heads), *self.rows]
        return (
            "\n".join(
                "| " + " | ".join(str(cell).replace("|", "\\|") for cell in line) + " |"
                for line in lines
            )
            + "\n"
        )

    def text(self) -> str:
        """Writes columns aligned by spaces, for a terminal."""
        lines = [[str(cell) for cell in line] for line in (self.heads, *self.rows)]
        widths = [max(map(len, column)) for column in zip(*lines)]
        return "\n".join(
            "  ".join(f"{cell:{width}}" for cell, width in zip(line, widths)).rstrip()
            for line in lines
        )

    def csv(self) -> str:
        """Writes mean and standard deviation in separate columns, at full precision."""
        wide = [
            any(isinstance(row[i], MeanStd) for row in self.rows) for i in range(len(self.heads))
        ]
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(
            [
                name
                for head, two in zip(self.heads, wide)
                for name in ((head, f"{head} std") if two else (head,))
            ]
        )
        for row in self.rows:
            cells: list[Any] = []
            for cell, two in zip(row, wide):
                if not two:
                    cells.append(cell)
                elif isinstance(cell, MeanStd) and not np.isnan(cell.mean):
                    cells += [repr(float(cell.mean)), repr(float(cell.std or 0.0))]
                else:
                    cells += ["", ""]
            writer.writerow(cells)
        return text.getvalue()

    def latex(self) -> str:
        """Writes a LaTeX table that needs no package."""
        columns = "l" + "r" * (len(self.heads) - 1)
        lines = [
            " & ".join(_escaped(cell) for cell in line) + r" \\"
            for line in (self.heads, *self.rows)
        ]
        return (
            "\n".join(
                [
                    r"\begin{table}",
                    r"\centering",
                    rf"\caption{{{_escaped(self.caption)}}}",
                    rf"\begin{{tabular}}{{{columns}}}",
                    r"\hline",
                    lines[0],
                    r"\hline",
                    *lines[1:],
                    r"\hline",
                    r"\end{tabular}",
                    r"\end{table}",
                ]
            )
            + "\n"
        )

    def html(self) -> str:
        """Writes a <table> with its caption."""

        def line(cells: Iterable[object], tag: str) -> str:
            return (
                "<tr>"
                + "".join(f"<{tag}>{html.escape(str(cell))}</{tag}>" for cell in cells)
                + "</tr>"
            )

        return (
            f"<table><caption>{html.escape(self.caption)}</caption><thead>"
            f"{line(self.heads, 'th')}</thead><tbody>"
            f"{''.join(line(row, 'td') for row in self.rows)}</tbody></table>"
        )


def accuracy(flight: Flight) -> Table:
    """Makes table III of the XTDrone paper: RMSE of RPE and APE, one column per system."""
    systems = flight.systems
    rows = [
        (
            f"{_HEADS[metric]} [{UNITS[metric]}]",
            *(_mean_std(system, system.statistics(metric, "rmse"), 4) for system in systems),
        )
        for metric in _PAPER
    ]
    rows.append(
        (
            f"{_HEADS['ape_translation']} [% of the path]",
            *(_mean_std(system, _ape_percent(system), 2) for system in systems),
        )
    )
    rows.append(("good runs", *(_good(system) for system in systems)))
    return Table(
        f"{flight.name}_accuracy",
        f"Accuracy on {flight.name}, {_alignment(flight)}: RMSE, RPE per {DELTA_M:g} m",
        ("", *(system.title for system in systems)),
        tuple(rows),
    )


def cost(flight: Flight) -> Table:
    """Makes table IV of the XTDrone paper: CPU and memory of the process tree, latency, drops."""
    rows = []
    for head, name, digits in _COSTS:
        cells = [
            _mean_std(system, system.values(name), digits, measured=True)
            for system in flight.systems
        ]
        if any(isinstance(cell, MeanStd) and not np.isnan(cell.mean) for cell in cells):
            rows.append((head, *cells))
    return Table(
        f"{flight.name}_cost",
        f"Cost on {flight.name}: CPU and memory of the whole process tree",
        ("", *(system.title for system in flight.systems)),
        tuple(rows),
    )


def statistics(flight: Flight) -> Table:
    """Tabulates every statistic of every metric."""
    rows = [
        (
            system.title,
            f"{_HEADS[metric]} [{UNITS[metric]}]",
            *(_mean_std(system, system.statistics(metric, key), 4) for key in _STATISTICS),
        )
        for system in flight.systems
        if system.counted
        for metric in METRICS
    ]
    return Table(
        f"{flight.name}_statistics",
        f"All statistics on {flight.name}, {_alignment(flight)} (sse in squared units)",
        ("system", "metric", *_STATISTICS),
        tuple(rows),
    )


def runs(flight: Flight) -> Table:
    """Tabulates all runs with their verdicts."""
    rows = []
    for system, run in flight.runs:
        result = run.evaluation
        figures = (
            [""] * (len(METRICS) + 1)
            if result is None
            else [
                f"{result.ape_percent:.3f}",
                *(f"{result.statistics[name]['rmse']:.6f}" for name in METRICS),
            ]
        )
        rows.append(
            (
                system.label,
                run.number,
                run.verdict.word,
                *figures,
                *(
                    _plain(run.outcome.get(name))
                    for name in (
                        "cpu_percent",
                        "memory_mib",
                        "latency_ms",
                        "dropped",
                        "not_arrived",
                        "lost",
                        "load_before",
                    )
                ),
                run.verdict.reason,
            )
        )
    return Table(
        f"{flight.name}_runs",
        f"Every run on {flight.name} (RMSE)",
        (
            "system",
            "run",
            "verdict",
            f"{_HEADS['ape_translation']} [% of the path]",
            *(f"{_HEADS[name]} [{UNITS[name]}]" for name in METRICS),
            "CPU [%]",
            "peak memory [MiB]",
            "latency [ms]",
            "dropped",
            "lost by the channel",
            "without a pose",
            "load average before",
            "reason",
        ),
        tuple(rows),
    )


def closing(flights: list[Flight]) -> str:
    """Writes the end of a benchmark: a row per system, a line per run that is not good, limits."""
    rows = [
        (
            flight.name,
            system.title,
            _good(system),
            _mean_std(system, system.statistics("ape_translation", "rmse"), 3),
            _mean_std(system, _ape_percent(system), 2),
            _mean_std(system, system.statistics("ape_rotation", "rmse"), 2),
            _mean_std(system, system.statistics("rpe_translation", "rmse"), 3),
            *(
                _mean_std(system, system.values(name), 1, measured=True)
                for name in ("cpu_percent", "latency_ms")
            ),
        )
        for flight in flights
        for system in flight.systems
    ]
    heads = (
        "flight",
        "system",
        "good runs",
        "APE [m]",
        "APE [% of path]",
        "APE [deg]",
        "RPE [m]",
        "CPU [%]",
        "latency [ms]",
    )
    bad = [
        f"{system.label} on {flight.name}, run {run.number}: {run.verdict}"
        for flight in flights
        for system, run in flight.runs
        if run.verdict.reason
    ]
    more = [f"and {len(bad) - _MAX_REASONS} more, see the report"] * (len(bad) > _MAX_REASONS)
    return "\n".join(
        [
            Table("closing", "", heads, tuple(rows)).text(),
            *bad[:_MAX_REASONS],
            *more,
            f"a run is good with {flights[0].limits.text()}",
        ]
    )


def determinism(system: System) -> str:
    """Writes a sentence on the repeatability of a system's runs."""
    count = len(system.counted)
    kind = GOOD if system.good else POOR
    declared = bool(system.runs and system.runs[0].outcome.get("deterministic"))
    if count < 2:
        return f"one {kind} run: no standard deviation" if count else "every run failed"
    if system.identical:
        return (
            f"deterministic: {count} {kind} runs with identical estimates, so its accuracy has "
            "no standard deviation"
        )
    drops = int(system.values("dropped").sum())
    if declared:
        why = (
            f"{drops} pairs were dropped because the machine was too slow"
            if drops
            else "no pair was dropped, so the adapter's declaration is wrong"
        )
        return f"declared deterministic, but {count} {kind} runs differ: {why}"
    return f"not deterministic: mean and standard deviation of {count} {kind} runs"


def _good(system: System) -> str:
    return f"{len(system.good)} of {len(system.runs)}"


def _ape_percent(system: System) -> np.ndarray:
    return np.array([each.ape_percent for each in system.evaluations])


def _mean_std(
    system: System, values: np.ndarray, digits: int, measured: bool = False
) -> MeanStd | str:
    """Makes a cell; without a standard deviation for a single run or identical estimates."""
    if not len(values):
        return "failed"
    single = len(values) < 2 or (not measured and system.identical)
    return MeanStd(float(np.mean(values)), None if single else float(np.std(values)), digits)


def _alignment(flight: Flight) -> str:
    kinds = {each.alignment for system in flight.systems for each in system.evaluations}
    return f"alignment {'/'.join(sorted(kinds))}" if kinds else "every run failed"


def _plain(value: object) -> object:
    return "" if value is None else value


def _escaped(cell: object) -> str:
    return "".join(_LATEX.get(letter, letter) for letter in str(cell))
