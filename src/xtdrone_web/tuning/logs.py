"""The logs that a page may choose: flight logs of runs, uploaded files, and the command line's."""

import re
import time
from dataclasses import dataclass
from pathlib import Path

from xtdrone_core.errors import shown
from xtdrone_core.runs import run_folder

from ..errors import WebError

KINDS = (".csv", ".txt", ".ulg")
MAX_UPLOAD = 256 << 20  # [bytes]
_MAX = 200  # logs that are listed
_ULOG = b"ULog\x01\x12\x35"


@dataclass(frozen=True)
class Log:
    """A file that can be chosen.

    Attributes:
        name: A page's name for it: the path below the runs, or the file's own.
        path: Path of the file.
        run: The folder of the run that wrote it, or None.
    """

    name: str
    path: Path
    run: Path | None = None

    def described(self) -> "LogDescription":
        """Returns its description for the page."""
        status = self.path.stat()
        written = time.strftime("%Y-%m-%d %H:%M", time.localtime(status.st_mtime))
        return LogDescription(self.name, status.st_size, self.run is not None, written)


@dataclass(frozen=True)
class LogDescription:
    """A log, as a page gets it."""

    name: str
    size: int  # [bytes]
    run: bool  # a run wrote it
    written: str  # when


class Logs:
    """All logs that can be chosen."""

    def __init__(self, first: Path | None = None):
        """Takes the log of the command line, if there is one."""
        self.first = None if first is None else Log(first.name, first)

    def all(self) -> list[Log]:
        """Returns the command line's, then those of runs and uploads, the newest first."""
        root = run_folder.runs_root()
        logs = [
            Log(str(path.relative_to(root)), path, path.parents[2])
            for path in root.glob("*/ulog/*/*.ulg")
            if not path.parents[2].is_symlink()
        ]
        logs += [
            Log(str(path.relative_to(root)), path)
            for path in root.glob("tune_*/*")
            if path.suffix in KINDS
        ]
        logs.sort(key=lambda log: log.path.stat().st_mtime, reverse=True)
        return ([self.first] if self.first else []) + logs[:_MAX]

    def find(self, name: object) -> Log:
        """Returns the log of a name.

        Raises:
            WebError: There is none.
        """
        chosen = next((log for log in self.all() if log.name == name), None)
        if chosen is None:
            raise WebError(f"there is no log '{shown(name)}': choose one of the list")
        return chosen

    def place(self, name: str) -> Log:
        """Returns where an upload is kept: runs/tune_STEM/NAME, with a number if that is taken.

        Raises:
            WebError: It is not a log's name, or the folder cannot be made.
        """
        stem, dot, kind = Path(name).name.rpartition(".")
        kind = (dot + kind).lower()
        if kind not in KINDS or not stem:
            raise WebError(
                f"'{shown(name)}' is no log: give a file that ends with {', '.join(KINDS)}"
            )
        stem = re.sub(r"[^A-Za-z0-9._-]+", "_", stem)[:80].lstrip(".-") or "log"
        root = run_folder.runs_root()
        for number in range(1, 1000):
            unique = stem if number == 1 else f"{stem}-{number}"
            folder = root / f"tune_{unique}"
            path = folder / f"{unique}{kind}"
            if not path.exists():
                break
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise WebError(f"cannot write to '{folder}': {error.strerror}") from error
        return Log(str(path.relative_to(root)), path)


def check_beginning(name: str, data: bytes) -> None:
    """Refuses a file whose first bytes are not what its name says.

    Raises:
        WebError: Such a file.
    """
    if name.lower().endswith(".ulg") != data.startswith(_ULOG) or (
        b"\0" in data[:4096] and not data.startswith(_ULOG)
    ):
        raise WebError(f"'{shown(name)}' is neither a ULog that ends with .ulg nor a CSV as text")
