"""Plots of a run, drawn from its truth log."""

from pathlib import Path

import numpy as np

from xtdrone_core import Scenario
from xtdrone_core.truth_log import read_truth

MAX_LEGEND = 12  # largest number of vehicles with a legend


def flight(folder: Path | str) -> Path:
    """Draws plots/flight.png: top view, height, speed and tilt of every vehicle over time.

    Args:
        folder: Run folder.

    Returns:
        Path of the image.

    Raises:
        XtdroneError: The folder holds no truth log.
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    folder = Path(folder)
    scenario = Scenario.load(folder / "scenario.yaml")
    t_us, table = read_truth(folder / "truth.bin", scenario.n)
    t = t_us * 1e-6
    pos, quat, vel = table[..., 0:3], table[..., 3:7], table[..., 7:10]
    tilt = np.degrees(2 * np.arcsin(np.clip(np.hypot(quat[..., 0], quat[..., 1]), 0, 1)))
    figure = Figure(figsize=(11, 7), layout="constrained")
    FigureCanvasAgg(figure)
    grid = figure.add_gridspec(3, 2)
    top = figure.add_subplot(grid[:, 0], aspect="equal", xlabel="east [m]", ylabel="north [m]",
                             title="true path from above")
    curves = [figure.add_subplot(grid[k, 1]) for k in range(3)]
    labels = ("height [m]", "speed [m/s]", "tilt [deg]")
    for i, spec in enumerate(scenario.vehicles):
        line, = top.plot(pos[:, i, 0], pos[:, i, 1], lw=1, label=spec.name)
        top.plot(*pos[0, i, :2], "o", color=line.get_color(), ms=4)
        for axes, y in zip(curves, (pos[:, i, 2], np.linalg.norm(vel[:, i], axis=1), tilt[:, i])):
            axes.plot(t, y, lw=0.8, color=line.get_color())
    for axes, label in zip(curves, labels):
        axes.set_ylabel(label)
        axes.grid(alpha=0.3)
    curves[-1].set_xlabel("simulated time [s]")
    top.grid(alpha=0.3)
    if scenario.n <= MAX_LEGEND:
        top.legend(fontsize="small")
    figure.suptitle(f"{folder.name}: {scenario.n} vehicle{'s' * (scenario.n > 1)}, world "
                    f"{scenario.world}, engine {scenario.engine}, autopilot {scenario.autopilot}")
    path = folder / "plots" / "flight.png"
    path.parent.mkdir(exist_ok=True)
    figure.savefig(path, dpi=110)
    return path
