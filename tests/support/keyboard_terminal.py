"""XTDrone's keyboard in a pseudo-terminal, for tests of ROS 1 and ROS 2."""

import os
import pty
import select
import signal
import subprocess
import termios
import time

from waiting import until


class Keyboard:
    """The keyboard, or a launch file with it, behind a pseudo-terminal."""

    def __init__(self, env, *command):
        self.master, self._slave = pty.openpty()
        self.before = termios.tcgetattr(self._slave)
        self.process = subprocess.Popen(
            list(map(str, command)),
            stdin=self._slave,
            stdout=self._slave,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
            env=dict(env, COLUMNS="100", LINES="40"),
        )
        self._text = ""

    def screen(self) -> str:
        """The newest whole screen."""
        while select.select([self.master], [], [], 0.05)[0]:
            self._text += os.read(self.master, 65536).decode(errors="replace")
        self._text = self._text[-20000:]
        whole = self._text.split("\x1b[H")
        return whole[-2] if len(whole) > 2 else ""

    def press(self, keys: str) -> None:
        os.write(self.master, keys.encode())

    def wait(self, what, condition):
        try:
            until(lambda: condition(self.screen()), what, self.process)
        except AssertionError as error:
            if self.process.poll() is not None:
                raise AssertionError(self.process.stderr.read()) from error
            raise AssertionError(f"{error}:\n{self.screen()}") from error

    def arm(self, n):
        def armed(text):
            if f"{n} armed" not in text:  # refused until the estimates have settled
                self.press("t")
                time.sleep(1.0)
            return f"{n} armed" in text

        self.wait("all are armed", armed)

    def restored(self) -> bool:
        """Whether the terminal is as it was."""
        return termios.tcgetattr(self._slave)[3] == self.before[3]

    def close(self):
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        self.process.stderr.close()
        os.close(self.master)
        os.close(self._slave)
