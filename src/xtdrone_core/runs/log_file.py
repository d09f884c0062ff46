"""Log files of a run. A disk that is full or read-only shortens them, but never ends a flight.

Every writer appends whole records through a LogFile. Records that the disk does not take are lost:
the file is cut back to its last whole record, and the next records are tried again, so that the log
continues, with a gap, once there is space. LogGaps collects what is missing.
"""

import contextlib
import csv
import logging
import os
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    import numpy as np

Data: TypeAlias = Any  # bytes, or an array: Python 3.10 has no type for what has a buffer
MAX = 5  # gaps of one log that are listed; the last one includes all later ones

_log = logging.getLogger(__name__)


class LogGaps:
    """Collects the gaps in the logs of a run; the first gap is reported by a warning."""

    def __init__(
        self, folder: Path | None = None, on_first: Callable[[str], object] = _log.warning
    ):
        """Without gaps.

        Args:
            folder: Run folder, to which names are relative.
            on_first: Called with the text of the only warning.
        """
        self._folder, self._on_first = folder, on_first
        self._gaps: dict[str, list[list[float | None]]] = {}
        self._reasons: dict[str, str] = {}

    def begin(self, path: Path, good_us: int, reason: str) -> None:
        """Notes that a log has nothing after good_us [us]."""
        name, first = self._name(path), not self._gaps
        gaps = self._gaps.setdefault(name, [])
        self._reasons[name] = reason
        if len(gaps) < MAX:
            gaps.append([good_us / 1e6, None])
        else:
            gaps[-1][1] = None
        if first:
            self._on_first(
                f"{name} cannot be written from {good_us * 1e-6:.2f} s on: {reason}; "
                "the flight goes on, and log_gaps in summary.json lists what is missing"
            )

    def end(self, path: Path, lost_us: int) -> None:
        """Notes that the log goes on after lost_us [us]."""
        self._gaps[self._name(path)][-1][1] = lost_us / 1e6

    def table(self) -> list[dict[str, Any]]:
        """Returns a row for each log with gaps: log, reason, missing_s.

        missing_s is a list of [from, to] in simulated time [s]: there is nothing after from, up to
        and including to. The log ended there if to is None.
        """
        return [
            {"log": name, "reason": self._reasons[name], "missing_s": gaps}
            for name, gaps in self._gaps.items()
        ]

    def _name(self, path: Path) -> str:
        inside = self._folder is not None and path.is_relative_to(self._folder)
        return str(path.relative_to(self._folder) if inside and self._folder else path)


class LogFile:
    """A file to which whole records are appended. It is open only while it is written."""

    def __init__(self, path: Path, gaps: LogGaps, t_us: int = 0, create: bool = True):
        """Nothing is written yet.

        Args:
            path: The file.
            gaps: Collects what is missing.
            t_us: Time from which the log is to hold records [us].
            create: Whether append() creates the file if it is not there.
        """
        self.path, self.gaps, self._create = Path(path), gaps, create
        self._good_us, self._lost_us = t_us, t_us
        self._broken = False

    @property
    def broken(self) -> bool:
        """Whether the last record is missing."""
        return self._broken

    @property
    def good_us(self) -> int:
        """Time of the last record in the file [us]."""
        return self._good_us

    def append(self, data: Data, t_us: int) -> bool:
        """Appends whole records, the last one of time t_us [us].

        Returns:
            Whether they are in the file; otherwise they are lost.
        """
        try:
            append(self.path, data, self._create)
        except OSError as error:
            self.fail(error.strerror or str(error), t_us)
            return False
        self.succeed(t_us)
        return True

    def fail(self, reason: str, t_us: int) -> None:
        """Notes that records up to t_us [us] are lost."""
        self._lost_us = t_us
        if not self._broken:
            self._broken = True
            self.gaps.begin(self.path, self._good_us, reason)

    def succeed(self, t_us: int) -> None:
        """Notes that the log holds the records up to t_us [us]."""
        self._good_us = t_us
        if self._broken:
            self._broken = False
            self.gaps.end(self.path, self._lost_us)


def append(path: Path, data: Data, create: bool = True) -> None:
    """Appends data to a file, which may be created: all of it or nothing.

    Raises:
        OSError: It could not be written.
    """
    file = os.open(path, os.O_WRONLY | os.O_APPEND | (os.O_CREAT if create else 0), 0o666)
    try:
        rest = memoryview(data)
        try:
            while rest:
                rest = rest[os.write(file, rest) :]
        except OSError:
            with contextlib.suppress(OSError):  # a device cannot be truncated
                os.ftruncate(file, os.fstat(file).st_size - (len(data) - len(rest)))
            raise
    finally:
        os.close(file)


def read_named_rows(file: Path) -> dict[str, "np.ndarray"]:
    """Reads a CSV file with a header, and columns time, name and numbers, as that of loads.

    Returns:
        (K, C) by name: the time [s] and the numbers of each row.
    """
    import numpy as np  # here, so that what only writes needs none

    rows: dict[str, list[list[str]]] = defaultdict(list)
    with file.open(newline="") as lines:
        table = csv.reader(lines)
        next(table)
        for time, name, *numbers in table:
            rows[name].append([time, *numbers])
    return {name: np.array(found, dtype=float) for name, found in rows.items()}
