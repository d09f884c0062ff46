"""Trajectories as TUM and KITTI files, written line by line so that a kill loses none.

A trajectory in memory is a table (T, 8): time [s], place [m], quaternion xyzw, body to world.
"""

import math
from pathlib import Path

import numpy as np
from scipy.spatial.transform import Rotation

from ..errors import SlamError


class LineFile:
    """A text file that the system has after every line."""

    def __init__(self, path: Path, head: str = ""):
        """Begins a new file, with a first line if one is given.

        Raises:
            SlamError: It cannot be written.
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
            SlamError: The disk is full, or gone.
        """
        try:
            self._file.write(line + "\n")
        except (OSError, ValueError) as error:
            self.close()
            raise SlamError(f"cannot write '{self.path}': "
                            f"{getattr(error, 'strerror', 'an earlier line failed')}; all lines "
                            "before this one are in the file") from error

    def close(self) -> None:
        """May be called twice."""
        try:
            self._file.close()
        except OSError:  # the line that did not fit, of which write() has told
            pass


def tum_line(t_us: int, pos, quat) -> str:
    """One pose as a line of a TUM file: seconds, place [m], quaternion xyzw."""
    return f"{t_us // 1_000_000}.{t_us % 1_000_000:06d} " + " ".join(
        f"{x:.9f}" for x in (*pos, *quat))


def write_tum(path: Path, table: np.ndarray) -> None:
    """Writes a trajectory (T, 8)."""
    file = LineFile(path)
    for row in table:
        file.write(tum_line(round(row[0] * 1e6), row[1:4], row[4:]))
    file.close()


def read_tum(path: Path) -> np.ndarray:
    """Reads a trajectory (T, 8); a half line at the end, left by a kill, is left out.

    Raises:
        SlamError: No such file, or not one of that format.
    """
    return _read(path, 8, "t x y z qx qy qz qw")


def write_kitti(path: Path, table: np.ndarray) -> None:
    """Writes a trajectory (T, 8) as KITTI poses: 12 numbers of [R | t] a line, no times."""
    matrices = np.concatenate([Rotation.from_quat(table[:, 4:]).as_matrix(),
                               table[:, 1:4, None]], axis=2).reshape(-1, 12)
    file = LineFile(path)
    for row in matrices:
        file.write(" ".join(f"{x:.9e}" for x in row))
    file.close()



def read_rows(path: Path) -> list[str]:
    """Whole lines of a text file that are no comments.

    Raises:
        SlamError: It cannot be read.
    """
    try:
        text = Path(path).read_text()
    except (OSError, UnicodeDecodeError) as error:
        raise SlamError(f"cannot read '{path}': {error}") from error
    whole = text[:text.rfind("\n") + 1]
    return [line for line in map(str.strip, whole.splitlines()) if line and line[0] != "#"]


def _read(path, width, what):
    rows = []
    for number, line in enumerate(read_rows(path), 1):
        try:
            row = [float(word) for word in line.split()]
        except ValueError:
            row = []
        if len(row) != width or not all(map(math.isfinite, row)):
            raise SlamError(f"row {number} of '{path}' is '{line[:60]}': give {what}, in each row")
        rows.append(row)
    if not rows:
        raise SlamError(f"'{path}' holds no pose: give {what}, in each row")
    return np.array(rows)
