"""Subscriptions of the bridge: MAVROS's set-points and other inputs, one row each.

To add one, write a function of a vehicle and a message, and its row, in the file of its subject.
"""

from . import companion, sensors, set_points
from .row import Subscription

__all__ = ["SUBSCRIPTIONS", "Subscription"]

SUBSCRIPTIONS = (*set_points.SUBSCRIPTIONS, *sensors.SUBSCRIPTIONS, *companion.SUBSCRIPTIONS)
