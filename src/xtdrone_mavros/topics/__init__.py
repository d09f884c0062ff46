"""Topics published by the bridge: MAVROS 1's topics of each vehicle, one row each.

To add one, write a function that builds its bytes (ros_serialisation) from a vehicle and the
payload of a MAVLink message, and its row, in the file of its subject. Rows without a message are
those that MAVROS offers and PX4 never fills, and those that the bridge publishes at another
occasion.
"""

from . import devices, guidance, position, sensors, system
from .row import Topic

__all__ = ["TOPICS", "Topic"]

TOPICS = (*system.TOPICS, *position.TOPICS, *sensors.TOPICS, *guidance.TOPICS, *devices.TOPICS)
