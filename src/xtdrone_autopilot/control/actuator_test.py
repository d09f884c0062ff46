"""Tests of single actuators while the vehicle is disarmed: MAV_CMD_ACTUATOR_TEST."""

import numpy as np

from xtdrone_core.runs.snapshot import Memory


class ActuatorTest(Memory):
    """Actuator tests of a fleet.

    Attributes:
        running: Whether any test may be running.
    """

    MEMORY = ("running", "_values", "_until")

    def __init__(self, shape: tuple[int, int]):
        """Starts without tests; shape is (N, A), that of the actuator commands."""
        self.running = False
        self._values = np.zeros(shape)
        self._until = np.zeros(shape, dtype=np.int64)  # end of each test [us]
        self.remember_start()

    def start(self, i: int, actuator: int, value: float, until_us: int) -> None:
        """Holds an actuator of vehicle i (from 0) at a command until a time [us]."""
        self._values[i, actuator], self._until[i, actuator] = value, until_us
        self.running = True

    def apply(self, armed: np.ndarray, t_us: int, commands: np.ndarray) -> None:
        """Writes the commands (N, A) of running tests; arming ends the tests of a vehicle."""
        self._until[armed] = 0
        tested = self._until > t_us
        commands[tested] = self._values[tested]
        self.running = bool(tested.any())
