"""Waiting, in wall time, for what other processes do."""

import time
from pathlib import Path

# For vehicles whose clients fly them faster than real time.
PATIENT = Path(__file__).parents[1] / "data" / "patient.params"
LIMIT_S = 600.0  # only what hangs takes so long, also on a machine with much other work [s]


def until(condition, what, running=None):
    """Polls until condition() is true and returns what it gave.

    Args:
        condition: Without arguments.
        what: For the error: "waited in vain until ...".
        running: Popen of the process that is waited for; its end ends the waiting.
    """
    end = time.monotonic() + LIMIT_S
    while not (found := condition()):
        assert running is None or running.poll() is None, f"it ended before {what}"
        assert time.monotonic() < end, f"waited in vain until {what}"
        time.sleep(0.02)
    return found
