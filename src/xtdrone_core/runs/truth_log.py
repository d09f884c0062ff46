"""truth.bin: the true state of the fleet every 20 ms, as plain records.

Each record is little-endian: int64 t_us, then N rows of 13 float64: position,
quaternion xyzw, velocity (world), angular velocity (body). There is no header;
N is in the run's scenario.yaml.
"""

from pathlib import Path

import numpy as np

from .. import files
from ..errors import XtdroneError
from ..state import FleetState
from .log_file import LogFile, LogGaps

WIDTH = 13  # numbers per vehicle
_FLUSH_US = 1_000_000  # simulated time between two writes to the file [us]
_BUFFER = 1 << 20  # bytes after which it is written earlier
_LARGEST = 1e9  # largest absolute value of a number in a log [m, m/s, rad/s]


def _record(n: int) -> np.dtype:
    return np.dtype([("t_us", "<i8"), ("table", "<f8", (n, WIDTH))])


class TruthWriter:
    """Appends records to a file."""

    def __init__(self, path: Path | str, n: int, gaps: LogGaps | None = None) -> None:
        """Begins a new file.

        Args:
            path: The file.
            n: Number of vehicles.
            gaps: Collects what the disk does not take during the flight; None: its own.

        Raises:
            XtdroneError: The file cannot be written.
        """
        self._record = np.zeros((), dtype=_record(n))
        self._flushed_us = self._last_us = 0
        self._waiting: list[bytes] = []  # records that are not in the file yet
        self._max_rows = max(1, _BUFFER // self._record.nbytes)
        self._file = LogFile(Path(path), gaps or LogGaps())
        try:
            Path(path).write_bytes(b"")
        except OSError as error:
            raise XtdroneError(
                f"cannot write '{path}': {error.strerror}; set XTDRONE_RUNS to a "
                "folder that can be written"
            ) from error

    def write(self, state: FleetState) -> None:
        """Appends one FleetState."""
        self._record["t_us"] = state.t_us
        table = self._record["table"]
        table[:, 0:3] = state.pos
        table[:, 3:7] = state.quat
        table[:, 7:10] = state.vel
        table[:, 10:13] = state.ang_vel
        self._waiting.append(self._record.tobytes())
        self._last_us = state.t_us
        if state.t_us - self._flushed_us >= _FLUSH_US or len(self._waiting) >= self._max_rows:
            self._flush()
            self._flushed_us = state.t_us

    def close(self) -> None:
        """Writes out what is left. May be called twice."""
        self._flush()

    def _flush(self) -> None:
        if self._waiting:
            self._file.append(b"".join(self._waiting), self._last_us)
            self._waiting.clear()


def read_truth(path: Path | str, n: int) -> tuple[np.ndarray, np.ndarray]:
    """All whole records of a file; an incomplete record at its end is dropped.

    Args:
        path: The file.
        n: Number of vehicles.

    Returns:
        Times (T,) int64 [us], and a table (T, N, 13): pos 0:3, quat 3:7 (xyzw),
        vel 7:10 (world), ang_vel 10:13 (body).

    Raises:
        XtdroneError: No such file, or it has no record of n vehicles.
    """
    dtype = _record(n)
    try:
        data = files.read_bytes(path, "truth log", maximum=None)
    except XtdroneError as error:
        raise XtdroneError(f"{error}; give the folder of a run that recorded its truth") from error
    if not data:
        raise XtdroneError(f"'{path}' has no record: the run ended before its first one")
    count = len(data) // dtype.itemsize
    records = np.frombuffer(data, dtype=dtype, count=count)
    t_us, table = records["t_us"].copy(), records["table"].copy()
    # NaN fails these comparisons, as it should.
    plausible = (
        count > 0
        and np.all(t_us[1:] > t_us[:-1])
        and np.all(np.abs(table) < _LARGEST)
        and np.all(np.abs(np.linalg.norm(table[:, :, 3:7], axis=2) - 1.0) < 0.01)
    )
    if not plausible:
        raise XtdroneError(
            f"'{path}' holds no truth log of {n} vehicles: give the number of "
            "vehicles of its scenario.yaml"
        )
    return t_us, table
