"""Runs a simulation of the command line: stations, signals, run folder, closing lines."""

import contextlib
import signal
from collections.abc import Iterator
from pathlib import Path
from types import FrameType, TracebackType
from typing import TYPE_CHECKING

from xtdrone_core import Scenario, registry
from xtdrone_core.contracts import goals_missed
from xtdrone_core.errors import CRASHED, MISSED
from xtdrone_core.runs import run_folder
from xtdrone_core.runs.control_link import TICK_US

if TYPE_CHECKING:  # slow to import
    from ..simulation import Simulation


def open_stations(simulation: "Simulation") -> None:
    """Opens what the scenario asks for: the page, ROS 2, Foxglove, PX4's viewer."""
    scenario = simulation.scenario
    stations = (
        (scenario.web, _open_page),
        (scenario.ros2, _join_ros2),
        (scenario.foxglove or scenario.mcap, _open_telemetry),
        (scenario.viewer, _feed_viewer),
    )
    try:
        for wanted, opened in stations:
            if wanted:
                opened(simulation)
    except BaseException:
        simulation.close()
        raise


def _open_page(simulation: "Simulation") -> None:
    from xtdrone_web.station import Station

    station = Station(simulation, simulation.scenario.web_address)
    simulation.observers.append(station)
    print(
        f"page: {station.url}\npage for viewers, who cannot command: {station.watch_url}",
        flush=True,
    )


def _join_ros2(simulation: "Simulation") -> None:
    from xtdrone_ros2.station import Ros2Station

    simulation.observers.append(Ros2Station(simulation))
    scenario = simulation.scenario
    print(f"ROS 2: domain {scenario.ros2_domain} on {scenario.ros2_address}", flush=True)


def _open_telemetry(simulation: "Simulation") -> None:
    from xtdrone_web.foxglove.telemetry import Telemetry

    telemetry = Telemetry(simulation)
    simulation.observers.append(telemetry)
    if telemetry.url:
        print(f"Foxglove: {telemetry.url}", flush=True)


def _feed_viewer(simulation: "Simulation") -> None:
    from ..viewing.px4_viewer import Px4Viewer

    simulation.observers.append(Px4Viewer(simulation))


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

    Raises:
        KeyboardInterrupt: The signal came before the flight had begun.
    """
    signals.stop(simulation)
    try:
        if simulation.scenario.gui:
            simulation.open_viewer()
        if await_bridge and simulation.requests is not None:
            simulation.requests.await_bridge()
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


def draw_reports(folder: Path) -> None:
    """Draws what is registered of a recorded flight, such as its overview."""
    for entry in registry.entries("xtdrone.flight_reports").values():
        entry.load()(folder)


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
