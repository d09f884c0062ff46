"""Orders to grippers, as commands of their actuators."""

import numpy as np

from xtdrone_core import FleetModel
from xtdrone_core.fleet_model import GRIPPER

from ..errors import AutopilotError
from .offboard import Offboard


class GripperOrders:
    """Closes and opens the grippers of a fleet; those of a disarmed vehicle are open."""

    def __init__(self, fleet: FleetModel, offboard: Offboard) -> None:
        """Finds the grippers; their commands are kept beside the set-points of servos."""
        self._fleet, self._offboard = fleet, offboard

    def count(self, i: int) -> int:
        """Returns how many grippers vehicle i has."""
        return len(self._columns(i))

    def command(self, i: int, gripper: int, grab: bool) -> None:
        """Closes or opens a gripper of vehicle i, by its number from 0.

        Raises:
            AutopilotError: The vehicle has no such gripper.
        """
        columns = self._columns(i)
        if not 0 <= gripper < len(columns):
            raise AutopilotError(
                f"vehicle {i} has no gripper {gripper}: it has {len(columns)}, counted from 0"
            )
        k = columns[gripper]
        record = self._fleet.actuator[i, k]
        target = float(grab) - record["zero_position_armed"]
        self._offboard.set_actuator(i, k, target / record["input_scaling"])

    def _columns(self, i: int) -> np.ndarray:
        return np.flatnonzero(self._fleet.actuator["kind"][i] == GRIPPER)
