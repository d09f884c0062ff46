"""Orders to grippers, as commands of their actuators: MAV_CMD_DO_GRIPPER."""

import math
from collections.abc import Callable, Sequence

import numpy as np

from xtdrone_core import FleetModel
from xtdrone_core.fleet_model import GRIPPER
from xtdrone_core.mavlink.dialect import mavlink

from ..errors import AutopilotError
from ..state.answer import ACCEPTED, DENIED, NO_ANSWER, Answer
from ..state.handlers import MessageSource, handles

_RELEASE, _GRAB = mavlink.GRIPPER_ACTION_RELEASE, mavlink.GRIPPER_ACTION_GRAB


def _ignore(vehicle: int, actuator: int, command: float) -> None:
    """Does nothing."""


class GripperOrders:
    """Closes and opens the grippers of a fleet; those of a disarmed vehicle are open.

    Attributes:
        on_order: Called as on_order(vehicle, actuator, command).
    """

    def __init__(self, fleet: FleetModel) -> None:
        """Finds the grippers."""
        self._fleet = fleet
        self.on_order: Callable[[int, int, float], None] = _ignore

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
        self.on_order(i, k, target / record["input_scaling"])

    @handles(mavlink.MAV_CMD_DO_GRIPPER)
    def _grip(self, link: MessageSource, params: Sequence[float]) -> Answer:
        """Opens or closes a gripper, counted from 1, or all of them."""
        i = link.vehicle
        count = len(self._columns(i))
        if not count:
            return Answer(
                NO_ANSWER, "command DO_GRIPPER needs a gripper, and this vehicle has none"
            )
        number, action = (int(each) if math.isfinite(each) else 0 for each in params[:2])
        if not 0 <= number <= count:
            return Answer(
                DENIED, f"there is no gripper {number}: give 1 to {count}, or 0 for all of them"
            )
        if action not in (_RELEASE, _GRAB):
            return Answer(DENIED, f"a gripper cannot do {params[1]:g}: 0 releases, 1 grabs")
        for k in range(count) if number == 0 else (number - 1,):
            self.command(i, k, action == _GRAB)
        return Answer(ACCEPTED)

    def _columns(self, i: int) -> np.ndarray:
        return np.flatnonzero(self._fleet.actuator["kind"][i] == GRIPPER)
