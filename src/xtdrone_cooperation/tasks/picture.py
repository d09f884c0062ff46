"""The plot of who did which task."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from xtdrone_core import plot_style
from xtdrone_core.runs import run_folder
from xtdrone_core.runs.truth_log import read_truth

from .task import Task


def draw(folder: Path, tasks: Sequence[Task], finished: Sequence[Sequence[int]]) -> None:
    """Writes plots/tasks.png: the ways that were flown, and the tasks of each vehicle."""
    n = len(finished)
    figure = plot_style.figure(9, 8, "tasks and ways of the vehicles")
    axes = plot_style.map_axes(figure)
    if (folder / run_folder.TRUTH).exists():
        _, table = read_truth(folder / run_folder.TRUTH, n)
        for i in range(n):
            axes.plot(*table[:, i, :2].T, label=f"vehicle {i}", **plot_style.vehicle(i, n))
    for i, done in enumerate(finished):
        colour = plot_style.vehicle(i, n)["color"]
        for number, task in enumerate(done, 1):
            place = tasks[task].way()[-1]
            axes.plot(*place, "o", color=colour, ms=7)
            axes.annotate(str(number), place, xytext=(5, 5), textcoords="offset points", size=8)
    left = set(range(len(tasks))) - {task for done in finished for task in done}
    if left:
        places = np.array([tasks[task].way()[0] for task in sorted(left)])
        axes.plot(*places.T, "x", color="black", ms=8, label="not done")
    plot_style.legend(figure, below=True)
    (folder / "plots").mkdir(exist_ok=True)
    plot_style.save(figure, folder / "plots" / "tasks.png")
