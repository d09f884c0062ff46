"""Compiles every kernel before the first flight, so that later starts are quick."""

import os
import shutil
import subprocess
import sys
import tempfile
import threading
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import IO

from xtdrone_core import FleetState, Scenario, SensorBatch, SensorBlock, VehicleSpec, registry
from xtdrone_core.runs import run_folder
from xtdrone_core.runs.parent import tied
from xtdrone_core.scenario.vehicles import parse_vehicles
from xtdrone_dynamics import progress
from xtdrone_dynamics.compiled import cache_root, stamp_of_sources, state_of_sources
from xtdrone_dynamics.lane_numbers import LANES

from .errors import EngineError
from .simulation import STEP_US, Simulation

FLIGHT_US = 4_000_000  # simulated: until the vehicle is in the air [us]
FUNCTIONS = 820  # that both processes compile, roughly, for the bar
OTHERS = "standard_vtol@0,0; rover@10,0"  # they use the kernels of wings, transitions and wheels


def is_warm() -> bool:
    """Whether the kernels of the current sources are in the cache."""
    seen = cache_root() / f"seen-{stamp_of_sources()}"  # so that most starts read no source
    if seen.exists():
        return True
    if not _marker().exists():
        return False
    with suppress(OSError):  # a cache that cannot be written is read all the same
        seen.touch()
    return True


def ensure_warm() -> None:
    """Compiles kernels that are not in the cache, with a line and a bar, since it takes a while."""
    if not is_warm():
        warm_up()


def warm_up() -> None:
    """Flies each kind of kernel once, and draws with each, side by side in two processes."""
    with (
        progress.shown(FUNCTIONS) as bar,
        subprocess.Popen(
            [sys.executable, "-c", f"from {__name__} import others; others()"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            preexec_fn=tied(),
        ) as beside,
    ):
        assert beside.stdout is not None
        counting = threading.Thread(target=_count, args=(beside.stdout, bar), daemon=True)
        counting.start()
        try:
            _fly()
            done = beside.wait() == 0
        finally:
            beside.kill()
            counting.join()
        if not done:
            _other_vehicles()
            draw_realistically()
    marker = _marker()
    marker.parent.mkdir(parents=True, exist_ok=True)
    marker.touch()


def others() -> None:
    """Compiles what a multicopter does not need; writes a byte to stdout for each function."""
    with progress.calling(lambda: _report(sys.stdout.fileno())):
        _other_vehicles()
        draw_realistically()


def _report(number: int) -> None:
    with suppress(OSError):
        os.write(number, b".")


def _count(pipe: IO[bytes], bar: progress.Bar) -> None:
    while pipe.read(1):
        bar.count()


def _fly() -> None:
    """A flight in wind, with telemetry but without opening a port."""
    import numpy as np

    from xtdrone_autopilot.autopilot import EmbeddedAutopilot
    from xtdrone_autopilot.estimation.ekf import Ekf
    from xtdrone_autopilot.mavlink.datagrams import Sender
    from xtdrone_autopilot.mavlink.links import take_due
    from xtdrone_autopilot.mavlink.streams import BUFFER

    from .engines.clearance import Clearance
    from .engines.embedded import EmbeddedEngine

    agent = registry.AGENTS.load("square")(1)
    scenario = Scenario(
        (VehicleSpec("iris", "iris_0", (0.0, 0.0, 0.0)),), speed=0.0, wind="mean=1,0,0 dryden=1"
    )
    folder = Path(tempfile.mkdtemp(prefix="xtdrone-"))
    run_folder.prepare(folder)
    simulation = Simulation(scenario, folder, agent=agent, links=False)
    try:
        simulation.run(until_us=FLIGHT_US)
        autopilot, engine = simulation.autopilot, simulation.engine
        assert isinstance(autopilot, EmbeddedAutopilot) and isinstance(engine, EmbeddedEngine)
        streams = autopilot.streams()
        sequence, length = np.zeros(1, dtype=np.uint8), np.zeros(1, dtype=np.int64)
        for k in range(len(streams.names)):
            length.fill(0)
            streams.append(
                k,
                simulation.t_us,
                np.ones(1, dtype=bool),
                sequence,
                np.zeros((1, BUFFER), dtype=np.uint8),
                length,
            )
        times, nothing = np.zeros((1, 1), dtype=np.int64), np.zeros((1, 1), dtype=bool)
        take_due(times, times, nothing[0], 0, 0, 0, nothing, nothing[0])
        length.fill(0)
        buffers, sender = np.zeros((1, BUFFER), dtype=np.uint8), Sender(1, 1)
        sender.send(buffers, length)
        shared = sender.shared(buffers, length)  # large fleets share one
        shared.offer()
        shared.close()
        Ekf(LANES, (0.0, 0.0, 0.0), np.zeros(3)).step(SensorBatch.empty(LANES))
        Clearance(engine.model, np.ones(1, dtype=int), np.zeros(1)).holds(engine.data.qpos)
    finally:
        simulation.close()
        shutil.rmtree(folder)


def _other_vehicles() -> None:
    """A step of each other kind of vehicle."""
    scenario = Scenario(parse_vehicles(OTHERS), speed=0.0, log="none")
    simulation = Simulation(scenario, links=False)
    try:
        simulation.run(until_us=STEP_US)
    finally:
        simulation.close()


def draw_realistically() -> None:
    """Draws one small image with every effect, where anything can be rendered at all."""
    from .rendering.realistic.conditions import conditions_of
    from .rendering.realistic.scene import RealisticScene
    from .rendering.sensors import RenderedSensors
    from .vehicles.sdf import load_vehicle
    from .world import load_world

    world, vehicle = load_world("indoor"), load_vehicle("iris")  # it has lamps
    eye = SensorBlock(
        "camera",
        "eye",
        (0.0, 0.0, 0.0),
        (0.0, 0.0, 0.0, 1.0),
        {"width": 32, "height": 24, "chromatic_aberration": 0.001, "anti_aliasing": 4},
    )
    specs = [VehicleSpec("iris", "iris_0", (0.0, 0.0, 2.0))]
    models = [replace(vehicle, sensors=(eye,))]
    state = FleetState.zeros(1, 4)
    state.pos[0], state.ang_vel[0] = (0.0, 0.0, 2.0), (0.0, 0.3, 1.0)
    sensors = RenderedSensors(
        world,
        specs,
        models,
        1,
        partial(RealisticScene, world, specs, models, conditions_of(world, "12:00", "rain=10"), 1),
    )
    try:
        sensors.step(state, 0)
        sensors.step(state, round(1e6))
    except EngineError:  # nothing can be rendered here
        pass
    finally:
        sensors.close()


def _marker() -> Path:
    return cache_root() / f"warm-{state_of_sources()}"
