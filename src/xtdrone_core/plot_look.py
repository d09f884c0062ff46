"""The looks of a figure: for a screen, and for a column of a paper.

    with plot_look.using("paper"):
        plot_style.save(draw(run), "position.png")  # position.pdf, and position.csv beside it

A figure on paper is as wide as a column, in letters of 8 pt, has no heading, since the paper has a
caption, and lines that differ without colour. Where its curves would be more than a reader can tell
apart, followers look alike.
"""

import argparse
import contextlib
from collections.abc import Iterator, Mapping
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

SERIES = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000")  # Okabe, Ito
LINES = (
    "-",
    (0, (5, 2)),
    (0, (1, 1.5)),
    (0, (5, 2, 1, 2)),
)  # line styles of further curves of one colour, or of one shade of grey

_SCREEN_RC = {
    "font.size": 9.5,
    "axes.labelsize": 9.5,
    "xtick.labelsize": 8.5,
    "ytick.labelsize": 8.5,
    "legend.fontsize": 8.5,
    "figure.titlesize": 11.5,
    "axes.edgecolor": "#555555",
    "axes.linewidth": 0.8,
    "xtick.color": "#333333",
    "ytick.color": "#333333",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": "#dddddd",
    "grid.linewidth": 0.7,
    "lines.linewidth": 1.3,
    "lines.markersize": 4.5,
    "axes.formatter.useoffset": False,
}
_PAPER_RC = {
    **_SCREEN_RC,
    "font.size": 8.0,
    "axes.labelsize": 8.0,
    "xtick.labelsize": 7.0,
    "ytick.labelsize": 7.0,
    "legend.fontsize": 8.0,
    "axes.linewidth": 0.6,
    "xtick.major.width": 0.6,
    "ytick.major.width": 0.6,
    "grid.linewidth": 0.4,
    "lines.markersize": 3.0,
}


@dataclass(frozen=True)
class Look:
    """How figures look.

    Attributes:
        rc: Matplotlib's parameters.
        title_size: Letters of a panel's title [pt].
        paper: Whether it is for a paper: no headings, no names of events, data beside the figure.
        vehicles: Vehicles up to which each has a line of its own.
        series: Colours of curves that are no vehicles.
    """

    rc: Mapping[str, Any]
    title_size: float
    paper: bool
    vehicles: int
    series: tuple[str, ...] = SERIES

    def size(self, width: float, height: float, wide: bool) -> tuple[float, float]:
        """The size [inch] of a figure that is meant to be so large on a screen.

        Args:
            width, height: Its size on a screen [inch].
            wide: Whether it has panels side by side, and takes both columns of a page.
        """
        if not self.paper:
            return width, height
        column = 7.16 if wide else 3.5  # of IEEE's pages
        return column, column * min(max(1.3 * height / width, 0.5), 1.6)


# Further followers have the ten colours in four line styles.
LOOKS = {
    "screen": Look(_SCREEN_RC, 10.0, False, 37),
    "paper": Look(
        _PAPER_RC,
        8.0,
        True,
        5,
        ("#000000", "#d55e00", "#56b4e9", "#0072b2", "#e69f00", "#009e73", "#cc79a7"),
    ),
}
_CURRENT: ContextVar[str] = ContextVar("look", default="screen")


def current() -> Look:
    """The look of what is drawn now."""
    return LOOKS[_CURRENT.get()]


@contextlib.contextmanager
def using(name: str) -> Iterator[None]:
    """Figures that are made and saved within have this look, a name of LOOKS."""
    before = _CURRENT.set(name)
    try:
        yield
    finally:
        _CURRENT.reset(before)


def add_argument(parser: argparse.ArgumentParser) -> None:
    """Adds --style to a subcommand that draws: using(args.style) is for its figures."""
    parser.add_argument(
        "--style",
        choices=tuple(LOOKS),
        default="screen",
        help="paper: PDF as wide as a column, 8 pt, readable in grey, and the data beside it as "
        "CSV (screen)",
    )
