"""Publishers and subscribers of ROS 2 for messages that are serialised for ROS 1."""

import sys
from collections.abc import Callable

from rosbags.serde import SerdeError

from .node import Node
from .quality import DEFAULT, MAVROS_LATCHED
from .types import ros2_name


class Output:
    """A publisher."""

    def __init__(self, node: Node, name: str, kind: str, latched: bool = False):
        """Advertises.

        Args:
            node: The participant.
            name: The topic, beginning with /.
            kind: Type of the topic, by ROS 1's name.
            latched: Whether late subscribers get the last messages.
        """
        self._kind, self._types = ros2_name(kind), node.types
        self._writer = node.writer(name, self._kind, MAVROS_LATCHED if latched else DEFAULT)

    def wanted(self) -> bool:
        """Returns whether there are subscribers."""
        return self._writer.wanted

    def publish(self, data: bytes) -> None:
        """Sends one message."""
        self._writer.write(self._types.from_ros1(data, self._kind))


def listen(node: Node, name: str, kind: str, handle: Callable[[bytes], object]) -> None:
    """Subscribes; messages that are not of the type are reported and dropped.

    Args:
        node: The participant, whose handle() calls handle.
        name: The topic, beginning with /.
        kind: Type of the topic, by ROS 1's name.
        handle: Called with each message.
    """
    own = ros2_name(kind)

    def take(data: bytes) -> None:
        try:
            message = node.types.to_ros1(data, own)
        except SerdeError as error:
            print(f"{name}: {error}", file=sys.stderr, flush=True)
            return
        handle(message)

    node.reader(name, own, take)
