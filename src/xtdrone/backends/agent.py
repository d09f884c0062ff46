"""The Agent that calls the backends of some vehicles, and another Agent for the others."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from xtdrone_core.agent import BaseAgent
from xtdrone_core.contracts import Agent, Flight
from xtdrone_core.errors import ScenarioError, unknown_name
from xtdrone_core.modes import Mode
from xtdrone_core.runs.snapshot import Rows, regrouped
from xtdrone_core.scenario.scenario import Scenario
from xtdrone_core.state import Estimates, SetPoints

from ..operator import Operator
from .backend import Backend, Command, VehicleState

_STEP_US = 4_000
_WAITING = -1  # value in place of a time: not begun


class BackendsAgent(BaseAgent):
    """Flies vehicles by their backends, the others by `rest`.

    Attributes:
        flown: (N,) bool, the vehicles with a backend.
        backends: Those, by the names of their vehicles.
        rest: The Agent of the others.
    """

    MEMORY = ("_begun_us", "_landing", "_backends", "_ground")
    period_us = _STEP_US

    def __init__(self, scenario: Scenario, backends: Mapping[str, Backend], rest: Agent) -> None:
        """Takes a scenario, and backends by the names of their vehicles.

        Raises:
            ScenarioError: No such vehicle, or something that is no backend.
        """
        names = [spec.name for spec in scenario.vehicles]
        for name, backend in backends.items():
            if name not in names:
                raise ScenarioError(unknown_name("vehicle", name, names))
            if not isinstance(backend, Backend):
                raise ScenarioError(
                    f"backend of '{name}' is a {type(backend).__name__}: inherit "
                    "from xd.Backend, and give an object, not the class"
                )
            if backend.period_us <= 0 or backend.period_us % _STEP_US:
                raise ScenarioError(
                    f"period_us {backend.period_us} of the backend of '{name}' is "
                    f"not allowed: give a multiple of {_STEP_US}"
                )
        if len({id(backend) for backend in backends.values()}) < len(backends):
            raise ScenarioError(
                "two vehicles have the same backend: give each an object of its own"
            )
        self._rows = [names.index(name) for name in backends]
        self.backends, self._backends = dict(backends), list(backends.values())
        self.flown = np.zeros(len(names), dtype=np.bool_)
        self.flown[self._rows] = True
        self.rest = rest
        self._begun_us = np.full(len(names), _WAITING, dtype=np.int64)
        self._landing = np.zeros(len(names), dtype=np.bool_)
        self._flight: Any = None  # the Flight

    def attach(self, flight: Flight) -> None:
        """Takes the truth, the sensors and the vehicles of its simulation."""
        self._flight = flight
        n, actuators = flight.fleet.actuator.shape
        self._ground = Operator(n, actuators)  # arms and lands
        self._out = SetPoints.empty(n, actuators)
        for row, backend in zip(self._rows, self._backends):
            backend.vehicle = flight.fleet.vehicles[row]
            backend.prepare()

    def follow(self, before: "BackendsAgent", rows: Rows) -> None:
        """Goes on with the flights of a fleet that was larger or smaller."""
        for name in ("_begun_us", "_landing"):
            setattr(self, name, regrouped(getattr(before, name), getattr(self, name), rows))
        self._ground.load(regrouped(before._ground.save(), self._ground.save(), rows))

    @property
    def done(self) -> bool:  # type: ignore[override]  # derived, never set
        """True when every backend is done and its vehicle down, and the others' Agent is done."""
        if self._flight is None:
            return False
        estimates = self._flight.autopilot.estimates()
        return bool(
            self._landing[self._rows].all()
            and not estimates.armed[self._rows].any()
            and (isinstance(self.rest, Operator) or self.rest.done)
        )

    def step(self, t_us: int, estimates: Estimates) -> SetPoints:
        """Returns the commands of all backends that are due, and of the others' Agent."""
        out = self._out
        out.clear()
        self._ask(t_us, estimates)
        if t_us % self.rest.period_us == 0:
            self._copy(self.rest.step(t_us, estimates), ~self.flown)
        self._copy(
            self._ground.step(t_us, estimates),
            self.flown & ((self._begun_us == _WAITING) | self._landing),
        )
        for row, backend in zip(self._rows, self._backends):
            since = t_us - self._begun_us[row]
            flies = estimates.armed[row] and estimates.mode[row] == Mode.OFFBOARD
            if (
                self._begun_us[row] != _WAITING
                and not self._landing[row]
                and flies
                and since % backend.period_us == 0
            ):
                state = self._state(row, backend, estimates)
                self._take(
                    row, backend.step(since * 1e-6, state, self._flight.sensors.records[row])
                )
        return out

    def reset(self, mask: np.ndarray | None = None) -> None:
        """Lets these vehicles begin anew."""
        rows = slice(None) if mask is None else mask
        self._begun_us[rows], self._landing[rows] = _WAITING, False
        self._ground.reset(mask)
        self.rest.reset(mask)
        for row, backend in zip(self._rows, self._backends):
            if mask is None or mask[row]:
                backend.done = False

    def _ask(self, t_us: int, estimates: Estimates) -> None:
        """Arms those that wait, begins with those that are armed, lands those that are done."""
        for row, backend in zip(self._rows, self._backends):
            mask = np.arange(len(self.flown)) == row
            if self._begun_us[row] == _WAITING:
                if np.isnan(self._ground.launch_pos[row, 0]):
                    if estimates.ready[row]:
                        self._ground.hold(mask, estimates.pos)
                elif estimates.armed[row] and estimates.mode[row] == Mode.OFFBOARD:
                    self._begun_us[row] = t_us
                    backend.begin(self._state(row, backend, estimates))
            elif backend.done and not self._landing[row]:
                self._landing[row] = True
                self._ground.land(mask)

    def _state(self, row: int, backend: Backend, estimates: Estimates) -> VehicleState:
        source = self._flight.state if backend.truth else estimates
        return VehicleState(source.pos[row], source.quat[row], source.vel[row], source.ang_vel[row])

    def _copy(self, wanted: SetPoints, mask: np.ndarray) -> None:
        self._out.records[mask] = wanted.records[mask]
        if wanted.actuators.shape[1]:
            self._out.actuators[mask] = wanted.actuators[mask]

    def _take(self, row: int, command: Command) -> None:
        """Puts what a backend returned into the set-points."""
        if command is None:
            return
        out, count = self._out, len(self._flight.fleet.vehicles[row].actuators)
        given = command.actuators[0] if isinstance(command, SetPoints) else np.asarray(command)
        if isinstance(command, SetPoints):
            out.records[row] = command.records[0]
        if given.shape != (count,) and not (isinstance(command, SetPoints) and not len(given)):
            name = self._flight.scenario.vehicles[row].name
            raise ScenarioError(
                f"the backend of '{name}' returned commands of shape "
                f"{given.shape}: give {count}, one for each actuator"
            )
        out.actuators[row, : len(given)] = given
