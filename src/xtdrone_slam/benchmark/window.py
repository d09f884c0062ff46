"""The window of `xtdrone slam watch`; imported only where there is Qt."""

from pathlib import Path
from typing import Any

import numpy as np
import pyqtgraph as pg
from pyqtgraph.Qt import QtCore

from xtdrone_core import outputs, plot_style

from ..errors import SlamError
from .watch import RunView, runs

KEYS = {
    "F": "follow the vehicle",
    "A": "show the whole path",
    "Space": "pause",
    "Left, Right": "earlier, later run",
    "P": "picture into the run folder",
    "Q": "close",
}
_SIZE = (1280, 820)
_TRUTH, _ESTIMATE, _LOST = "#000000", plot_style.SERIES[0], plot_style.SERIES[1]
_AROUND_M = 3.0  # half the width of the map that follows the vehicle [m]
_PANELS = (
    ("error", "position error", "m", plot_style.SERIES[0]),
    ("features", "features", "number", plot_style.SERIES[3]),
    ("latency", "latency of an answer", "ms", plot_style.SERIES[2]),
    ("cpu", "CPU, mean of 1 s", "% of a core", plot_style.SERIES[1]),
    ("memory", "memory, mean of 1 s", "MiB", plot_style.SERIES[4]),
)
_LEGEND = (
    (_TRUTH, "&#9476;&#9476;&#9476;", "truth"),
    (_ESTIMATE, "&#9473;&#9473;&#9473;", "estimate, aligned to the truth"),
    (_TRUTH, "&#9675;", "start"),
    (_ESTIMATE, "&#9679;", "now"),
    (_LOST, "&#215;", "answer without a pose"),
    ("#777777", "&#9476;&#9476;&#9476;", "period of the camera"),
)


def make_window(folder: Path) -> "Window":
    """A window on a run, or on the latest below a folder."""
    pg.setConfigOptions(background="w", foreground="k", antialias=True)
    return Window(folder)


class Window(pg.GraphicsLayoutWidget):
    """Map and height at the left, panels with a common time axis at the right."""

    def __init__(self, folder: Path):
        """folder: of a run, or one that contains runs."""
        super().__init__(title="xtdrone slam watch")
        self.resize(*_SIZE)
        self._folder, self._run, self._chosen = Path(folder), None, None
        self._follows = self._paused = False
        layout = self.ci.layout
        self._title = self.addLabel(
            "no run yet", row=0, col=0, colspan=2, justify="left", size="11pt", bold=True
        )
        self._map = self._add_map()
        self._height = self._panel(5, 0, "height", "m")
        self._height.setLabel("bottom", "time of the flight [s]")
        self._panels = {
            name: self._panel(row, 1, text, unit)
            for row, (name, text, unit, _) in enumerate(_PANELS, 1)
        }
        self._link()
        self._curves = self._add_curves()
        self.addLabel(
            "&nbsp;&nbsp; ".join(
                f"<span style='color:{color}'>{sign}</span> {text}" for color, sign, text in _LEGEND
            ),
            row=6,
            col=0,
            colspan=2,
            justify="left",
        )
        self.addLabel(
            "&nbsp;&nbsp; ".join(f"<b>{key}</b> {text}" for key, text in KEYS.items())
            + "&nbsp;&nbsp; <b>mouse</b> wheel: zoom, left: move, right: scale, menu",
            row=7,
            col=0,
            colspan=2,
            justify="left",
            color="#555555",
        )
        for column, share in ((0, 5), (1, 4)):
            layout.setColumnStretchFactor(column, share)
        for row in range(1, 6):
            layout.setRowStretchFactor(row, 1)

    def update_plots(self) -> None:
        """Reads the new data and redraws."""
        found = runs(self._folder)
        if not found or self._paused:
            return
        path = self._chosen or found[-1]
        if self._run is None or self._run.folder != path:
            self._run = RunView(path)
        run, frames, paths = self._run, self._run.frames(), self._run.paths()
        truth, guess, usage = paths.truth, paths.estimate, run.usage(frames)
        begin = truth[0, 0] if len(truth) else frames[:1, 0].sum()
        self._set("truth", truth[:, 1], truth[:, 2])
        self._set("estimate", guess[:, 1], guess[:, 2])
        self._set("start", truth[:1, 1], truth[:1, 2])
        self._set("now", guess[-1:, 1], guess[-1:, 2])
        self._set("true height", truth[:, 0] - begin, truth[:, 3])
        self._set("height", guess[:, 0] - begin, guess[:, 3])
        self._set("error", guess[:, 0] - begin, paths.errors)
        self._set("features", frames[:, 0] - begin, frames[:, 3])
        self._set("latency", frames[:, 0] - begin, frames[:, 1])
        self._set("cpu", usage[:, 0] - begin, usage[:, 1])
        self._set("memory", usage[:, 0] - begin, usage[:, 2])
        lost = frames[frames[:, 2] > 0, 0] - begin
        self._set("lost", lost, np.zeros(len(lost)))
        if len(frames) > 1:
            self._camera_period.setValue(1e3 * float(np.median(np.diff(frames[:, 0]))))
        last = max(frames[-1:, 0].sum(), truth[-1:, 0].sum() if run.finished else 0.0) - begin
        self._panels["error"].setXRange(0.0, max(last, 1.0), padding=0.02)
        if self._follows and len(guess):
            x, y = guess[-1, 1:3]
            self._map.setRange(
                xRange=(x - _AROUND_M, x + _AROUND_M),
                yRange=(y - _AROUND_M, y + _AROUND_M),
                padding=0,
            )
        self._title.setText(_headline(run, frames, paths))

    def save(self, path: Path) -> None:
        """Draws the window into a picture.

        Raises:
            SlamError: It cannot be written.
        """
        image = self.grab().toImage()
        image.setText("Software", outputs.MARK)
        if not image.save(str(outputs.picture(path, SlamError))):
            raise SlamError(
                f"cannot write '{path}': give a name that ends in .png, in a folder "
                "that can be written"
            )

    def keyPressEvent(self, event: Any) -> None:
        """One of KEYS."""
        key, keys = event.key(), QtCore.Qt.Key
        if key == keys.Key_Q:
            self.close()
        elif key in (keys.Key_F, keys.Key_A):
            self._follows = key == keys.Key_F
            if not self._follows:
                self._map.autoRange()
        elif key == keys.Key_Space:
            self._paused = not self._paused
        elif key in (keys.Key_Left, keys.Key_Right):
            self._choose(1 if key == keys.Key_Right else -1)
        elif key == keys.Key_P and self._run is not None:
            self.save(self._run.folder / "watch.png")
        else:
            super().keyPressEvent(event)
            return
        self.update_plots()

    def _choose(self, step):
        """Shows the run before or after the one that is shown; the last one is followed by new."""
        found = runs(self._folder)
        if self._run is None or not found:
            return
        place = found.index(self._run.folder) + step if self._run.folder in found else -1
        place = min(max(place, 0), len(found) - 1)
        self._chosen = None if place == len(found) - 1 else found[place]
        self._map.enableAutoRange()

    def _add_map(self):
        plot = self._panel(1, 0, "path from above", "", rows=4)
        plot.setAspectLocked(True)
        plot.setLabel("bottom", "x, east [m]")
        plot.setLabel("left", "y, north [m]")
        return plot

    def _panel(self, row, column, title, unit, rows=1):
        plot = self.addPlot(row=row, col=column, rowspan=rows)
        plot.setTitle(f"<b>{title}</b>", size="9pt", justify="left")
        plot.setLabel("left", f"[{unit}]")
        plot.getAxis("left").setWidth(58)
        for side in ("left", "bottom"):
            plot.getAxis(side).enableAutoSIPrefix(False)
        plot.showGrid(x=True, y=True, alpha=0.15)
        plot.hideButtons()
        return plot

    def _link(self):
        """One time axis for the panels at the right, with its numbers under the lowest."""
        first, *others = self._panels.values()
        for plot in others:
            plot.setXLink(first)
        for plot in (first, *others[:-1]):
            plot.getAxis("bottom").setStyle(showValues=False)
        others[-1].setLabel("bottom", "time of the flight [s]")
        for name, least in (
            ("error", 0.1),
            ("features", 50.0),
            ("latency", 50.0),
            ("cpu", 50.0),
            ("memory", 50.0),
        ):
            self._panels[name].getViewBox().setLimits(yMin=0.0)
            self._panels[name].plot(
                [0.0, 0.0],
                [0.0, least],
                pen=None,
                symbol="o",
                symbolSize=1,
                symbolPen=None,
                symbolBrush=None,
            )  # keeps 0 in the range

    def _add_curves(self):
        dashed = pg.mkPen(_TRUTH, width=1.3, style=QtCore.Qt.PenStyle.DashLine)
        solid = pg.mkPen(_ESTIMATE, width=2)
        curves = {
            "truth": self._map.plot(pen=dashed),
            "estimate": self._map.plot(pen=solid),
            "true height": self._height.plot(pen=dashed),
            "height": self._height.plot(pen=solid),
        }
        for name, symbol, color, brush in (
            ("start", "o", _TRUTH, "w"),
            ("now", "o", _ESTIMATE, _ESTIMATE),
        ):
            curves[name] = self._map.plot(
                pen=None, symbol=symbol, symbolPen=color, symbolBrush=brush, symbolSize=10
            )
        for name, _, _, color in _PANELS:
            curves[name] = self._panels[name].plot(pen=pg.mkPen(color, width=1.6))
        curves["lost"] = self._panels["features"].plot(
            pen=None, symbol="x", symbolPen=_LOST, symbolBrush=_LOST, symbolSize=8
        )
        self._camera_period = pg.InfiniteLine(
            angle=0, pen=pg.mkPen("#777777", width=1.2, style=QtCore.Qt.PenStyle.DashLine)
        )
        self._panels["latency"].addItem(self._camera_period)
        return curves

    def _set(self, name, x, y):
        self._curves[name].setData(np.asarray(x), np.asarray(y))


def _headline(run, frames, paths):
    """What is shown, how far it is, and its figures so far."""
    text = (
        f"{run.title}: {'ended' if run.finished else 'running'}, {len(frames)} answers, "
        f"{int(frames[:, 2].sum())} without a pose"
    )
    if len(paths.errors):
        text += f"; error {paths.rmse:.3f} m RMS, {paths.errors[-1]:.3f} m now"
        if paths.length > 0:
            text += f", {100 * paths.rmse / paths.length:.2f} % of {paths.length:.1f} m"
    return text
