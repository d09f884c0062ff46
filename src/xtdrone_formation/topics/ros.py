"""Interface of a node of ROS 1 or 2: topics of messages that are serialised for ROS 1."""

from collections.abc import Callable
from typing import Protocol

from xtdrone_mavros.vehicle_kind import Kind


class Output(Protocol):
    """A publisher."""

    def publish(self, data: bytes) -> None:
        """Sends one message, serialised for ROS 1."""


class Ros(Protocol):
    """A node of ROS."""

    def fleet(self, wait: float) -> list[str]:
        """Returns the names of the vehicles, once they are there.

        Args:
            wait: Time-out [s, wall].

        Raises:
            XtdroneError: They were not there in time.
        """

    def kind(self, name: str) -> Kind | None:
        """Returns the kind of a vehicle; None as long as that is not known."""

    def mavros(self, name: str) -> str:
        """Returns what MAVROS's names of a vehicle begin with: /NAME/mavros, or /mavros."""

    def listen(self, topic: str, kind: str, handle: Callable[[bytes], object]) -> object:
        """Subscribes.

        Args:
            topic: Beginning with /.
            kind: Its type, by ROS 1's name, for example std_msgs/String.
            handle: Called with each message, serialised for ROS 1, in a thread that all share.
        """

    def output(self, topic: str, kind: str, latched: bool = False) -> Output:
        """Advertises a topic; arguments as those of listen().

        Args:
            topic, kind: Those of listen().
            latched: Whether late subscribers get the last message.
        """

    def ended(self) -> bool:
        """Returns whether the node is to end."""

    def info(self, text: str) -> None:
        """Logs a line."""

    def error(self, text: str) -> None:
        """Logs an error."""
