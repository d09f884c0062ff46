"""A file of results that grows by whole lines of JSON, and loses none when its program is killed.

Each line is written by one system call, and on the disk when that returns. A program that is
killed leaves at most a part of a line, which the next one cuts off.
"""

import fcntl
import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, TypeVar

from ..errors import XtdroneError

Held = TypeVar("Held", bound="JsonLines")  # typing.Self is in Python 3.11 and later


class JsonLines:
    """Lines of JSON, held by one program at a time; use it in a `with` block."""

    def __init__(self, path: Path, busy: XtdroneError) -> None:
        """Opens or makes the file, cuts off a torn line, and keeps other programs from it.

        Args:
            path: The file.
            busy: Raised where another program holds it.

        Raises:
            XtdroneError: As given, another program holds the file.
        """
        self._path = path
        self._file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o666)
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            os.close(self._file)
            raise busy from error
        except OSError:  # a file system without locks
            pass
        data = path.read_bytes()
        whole = data.rfind(b"\n") + 1
        if whole < len(data):
            os.ftruncate(self._file, whole)

    def __enter__(self: Held) -> Held:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Lets other programs have the file."""
        os.close(self._file)

    def rows(self) -> Iterator[dict[str, Any]]:
        """Yields the lines; one that is none of ours, as of a damaged disk, is left out."""
        for line in self._path.read_bytes().splitlines():
            try:
                row = json.loads(line)
            except ValueError:
                continue
            if isinstance(row, dict):
                yield row

    def append(self, row: Mapping[str, Any]) -> None:
        """Writes a line; it is on the disk when this returns.

        Raises:
            OSError: The disk does not take it, and the file is as before.
        """
        data = (json.dumps(row) + "\n").encode()
        size = os.fstat(self._file).st_size
        if os.write(self._file, data) < len(data):
            os.ftruncate(self._file, size)
            raise OSError(28, os.strerror(28), self._path.name)
        os.fsync(self._file)
