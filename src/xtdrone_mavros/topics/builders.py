"""Frames and builders that several rows of the table of topics share."""

from collections.abc import Callable

from xtdrone_core.mavlink.dialect import mavlink

from .. import ros_serialisation as ros
from ..mavlink_link import unpack
from ..vehicle import Vehicle

MAP, BODY = "map", "base_link"  # MAVROS's frames, the same for every vehicle


def copied(
    message: str, layout: str, names: str, time: str = "", frame: str = ""
) -> Callable[[Vehicle, bytes], bytes]:
    """Returns a builder of a header and numbers that are copied from a MAVLink message.

    Args:
        message: Name of the message.
        layout: Layout of the numbers in the ROS message, in the notation of struct.
        names: Fields of the MAVLink message, in the order of the ROS message; arrays are flattened.
        time: Field with the time stamp [us; ms if it ends in _ms]; "" = the time is now.
        frame: Frame_id of the header.
    """
    kind = mavlink.mavlink_map[getattr(mavlink, f"MAVLINK_MSG_ID_{message}")]
    places: dict[str, range] = {}
    start = 0
    for name, length in zip(kind.ordered_fieldnames, kind.lengths):
        places[name] = range(start, start + length)
        start += length
    order = [k for name in names.split() for k in places[name]]
    stamp, unit = places[time][0] if time else 0, 1000 if time.endswith("_ms") else 1

    def build(vehicle: Vehicle, payload: bytes) -> bytes:
        values = unpack(kind.id, payload)
        t_us = vehicle.stamp(values[stamp] * unit) if time else vehicle.now_us
        return ros.fields(t_us, frame, layout, *[values[k] for k in order])

    return build
