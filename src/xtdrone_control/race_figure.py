"""The figure that a race ends with: the best lap by its speed, and the splits of all laps."""

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from xtdrone_core import Scenario
from xtdrone_core.racing.track import Track, read_track
from xtdrone_core.runs import run_folder

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_MAX_LAPS = 8  # of which splits are drawn, the quickest
_MARKERS = "os^Dv"  # of laps: they are told apart in grey, too


def save_race(folder: Path) -> None:
    """Draws plots/race.png into a run folder, if a whole lap of a track was flown.

    Raises:
        XtdroneError: The run is not complete.
        OSError: The figure cannot be written.
    """
    if not run_folder.read_summary(folder).get("race"):
        return
    from xtdrone_core.racing.ghost import laps_of

    track = read_track(Scenario.load(folder / "scenario.yaml").track)
    if laps_of(folder, track):
        from xtdrone_core import plot_style  # slow to import, and not needed by other flights

        plot_style.save(race_figure(folder, track), folder / "plots" / "race.png")


def race_figure(folder: Path, track: Track) -> "Figure":
    """Draws the best lap from above, coloured by speed with the gates, beside all laps' splits.

    Args:
        folder: A run folder with a whole lap.
        track: Its track.
    """
    from matplotlib.collections import LineCollection

    from xtdrone_core import plot_style
    from xtdrone_core.racing.ghost import laps_of, read_ghost

    lap = read_ghost(str(folder), track)
    pos, t = lap.pose[:, :3], lap.t
    speed = np.linalg.norm(np.gradient(pos, t, axis=0), axis=1)
    figure = plot_style.figure(
        13, 6, f"{track.name}: best lap of {lap.vehicle}, {lap.splits[-1]:.2f} s"
    )
    grid = figure.add_gridspec(1, 2, width_ratios=(2, 1))
    above = plot_style.map_axes(figure, grid[0])
    above.set_adjustable("box")
    segments = np.stack([pos[:-1, :2], pos[1:, :2]], axis=1)
    coloured = LineCollection(list(segments), cmap="viridis", array=speed[:-1], linewidth=3)
    above.add_collection(coloured)
    above.autoscale()
    figure.colorbar(coloured, ax=above, label="speed [m/s]", shrink=0.7)
    draw_gates(above, track)
    splits = figure.add_subplot(grid[1])
    gates = [str(k % len(lap.splits) + 1) for k in range(1, len(lap.splits) + 1)]
    names = [vehicle["vehicle"] for vehicle in run_folder.read_summary(folder)["race"]["vehicles"]]
    for k, (seconds, i, flown) in enumerate(laps_of(folder, track)[:_MAX_LAPS]):
        behind = np.array(flown["splits"]) - lap.splits
        splits.plot(
            np.arange(len(behind)),
            behind,
            marker=_MARKERS[k % len(_MARKERS)],
            ms=4,
            ls=plot_style.dashes(k),
            color=plot_style.series(k),
            label=f"{names[i]} {seconds:.2f} s",
        )
    splits.set_xticks(np.arange(len(gates)), gates)
    splits.set_xlabel("gate")
    splits.set_ylabel("behind the best lap [s]")
    plot_style.legend(figure, below=True, of=[splits])
    return figure


def draw_gates(axes: "Axes", track: Track) -> None:
    """Draws the gates of a track from above, with numbers, and the ends of those that move."""
    for number, gate in enumerate(track.gates, start=1):
        pos = np.array(gate.pos)
        left = gate.axes()[1] * 0.5 * gate.width
        for away, colour in ((-1.0, "#cccccc"), (1.0, "#cccccc"), (0.0, "#555555")):
            at = pos + away * np.array(gate.move)
            if gate.radius is None:
                axes.plot(*np.array([at - left, at + left])[:, :2].T, color=colour, lw=3)
            else:
                axes.plot(*at[:2], "o", color=colour, ms=7, mfc="none")
        axes.annotate(str(number), gate.pos[:2], xytext=(5, 5), textcoords="offset points")
