"""Rows of the tables of ROS 2 topics that a fleet publishes."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, overload

import numpy as np

from ..wire.layout import Batch
from ..wire.quality import SENSOR, Quality
from ..wire.types import Fields


@dataclass(frozen=True)
class Fleet:
    """The simulated fleet, as far as rows need it.

    Attributes:
        origin: Latitude, longitude [rad] and height above the sea [m] of the world's origin.
        geoid: Height of the sea above the ellipsoid there [m].
        offsets: (N, 3) of each vehicle's local frame, world [m].
        vehicle_type: (N,) of PX4's VehicleStatus; 0 for a VTOL, whose type changes in flight.
        vtol: (N,) bool.
        names: Namespaces of the vehicles.
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
        fleet: The fleet, which does not change.
    """

    t_us: int
    vehicles: np.ndarray
    fleet: Fleet

    def __getitem__(self, name: str) -> np.ndarray:
        """Returns a field of the vehicles, or of their sensors."""
        if name in self.vehicles.dtype.fields:
            return self.vehicles[name]
        return self.vehicles["sensors"][name]


@dataclass(frozen=True)
class FleetTopic:
    """One topic of each vehicle; `{i}` in names and frames is the vehicle's number."""

    name: str  # name below the namespace of its table
    type: str
    fill: Callable[[Step, Batch], None]  # sets the fields that change
    constants: Fields = field(default_factory=dict)  # fields that do not change
    period_us: int = 0  # minimum period [us]; 0 = each step, STATE_RATE = the option's
    new: str = ""  # flag of the sensors: published only with a new reading
    changes: tuple[str, ...] = ()  # fields whose changes publish it at once
    quality: Quality = SENSOR


STATE_RATE = -1  # value of period_us: the rate of the option ros2_rate


@overload
def numbered(values: str, i: int) -> str: ...


@overload
def numbered(values: Fields, i: int) -> dict[str, Any]: ...


def numbered(values: object, i: int) -> object:
    """Returns constants with the vehicle's number put in."""
    if isinstance(values, Mapping):
        return {name: numbered(value, i) for name, value in values.items()}
    return values.replace("{i}", str(i)) if isinstance(values, str) else values
