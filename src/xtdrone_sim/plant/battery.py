"""The batteries of a fleet: discharge by the rotors, and the rotor speed that is left.

A vehicle has a battery if its SDF file contains

    <xtdrone:battery>
      <cells>4</cells>
      <capacity>5.4</capacity>                         A h
      <internal_resistance>0.02</internal_resistance>  Ohm, of the whole pack
      <efficiency>0.75</efficiency>                    shaft power over electrical power
      <rated_voltage>14</rated_voltage>                V, from which on rotors reach maxRotVelocity
    </xtdrone:battery>

and optionally <avionics_power> [W] (0), <charge> at start (1) and
<rotor_power_constant>, the shaft power of one rotor over its speed cubed
[W s^3]. Without that constant, power is drag moment times speed; for PX4's models
this is several times that of real rotors, because their momentConstant is too large.
"""

from typing import Any

import numpy as np

from xtdrone_core import FleetModel, Pack
from xtdrone_core.runs.snapshot import Memory
from xtdrone_dynamics import battery
from xtdrone_dynamics.compiled import fleet_kernel

from ..vehicles.sdf_file import fail
from ..vehicles.sdf_tree import number, refuse_unknown

_NEEDED = ("cells", "capacity", "internal_resistance", "efficiency", "rated_voltage")
_OPTIONAL = {"avionics_power": 0.0, "charge": 1.0, "rotor_power_constant": 0.0}


def read_battery(block: Any) -> Pack | None:
    """Parameters of a <xtdrone:battery> block; None for None.

    Raises:
        SdfError: Unknown tags or invalid values.
    """
    if block is None:
        return None
    refuse_unknown(block, (*_NEEDED, *_OPTIONAL))
    values = {tag: number(block, tag) for tag in _NEEDED}
    values |= {tag: number(block, tag, default) for tag, default in _OPTIONAL.items()}
    for tag, right, allowed in (
        ("cells", values["cells"] in range(1, 17), "a whole number from 1 to 16"),
        ("efficiency", 0.0 < values["efficiency"] <= 1.0, "a number above 0, up to 1"),
        ("charge", 0.0 <= values["charge"] <= 1.0, "a number from 0 to 1"),
        *((tag, values[tag] > 0.0, "a number above 0") for tag in ("capacity", "rated_voltage")),
        *(
            (tag, values[tag] >= 0.0, "a number from 0")
            for tag in ("internal_resistance", "avionics_power", "rotor_power_constant")
        ),
    ):
        if not right:
            fail(block, f"<{tag}> of the battery is {values[tag]:g}: give {allowed}")
    return Pack(**{**values, "cells": int(values["cells"])})


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

    def step(self, shaft_power: np.ndarray, dt_us: int, speed_share: np.ndarray) -> None:
        """Discharges the packs over one step.

        Args:
            shaft_power: (N,) total shaft power of the rotors [W].
            dt_us: Length of the step [us].
            speed_share: (N,) output, written for vehicles with a pack: fraction of maxRotVelocity
                that the voltage allows, proportional to it below rated_voltage.
        """
        _step(
            self._records,
            shaft_power,
            dt_us * 1e-6,
            self.charge,
            self.voltage,
            self.current,
            speed_share,
        )


@fleet_kernel
def _step(records, shaft_power, dt, charge, voltage, current, speed_share):
    for i in range(records.shape[0]):
        pack = records[i]
        if pack.cells == 0:
            continue
        power = shaft_power[i] / pack.efficiency + pack.avionics_power
        voltage[i], current[i] = battery.load(
            charge[i], pack.cells, pack.internal_resistance, power
        )
        charge[i] = battery.drained(charge[i], pack.capacity, current[i], dt)
        speed_share[i] = min(1.0, voltage[i] / pack.rated_voltage)
