"""Nodes and the roslaunch that started them: they end with it, and can end it in good order."""

import contextlib
import os
import select
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable

PERIOD_S = 1.0  # between two looks [s, wall]
FAILED_S = 0.5  # wall time in which roslaunch sees that a required node has failed [s]
LINGER_S = 300.0  # wall time that a node waits for its roslaunch to end it [s]


def launched() -> bool:
    """Whether roslaunch started this process."""
    return any(word.startswith("__log:=") for word in sys.argv)


def watch(end: Callable[[], object]) -> None:
    """Calls end(), in a thread of its own, once the roslaunch of this process has gone.

    Does nothing in a process that roslaunch did not start: its parent may be a shell that somebody
    closes while the node is meant to go on.
    """
    if not launched():
        return
    parent = os.getppid()

    def look() -> None:
        while os.getppid() == parent:
            time.sleep(PERIOD_S)
        end()

    threading.Thread(target=look, daemon=True).start()


def end_launch() -> None:
    """Ends the roslaunch that started this process, as Ctrl-C does.

    By the end of a required node roslaunch ends as well, but reports a failure in red. Where a
    node has failed, this report comes first.
    """
    if launched():
        time.sleep(FAILED_S)
        os.kill(os.getppid(), signal.SIGINT)


class Signals:
    """Knows whether a signal has come to this process, whoever handles it."""

    def __init__(self) -> None:
        """From now on; in the main thread."""
        self._reader, writer = socket.socketpair()
        writer.setblocking(False)
        self._writer = writer  # kept: its number is used as long as the process lives
        signal.set_wakeup_fd(writer.fileno(), warn_on_full_buffer=False)

    def linger(self) -> None:
        """Waits until a signal comes, or returns at once where one has come.

        For a node that is done before its roslaunch; does nothing without one.
        """
        if launched():
            with contextlib.suppress(KeyboardInterrupt):
                select.select([self._reader], [], [], LINGER_S)
