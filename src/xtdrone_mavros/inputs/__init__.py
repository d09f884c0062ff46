"""ROS topics that the bridge subscribes to: MAVROS's set-points and other inputs, one row each.

To add a topic, write a function of a vehicle and a message, and its row, in the file of its
subject.
"""

from ..rows import Subscription
from ..vehicle import Vehicle
from . import companion, sensors, set_points

__all__ = ["SUBSCRIPTIONS", "Subscription"]

SUBSCRIPTIONS: tuple[Subscription[Vehicle], ...] = (
    *set_points.SUBSCRIPTIONS,
    *sensors.SUBSCRIPTIONS,
    *companion.SUBSCRIPTIONS,
)
