"""`xtdrone fly teleoperation` with the gains that were found, as a process of its own."""

import asyncio
import re
import shlex
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ..errors import WebError
from .worker import Worker

Message = dict[str, Any]  # message to pages, with its op: values for JSON
_PATIENCE_S = 30.0  # time that a flight gets to write its summary and plots [s]


def words(log: Path, gains: Path) -> list[str]:
    """Returns the words of the command line, after xtdrone."""
    return [
        "fly",
        "teleoperation",
        "--vehicle",
        "tello",
        "--sticks",
        str(log),
        "--gains",
        str(gains),
        "--web",
        "true",
        "--speed",
        "1",
    ]


def command_line(given: list[str]) -> str:
    """Returns a line to copy into a shell."""
    return shlex.join(["xtdrone", *given])


class Flight:
    """A runner of flights, at most one at a time."""

    def __init__(self, tell: Callable[[Message], object], instance: int):
        """Takes what gets {"op": "flight", ...} at each change, and the simulation's instance."""
        self._tell, self._instance = tell, instance
        self._worker: Worker | None = None
        self._task: asyncio.Task[None] | None = None

    async def start(self, log: Path, gains: Path) -> None:
        """Starts it; pages get the link of its page once it is there.

        Raises:
            WebError: One is under way.
        """
        if self._worker is not None:
            raise WebError("a flight is under way: end it first")
        self._worker = Worker([*words(log, gains), "--instance", str(self._instance)])
        self._tell({"op": "flight", "running": True})
        self._task = asyncio.create_task(self._run(self._worker))

    async def _run(self, worker: Worker) -> None:
        try:
            await worker.run(self._line)
            self._tell({"op": "flight", "running": False})
        except WebError as error:
            self._tell({"op": "flight", "running": False, "error": str(error)})
        finally:
            self._worker = None

    def _line(self, line: str) -> None:
        if match := re.match(r"page: (\S+)$", line):
            self._tell({"op": "flight", "running": True, "url": match[1]})

    async def end(self) -> None:
        """Ends it as Ctrl-C does, so that its run folder is whole."""
        if self._worker is not None:
            await self._worker.cancel(signal.SIGINT, _PATIENCE_S)
        if self._task is not None:
            await self._task
