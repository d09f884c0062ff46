"""A window that plots true signals of a running simulation.

A thread reads the ticks of the control socket as they come and takes no part in the barrier, so
that neither a slow display nor a window that is dragged holds the simulation up.
"""

import threading
from collections import deque
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from xtdrone_core import XtdroneError, outputs
from xtdrone_core.errors import ControlError, unknown_name
from xtdrone_core.runs.control_link import TICK_US, ControlClient
from xtdrone_core.windows import display

PERIOD_MS = 100  # between two drawings of the window [ms]
_MAX_POINTS = 3000  # of a curve
_FULL = 0.97  # fraction of the time of a picture that must be there


class Feed:
    """The last states of a running simulation.

    Attributes:
        names: Of its vehicles.
        ended: Why no more states come; empty while they do.
    """

    def __init__(self, window_s: float, instance: int | None = None):
        """Subscribes to a simulation.

        Args:
            window_s: Simulated time that is kept [s].
            instance: Of the simulation; None: the environment's.

        Raises:
            ControlError: None is running.
        """
        self._client = ControlClient(instance, timeout=3600.0)
        self.names: list[str] = self._client.request("status")["vehicles"]
        self._client.request("subscribe")
        ticks = window_s * 1e6 / TICK_US
        self._every = max(1, int(ticks / _MAX_POINTS))
        self._rows: deque[tuple[int, np.ndarray]] = deque(maxlen=int(ticks / self._every) + 1)
        self.ended = ""
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def _read(self) -> None:
        count = 0
        try:
            while True:
                t_us, table = self._client.next_tick()
                if self._rows and t_us < self._rows[-1][0]:  # an earlier state was loaded
                    self._rows.clear()
                if count % self._every == 0:
                    self._rows.append((t_us, table))
                count += 1
        except (ControlError, OSError, ValueError) as error:
            self.ended = str(error) or "the simulation has ended"

    def states(self) -> tuple[np.ndarray, np.ndarray]:
        """Times (K,) [s] and states (K, N, 13) so far."""
        rows = list(self._rows)
        if not rows:
            return np.zeros(0), np.zeros((0, len(self.names), 13))
        return np.array([t_us for t_us, _ in rows]) * 1e-6, np.stack([table for _, table in rows])

    def close(self) -> None:
        """Ends the connection."""
        self._client.close()


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
        instance: Of the simulation; None: the environment's.
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
