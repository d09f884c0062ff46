"""Description of a simulation for the process of ROS 2, which gets it as plain data."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

from xtdrone_core.state import SensorDescription


class RotorRange(NamedTuple):
    """Speeds of a rotor that its flight stack can command."""

    channel: int  # index in the actuator commands
    min_speed: float  # speed at command 0 [rad/s]
    speed_range: float  # difference between the speeds at command 1 and 0 [rad/s]
    max_speed: float  # [rad/s]


class OptionValue(NamedTuple):
    """An option of the scenario."""

    value: bool | int | float | str
    help: str


@dataclass(frozen=True)
class FleetDescription:
    """A simulation, its fleet, and the options of ROS 2.

    Attributes:
        ring: Path of the ring with the steps; see feed.
        instance: Instance of the simulation.
        px4: Whether the flight stack is the real PX4, with an off-board link only.
        control: Whether the simulation has a control socket.
        names: Names of the vehicles.
        namespaces: What their names of ROS begin with: /NAME, or nothing.
        origin: Latitude, longitude [rad] and height above mean sea level [m] of the world's origin.
        offsets: (N, 3) of each vehicle's local frame, world [m].
        vehicle_types: (N,) PX4's vehicle_type; 0 for a VTOL, whose type changes in flight.
        vtol: (N,) Whether each vehicle is a VTOL.
        rotors: Rotors of each vehicle; none if its flight stack takes no actuator commands.
        cameras: Cameras and lidars.
        domain, address: ROS_DOMAIN_ID, and IPv4 address of the interface.
        rate: Rate of true states and tf [Hz].
        record, topics, folder: Format of the bag or "none", regular expression of what is
            recorded, and the run folder.
        truth: Whether true states are, and services that steer the simulation.
        mavros: Whether MAVROS's topics are offered, too.
        distribution: Distribution of ROS 2 whose nodes listen.
        options: Options of the scenario that are one number, word or truth value, by name.
    """

    ring: str
    instance: int
    px4: bool
    control: bool
    names: Sequence[str]
    namespaces: Sequence[str]
    origin: tuple[float, float, float]
    offsets: Sequence[Sequence[float]]
    vehicle_types: Sequence[int]
    vtol: Sequence[bool]
    rotors: Sequence[Sequence[RotorRange]]
    cameras: Sequence[SensorDescription]
    domain: int
    address: str
    rate: float
    record: str
    topics: str
    folder: str
    truth: bool
    mavros: bool
    distribution: str
    options: Mapping[str, OptionValue]

    def to_json(self) -> dict[str, Any]:  # JSON
        """Returns plain data for from_json()."""
        return asdict(self)

    @classmethod
    def from_json(cls, values: dict[str, Any]) -> "FleetDescription":
        """Returns the description of plain data, which may have come as JSON."""
        lat, lon, height = values["origin"]
        rotors = [[RotorRange(*rotor) for rotor in vehicle] for vehicle in values["rotors"]]
        options = {name: OptionValue(*option) for name, option in values["options"].items()}
        return cls(**{**values, "origin": (lat, lon, height), "rotors": rotors, "options": options})
