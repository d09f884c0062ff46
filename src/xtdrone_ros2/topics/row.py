"""What a row of the tables of a fleet's topics is."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..wire.layout import Batch
from ..wire.quality import SENSOR, Quality


@dataclass(frozen=True)
class Fleet:
    """What rows know of the simulated fleet.

    Attributes:
        origin: Latitude, longitude [rad] and height above the sea [m] of the world's origin.
        geoid: Height of the sea above the ellipsoid there [m].
        offsets: (N, 3) of each vehicle's local frame, world [m].
        vehicle_type: (N,) of PX4's VehicleStatus; 0 for a VTOL, whose type changes in flight.
        vtol: (N,) bool.
        names: Of the vehicles.
    """

    names: tuple[str, ...]
    origin: tuple[float, float, float]
    geoid: float
    offsets: np.ndarray
    vehicle_type: np.ndarray
    vtol: np.ndarray

    @property
    def n(self) -> int:
        """Number of vehicles."""
        return len(self.names)


@dataclass(frozen=True)
class Step:
    """One step of the simulation.

    Attributes:
        t_us: Simulated time [us].
        vehicles: (N,) of feed.VEHICLE.
        fleet: What does not change.
    """

    t_us: int
    vehicles: np.ndarray
    fleet: Fleet

    def __getitem__(self, name: str) -> np.ndarray:
        """A field of the vehicles, or of their sensors."""
        if name in self.vehicles.dtype.fields:
            return self.vehicles[name]
        return self.vehicles["sensors"][name]


@dataclass(frozen=True)
class FleetTopic:
    """One topic of each vehicle; `{i}` in names and frames is the vehicle's number."""

    name: str  # below the namespace of its table
    type: str
    fill: Callable[[Step, Batch], None]  # sets what changes
    constants: Mapping[str, Any] = field(default_factory=dict)  # what does not
    period_us: int = 0  # least time between two [us]; 0 = each step, STATE_RATE = the option's
    new: str = ""  # flag of the sensors: goes out where there is a new reading
    changes: tuple[str, ...] = ()  # fields with whose changes it goes out, too
    quality: Quality = SENSOR


STATE_RATE = -1  # as period_us: at the rate of the option ros2_rate


def numbered(values: Any, i: int) -> Any:
    """Constants with the vehicle's number put in."""
    if isinstance(values, Mapping):
        return {name: numbered(value, i) for name, value in values.items()}
    return values.replace("{i}", str(i)) if isinstance(values, str) else values
