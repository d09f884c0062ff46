"""Interface of the bridge to ROS, 1 or 2."""

from collections.abc import Callable, Mapping
from typing import Protocol


class Output(Protocol):
    """A publisher of messages that are serialised for ROS 1."""

    def wanted(self) -> bool:
        """Returns whether there are subscribers."""

    def publish(self, data: bytes) -> None:
        """Sends one message."""


class Log(Protocol):
    """Writes lines for the user."""

    def log(self, name: str, severity: int, text: str) -> None:
        """Writes a line about a vehicle, with a MAV_SEVERITY."""


class Host(Log, Protocol):
    """ROS: publishers, log and parameter server."""

    def output(self, name: str, topic: str, kind: str, latched: bool) -> Output:
        """Returns a publisher.

        Args:
            name: Vehicle's namespace.
            topic: Name below V/mavros/; global if it begins with /.
            kind: Type of ROS 1, for example mavros_msgs/State.
            latched: Whether late subscribers get the last message.
        """

    def store_params(self, name: str, values: dict[str, int | float]) -> None:
        """Puts a vehicle's parameters on the parameter server."""

    def load_params(self, name: str) -> Mapping[str, int | float]:
        """Returns a vehicle's parameters on the parameter server."""

    def set_parameter(self, name: str, key: str, value: str) -> None:
        """Sets one of MAVROS's own parameters on the parameter server."""

    def later(self, function: Callable[[], object]) -> None:
        """Calls a function in a thread of its own, after those before it."""
