"""One autopilot of several in a fleet, and the vehicles that it flies."""

import dataclasses
from collections.abc import Callable

import numpy as np

from xtdrone_core import FleetModel, FleetState, registry
from xtdrone_core.contracts import Autopilot, AutopilotContext
from xtdrone_core.state import ARRAYS_OF_STATE, ExtraReadings, SensorBatch, SetPoints


class TextRouter:
    """Passes on the messages of an autopilot, under the rows that its vehicles have in the fleet.

    Attributes:
        on_text: Takes a row of the fleet, severity and text.
        rows: The row in the fleet by the row in the autopilot; messages of others are dropped.
    """

    def __init__(self, on_text: Callable[[int, int, str], None], n: int) -> None:
        """Routes the messages of n vehicles, which have the same rows in both."""
        self.on_text = on_text
        self.rows = {i: i for i in range(n)}

    def __call__(self, i: int, severity: int, text: str) -> None:
        """Passes on a message of vehicle i of the autopilot."""
        if i in self.rows:
            self.on_text(self.rows[i], severity, text)


def autopilot_of(context: AutopilotContext) -> Autopilot:
    """Returns the autopilot of a fleet that has one."""
    autopilot: Autopilot = registry.AUTOPILOTS.load(context.scenario.autopilot).for_scenario(
        context
    )
    return autopilot


class SubFleet:
    """An autopilot and the vehicles of a fleet that it flies.

    Attributes:
        name: The autopilot's, as the scenario has it.
        rows: (n,) int, its vehicles in the fleet.
        own: (n,) int, their rows in the autopilot, which keeps those of removed vehicles.
        autopilot: Flies them.
        sensors: Its readings.
        texts: Passes on its messages.
        has_stepped: Whether it has made a step.
    """

    def __init__(
        self,
        name: str,
        rows: np.ndarray,
        context: AutopilotContext,
        existing: tuple[Autopilot, TextRouter] | None = None,
    ) -> None:
        """Builds the autopilot of these vehicles, unless an existing one flies them.

        Args:
            name: The autopilot's.
            rows: (n,) int, its vehicles in the fleet.
            context: Context of the whole fleet.
            existing: An autopilot that flies them, and the router of its messages.
        """
        self.name, self.has_stepped = name, existing is not None
        self.texts = existing[1] if existing else TextRouter(context.on_text, len(rows))
        self.move(rows, np.arange(len(rows)), self.texts.on_text)
        self.sensors = SensorBatch.empty(len(rows))
        for kind, extra in context.sensors.extra.items():
            self.sensors.extra[kind] = ExtraReadings(
                extra.records[rows], extra.fitted[rows], extra.log, extra.mavlink
            )
        self._copy_readings(context.sensors)
        self.autopilot = existing[0] if existing else autopilot_of(self._own_context(context))
        width = max(len(context.fleet.vehicles[row].actuators) for row in rows)
        self._set_points = SetPoints.empty(len(rows))
        self._set_points_with_actuators = SetPoints.empty(len(rows), width)

    def move(
        self, rows: np.ndarray, own: np.ndarray, on_text: Callable[[int, int, str], None]
    ) -> None:
        """Takes note that its vehicles have other rows in the fleet, and where messages go."""
        self.rows, self.own = rows, own
        self.texts.rows = dict(zip(own.tolist(), rows.tolist(), strict=True))
        self.texts.on_text = on_text

    def step(self, t_us: int, sensors: SensorBatch, commands: np.ndarray) -> None:
        """Steps the autopilot, and writes its rows of the fleet's commands (N, A)."""
        self.has_stepped = True
        self._copy_readings(sensors)
        own_commands = self.autopilot.step(t_us, self.sensors)
        commands[self.rows, : own_commands.shape[1]] = own_commands[self.own]

    def apply(self, set_points: SetPoints) -> None:
        """Passes on its rows of the fleet's set-points."""
        own = self._set_points_with_actuators if set_points.actuators.shape[1] else self._set_points
        own.clear()
        own.records[self.own] = set_points.records[self.rows]
        own.actuators[self.own] = set_points.actuators[self.rows, : own.actuators.shape[1]]
        self.autopilot.apply(own)

    def own_state(self, state: FleetState) -> FleetState:
        """Returns its rows of the fleet's state; those of removed vehicles hold another one's."""
        rows = np.zeros(len(self.sensors.records), dtype=np.int64)
        rows[self.own] = self.rows
        return FleetState(state.t_us, *(getattr(state, name)[rows] for name in ARRAYS_OF_STATE))

    def own_mask(self, mask: np.ndarray | None) -> np.ndarray:
        """Returns its rows of a mask (N,) bool of the fleet's vehicles; None selects all."""
        own = np.zeros(len(self.sensors.records), dtype=np.bool_)
        own[self.own] = True if mask is None else mask[self.rows]
        return own

    def _own_context(self, context: AutopilotContext) -> AutopilotContext:
        """Returns the context of its vehicles alone."""
        scenario = dataclasses.replace(
            context.scenario,
            vehicles=tuple(
                dataclasses.replace(context.scenario.vehicles[row], autopilot="")
                for row in self.rows
            ),
            autopilot=self.name,
            disturbances="",  # they name vehicles of the whole fleet, and the plant applies them
        )
        return dataclasses.replace(
            context,
            scenario=scenario,
            fleet=FleetModel.of([context.fleet.vehicles[row] for row in self.rows]),
            on_text=self.texts,
            sensors=self.sensors,
        )

    def _copy_readings(self, sensors: SensorBatch) -> None:
        own = self.sensors
        own.t_us, own.records[self.own] = sensors.t_us, sensors.records[self.rows]
        for kind, extra in own.extra.items():
            if kind in sensors.extra:
                extra.records[self.own] = sensors.extra[kind].records[self.rows]
