"""A process beside a simulation, such as the server of the page.

It reads one line of JSON from its standard input, prints "ready", and ends when its standard input
does. What it prints to its standard error goes to the simulation's log, and so does its end where
nobody asked for it.
"""

import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping
from typing import Any

from ..errors import ControlError
from .parent import end, tied

_CLOSE_S = 3.0  # wall time in which the process has to end [s]


class Companion:
    """Starts the process, wakes it and ends it."""

    def __init__(self, module: str, description: Mapping[str, Any], log: Callable[[str], None]):
        """Starts the process and waits until it is ready.

        Args:
            module: The module that Python runs.
            description: Plain data for the process, such as the vehicles of the simulation.
            log: Called in another thread with each line that the process prints later.

        Raises:
            ControlError: It ended instead; the message is its last line.
        """
        process = subprocess.Popen(
            [sys.executable, "-m", module],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            preexec_fn=tied(),
            env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        )
        self._process: subprocess.Popen | None = process
        self.pid = process.pid
        assert process.stdin is not None and process.stdout is not None
        assert process.stderr is not None
        try:
            process.stdin.write(json.dumps(description).encode() + b"\n")
            process.stdin.flush()
            answer = process.stdout.readline()
        except BrokenPipeError:
            answer = b""
        if answer != b"ready\n":
            lines = process.stderr.read().decode(errors="replace").strip().splitlines()
            self.close()
            raise ControlError(lines[-1] if lines else "no reason was given")
        self._input = process.stdin.fileno()
        os.set_blocking(self._input, False)
        threading.Thread(target=self._forward, args=(process, log), daemon=True).start()

    def wake(self) -> None:
        """Sends a byte, so that the process looks at the shared memory; never waits."""
        if self._process is not None:
            try:
                os.write(self._input, b"\n")
            except (BlockingIOError, BrokenPipeError):  # it is awake, or gone
                pass

    def close(self) -> int | None:
        """Ends the process; returns its exit status, or None if it was closed before."""
        process, self._process = self._process, None
        if process is None:
            return None
        end(process, _CLOSE_S)
        return process.returncode

    def _forward(self, process: subprocess.Popen, log: Callable[[str], None]) -> None:
        assert process.stderr is not None
        for line in process.stderr:
            log(line.decode(errors="replace").rstrip())
        if self._process is process:  # nobody has asked for its end
            status = process.wait()
            log(f"its process has ended with exit status {status}: nothing comes from it any more")
