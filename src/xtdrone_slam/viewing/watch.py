"""Opens the window of a run, or draws it once into a file."""

from pathlib import Path

from xtdrone_core import outputs
from xtdrone_core.windows import display

from ..errors import SlamError
from .progress import runs

PERIOD_MS = 200  # time between two updates [ms]


def show(folder: Path, png: Path | None = None) -> None:
    """Shows the window until it is closed, or draws it once into a file.

    Args:
        folder: Folder of a run, or one that contains runs: the latest is shown.
        png: File to write instead; needs no display.

    Raises:
        SlamError: A package is missing, there is no run yet to draw, or no display.
    """
    if png is not None:
        outputs.picture(png, SlamError)
        display.draw_offscreen()
        if not runs(folder):
            raise SlamError(
                f"'{folder}' holds no run of a SLAM system: give a run of xtdrone slam run or "
                "campaign"
            )
    else:
        display.require(SlamError, "give --png FILE, which needs none, or set DISPLAY")
    display.require_qt(SlamError, "pyqtgraph", window=png is None)
    from xtdrone_core.windows import application

    from .window import Window

    application.application()
    window = Window(folder)
    window.update_plots()
    if png is not None:
        window.save(png)
        return
    timer = application.repeat(window.update_plots, PERIOD_MS)
    application.run(window)
    timer.stop()
