"""ROS topics that the bridge publishes: MAVROS 1's topics of each vehicle, one row each.

To add a topic, write a function that builds its bytes (ros_serialisation) from a vehicle and the
payload of a MAVLink message, and its row, in the file of its subject. Rows without a message are
those that MAVROS offers and PX4 never fills, and those that the bridge publishes on another
occasion.
"""

from ..rows import Topic
from ..vehicle import Vehicle
from . import devices, guidance, position, sensors, system

__all__ = ["TOPICS", "Topic"]

TOPICS: tuple[Topic[Vehicle], ...] = (
    *system.TOPICS,
    *position.TOPICS,
    *sensors.TOPICS,
    *guidance.TOPICS,
    *devices.TOPICS,
)
