"""One flight of a campaign: a scenario and an Agent in, a status and figures out.

It runs in a worker process, which keeps what it has loaded for the next flight.
"""

import dataclasses
import math
import shutil
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from xtdrone_core import FleetState, Scenario, SensorBatch, SetPoints, XtdroneError, registry
from xtdrone_core.contracts import Observer, goals_missed
from xtdrone_core.runs import run_folder
from xtdrone_core.scenario import arguments

# How a flight can end; only good ones have succeeded.
GOOD, MISSED, CRASHED, UNFINISHED, FAILED = "good", "missed", "crashed", "unfinished", "failed"
STATUSES = GOOD, MISSED, CRASHED, UNFINISHED, FAILED
FIGURES = {  # unit and meaning of each figure; a flight has those that apply to it
    "simulated_s": ("s", "simulated time"),
    "track_rms_m": ("m", "RMS distance to the Agent's position set-point, while armed"),
    "track_max_m": ("m", "largest distance to it"),
    "landing_error_m": (
        "m",
        "horizontal distance of where the vehicles came to rest from their "
        "last position set-points, mean",
    ),
    "estimate_rms_m": ("m", "RMS error of the position estimate, while armed"),
    "estimate_max_m": ("m", "largest error of the position estimate"),
    "energy_kj": ("kJ", "work of the rotors' shafts, mean over the vehicles"),
    "path_m": ("m", "length of the path, mean over the vehicles"),
    "speed_max_m_s": ("m/s", "largest speed"),
    "tilt_max_deg": ("°", "largest tilt"),
    "separation_min_m": ("m", "smallest distance of two vehicles in flight"),
    "charge": ("", "state of charge at the end, mean over the vehicles with a battery"),
    "goals": ("", "fraction of the Agent's goals that was reached"),
    "collisions": ("", "number of collisions"),
}
_PERIOD_US = 20_000  # time between two samples of the figures [us]
_DECIMALS = 6  # decimals to which figures are rounded


@dataclass(frozen=True)
class Flight:
    """A flight to fly; all that a worker needs."""

    index: int  # number in the plan
    agent: str  # a name, module:Class or FILE.py:Class
    settings: tuple[str, ...]  # NAME=VALUE of the Agent
    scenario: Mapping[str, Any]  # as of Scenario.to_dict()
    parameters: Mapping[str, float]  # parameters of the flight stack, for all vehicles
    longest_s: float  # simulated time after which it is ended
    folder: str = ""  # run folder to leave; empty: none


@dataclass(frozen=True)
class Result:
    """Result of a flight."""

    status: str  # one of STATUSES
    reason: str = ""  # one line, except for good flights
    figures: Mapping[str, float] = field(default_factory=dict)
    wall_s: float = math.nan  # wall time that it took [s]


def fly_each(flights: Sequence[Flight]) -> list[Result]:
    """Flies flights one after the other; the function of a runner's tasks."""
    return [fly(flight) for flight in flights]


def fly(flight: Flight) -> Result:
    """Flies a flight; errors of scenario, Agent and simulation become the status of the flight."""
    begin = time.monotonic()
    try:
        result = _flown(flight)
    except XtdroneError as error:
        result = Result(FAILED, str(error))
    except Exception as error:  # raised by the user's Agent or part
        result = Result(FAILED, f"{type(error).__name__}: {error}")
    return dataclasses.replace(
        result, reason=" ".join(result.reason.split()), wall_s=round(time.monotonic() - begin, 3)
    )


class Measurement(Observer):
    """Path, speed, tilt, track error and work of a fleet while it is armed.

    Attributes:
        set_points: The Agent's last set-points, or None.
    """

    period_us = _PERIOD_US

    def __init__(self) -> None:
        self.simulation: Any = None  # a Simulation, set once it is built
        self.set_points: SetPoints | None = None
        self._speed = self._tilt = self._path = self._energy = 0.0
        self._squares, self._count, self._largest = 0.0, 0, 0.0
        self._before: np.ndarray | None = None
        self._goal: np.ndarray | None = None  # (N, 3) last position set-points

    def on_step(self, t_us: int, state: FleetState, sensors: SensorBatch) -> None:
        """Adds a state."""
        armed = self.simulation.autopilot.estimates().armed
        pos, quat = state.pos, state.quat
        if self._before is not None:
            self._path += float(np.linalg.norm(pos - self._before, axis=1)[armed].sum())
        self._before = pos.copy()
        self._energy += float(self.simulation.plant.actuators.power.sum()) * _PERIOD_US * 1e-9
        if not armed.any():
            return
        self._speed = max(self._speed, float(np.linalg.norm(state.vel[armed], axis=1).max()))
        up = 1.0 - 2.0 * (quat[armed, 0] ** 2 + quat[armed, 1] ** 2)
        self._tilt = max(self._tilt, float(np.arccos(np.clip(up, -1.0, 1.0)).max()))
        if self.set_points is not None:
            self._track(pos, armed)

    def figures(self) -> dict[str, float]:
        """Returns those of FIGURES that the flight has."""
        simulation = self.simulation
        n = simulation.scenario.n
        figures = {
            "simulated_s": simulation.t_us * 1e-6,
            "energy_kj": self._energy / n,
            "path_m": self._path / n,
            "speed_max_m_s": self._speed,
            "tilt_max_deg": math.degrees(self._tilt),
            "separation_min_m": simulation.figures.separation,
            "collisions": len(simulation.collisions),
        }
        if self._count:
            figures["track_rms_m"] = math.sqrt(self._squares / self._count)
            figures["track_max_m"] = self._largest
        if self._goal is not None:
            away = np.linalg.norm((simulation.state.pos - self._goal)[:, :2], axis=1)
            away = away[simulation.landed & np.isfinite(away)]
            figures["landing_error_m"] = float(away.mean()) if len(away) else math.nan
        errors = simulation.figures.estimate_errors()
        if errors is not None:
            figures["estimate_rms_m"], figures["estimate_max_m"] = errors
        battery = simulation.plant.battery
        if battery.fitted.any():
            figures["charge"] = float(battery.charge[battery.fitted].mean())
        asked = sum(asked for _, asked in simulation.reached.values())
        if asked:
            figures["goals"] = sum(count for count, _ in simulation.reached.values()) / asked
        return {
            name: round(figures[name], _DECIMALS)
            for name in FIGURES
            if math.isfinite(figures.get(name, math.nan))
        }

    def _track(self, pos: np.ndarray, armed: np.ndarray) -> None:
        assert self.set_points is not None
        if self._goal is None:
            self._goal = np.full_like(pos, np.nan)
        commanded = armed & np.isfinite(self.set_points.pos).all(axis=1)
        self._goal[commanded] = self.set_points.pos[commanded]
        away = np.linalg.norm((pos - self.set_points.pos)[commanded], axis=1)
        if len(away):
            self._squares += float(away @ away)
            self._count += len(away)
            self._largest = max(self._largest, float(away.max()))


def _flown(flight: Flight) -> Result:
    from xtdrone_sim.simulation import Simulation

    scenario = dataclasses.replace(Scenario.from_dict(dict(flight.scenario)), speed=0.0)
    agent_class = registry.AGENTS.load(flight.agent)
    settings = arguments.read(f"agent '{flight.agent}'", agent_class, flight.settings)
    measurement = Measurement()
    folder = _empty_folder(flight, scenario) if flight.folder else None
    simulation = Simulation(scenario, folder, links=False, observers=[measurement])
    try:
        measurement.simulation = simulation
        for name, value in flight.parameters.items():
            for i in range(scenario.n):
                simulation.autopilot.set_parameter(i, name, value)  # type: ignore[attr-defined]
        simulation.agent = _watched(agent_class, measurement)(
            scenario.n, on_event=simulation.event, **settings
        )
        error = ""
        try:
            simulation.run(until_us=round(flight.longest_s * 1e6))
        except XtdroneError as failed:
            error = str(failed)
        status, reason = _verdict(simulation, error, flight.longest_s)
        return Result(status, reason, measurement.figures())
    finally:
        simulation.close()


def _verdict(simulation: Any, error: str, longest_s: float) -> tuple[str, str]:  # a Simulation
    """Returns status and reason of a flight that has ended."""
    if simulation.crashes:
        crash = simulation.crashes[0]
        return CRASHED, f"{crash} at {crash.t_us * 1e-6:.2f} s"
    if error:
        return FAILED, error
    if not simulation.agent.done:
        return UNFINISHED, f"not done after {longest_s:g} s of simulated time"
    if goals_missed(simulation.reached):
        return MISSED, "reached " + ", ".join(
            f"{count} of {asked} {what}" for what, (count, asked) in simulation.reached.items()
        )
    return GOOD, ""


def _watched(agent_class: type, measurement: Measurement) -> Any:  # a class of the same kind
    """Returns the Agent's class, whose set-points the measurement sees."""

    def step(self: object, *arguments_of_step: object) -> SetPoints:
        measurement.set_points = agent_class.step(self, *arguments_of_step)  # type: ignore[attr-defined]
        return measurement.set_points

    return type(agent_class.__name__, (agent_class,), {"step": step})


def _empty_folder(flight: Flight, scenario: Scenario) -> Path:
    folder = Path(flight.folder)
    shutil.rmtree(folder, ignore_errors=True)  # left by an interrupted flight
    folder.mkdir(parents=True)
    run_folder.prepare(folder)
    scenario.save(folder / "scenario.yaml")
    return folder
