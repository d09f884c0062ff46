"""Figures of slung loads, from the log of their true places."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from xtdrone_core import plot_style
from xtdrone_core.runs.log_file import read_named_rows

LOG = "loads.csv"


def read(folder: Path) -> dict[str, np.ndarray]:
    """Returns rows of t [s], x, y, z [m] and swing [deg] by load."""
    return read_named_rows(folder / LOG)


def swing_after(folder: Path, stops: Sequence[float], after: float, seconds: float) -> list[float]:
    """Returns the largest swing of all loads after each stop [deg].

    Args:
        folder: Run folder.
        stops: Times [s].
        after: How long after a stop it begins to count [s].
        seconds: How long it counts [s].
    """
    tables = list(read(folder).values())
    return [
        max(
            float(
                table[
                    (table[:, 0] >= stop + after) & (table[:, 0] < stop + after + seconds), 4
                ].max()
            )
            for table in tables
        )
        for stop in stops
    ]


def draw(folder: Path, stops: Sequence[float]) -> None:
    """Writes plots/load.png: height and swing of each load by time."""
    figure = plot_style.figure(9, 6, "loads on their cables")
    height, swing = figure.subplots(2, 1, sharex=True)
    for k, (name, table) in enumerate(read(folder).items()):
        colour = plot_style.vehicle(k, 1)
        height.plot(table[:, 0], table[:, 3], label=name, **colour)
        up = table[:, 3] > 0.3  # on the ground the cable may lie anywhere
        swing.plot(table[:, 0], np.where(up, table[:, 4], np.nan), **colour)
    for stop in stops:
        swing.axvline(stop, color="black", lw=0.8, ls=":")
    height.set_ylabel("height [m]")
    swing.set_ylabel("swing [deg]")
    swing.set_xlabel("time [s]; dotted: stops")
    plot_style.legend(figure, below=True)
    (folder / "plots").mkdir(exist_ok=True)
    plot_style.save(figure, folder / "plots" / "load.png")
