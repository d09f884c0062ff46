"""A node of ROS 1, as the formation's nodes need it."""

import rospy

from xtdrone_ros1 import ros_tools


class Ros1:
    """See topics.ros.Ros."""

    listen = staticmethod(ros_tools.Input)
    output = staticmethod(ros_tools.Output)
    fleet = staticmethod(ros_tools.fleet)
    kind = staticmethod(ros_tools.vehicle_kind)

    def __init__(self, name: str):
        """Starts the node.

        Raises:
            Ros1Error: There is no ROS master, or a node of this name is running.
        """
        ros_tools.require_master()
        ros_tools.start(name, disable_rostime=True)

    @staticmethod
    def ended() -> bool:
        """Whether ROS shuts down."""
        return rospy.is_shutdown()

    @staticmethod
    def info(text: str) -> None:
        """To rosout."""
        rospy.loginfo("%s", text)

    @staticmethod
    def error(text: str) -> None:
        """To rosout."""
        rospy.logerr("%s", text)
