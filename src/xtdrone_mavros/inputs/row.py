"""What a row of the table of subscriptions is, and what several of their functions need."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Subscription:
    """One topic below V/mavros/ to which the bridge subscribes."""

    name: str
    type: str
    handle: Callable  # of the bridge's Vehicle and a message: any object with the type's fields
    raw: bool = False  # the message comes as its bytes
    where: Callable = lambda parameters: True  # of the nested parameters: whether it is taken


def xyz(vector: Any) -> tuple:
    """A vector or point as a tuple."""
    return vector.x, vector.y, vector.z


def quat(q: Any) -> tuple:
    """A quaternion as a tuple xyzw."""
    return q.x, q.y, q.z, q.w


def time_us(header: Any) -> int:
    """The time stamp of a header [us]."""
    return duration_us(header.stamp)


def duration_us(value: Any) -> int:
    """A time or duration of ROS 1, or of ROS 2, which has other names for its parts [us]."""
    if hasattr(value, "sec"):
        return value.sec * 1_000_000 + value.nanosec // 1000
    return value.secs * 1_000_000 + value.nsecs // 1000


def target(v: Any) -> tuple:
    """System and component id of a vehicle's autopilot."""
    return v.index + 1, 1
