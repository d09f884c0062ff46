"""State of the battery: estimated from its readings, or simulated where there are none.

The level of a cell's voltage is PX4's, with the drop under load added back: over its resistance,
or, where the current is not known, in proportion to the throttle. With readings the current is
integrated, and that level pulls at the result the more the lower it is. Without, the voltage is
that of PX4's own simulation, which drains linearly while armed and is full again after disarming,
and that level is the result.
"""

import numpy as np

from xtdrone_core import FleetModel
from xtdrone_core.runs.snapshot import Memory

from ..parameters.store import ParameterStore

_PULL = 0.03  # how fast the voltage's level pulls the level of an empty battery [1/s]
_NO_CURRENT = -1.0  # as PX4 says where there is no reading [A]
_THROTTLE_S = 1.0  # time constant of the throttle's filter [s]

BATTERY = np.dtype(
    [
        ("voltage", "f8"),  # [V]
        ("current", "f8"),  # [A]; -1 = not known
        ("throttle", "f8"),  # filtered, 0..1
        ("level", "f8"),  # 0..1
        ("consumed", "f8"),  # [mA h]; NaN = not known
        ("armed_s", "f8"),  # time since it was armed [s]
        ("measured", "?"),  # there was a reading
    ],
    align=True,
)


class Battery(Memory):
    """Battery state of a fleet, as estimated by its flight stacks.

    Attributes:
        records: (N,) of BATTERY; the others are views of its fields.
        voltage: (N,) [V].
        current: (N,) [A]; -1 where there is no reading.
        throttle: (N,) filtered, 0 to 1.
        level: (N,) 0 to 1.
        consumed: (N,) [mA h], NaN where there is no reading.
        armed_s: (N,) time since it was armed [s].
        measured: (N,) bool, there was a reading.
    """

    records: np.ndarray
    voltage: np.ndarray
    current: np.ndarray
    throttle: np.ndarray
    level: np.ndarray
    consumed: np.ndarray
    armed_s: np.ndarray
    measured: np.ndarray

    MEMORY = ("records",)

    def __init__(self, fleet: FleetModel, parameters: ParameterStore) -> None:
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
        for name in BATTERY.names or ():
            setattr(self, name, self.records[name])
        self.level[:], self.consumed[:] = 1.0, np.nan
        nothing = np.full(n, np.nan)
        self.step(np.zeros(n, dtype=bool), nothing, nothing, np.zeros(n), 0.0)
        self.remember_start()

    def step(
        self,
        armed: np.ndarray,
        voltage: np.ndarray,
        current: np.ndarray,
        throttle: np.ndarray,
        dt: float,
        due: np.ndarray | slice = slice(None),
    ) -> None:
        """Steps all batteries.

        Args:
            armed: (N,) bool.
            voltage, current: (N,) readings [V], [A]; NaN where the vehicle has none.
            throttle: (N,) collective thrust as a command, 0 to 1.
            dt: Time since the last step [s].
            due: (N,) bool, the vehicles meant.
        """
        battery = self.records[due]
        _advance(
            battery,
            self._values[due],
            armed[due],
            voltage[due],
            current[due],
            armed[due] * throttle[due],
            dt,
        )
        self.records[due] = battery


def _advance(
    battery: np.ndarray,
    params: np.ndarray,
    armed: np.ndarray,
    voltage: np.ndarray,
    current: np.ndarray,
    throttle: np.ndarray,
    dt: float,
) -> None:
    """Writes records of BATTERY dt [s] later; p are the vehicles' parameters."""
    measured = np.isfinite(voltage)
    battery["armed_s"] = np.where(armed, battery["armed_s"] + dt, 0.0)
    drained = np.maximum(
        1.0 - battery["armed_s"] / params["SIM_BAT_DRAIN"], params["SIM_BAT_MIN_PCT"] / 100.0
    )
    cell = params["BAT1_V_EMPTY"] + drained * (params["BAT1_V_CHARGED"] - params["BAT1_V_EMPTY"])
    battery["voltage"] = np.where(measured, voltage, cell * params["BAT1_N_CELLS"])
    battery["current"] = np.where(measured, current, _NO_CURRENT)
    battery["throttle"] += (throttle - battery["throttle"]) * dt / (_THROTTLE_S + dt)
    by_voltage = _by_voltage(battery, params)
    battery["level"] = np.where(
        measured, _fused(battery, params, measured, by_voltage, dt), by_voltage
    )


def _by_voltage(battery: np.ndarray, params: np.ndarray) -> np.ndarray:
    """Levels by the voltage of a cell without load, (N,)."""
    known = (params["BAT1_R_INTERNAL"] >= 0.0) & (battery["current"] > 0.0)
    drop = np.where(
        known,
        params["BAT1_R_INTERNAL"] * battery["current"],
        params["BAT1_V_LOAD_DROP"] * battery["throttle"],
    )
    cell = battery["voltage"] / params["BAT1_N_CELLS"] + drop
    return np.clip(
        (cell - params["BAT1_V_EMPTY"]) / (params["BAT1_V_CHARGED"] - params["BAT1_V_EMPTY"]),
        0.0,
        1.0,
    )


def _fused(
    battery: np.ndarray, params: np.ndarray, measured: np.ndarray, by_voltage: np.ndarray, dt: float
) -> np.ndarray:
    """Levels from the readings, (N,)."""
    first = measured & ~battery["measured"]
    battery["measured"] |= measured
    battery["consumed"][first] = 0.0
    used = battery["current"] * dt / 3.6  # [mA h]
    battery["consumed"] += used
    capacity = params["BAT1_CAPACITY"]
    pull = np.minimum(_PULL * (1.0 - by_voltage) * dt, 1.0)
    fused = (1.0 - pull) * battery["level"] + pull * by_voltage - used / np.maximum(capacity, 1.0)
    fused = np.clip(fused, 0.0, 1.0)
    return np.where(first | (capacity <= 0.0), by_voltage, fused)
