"""The results of a campaign as they come: results.jsonl, one line for each flight that has ended.

The file only grows, by whole lines, each written by one system call. A program that is killed
leaves at most one incomplete line, which the next one cuts off; so only the flights that were in
the air are lost. Of a flight that was flown again the last line holds.
"""

import fcntl
import json
import os
from pathlib import Path
from types import TracebackType
from typing import Any

from .errors import CampaignError
from .flight import STATUSES, Result

NAME = "results.jsonl"


class Journal:
    """The results in the folder of a campaign; use it in a `with` block.

    Attributes:
        results: Results by the index of the flight.
    """

    def __init__(self, folder: Path, flights: int) -> None:
        """Reads what is there, and keeps other programs from writing to it.

        Args:
            folder: Folder of the campaign.
            flights: Number of flights in its plan.

        Raises:
            CampaignError: Another program flies this campaign.
        """
        self._file = os.open(folder / NAME, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o666)
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            os.close(self._file)
            raise CampaignError(
                f"another program flies the campaign in '{folder}': wait for its "
                "end, or give --out another folder"
            ) from error
        except OSError:  # a file system without locks
            pass
        data = (folder / NAME).read_bytes()
        whole = data[: data.rfind(b"\n") + 1]
        if len(whole) < len(data):
            os.ftruncate(self._file, len(whole))
        self.results: dict[int, Result] = {}
        for line in whole.splitlines():
            self._take(line, flights)

    def __enter__(self) -> "Journal":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        os.close(self._file)

    def add(self, index: int, result: Result) -> None:
        """Appends the result of a flight; it is on the disk when this returns.

        Raises:
            OSError: The disk does not take it.
        """
        line = (
            json.dumps(
                {
                    "flight": index,
                    "status": result.status,
                    "reason": result.reason,
                    "figures": dict(result.figures),
                    "wall_s": result.wall_s,
                }
            )
            + "\n"
        )
        data = line.encode()
        size = os.fstat(self._file).st_size
        if os.write(self._file, data) < len(data):
            os.ftruncate(self._file, size)
            raise OSError(28, os.strerror(28), NAME)
        os.fsync(self._file)
        self.results[index] = result

    def _take(self, line: bytes, flights: int) -> None:
        """Reads a line; one that is none of ours, for example of a damaged disk, is left out."""
        try:
            row: Any = json.loads(line)
            index = row["flight"]
            result = Result(row["status"], row["reason"], row["figures"], row["wall_s"])
            if index in range(flights) and result.status in STATUSES:
                self.results[index] = result
        except (ValueError, KeyError, TypeError):
            return
