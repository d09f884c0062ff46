"""The clock of the flight stack: the time of the current step, and what is due at it."""

import numpy as np

from xtdrone_core.contracts import Snapshot
from xtdrone_core.runs.snapshot import Memory

STEP_US = 4_000  # length of a lockstep step [us]
LOOP_US = 8_000  # period of the position and velocity loops, as in PX4's simulation [us]
LOOP_S = LOOP_US * 1e-6


class StepClock(Memory):
    """Simulated time of the current step, and the periods that end at it.

    Attributes:
        t_us: Simulated time [us].
        epoch_us: (N,) start of each vehicle, at the beginning or by a reset [us]. Periods count
            from it, so that a vehicle that was reset behaves as one that has just started.
    """

    MEMORY = ("t_us", "epoch_us", "_begun")

    def __init__(self, t_us: int = 0, n: int = 0) -> None:
        """The clock of n vehicles that start at t_us [us]."""
        self.t_us = t_us
        self.epoch_us = np.zeros(n, dtype=np.int64)
        self._begun = False
        self._phases: dict[int, set[int]] = {}  # period -> phases of the vehicles' epochs in it

    def advance(self, t_us: int) -> float:
        """Begins the next step; returns its length [s], 0 for the first."""
        dt = (t_us - self.t_us) * 1e-6
        self.t_us, self._begun = t_us, True
        return dt

    @property
    def next_us(self) -> int:
        """Time of the next step [us]."""
        return self.t_us + STEP_US if self._begun else self.t_us

    def reset(self, mask: np.ndarray | None = None) -> None:
        """Sets the start of these vehicles to the next step."""
        self.epoch_us[slice(None) if mask is None else mask] = self.next_us
        self._phases.clear()

    def load(self, snapshot: Snapshot) -> None:
        """Restores a state returned by save()."""
        super().load(snapshot)
        self._phases.clear()

    def any_due(self, period_us: int) -> bool:
        """Returns whether a period ends now for some vehicle."""
        if period_us not in self._phases:
            self._phases[period_us] = set((self.epoch_us % period_us).tolist())
        return self.t_us % period_us in self._phases[period_us]

    def due(self, period_us: int) -> np.ndarray:
        """(N,) bool, the vehicles for which a period ends now."""
        return (self.t_us - self.epoch_us) % period_us == 0
