"""Where slung loads are and how far they swing: loads.csv."""

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from xtdrone_core import FleetState, SensorBatch
from xtdrone_core.contracts import Observer
from xtdrone_core.runs.control_link import TICK_US
from xtdrone_core.runs.log_file import LogFile, LogGaps
from xtdrone_core.scenario.loads import SlungLoad
from xtdrone_dynamics.quaternion import rotate_array

NAME = "loads.csv"
HEADER = "t_s,load,x,y,z,swing_deg\n"


class LoadRecorder(Observer):
    """Writes the true place of each load, and the angle of its cables to the vertical.

    Of two cables the larger angle counts; that of a slack one is the angle of the line between
    its ends.
    """

    period_us = TICK_US

    def __init__(
        self,
        folder: Path,
        gaps: LogGaps,
        loads: Sequence[SlungLoad],
        states: Callable[[], np.ndarray],
    ) -> None:
        """Creates the file.

        Args:
            folder: Run folder.
            gaps: Collects gaps of the file.
            loads: Those of the scenario, the first models that were inserted.
            states: Returns the states (P, 13) of the inserted models.
        """
        self._loads, self._states = loads, states
        self._file = LogFile(folder / NAME, gaps)
        self._file.append(HEADER.encode(), 0)

    def on_step(self, t_us: int, state: FleetState, sensors: SensorBatch) -> None:
        """Writes a row for each load."""
        lines = []
        for load, row in zip(self._loads, self._states()):
            ends = np.linspace(-0.5, 0.5, len(load.vehicles)) if load.bar else np.zeros(1)
            tied = row[:3] + rotate_array(
                np.tile(row[3:7], (len(ends), 1)), np.outer(load.bar * ends, [0.0, 1.0, 0.0])
            )
            away = tied - state.pos[list(load.vehicles)]
            swing = np.degrees(np.arctan2(np.hypot(away[:, 0], away[:, 1]), -away[:, 2])).max()
            x, y, z = row[:3]
            lines.append(f"{t_us * 1e-6:.3f},{load.name},{x:.4f},{y:.4f},{z:.4f},{swing:.3f}\n")
        self._file.append("".join(lines).encode(), t_us)
