"""The figure that each recorded flight ends with."""

import sys
from pathlib import Path

from xtdrone_core import XtdroneError, plot_style

from . import figures
from .run import Run


def draw_overview(folder: Path) -> None:
    """Draws the overview of a flight into its run folder, or prints why there is none."""
    try:
        plot_style.save(figures.overview(Run(folder)), folder / "plots" / "flight.png")
    except (OSError, XtdroneError) as error:
        print(f"warning: no plot of the flight: {error}", file=sys.stderr)
