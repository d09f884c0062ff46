"""The batteries of a fleet: discharge by the rotors, and the rotor speed that is left."""

import numpy as np

from xtdrone_core import FleetModel
from xtdrone_core.runs.snapshot import Memory
from xtdrone_dynamics import battery
from xtdrone_dynamics.compiled import fleet_kernel


class BatteryStage(Memory):
    """The battery packs of a fleet.

    Attributes:
        fitted: (N,) bool, which vehicles carry a pack.
        charge: (N,) state of charge 0 to 1; modify in place.
        voltage: (N,) terminal voltage [V], NaN without a pack.
        current: (N,) pack current [A], NaN without a pack.
    """

    MEMORY = ("charge", "voltage", "current")

    def __init__(self, fleet: FleetModel):
        """Starts with the packs of the vehicles' files, without load."""
        n = fleet.n
        packs = [vehicle.battery for vehicle in fleet.vehicles]
        self.fitted = np.array([pack is not None for pack in packs])
        self.charge = np.array([1.0 if pack is None else pack.charge for pack in packs])
        self.voltage, self.current = np.full((2, n), np.nan)
        self._records = fleet.battery
        self.step(np.zeros(n), 0, np.ones(n))
        self.remember_start()

    def step(self, shaft_power: np.ndarray, dt_us: int, speed_limit: np.ndarray) -> None:
        """Discharges the packs over one step.

        Args:
            shaft_power: (N,) total shaft power of the rotors [W].
            dt_us: Length of the step [us].
            speed_limit: (N,) output, written for vehicles with a pack: fraction of maxRotVelocity
                that the voltage allows, proportional to it below rated_voltage.
        """
        _step(
            self._records,
            shaft_power,
            dt_us * 1e-6,
            self.charge,
            self.voltage,
            self.current,
            speed_limit,
        )


@fleet_kernel
def _step(
    records: np.ndarray,
    shaft_power: np.ndarray,
    dt: float,
    charge: np.ndarray,
    voltage: np.ndarray,
    current: np.ndarray,
    speed_limit: np.ndarray,
) -> None:
    for i in range(records.shape[0]):
        pack = records[i]
        if pack.cells == 0:
            continue
        power = shaft_power[i] / pack.efficiency + pack.avionics_power
        voltage[i], current[i] = battery.load(
            charge[i], pack.cells, pack.internal_resistance, power
        )
        charge[i] = battery.drained(charge[i], pack.capacity, current[i], dt)
        speed_limit[i] = min(1.0, voltage[i] / pack.rated_voltage)
