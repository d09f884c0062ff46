"""The battery of a vehicle."""

from dataclasses import dataclass, fields

from .part import OWN, Element, Part, add


@dataclass(frozen=True, kw_only=True)
class Battery(Part):
    """A pack; without one the flight stack simulates its own, as PX4 does.

    Examples:
        >>> Battery(cells=4, capacity=5.4, internal_resistance=0.02).rated_voltage
        14.0
    """

    cells: int  # cells in series, 1 to 16
    capacity: float  # [A h]
    internal_resistance: float  # resistance of the whole pack [Ohm]
    efficiency: float = 0.75  # shaft power over electrical power
    rated_voltage: float = 14.0  # voltage from which on rotors reach their largest speed [V]
    avionics_power: float = 0.0  # taken by everything but the motors [W]
    charge: float = 1.0  # charge at start, 0 to 1
    rotor_power_constant: float = 0.0  # shaft power / speed^3 of a rotor [W s^3]; 0 = C_M C_T

    def write(self, model: Element) -> None:
        """Adds <xtdrone:battery>."""
        block = add(model, OWN + "battery")
        for entry in fields(self):
            add(block, entry.name, getattr(self, entry.name))
