"""Topics of ROS 1 for the nodes of this package."""

from collections.abc import Callable

import rospy

from xtdrone_ros1.messages import fill, ros_class

from .images import Fields, Message, Newest

_BUFFER = 1 << 25  # for images that arrive while rospy is busy [bytes]
_LOOK_S = 0.1  # between two looks at whether the node shall end [s, wall]


def follow(topic: str, use: Callable[[Message], None], rate: float) -> None:
    """Gives the newest images of a topic to a function until the node ends; says how many.

    Raises:
        XtdroneError: The function did.
    """
    newest = Newest(use, rate)
    kind = ros_class("sensor_msgs/Image")
    rospy.Subscriber(topic, kind, newest.put, queue_size=1, buff_size=_BUFFER)
    while newest.error is None and not rospy.core.is_shutdown_requested():
        rospy.rostime.wallsleep(_LOOK_S)
    newest.close()
    if newest.error is not None:
        raise newest.error
    print(f"{newest.used} images, {newest.left_out} left out")


def publisher(topic: str, kind: str, latch: bool = False) -> Callable[[Fields], None]:
    """Returns what publishes the fields of a message of this kind."""
    topics = rospy.Publisher(topic, ros_class(kind), queue_size=2, latch=latch)

    def publish(fields: Fields) -> None:
        try:
            topics.publish(fill(ros_class(kind)(), fields))
        except rospy.ROSException:  # the node ends while an image is in use
            if not rospy.is_shutdown():
                raise

    return publish
