"""Recorders of a simulation: truth log, console, summary."""

import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from xtdrone_core import FleetState, SensorBatch
from xtdrone_core.contracts import Observer
from xtdrone_core.runs import run_folder
from xtdrone_core.runs.control_link import TICK_US
from xtdrone_core.runs.log_file import LogFile, LogGaps
from xtdrone_core.runs.truth_log import TruthWriter

WARNING = 4  # severity of a text from a flight stack, as in MAVLink
SUMMARY_S = 2.0  # between two summaries of a flight [s, wall]
_GAP_SIZE = 384  # space for the gaps of one log in summary.json [bytes]
_CRASH_SIZE = 256  # space for a crash [bytes]
_SUMMARY_SIZE = 3072  # space for the rest [bytes]


class TruthRecorder(Observer):
    """Writes truth.bin."""

    period_us = TICK_US

    def __init__(self, path: Path | str, n: int, gaps: LogGaps | None = None):
        """Creates the file.

        Raises:
            XtdroneError: The file cannot be written.
        """
        self._writer = TruthWriter(path, n, gaps)

    def on_step(self, t_us: int, state: FleetState, sensors: SensorBatch) -> None:
        """Writes one record."""
        self._writer.write(state)

    def close(self) -> None:
        """Ends the file."""
        self._writer.close()


class Console:
    """console/autopilot.log: messages of the simulation and of the flight stacks.

    Attributes:
        warnings: Number of warnings of the flight stacks.
        last_warning: Text of the last one; None before the first.
        remarks: What of the files of world, vehicles and inserted models is not used as given.
    """

    def __init__(self, names: Sequence[str], folder: Path | None, gaps: LogGaps | None = None):
        """Creates the file.

        Args:
            names: Names of the vehicles.
            folder: Run folder; None writes nothing.
            gaps: Collects gaps of the file; None: its own.
        """
        self._names = list(names)
        self.warnings = 0
        self.last_warning: str | None = None
        self.remarks: list[str] = []
        self._file = (
            None
            if folder is None
            else LogFile(Path(folder) / "console" / "autopilot.log", gaps or LogGaps())
        )

    def regroup(self, before: "Console") -> None:
        """Continues to count the warnings of a flight whose fleet has changed."""
        self.warnings, self.last_warning = before.warnings, before.last_warning
        self.remarks = list(dict.fromkeys([*before.remarks, *self.remarks]))

    def say(self, t_us: int, vehicle: int | None, severity: int, text: str) -> None:
        """Writes a line of one vehicle, None for the simulation; severity as in MAVLink."""
        who = "simulation" if vehicle is None else self._names[vehicle]
        if vehicle is not None and severity <= WARNING:
            self.warnings += 1
            self.last_warning = f"{who} at {t_us * 1e-6:.1f} s: {text}"
        if self._file is not None:
            line = f"{t_us * 1e-6:9.3f} {who} [{severity}] {text}\n"
            self._file.append(line.encode(errors="replace"), t_us)


class SummaryKeeper(Observer):
    """Rewrites summary.json during the flight, so that a simulation that is killed leaves one."""

    period_us = TICK_US

    def __init__(self, folder: Path, n: int, gaps: LogGaps, summary: Callable[[], dict[str, Any]]):
        """Reserves space for the summary.

        Args:
            folder: Run folder.
            n: Number of vehicles.
            gaps: Collects gaps of all logs.
            summary: Returns the fields, without gaps and end.
        """
        self._folder, self._gaps, self._summary = folder, gaps, summary
        self._reserve = (
            _SUMMARY_SIZE
            + _GAP_SIZE * (n + 4)  # gaps of every log
            + _CRASH_SIZE * n
        )
        self._file = LogFile(folder / run_folder.SUMMARY, gaps)
        self._due = 0.0

    def on_start(self, t_us: int, state: FleetState, sensors: SensorBatch) -> None:
        """Writes the first summary."""
        self.write(t_us)

    def on_step(self, t_us: int, state: FleetState, sensors: SensorBatch) -> None:
        """Writes another summary, if it is due."""
        if time.monotonic() >= self._due:
            self.write(t_us)

    def write(self, t_us: int, ended: str = "", values: dict[str, Any] | None = None) -> None:
        """Rewrites the file; on a full disk in the space that was reserved at the start.

        Args:
            t_us: Simulated time [us].
            ended: How the flight ended; empty: it goes on.
            values: The fields; None: as they are now.
        """
        self._due = time.monotonic() + SUMMARY_S
        try:
            run_folder.update_summary(
                self._folder,
                0 if ended else self._reserve,
                **(values or self._summary()),
                ended=ended or "unfinished",
                log_gaps=self._gaps.table(),
            )
        except OSError as error:
            self._file.fail(str(error.strerror), t_us)
        else:
            self._file.succeed(t_us)
