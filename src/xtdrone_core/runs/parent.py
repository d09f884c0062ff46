"""Processes that end with their parent, and nodes that can shut their roslaunch down cleanly."""

import contextlib
import ctypes
import os
import select
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator

_PR_SET_PDEATHSIG = 1  # option of prctl(2)
_libc = ctypes.CDLL(None, use_errno=True)
FAILED_S = 0.5  # wall time in which roslaunch sees that a required node has failed [s]
LINGER_S = 300.0  # wall time that a node waits for its roslaunch to end it [s]


def launched() -> bool:
    """Returns whether roslaunch started this process."""
    return any(word.startswith("__log:=") for word in sys.argv)


def launch() -> int | None:
    """Process of the roslaunch that started this process, or None."""
    return os.getppid() if launched() else None


def tied(
    number: int = signal.SIGKILL, then: Callable[[], object] | None = None
) -> Callable[[], None]:
    """Ties a child to this process, as preexec_fn of Popen: it ends with it, however that ends.

    The kernel sends the signal when the thread that started the child ends: it should be the
    main thread.

    Args:
        number: Signal that the child gets.
        then: Called in the child, too.
    """
    parent = os.getpid()

    def tie() -> None:
        _libc.prctl(_PR_SET_PDEATHSIG, int(number), 0, 0, 0)
        if os.getppid() != parent:  # it ended before the call took effect
            os._exit(1)
        if then is not None:
            then()

    return tie


def end(child: subprocess.Popen, seconds: float) -> None:
    """Ends a child that ends with its standard input; kills it after some seconds."""
    assert child.stdin is not None
    with contextlib.suppress(OSError):  # it has ended already
        child.stdin.close()
    try:
        child.wait(seconds)
    except subprocess.TimeoutExpired:
        child.kill()
        child.wait()


@contextlib.contextmanager
def interrupts_wait() -> Iterator[None]:
    """A Ctrl-C waits for the end of this block; Python loses one that comes while it forks.

    Outside of the main thread, which gets them, it does nothing.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    came: list[int] = []
    before = signal.signal(signal.SIGINT, lambda number, frame: came.append(number))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
    if came:
        signal.raise_signal(signal.SIGINT)


def end_with_launch() -> None:
    """Lets this process get SIGTERM when its roslaunch ends, even if it was killed.

    Does nothing in a process that roslaunch did not start: its parent may be a shell that
    is closed while the node should keep running.
    """
    if launched():
        _libc.prctl(_PR_SET_PDEATHSIG, int(signal.SIGTERM), 0, 0, 0)
        if os.getppid() == 1:  # it has ended already
            os.kill(os.getpid(), signal.SIGTERM)


def end_launch() -> None:
    """Ends the roslaunch that started this process, as Ctrl-C does.

    When a required node exits, roslaunch exits as well, but reports a failure in red. If a
    node has failed, that report comes first.
    """
    if launched():
        time.sleep(FAILED_S)
        os.kill(os.getppid(), signal.SIGINT)


class Signals:
    """Records whether this process has received a signal, whatever its handler."""

    def __init__(self) -> None:
        """Starts recording; call it in the main thread."""
        self._reader, writer = socket.socketpair()
        writer.setblocking(False)
        self._writer = writer  # kept: its number is used as long as the process lives
        signal.set_wakeup_fd(writer.fileno(), warn_on_full_buffer=False)

    def linger(self) -> None:
        """Waits for a signal; returns at once if one has been received.

        For a node that is done before its roslaunch; without roslaunch it does nothing.
        """
        if launched():
            with contextlib.suppress(KeyboardInterrupt):
                select.select([self._reader], [], [], LINGER_S)
