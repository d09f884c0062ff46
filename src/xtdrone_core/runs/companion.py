"""A process beside a simulation, such as the browser station's server: started, heard, ended.

It reads one line of JSON from its standard input, says "ready", and ends when its standard input
does. What else it says goes to the simulation's log.
"""

import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable
from typing import IO, Any

from ..errors import ControlError
from .parent import end, tied

_CLOSE_S = 3.0  # wall time that it gets to close [s]


class Companion:
    """The simulation's end of one."""

    def __init__(self, module: str, told: Any, log: Callable[[str], None]):
        """Starts it and waits until it is ready.

        Args:
            module: What Python runs.
            told: Plain data for it.
            log: Called with each line that it says later, in a thread of its own.

        Raises:
            ControlError: It ended instead; the message is the last line that it said.
        """
        self._process: subprocess.Popen | None = subprocess.Popen(
            [sys.executable, "-m", module],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            preexec_fn=tied(),
            env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        )
        process = self._process
        assert process.stdin is not None and process.stdout is not None
        assert process.stderr is not None
        try:
            process.stdin.write(json.dumps(told).encode() + b"\n")
            process.stdin.flush()
            said = process.stdout.readline()
        except BrokenPipeError:
            said = b""
        if said != b"ready\n":
            why = process.stderr.read().decode(errors="replace").strip().splitlines()
            self.close()
            raise ControlError(why[-1] if why else "no reason was given")
        self._input = process.stdin.fileno()
        os.set_blocking(self._input, False)
        threading.Thread(target=_pass_on, args=(process.stderr, log), daemon=True).start()

    def wake(self) -> None:
        """Sends a byte, so that it looks at what it shares with this process; never waits."""
        if self._process is not None:
            try:
                os.write(self._input, b"\n")
            except (BlockingIOError, BrokenPipeError):  # it is awake, or gone
                pass

    def close(self) -> None:
        """Ends it. May be called twice."""
        process, self._process = self._process, None
        if process is not None:
            end(process, _CLOSE_S)


def _pass_on(stream: IO[bytes], log: Callable[[str], None]) -> None:
    for line in stream:
        log(line.decode(errors="replace").rstrip())
