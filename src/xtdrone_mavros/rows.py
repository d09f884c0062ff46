"""Rows of the tables of ROS topics and services, which both ROS 1 and ROS 2 offer.

The tables are in topics/ (published), inputs/ (subscribed) and services/.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Generic, TypeAlias, TypeVar

from xtdrone_core.errors import XtdroneError

# A message or request of ROS 1 or ROS 2, or anything else with the fields of its type: the classes
# are generated, and differ between the two.
RosMessage: TypeAlias = Any
Parameters: TypeAlias = Mapping[str, Any]  # MAVROS's parameters, nested as on the server
Fields: TypeAlias = dict[str, Any]  # fields of a message by name, nested ones too
Response: TypeAlias = tuple[Any, ...]  # the fields of a service's response, in their order
VehicleT = TypeVar("VehicleT")


@dataclass(frozen=True)
class Topic(Generic[VehicleT]):
    """One topic below V/mavros/ that the bridge publishes."""

    name: str
    type: str  # for example mavros_msgs/State
    message: str = ""  # MAVLink message that it is made of; "" = published elsewhere, or never
    build: Callable[[VehicleT, bytes], bytes | None] | None = None  # converts its payload
    rate: float = 0.0  # rate of the message on the bridge's link [Hz]; 0 = at each change
    latched: bool = False  # latched, and built even without subscribers


@dataclass(frozen=True)
class Subscription(Generic[VehicleT]):
    """One topic below V/mavros/ to which the bridge subscribes."""

    name: str
    type: str
    handle: Callable[[VehicleT, RosMessage], None]
    raw: bool = False  # the message comes serialised
    where: Callable[[Parameters], bool] = lambda parameters: True  # if it is subscribed to


@dataclass(frozen=True)
class Service(Generic[VehicleT]):
    """One service below V/mavros/."""

    name: str
    type: str
    answer: Callable[[VehicleT, RosMessage], Response]


class ServiceFailed(XtdroneError):
    """A call that MAVROS answers with an error in place of a response."""
