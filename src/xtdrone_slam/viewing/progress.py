"""The data of a run in progress.

They are read from the growing files of the run folder: this works for live runs, for playback and
for runs on another machine, and does not slow a run down.
"""

from pathlib import Path
from typing import NamedTuple

import numpy as np

from ..datasets.calibration import pose_matrix
from ..evaluation.usage import usage_in_flight

_MIN_LENGTH_M = 2.0  # path that aligns by positions, not by its first pose [m]


class Tail:
    """A growing table of numbers in a text file."""

    def __init__(self, path: Path, separator: str | None, width: int) -> None:
        """Opens nothing yet.

        Args:
            path: Path of the file, which need not be there.
            separator: Separator as str.split takes it.
            width: Number of columns; rows with another number are skipped.
        """
        self.path, self._separator, self._width = Path(path), separator, width
        self._offset = 0  # the file was read up to here [bytes]
        self._rows: list[list[float]] = []

    def table(self) -> np.ndarray:
        """Returns all complete rows so far, (R, width)."""
        try:
            with open(self.path, "rb") as file:
                file.seek(self._offset)
                data = file.read()
        except OSError:
            data = b""
        whole = data[: data.rfind(b"\n") + 1]
        self._offset += len(whole)
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
        """Root mean square of the errors [m]; NaN without any."""
        return float(np.sqrt(np.mean(self.errors**2))) if len(self.errors) else np.nan

    @property
    def length(self) -> float:
        """Length of the true path at the times of the estimate [m]."""
        return _length(_at(self.truth, self.estimate[:, 0]))


class RunView:
    """The data of one run so far."""

    def __init__(self, folder: Path) -> None:
        """Reads nothing yet.

        Args:
            folder: Folder of a run, with estimate.tum, usage.csv and frames.csv.
        """
        self.folder = Path(folder)
        self._estimate = Tail(self.folder / "estimate.tum", None, 8)
        self._usage = Tail(self.folder / "usage.csv", ",", 4)
        self._frames = Tail(self.folder / "frames.csv", ",", 5)
        self._truth: Tail | None = None

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
        """Returns (F, 5): time [s], latency [ms], 1 if lost, features, wall time [s]."""
        return self._frames.table() * [1e-6, 1e3, 1.0, 1.0, 1.0]

    def usage(self, frames: np.ndarray) -> np.ndarray:
        """Returns (U, 3): time in the flight [s], CPU [% of a core], memory [MiB].

        Args:
            frames: See frames(). The samples before the first answer are left out.
        """
        return usage_in_flight(self._usage.table(), frames)

    def truth(self) -> np.ndarray:
        """Returns the true trajectory (T, 8) so far, columns as in a TUM file."""
        if self._truth is None:
            beside = self.folder.parent.parent / "groundtruth.tum"
            live = self.folder.parent.parent.parent / "dataset" / "groundtruth.tum"
            self._truth = Tail(beside if beside.exists() else live, None, 8)
        return self._truth.table()

    def paths(self) -> Paths:
        """Returns truth and estimate, aligned as far as both are known."""
        truth, estimate = self.truth(), self._estimate.table()
        estimate = estimate[
            estimate[:, 0] <= truth[-1:, 0].sum()
        ]  # the truth of a live flight comes later
        if len(estimate) == 0:
            return Paths(truth[:, :4], estimate[:, :4], np.zeros(0))
        targets = _at(truth, estimate[:, 0])
        if _length(targets) < _MIN_LENGTH_M:
            first = truth[np.searchsorted(truth[:, 0], estimate[0, 0]).clip(max=len(truth) - 1)]
            change = pose_matrix(targets[0], first[4:]) @ np.linalg.inv(
                pose_matrix(estimate[0, 1:4], estimate[0, 4:])
            )
            rotation, translation = change[:3, :3], change[:3, 3]
        else:
            rotation, translation = _align(estimate[:, 1:4], targets)
        aligned = estimate[:, 1:4] @ rotation.T + translation
        return Paths(
            truth[:, :4],
            np.column_stack([estimate[:, 0], aligned]),
            np.linalg.norm(aligned - targets, axis=1),
        )


def runs(folder: Path) -> list[Path]:
    """Returns the runs below a folder, the most recently written last."""
    folders = [path.parent for path in Path(folder).glob("**/frames.csv")]
    return sorted(folders, key=lambda path: (path / "frames.csv").stat().st_mtime)


def _at(truth: np.ndarray, times: np.ndarray) -> np.ndarray:
    """Interpolates true positions (E, 3) at times (E,)."""
    return np.column_stack([np.interp(times, truth[:, 0], truth[:, axis]) for axis in (1, 2, 3)])


def _length(points: np.ndarray) -> float:
    """Returns the length of a path (K, 3)."""
    return float(np.linalg.norm(np.diff(points, axis=0), axis=1).sum())


def _align(points: np.ndarray, targets: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Fits points (N, 3) to targets (Umeyama 1991): rotation (3, 3) and translation (3,)."""
    mean, target_mean = points.mean(axis=0), targets.mean(axis=0)
    left, _, right = np.linalg.svd((targets - target_mean).T @ (points - mean))
    mirror = np.diag([1.0, 1.0, np.sign(np.linalg.det(left @ right))])
    rotation = left @ mirror @ right
    return rotation, target_mean - rotation @ mean
