"""A window that shows a run in progress: trajectory against truth, CPU, memory and features.

It reads the growing files of the run folder, so it works for live runs, playback and runs on
another machine, and does not slow the run down. Without a display it is drawn into a PNG file.
"""

import os
import signal
from pathlib import Path

import numpy as np

from xtdrone_core import outputs

from ..errors import SlamError

PERIOD_MS = 200  # between two updates [ms]
_MIN_POSES = 3  # that an alignment needs
_PENS = {"truth": "#888888", "estimate": "#1f77b4", "cpu": "#d62728", "memory": "#2ca02c",
         "features": "#9467bd"}


class Tail:
    """A growing table of numbers in a text file."""

    def __init__(self, path: Path, separator: str | None, width: int):
        """separator: as for str.split; width: columns, rows of another width are skipped."""
        self.path, self._separator, self._width = Path(path), separator, width
        self._read, self._rows = 0, []

    def table(self) -> np.ndarray:
        """All complete rows so far, (R, width)."""
        try:
            with open(self.path, "rb") as file:
                file.seek(self._read)
                data = file.read()
        except OSError:
            data = b""
        whole = data[:data.rfind(b"\n") + 1]
        self._read += len(whole)
        for line in whole.decode(errors="replace").splitlines():
            try:
                row = [float(word) for word in line.split(self._separator)]
            except ValueError:  # the header line
                continue
            if len(row) == self._width:
                self._rows.append(row)
        return np.array(self._rows).reshape(-1, self._width)


class RunView:
    """The data of one run so far."""

    def __init__(self, folder: Path):
        """folder: of a run, with estimate.tum, usage.csv and frames.csv."""
        self.folder = Path(folder)
        self._estimate = Tail(self.folder / "estimate.tum", None, 8)
        self._usage = Tail(self.folder / "usage.csv", ",", 4)
        self._frames = Tail(self.folder / "frames.csv", ",", 4)
        self._truth = None

    @property
    def title(self) -> str:
        """Flight, system and run."""
        return " / ".join(self.folder.parts[-3:])

    def usage(self) -> np.ndarray:
        """(U, 4): time since the start [s], CPU [%], memory [MiB], processes."""
        return self._usage.table()

    def frames(self) -> np.ndarray:
        """(F, 4): time [s], latency [ms], 1 if tracking was lost, number of features."""
        return self._frames.table() * [1e-6, 1e3, 1.0, 1.0]

    def truth(self) -> np.ndarray:
        """True trajectory (T, 8) so far, columns as in a TUM file."""
        if self._truth is None:
            beside = self.folder.parent.parent / "groundtruth.tum"
            live = self.folder.parent.parent.parent / "dataset" / "groundtruth.tum"
            self._truth = Tail(beside if beside.exists() else live, None, 8)
        return self._truth.table()

    def paths(self) -> tuple[np.ndarray, np.ndarray]:
        """Positions of the truth (T, 3) and of the estimate (E, 3), aligned to it by SE(3)."""
        truth, guess = self.truth(), self._estimate.table()
        if len(truth) == 0 or len(guess) < _MIN_POSES:
            return truth[:, 1:4], guess[:, 1:4]
        targets = np.column_stack([np.interp(guess[:, 0], truth[:, 0], truth[:, axis])
                                   for axis in (1, 2, 3)])
        rotation, translation = _align(guess[:, 1:4], targets)
        return truth[:, 1:4], guess[:, 1:4] @ rotation.T + translation


def latest_run(folder: Path) -> Path | None:
    """The most recently written run below a folder, or None."""
    runs = [path.parent for path in Path(folder).glob("**/frames.csv")]
    return max(runs, key=lambda path: (path / "frames.csv").stat().st_mtime, default=None)


def show(folder: Path, png: Path | None = None) -> None:
    """Shows the window until it is closed, or draws it once into a file.

    Args:
        folder: Of a run, or one that contains runs: the latest is shown.
        png: File to write instead; needs no display.

    Raises:
        SlamError: pyqtgraph is missing, there is no run yet to draw, or no display.
    """
    if png is not None:
        os.environ["QT_QPA_PLATFORM"] = "offscreen"
    elif not any(os.environ.get(name) for name in ("DISPLAY", "WAYLAND_DISPLAY",
                                                   "QT_QPA_PLATFORM")):
        raise SlamError("there is no display: give --png FILE, which needs none")
    try:
        import pyqtgraph as pg
        from pyqtgraph.Qt import QtCore
    except ImportError as error:
        raise SlamError(f"the window needs pyqtgraph and PySide6-Essentials ({error}): pip "
                        "install 'xtdrone[view]'") from error
    if png is not None and latest_run(folder) is None:
        raise SlamError(f"'{folder}' holds no run yet")
    application = pg.mkQApp("xtdrone slam")
    window = _window(pg, folder)
    window.update_plots()
    if png is not None:
        image = window.grab().toImage()
        image.setText("Software", outputs.MARK)
        if not image.save(str(outputs.picture(png, SlamError))):
            raise SlamError(f"cannot write '{png}': give a name that ends in .png, in a folder "
                            "that is there")
        return
    timer = QtCore.QTimer(interval=PERIOD_MS)
    timer.timeout.connect(window.update_plots)
    timer.start()
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    window.show()
    application.exec()


def _window(pg, folder):
    """The window, built here so that the module loads without Qt."""
    class Window(pg.GraphicsLayoutWidget):
        def __init__(self):
            super().__init__(title="xtdrone slam")
            self.resize(1200, 720)
            self.setBackground("w")
            pg.setConfigOption("foreground", "k")
            self._run = None
            plan = self._plot(0, 0, "x [m]", "y [m]", rows=3)
            plan.setAspectLocked(True)
            plan.addLegend()
            self._curves = {"truth": plan.plot(pen=pg.mkPen(_PENS["truth"], width=2), name="truth"),
                            "estimate": plan.plot(pen=pg.mkPen(_PENS["estimate"], width=2),
                                                  name="estimate")}
            for row, (name, unit) in enumerate((("cpu", "CPU [% of a core]"),
                                                ("memory", "memory [MiB]"),
                                                ("features", "features"))):
                plot = self._plot(row, 1, "time [s]", unit)
                self._curves[name] = plot.plot(pen=pg.mkPen(_PENS[name], width=1.5))
            self._title = self.addLabel("no run yet", row=3, col=0, colspan=2, color="k")

        def _plot(self, row, column, x, y, rows=1):
            plot = self.addPlot(row=row, col=column, rowspan=rows)
            plot.setLabel("bottom", x)
            plot.setLabel("left", y)
            plot.showGrid(x=True, y=True, alpha=0.3)
            return plot

        def update_plots(self):
            """Reads the new data and redraws."""
            path = latest_run(folder)
            if path is None:
                return
            if self._run is None or self._run.folder != path:
                self._run = RunView(path)
            run = self._run
            (truth, guess), usage, frames = run.paths(), run.usage(), run.frames()
            self._curves["truth"].setData(truth[:, 0], truth[:, 1])
            self._curves["estimate"].setData(guess[:, 0], guess[:, 1])
            alive = usage[usage[:, 2] > 0]
            self._curves["cpu"].setData(alive[:, 0], alive[:, 1])
            self._curves["memory"].setData(alive[:, 0], alive[:, 2])
            self._curves["features"].setData(frames[:, 0] - frames[:1, 0].sum(), frames[:, 3])
            latency = f"{frames[-25:, 1].mean():.0f} ms" if len(frames) else "none"
            self._title.setText(f"{run.title}: {len(frames)} answers, {int(frames[:, 2].sum())} "
                                f"without a pose, latency of the last 25: {latency}")

    return Window()


def _align(points, targets):
    """Rotation (3, 3) and translation (3,) that fit points (N, 3) to targets (Umeyama 1991)."""
    mean, target_mean = points.mean(axis=0), targets.mean(axis=0)
    left, _, right = np.linalg.svd((targets - target_mean).T @ (points - mean))
    mirror = np.diag([1.0, 1.0, np.sign(np.linalg.det(left @ right))])
    rotation = left @ mirror @ right
    return rotation, target_mean - rotation @ mean
