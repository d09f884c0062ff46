"""A command of xtdrone in a process of its own: its lines, its one line of error, its end."""

import asyncio
import contextlib
import json
import re
import signal
import sys
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any

from xtdrone_core.runs.parent import tied

from ..errors import WebError

_MAX_LINE = 1 << 24  # longest line of its output [bytes]
_PATIENCE_S = 5.0  # time that a process gets to end [s]


class Worker:
    """Runs one command; it ends with this process, however that ends."""

    def __init__(self, words: Sequence[str]):
        """Takes the words of the command line, after xtdrone."""
        self._words = words
        self._process: asyncio.subprocess.Process | None = None
        self._cancelled = False

    @property
    def pid(self) -> int | None:
        """Number of the process, once it has begun."""
        return None if self._process is None else self._process.pid

    async def run(self, take: Callable[[str], object]) -> bool:
        """Runs it to its end; take() gets each line of its output.

        Returns:
            Whether it ended by itself, and was not cancelled.

        Raises:
            WebError: It failed; the message is its own.
        """
        if self._cancelled:
            return False
        self._process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-m",
            "xtdrone_core.command",
            *self._words,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            limit=_MAX_LINE,
            start_new_session=True,
            preexec_fn=tied(signal.SIGKILL),
        )
        errors: deque[str] = deque(maxlen=5)
        try:
            if self._cancelled:  # while it began
                return False
            await asyncio.gather(
                _lines(self._process.stdout, take), _lines(self._process.stderr, errors.append)
            )
            status = await self._process.wait()
        finally:
            await self._end(self._process, signal.SIGKILL, _PATIENCE_S)
        if self._cancelled:
            return False
        if status != 0:
            why = errors[-1] if errors else f"it ended with status {status}"
            raise WebError(re.sub(r"^xtdrone( \w+)?: (error: )?", "", why))
        return True

    async def cancel(
        self, number: signal.Signals = signal.SIGTERM, patience_s: float = _PATIENCE_S
    ) -> None:
        """Ends it with a signal, kills it after some seconds, returns when it has ended."""
        self._cancelled = True
        if self._process is not None:
            await self._end(self._process, number, patience_s)

    async def _end(
        self, process: asyncio.subprocess.Process, number: signal.Signals, patience_s: float
    ) -> None:
        if process.returncode is not None:
            return
        with contextlib.suppress(ProcessLookupError):
            process.send_signal(number)
        try:
            await asyncio.wait_for(asyncio.shield(process.wait()), patience_s)
        except asyncio.TimeoutError:
            with contextlib.suppress(ProcessLookupError):
                process.kill()
            await process.wait()


async def _lines(stream: asyncio.StreamReader | None, take: Callable[[str], object]) -> None:
    assert stream is not None  # it is a pipe
    async for line in stream:
        if text := line.decode(errors="replace").strip():
            take(text)


def message(line: str) -> dict[str, Any]:
    """Returns a line of JSON with an op; {} for another line."""
    try:
        data = json.loads(line)
    except ValueError:
        return {}
    return data if isinstance(data, dict) and isinstance(data.get("op"), str) else {}
