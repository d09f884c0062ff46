"""All that turns actuator commands into wrenches on bodies: actuators, air, batteries."""

import numpy as np

from xtdrone_core import FleetModel, FleetState, Scenario
from xtdrone_core.contracts import Engine

from ..vehicles.sdf import World
from .battery import BatteryStage
from .disturbances import Changes
from .rotors import RotorStage
from .wind import Wind, WindParameters


class Plant:
    """The physics of a fleet beside its bodies, step by step.

    Attributes:
        rotors: The fleet's RotorStage.
        battery: Its BatteryStage.
        wind: Its Wind, or None in still air.
        changes: The disturbances of the scenario.
    """

    def __init__(self, scenario: Scenario, fleet: FleetModel, world: World, engine: Engine):
        """Everything at rest and charged as at the start.

        Args:
            scenario: Says the wind, the disturbances and the seed.
            fleet: The vehicles.
            world: Where they fly.
            engine: Carries payloads.

        Raises:
            XtdroneError: A wind or a disturbance that makes no sense here.
        """
        self.rotors = RotorStage(fleet, world.altitude)
        self.battery = BatteryStage(fleet)
        self.changes = Changes(scenario, fleet, engine, self.rotors, self.battery)
        self.wind = _wind_of(scenario, world)
        self._wrench = np.zeros((fleet.n, 6))

    def disturb(self, t_us: int) -> list[dict]:
        """Brings into force what is due; gives it as the values of events."""
        if not self.changes.due(t_us):
            return []
        return [self.changes.values(change) for change in self.changes.apply(t_us)]

    def step(self, t_us: int, commands: np.ndarray, state: FleetState, dt_us: int) -> np.ndarray:
        """The wrench of one step on each body.

        Args:
            t_us: Simulated time at its start [us].
            commands: As RotorStage.step takes them.
            state: The fleet at its start; actuators are advanced in place.
            dt_us: Length of the step [us].

        Returns:
            (N, 6) force [N] and torque [N m], world; overwritten by the next step.
        """
        if self.wind is not None:
            self.wind.step(t_us, dt_us, state.pos, state.vel, self.rotors.wind)
        self.rotors.step(commands, state, dt_us, self._wrench)
        self.battery.step(self.rotors.power, dt_us, self.rotors.speed_share)
        return self._wrench


def _wind_of(scenario, world) -> Wind | None:
    """The world's wind, or the scenario's in its place; None in still air."""
    if scenario.wind:
        parameters = WindParameters.parse(scenario.wind)
    else:
        parameters = WindParameters.of_world(world.wind, world.sdf.parent)
    return None if parameters.still else Wind(parameters, scenario.n, scenario.seed)
