"""What a row of the table of topics is, and builders that several of them share."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from xtdrone_core.mavlink.dialect import mavlink

from .. import ros_serialisation as ros
from ..mavlink_link import unpack

MAP, BODY = "map", "base_link"  # MAVROS's frames, the same for every vehicle


@dataclass(frozen=True)
class Topic:
    """One topic below V/mavros/ that the bridge publishes."""

    name: str
    type: str
    message: str = ""  # of MAVLink, with which it goes out; "" = by another hand, or never
    build: Callable | None = None  # of the Vehicle and that message's payload; gives bytes, or None
    rate: float = 0.0  # of that message on the bridge's link [Hz]; 0 = when there is something new
    latched: bool = False  # and built also where nobody listens


def copied(message: str, layout: str, names: str, time: str = "", frame: str = "") -> Callable:
    """A builder of a header and numbers that are those of a MAVLink message.

    Args:
        message: The message.
        layout: Of the numbers in the ROS message, in the notation of struct.
        names: Of the message's fields, in the order of the ROS message; arrays are flattened.
        time: Its field with the time stamp [us; ms where it ends in _ms]; "" = the time is now.
        frame: The header's frame_id.
    """
    kind = mavlink.mavlink_map[getattr(mavlink, f"MAVLINK_MSG_ID_{message}")]
    places: dict[str, Any] = {}
    at = 0
    for name, length in zip(kind.ordered_fieldnames, kind.lengths):
        places[name] = range(at, at + length)
        at += length
    order = [k for name in names.split() for k in places[name]]
    stamp, unit = places[time][0] if time else 0, 1000 if time.endswith("_ms") else 1

    def build(v, payload):
        values = unpack(kind.id, payload)
        t_us = v.stamp(values[stamp] * unit) if time else v.now_us
        return ros.fields(t_us, frame, layout, *[values[k] for k in order])

    return build
