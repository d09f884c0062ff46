"""MAVLink frames found in bytes: the one scanner of the workspace, for datagrams and streams."""

from collections.abc import Iterator
from typing import NamedTuple

from fastcrc.crc16 import mcrf4xx

from .mavlink_dialect import mavlink

_V1, _V2 = 0xFE, 0xFD  # first byte of a frame
_HEADER_V1, _HEADER_V2, _CHECKSUM, _SIGNATURE = 6, 10, 2, 13  # lengths [bytes]


class Frame(NamedTuple):
    """A whole frame of a known message whose checksum holds."""

    start: int  # in the bytes that were scanned
    end: int
    system: int
    component: int
    message_id: int
    payload: bytes


def find_frame(data: bytes, at: int, more_may_come: bool = False) -> tuple[Frame | None, int]:
    """The first valid frame at or after an offset; after a broken frame it tries the next byte.

    Args:
        data: MAVLink 1 or 2, with any other bytes between frames.
        at: Offset at which to begin.
        more_may_come: Whether data is a piece of a stream: then the search stops where a frame
            may have its end in the next piece.

    Returns:
        The frame, or None, and the offset at which to continue.
    """
    end = len(data)
    while at < end:
        first = data[at]
        if first != _V2 and first != _V1:
            at += 1
            continue
        header = _HEADER_V2 if first == _V2 else _HEADER_V1
        if at + header + _CHECKSUM > end:
            if more_may_come:
                return None, at
            at += 1
            continue
        body = at + header + data[at + 1]
        after = body + _CHECKSUM
        if first == _V2:
            after += _SIGNATURE * (data[at + 2] & 1)
            system, component = data[at + 5], data[at + 6]
            number = data[at + 7] | data[at + 8] << 8 | data[at + 9] << 16
        else:
            system, component, number = data[at + 3], data[at + 4], data[at + 5]
        kind = mavlink.mavlink_map.get(number)
        if kind is not None and after > end and more_may_come:
            return None, at
        if kind is None or after > end or mcrf4xx(
                data[at + 1:body] + bytes((kind.crc_extra,))) != data[body] | data[body + 1] << 8:
            at += 1
            continue
        return Frame(at, after, system, component, number, data[at + header:body]), after
    return None, end


def frames(data: bytes) -> Iterator[Frame]:
    """The frames of a datagram; a truncated frame at its end is dropped."""
    found, at = find_frame(data, 0)
    while found is not None:
        yield found
        found, at = find_frame(data, at)


class FrameStream:
    """Frames of a byte stream that arrives in pieces.

    Attributes:
        garbage: Bytes so far that belong to no frame.
    """

    def __init__(self) -> None:
        self._rest = b""
        self.garbage = 0

    def feed(self, data: bytes) -> Iterator[Frame]:
        """The frames that these bytes complete."""
        buffer = self._rest + data
        found, at = find_frame(buffer, 0, True)
        before = 0
        while found is not None:
            self.garbage += found.start - before
            before = at
            yield found
            found, at = find_frame(buffer, at, True)
        self.garbage += at - before
        self._rest = buffer[at:]
