"""A simulation in a process of its own."""

import os
import signal
import subprocess
import sys

from waiting import LIMIT_S
from xtdrone_core.runs.control_link import ControlClient
from xtdrone_core.runs.parent import tied


class SimulationProcess:
    """`xtdrone sim` in a process group of its own."""

    def __init__(self, folder, *options, instance=None):
        """Starts it, on the test run's own instance unless another one is given."""
        if instance is not None:
            options = *options, "--instance", instance
        self.folder = folder
        self.process = subprocess.Popen(
            [sys.executable, "-m", "xtdrone_core.command", "sim", *map(str, options)],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            cwd=folder,
            start_new_session=True,
            preexec_fn=tied(signal.SIGTERM),  # nothing is left when the test run dies
            env={**os.environ, "XTDRONE_RUNS": str(folder)},
        )
        said = ""
        for line in self.process.stdout:
            said += line
            if "run folder" in line:  # printed once everything listens; a cold start says more
                break
        else:
            raise AssertionError(said)
        self.control = ControlClient(instance, LIMIT_S)

    def wait_until(self, t_us: int) -> None:
        """Blocks until the simulated time is past t_us."""
        self.control.request("subscribe")
        while self.control.next_tick()[0] < t_us:
            pass

    def stop(self) -> str:
        """Ends it as Ctrl-C does, without a plot, and returns what it printed."""
        self.control.close()
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGINT)
        try:
            return self.process.communicate(timeout=LIMIT_S)[0]
        except subprocess.TimeoutExpired:
            os.killpg(self.process.pid, signal.SIGKILL)
            raise
