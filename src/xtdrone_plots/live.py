"""A window that plots true signals of a running simulation.

A thread reads the ticks of the control socket as they come and takes no part in the barrier, so
that neither a slow display nor a window that is dragged holds the simulation up.
"""

import os
import signal
import threading
from collections import deque
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from xtdrone_core import XtdroneError, outputs, plot_style
from xtdrone_core.errors import ControlError, unknown_name
from xtdrone_core.runs.control_link import TICK_US, ControlClient

from . import signals

PERIOD_MS = 100  # between two drawings of the window [ms]
_MAX_POINTS = 3000  # of a curve
_SIZE = (1100, 760)


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
        os.environ["QT_QPA_PLATFORM"] = "offscreen"
    elif not any(
        os.environ.get(name) for name in ("DISPLAY", "WAYLAND_DISPLAY", "QT_QPA_PLATFORM")
    ):
        raise XtdroneError("there is no display: give --png FILE, which needs none")
    feed = Feed(window_s, instance)
    for name in vehicles:
        if name not in feed.names:
            raise XtdroneError(unknown_name("vehicle", name, feed.names))
    try:
        import pyqtgraph as pg
        from pyqtgraph.Qt import QtCore
    except ImportError as error:
        raise XtdroneError(
            f"the window needs pyqtgraph and PySide6-Essentials ({error}): pip "
            "install 'xtdrone[view]'"
        ) from error
    application = pg.mkQApp("xtdrone plot")
    window = _Window(
        pg,
        feed,
        panels,
        [i for i, name in enumerate(feed.names) if not vehicles or name in vehicles],
        window_s,
    )
    signal.signal(signal.SIGINT, signal.SIG_DFL)

    def update() -> None:
        t_s = window.update()
        if png is not None and len(t_s) and (t_s[-1] - t_s[0] >= 0.97 * window_s or feed.ended):
            image = window.widget.grab().toImage()
            image.setText("Software", outputs.MARK)
            image.save(str(png))
            application.quit()
        elif feed.ended and png is not None:
            application.quit()

    timer = QtCore.QTimer(interval=PERIOD_MS)
    timer.timeout.connect(update)
    timer.start()
    if png is None:
        window.widget.show()
    application.exec()
    feed.close()
    if png is not None and not Path(png).exists():
        raise XtdroneError(f"there was nothing to draw: {feed.ended}")


class _Window:
    """Panels below each other with one time axis, and the vehicles' names at the right."""

    def __init__(
        self,
        pg: Any,
        feed: Feed,
        panels: Sequence[Sequence[str]],
        index: Sequence[int],
        window_s: float,
    ):
        """Of a feed; index has the vehicles that are shown."""
        self._feed, self._panels, self._index, self._window = feed, panels, index, window_s
        pg.setConfigOptions(background="w", foreground="k", antialias=len(index) <= 12)
        self.widget = pg.GraphicsLayoutWidget(title="xtdrone plot --live")
        self.widget.resize(*_SIZE)
        self._label = self.widget.addLabel("", row=0, col=0, justify="left")
        self._plots, self._curves = [], {}
        styles = (
            pg.QtCore.Qt.PenStyle.SolidLine,
            pg.QtCore.Qt.PenStyle.DashLine,
            pg.QtCore.Qt.PenStyle.DotLine,
        )
        for row, panel in enumerate(panels):
            plot = self.widget.addPlot(row=row + 1, col=0)
            plot.setLabel("left", f"{', '.join(panel)} [{signals.TRUTH[panel[0]]}]")
            plot.getAxis("left").setWidth(70)
            plot.getAxis("left").enableAutoSIPrefix(False)
            plot.getViewBox().setLimits(minYRange=0.2)  # noise at rest is not worth a look
            plot.showGrid(x=True, y=True, alpha=0.15)
            plot.setMouseEnabled(x=False, y=True)
            plot.hideButtons()
            if self._plots:
                plot.setXLink(self._plots[0])
            for k, name in enumerate(panel):
                for i in index:
                    style = plot_style.vehicle(i, len(feed.names))
                    pen = pg.mkPen(
                        style["color"], width=2.2 if i == 0 else 1.4, style=styles[k % len(styles)]
                    )
                    self._curves[row, name, i] = plot.plot(pen=pen)
            self._plots.append(plot)
        self._plots[-1].setLabel("bottom", "simulated time [s]")
        self._add_names(pg)

    def _add_names(self, pg: Any) -> None:
        """The vehicles in their colours, beside the panels."""
        shown = self._index[:30]
        lines = [
            f"<span style='color:{plot_style.vehicle_color(i, len(self._feed.names))}'>"
            f"&#9644; {self._feed.names[i]}</span>"
            for i in shown
        ]
        if len(self._index) > len(shown):
            lines.append(f"and {len(self._index) - len(shown)} more")
        names = pg.LabelItem("<br>".join(lines), justify="left")
        self.widget.addItem(names, row=1, col=1, rowspan=len(self._plots))

    def update(self) -> np.ndarray:
        """Draws what has come; returns the times that are shown [s]."""
        t_s, table = self._feed.states()
        if len(t_s):
            found = signals.of_state(table)
            for (_, name, i), curve in self._curves.items():
                curve.setData(t_s, found[name][:, i])
            self._plots[0].setXRange(
                max(t_s[0], t_s[-1] - self._window), max(t_s[-1], t_s[0] + 1.0), padding=0
            )
        text = f"{t_s[-1]:.1f} s" if len(t_s) else "waiting for the simulation"
        self._label.setText(
            f"{text}{'; ended: ' if self._feed.ended else ''}{self._feed.ended}"
            "&nbsp;&nbsp; wheel: scale, right button: menu, A: all"
        )
        return t_s
