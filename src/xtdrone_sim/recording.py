"""Recorders of a simulation: truth log, collisions, console."""

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from xtdrone_core import FleetState, SensorBatch
from xtdrone_core.contracts import Engine, Observer
from xtdrone_core.control_link import TICK_US
from xtdrone_core.snapshot import Memory
from xtdrone_core.truth_log import TruthWriter

WARNING = 4  # severity of a text from a flight stack, as in MAVLink
_GROUND = "ground_plane"


class TruthRecorder(Observer):
    """Writes truth.bin."""

    period_us = TICK_US

    def __init__(self, path: Path | str, n: int):
        """Begins a new file for n vehicles.

        Raises:
            XtdroneError: The file cannot be written.
        """
        self._writer = TruthWriter(path, n)

    def on_step(self, t_us: int, state: FleetState, sensors: SensorBatch) -> None:
        """One record."""
        self._writer.write(state)

    def close(self) -> None:
        """Ends the file."""
        self._writer.close()


class Collisions(Memory, Observer):
    """Records contacts between vehicles and objects, except the ground.

    Attributes:
        found: (t_us, name, name), each once per touch.
    """

    MEMORY = ("found", "_touching")
    period_us = TICK_US

    def __init__(self, names: Sequence[str], engine: Engine, on_collision: Callable[..., None]):
        """Asks an engine that moves vehicles of these names.

        on_collision(t_us, [name, name]) is called at each new contact.
        """
        self._names = list(names)
        self.found: list[tuple[int, str, str]] = []
        self._engine, self._on_collision = engine, on_collision
        self._touching: set[tuple[str, str]] = set()

    def on_step(self, t_us: int, state: FleetState, sensors: SensorBatch) -> None:
        """Compares with the previous contacts."""
        touching = {pair for pair in self._engine.contacts() if _GROUND not in pair}
        for pair in touching - self._touching:
            self.found.append((t_us, *pair))
            self._on_collision(t_us, list(pair))
        self._touching = touching

    def on_reset(self, t_us: int, mask: np.ndarray) -> None:
        """Forgets current contacts of the reset vehicles."""
        moved = {name for name, there in zip(self._names, mask) if there}
        self._touching = {pair for pair in self._touching if not moved & set(pair)}

    def reset(self, mask: np.ndarray | None = None) -> None:
        """Keeps the list of collisions; see on_reset()."""


class Console:
    """console/autopilot.log: messages of the simulation and of the flight stacks.

    Attributes:
        last_warning: Text of the last warning of a flight stack; None before the first.
    """

    def __init__(self, names: Sequence[str], folder: Path | None):
        """For vehicles of these names; writes into the run folder, None writes nothing.

        Raises:
            OSError: The file cannot be written.
        """
        self._names = list(names)
        self.last_warning: str | None = None
        self._file = None if folder is None else open(
            Path(folder) / "console" / "autopilot.log", "a")

    def say(self, t_us: int, vehicle: int | None, severity: int, text: str) -> None:
        """A line of one vehicle, None for the simulation; severity as in MAVLink."""
        who = "simulation" if vehicle is None else self._names[vehicle]
        if vehicle is not None and severity <= WARNING:
            self.last_warning = f"{who} at {t_us * 1e-6:.1f} s: {text}"
        if self._file is not None:
            self._file.write(f"{t_us * 1e-6:9.3f} {who} [{severity}] {text}\n")
            self._file.flush()

    def close(self) -> None:
        """Ends the file. May be called twice."""
        if self._file is not None:
            self._file.close()
