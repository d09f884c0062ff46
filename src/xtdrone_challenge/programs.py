"""Teams that are programs of their own: how they are named, started and ended."""

import ctypes
import os
import resource
import shlex
import shutil
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import psutil

from xtdrone_core.errors import shown
from xtdrone_core.runs.parent import tied

from .declarations import DOORS
from .errors import ChallengeError

LARGEST_FILE, MOST_MEMORY, NICENESS = 256 << 20, 8 << 30, 5  # [bytes], [bytes], of nice(2)
_END_S = 2.0  # wall time from SIGTERM to SIGKILL [s]
_PR_SET_CHILD_SUBREAPER = 36  # option of prctl(2)
_libc = ctypes.CDLL(None, use_errno=True)


@dataclass(frozen=True)
class Program:
    """A team's program.

    Attributes:
        door: By what it flies: mavlink, ros1 or ros2.
        words: Its command, for execve(2): no shell reads it.
        files: Those of the words that are files, for the digest of the team's source.
    """

    door: str
    words: tuple[str, ...]
    files: tuple[Path, ...]


def program_of(team: str) -> Program | None:
    """Reads DOOR:COMMAND; None for a team that is an Agent.

    Raises:
        ChallengeError: There is no such program.
    """
    door, _, command = team.partition(":")
    if door not in DOORS:
        return None
    try:
        words = shlex.split(command)
    except ValueError as error:
        raise ChallengeError(f"team '{shown(team)}' cannot be split: {error}") from error
    if not words:
        raise ChallengeError(
            f"team '{shown(team)}' has no command: give {door}:COMMAND, such as {door}:my_team.py"
        )
    starter = _starter(words[0])
    if starter and not Path(words[0]).is_file():
        raise ChallengeError(f"team '{shown(team)}': there is no file '{shown(words[0])}'")
    whole = [*starter, *words]
    if shutil.which(whole[0]) is None:
        raise ChallengeError(
            f"team '{shown(team)}': there is no program '{shown(whole[0])}' here; give a file "
            ".py, .launch or .launch.py, or a program that can be executed"
        )
    return Program(door, tuple(whole), tuple(Path(word) for word in words if Path(word).is_file()))


def _starter(first: str) -> list[str]:
    """What starts a file: Python, roslaunch or ros2 launch; nothing for a program."""
    if first.endswith(".launch.py"):
        return ["ros2", "launch"]
    if first.endswith(".launch"):
        return ["roslaunch"]
    return [sys.executable] if first.endswith(".py") else []


class Processes:
    """Processes that end together, with all that they have started.

    What a process starts and leaves behind, in a session of its own even, becomes a child of this
    process, and is ended as well.
    """

    def __init__(self) -> None:
        """Counts what is there already, which stays."""
        _libc.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
        self._before = {child.pid for child in _children()}
        self._started: list[subprocess.Popen[bytes]] = []

    def start(
        self,
        words: Sequence[object],
        environment: Mapping[str, str],
        console: Path,
        limited: bool = False,
    ) -> subprocess.Popen[bytes]:
        """Starts a process in a session of its own.

        Args:
            words: Its command.
            environment: Its variables beside those of this process.
            console: File of what it prints.
            limited: Whether memory and files are limited, and this process comes first.

        Raises:
            ChallengeError: The operating system cannot start it.
        """
        try:
            with console.open("wb") as out:
                process = subprocess.Popen(
                    list(map(str, words)),
                    stdin=subprocess.DEVNULL,
                    stdout=out,
                    stderr=subprocess.STDOUT,
                    env={**os.environ, **environment},
                    start_new_session=True,
                    preexec_fn=tied(then=_limit if limited else None),
                )
        except (OSError, subprocess.SubprocessError) as error:
            raise ChallengeError(f"'{words[0]}' cannot be started: {error}") from error
        self._started.append(process)
        return process

    def close(self) -> None:
        """Ends them all: SIGTERM, and after a while SIGKILL. May be called twice."""
        for process in self._started:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGTERM)
        psutil.wait_procs(self._left(), timeout=_END_S)
        while left := self._left():
            for child in left:
                with suppress(psutil.NoSuchProcess):
                    child.kill()
            psutil.wait_procs(left, timeout=_END_S)
        for process in self._started:
            process.wait()
        self._started.clear()

    def _left(self) -> list[psutil.Process]:
        return [child for child in _children() if child.pid not in self._before]


def _children() -> list[psutil.Process]:
    """All descendants of this process."""
    return psutil.Process().children(recursive=True)


def _limit() -> None:
    """Limits this process, which is about to become a team's."""
    os.nice(NICENESS)
    for kind, most in (
        (resource.RLIMIT_FSIZE, LARGEST_FILE),
        (resource.RLIMIT_DATA, MOST_MEMORY),
        (resource.RLIMIT_CORE, 0),
    ):
        _, hard = resource.getrlimit(kind)
        most = most if hard == resource.RLIM_INFINITY else min(most, hard)
        resource.setrlimit(kind, (most, most))
