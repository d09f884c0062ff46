"""The learning curves of trainings."""

import csv
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from xtdrone_core import plot_style


def read(path: Path) -> dict[str, np.ndarray]:
    """Returns the columns of a curve.csv; NaN where nothing stands."""
    with open(path, newline="") as file:
        rows = list(csv.DictReader(file))
    return {
        name: np.array([float(row[name] or "nan") for row in rows])
        for name in (rows[0] if rows else ())
    }


def draw(paths: Sequence[Path], out: Path, heading: str, names: Sequence[str] = ("",)) -> Path:
    """Draws success over steps and over seconds, one line for each training; returns `out`.

    Args:
        paths: Their curve.csv.
        out: The picture.
        heading: Above it.
        names: Names of the trainings.
    """
    figure, panels = plot_style.panels(1, 2, 9.0, 3.6, heading)
    for axes, column, label in zip(
        np.ravel(panels), ("steps", "seconds"), ("million steps", "training [s]")
    ):
        for k, (path, name) in enumerate(zip(paths, names, strict=True)):
            columns = read(path)
            if not columns:
                continue
            known = np.isfinite(columns["evaluated"])
            x = columns[column] * (1e-6 if column == "steps" else 1.0)
            axes.plot(
                x[known],
                columns["evaluated"][known],
                color=plot_style.series(k),
                marker=".",
                label=name,
            )
        axes.set_xlabel(label)
        axes.set_ylabel("episodes that succeed")
        axes.set_ylim(-0.03, 1.03)
    if len(paths) > 1:
        plot_style.legend(figure)
    return plot_style.save(figure, out)
