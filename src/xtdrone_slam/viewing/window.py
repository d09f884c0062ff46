"""The window of `xtdrone slam watch`; imported only where there is Qt."""

from pathlib import Path
from typing import Any

import numpy as np
import pyqtgraph as pg

from xtdrone_core import plot_style
from xtdrone_core.windows import keys, pictures, plots
from xtdrone_core.windows.keys import Key

from ..errors import SlamError
from .progress import Paths, RunView, runs

_SIZE = (1280, 820)
_TRUTH, _ESTIMATE, _LOST = "#000000", plot_style.SERIES[0], plot_style.SERIES[1]
_HALF_WIDTH_M = 3.0  # half the width of the map that follows the vehicle [m]
_PANELS = (
    # name, title, unit, colour, value up to which the vertical axis reaches at least
    ("error", "position error", "m", plot_style.SERIES[0], 0.1),
    ("features", "features", "number", plot_style.SERIES[3], 50.0),
    ("latency", "latency of an answer", "ms", plot_style.SERIES[2], 50.0),
    ("cpu", "CPU, mean of 1 s", "% of a core", plot_style.SERIES[1], 50.0),
    ("memory", "memory, mean of 1 s", "MiB", plot_style.SERIES[4], 50.0),
)
_LEGEND = (
    (_TRUTH, "&#9476;&#9476;&#9476;", "truth"),
    (_ESTIMATE, "&#9473;&#9473;&#9473;", "estimate, aligned to the truth"),
    (_TRUTH, "&#9675;", "start"),
    (_ESTIMATE, "&#9679;", "now"),
    (_LOST, "&#215;", "answer without a pose"),
    ("#777777", "&#9476;&#9476;&#9476;", "period of the camera"),
)


class Window(pg.GraphicsLayoutWidget):  # type: ignore[misc]  # pyqtgraph has no annotations
    """Map and height at the left, panels with a common time axis at the right.

    Attributes:
        run: What is shown; None while there is none.
        keys: Keys of the window.
        map, height, panels: Plots; panels by the names of _PANELS.
        headline: What is written above them.
    """

    def __init__(self, folder: Path) -> None:
        """Makes the plots; update_plots() fills them.

        Args:
            folder: Folder of a run, or one that contains runs: the latest is shown.
        """
        plots.set_style()
        super().__init__(title="xtdrone slam watch")
        self.resize(*_SIZE)
        self.run: RunView | None = None
        self._folder = Path(folder)
        self._chosen: Path | None = None
        self._follows = self._paused = False
        layout = self.ci.layout
        self._title = self.addLabel(
            "no run yet", row=0, col=0, colspan=2, justify="left", size="11pt", bold=True
        )
        self.map = plots.add_panel(self, 1, 0, "y, north [m]", "path from above", rows=4)
        self.map.setAspectLocked(True)
        self.map.setLabel("bottom", "x, east [m]")
        self.height = plots.add_panel(self, 5, 0, "[m]", "height")
        self.height.setLabel("bottom", "time of the flight [s]")
        self.panels = {
            name: plots.add_panel(self, row, 1, f"[{unit}]", title)
            for row, (name, title, unit, *_) in enumerate(_PANELS, 1)
        }
        self._link_panels()
        self._curves = self._add_curves()
        legend = (
            f"<span style='color:{color}'>{sign}</span> {text}" for color, sign, text in _LEGEND
        )
        self._add_line(6, "&nbsp;&nbsp; ".join(legend))
        self.keys = self._make_keys()
        self._add_line(
            7,
            keys.as_line(self.keys)
            + "&nbsp;&nbsp; <b>mouse</b> wheel: zoom, left: move, right: scale, menu",
            color="#555555",
        )
        keys.bind(self, self.keys)
        for column, stretch in ((0, 5), (1, 4)):
            layout.setColumnStretchFactor(column, stretch)
        for row in range(1, 6):
            layout.setRowStretchFactor(row, 1)

    @property
    def headline(self) -> str:
        """What is shown, how far it is, and its figures so far."""
        return str(self._title.text)

    def update_plots(self) -> None:
        """Reads the new data and redraws."""
        folders = runs(self._folder)
        if not folders or self._paused:
            return
        path = self._chosen or folders[-1]
        if self.run is None or self.run.folder != path:
            self.run = RunView(path)
        run, frames, paths = self.run, self.run.frames(), self.run.paths()
        truth, estimate, usage = paths.truth, paths.estimate, run.usage(frames)
        begin = truth[0, 0] if len(truth) else frames[:1, 0].sum()
        self._set("truth", truth[:, 1], truth[:, 2])
        self._set("estimate", estimate[:, 1], estimate[:, 2])
        self._set("start", truth[:1, 1], truth[:1, 2])
        self._set("now", estimate[-1:, 1], estimate[-1:, 2])
        self._set("true height", truth[:, 0] - begin, truth[:, 3])
        self._set("height", estimate[:, 0] - begin, estimate[:, 3])
        self._set("error", estimate[:, 0] - begin, paths.errors)
        self._set("features", frames[:, 0] - begin, frames[:, 3])
        self._set("latency", frames[:, 0] - begin, frames[:, 1])
        self._set("cpu", usage[:, 0] - begin, usage[:, 1])
        self._set("memory", usage[:, 0] - begin, usage[:, 2])
        lost = frames[frames[:, 2] > 0, 0] - begin
        self._set("lost", lost, np.zeros(len(lost)))
        if len(frames) > 1:
            self._camera_period.setValue(1e3 * float(np.median(np.diff(frames[:, 0]))))
        last = max(frames[-1:, 0].sum(), truth[-1:, 0].sum() if run.finished else 0.0) - begin
        self.panels["error"].setXRange(0.0, max(last, 1.0), padding=0.02)
        if self._follows and len(estimate):
            x, y = estimate[-1, 1:3]
            self.map.setRange(
                xRange=(x - _HALF_WIDTH_M, x + _HALF_WIDTH_M),
                yRange=(y - _HALF_WIDTH_M, y + _HALF_WIDTH_M),
                padding=0,
            )
        self._title.setText(_headline(run, frames, paths))

    def save(self, path: Path) -> None:
        """Draws the window into a picture.

        Raises:
            SlamError: It cannot be written.
        """
        pictures.save(self, path, SlamError)

    def _make_keys(self) -> list[Key]:
        def act(action: keys.Action) -> keys.Action:
            def then_draw() -> None:
                action()
                self.update_plots()

            return then_draw

        return [
            Key("F", "follow the vehicle", {"F": act(lambda: self._follow(True))}),
            Key("A", "show the whole path", {"A": act(lambda: self._follow(False))}),
            Key("Space", "pause", {"Space": act(self._toggle_pause)}),
            Key(
                "Left, Right",
                "earlier, later run",
                {"Left": act(lambda: self._choose(-1)), "Right": act(lambda: self._choose(1))},
            ),
            Key("P", "picture into the run folder", {"P": self._save_beside}),
            Key("Q", "close", {"Q": self.close}),
        ]

    def _follow(self, follows: bool) -> None:
        self._follows = follows
        if not follows:
            self.map.autoRange()

    def _toggle_pause(self) -> None:
        self._paused = not self._paused

    def _save_beside(self) -> None:
        if self.run is not None:
            self.save(self.run.folder / "watch.png")

    def _choose(self, step: int) -> None:
        """Shows the run before or after; the last one is replaced by a new run."""
        folders = runs(self._folder)
        if self.run is None or not folders:
            return
        index = folders.index(self.run.folder) + step if self.run.folder in folders else -1
        index = min(max(index, 0), len(folders) - 1)
        self._chosen = None if index == len(folders) - 1 else folders[index]
        self.map.enableAutoRange()

    def _add_line(self, row: int, text: str, **style: str) -> None:
        self.addLabel(text, row=row, col=0, colspan=2, justify="left", **style)

    def _link_panels(self) -> None:
        """Gives the panels one time axis, with its numbers below the lowest."""
        panels = list(self.panels.values())
        plots.share_time(panels, "time of the flight [s]")
        for plot in panels[:-1]:
            plot.getAxis("bottom").setStyle(showValues=False)
        for name, _, _, _, reach in _PANELS:
            self.panels[name].getViewBox().setLimits(yMin=0.0)
            self.panels[name].plot(
                [0.0, 0.0],
                [0.0, reach],
                pen=None,
                symbol="o",
                symbolSize=1,
                symbolPen=None,
                symbolBrush=None,
            )  # keeps 0 and the value in the range

    def _add_curves(self) -> dict[str, Any]:
        dashed = pg.mkPen(_TRUTH, width=1.3, style=plots.DASHED)
        solid = pg.mkPen(_ESTIMATE, width=2)
        curves = {
            "truth": self.map.plot(pen=dashed),
            "estimate": self.map.plot(pen=solid),
            "true height": self.height.plot(pen=dashed),
            "height": self.height.plot(pen=solid),
        }
        for name, symbol, color, brush in (
            ("start", "o", _TRUTH, "w"),
            ("now", "o", _ESTIMATE, _ESTIMATE),
        ):
            curves[name] = self.map.plot(
                pen=None, symbol=symbol, symbolPen=color, symbolBrush=brush, symbolSize=10
            )
        for name, _, _, color, _ in _PANELS:
            curves[name] = self.panels[name].plot(pen=pg.mkPen(color, width=1.6))
        curves["lost"] = self.panels["features"].plot(
            pen=None, symbol="x", symbolPen=_LOST, symbolBrush=_LOST, symbolSize=8
        )
        self._camera_period = pg.InfiniteLine(
            angle=0, pen=pg.mkPen("#777777", width=1.2, style=plots.DASHED)
        )
        self.panels["latency"].addItem(self._camera_period)
        return curves

    def _set(self, name: str, x: np.ndarray, y: np.ndarray) -> None:
        self._curves[name].setData(x, y)


def _headline(run: RunView, frames: np.ndarray, paths: Paths) -> str:
    """Writes what is shown, how far it is, and its figures so far."""
    text = (
        f"{run.title}: {'ended' if run.finished else 'running'}, {len(frames)} answers, "
        f"{int(frames[:, 2].sum())} without a pose"
    )
    if len(paths.errors):
        text += f"; error {paths.rmse:.3f} m RMS, {paths.errors[-1]:.3f} m now"
        if paths.length > 0:
            text += f", {100 * paths.rmse / paths.length:.2f} % of {paths.length:.1f} m"
    return text
