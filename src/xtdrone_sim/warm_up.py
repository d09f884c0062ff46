"""Compiles kernels before a flight: those of its kind, or all, so that later starts are quick."""

import os
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import IO, NamedTuple

from xtdrone_core import (
    FleetState,
    Scenario,
    SensorBatch,
    SensorBlock,
    VehicleSpec,
    XtdroneError,
    registry,
)
from xtdrone_core.runs import run_folder
from xtdrone_core.runs.parent import tied
from xtdrone_core.scenario.vehicles import parse_vehicles
from xtdrone_core.vehicle import Propeller, Surface, Wheel
from xtdrone_dynamics import progress
from xtdrone_dynamics.kernel_cache import cache_root, passing_over_taken
from xtdrone_dynamics.lane_numbers import LANES
from xtdrone_dynamics.sources import stamp_of_sources, state_of_sources

from .errors import EngineError
from .simulation import STEP_US, Simulation
from .vehicles.sdf import load_vehicle

START_US = 500_000  # simulated: until most kernels have been called [us]
FLIGHT_US = 4_000_000  # simulated: until the vehicle is in the air [us]
OTHERS = "standard_vtol@0,0; rover@10,0"  # they use the kernels of wings, transitions and wheels


class Part(NamedTuple):
    """Kernels that are compiled together.

    Attributes:
        compile: Calls each of them once; takes an empty folder.
        functions: Roughly how many functions they are, for the bar.
    """

    compile: Callable[[Path], None]
    functions: int


def needed(scenario: Scenario, telemetry: bool) -> list[str]:
    """The names of the parts that a flight needs, in the order of need.

    Args:
        scenario: Of the flight.
        telemetry: Whether its MAVLink links are open.
    """
    others = False
    with suppress(XtdroneError):  # said where the simulation loads it
        models = [load_vehicle(name) for name in {spec.type for spec in scenario.vehicles}]
        others = any(isinstance(each, _OTHERS) for model in models for each in model.actuators)
    wanted = {
        "flight": True,
        "telemetry": telemetry,
        "wind": bool(scenario.wind),
        "fleet": scenario.n >= LANES,
        "others": others,
        "realistic": scenario.rendering == "realistic",
    }
    return [name for name, is_wanted in wanted.items() if is_wanted]


def is_warm() -> bool:
    """Whether all kernels of the current sources are in the cache."""
    return not _missing(PARTS)


def ensure_warm(scenario: Scenario | None = None, telemetry: bool = True) -> None:
    """Compiles what a flight needs, or everything, with a line and a bar, if it takes a while.

    Args:
        scenario: Of the flight; None for everything.
        telemetry: Whether its MAVLink links are open.
    """
    missing = _missing(PARTS if scenario is None else needed(scenario, telemetry))
    if missing:
        warm_up(missing)


def _missing(parts: Iterable[str]) -> list[str]:
    """The parts that are not in the cache for the current sources."""
    root, stamp = cache_root(), stamp_of_sources()
    # What was seen spares most starts to read the sources.
    unseen = {part: root / f"seen-{part}-{stamp}" for part in parts}
    unseen = {part: seen for part, seen in unseen.items() if not seen.exists()}
    if not unseen:
        return []
    state = state_of_sources()
    missing = [part for part in unseen if not (root / f"warm-{part}-{state}").exists()]
    for part in unseen.keys() - missing:
        with suppress(OSError):  # a cache that cannot be written is read all the same
            unseen[part].touch()
    return missing


def warm_up(parts: Sequence[str] | None = None) -> None:
    """Calls the kernels of these parts, or all, side by side with an assistant.

    What one of the two compiles the other passes over, or loads.
    """
    parts = list(PARTS) if parts is None else parts
    with (
        progress.shown(sum(PARTS[part].functions for part in parts)) as bar,
        tempfile.TemporaryDirectory(prefix="xtdrone-") as folder,
        subprocess.Popen(
            [sys.executable, "-c", _ASSIST, folder, *parts],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            preexec_fn=tied(),
        ) as assistant,
    ):
        assert assistant.stdout is not None
        counting = threading.Thread(target=_count, args=(assistant.stdout, bar), daemon=True)
        counting.start()
        try:
            _compile(parts, Path(folder) / "own")
        finally:
            assistant.kill()
            assistant.wait()
            counting.join()
    root, state = cache_root(), state_of_sources()
    root.mkdir(parents=True, exist_ok=True)
    for part in parts:
        (root / f"warm-{part}-{state}").touch()


_ASSIST = f"""import sys
from {__name__} import assist
assist(sys.argv[2:], sys.argv[1])"""


def assist(parts: Sequence[str], folder: str) -> None:
    """Compiles what another process does not yet, the last part first.

    It writes a byte to stdout for each function.
    """
    with progress.calling(lambda: _report(sys.stdout.fileno())):
        _compile(reversed(parts), Path(folder) / "assistant")


def _compile(parts: Iterable[str], folder: Path) -> None:
    for part in parts:
        PARTS[part].compile(folder / part)


def _report(number: int) -> None:
    with suppress(OSError):
        os.write(number, b".")


def _count(pipe: IO[bytes], bar: progress.Bar) -> None:
    while pipe.read(1):
        bar.count()


def _fly(folder: Path) -> None:
    """A flight with its logs, without telemetry."""
    # Its kernels come in one order, so that one process would always wait for the other: until
    # most are compiled, each passes over what the other one has begun. What flies so matters not.
    with suppress(Exception), passing_over_taken():
        _square(folder / "start", START_US)
    _square(folder, FLIGHT_US)


def _square(folder: Path, until_us: int) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    run_folder.prepare(folder)
    agent = registry.AGENTS.load("square")(1)
    simulation = Simulation(Scenario((_IRIS,), speed=0.0), folder, agent=agent, links=False)
    try:
        simulation.run(until_us=until_us)
    finally:
        simulation.close()


def _telemetry(folder: Path) -> None:
    """One message of each kind, without opening a port."""
    import numpy as np

    from xtdrone_autopilot.autopilot import EmbeddedAutopilot
    from xtdrone_autopilot.mavlink.datagrams import Sender
    from xtdrone_autopilot.mavlink.links import take_due
    from xtdrone_autopilot.mavlink.streams import BUFFER

    simulation = Simulation(Scenario((_IRIS,), speed=0.0, log="none"), links=False)
    try:
        autopilot = simulation.autopilot
        assert isinstance(autopilot, EmbeddedAutopilot)
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
        Sender(1, 1).send(np.zeros((1, BUFFER), dtype=np.uint8), length)
    finally:
        simulation.close()


def _wind(folder: Path) -> None:
    """A step in gusts."""
    _step(Scenario((_IRIS,), speed=0.0, log="none", wind="mean=1,0,0 dryden=1"))


def _fleet(folder: Path) -> None:
    """What large fleets use: estimators in lanes of the vector unit, threads that share work."""
    import numpy as np

    from xtdrone_autopilot.estimation.ekf import Ekf
    from xtdrone_autopilot.mavlink.datagrams import Sender
    from xtdrone_autopilot.mavlink.streams import BUFFER

    Ekf(LANES, (0.0, 0.0, 0.0), np.zeros(3)).step(SensorBatch.empty(LANES))
    buffers, length = np.zeros((1, BUFFER), dtype=np.uint8), np.zeros(1, dtype=np.int64)
    shared = Sender(1, 1).shared(buffers, length)
    shared.offer()
    shared.close()


def _other_vehicles(folder: Path) -> None:
    """A step of each other kind of vehicle."""
    _step(Scenario(parse_vehicles(OTHERS), speed=0.0, log="none"))


def _step(scenario: Scenario) -> None:
    simulation = Simulation(scenario, links=False)
    try:
        simulation.run(until_us=STEP_US)
    finally:
        simulation.close()


def draw_realistically(folder: Path | None = None) -> None:
    """Draws one small image with every effect, where anything can be rendered at all."""
    from .rendering.realistic.conditions import conditions_of
    from .rendering.realistic.scene import RealisticScene
    from .rendering.sensors import RenderedSensors
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


_OTHERS = (Propeller, Surface, Wheel)  # actuators that multicopters have not
_IRIS = VehicleSpec("iris", "iris_0", (0.0, 0.0, 0.0))
PARTS = {
    "flight": Part(_fly, 330),
    "telemetry": Part(_telemetry, 60),
    "wind": Part(_wind, 10),
    "fleet": Part(_fleet, 120),
    "others": Part(_other_vehicles, 60),
    "realistic": Part(draw_realistically, 200),
}
