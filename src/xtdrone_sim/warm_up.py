"""Compiles every kernel before the first flight, so that later starts are quick."""

import shutil
import sys
import tempfile
from pathlib import Path

from xtdrone_core import Scenario, SensorBatch, VehicleSpec, registry
from xtdrone_core.runs import run_folder
from xtdrone_core.scenario.scenario import parse_vehicles
from xtdrone_dynamics.compiled import cache_root, state_of_sources
from xtdrone_dynamics.lane_numbers import LANES

from .simulation import STEP_US, Simulation

FLIGHT_US = 4_000_000  # simulated: until the vehicle is in the air [us]
OTHERS = "standard_vtol@0,0; rover@10,0"  # with the kernels of wings, transitions and wheels


def is_warm() -> bool:
    """Whether the kernels of the current sources are in the cache."""
    return _marker().exists()


def ensure_warm() -> None:
    """Compiles kernels that are not in the cache, with a message, since it takes a while."""
    if not is_warm():
        print("compiling the kernels; once, about half a minute ...", file=sys.stderr, flush=True)
        warm_up()


def warm_up() -> None:
    """Flies each kind of kernel once, in wind, with telemetry but without opening a port."""
    import numpy as np

    from xtdrone_autopilot.estimation.ekf import Ekf
    from xtdrone_autopilot.mavlink.datagrams import Sender
    from xtdrone_autopilot.mavlink.links import take_due
    from xtdrone_autopilot.mavlink.streams import BUFFER

    agent = registry.AGENTS.load("square")(1)
    scenario = Scenario((VehicleSpec("iris", "iris_0", (0.0, 0.0, 0.0)),), speed=0.0,
                        wind="mean=1,0,0 dryden=1")
    folder = Path(tempfile.mkdtemp(prefix="xtdrone-"))
    run_folder.prepare(folder)
    simulation = Simulation(scenario, folder, agent=agent, links=False)
    try:
        simulation.run(until_us=FLIGHT_US)
        streams = simulation.autopilot.streams()
        sequence, length = np.zeros(1, dtype=np.uint8), np.zeros(1, dtype=np.int64)
        for k in range(len(streams.names)):
            length.fill(0)
            streams.append(k, simulation.t_us, np.ones(1, dtype=bool), sequence,
                           np.zeros((1, BUFFER), dtype=np.uint8), length)
        times, nothing = np.zeros((1, 1), dtype=np.int64), np.zeros((1, 1), dtype=bool)
        take_due(times, times, nothing[0], 0, 0, 0, nothing)
        length.fill(0)
        buffers, sender = np.zeros((1, BUFFER), dtype=np.uint8), Sender(1, 1)
        sender.send(buffers, length)
        shared = sender.shared(buffers, length)  # as large fleets do
        shared.offer()
        shared.close()
        Ekf(LANES, (0.0, 0.0, 0.0), np.zeros(3)).step(SensorBatch.empty(LANES))
    finally:
        simulation.close()
        shutil.rmtree(folder)
    others = Scenario(parse_vehicles(OTHERS), speed=0.0, log="none")
    simulation = Simulation(others, links=False)
    try:
        simulation.run(until_us=STEP_US)
    finally:
        simulation.close()
    marker = _marker()
    marker.parent.mkdir(parents=True, exist_ok=True)
    marker.touch()


def _marker() -> Path:
    return cache_root() / f"warm-{state_of_sources()}"
