"""The keyboard's terminal: keys in, screen out; the same for ROS 1 and ROS 2."""

import os
import select
import shutil
import signal
import sys
import termios
import time
import tty
from collections.abc import Callable, Iterable

from .errors import ControlNodeError
from .keyboard import Teleop

REPEAT_S = 0.1  # time between two messages of a motion [s, wall]
DRAW_S = 0.2  # time between two screens [s, wall]
HOME, END_OF_LINE, END_OF_SCREEN = "\x1b[H", "\x1b[K", "\x1b[J"
HIDE_CURSOR, SHOW_CURSOR, CLEAR = "\x1b[?25l", "\x1b[?25h", "\x1b[2J"


class Terminal:
    """The terminal in cbreak mode; restored at the end."""

    def __enter__(self) -> "Terminal":
        self._fd = sys.stdin.fileno()
        self._before = termios.tcgetattr(self._fd)
        tty.setcbreak(self._fd)
        sys.stdout.write(HIDE_CURSOR + CLEAR)
        return self

    def __exit__(self, *_: object) -> None:
        termios.tcsetattr(self._fd, termios.TCSADRAIN, self._before)
        sys.stdout.write(SHOW_CURSOR + "\n")
        sys.stdout.flush()

    def keys(self, timeout: float) -> str:
        """Returns the keys pressed within the time-out [s]; Ctrl-D if the terminal is closed."""
        if not select.select([self._fd], [], [], timeout)[0]:
            return ""
        return os.read(self._fd, 64).decode(errors="ignore") or "\x04"

    def draw(self, lines: Iterable[str]) -> None:
        """Shows lines from the top."""
        sys.stdout.write(
            HOME + "".join(line + END_OF_LINE + "\n" for line in lines) + END_OF_SCREEN
        )
        sys.stdout.flush()


def require(command: str) -> None:
    """Checks that standard input is a terminal.

    Raises:
        ControlNodeError: It is none; command is what starts the keyboard in one.
    """
    if not sys.stdin.isatty():
        raise ControlNodeError(f"the keyboard needs a terminal: start it with {command} in one")


def control(teleop: Teleop, leader: Callable[[], str], ended: Callable[[], bool]) -> None:
    """Reads keys, repeats the motion and draws, until the user quits.

    Args:
        teleop: Takes the keys.
        leader: The last line of /xtdrone/leader/info.
        ended: Whether there is nothing to control any more.
    """
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda *_: teleop.quit())
    repeat = draw = time.monotonic()
    with Terminal() as terminal:
        while not (teleop.done or ended()):
            for key in terminal.keys(0.02):
                teleop.key(key)
            now = time.monotonic()
            if now >= repeat:
                repeat = now + REPEAT_S
                teleop.repeat()
            if now >= draw:
                draw = now + DRAW_S
                size = shutil.get_terminal_size()
                terminal.draw(teleop.screen(size.columns, size.lines, leader()))
    time.sleep(0.3)  # so that the last HOVER leaves the publishers' queues
