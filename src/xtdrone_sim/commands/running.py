"""Runs a simulation of the command line: stations, signals, run folder, closing lines."""

import contextlib
import gc
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import FrameType, TracebackType
from typing import TYPE_CHECKING

from xtdrone_core import Scenario, XtdroneError, registry, stations
from xtdrone_core.contracts import goals_missed
from xtdrone_core.errors import CRASHED, MISSED
from xtdrone_core.runs import run_folder
from xtdrone_core.runs.control_link import TICK_US
from xtdrone_core.runs.parent import tied

if TYPE_CHECKING:  # slow to import
    from ..simulation import Simulation

_FIRST_USE = "compiling kernels that were not needed before; once, a few seconds ..."
AFTER_FLIGHT = "xtdrone.after_flight"  # entry points of functions that take the run folder


def open_stations(simulation: "Simulation") -> None:
    """Opens the stations that the scenario asks for: the page, ROS 2, Foxglove, the viewers."""
    try:
        stations.open_stations(simulation)
    except BaseException:
        simulation.close()
        raise


def not_flyable(simulation: "Simulation") -> list[str]:
    """Returns a line for each vehicle that the embedded flight stack cannot fly: the reason."""
    from xtdrone_dynamics.abilities.vehicle_type import cannot_fly

    scenario = simulation.scenario
    return [
        f"{spec.name} cannot be flown: {why}"
        for spec, why, autopilot in zip(
            scenario.vehicles, cannot_fly(simulation.fleet), scenario.autopilots, strict=True
        )
        if why and autopilot == "embedded"
    ]


def run(
    simulation: "Simulation",
    signals: "Signals",
    until_us: int | None = None,
    await_bridge: bool = False,
) -> None:
    """Runs until the end or a signal, and always closes the simulation.

    Kernels that only this flight uses are compiled when it comes to them, which is said.

    Raises:
        KeyboardInterrupt: The signal came before the flight had begun.
    """
    from xtdrone_dynamics import progress

    signals.stop(simulation)
    try:
        if await_bridge and simulation.requests is not None:
            simulation.requests.await_bridge()
        with progress.shown(line=_FIRST_USE):
            simulation.run(until_us)
    finally:
        simulation.close()
    if signals.came and simulation.t_us < TICK_US:
        raise KeyboardInterrupt


def print_closing_lines(simulation: "Simulation") -> int:
    """Prints how a flight went, and returns the exit status."""
    from ..observers.figures import closing_lines

    print("\n".join(closing_lines(simulation)), flush=True)
    if simulation.crashes:
        return CRASHED
    return MISSED if goals_missed(simulation.reached) else 0


class ClosingPlots:
    """Draws a flight after its end, in a process that loads meanwhile what draws."""

    def __init__(self) -> None:
        """Starts the process, unless this one can draw already or has a single core."""
        self._process: subprocess.Popen[bytes] | None = None
        if "matplotlib" not in sys.modules and len(os.sched_getaffinity(0)) > 1:
            self._process = subprocess.Popen(
                [sys.executable, "-c", f"from {__name__} import draw_on_request as draw; draw()"],
                stdin=subprocess.PIPE,
                # Ctrl-C is for the flight, which is drawn all the same.
                preexec_fn=tied(then=lambda: signal.signal(signal.SIGINT, signal.SIG_IGN)),
            )

    def __enter__(self) -> "ClosingPlots":
        return self

    def draw(self, folder: Path) -> None:
        """Draws, and returns once the figures are there."""
        if self._process is None:
            plot_flight(folder)
            return
        self._process.communicate(os.fsencode(folder))
        if self._process.returncode != 0:
            print("warning: no plot of the flight: what draws it has failed", file=sys.stderr)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.communicate()


def draw_on_request() -> None:
    """Loads what draws, then draws the run folder that standard input names, if it names one."""
    gc.disable()  # it makes little garbage, and ends soon
    with contextlib.suppress(Exception):  # said when it is to draw
        from xtdrone_core import plot_style

        for entry in registry.entries(AFTER_FLIGHT).values():
            entry.load()
        plot_style.load()
    folder = sys.stdin.buffer.read()
    if folder:
        plot_flight(Path(os.fsdecode(folder)))
    gc.freeze()  # Python's end would look for garbage all the same


def plot_flight(folder: Path) -> None:
    """Calls what draws a flight after its end, or prints why there is no plot."""
    for entry in registry.entries(AFTER_FLIGHT).values():
        try:
            entry.load()(folder)
        except (OSError, XtdroneError) as error:
            print(f"warning: no plot of the flight: {error}", file=sys.stderr)


@contextlib.contextmanager
def interruptible_imports() -> Iterator[None]:
    """Ctrl-C ends the process at once: some C modules turn it into other errors."""
    before = signal.signal(signal.SIGINT, signal.SIG_DFL)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


class Signals:
    """Signals that shut a simulation down cleanly, also during its construction.

    Attributes:
        came: Whether a signal has come.
    """

    def __init__(self) -> None:
        self.came = False
        self._simulation: Simulation | None = None

    def __enter__(self) -> "Signals":
        self._before = {
            number: signal.signal(number, self._on_signal)
            for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
        }
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def stop(self, simulation: "Simulation") -> None:
        """Stops this simulation when a signal comes, or has come."""
        self._simulation = simulation
        if self.came:
            simulation.stop()

    def conclude(self) -> None:
        """After the flight: the first signal, which roslaunch may send now, interrupts nothing."""
        self._simulation, self.came = None, False

    def _on_signal(self, number: int, frame: FrameType | None) -> None:
        if self._simulation is not None:
            self._simulation.stop()
        elif self.came:  # the second one: what is being built or concluded may be stuck
            raise KeyboardInterrupt
        self.came = True


@contextlib.contextmanager
def new_run_folder(scenario: Scenario, wanted: bool = True) -> Iterator[Path | None]:
    """Yields a new run folder, or None; the folder is removed after an error before the flight."""
    if not wanted:
        yield None
        return
    folder = run_folder.create(scenario.name, scenario.instance)
    try:
        scenario.save(folder / "scenario.yaml")
        yield folder
    except BaseException:
        run_folder.discard_unflown(folder)
        raise
