"""Where the models of a scenario are: models.csv."""

from collections.abc import Callable
from pathlib import Path

import numpy as np

from xtdrone_core import FleetState, SensorBatch
from xtdrone_core.contracts import Observer
from xtdrone_core.runs.control_link import TICK_US
from xtdrone_core.runs.log_file import LogFile, LogGaps

NAME = "models.csv"
HEADER = "t_s,model,x,y,z,qx,qy,qz,qw\n"


class ModelRecorder(Observer):
    """Writes the true pose of each model that is still there."""

    period_us = TICK_US

    def __init__(
        self, folder: Path, gaps: LogGaps, states: Callable[[], dict[str, np.ndarray]]
    ) -> None:
        """Creates the file.

        Args:
            folder: Run folder.
            gaps: Collects gaps of the file.
            states: Returns the state (13,) of each model by its name, see Entities.
        """
        self._states = states
        self._file = LogFile(folder / NAME, gaps)
        self._file.append(HEADER.encode(), 0)

    def on_step(self, t_us: int, state: FleetState, sensors: SensorBatch) -> None:
        """Writes a row for each model."""
        lines = [
            f"{t_us * 1e-6:.3f},{name},{','.join(f'{x:.5f}' for x in row[:7])}\n"
            for name, row in self._states().items()
        ]
        self._file.append("".join(lines).encode(), t_us)
