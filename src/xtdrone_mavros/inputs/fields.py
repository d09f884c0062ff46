"""Fields of ROS messages as numbers."""

from typing import Any, Protocol

from ..convert.geometry import Quaternion, Vector
from ..rows import RosMessage

# What ROS 2 calls it: what ROS 1 does.
_OF_ROS1 = {"sec": "secs", "nanosec": "nsecs", "k": "K", "d": "D"}


class Indexed(Protocol):
    """A vehicle of a fleet."""

    index: int


def xyz(vector: RosMessage) -> Vector:
    """Returns a vector or point as a tuple."""
    return vector.x, vector.y, vector.z


def quat(q: RosMessage) -> Quaternion:
    """Returns a quaternion as a tuple xyzw."""
    return q.x, q.y, q.z, q.w


def time_us(header: RosMessage) -> int:
    """Returns the time stamp of a header [us]."""
    return duration_us(header.stamp)


def duration_us(value: RosMessage) -> int:
    """Returns a time or duration of ROS 1 or ROS 2 [us]."""
    seconds, nanoseconds = time_parts(value)
    return seconds * 1_000_000 + nanoseconds // 1000


def time_parts(value: RosMessage) -> tuple[int, int]:
    """Returns seconds and nanoseconds of a time or duration of ROS 1 or ROS 2."""
    return field(value, "sec"), field(value, "nanosec")


def field(message: RosMessage, name: str) -> Any:  # the message's definition gives the type
    """Returns a field that ROS 1 and ROS 2 call differently, by ROS 2's name."""
    return getattr(message, name if hasattr(message, name) else _OF_ROS1[name])


def target(vehicle: Indexed) -> tuple[int, int]:
    """Returns system and component id of a vehicle's autopilot."""
    return vehicle.index + 1, 1
