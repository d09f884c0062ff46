"""Passes the positions of grippers to the engine, which holds what they touch."""

import numpy as np

from xtdrone_core import FleetModel
from xtdrone_core.contracts import Engine, Gripping
from xtdrone_core.vehicle import CLOSED, Gripper


class GripperStage:
    """The grippers of a fleet; in an engine without grippers they do nothing."""

    def __init__(self, fleet: FleetModel, engine: Engine) -> None:
        """Finds the grippers among the actuators."""
        self._engine = engine if isinstance(engine, Gripping) else None
        self._columns = [
            (i, number, k)
            for i, vehicle in enumerate(fleet.vehicles)
            for number, k in enumerate(
                k for k, each in enumerate(vehicle.actuators) if isinstance(each, Gripper)
            )
        ]

    def step(self, actuator: np.ndarray) -> None:
        """Closes and opens grippers by the values of all actuators (N, A)."""
        if self._engine is not None:
            for i, number, k in self._columns:
                self._engine.grip(i, number, bool(actuator[i, k] > CLOSED))
