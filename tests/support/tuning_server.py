"""`xtdrone tune --web` in a process of its own, and a short log for it."""

import contextlib
import os
import re
import signal
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np

from waiting import LIMIT_S
from xtdrone_control.teleoperation import record
from xtdrone_control.teleoperation.gains import TABLE_2
from xtdrone_control.teleoperation.simulator import simulate
from xtdrone_core.runs.parent import tied


def write_log(path, seconds=4.0):
    """A flight of the simulator with Table 2 whose yaw and roll move."""
    count = round(seconds * 1000)
    sticks = np.zeros((count, 4))
    t_s = np.arange(count) * 1e-3
    sticks[:, 1], sticks[:, 3] = 0.8 * np.sign(np.sin(3 * t_s)), 0.5 * np.sign(np.sin(5 * t_s))
    flown = simulate(sticks, TABLE_2, start=(0.0, 0.0, 5.0) + (0.0,) * 9)
    record.write(path, record.Record(flown.t_s, sticks, flown.axes.copy()))
    return path


@contextlib.contextmanager
def serving(runs, *words):
    """The server while the block lasts.

    Args:
        runs: Its XTDRONE_RUNS.
        words: Of the command line.

    Yields:
        url (with the token), page (without), token, process, runs.
    """
    process = subprocess.Popen(
        [sys.executable, "-m", "xtdrone_core.command", "tune", "--web", *map(str, words)],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
        preexec_fn=tied(signal.SIGTERM),
        env={**os.environ, "XTDRONE_RUNS": str(runs)},
    )
    try:
        said = ""
        for line in process.stdout:
            said += line
            if "Ctrl-C" in line:
                break
        else:
            raise AssertionError(said)
        url = re.search(r"page: (\S+)", said)[1]
        page, _, token = url.partition("#token=")
        yield SimpleNamespace(
            url=url, page=f"{page}/", token=token, process=process, runs=Path(runs)
        )
    finally:
        if process.poll() is None:
            process.send_signal(signal.SIGINT)
        process.communicate(timeout=LIMIT_S)


def children(pid):
    """Command lines of the processes that a process has started, by their id."""
    found = {}
    for path in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError, IndexError):
            parent = int((path / "stat").read_text().rpartition(")")[2].split()[1])
            if parent == pid:
                found[int(path.name)] = (path / "cmdline").read_text().replace("\0", " ")
    return found
