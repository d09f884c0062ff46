"""Figures of a flight, and the lines that are printed at its end."""

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from xtdrone_core import FleetState, SensorBatch, command, registry
from xtdrone_core.contracts import Autopilot, Observer
from xtdrone_core.runs import run_folder
from xtdrone_dynamics.compiled import njit

from .crashes import CrashMonitor

if TYPE_CHECKING:
    from ..simulation import Simulation

_SHOWN = 5  # largest number of crashes that are printed
_SHOW_A_RUN = "plot", "view"  # subcommands


class FlightFigures(Observer):
    """The least separation of vehicles in flight, and the errors of the position estimates."""

    period_us = 100_000

    def __init__(self, names: Sequence[str], monitor: CrashMonitor, autopilot: Autopilot):
        """Of vehicles with these names."""
        self._names, self._monitor, self._autopilot = list(names), monitor, autopilot
        self.separation = math.inf  # least distance between centres [m]
        self.closest: tuple[str, str] | None = None  # the two vehicles
        self._squares, self._count, self._largest = 0.0, 0, 0.0  # of the errors

    def on_step(self, t_us: int, state: FleetState, sensors: SensorBatch) -> None:
        """Takes the positions in."""
        if len(self._names) > 1:
            distance, i, j = _closest(state.pos, self._monitor.on_ground)
            if distance < self.separation:
                self.separation, self.closest = distance, (self._names[i], self._names[j])
        estimates = self._autopilot.estimates()
        flies = estimates.armed & ~self._monitor.crashed
        squares = ((estimates.pos - state.pos)[flies] ** 2).sum(axis=1)
        if len(squares) and np.isfinite(squares).all():
            self._squares += float(squares.sum())
            self._count += len(squares)
            self._largest = max(self._largest, math.sqrt(squares.max()))

    def estimate_errors(self) -> tuple[float, float] | None:
        """RMS and largest error of the position estimates while armed [m]; None if never armed."""
        if not self._count:
            return None
        return math.sqrt(self._squares / self._count), self._largest

    def summary(self) -> dict[str, Any]:
        """The fields of summary.json."""
        errors = self.estimate_errors()
        return {
            "min_separation_m": None if self.closest is None else round(self.separation, 3),
            "position_estimate_rms_m": None if errors is None else round(errors[0], 3),
        }


def closing_lines(simulation: "Simulation") -> list[str]:
    """What is printed at the end of a flight, a line each."""
    figures, monitor = simulation.figures, simulation.monitor
    errors, landed = figures.estimate_errors(), int(simulation.landed.sum())
    rows = [
        (
            "simulated",
            f"{simulation.t_us * 1e-6:.1f} s, {simulation.real_time_factor():.2f} x real time",
        )
    ]
    rows += [
        ("reached", f"{reached} of {asked} {what}")
        for what, (reached, asked) in simulation.reached.items()
    ]
    rows += [] if simulation.race is None else simulation.race.closing_lines()
    rows.append(("landed", f"{landed} of {simulation.scenario.n}"))
    crashes = monitor.table()
    rows += [
        (
            "crash",
            f"{crash['t']:.2f} s: {text}"
            + (
                f"; its rotors turned for {crash['rotors_turned']:.1f} s more"
                if crash["rotors_turned"] >= 1.0
                else ""
            ),
        )
        for text, crash in zip(map(str, monitor.crashes[-len(crashes) :]), crashes[:_SHOWN])
    ]
    if len(crashes) > _SHOWN:
        rows.append(("crash", f"and {len(crashes) - _SHOWN} more, see events.jsonl"))
    rows += [("crashes", "none")] * (not crashes)
    rows.append(("collisions", str(len(simulation.collisions) or "none")))
    if figures.closest is not None:
        rows.append(
            ("least separation", f"{figures.separation:.2f} m, {' and '.join(figures.closest)}")
        )
    if errors is not None:
        rows.append(
            ("position estimate", f"{errors[0]:.2f} m RMS error, {errors[1]:.2f} m at most")
        )
    console = simulation.console
    rows.append(
        (
            "warnings",
            f"{console.warnings}, the last of {console.last_warning}"
            if console.warnings
            else "none",
        )
    )
    if simulation.folder is not None:
        shown = commands_that_show(run_folder.latest(simulation.scenario.instance))
        rows += [("shown by", shown)] * bool(shown)
    lines = [f"{label:18s}{value}" for label, value in rows]
    if simulation.folder is not None:
        lines.append(f"run folder: {simulation.folder}")
    return lines


def commands_that_show(run: str) -> str:
    """The registered commands that show a run, with its name; an empty string without any."""
    known = registry.entries(command.GROUP)
    return ", ".join(f"xtdrone {name} {run}" for name in _SHOW_A_RUN if name in known)


@njit
def _closest(pos, on_ground):
    """Distance and indices of the two vehicles of (N, 3) that are closest, not both on ground."""
    least, one, other = np.inf, 0, 0
    for i in range(pos.shape[0]):
        for j in range(i):
            if on_ground[i] and on_ground[j]:
                continue
            x, y, z = pos[i, 0] - pos[j, 0], pos[i, 1] - pos[j, 1], pos[i, 2] - pos[j, 2]
            square = x * x + y * y + z * z
            if square < least:
                least, one, other = square, j, i
    return np.sqrt(least), one, other
