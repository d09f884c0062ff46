"""Figures of a flight, and the lines that are printed at its end."""

import math
from collections import deque
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import numpy as np

from xtdrone_core import FleetState, Scenario, SensorBatch, command, registry
from xtdrone_core.contracts import Autopilot, Observer, Telemetered
from xtdrone_core.runs import run_folder
from xtdrone_core.runs.log_file import LogGaps
from xtdrone_dynamics.compiled import njit

from .crashes import CrashMonitor
from .laps import LapTimer
from .recording import Console

_SAMPLES = 12  # true positions kept, so that an estimate may be a second old
_MAX_CRASHES = 5  # number of crashes that are printed one by one
_RUN_COMMANDS = "plot", "view"  # subcommands that show a run


class Sample(NamedTuple):
    """The fleet at a time."""

    t_us: int  # [us]
    pos: np.ndarray  # (N, 3) world [m]
    vel: np.ndarray  # (N, 3) world [m/s]


class FlightFigures(Observer):
    """The minimum separation of vehicles in flight, and the errors of the position estimates.

    Attributes:
        separation: Minimum distance between the centres of two vehicles in flight [m].
        closest: The names of these two; None as long as there are none.
    """

    period_us = 100_000

    def __init__(self, names: Sequence[str], monitor: CrashMonitor, autopilot: Autopilot) -> None:
        """Measures vehicles with these names."""
        self._names, self._monitor, self._autopilot = list(names), monitor, autopilot
        # An estimate that comes by telemetry is compared with its own moment.
        self._telemetry = autopilot if isinstance(autopilot, Telemetered) else None
        self.separation = math.inf
        self.closest: tuple[str, str] | None = None
        self._squared_errors, self._count, self._max_error = 0.0, 0, 0.0
        self._truth: deque[Sample] = deque(maxlen=_SAMPLES)

    def on_step(self, t_us: int, state: FleetState, sensors: SensorBatch) -> None:
        """Measures separation and estimation errors, every 0.1 s."""
        if len(self._names) > 1:
            distance, i, j = _closest(state.pos, self._monitor.on_ground)
            if distance < self.separation:
                self.separation, self.closest = distance, (self._names[i], self._names[j])
        estimates = self._autopilot.estimates()
        flies = estimates.armed & ~self._monitor.crashed
        truth = state.pos
        if self._telemetry is not None:
            self._truth.append(Sample(t_us, state.pos.copy(), state.vel.copy()))
            truth = true_positions(self._truth, self._telemetry.estimated_us())
        squared = ((estimates.pos - truth)[flies] ** 2).sum(axis=1)
        if len(squared) and np.isfinite(squared).all():
            self._squared_errors += float(squared.sum())
            self._count += len(squared)
            self._max_error = max(self._max_error, math.sqrt(squared.max()))

    def regroup(self, before: "FlightFigures") -> None:
        """Continues the figures of a flight whose fleet has changed."""
        self.separation, self.closest = before.separation, before.closest
        self._squared_errors, self._count = before._squared_errors, before._count
        self._max_error = before._max_error

    def estimate_errors(self) -> tuple[float, float] | None:
        """RMS and largest error of the position estimates while armed [m]; None if never armed."""
        if not self._count:
            return None
        return math.sqrt(self._squared_errors / self._count), self._max_error

    def summary(self) -> dict[str, Any]:
        """The fields of summary.json."""
        errors = self.estimate_errors()
        return {
            "min_separation_m": None if self.closest is None else round(self.separation, 3),
            "position_estimate_rms_m": None if errors is None else round(errors[0], 3),
        }


def true_positions(samples: Sequence[Sample], t_us: np.ndarray) -> np.ndarray:
    """Returns where vehicles were, by cubic interpolation; the first or last sample beyond them.

    Args:
        samples: By rising time.
        t_us: (N,) a time of each vehicle [us].

    Returns:
        (N, 3) world [m].
    """
    times = np.array([sample.t_us for sample in samples])
    out = np.array(samples[-1].pos)
    after = np.searchsorted(times, t_us)
    out[after == 0] = samples[0].pos[after == 0]
    for k in np.unique(after[(after > 0) & (after < len(times))]):
        rows, (a, b) = after == k, (samples[k - 1], samples[k])
        seconds = (b.t_us - a.t_us) * 1e-6
        s = ((t_us[rows] - a.t_us) * 1e-6 / seconds)[:, None]
        out[rows] = (
            (1 + 2 * s) * (1 - s) ** 2 * a.pos[rows]
            + s**2 * (3 - 2 * s) * b.pos[rows]
            + seconds * s * (1 - s) * ((1 - s) * a.vel[rows] - s * b.vel[rows])
        )
    return out


class Flown(Protocol):
    """The results of a simulation; Simulation has them."""

    scenario: Scenario
    folder: Path | None
    t_us: int
    figures: FlightFigures
    monitor: CrashMonitor
    console: Console
    race: LapTimer | None
    autopilot: Autopilot
    log_gaps: LogGaps
    ended: str  # finished, stopped (by a signal or a station), or failed: and why

    @property
    def landed(self) -> np.ndarray:
        """(N,) bool, which vehicles have landed."""

    @property
    def reached(self) -> Mapping[str, tuple[int, int]]:
        """Number of goals reached and number of goals, by the name of the goals."""

    def real_time_factor(self) -> float:
        """Simulated over wall time."""


def flight_summary(simulation: Flown, transport: str) -> dict[str, Any]:
    """Returns the simulation's fields of summary.json.

    Args:
        simulation: The simulation, at any time of the flight.
        transport: What commands the vehicles: mavlink or agent.
    """
    scenario, monitor = simulation.scenario, simulation.monitor
    health = simulation.autopilot.health() if scenario.key else ()
    refused = {
        vehicle.name: sum(link["refused"] for link in report["links"].values())
        for vehicle, report in zip(scenario.vehicles, health)
    }
    return {
        "n": scenario.n,
        "engine": scenario.engine,
        "autopilot": scenario.flown_by,
        "transport": transport,
        "world": scenario.world,
        "seed": scenario.seed,
        "gps": scenario.gps,
        "pose_source": scenario.pose_source,
        "speed": scenario.speed,
        "sim_time_s": simulation.t_us * 1e-6,
        "real_time_factor": round(simulation.real_time_factor(), 3),
        "reached": {what: list(counts) for what, counts in simulation.reached.items()},
        "collisions": len(monitor.collisions),
        "crashes": monitor.table(),
        **simulation.figures.summary(),
        **({"refused_messages": refused} if scenario.key else {}),
        **({} if simulation.race is None else {"race": simulation.race.summary()}),
        "landed": bool(simulation.landed.all()),
    }


def closing_lines(simulation: Flown) -> list[str]:
    """Returns the lines that are printed at the end of a flight."""
    figures, monitor = simulation.figures, simulation.monitor
    errors, landed = figures.estimate_errors(), int(simulation.landed.sum())
    rows = [
        (
            "simulated",
            f"{simulation.t_us * 1e-6:.1f} s, {simulation.real_time_factor():.2f} x real time",
        )
    ]
    rows += [("ended", "stopped by you, or by a station")] * (simulation.ended == "stopped")
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
        for text, crash in zip(map(str, monitor.crashes[-len(crashes) :]), crashes[:_MAX_CRASHES])
    ]
    if len(crashes) > _MAX_CRASHES:
        rows.append(("crash", f"and {len(crashes) - _MAX_CRASHES} more, see events.jsonl"))
    rows += [("crashes", "none")] * (not crashes)
    rows.append(("collisions", str(len(monitor.collisions) or "none")))
    if figures.closest is not None:
        rows.append(
            ("least separation", f"{figures.separation:.2f} m, {' and '.join(figures.closest)}")
        )
    if errors is not None:
        rows.append(
            ("position estimate", f"{errors[0]:.2f} m RMS error, {errors[1]:.2f} m at most")
        )
    console = simulation.console
    rows.append(("warnings", _warnings(console)))
    rows += _incomplete_logs(simulation.log_gaps)
    if simulation.folder is not None:
        shown = commands_that_show(run_folder.latest(simulation.scenario.instance))
        rows += [("shown by", shown)] * bool(shown)
    lines = [f"{label:18s}{value}" for label, value in rows]
    if simulation.folder is not None:
        lines.append(f"run folder: {simulation.folder}")
    return lines


def _warnings(console: Console) -> str:
    """The warnings of the flight stacks, and those about files."""
    flown = (
        f"{console.warnings}, the last of {console.last_warning}" if console.warnings else "none"
    )
    if not console.remarks:
        return flown
    more = f", the first: {console.remarks[0]}" if len(console.remarks) > 1 else ""
    what = more or f": {console.remarks[0]}"
    return f"{flown} in flight; {len(console.remarks)} about files{what}"


def _incomplete_logs(log_gaps: LogGaps) -> list[tuple[str, str]]:
    """The line of logs that lack something, as those of a full disk do."""
    if not (gaps := log_gaps.table()):
        return []
    first = f"{gaps[0]['log']}: {gaps[0]['reason']}"
    return [("incomplete logs", f"{len(gaps)}, the first {first}; log_gaps in summary.json")]


def commands_that_show(run: str) -> str:
    """Returns the registered commands that show a run, with its name; "" without any."""
    known = registry.entries(command.GROUP)
    return ", ".join(f"xtdrone {name} {run}" for name in _RUN_COMMANDS if name in known)


@njit
def _closest(pos: np.ndarray, on_ground: np.ndarray) -> tuple[float, int, int]:
    """Distance and indices of the two vehicles of (N, 3) that are closest, not both on ground."""
    minimum, one, other = np.inf, 0, 0
    for i in range(pos.shape[0]):
        for j in range(i):
            if on_ground[i] and on_ground[j]:
                continue
            x, y, z = pos[i, 0] - pos[j, 0], pos[i, 1] - pos[j, 1], pos[i, 2] - pos[j, 2]
            square = x * x + y * y + z * z
            if square < minimum:
                minimum, one, other = square, j, i
    return np.sqrt(minimum), one, other
