"""Publishers and subscribers of ROS 2 whose users have messages that are serialised for ROS 1."""

import sys
from collections.abc import Callable
from typing import Any

from rosbags.serde import SerdeError

from .node import Node
from .quality import DEFAULT, MAVROS_LATCHED
from .types import ros2_name


class Output:
    """A publisher."""

    def __init__(self, node: Node, name: str, kind: str, latched: bool = False):
        """Of a Node.

        Args:
            node: The participant.
            name: The topic, beginning with /.
            kind: Its type, by ROS 1's name.
            latched: Whether those who come late get the last messages.
        """
        self._kind, self._types = ros2_name(kind), node.types
        self._writer = node.writer(name, self._kind, MAVROS_LATCHED if latched else DEFAULT)

    def wanted(self) -> bool:
        """Whether there are subscribers."""
        return self._writer.wanted

    def publish(self, data: bytes) -> None:
        """Sends one message."""
        self._writer.write(self._types.from_ros1(data, self._kind))


def listen(node: Node, name: str, kind: str, handle: Callable[[bytes], Any]) -> None:
    """Subscribes; what is no message of the type is said, and left out.

    Args:
        node: The participant, whose handle() calls handle.
        name: The topic, beginning with /.
        kind: Its type, by ROS 1's name.
        handle: Called with each message.
    """
    own = ros2_name(kind)

    def take(data):
        try:
            message = node.types.to_ros1(data, own)
        except SerdeError as error:
            print(f"{name}: {error}", file=sys.stderr, flush=True)
            return
        handle(message)

    node.reader(name, own, take)
