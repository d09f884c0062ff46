"""The best laps of some runs, side by side."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from xtdrone_core import Scenario
from xtdrone_core.errors import XtdroneError, shown
from xtdrone_core.racing.ghost import Ghost, read_ghost
from xtdrone_core.racing.track import Track, read_track
from xtdrone_core.runs import run_folder

from .race_figure import draw_gates

if TYPE_CHECKING:  # slow to import
    from matplotlib.figure import Figure

MAX_RUNS = 8
_DOTS_S = 1.0  # between two dots on a path in the figure [s]


class Entry(NamedTuple):
    """The best lap of a run."""

    pilot: str  # as it is called in the table
    lap: Ghost


def read_entries(given: Sequence[str]) -> tuple[list[Entry], Track]:
    """Returns the best laps of runs, the quickest first, and their track.

    Args:
        given: Runs as run_folder.find() takes them, each with PILOT= before it or not.

    Raises:
        XtdroneError: Too many, a pilot twice, no such run, or one without a whole lap of the
            track of the first.
    """
    if len(given) > MAX_RUNS:
        raise XtdroneError(f"{len(given)} runs are not allowed: give up to {MAX_RUNS}")
    pairs = [_split(each) for each in given]
    pilots = [pilot for pilot, _ in pairs]
    if twice := next((pilot for pilot in pilots if pilots.count(pilot) > 1), None):
        raise XtdroneError(f"pilot '{shown(twice)}' is given twice: give each run its own PILOT=")
    first = pairs[0][1]
    name = Scenario.load(run_folder.find(first) / "scenario.yaml").track
    if not name:
        raise XtdroneError(
            f"run '{shown(first)}' has no track: give runs of xtdrone fly race, or of any flight "
            "with --track NAME"
        )
    track = read_track(name)
    entries = [Entry(pilot, read_ghost(run, track)) for pilot, run in pairs]
    return sorted(entries, key=lambda entry: float(entry.lap.splits[-1])), track


def _split(given: str) -> tuple[str, str]:
    """Returns pilot and run; a path may have an equals sign behind its first slash."""
    pilot, sign, run = given.partition("=")
    if not sign or "/" in pilot:
        return given, given
    if not pilot or not run:
        raise XtdroneError(f"'{shown(given)}' is not allowed: give PILOT=RUN or RUN")
    return pilot, run


def lines(entries: Sequence[Entry]) -> list[str]:
    """Returns the lines of the table: splits, and in brackets how far each is behind the best."""
    best = entries[0].lap.splits
    count = len(best)
    head = ["pilot", "vehicle", *(f"gate {k % count + 1}" for k in range(1, count + 1))]
    rows = [head]
    for pilot, lap in entries:
        gaps = lap.splits - best
        rows.append(
            [pilot, lap.type, *(f"{s:.2f} ({gap:+.2f})" for s, gap in zip(lap.splits, gaps))]
        )
    widths = [max(map(len, column)) for column in zip(*rows)]
    return [
        "  ".join(
            text.ljust(width) if k < 2 else text.rjust(width)
            for k, (text, width) in enumerate(zip(row, widths))
        ).rstrip()
        for row in rows
    ]


def draw(entries: Sequence[Entry], track: Track) -> "Figure":
    """Returns a figure of the laps from above, with a dot each second, and of the gaps at gates."""
    from xtdrone_core import plot_style

    figure = plot_style.figure(13, 6, f"best laps on {track.name}")
    grid = figure.add_gridspec(1, 2, width_ratios=(2, 1))
    above = plot_style.map_axes(figure, grid[0])
    above.set_adjustable("box")
    gaps = figure.add_subplot(grid[1])
    best = entries[0].lap.splits
    for k, (pilot, lap) in enumerate(entries):
        colour = plot_style.series(k)
        above.plot(lap.pose[:, 0], lap.pose[:, 1], color=colour, label=pilot)
        dots = np.searchsorted(lap.t, np.arange(0.0, lap.splits[-1], _DOTS_S))
        above.plot(*lap.pose[np.minimum(dots, len(lap.t) - 1), :2].T, "o", color=colour, ms=4)
        gaps.plot(np.arange(2, len(best) + 2), lap.splits - best, "o-", color=colour, ms=4)
    draw_gates(above, track)
    gaps.set_xticks(
        np.arange(2, len(best) + 2), [str(k % len(best) + 1) for k in range(1, len(best) + 1)]
    )
    gaps.set_xlabel("gate")
    gaps.set_ylabel("behind the best [s]")
    plot_style.legend(figure, below=True, of=[above])
    return figure
