"""The interface through which requests of the control socket control a simulation."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol

from xtdrone_core import FleetState, Scenario
from xtdrone_core.contracts import Agent, Autopilot, Observer

from ..entities import Entities
from ..fleet.selection import Vehicles
from ..observers.laps import LapTimer
from ..pacer import Pacer
from ..plant.plant import Plant
from ..rendering.sensors import RenderedSensors
from ..vehicles.pose import Pose
from ..world import World

Request = dict[str, Any]  # decoded from JSON
Answer = dict[str, Any]
Handler = Callable[[Request], Answer | None]


class ControlledSimulation(Protocol):
    """A simulation that can be controlled; Simulation can."""

    scenario: Scenario
    folder: Path | None  # run folder
    world: World
    plant: Plant
    rendered: RenderedSensors
    autopilot: Autopilot
    entities: Entities
    race: LapTimer | None
    pacer: Pacer
    observers: list[Observer]
    t_us: int  # simulated time
    step_us: int

    @property
    def agent(self) -> Agent | None:
        """What decides, if anything does."""

    @property
    def state(self) -> FleetState:
        """The true state now."""

    @property
    def stopping(self) -> bool:
        """Whether stop() was called."""

    def real_time_factor(self) -> float:
        """Simulated over wall time."""

    def say(self, text: str, severity: int = ...) -> None:
        """Writes a line to the console."""

    def event(self, t_us: int, name: str, **values: Any) -> None:  # values of JSON
        """Writes an event of the flight."""

    def reset(self, vehicles: Vehicles = None) -> None:
        """Resets vehicles."""

    def insert(self, sdf: str, name: str, pose: Pose = ..., frame: str = ...) -> None:
        """Inserts a model."""

    def remove(self, name: str) -> None:
        """Removes an inserted model."""

    def save(self, path: Path | str) -> None:
        """Writes a snapshot."""

    def load(self, path: Path | str) -> None:
        """Restores a snapshot."""

    def stop(self) -> None:
        """Ends the simulation at the next step."""
