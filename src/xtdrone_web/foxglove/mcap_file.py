"""The file of an MCAP recording, which a full disk shortens and which never ends a flight."""

from pathlib import Path

from xtdrone_core.runs.log_file import LogFile, LogGaps


class McapFile:
    """The file to which the SDK's writer writes: whole chunks, appended by save().

    After the first write that fails, nothing more is written: later chunks would need what the
    lost one declared. A reader gets everything up to there.
    """

    def __init__(self, path: Path, gaps: LogGaps):
        """Begins a new file.

        Args:
            path: The file.
            gaps: Collects what the disk does not take.
        """
        self._file = LogFile(path, gaps)
        self._waiting: list[bytes] = []
        self.t_us = 0  # simulated time of what is written [us]
        self._size = 0

    def write(self, data: bytes) -> int:
        """Takes data."""
        self._waiting.append(bytes(data))
        self._size += len(data)
        return len(data)

    def flush(self) -> None:
        """Does nothing: the SDK holds a lock, and a warning about a full disk would wait for it."""

    def save(self) -> None:
        """Writes what was taken, once the SDK is done with it."""
        data, self._waiting = b"".join(self._waiting), []
        if not data:
            return
        if self._file.broken:
            self._file.fail("", self.t_us)
        else:
            self._file.append(data, self.t_us)

    def seek(self, offset: int, whence: int = 0) -> int:
        """Returns the position; the writer, which does not seek, only asks for that."""
        return self._size
