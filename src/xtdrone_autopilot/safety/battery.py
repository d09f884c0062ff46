"""State of the battery: estimated from its readings, or simulated where there are none.

With readings the level is PX4's: the current is integrated, and the level of
the cell's voltage, with the drop over its resistance added back, pulls at the
result the more the lower it is. Without, it is what PX4's own simulation says:
it drains linearly while armed.
"""

from typing import Any

import numpy as np

from xtdrone_core import FleetModel
from xtdrone_core.snapshot import Memory

_PULL = 0.03  # of the voltage's level on the level, of an empty battery [1/s]
_SIMULATED_CURRENT = 10.0, 0.5  # armed, disarmed [A]

BATTERY = np.dtype([
    ("voltage", "f8"),  # [V]
    ("current", "f8"),  # [A]
    ("level", "f8"),  # 0..1
    ("consumed", "f8"),  # [mA h]; NaN = not known
    ("armed_s", "f8"),  # time armed so far [s]
    ("measured", "?"),  # there was a reading
], align=True)


class Battery(Memory):
    """Battery state of a fleet, as estimated by its flight stacks.

    Attributes:
        records: (N,) of BATTERY; the others are views of its fields.
        voltage: (N,) [V].
        current: (N,) [A].
        level: (N,) 0 to 1.
        consumed: (N,) [mA h], NaN where there is no reading.
        armed_s: (N,) time armed so far [s].
        measured: (N,) bool, there was a reading.
    """

    MEMORY = ("records",)

    def __init__(self, fleet: FleetModel, parameters: Any):
        """Takes cells, capacity and resistance of each vehicle's pack into its parameters."""
        n = fleet.n
        self._values = parameters.values
        for i, vehicle in enumerate(fleet.vehicles):
            pack = vehicle.battery
            if pack is not None:
                self._values["BAT1_N_CELLS"][i] = pack.cells
                self._values["BAT1_CAPACITY"][i] = 1000.0 * pack.capacity
                self._values["BAT1_R_INTERNAL"][i] = pack.internal_resistance / pack.cells
        self.records = np.zeros(n, dtype=BATTERY)
        for name in BATTERY.names:
            setattr(self, name, self.records[name])
        self.level[:], self.consumed[:] = 1.0, np.nan
        self.step(np.zeros(n, dtype=bool), np.full(n, np.nan), np.full(n, np.nan), 0.0)
        self.remember_start()

    def step(self, armed: np.ndarray, voltage: np.ndarray, current: np.ndarray, dt: float,
             due: np.ndarray | slice = slice(None)) -> None:
        """dt [s] later.

        Args:
            armed: (N,) bool.
            voltage, current: (N,) readings [V], [A]; NaN where the vehicle has none.
            dt: Time since the last step [s].
            due: (N,) bool, the vehicles meant.
        """
        b = self.records[due]
        _advance(b, self._values[due], armed[due], voltage[due], current[due], dt)
        self.records[due] = b


def _advance(b, p, armed, voltage, current, dt):
    """Writes records of BATTERY dt [s] later; p are the vehicles' parameters."""
    measured = np.isfinite(voltage)
    b["armed_s"] += dt * armed
    drained = np.maximum(1.0 - b["armed_s"] / p["SIM_BAT_DRAIN"], p["SIM_BAT_MIN_PCT"] / 100.0)
    cell = p["BAT1_V_EMPTY"] + drained * (p["BAT1_V_CHARGED"] - p["BAT1_V_EMPTY"])
    b["voltage"] = np.where(measured, voltage, cell * p["BAT1_N_CELLS"])
    b["current"] = np.where(measured, current, np.where(armed, *_SIMULATED_CURRENT))
    b["level"] = np.where(measured, _estimate(b, p, measured, dt), drained)


def _estimate(b, p, measured, dt) -> np.ndarray:
    """Levels from the readings, (N,)."""
    cell = b["voltage"] / p["BAT1_N_CELLS"] + np.maximum(p["BAT1_R_INTERNAL"], 0) * b["current"]
    by_voltage = np.clip((cell - p["BAT1_V_EMPTY"]) / (p["BAT1_V_CHARGED"] - p["BAT1_V_EMPTY"]),
                         0.0, 1.0)
    first = measured & ~b["measured"]
    b["measured"] |= measured
    b["consumed"][first] = 0.0
    used = b["current"] * dt / 3.6  # [mA h]
    b["consumed"] += used
    capacity = p["BAT1_CAPACITY"]
    pull = np.minimum(_PULL * (1.0 - by_voltage) * dt, 1.0)
    fused = (1.0 - pull) * b["level"] + pull * by_voltage - used / np.maximum(capacity, 1.0)
    fused = np.clip(fused, 0.0, 1.0)
    return np.where(first | (capacity <= 0.0), by_voltage, fused)
