"""The window of `xtdrone plot --live`: panels below each other with one time axis."""

from collections.abc import Sequence

import numpy as np
import pyqtgraph as pg
from PySide6 import QtCore

from xtdrone_core import plot_style
from xtdrone_core.windows import plots

from . import signals
from .feed import Feed

_SIZE = (1100, 760)  # [pixels]
_AXIS_WIDTH = 70  # space for the numbers at the left [pixels]
_MIN_RANGE = 0.2  # vertical axis: noise at rest is not worth a look
_MAX_SMOOTH = 12  # vehicles up to which curves have smooth edges
_MAX_NAMED = 30  # vehicles up to which their names are listed
_STYLES = (
    QtCore.Qt.PenStyle.SolidLine,
    QtCore.Qt.PenStyle.DashLine,
    QtCore.Qt.PenStyle.DotLine,
)  # one per signal of a panel


class Window(pg.GraphicsLayoutWidget):  # type: ignore[misc]  # pyqtgraph has no annotations
    """Plots the signals of a feed, with the vehicles' names at the right."""

    def __init__(
        self, feed: Feed, panels: Sequence[Sequence[str]], vehicles: Sequence[int], window_s: float
    ) -> None:
        """Makes the panels; update_plots() fills them.

        Args:
            feed: The states of the simulation.
            panels: Names of signals.TRUTH, panel by panel.
            vehicles: Indices of the vehicles that are shown.
            window_s: Simulated time that is shown [s].
        """
        plots.set_style(antialias=len(vehicles) <= _MAX_SMOOTH)
        super().__init__(title="xtdrone plot --live")
        self._feed, self._window_s = feed, window_s
        self.resize(*_SIZE)
        self._label = self.addLabel("", row=0, col=0, justify="left")
        self._plots, self._curves = [], {}
        for row, panel in enumerate(panels):
            label = f"{', '.join(panel)} [{signals.TRUTH[panel[0]]}]"
            plot = plots.add_panel(self, row + 1, 0, label, axis_width=_AXIS_WIDTH)
            plot.getViewBox().setLimits(minYRange=_MIN_RANGE)
            plot.setMouseEnabled(x=False, y=True)
            for k, name in enumerate(panel):
                for i in vehicles:
                    pen = pg.mkPen(
                        plot_style.vehicle_color(i, len(feed.names)),
                        width=2.2 if i == 0 else 1.4,
                        style=_STYLES[k % len(_STYLES)],
                    )
                    self._curves[row, name, i] = plot.plot(pen=pen)
            self._plots.append(plot)
        plots.share_time(self._plots, "simulated time [s]")
        self._add_names(vehicles)

    def _add_names(self, vehicles: Sequence[int]) -> None:
        """Writes the vehicles in their colours beside the panels."""
        lines = [
            f"<span style='color:{plot_style.vehicle_color(i, len(self._feed.names))}'>"
            f"&#9644; {self._feed.names[i]}</span>"
            for i in vehicles[:_MAX_NAMED]
        ]
        if len(vehicles) > _MAX_NAMED:
            lines.append(f"and {len(vehicles) - _MAX_NAMED} more")
        names = pg.LabelItem("<br>".join(lines), justify="left")
        self.addItem(names, row=1, col=1, rowspan=len(self._plots))

    def update_plots(self) -> np.ndarray:
        """Draws what has come; returns the times that are shown [s]."""
        t_s, table = self._feed.states()
        if len(t_s):
            values = signals.of_state(table)
            for (_, name, i), curve in self._curves.items():
                curve.setData(t_s, values[name][:, i])
            self._plots[0].setXRange(
                max(t_s[0], t_s[-1] - self._window_s), max(t_s[-1], t_s[0] + 1.0), padding=0
            )
        text = f"{t_s[-1]:.1f} s" if len(t_s) else "waiting for the simulation"
        self._label.setText(
            f"{text}{'; ended: ' if self._feed.ended else ''}{self._feed.ended}"
            "&nbsp;&nbsp; wheel: scale, right button: menu, A: all"
        )
        return t_s
