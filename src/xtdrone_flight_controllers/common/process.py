"""A real flight stack in a process of its own, which ends with the simulation."""

import ctypes
import os
import resource
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from xtdrone_autopilot.errors import AutopilotError
from xtdrone_core.runs.parent import tied

_STOP_S = 2.0  # wall time from SIGTERM to SIGKILL, to close its log [s]
_PR_CAPBSET_DROP, _CAP_SYS_NICE = 24, 23
_libc = ctypes.CDLL(None, use_errno=True)


class PeerProcess:
    """One running flight stack, in its own process group and its own folder.

    Attributes:
        work: Its folder.
        console: The file of what it prints.
    """

    def __init__(self, what: str, name: str, folder: Path | None, start: int = 1):
        """Makes the folder; run() starts it.

        Args:
            what: The flight stack, as messages and folders name it.
            name: Name of the vehicle.
            folder: Run folder for console and logs; None = a temporary one, deleted by stop().
            start: Number of this start in the run, from 1; each start has its own folder.
        """
        self._what = what
        self._temporary: Path | None = None
        self._process: subprocess.Popen | None = None
        if folder is None:
            parent = self._temporary = Path(tempfile.mkdtemp(prefix=f"xtdrone-{what.lower()}-"))
        else:
            parent = folder / what.lower()
        self.work = parent / (name if start == 1 else f"{name}.{start}")
        self.work.mkdir(parents=True, exist_ok=True)
        self.console = (folder / "console" if folder is not None else self.work) / f"{name}.log"

    def keep_logs(self, link: str, logs: Path) -> None:
        """Makes a folder of the working folder a link to one that stays."""
        logs.mkdir(parents=True, exist_ok=True)
        (self.work / link).symlink_to(logs.absolute())

    def run(self, command: Sequence[object], environment: Mapping[str, str]) -> None:
        """Starts the process in its folder.

        Raises:
            AutopilotError: The operating system cannot start it.
        """
        with open(self.console, "ab") as console:
            try:
                self._process = subprocess.Popen(
                    list(map(str, command)),
                    stdin=subprocess.DEVNULL,
                    stdout=console,
                    stderr=subprocess.STDOUT,
                    start_new_session=True,
                    cwd=self.work,
                    env={**os.environ, **environment},
                    preexec_fn=tied(then=_confine),
                )
            except (OSError, subprocess.SubprocessError) as error:
                raise AutopilotError(
                    f"cannot start {self._what} '{command[0]}': {error}"
                ) from error

    @property
    def pid(self) -> int:
        """Process id, which is also the id of its process group."""
        return self._running.pid

    @property
    def _running(self) -> subprocess.Popen:
        """The process, which run() has started."""
        assert self._process is not None
        return self._process

    def end(self) -> str:
        """Describes the end of the process for a message; empty while it runs."""
        status = self._running.poll()
        if status is None:
            return ""
        if status < 0:
            return f"was ended by {signal.Signals(-status).name}"
        lines = [line.strip() for line in self.console.read_text(errors="replace").splitlines()]
        last = next((line for line in reversed(lines) if line), "it said nothing")
        return f"ended with status {status}: {last} (its console: {self.console})"

    def stop(self, wait: bool = True) -> None:
        """Ends the process and its children; may be called twice.

        Args:
            wait: False only sends SIGTERM, so that a whole fleet shuts down in parallel; then
                call stop() again for each.
        """
        if self._process is not None and self._process.poll() is None:
            self._signal(signal.SIGTERM)
            if not wait:
                return
            try:
                self._process.wait(_STOP_S)
            except subprocess.TimeoutExpired:
                pass
        if wait and self._process is not None:
            self._signal(signal.SIGKILL)
            self._process.wait()
            if self._temporary is not None:
                shutil.rmtree(self._temporary, ignore_errors=True)

    def _signal(self, number: signal.Signals) -> None:
        try:
            os.killpg(self._running.pid, number)
        except ProcessLookupError:
            pass


def stop_all(processes: Sequence[PeerProcess]) -> None:
    """Stops several processes side by side, and waits for them."""
    for process in processes:
        process.stop(wait=False)
    for process in processes:
        process.stop()


def find_binary(path: str, variable: str, what: str, inner: str, allowed: str) -> Path | None:
    """Finds the program of a flight stack that a scenario or the environment names.

    Args:
        path: Of the program, or of its build folder; empty = the environment variable.
        variable: Name of that.
        what: The flight stack, for messages.
        inner: The program's place in the build folder, a glob pattern; the last one in order.
        allowed: What may be given, for messages.

    Returns:
        The program; None if neither names one.

    Raises:
        AutopilotError: There is no such program.
    """
    given = path or os.environ.get(variable, "")
    if not given:
        return None
    place = Path(given).expanduser().absolute()
    binaries = [place] if place.is_file() else sorted(place.glob(inner))
    if not binaries or not binaries[-1].is_file():
        raise AutopilotError(f"no {what} at '{given}': give {allowed}")
    if not os.access(binaries[-1], os.X_OK):
        raise AutopilotError(f"'{binaries[-1]}' is not executable: chmod +x it, or give another")
    return binaries[-1].resolve()


def _confine() -> None:
    """Runs in the child: denies real-time priority."""
    _libc.prctl(_PR_CAPBSET_DROP, _CAP_SYS_NICE, 0, 0, 0)
    resource.setrlimit(resource.RLIMIT_RTPRIO, (0, 0))
