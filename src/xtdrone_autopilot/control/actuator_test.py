"""Actuators that turn for a test while the vehicle is disarmed: MAV_CMD_ACTUATOR_TEST."""

import numpy as np

from xtdrone_core.runs.snapshot import Memory


class ActuatorTest(Memory):
    """The tests of a fleet that are running.

    Attributes:
        running: Whether there may be one.
    """

    MEMORY = ("running", "_values", "_until")

    def __init__(self, shape: tuple[int, int]):
        """shape: (N, A), as the actuator commands have."""
        self.running = False
        self._values = np.zeros(shape)
        self._until = np.zeros(shape, dtype=np.int64)  # [us]
        self.remember_start()

    def start(self, i: int, actuator: int, value: float, until_us: int) -> None:
        """An actuator of vehicle i (from 0) gets a command until a time."""
        self._values[i, actuator], self._until[i, actuator] = value, until_us
        self.running = True

    def apply(self, armed: np.ndarray, t_us: int, commands: np.ndarray) -> None:
        """Writes the commands (N, A) of tests that are not over; arming ends them."""
        self._until[armed] = 0
        tested = self._until > t_us
        commands[tested] = self._values[tested]
        self.running = bool(tested.any())
