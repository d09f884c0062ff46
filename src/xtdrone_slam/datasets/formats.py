"""Writes trajectories as TUM and KITTI files, flushed line by line, and reads rows of text.

A trajectory in memory is a table (T, 8) with the columns of a TUM file: time [s], position [m],
quaternion xyzw, body to world.
"""

from collections.abc import Iterable
from pathlib import Path

import numpy as np
from scipy.spatial.transform import Rotation

from xtdrone_core import files

from ..errors import SlamError


class LineFile:
    """A text file that is flushed after every line."""

    def __init__(self, path: Path, head: str = "") -> None:
        """Creates a file, with a header line if one is given.

        Raises:
            SlamError: The file cannot be written.
        """
        self.path = Path(path)
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self._file = open(path, "w", buffering=1)
        except OSError as error:
            raise SlamError(f"cannot write '{path}': {error.strerror}") from error
        if head:
            self.write(head)

    def write(self, line: str) -> None:
        """Appends a line.

        Raises:
            SlamError: The line cannot be written, for example because the disk is full.
        """
        try:
            self._file.write(line + "\n")
        except (OSError, ValueError) as error:
            self.close()
            raise SlamError(
                f"cannot write '{self.path}': "
                f"{getattr(error, 'strerror', 'an earlier line failed')}; the "
                "earlier lines are in the file"
            ) from error

    def close(self) -> None:
        """Closes the file. May be called twice."""
        try:
            self._file.close()
        except OSError:  # write() has already raised an error for this line
            pass


def tum_line(t_us: int, pos: Iterable[float], quat: Iterable[float]) -> str:
    """Writes a pose as a line of a TUM file: time [s], position [m], quaternion xyzw."""
    return f"{t_us // 1_000_000}.{t_us % 1_000_000:06d} " + " ".join(
        f"{x:.9f}" for x in (*pos, *quat)
    )


def write_tum(path: Path, table: np.ndarray) -> None:
    """Writes a trajectory (T, 8)."""
    file = LineFile(path)
    for row in table:
        file.write(tum_line(round(row[0] * 1e6), row[1:4], row[4:]))
    file.close()


def write_kitti(path: Path, table: np.ndarray) -> None:
    """Writes a trajectory (T, 8) as KITTI poses: 12 numbers of [R | t] per line, no times."""
    matrices = np.concatenate(
        [Rotation.from_quat(table[:, 4:]).as_matrix(), table[:, 1:4, None]], axis=2
    ).reshape(-1, 12)
    file = LineFile(path)
    for row in matrices:
        file.write(" ".join(f"{x:.9e}" for x in row))
    file.close()


def read_rows(path: Path) -> list[str]:
    """Reads the lines of a text file, without comments.

    A last line without its end is read, too, unless it has fewer cells than the line before: then
    the program that wrote it was killed.

    Raises:
        SlamError: The file cannot be read.
    """
    text = files.read_text(path, "table", error=SlamError)
    rows = [line for line in map(str.strip, text.splitlines()) if line and line[0] != "#"]
    if not text.endswith("\n") and len(rows) > 1 and _cells(rows[-1]) < _cells(rows[-2]):
        del rows[-1]
    return rows


def _cells(row: str) -> int:
    """Counts the cells of a row, which commas or blanks separate."""
    return len(row.split("," if "," in row else None))
