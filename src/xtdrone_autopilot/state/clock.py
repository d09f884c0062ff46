"""Time and readings of the current step, shared by the parts of the flight stack."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from xtdrone_core.runs.snapshot import Memory
from xtdrone_core.state import SensorBatch

STEP_US = 4_000  # of the lockstep [us]
LOOP_US = 8_000  # period of the loops of position and velocity, as in PX4's simulation [us]
LOOP_S = LOOP_US * 1e-6


class Now(Memory):
    """Time and readings of the current step.

    Attributes:
        sensors: The readings.
        t_us: Simulated time [us].
        epoch_us: (N,) when each vehicle began, at the start or by a reset [us]. What is done
            now and then counts from it, so that a vehicle that was reset goes on as a fresh one.
    """

    MEMORY = ("t_us", "epoch_us", "_begun")

    def __init__(self, sensors: SensorBatch | None, t_us: int = 0, n: int = 0):
        self.sensors = sensors
        self.t_us = t_us
        self.epoch_us = np.zeros(n, dtype=np.int64)
        self._begun = False
        self._phases = {}  # period -> its phases that the fleet's epochs have

    def advance(self, t_us: int, sensors: SensorBatch) -> float:
        """The next step; returns its length [s], 0 for the first."""
        dt = (t_us - self.t_us) * 1e-6
        self.t_us, self.sensors, self._begun = t_us, sensors, True
        return dt

    @property
    def next_us(self) -> int:
        """Time of the next step [us]."""
        return self.t_us + STEP_US if self._begun else self.t_us

    def reset(self, mask: np.ndarray | None = None) -> None:
        """These vehicles start with the next step."""
        self.epoch_us[slice(None) if mask is None else mask] = self.next_us
        self._phases.clear()

    def load(self, snapshot: Mapping[str, Any]) -> None:
        """Restores a state returned by save()."""
        super().load(snapshot)
        self._phases.clear()

    def any_due(self, period_us: int) -> bool:
        """Whether a period is over for some vehicle now."""
        if period_us not in self._phases:
            self._phases[period_us] = set((self.epoch_us % period_us).tolist())
        return self.t_us % period_us in self._phases[period_us]

    def due(self, period_us: int) -> np.ndarray:
        """(N,) bool, the vehicles for which a period is over now."""
        return (self.t_us - self.epoch_us) % period_us == 0
