"""Nodes and the roslaunch that started them: they end with it, and can shut it down cleanly."""

import contextlib
import os
import select
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable

PERIOD_S = 1.0  # of the check [s, wall time]
FAILED_S = 0.5  # wall time in which roslaunch sees that a required node has failed [s]
LINGER_S = 300.0  # wall time that a node waits for its roslaunch to end it [s]


def launched() -> bool:
    """Whether roslaunch started this process."""
    return any(word.startswith("__log:=") for word in sys.argv)


def watch(end: Callable[[], object]) -> None:
    """Calls end(), in a separate thread, once the roslaunch of this process has ended.

    Does nothing in a process that roslaunch did not start: its parent may be a shell that
    is closed while the node should keep running.
    """
    if not launched():
        return
    parent = os.getppid()

    def poll() -> None:
        while os.getppid() == parent:
            time.sleep(PERIOD_S)
        end()

    threading.Thread(target=poll, daemon=True).start()


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
