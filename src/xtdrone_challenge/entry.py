"""A flight that a team's program enters."""

import json
import signal
from collections.abc import Mapping
from dataclasses import asdict, is_dataclass
from pathlib import Path
from typing import Any

import numpy as np

from .doors.door import Door
from .errors import ProgramError, RefusedError
from .programs import Processes, Program

VARIABLE = "XTDRONE_CHALLENGE"  # of the environment: what a program is told, as JSON
CONSOLE = "team.log"
_SHOWN = 200  # characters of its last line


class ProgramEntry:
    """Starts a team's program, watches it and ends it."""

    def __init__(
        self, program: Program, door: Door, simulation: Any, told: Mapping[str, Any]
    ) -> None:
        """Opens the door, then starts the program.

        Args:
            program: The team's.
            door: By which it flies.
            simulation: The Simulation.
            told: What it is told beside names and addresses of its vehicles.

        Raises:
            XtdroneError: The door cannot be opened, or the program not be started.
        """
        scenario, folder = simulation.scenario, simulation.folder
        self._door, self._console = door, folder / CONSOLE
        self._servers, self._team = Processes(), None
        try:
            door.open(simulation, self._servers, folder)
            vehicles = [spec.name for spec in scenario.vehicles]
            whole = {**told, "vehicles": vehicles, **door.told(scenario)}
            environment = {
                VARIABLE: json.dumps(whole, default=_plain),
                "XTDRONE_INSTANCE": str(scenario.instance),
                **door.environment(scenario),
            }
            self._team = Processes()
            self._program = self._team.start(
                program.words, environment, self._console, limited=True
            )
        except BaseException:
            self.close()
            raise

    def goes_on(self) -> bool:
        """Whether the program has not ended yet.

        Raises:
            RefusedError: It does what the rules forbid.
            ProgramError: It has failed.
        """
        against = self._door.forbidden()
        if against:
            raise RefusedError(against)
        status = self._program.poll()
        if status:
            how = (
                f"was ended by {signal.Signals(-status).name}"
                if status < 0
                else f"ended with status {status}"
            )
            raise ProgramError(f"the team's program {how}: {_last_line(self._console)}")
        return status is None

    def close(self) -> None:
        """Ends the program with all that it has started, then what served it."""
        if self._team is not None:
            self._team.close()
        self._door.close()
        self._servers.close()


def _plain(value: Any) -> Any:  # what JSON has no word for
    """Arrays as lists, tasks as mappings."""
    if isinstance(value, np.ndarray):
        return value.tolist()
    if is_dataclass(value) and not isinstance(value, type):
        return asdict(value)
    raise TypeError(f"{type(value).__name__} cannot be told to a program")


def _last_line(console: Path) -> str:
    """The end of what a program has printed."""
    with console.open("rb") as file:
        file.seek(max(file.seek(0, 2) - 4096, 0))
        lines = file.read().decode(errors="replace").split("\n")
    said = (line.strip() for line in reversed(lines) if line.strip())
    return next(said, "it said nothing")[:_SHOWN]
