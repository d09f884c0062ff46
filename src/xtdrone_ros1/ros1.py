"""A node of ROS 1 for code that runs on ROS 1 and ROS 2."""

from collections.abc import Callable

import rospy

from . import discovery, node
from .topics import Input, Output


class Ros1:
    """A node of ROS 1; see xtdrone_formation.topics.ros.Ros."""

    output = staticmethod(Output)
    fleet = staticmethod(discovery.fleet)
    kind = staticmethod(discovery.vehicle_kind)
    mavros = staticmethod(discovery.mavros)

    def __init__(self, name: str):
        """Starts the node.

        Raises:
            Ros1Error: There is no ROS master, or a node of this name is running.
        """
        node.require_master()
        node.start(name, disable_rostime=True)

    @staticmethod
    def listen(topic: str, kind: str, handle: Callable[[bytes], object]) -> None:
        """Subscribes to serialised messages."""
        Input(topic, kind, handle)

    @staticmethod
    def ended() -> bool:
        """Returns whether ROS is shutting down."""
        return rospy.is_shutdown()

    @staticmethod
    def info(text: str) -> None:
        """Logs to rosout."""
        rospy.loginfo("%s", text)

    @staticmethod
    def error(text: str) -> None:
        """Logs to rosout."""
        rospy.logerr("%s", text)
