"""The figure that a flight along a path ends with: field, path and flight from above."""

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from xtdrone_core import Scenario
from xtdrone_core.runs import run_folder
from xtdrone_core.runs.truth_log import read_truth

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from .paths import SplinePath

_ARROWS = 22  # arrows along the longer side
_MARGIN = 0.25  # width drawn around the path, over the path's size


def save_field(folder: Path) -> None:
    """Draws plots/field.png into a run folder, if the flight followed a path.

    Raises:
        XtdroneError: The run is not complete.
        OSError: The figure cannot be written.
    """
    events = [event for event in run_folder.read_events(folder) if event["event"] == "path"]
    if events and "starts" in events[-1]:
        from xtdrone_core import plot_style  # slow to import, and not needed by other flights

        plot_style.save(_field_figure(folder, events[-1]), folder / "plots" / "field.png")


def _field_figure(folder: Path, event: dict) -> "Figure":
    """Draws the field of the first vehicle at the mean height of its path."""
    from xtdrone_core import plot_style  # as above

    from .fields import VectorField
    from .paths import SplinePath

    path = SplinePath(np.array(event["points"]), event["closed"])
    field = VectorField(path, event["speed"], event["acceleration"], event["width"])
    start = np.array(event["starts"][0])
    figure = plot_style.figure(10, 8, "vector field, path and true flight")
    axes = plot_style.map_axes(figure)
    places = _grid(path)
    arrows = np.array([field.at(place).vel[:2] for place in places])
    axes.quiver(*(places + start)[:, :2].T, *arrows.T, color="#b8b8b8", angles="xy", width=0.0016)
    axes.plot(*(path.points + start)[:, :2].T, **{**plot_style.SET_POINT, "label": "path"})
    scenario = Scenario.load(folder / "scenario.yaml")
    t_us, table = read_truth(folder / "truth.bin", scenario.n)
    after = t_us >= event["t_us"]
    axes.plot(*table[after, 0, :2].T, label="flown", **plot_style.vehicle(0, scenario.n))
    plot_style.legend(figure, below=True)
    return figure


def _grid(path: "SplinePath") -> np.ndarray:
    """Returns places (G, 3) around a path [m]."""
    low, high = path.points.min(axis=0), path.points.max(axis=0)
    margin = max(_MARGIN * (high - low)[:2].max(), 0.5)
    step = ((high - low)[:2].max() + 2.0 * margin) / _ARROWS
    x = np.arange(low[0] - margin, high[0] + margin + step, step)
    y = np.arange(low[1] - margin, high[1] + margin + step, step)
    height = path.points[:, 2].mean()
    return np.array([(e, n, height) for e in x for n in y])
