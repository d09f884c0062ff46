"""The one style of every figure: colours, axes, legends. No other module makes figures.

A vehicle has the same colour in all figures, given by its index; the leader is always index 0. The
colours can be told apart by people with normal and with protanopic, deuteranopic and tritanopic
vision. Figures need no display.

    figure = plot_style.figure(8, 5)
    rows = plot_style.time_axes(figure, ["height [m]", "speed [m/s]"])
    rows[0].plot(t, height, **plot_style.vehicle(0), label="iris_0")
    plot_style.legend(figure)
    plot_style.save(figure, "height.png")
"""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from . import outputs, plot_data, plot_look
from .errors import XtdroneError, shown
from .files import FileError
from .plot_look import LINES

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.gridspec import SubplotSpec

LEADER = "#d55e00"
FOLLOWERS = (
    "#0000f0",
    "#00c8b4",
    "#640050",
    "#a0a0f0",
    "#007850",
    "#a050f0",
    "#dcb478",
    "#780000",
    "#50008c",
)
CROWD = "#5b7a9d"  # followers of a fleet in which colours no longer tell them apart
SERIES = plot_look.SERIES
MAX_COLOURED = 1 + len(FOLLOWERS) * len(LINES)  # vehicles that have a line of their own
BEHIND, FLOWN, MARKS = 1.5, 3.0, 4.0  # zorder: plans and limits, what was flown, marks on it

# Where a value comes from.
SET_POINT: dict[str, Any] = {
    "color": "black",
    "lw": 1.1,
    "ls": (0, (4, 2)),
    "zorder": BEHIND,
    "label": "set-point",
}
ESTIMATE: dict[str, Any] = {"color": SERIES[0], "lw": 1.2, "zorder": FLOWN, "label": "estimate"}
TRUTH: dict[str, Any] = {
    "color": SERIES[4],
    "lw": 1.2,
    "ls": (0, (1, 1)),
    "zorder": MARKS,
    "label": "truth",
}
LIMIT: dict[str, Any] = {"color": "#555555", "lw": 1.0, "ls": (0, (4, 2)), "zorder": BEHIND}
EVENT: dict[str, Any] = {"color": "#888888", "lw": 0.8, "ls": ":", "zorder": 1.0}
PLAN: dict[str, Any] = {
    "color": "#777777",
    "lw": 1.0,
    "ls": (0, (4, 2)),
    "zorder": BEHIND,
    "label": "planned path",
}
WAYPOINT: dict[str, Any] = {
    "color": "#777777",
    "marker": "D",
    "ms": 4.5,
    "ls": "",
    "mfc": "white",
    "zorder": BEHIND,
    "label": "waypoint",
}
FENCE: dict[str, Any] = {
    "color": "#b2182b",
    "lw": 1.3,
    "ls": "-.",
    "zorder": BEHIND,
    "label": "fence",
}
SLOT: dict[str, Any] = {
    "s": 36,
    "facecolors": "white",
    "edgecolors": "#777777",
    "linewidths": 1.2,
    "zorder": BEHIND,
}

_DPI = 110
_MAX_ROWS = 24  # entries in one column of a legend
_MARK_PT, _SLANT = 7.5, 28.0  # letters of an event's name [pt], and their slope [deg]


def load() -> None:
    """Imports what the first figure needs, ahead of it."""
    import matplotlib.backends.backend_agg
    import matplotlib.figure  # noqa: F401


def figure(
    width: float = 10.0, height: float = 6.0, heading: str = "", wide: bool = False
) -> "Figure":
    """An empty figure in this style.

    Args:
        width, height: Its size on a screen [inch].
        heading: Heading of the whole figure; panels have titles of their own.
        wide: Whether it has panels side by side, and on paper both columns of a page.
    """
    import matplotlib as mpl
    from cycler import cycler
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    look = plot_look.current()
    style = {**look.rc, "axes.prop_cycle": cycler(color=look.series)}

    class Styled(Figure):
        """Applies the style to what is made in it, and changes no setting of the process."""

        def add_subplot(self, *args: Any, **kwargs: Any) -> Any:  # as Figure's
            with mpl.rc_context(style):  # type: ignore[arg-type]
                return super().add_subplot(*args, **kwargs)

    made = Styled(figsize=look.size(width, height, wide), layout="constrained")
    FigureCanvasAgg(made)
    if heading and not look.paper:
        made.suptitle(
            heading, fontsize=look.rc["figure.titlesize"], fontweight="bold", parse_math=False
        )  # a run may be called anything
    return made


def vehicle(index: int, n: int = 1) -> dict[str, Any]:
    """Line style of a vehicle, as keyword arguments of plot().

    Args:
        index: Index of the vehicle; 0 is the leader.
        n: Vehicles in the figure; where not all are distinct(n), the followers look alike.
    """
    if plot_look.current().paper:
        return _on_paper(index, n)
    if index == 0:
        return {"color": LEADER, "lw": 1.9 if n > 1 else 1.4, "ls": "-", "zorder": FLOWN + 0.5}
    if n > MAX_COLOURED:
        return {"color": CROWD, "lw": 0.6, "ls": "-", "alpha": 0.5, "zorder": FLOWN}
    turn, place = divmod(index - 1, len(FOLLOWERS))
    return {
        "color": FOLLOWERS[place],
        "lw": 1.2 if n <= 12 else 0.9,
        "ls": LINES[turn % len(LINES)],
        "zorder": FLOWN,
    }


def _on_paper(index: int, n: int) -> dict[str, Any]:
    """As vehicle(), with lines that differ in grey, too."""
    if index == 0:
        return {"color": "#000000", "lw": 1.3 if n > 1 else 1.0, "ls": "-", "zorder": FLOWN + 0.5}
    if not distinct(n):
        return {"color": CROWD, "lw": 0.5, "ls": "-", "alpha": 0.6, "zorder": FLOWN}
    return {"color": series(index), "lw": 1.0, "ls": dashes(index), "zorder": FLOWN}


def distinct(n: int) -> bool:
    """Whether each of n vehicles has a line of its own in the look of now."""
    return n <= plot_look.current().vehicles


def dashes(index: int) -> Any:  # Matplotlib's line styles are texts or tuples
    """Line style of the index-th of several curves: on paper they differ by it as well."""
    return LINES[index % len(LINES)] if plot_look.current().paper else "-"


def rgba(colour: str) -> tuple[float, float, float, float]:
    """Red, green, blue and opacity, 0 to 1, of a colour #rrggbb."""
    red, green, blue = (int(colour[k : k + 2], 16) / 255 for k in (1, 3, 5))
    return red, green, blue, 1.0


def vehicle_color(index: int, n: int = 1) -> str:
    """Colour of a vehicle as #rrggbb, for figures and windows alike; arguments as of vehicle()."""
    return str(vehicle(index, n)["color"])


def series(index: int) -> str:
    """Colour of the index-th of several curves that are no vehicles: systems, axes, runs."""
    colours = plot_look.current().series
    return colours[index % len(colours)]


def panels(
    rows: int, columns: int, width: float, height: float, heading: str = ""
) -> Any:  # the shape of the array of panels is that of the arguments
    """A figure and its panels: (rows, columns) of them, or a row where rows is 1.

    Args:
        rows, columns: Number of panels.
        width, height: Size of the figure [inch].
        heading: As of figure().
    """
    made = figure(width, height, heading)
    axes = made.subplots(rows, columns)
    return made, axes


def title_panels(on: "Figure") -> None:
    """Gives each panel a title: its own, else the quantity of a label such as `speed [m/s]`.

    The unit stays at the axis. Panels with equal axes are maps, which have a title already.
    """
    for axes in on.axes:
        quantity, bracket, unit = axes.get_ylabel().partition(" [")
        if axes.get_title():
            own = axes.get_title()
            axes.set_title("")
            title(axes, own)
        elif axes.get_aspect() != "auto":
            title(axes, axes.get_title(loc="left") or "from above")
        elif bracket and not axes.get_title(loc="left"):
            title(axes, quantity)
            axes.set_ylabel(f"[{unit}")


def title(axes: "Axes", text: str, pad: float | None = None) -> None:
    """Titles a panel, above its left end.

    Args:
        axes: The panel.
        text: The title.
        pad: Distance to the panel [pt]; None: the usual.
    """
    size = plot_look.current().title_size
    axes.set_title(text, loc="left", fontsize=size, fontweight="bold", pad=pad)


def time_axes(
    on: "Figure",
    labels: Sequence[str],
    titles: Sequence[str] = (),
    xlabel: str = "simulated time [s]",
    cell: "SubplotSpec | None" = None,
) -> list["Axes"]:
    """Panels below each other with one time axis, drawn under the lowest only.

    Args:
        on: The figure.
        labels: Labels of the vertical axes, with units; one panel each.
        titles: Titles of the panels.
        xlabel: Label of the time axis, with unit.
        cell: Part of a grid of the figure that the panels take; None: all of it.
    """
    grid = on.add_gridspec(len(labels), 1) if cell is None else cell.subgridspec(len(labels), 1)
    rows: list[Axes] = []
    if plot_look.current().paper:  # quantity and unit stand at the axis, for which there is room
        whole = [label.startswith("[") for label in labels[: len(titles)]]
        labels = [
            f"{titles[k]} {label}" if k < len(whole) and whole[k] else label
            for k, label in enumerate(labels)
        ]
        titles = [("" if own else name) for name, own in zip(titles, whole, strict=True)]
    for k, label in enumerate(labels):
        row = on.add_subplot(grid[k, 0], sharex=rows[0] if rows else None)
        row.set_ylabel(label)
        row.tick_params(labelbottom=k == len(labels) - 1)
        if k < len(titles) and titles[k]:
            title(row, titles[k])
        rows.append(row)
    rows[-1].set_xlabel(xlabel)
    on.align_ylabels(rows)
    return rows


def map_axes(
    on: "Figure",
    cell: "SubplotSpec | None" = None,
    name: str = "from above",
    labels: tuple[str, str] = ("east [m]", "north [m]"),
) -> "Axes":
    """A panel whose axes have the same scale."""
    axes = on.add_subplot(111 if cell is None else cell)
    axes.set(xlabel=labels[0], ylabel=labels[1])
    title(axes, name)
    axes.set_aspect("equal", adjustable="datalim")
    return axes


def space_axes(
    on: "Figure",
    points: Any,  # an array or sequence, converted within
    cell: "SubplotSpec | None" = None,
    name: str = "in space",
) -> Any:  # an Axes3D, which has no types
    """A panel in three dimensions whose axes have the same scale.

    Args:
        on: The figure.
        points: (K, 3) east, north, up [m] that it shows.
        cell: Part of a grid of the figure; None: all of it.
        name: Title of the panel.
    """
    from matplotlib.ticker import MaxNLocator

    axes: Any = on.add_subplot(111 if cell is None else cell, projection="3d")
    points = np.asarray(points, dtype=float).reshape(-1, 3)
    points = points[np.isfinite(points).all(axis=1)]
    low, high = (points.min(axis=0), points.max(axis=0)) if len(points) else (np.zeros(3),) * 2
    reach = np.maximum(high - low, max(1.0, 0.2 * float((high - low).max())))
    middle = (low + high) / 2
    for k, axis in enumerate("xyz"):
        getattr(axes, f"set_{axis}lim")(middle[k] - reach[k] / 2, middle[k] + reach[k] / 2)
        ticks = 2 + round(4 * reach[k] / reach.max())  # a short axis has room for few
        getattr(axes, f"{axis}axis").set_major_locator(MaxNLocator(ticks, steps=[1, 2, 5, 10]))
    axes.set_box_aspect(reach, zoom=0.9)
    axes.set(xlabel="east [m]", ylabel="north [m]", zlabel="up [m]")
    title(axes, name)
    return axes


def logarithmic(axes: "Axes") -> None:
    """A logarithmic vertical axis with the ticks 0.1, 0.2, 0.5, 1, ..."""
    from matplotlib.ticker import LogLocator, NullFormatter

    axes.set_yscale("log")
    low, high = axes.get_ylim()
    subs = (1.0, 2.0, 5.0) if high < 1e3 * max(low, 1e-300) else (1.0,)
    axes.yaxis.set_major_locator(LogLocator(subs=subs))
    axes.yaxis.set_major_formatter("{x:g}")
    axes.yaxis.set_minor_formatter(NullFormatter())


def legend(
    on: Any,  # Figure or Axes, each of which has methods that the other lacks
    below: bool = False,
    of: "Iterable[Axes] | None" = None,
) -> None:
    """A legend outside of the panels, with each label once.

    Args:
        on: A figure, or one panel of it.
        below: Below and in columns, not at the right.
        of: The panels of a figure whose labels count; None: all.
    """
    from matplotlib.figure import Figure
    from matplotlib.transforms import ScaledTranslation

    panels = list(of) if of is not None else list(on.axes) if isinstance(on, Figure) else [on]
    handles: dict[str, Any] = {}
    for panel in panels:
        for handle, label in zip(*panel.get_legend_handles_labels()):
            handles.setdefault(label, handle)
    if not handles:
        return
    look = plot_look.current()
    below = below or look.paper
    how: dict[str, Any] = {
        "fontsize": look.rc["legend.fontsize"],
        "frameon": False,
        "handlelength": 2.4,
    }
    columns = -(-len(handles) // _MAX_ROWS)
    if below:
        entry = max(map(len, handles)) * 0.075 + 0.6  # its width [inch]
        room = (
            on.get_figwidth()
            if panels != [on]
            else (on.get_position().width * on.get_figure().get_figwidth())
        )
        columns = max(1, min(len(handles), int(room / entry)))
    if panels != [on]:
        how["loc"] = "outside lower center" if below else "outside right upper"
    elif below:
        down = ScaledTranslation(0.0, -0.42, on.get_figure().dpi_scale_trans)  # below the label
        how |= {
            "loc": "upper center",
            "bbox_to_anchor": (0.5, 0.0),
            "bbox_transform": on.transAxes + down,
            "borderaxespad": 0.0,
        }
    else:
        how |= {"loc": "upper left", "bbox_to_anchor": (1.0, 1.02), "borderaxespad": 0.3}
    on.legend(list(handles.values()), list(handles), ncols=columns, **how)


def mark_events(
    rows: Sequence[Any],  # Axes, whose figure Matplotlib calls optional
    marks: Sequence[tuple[float, str]],
) -> float:
    """Marks events on time axes: a line through all panels, its name above the first.

    An event whose name would overlap an earlier one is left out; on paper all are.

    Args:
        rows: Panels with one time axis, whose limits are set.
        marks: Times [s] and names.

    Returns:
        The height that the names take above the first panel [pt].
    """
    if plot_look.current().paper:
        return 0.0
    begin, end = rows[0].get_xlim()
    width = rows[0].get_figure().get_figwidth()
    free = begin
    height = 0.0
    named: dict[float, str] = {}
    for t, name in sorted(marks):
        named[t] = f"{named[t]}, {name}" if t in named else name
    for t, name in named.items():
        if not free <= t <= end:
            continue
        for row in rows:
            row.axvline(t, **EVENT)
        rows[0].annotate(
            shown(name),
            (t, 1.0),
            xycoords=("data", "axes fraction"),
            xytext=(1, 2),
            textcoords="offset points",
            rotation=_SLANT,
            fontsize=_MARK_PT,
            color="#555555",
            annotation_clip=False,
            parse_math=False,
        )
        free = t + (end - begin) * 0.25 / width
        height = max(height, len(shown(name)) * 0.5 * _MARK_PT * float(np.sin(np.radians(_SLANT))))
    return height + 10.0 if height else 0.0


def save(
    made: "Figure", path: Path | str, dpi: int = _DPI, error: type[XtdroneError] = FileError
) -> Path:
    """Saves a figure under a name that ends in .png, .pdf or .svg; returns its path.

    For a paper it is a PDF whatever the name, with its fonts, and its data are beside it as CSV.

    Raises:
        XtdroneError: It cannot be written, or somebody else's file is there.
    """
    import matplotlib as mpl

    if plot_look.current().paper:
        path = Path(path).with_suffix(".pdf")
        plot_data.save(made, path.with_suffix(".csv"), error)
    path = outputs.picture(path, error)
    # The same names at each repetition; fonts as outlines that can be edited.
    with mpl.rc_context({"svg.hashsalt": outputs.MARK, "pdf.fonttype": 42}):
        outputs.save_figure(made, path, dpi, error)
    return path


def save_pages(
    made: Iterable["Figure"], path: Path | str, error: type[XtdroneError] = FileError
) -> Path:
    """Saves figures as the pages of one PDF file; returns its path.

    Raises:
        XtdroneError: As save().
    """
    from matplotlib.backends.backend_pdf import PdfPages

    path = outputs.picture(path, error)
    try:
        with PdfPages(path, metadata={"Creator": outputs.MARK, "CreationDate": None}) as pages:
            for page in made:
                pages.savefig(page)
    except OSError as failed:
        raise outputs.cannot_write(path, failed, error) from failed
    return path
