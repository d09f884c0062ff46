"""Which rotors give no thrust, as feedback of the actuators for a mixer."""

import numpy as np

from xtdrone_autopilot.control.output import mark_flying
from xtdrone_autopilot.interfaces import Estimator
from xtdrone_autopilot.safety.rotor_monitor import RotorMonitor
from xtdrone_core import FleetModel, SensorBatch
from xtdrone_core.runs.snapshot import Memory


class LostRotors(Memory):
    """Watches the rotors of a fleet at each step; implements interfaces.ActuatorFeedback.

    Attributes:
        watched: (N,) int, 0 = rotors of that vehicle are not watched, as FD_ACT_EN.
        lost: (N,) int16, number of the rotor that gives no thrust until the vehicle has landed,
            -1 = none.
    """

    MEMORY = ("watched", "lost", "_monitor")

    def __init__(self, fleet: FleetModel) -> None:
        """No rotor is lost."""
        self._monitor, self._flying = RotorMonitor(fleet), np.zeros(fleet.n, dtype=np.bool_)
        self.watched = np.ones(fleet.n, dtype=np.int32)
        self.lost = np.full(fleet.n, -1, dtype=np.int16)
        self.remember_start()

    def step(
        self,
        status: np.ndarray,
        estimator: Estimator,
        sensors: SensorBatch,
        commands: np.ndarray,
        dt: float,
    ) -> None:
        """Compares the readings with the commands (N, A) of the last dt [s]."""
        mark_flying(status, self._flying)
        self._monitor.step(
            self._flying, self.watched, commands, estimator.records, sensors.accel, dt, self.lost
        )
