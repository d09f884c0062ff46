"""The plant turns actuator commands into wrenches on bodies: actuators, aerodynamics, batteries."""

import math
from typing import Any

import numpy as np

from xtdrone_core import FleetModel, FleetState, Scenario
from xtdrone_core.contracts import Engine, Snapshot
from xtdrone_core.runs.snapshot import Rows, take_over

from ..errors import WaveError
from ..world import World
from ..world.waves import Waves
from .actuators import ActuatorStage
from .battery import BatteryStage
from .disturbances import Disturbances
from .grippers import GripperStage
from .pushes import Pushes
from .wind import Wind, WindParameters


class Plant:
    """The physics of a fleet except for rigid-body dynamics.

    Attributes:
        actuators: The fleet's ActuatorStage.
        battery: The fleet's BatteryStage.
        wind: The fleet's Wind, or None in still air.
        disturbances: The scenario's Disturbances.
        pushes: External wrenches.
    """

    def __init__(self, scenario: Scenario, fleet: FleetModel, world: World, engine: Engine):
        """Starts with all actuators at rest and batteries at their initial charge.

        Args:
            scenario: The scenario with wind, disturbances and seed.
            fleet: The vehicles.
            world: The world they fly in.
            engine: The engine that simulates the payloads.

        Raises:
            XtdroneError: Wind, waves or a disturbance is invalid.
        """
        self.actuators = ActuatorStage(
            fleet, world.altitude, world.water, world.water_density * world.gravity
        )
        self.actuators.waves, self._waves_us = _waves_of(scenario, world)
        self.battery = BatteryStage(fleet)
        self._grippers = GripperStage(fleet, engine)
        self.disturbances = Disturbances(scenario, fleet, engine, self.actuators, self.battery)
        self.pushes = Pushes(fleet.n, engine)
        self.wind = _wind_of(scenario, world)
        self._at_start = lambda: _wind_of(scenario, world)
        self._fleet = _fleet_of(scenario)
        self._changed: str | None = None  # the wind that was given in flight

    def change_wind(self, text: str) -> None:
        """Replaces the wind during a flight.

        Args:
            text: As a scenario's wind; empty for still air.

        Raises:
            WindError: The text is invalid.
        """
        parameters = WindParameters.parse(text)
        self.wind = None if parameters.still else Wind(parameters, *self._fleet)
        self.actuators.wind[:] = 0.0
        self._changed = text

    @property
    def _winds(self) -> list[Wind]:
        return [] if self.wind is None else [self.wind]

    def disturb(self, t_us: int) -> list[dict[str, Any]]:
        """Applies the disturbances that are due; returns the values for their events."""
        if not self.disturbances.due(t_us):
            return []
        return [self.disturbances.values(each) for each in self.disturbances.apply(t_us)]

    def step(self, t_us: int, commands: np.ndarray, state: FleetState, dt_us: int) -> np.ndarray:
        """Computes the wrench on each body for one step.

        Args:
            t_us: Simulated time at the start of the step [us].
            commands: (N, A) as in ActuatorStage.step.
            state: The fleet at the start of the step; its actuators are advanced in place.
            dt_us: Length of the step [us].

        Returns:
            (N, B, 6) as ActuatorStage.wrench; overwritten by the next step. The joint targets
            are in actuators.joint_targets.
        """
        if self.wind is not None:
            self.wind.step(t_us, dt_us, state.pos, state.vel, self.actuators.wind)
        wrench = self.actuators.step(commands, state, dt_us, t_us - self._waves_us)
        self._grippers.step(state.actuator)
        self.battery.step(self.actuators.power, dt_us, self.actuators.speed_limit)
        self.pushes.apply(t_us, state, wrench)
        return wrench

    def reset(self, mask: np.ndarray, t_us: int) -> None:
        """Resets these vehicles (mask (N,) bool) at t_us: at rest, batteries at initial charge."""
        for part in (self.actuators, self.battery, *self._winds):
            part.reset(mask)
        self.disturbances.reset(mask, t_us)
        self.pushes.reset(mask)

    def save(self) -> dict[str, Any]:
        """Returns copies of the complete internal state."""
        return {
            "actuators": self.actuators.save(),
            "battery": self.battery.save(),
            "disturbances": self.disturbances.save(),
            "pushes": self.pushes.save(),
            "changed_wind": self._changed,
            "winds": [wind.save() for wind in self._winds],
        }

    def regroup(self, before: "Plant", rows: Rows) -> None:
        """Takes over the state of the vehicles that were in the former fleet, too."""
        if before._changed is not None:
            self.change_wind(before._changed)
        take_over(self.actuators, before.actuators, rows)
        take_over(self.battery, before.battery, rows)
        self.disturbances.regroup(before.disturbances, rows)
        self.pushes.regroup(before.pushes, rows)
        for wind, former in zip(self._winds, before._winds, strict=True):
            take_over(wind, former, rows)

    def load(self, snapshot: Snapshot) -> None:
        """Restores a state returned by save()."""
        self.actuators.load(snapshot["actuators"])
        self.battery.load(snapshot["battery"])
        self.disturbances.load(snapshot["disturbances"])
        self.pushes.load(snapshot["pushes"])
        changed = snapshot.get("changed_wind")
        if changed is None and self._changed is not None:
            self.wind, self._changed = self._at_start(), None
        elif changed is not None:
            velocities = self.actuators.wind.copy()
            self.change_wind(changed)
            self.actuators.wind[:] = velocities
        for wind, saved in zip(self._winds, snapshot["winds"], strict=True):
            wind.load(saved)


def _fleet_of(scenario: Scenario) -> tuple[int, int, list[int]]:
    """Number of vehicles, seed, and the numbers of the vehicles."""
    return scenario.n, scenario.seed, [spec.number for spec in scenario.vehicles]


def _wind_of(scenario: Scenario, world: World) -> Wind | None:
    """The scenario's wind if it has one, else the world's; None in still air."""
    if scenario.wind:
        parameters = WindParameters.parse(scenario.wind)
    else:
        parameters = WindParameters.of_world(world.wind, world.sdf.parent)
    return None if parameters.still else Wind(parameters, *_fleet_of(scenario))


def _waves_of(scenario: Scenario, world: World) -> tuple[np.ndarray, int]:
    """The scenario's waves if it has some, else the world's: (K,) of WAVE, and their start [us]."""
    given = Waves.parse(scenario.waves) if scenario.waves else world.waves
    if scenario.waves and world.water == -math.inf:
        raise WaveError(
            f"waves '{scenario.waves}' need water, and world '{world.name}' has none: give a world "
            "such as lake, or leave them out"
        )
    return given.sampled(scenario.seed, world.gravity), round(given.start * 1e6)
