"""Opens the window that plots true signals of a running simulation, or draws it into a file."""

from collections.abc import Sequence
from pathlib import Path

from xtdrone_core import XtdroneError, outputs
from xtdrone_core.errors import unknown_name
from xtdrone_core.windows import display

from .feed import Feed

PERIOD_MS = 100  # time between two drawings of the window [ms]
_FULL = 0.97  # fraction of its time that a picture must have


def show(
    panels: Sequence[Sequence[str]],
    vehicles: Sequence[str] = (),
    window_s: float = 60.0,
    instance: int | None = None,
    png: Path | str | None = None,
) -> None:
    """Shows the window until it is closed.

    Args:
        panels: Names of signals.TRUTH, panel by panel.
        vehicles: Names of those that are shown; empty: all.
        window_s: Simulated time that it shows [s].
        instance: Instance of the simulation; None: the environment's.
        png: Instead of a window, this picture after that time, or at the simulation's end.

    Raises:
        ControlError: No simulation is running.
        XtdroneError: pyqtgraph or a display is missing, or an unknown vehicle.
    """
    if png is not None:
        outputs.picture(png)
        display.draw_offscreen()
    else:
        display.require(XtdroneError, "give --png FILE, which needs none, or set DISPLAY")
    feed = Feed(window_s, instance)
    for name in vehicles:
        if name not in feed.names:
            raise XtdroneError(unknown_name("vehicle", name, feed.names))
    display.require_qt(XtdroneError, "pyqtgraph", window=png is None)
    from xtdrone_core.windows import application, pictures

    from .live_window import Window

    app = application.application()
    shown = [i for i, name in enumerate(feed.names) if not vehicles or name in vehicles]
    window = Window(feed, panels, shown, window_s)

    def update() -> None:
        t_s = window.update_plots()
        if png is None:
            return
        if len(t_s) and (t_s[-1] - t_s[0] >= _FULL * window_s or feed.ended):
            pictures.save(window, png, XtdroneError)
            app.quit()
        elif feed.ended:
            app.quit()

    timer = application.repeat(update, PERIOD_MS)
    application.run(window if png is None else None)
    timer.stop()
    feed.close()
    if png is not None and not Path(png).exists():
        raise XtdroneError(f"there was nothing to draw: {feed.ended}")
