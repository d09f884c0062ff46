"""Plots of formations and formation flights; they need no display."""

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, NullFormatter

from xtdrone_core import outputs

from ..errors import FormationError
from ..settling import FARTHEST, TOLERANCE

_LEADER = "#d62728"
_FOLLOWER = "#1f77b4"
_SHADES = ("#2ca02c", "#9467bd", "#ff7f0e", "#8c564b", "#17becf", "#e377c2")
_MAX_POINTS = 1500  # of a line; more are not visible
_COLOURS = ("C0", "C1", "C2", "C4", "C5", "C6", "C7", "C8", "C9")  # without the leader's red
_COLOURED = 30  # vehicles up to which each line has its own colour


def _figure(width, height):
    figure = Figure(figsize=(width, height), layout="constrained")
    FigureCanvasAgg(figure)
    return figure


def _logarithmic(axes):
    """A logarithmic y axis with the ticks 0.1, 0.2, 0.5, 1, ..."""
    axes.set_yscale("log")
    axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axes.yaxis.set_major_formatter("{x:g}")
    axes.yaxis.set_minor_formatter(NullFormatter())


def _equal(axes, points):
    """The same scale on all three axes."""
    low, high = points.min(axis=0), points.max(axis=0)
    reach = np.maximum(high - low, 1.0)
    middle = (low + high) / 2
    axes.set_xlim(middle[0] - reach[0] / 2, middle[0] + reach[0] / 2)
    axes.set_ylim(middle[1] - reach[1] / 2, middle[1] + reach[1] / 2)
    axes.set_zlim(middle[2] - reach[2] / 2, middle[2] + reach[2] / 2)
    axes.set_box_aspect(reach)
    axes.set(xlabel="x east [m]", ylabel="y north [m]", zlabel="z up [m]")


def trajectories(flight: Any, path: Path | str) -> None:
    """Paths of all vehicles in 3-D and from above, with the slots of each settled formation."""
    figure = _figure(13, 6)
    view = figure.add_subplot(1, 2, 1, projection="3d")
    top = figure.add_subplot(1, 2, 2)
    step = max(1, len(flight.pos) // _MAX_POINTS)
    pos = flight.pos[::step]
    n = pos.shape[1]
    alpha = 0.8 if n <= _COLOURED else 0.25
    for i in range(n - 1, -1, -1):
        line = {"color": _LEADER if i == 0 else _COLOURS[i % 9] if n <= _COLOURED else _FOLLOWER,
                "lw": 1.6 if i == 0 else 0.8, "alpha": 1.0 if i == 0 else alpha,
                "label": "leader" if i == 0 else None}
        view.plot(*pos[:, i].T, **line)
        top.plot(pos[:, i, 0], pos[:, i, 1], **line)
    for k, window in enumerate(flight.windows):
        leader = flight.pos[np.searchsorted(flight.t_s, window.t_s[-1]), 0]
        slots = leader + window.slots
        mark = {"s": 34 if n <= _COLOURED else 8, "facecolors": "none", "linewidths": 1.4,
                "edgecolors": _SHADES[k % len(_SHADES)], "label": f"slots of {window.name}"}
        view.scatter(*slots.T, depthshade=False, **mark)
        top.scatter(slots[:, 0], slots[:, 1], **mark)
    _equal(view, flight.pos.reshape(-1, 3))
    top.set(xlabel="x east [m]", ylabel="y north [m]", title="from above", aspect="equal")
    top.grid(alpha=0.3)
    view.set_title(f"{flight.title}: {n} vehicles")
    top.legend(loc="upper right", fontsize=8)
    outputs.save_figure(figure, path, error=FormationError)


def formation_error(flight: Any, path: Path | str) -> None:
    """Slot error of each follower over time, the tolerance, commands and settling."""
    figure = _figure(11, 5.4)
    axes = figure.add_subplot()
    for k, window in enumerate(flight.windows):
        colour = _SHADES[k % len(_SHADES)]
        step = max(1, len(window.t_s) // _MAX_POINTS)
        axes.plot(window.t_s[::step], window.error[::step], color=colour, lw=0.6, alpha=0.4)
        axes.plot(window.t_s[::step], _rms(window.error[::step]), color=colour, lw=1.6,
                  label=_caption(window))
        axes.axvline(window.command_s, color="0.5", ls=":", lw=1)
        if window.settled >= 0:
            axes.axvspan(window.t_s[window.settled], window.t_s[-1], color=colour, alpha=0.08)
    axes.axhline(TOLERANCE, color="k", ls="--", lw=0.8,
                 label=f"RMS of a settled formation: {TOLERANCE} m at most")
    kind = "true" if flight.source == "truth" else f"by {flight.source}"
    axes.set(xlabel="simulated time [s]", ylabel=f"slot error, {kind} [m]",
             title=f"{flight.title}: each follower, and the RMS over them (bold)")
    _logarithmic(axes)
    axes.grid(alpha=0.3, which="both")
    figure.legend(loc="outside lower center", ncols=2, fontsize=8)
    outputs.save_figure(figure, path, error=FormationError)


def _caption(window):
    fields = window.summary()
    if fields["settle_time_s"] is None:
        return f"{window.name}: not settled"
    return (f"{window.name}: settled after {fields['settle_time_s']:.1f} s, then "
            f"{fields['rms_slot_error_m']:.3f} m RMS, {fields['max_slot_error_m']:.2f} m at most")


def formation(name: str, offsets: npt.ArrayLike, path: Path | str) -> None:
    """A formation in 3-D, from above and from the south; the leader is the filled mark."""
    path = outputs.picture(path, FormationError)
    figure = _figure(15, 4.6)
    view = figure.add_subplot(1, 3, 1, projection="3d")
    points = np.vstack([np.zeros((1, 3)), offsets])
    colours = [_LEADER] + [_FOLLOWER] * len(offsets)
    size = 60 if len(points) <= _COLOURED else 12
    view.scatter(*points.T, c=colours, s=size, depthshade=False)
    _equal(view, points)
    view.set_zlabel("")  # the view from the south has it, and it would run into that one
    view.set_title(f"{name}, {len(points)} vehicles")
    for k, (other, label, title) in enumerate(((1, "y north [m]", "from above"),
                                               (2, "z up [m]", "from the south")), 2):
        axes = figure.add_subplot(1, 3, k)
        axes.scatter(points[1:, 0], points[1:, other], s=size, facecolors="none",
                     edgecolors=_FOLLOWER)
        axes.scatter(0, 0, s=size, color=_LEADER, label="leader")
        axes.set(xlabel="x east [m]", ylabel=label, title=title, aspect="equal")
        axes.grid(alpha=0.3)
    axes.legend(loc="upper right", fontsize=8)
    outputs.save_figure(figure, path, error=FormationError)


def comparison(flights: Any, path: Path | str) -> None:
    """Largest and RMS slot error of several flights, formation by formation, from the command."""
    names = []
    for flight in flights:
        names += [window.name for window in flight.windows if window.name not in names]
    path = outputs.picture(path, FormationError)
    figure = _figure(max(5, 4.4 * len(names)), 6.4)
    for column, name in enumerate(names):
        for row, (what, reduce, bound) in enumerate((("largest", _largest, FARTHEST),
                                                     ("RMS", _rms, TOLERANCE))):
            axes = figure.add_subplot(2, len(names), row * len(names) + column + 1)
            for k, flight in enumerate(flights):
                for window in flight.windows:
                    if window.name == name:
                        axes.plot(window.t_s - window.command_s, reduce(window.error),
                                  color=f"C{k}", label=flight.title)
                        if window.settle_time is not None:
                            axes.axvline(window.settle_time, color=f"C{k}", ls=":", lw=1)
            axes.axhline(bound, color="k", ls="--", lw=0.8)
            axes.set(title=name if row == 0 else None, xlabel="since the command [s]",
                     ylabel=f"{what} slot error [m]")
            _logarithmic(axes)
            axes.grid(alpha=0.3, which="both")
    axes.legend(loc="upper right", fontsize=8)
    outputs.save_figure(figure, path, error=FormationError)


def _largest(error):
    return error.max(axis=1)


def _rms(error):
    return np.sqrt(np.mean(error ** 2, axis=1))
