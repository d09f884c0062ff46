#!/usr/bin/env python3
"""Types the commands of the manual that its own test does not run, each in a terminal of its own.

    python tests/first_hour/walk.py [PAGE ...]

A command passes if it ends with status 0, or goes on until Ctrl-C and then ends with 0 or 130, and
shows no traceback. For how long one may go on, and which blocks are left out, says the reason that
stands in the page, `<!-- not run: why -->`. Prints a line on each; status 1 where one failed.
"""

import argparse
import fcntl
import os
import re
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import termios
import time
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests/integration"), str(ROOT / "tests/support")]

from test_documentation import PAGES, blocks  # noqa: E402

# Beginning of a reason -> seconds until Ctrl-C, or None where the block is left out.
PLANS = {
    "they go on until Ctrl-C": 20,
    "they would not end": 20,
    "it would not end": 20,
    "windows": 20,
    "ROS has": 30,
    "ROS, and windows": 90,
    "minutes": 60,
    "half a minute": 120,
    "a minute": 120,
    "needs a running simulation": 30,
    "needs a rosbag": 60,
    "needs a recorded dataset": 120,
    "the tests of the examples": 120,
    # The others need what a bare machine has not, or are steps of first_hour.sh.
    "these tests themselves": None,
    "the whole demonstration": None,
    "it would set up": None,
    "it takes some seconds": 60,
    "it learns for": None,
    "it takes ten minutes": None,
    "ten minutes": None,
    "it needs the extra": None,
    "the files of your own": None,
    "the log of your own": None,
    "Gazebo": None,
    "downloads": None,
    "three terminals": None,
    "your node": None,
    "it needs two runs": None,
    "they want": None,
    "it wants": None,
    "goes on until": 20,
    "two minutes of training": None,
    "needs ": None,
}
SIMULATION = "needs a running simulation"
BESIDE = ("in one terminal", "in another terminal")  # comments of what the next commands need
FIRST_S = 20  # that such a command gets before the next one
END_S = 60  # that a command may take to end after Ctrl-C
_STATE = re.compile(r'\. |export |\(umask |[A-Za-z_]\w*=("[^"]*"|\S*)$')  # kept for later commands


@dataclass(frozen=True)
class Command:
    """A command of a page."""

    page: str
    why: str
    line: str  # without its comment
    state: tuple  # lines before it, such as `export NAME=VALUE`
    stays: bool  # in a terminal beside the next ones

    @property
    def plan(self):
        """Seconds until Ctrl-C; None: left out."""
        for begin, seconds in PLANS.items():
            if self.why.startswith(begin):
                return seconds
        raise ValueError(f"{self.page}: give PLANS a row for 'not run: {self.why}'")


def commands(page):
    """Lists of commands, one for each block of the shell that is not run by the manual's test."""
    state = []
    for block in blocks(page):
        if block.language != "sh":
            continue
        found = []
        for text in block.code.replace("\\\n", " ").splitlines():
            line, _, comment = (part.strip() for part in text.partition("  #"))
            if _STATE.match(line):
                state.append(line)
            elif line and not line.startswith("#") and block.why:
                found.append(
                    Command(
                        page.name,
                        block.why,
                        line,
                        tuple(state),
                        any(words in comment for words in BESIDE),
                    )
                )
        if found:
            yield found


class Terminal:
    """A command in a pseudo-terminal, in a session of its own."""

    def __init__(self, line, state=()):
        self._master, slave = os.openpty()
        self.text, self.begin = "", time.monotonic()
        script = "\n".join([*state, f"exec {line}" if re.match(r"[\w./]+ ", line) else line])

        def own():
            os.setsid()
            fcntl.ioctl(slave, termios.TIOCSCTTY, 0)

        self.process = subprocess.Popen(
            ["bash", "-c", script],
            cwd=ROOT,
            stdin=slave,
            stdout=slave,
            stderr=slave,
            preexec_fn=own,
        )
        os.close(slave)

    def read(self, seconds):
        """Reads until the command ends, at most so long; returns whether it has ended."""
        end = time.monotonic() + seconds
        while self.process.poll() is None and time.monotonic() < end:
            self._take(0.2)
        while self._take(0.0):
            pass
        return self.process.poll() is not None

    def _take(self, seconds):
        if not select.select([self._master], [], [], seconds)[0]:
            return False
        try:
            data = os.read(self._master, 65536)
        except OSError:  # nobody writes any more
            return False
        self.text += data.decode(errors="replace")
        return bool(data)

    def interrupt(self):
        """Ends it as a user does; returns its status."""
        for key in (b"\x03", b"\x03"):
            if self.process.poll() is None:
                os.write(self._master, key)
            if self.read(END_S):
                break
        else:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.text += "\n(did not end after Ctrl-C)"
        os.close(self._master)
        return self.process.wait()

    def finish(self, seconds):
        """(How it ended, whether that is right), after at most so long."""
        ended = self.read(seconds)
        status = self.interrupt()
        right = status == 0 if ended else status in (0, 130, -signal.SIGINT)
        if "Traceback (most recent" in self.text:
            return "traceback", False
        return f"{'status' if ended else 'Ctrl-C, status'} {status}", right


def walk(page):
    """Runs the commands of a page; returns how many failed."""
    failed = 0
    for block in commands(page):
        if block[0].plan is None:
            print(f"-       {page.name}: {len(block)} left out: {block[0].why}", flush=True)
            continue
        open_terminals = []
        if block[0].why == SIMULATION:
            open_terminals.append(Terminal("xtdrone sim --n 3"))
            open_terminals[-1].read(FIRST_S)
        for command in block:
            terminal = Terminal(command.line, command.state)
            if command.stays:
                terminal.read(FIRST_S)
                open_terminals.append(terminal)
                continue
            how, right = terminal.finish(command.plan)
            failed += not right
            print(
                f"{'ok' if right else 'FAILED':8}{page.name}: {command.line}: {how}, "
                f"{time.monotonic() - terminal.begin:.0f} s",
                flush=True,
            )
            if not right:
                print("        " + "\n        ".join(terminal.text.splitlines()[-12:]), flush=True)
        for terminal in open_terminals:
            terminal.interrupt()
    return failed


def display():
    """Starts a virtual display where there is none; returns its process."""
    if os.environ.get("DISPLAY") or shutil.which("Xvfb") is None:
        return None
    read, write = os.pipe()
    server = subprocess.Popen(
        [
            "Xvfb",
            "-displayfd",
            str(write),
            "-screen",
            "0",
            "1600x1200x24",
            "-nolisten",
            "tcp",
            "-noreset",
        ],
        pass_fds=[write],
        stderr=subprocess.DEVNULL,
    )
    os.close(write)
    with os.fdopen(read) as answer:
        os.environ["DISPLAY"] = f":{answer.readline().strip()}"
    return server


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("pages", nargs="*", help="for example ros.md (all)")
    args = parser.parse_args()
    server = display()
    try:
        with tempfile.TemporaryDirectory(prefix="xtdrone-walk-") as runs:
            os.environ.setdefault("XTDRONE_RUNS", runs)
            failed = sum(walk(page) for page in PAGES if not args.pages or page.name in args.pages)
    finally:
        if server:
            server.terminate()
    print(f"{failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
