"""`xtdrone sim --web true` in a process of its own, for tests and measurements of the page."""

import contextlib
import os
import re
import signal
import subprocess
import sys
from types import SimpleNamespace

from waiting import LIMIT_S
from xtdrone_core.runs.control_link import ControlClient
from xtdrone_core.runs.parent import tied


@contextlib.contextmanager
def serving(folder, *options, command=("sim",)):
    """A simulation that serves its page while the block lasts.

    Args:
        folder: Of its run folders.
        options: Of the command.
        command: `xtdrone sim`, or an Agent's flight.

    Yields:
        url, watch_url, token, control, process, and folder, that of the run.
    """
    process = subprocess.Popen(
        [
            sys.executable,
            "-m",
            "xtdrone_core.command",
            *command,
            "--web",
            "true",
            "--log",
            "none",
            *options,
        ],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
        preexec_fn=tied(signal.SIGTERM),
        env={**os.environ, "XTDRONE_RUNS": str(folder)},
    )
    try:
        said = ""
        for line in process.stdout:
            said += line
            if "page for viewers" in line:
                break
        else:
            raise AssertionError(said)
        url, watch = re.search(r"page: (\S+)", said)[1], re.search(r"command: (\S+)", said)[1]
        with contextlib.closing(ControlClient(timeout=LIMIT_S)) as control:
            yield SimpleNamespace(
                url=url,
                watch_url=watch,
                token=url.partition("token=")[2],
                control=control,
                process=process,
                folder=folder / "run",
            )
    finally:
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=LIMIT_S)
