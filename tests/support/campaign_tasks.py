"""Tasks for the workers of a campaign."""

import os
import signal
from pathlib import Path


def task(given):
    """Twice the number; a task with a path kills its worker, each time or only the first time."""
    number, path = given
    if path is not None and (number < 0 or not Path(path).exists()):
        Path(path).touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return 2 * number
