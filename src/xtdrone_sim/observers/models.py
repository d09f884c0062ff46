"""Where the models of a scenario are: models.csv."""

from collections.abc import Sequence
from pathlib import Path

from xtdrone_core import FleetState, SensorBatch
from xtdrone_core.contracts import Observer
from xtdrone_core.runs.control_link import TICK_US
from xtdrone_core.runs.log_file import LogFile, LogGaps

from ..entities import Entities

NAME = "models.csv"
HEADER = "t_s,model,x,y,z,qx,qy,qz,qw\n"


class ModelRecorder(Observer):
    """Writes the true pose of each model that is still there."""

    period_us = TICK_US

    def __init__(
        self, folder: Path, gaps: LogGaps, names: Sequence[str], entities: Entities
    ) -> None:
        """Creates the file.

        Args:
            folder: Run folder.
            gaps: Collects gaps of the file.
            names: Of the models.
            entities: Says where they are.
        """
        self._names, self._entities = names, entities
        self._file = LogFile(folder / NAME, gaps)
        self._file.append(HEADER.encode(), 0)

    def on_step(self, t_us: int, state: FleetState, sensors: SensorBatch) -> None:
        """Writes a row for each model."""
        there = [name for name in self._names if name in self._entities.models]
        table = self._entities.table([self._entities.models[name] for name in there])
        lines = [
            f"{t_us * 1e-6:.3f},{name},{','.join(f'{x:.5f}' for x in row[:7])}\n"
            for name, row in zip(there, table)
        ]
        self._file.append("".join(lines).encode(), t_us)
