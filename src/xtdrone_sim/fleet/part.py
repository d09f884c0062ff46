"""One autopilot of several in a fleet."""

import dataclasses
from collections.abc import Callable

import numpy as np

from xtdrone_core import FleetModel, FleetState, registry
from xtdrone_core.contracts import Autopilot, AutopilotContext
from xtdrone_core.state import ARRAYS_OF_STATE, ExtraReadings, SensorBatch, SetPoints


class Texts:
    """Passes texts of an autopilot on, under the rows that its vehicles have in the fleet."""

    def __init__(self, say: Callable[[int, int, str], None], n: int):
        """n vehicles, which have the same rows in both; say(vehicle, severity, text)."""
        self.say = say
        self.rows = {i: i for i in range(n)}

    def __call__(self, i: int, severity: int, text: str) -> None:
        """A text of vehicle i; nothing is passed on of one that left."""
        if i in self.rows:
            self.say(self.rows[i], severity, text)


def autopilot_of(context: AutopilotContext) -> Autopilot:
    """The autopilot of a fleet that has one."""
    made: Autopilot = registry.AUTOPILOTS.load(context.scenario.autopilot).for_scenario(context)
    return made


def _part_of(
    context: AutopilotContext, name: str, rows: np.ndarray, on_text: Texts, sensors: SensorBatch
) -> Autopilot:
    """The autopilot of some vehicles, rows (n,) of the fleet, which carry these sensors."""
    specs = tuple(dataclasses.replace(context.scenario.vehicles[row], autopilot="") for row in rows)
    # Disturbances name vehicles of the whole fleet, and are none of an autopilot's business.
    scenario = dataclasses.replace(
        context.scenario, vehicles=specs, autopilot=name, disturbances=""
    )
    model = FleetModel.of([context.fleet.vehicles[row] for row in rows])
    return autopilot_of(
        dataclasses.replace(
            context, scenario=scenario, fleet=model, on_text=on_text, sensors=sensors
        )
    )


class Part:
    """One autopilot with its vehicles.

    Attributes:
        name: As the scenario has it.
        rows: (n,) int, its vehicles in the fleet.
        own: (n,) int, their rows in the autopilot itself; vehicles that left have some, too.
        autopilot: What flies them.
        sensors: Its readings.
        begun: Whether it has made a step.
    """

    def __init__(
        self,
        name: str,
        rows: np.ndarray,
        context: AutopilotContext,
        known: tuple[Autopilot, Texts] | None = None,
    ):
        """The autopilot of these vehicles: a known one and its texts, or else a new one."""
        self.name, self.begun = name, known is not None
        self.texts = Texts(context.on_text.say, len(rows)) if known is None else known[1]
        self.move(rows, np.arange(len(rows)))
        self.sensors = SensorBatch.empty(len(rows))
        for kind, extra in context.sensors.extra.items():
            self.sensors.extra[kind] = ExtraReadings(
                extra.records[rows], extra.fitted[rows], extra.log, extra.mavlink
            )
        self._take(context.sensors)
        self.autopilot = (
            _part_of(context, name, rows, self.texts, self.sensors) if known is None else known[0]
        )
        width = max(len(context.fleet.vehicles[row].actuators) for row in rows)
        self._levels = SetPoints.empty(len(rows)), SetPoints.empty(len(rows), width)

    def move(self, rows: np.ndarray, own: np.ndarray) -> None:
        """Its vehicles have other rows in the fleet from now on."""
        self.rows, self.own = rows, own
        self.texts.rows = dict(zip(own.tolist(), rows.tolist(), strict=True))

    def step(self, t_us: int, sensors: SensorBatch, commands: np.ndarray) -> None:
        """Steps it, and writes its rows of the fleet's commands (N, A)."""
        self.begun = True
        self._take(sensors)
        found = self.autopilot.step(t_us, self.sensors)
        commands[self.rows, : found.shape[1]] = found[self.own]

    def apply(self, set_points: SetPoints) -> None:
        """Passes on its rows of the fleet's set-points."""
        own = self._levels[set_points.actuators.shape[1] > 0]
        own.clear()
        own.records[self.own] = set_points.records[self.rows]
        own.actuators[self.own] = set_points.actuators[self.rows, : own.actuators.shape[1]]
        self.autopilot.apply(own)

    def state(self, state: FleetState) -> FleetState:
        """Its vehicles of the fleet's state, and any other's for those that left."""
        rows = np.zeros(len(self.sensors.records), dtype=np.int64)
        rows[self.own] = self.rows
        return FleetState(state.t_us, *(getattr(state, name)[rows] for name in ARRAYS_OF_STATE))

    def mask(self, mask: np.ndarray | None) -> np.ndarray:
        """Its part of a mask (N,) bool of the fleet's vehicles."""
        found = np.zeros(len(self.sensors.records), dtype=np.bool_)
        found[self.own] = True if mask is None else mask[self.rows]
        return found

    def _take(self, sensors):
        mine = self.sensors
        mine.t_us, mine.records[self.own] = sensors.t_us, sensors.records[self.rows]
        for kind, extra in mine.extra.items():
            if kind in sensors.extra:
                extra.records[self.own] = sensors.extra[kind].records[self.rows]
