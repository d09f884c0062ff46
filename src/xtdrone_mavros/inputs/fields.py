"""Fields of ROS messages as numbers."""

from typing import Protocol

from ..convert.geometry import Quaternion, Vector
from ..rows import RosMessage


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
    """Returns a time or duration of ROS 1 or ROS 2, which name its parts differently [us]."""
    if hasattr(value, "sec"):
        return value.sec * 1_000_000 + value.nanosec // 1000
    return value.secs * 1_000_000 + value.nsecs // 1000


def target(vehicle: Indexed) -> tuple[int, int]:
    """Returns system and component id of a vehicle's autopilot."""
    return vehicle.index + 1, 1
