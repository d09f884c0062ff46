"""Evaluations as they come: evaluations.jsonl, one line for each candidate that was evaluated.

A line is written by one system call, and on the disk before the next candidate begins; a program
that is killed leaves at most a part of one, which the next one cuts off.
"""

import fcntl
import json
import os
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any

from .errors import OptimiseError
from .evaluation import Measured

NAME = "evaluations.jsonl"
_DIGITS = 9  # of a variable, by which a candidate is found again


class Journal:
    """The evaluations in the folder of a study; use it in a `with` block.

    Attributes:
        measured: What was measured, by key(); in the order of the file.
    """

    def __init__(self, folder: Path, definition: Mapping[str, Any]) -> None:
        """Reads what is there, and keeps other programs from writing to it.

        Args:
            folder: Folder of the study.
            definition: Of the study; the first line of the file has it.

        Raises:
            OptimiseError: Another program runs this study, or the folder holds another one.
        """
        self._file = os.open(folder / NAME, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o666)
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            os.close(self._file)
            raise OptimiseError(
                f"another program runs the study in '{folder}': wait for its end, or give --out "
                "another folder"
            ) from error
        except OSError:  # a file system without locks
            pass
        data = (folder / NAME).read_bytes()
        whole = data[: data.rfind(b"\n") + 1]
        if len(whole) < len(data):
            os.ftruncate(self._file, len(whole))
        head, *lines = whole.splitlines() or [b""]
        plain = json.loads(json.dumps(definition, default=str))
        if not head:
            self._write({"study": plain})
        elif _row(head).get("study") != plain:
            os.close(self._file)
            raise OptimiseError(
                f"'{folder}' holds evaluations of another study: repeat its study, or give --out "
                "another folder"
            )
        self.measured: dict[str, Measured] = {}
        for line in lines:
            row = _row(line)
            if "values" in row:
                self.measured[key(row["values"])] = Measured(row["figures"], row["reason"])

    def __enter__(self) -> "Journal":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        os.close(self._file)

    def add(self, values: Mapping[str, float], measured: Measured) -> None:
        """Appends an evaluation; it is on the disk when this returns.

        Raises:
            OSError: The disk does not take it.
        """
        self._write(
            {
                "values": dict(values),
                "reason": measured.reason,
                "figures": {name: list(each) for name, each in measured.figures.items()},
            }
        )
        self.measured[key(values)] = measured

    def _write(self, row: Mapping[str, Any]) -> None:
        data = (json.dumps(row) + "\n").encode()
        size = os.fstat(self._file).st_size
        if os.write(self._file, data) < len(data):
            os.ftruncate(self._file, size)
            raise OSError(28, os.strerror(28), NAME)
        os.fsync(self._file)


def key(values: Mapping[str, float]) -> str:
    """Returns what tells candidates apart."""
    return " ".join(f"{name}={value:.{_DIGITS}g}" for name, value in sorted(values.items()))


def _row(line: bytes) -> dict[str, Any]:
    """Reads a line; one that is none of ours, for example of a damaged disk, is left out."""
    try:
        row = json.loads(line)
    except ValueError:
        return {}
    return row if isinstance(row, dict) else {}
