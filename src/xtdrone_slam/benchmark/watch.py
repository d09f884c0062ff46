"""The data of a run in progress, and the window that shows it.

It reads the growing files of the run folder, so it works for live runs, playback and runs on
another machine, and does not slow the run down. Without a display it is drawn into a PNG file.
"""

import os
import signal
from pathlib import Path
from typing import NamedTuple

import numpy as np

from xtdrone_core import libraries, outputs

from ..datasets.calibration import pose_matrix
from ..errors import SlamError
from ..evaluation.usage import usage_in_flight

PERIOD_MS = 200  # between two updates [ms]
_LONG_M = 2.0  # path from which the estimate is aligned by its positions, not by its first pose [m]


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
        whole = data[: data.rfind(b"\n") + 1]
        self._read += len(whole)
        for line in whole.decode(errors="replace").splitlines():
            try:
                row = [float(word) for word in line.split(self._separator)]
            except ValueError:  # the header line
                continue
            if len(row) == self._width:
                self._rows.append(row)
        return np.array(self._rows).reshape(-1, self._width)


class Paths(NamedTuple):
    """Truth and estimate so far, the estimate aligned to the truth by SE(3)."""

    truth: np.ndarray  # (T, 4) time [s] and position [m], of the whole flight where it is known
    estimate: np.ndarray  # (E, 4)
    errors: np.ndarray  # (E,) distances of the estimate from the truth [m]

    @property
    def rmse(self) -> float:
        """Of the errors [m]; NaN without any."""
        return float(np.sqrt(np.mean(self.errors**2))) if len(self.errors) else np.nan

    @property
    def length(self) -> float:
        """Of the true path at the times of the estimate [m]."""
        return _length(_at(self.truth, self.estimate[:, 0]))


class RunView:
    """The data of one run so far."""

    def __init__(self, folder: Path):
        """folder: of a run, with estimate.tum, usage.csv and frames.csv."""
        self.folder = Path(folder)
        self._estimate = Tail(self.folder / "estimate.tum", None, 8)
        self._usage = Tail(self.folder / "usage.csv", ",", 4)
        self._frames = Tail(self.folder / "frames.csv", ",", 5)
        self._truth = None

    @property
    def title(self) -> str:
        """Flight, system and run."""
        flight, system, run = self.folder.parts[-3:]
        return f"{system} on {flight}, {run.replace('_', ' ')}"

    @property
    def finished(self) -> bool:
        """Whether the run has ended."""
        return (self.folder / "outcome.json").exists()

    def frames(self) -> np.ndarray:
        """(F, 5): time [s], latency [ms], 1 if tracking was lost, features, wall time [s]."""
        return self._frames.table() * [1e-6, 1e3, 1.0, 1.0, 1.0]

    def usage(self, frames: np.ndarray) -> np.ndarray:
        """(U, 3): time in the flight [s], CPU [% of a core], memory [MiB].

        Args:
            frames: See frames(). The samples before the first answer are left out.
        """
        return usage_in_flight(self._usage.table(), frames)

    def truth(self) -> np.ndarray:
        """True trajectory (T, 8) so far, columns as in a TUM file."""
        if self._truth is None:
            beside = self.folder.parent.parent / "groundtruth.tum"
            live = self.folder.parent.parent.parent / "dataset" / "groundtruth.tum"
            self._truth = Tail(beside if beside.exists() else live, None, 8)
        return self._truth.table()

    def paths(self) -> Paths:
        """Truth and estimate, aligned as far as both are known."""
        truth, guess = self.truth(), self._estimate.table()
        guess = guess[guess[:, 0] <= truth[-1:, 0].sum()]  # the truth of a live flight comes later
        if len(guess) == 0:
            return Paths(truth[:, :4], guess[:, :4], np.zeros(0))
        targets = _at(truth, guess[:, 0])
        if _length(targets) < _LONG_M:
            first = truth[np.searchsorted(truth[:, 0], guess[0, 0]).clip(max=len(truth) - 1)]
            change = pose_matrix(targets[0], first[4:]) @ np.linalg.inv(
                pose_matrix(guess[0, 1:4], guess[0, 4:])
            )
            rotation, translation = change[:3, :3], change[:3, 3]
        else:
            rotation, translation = _align(guess[:, 1:4], targets)
        places = guess[:, 1:4] @ rotation.T + translation
        return Paths(
            truth[:, :4],
            np.column_stack([guess[:, 0], places]),
            np.linalg.norm(places - targets, axis=1),
        )


def runs(folder: Path) -> list[Path]:
    """The runs below a folder, the most recently written last."""
    found = [path.parent for path in Path(folder).glob("**/frames.csv")]
    return sorted(found, key=lambda path: (path / "frames.csv").stat().st_mtime)


def require_display(remedy: str) -> None:
    """Raises a SlamError with a remedy if there is no display."""
    if not any(os.environ.get(name) for name in ("DISPLAY", "WAYLAND_DISPLAY", "QT_QPA_PLATFORM")):
        raise SlamError(f"there is no display: {remedy}")


def show(folder: Path, png: Path | None = None) -> None:
    """Shows the window until it is closed, or draws it once into a file.

    Args:
        folder: Of a run, or one that contains runs: the latest is shown.
        png: File to write instead; needs no display.

    Raises:
        SlamError: pyqtgraph is missing, there is no run yet to draw, or no display.
    """
    if png is not None:
        outputs.picture(png, SlamError)
        os.environ["QT_QPA_PLATFORM"] = "offscreen"
    else:
        require_display("give --png FILE, which needs none")
    if png is not None and not runs(folder):
        raise SlamError(
            f"'{folder}' holds no run of a SLAM system: give a run of xtdrone slam run or campaign"
        )
    libraries.require_qt(SlamError, window=png is None)
    try:
        import pyqtgraph as pg
        from pyqtgraph.Qt import QtCore
    except ImportError as error:
        raise SlamError(
            f"the window needs pyqtgraph and PySide6-Essentials ({error}): pip "
            "install 'xtdrone[view]'"
        ) from error
    from .window import make_window

    application = pg.mkQApp("xtdrone slam")
    window = make_window(folder)
    window.update_plots()
    if png is not None:
        window.save(png)
        return
    timer = QtCore.QTimer(interval=PERIOD_MS)
    timer.timeout.connect(window.update_plots)
    timer.start()
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    window.show()
    application.exec()


def _at(truth, times):
    """True positions (E, 3) at times (E,)."""
    return np.column_stack([np.interp(times, truth[:, 0], truth[:, axis]) for axis in (1, 2, 3)])


def _length(places):
    return float(np.linalg.norm(np.diff(places, axis=0), axis=1).sum())


def _align(points, targets):
    """Rotation (3, 3) and translation (3,) that fit points (N, 3) to targets (Umeyama 1991)."""
    mean, target_mean = points.mean(axis=0), targets.mean(axis=0)
    left, _, right = np.linalg.svd((targets - target_mean).T @ (points - mean))
    mirror = np.diag([1.0, 1.0, np.sign(np.linalg.det(left @ right))])
    rotation = left @ mirror @ right
    return rotation, target_mean - rotation @ mean
