"""A short flight with all that replays read, and the server of a replay."""

import contextlib
import os
import re
import signal
import subprocess
import sys
from types import SimpleNamespace

from waiting import LIMIT_S
from xtdrone_control.agents import SquareAgent
from xtdrone_core import Scenario
from xtdrone_core.runs import run_folder
from xtdrone_core.runs.parent import tied
from xtdrone_sim.simulation import Simulation


def fly(folder, seconds, observers=(), **options):
    """Flies a square for so long, into a run folder; returns the folder."""
    folder.mkdir()
    run_folder.prepare(folder)
    scenario = Scenario(**{"vehicles": "iris@0,0; iris@3,0", "speed": 0.0, **options})
    import yaml

    (folder / "scenario.yaml").write_text(yaml.safe_dump(scenario.to_dict()))
    simulation = Simulation(scenario, folder, SquareAgent(scenario.n), links=False)
    simulation.observers += [make(simulation) for make in observers]
    try:
        simulation.run(round(seconds * 1e6))
    finally:
        simulation.close()
    return folder


@contextlib.contextmanager
def replaying(*words, **environment):
    """`xtdrone replay` while the block lasts: url, process."""
    process = subprocess.Popen(
        [sys.executable, "-m", "xtdrone_core.command", "replay", *map(str, words)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        preexec_fn=tied(signal.SIGTERM),
        env={**os.environ, **environment},
    )
    try:
        line = process.stdout.readline()
        found = re.search(r"page: (\S+)", line)
        assert found, line + process.stderr.read()
        yield SimpleNamespace(url=found[1], process=process)
    finally:
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=LIMIT_S)
