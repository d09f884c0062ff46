"""Plots of formations and formation flights; they need no display."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from xtdrone_core import outputs, plot_look, plot_style

from ..errors import FormationError
from ..settling import MAX_ERROR, TOLERANCE
from .analysis import Flight, Window
from .recordings import SOURCE_NAMES

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_MAX_POINTS = 1500  # points of a line; more are not visible
_LINES = ("-", (0, (5, 3)), (0, (1, 2)))  # line styles of runs: show where two coincide
_MARKERS = ("o", "s", "^", "D", "v", "P")  # markers of the slots, by formation


def trajectories(flight: Flight, path: Path | str) -> None:
    """Draws all paths in 3-D and from above, with the slots of each settled formation."""
    step = max(1, len(flight.pos) // _MAX_POINTS)
    pos, n = flight.pos[::step], flight.pos.shape[1]
    figure = plot_style.figure(13, 6.2, f"paths of {n} vehicles", wide=True)
    grid = figure.add_gridspec(1, 2)
    view = plot_style.space_axes(figure, pos, grid[0, 0])
    top = plot_style.map_axes(figure, grid[0, 1])
    for k, window in enumerate(flight.windows):
        leader = flight.pos[np.searchsorted(flight.t_s, window.t_s[-1]), 0]
        slots = leader + window.slots
        mark = {
            **plot_style.SLOT,
            "s": 44 if plot_style.distinct(n) else 10,
            "marker": _MARKERS[k % len(_MARKERS)],
            "label": f"slots of {window.name}",
        }
        view.scatter(*slots.T, depthshade=False, **mark)
        top.scatter(slots[:, 0], slots[:, 1], **mark)
    for i in range(n):
        label = flight.names[i] if plot_style.distinct(n) else "followers"
        line = {
            **plot_style.vehicle(i, n),
            "label": f"{flight.names[0]} (leader)" if i == 0 else label,
        }
        view.plot(*pos[:, i].T, **line)
        top.plot(pos[:, i, 0], pos[:, i, 1], **line)
    plot_style.legend(figure, of=[top])
    plot_style.save(figure, path, error=FormationError)


def formation_error(flight: Flight, path: Path | str) -> None:
    """Draws slot_errors() into a file."""
    plot_style.save(slot_errors(flight), path, error=FormationError)


def slot_errors(flight: Flight) -> "Figure":
    """Draws the slot error of each follower over time, the tolerance, commands and settling."""
    figure = plot_style.figure(12, 6, "slot errors")
    (axes,) = plot_style.time_axes(figure, ("slot error [m]",))
    n = flight.pos.shape[1]
    for window in flight.windows:
        step = max(1, len(window.t_s) // _MAX_POINTS)
        for i, error in enumerate(window.error[::step].T, 1):
            axes.plot(
                window.t_s[::step],
                error,
                label=flight.names[i] if plot_style.distinct(n) else "followers",
                **{**plot_style.vehicle(i, n), "lw": 0.7},
            )
        axes.plot(
            window.t_s[::step],
            _rms(window.error[::step]),
            color="black",
            lw=1.8,
            zorder=plot_style.MARKS,
            label="RMS of all",
        )
        if window.settled >= 0:
            axes.axvspan(
                window.t_s[window.settled],
                window.t_s[-1],
                color="#eef3fa",
                zorder=0,
                label="settled",
            )
    axes.axhline(
        TOLERANCE, **plot_style.LIMIT, label=f"RMS of a settled\nformation: {TOLERANCE:g} m"
    )
    plot_style.logarithmic(axes)
    axes.set_xlim(flight.windows[0].command_s - 1.0, flight.windows[-1].t_s[-1])
    letters = plot_look.current().rc["legend.fontsize"]
    if not plot_look.current().paper:
        plot_style.title(
            axes, "each follower, and the RMS of all (black)", pad=6 + 13 * len(flight.windows)
        )
        captions = "\n".join(map(_caption, flight.windows))
        axes.text(0.0, 1.02, captions, fontsize=letters, va="bottom", transform=axes.transAxes)
    for window in flight.windows:
        axes.axvline(window.command_s, **plot_style.EVENT)
        axes.text(
            window.command_s,
            0.995,
            f" {window.name}",
            va="top",
            color="#333333",
            transform=axes.get_xaxis_transform(),
            fontsize=letters,
        )
    plot_style.legend(figure)
    return figure


def _caption(window: Window) -> str:
    fields = window.summary()
    if fields["settle_time_s"] is None:
        return f"{window.name}: not settled"
    return (
        f"{window.name}: settled after {fields['settle_time_s']:.1f} s, then "
        f"{fields['rms_slot_error_m']:.3f} m RMS, {fields['max_slot_error_m']:.2f} m at most"
    )


def formation(name: str, offsets: npt.ArrayLike, path: Path | str) -> None:
    """Draws a formation in 3-D, from above and from the south; the leader is the filled mark."""
    path = outputs.picture(path, FormationError)
    points = np.vstack([np.zeros((1, 3)), offsets])
    n = len(points)
    figure = plot_style.figure(15, 4.8, f"{name}: slots of {n} vehicles", wide=True)
    grid = figure.add_gridspec(1, 3)
    colours = [plot_style.LEADER] + [plot_style.CROWD] * (n - 1)
    size = 60 if plot_style.distinct(n) else 12
    view = plot_style.space_axes(figure, points, grid[0, 0])
    view.scatter(*points.T, c=colours, s=size, depthshade=False)
    for k, (other, label, title) in enumerate(
        ((1, "north [m]", "from above"), (2, "up [m]", "from the south")), 1
    ):
        axes = plot_style.map_axes(figure, grid[0, k], title, ("east [m]", label))
        axes.scatter(
            points[1:, 0],
            points[1:, other],
            s=size,
            facecolors="none",
            edgecolors=plot_style.CROWD,
            label="follower" if k == 1 else None,
        )
        axes.scatter(0, 0, s=size, color=plot_style.LEADER, label="leader" if k == 1 else None)
    plot_style.legend(figure)
    plot_style.save(figure, path, error=FormationError)


def comparison(flights: Sequence[Flight], path: Path | str) -> Path:
    """Draws the largest and RMS slot errors of several flights, formation by formation.

    Returns:
        The path of the file.

    Raises:
        FormationError: No formation was flown, or a file that cannot be written.
    """
    path = outputs.picture(path, FormationError)
    names = list(dict.fromkeys(window.name for flight in flights for window in flight.windows))
    if not names:
        raise FormationError(
            "no formation was flown in these runs: give runs that flew one, such "
            "as those of 'xtdrone fly formation'"
        )
    figure = plot_style.figure(
        max(6.5, 4.4 * len(names)), 7, "slot errors from the command on", wide=len(names) > 1
    )
    grid = figure.add_gridspec(1, len(names))
    for column, name in enumerate(names):
        rows = plot_style.time_axes(
            figure,
            ("slot error [m]",) * 2,
            (f"{name}: largest", f"{name}: RMS of all"),
            "time since the command [s]",
            grid[0, column],
        )
        for row, reduce, bound in zip(rows, (_largest, _rms), (MAX_ERROR, TOLERANCE)):
            row.axhline(bound, **plot_style.LIMIT, label="bound of a settled formation")
            for k, flight in enumerate(flights):
                for window in flight.windows:
                    if window.name == name:
                        row.plot(
                            window.t_s - window.command_s,
                            reduce(window.error),
                            color=plot_style.series(k),
                            ls=_LINES[k % len(_LINES)],
                            lw=2.2 if k == 0 else 1.4,
                            label=_run_name(flight),
                        )
                        if window.settle_time is not None:
                            row.axvline(
                                window.settle_time, ls=":", lw=1.2, color=plot_style.series(k)
                            )
            plot_style.logarithmic(row)
    rows[-1].plot([], [], ":", lw=1.2, color="#555555", label="settled")
    plot_style.legend(figure, below=True)
    return plot_style.save(figure, path, error=FormationError)


def _run_name(flight: Flight) -> str:
    """Returns a run, and where its motion comes from, in words."""
    return f"{flight.folder.resolve().name}, {SOURCE_NAMES[flight.source]}"


def _largest(error: np.ndarray) -> np.ndarray:
    return error.max(axis=1)


def _rms(error: np.ndarray) -> np.ndarray:
    return np.sqrt(np.mean(error**2, axis=1))
