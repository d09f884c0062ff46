"""Runners: they call one function for each of many tasks, and yield what it returns.

A runner is a class with run(tasks), see Runner. The function and its tasks are sent to other
processes by pickle, so the function stands at the top of a module.
"""

import os
import signal
import socket
import subprocess
import sys
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any, Protocol

from xtdrone_core.runs.parent import interrupts_wait, tied
from xtdrone_core.runs.ports import INSTANCES, VARIABLE, default_instance

from .errors import CampaignError

# A process computes on one thread: more of them would only wait for each other.
ONE_THREAD = dict.fromkeys(
    ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"), "1"
)
_MAX_ATTEMPTS = 2  # attempts at a task whose process is killed
_TAIL_LENGTH = 300  # characters of a console in a message


@dataclass(frozen=True)
class Done:
    """Result of a task."""

    index: int  # task number
    value: Any = None  # what the function returned
    error: str = ""  # one line, where it did not return


class Runner(Protocol):
    """Calls its function for each task, in any order."""

    def run(self, tasks: Sequence[object]) -> Iterator[Done]:
        """Yields each task when it is done.

        When the iterator is closed, or an exception passes through it, nothing runs any more.
        """
        ...


class ProcessRunner:
    """Worker processes on this machine; each keeps what it has loaded from task to task."""

    def __init__(
        self,
        function: Callable[[Any], object],  # takes a task, of any kind
        workers: int,
        time_out_s: float,
        console: Path | None = None,
    ) -> None:
        """Starts nothing yet.

        Args:
            function: Takes one task.
            workers: Number of processes.
            time_out_s: Wall time after which a task is given up [s].
            console: Folder for what the workers print; None discards it.
        """
        self._function, self._count, self._time_out_s = function, workers, time_out_s
        self._console = console

    def run(self, tasks: Sequence[object]) -> Iterator[Done]:
        """Yields each task when it is done; see Runner.run().

        Raises:
            CampaignError: A worker cannot start.
        """
        waiting = deque(range(len(tasks)))
        lost = [0] * len(tasks)  # how often its process was killed
        workers: list[_Worker] = []
        try:
            for k in range(min(self._count, len(tasks))):
                workers.append(_Worker(k, self._function, self._console))
            while waiting or any(worker.task is not None for worker in workers):
                for worker in workers:
                    if worker.task is None and worker.ready and waiting:
                        worker.give(waiting.popleft(), tasks)
                for worker in self._due(workers):
                    index = worker.task
                    try:
                        value = worker.receive()
                    except (EOFError, OSError):
                        reason = worker.end()
                        if not worker.ready:
                            raise CampaignError(f"a worker cannot start: {worker.tail()}") from None
                        workers[workers.index(worker)] = _Worker(
                            worker.number, self._function, self._console
                        )
                        if index is None:
                            continue
                        if worker.timed_out:
                            yield Done(
                                index, error=f"no end after {self._time_out_s:g} s of wall time"
                            )
                            continue
                        lost[index] += 1
                        if lost[index] < _MAX_ATTEMPTS:
                            waiting.appendleft(index)
                        else:
                            yield Done(
                                index,
                                error=f"its process ended {_MAX_ATTEMPTS} times, the "
                                f"last time by {reason}",
                            )
                        continue
                    if index is not None:
                        yield Done(index, value)
        finally:
            for worker in workers:
                worker.end()

    def _due(self, workers: list["_Worker"]) -> list["_Worker"]:
        """Waits for workers that have something to say; those that took too long are ended."""
        now = time.monotonic()
        left = min(
            (
                worker.since + self._time_out_s - now
                for worker in workers
                if worker.task is not None
            ),
            default=self._time_out_s,
        )
        due = wait([worker.link for worker in workers], timeout=max(0.0, left))
        for worker in workers:
            if (
                worker.task is not None
                and worker.link not in due
                and time.monotonic() - worker.since > self._time_out_s
            ):
                worker.timed_out = True
                worker.kill()
                due.append(worker.link)
        return [worker for worker in workers if worker.link in due]


class _Worker:
    """One process; see worker.py for its side."""

    def __init__(self, number: int, function: Callable[..., object], console: Path | None) -> None:
        self.number, self.task, self.ready, self.timed_out = number, None, False, False
        self.since = time.monotonic()
        self._log = Path(os.devnull) if console is None else console / f"worker_{number}.log"
        own, other = socket.socketpair()
        self.link = Connection(own.detach())
        instance = (default_instance() + number) % INSTANCES  # ports of its own, for PX4, Gazebo
        with open(self._log, "ab") as log, interrupts_wait():
            self.process = subprocess.Popen(
                [sys.executable, "-m", f"{__package__}.worker", str(other.fileno())],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                pass_fds=[other.fileno()],
                preexec_fn=tied(then=_ignore_interrupts),
                env={
                    **os.environ,
                    **ONE_THREAD,
                    VARIABLE: str(instance),
                    "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
                },
            )
        other.close()
        self.link.send(function)

    task: int | None

    def give(self, index: int, tasks: Sequence[object]) -> None:
        """Begins a task."""
        self.task, self.since = index, time.monotonic()
        try:
            self.link.send(tasks[index])
        except OSError:  # it has ended: the next receive() says so
            pass

    def receive(self) -> Any:  # any object that can be pickled
        """Returns what the function returned; the first answer says that it is loaded.

        Raises:
            EOFError, OSError: The process has ended.
        """
        value = self.link.recv()
        if not self.ready:
            self.ready = True
        self.task = None
        return value

    def kill(self) -> None:
        """Ends the process at once."""
        self.process.kill()

    def end(self) -> str:
        """Ends the process; says what had ended it before."""
        self.kill()
        status = self.process.wait()
        self.link.close()
        return signal.Signals(-status).name if status < 0 else f"exit status {status}"

    def tail(self) -> str:
        """Returns the end of what it printed."""
        text = self._log.read_text(errors="replace") if self._log.is_file() else ""
        return " ".join(text.split())[-_TAIL_LENGTH:] or "it printed nothing"


def _ignore_interrupts() -> None:
    """Ignores Ctrl-C, which goes to all processes of a terminal; the starter ends a worker."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
