"""MAVLink frames found in bytes: the one scanner of the workspace, for datagrams and streams."""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from fastcrc.crc16 import mcrf4xx

from .dialect import mavlink

_V1, _V2 = 0xFE, 0xFD  # first byte of a frame
_HEADER_V1, _HEADER_V2, _CHECKSUM, _SIGNATURE = 6, 10, 2, 13  # lengths [bytes]
_SIZES = {
    "char": 1,
    "int8_t": 1,
    "uint8_t": 1,
    "int16_t": 2,
    "uint16_t": 2,
    "int32_t": 4,
    "uint32_t": 4,
    "float": 4,
    "int64_t": 8,
    "uint64_t": 8,
    "double": 8,
}


class Frame(NamedTuple):
    """A whole frame of a known message whose checksum holds."""

    start: int  # start in the bytes that were scanned
    end: int
    system: int
    component: int
    message_id: int
    payload: bytes


def payload_sizes(kind: type) -> tuple[int, int]:
    """Bytes of a message's payload without and with its extension fields.

    The dialect does not say where the extensions begin, but its checksum does: it counts only the
    fields before them.
    """
    types = dict(zip(kind.fieldnames, kind.fieldtypes))  # type: ignore[attr-defined]
    text, size, base = f"{kind.msgname} ".encode(), 0, 0  # type: ignore[attr-defined]
    lengths = kind.array_lengths  # type: ignore[attr-defined]
    for name, length in zip(kind.ordered_fieldnames, lengths):  # type: ignore[attr-defined]
        text += f"{types[name]} {name} ".encode() + bytes([length] if length else [])
        size += _SIZES[types[name]] * (length or 1)
        crc = mcrf4xx(text)
        if (crc & 0xFF) ^ (crc >> 8) == kind.crc_extra:  # type: ignore[attr-defined]
            base = size
    return base, size


def _plausible() -> tuple[np.ndarray, np.ndarray]:
    """Returns what can be a header of MAVLink 1 and of MAVLink 2.

    Of MAVLink 1, (256, 256) bool: a message's number and the length of its payload.

    And of MAVLink 2, (65536,) bool: its number. There a newer dialect may have made the payload
    longer, and zeros at its end are left out.
    """
    fits, known = np.zeros((256, 256), dtype=np.bool_), np.zeros(1 << 16, dtype=np.bool_)
    for number, kind in mavlink.mavlink_map.items():
        known[number] = True
        if number < 256:
            base, full = payload_sizes(kind)
            fits[number, base : full + 1] = True
    return fits, known


_FITS, _KNOWN = _plausible()


def _known_old(d: np.ndarray, at: np.ndarray) -> np.ndarray:
    """Returns whether the MAVLink 1 headers at some offsets are of known messages."""
    return _FITS[d[at + 5], d[at + 1]]


def _known_new(d: np.ndarray, at: np.ndarray) -> np.ndarray:
    """Returns whether the MAVLink 2 headers at some offsets are of known messages."""
    number = d[at + 7] | d[at + 8].astype(np.int64) << 8
    return (d[at + 2] <= 1) & (d[at + 9] == 0) & _KNOWN[number]


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
    if at >= end:
        return None, end
    frame, _ = _frame_at(data, at)  # nearly always there is one
    if frame is not None:
        return frame, frame.end
    for start in _starts(data, at):
        frame, cut = _frame_at(data, start)
        if frame is not None:
            return frame, frame.end
        if cut and more_may_come:
            return None, start
    return None, end


def _frame_at(data: bytes, at: int) -> tuple[Frame | None, bool]:
    """The valid frame that begins at an offset, or None; and whether data ends before it could."""
    end, first = len(data), data[at]
    header = _HEADER_V2 if first == _V2 else _HEADER_V1
    if at + header > end:
        return None, True
    body = at + header + data[at + 1]
    after = body + _CHECKSUM
    if first == _V2:
        after += _SIGNATURE * (data[at + 2] & 1)
        system, component = data[at + 5], data[at + 6]
        number = data[at + 7] | data[at + 8] << 8 | data[at + 9] << 16
    elif first == _V1:
        system, component, number = data[at + 3], data[at + 4], data[at + 5]
    else:
        return None, False
    kind = mavlink.mavlink_map.get(number)
    if kind is None or after > end:
        return None, kind is not None
    if mcrf4xx(data[at + 1 : body] + bytes((kind.crc_extra,))) != data[body] | data[body + 1] << 8:
        return None, False
    return Frame(at, after, system, component, number, data[at + header : body]), False


def _starts(data: bytes, at: int) -> list[int]:
    """Offsets from `at` on where the header of a known message begins, or may at the very end.

    All at once, since garbage may be full of first bytes.
    """
    d = np.frombuffer(data, dtype=np.uint8)
    offsets: list[int] = []
    for first, length, known in ((_V1, _HEADER_V1, _known_old), (_V2, _HEADER_V2, _known_new)):
        starts = np.flatnonzero(d[at:] == first) + at
        k = np.searchsorted(starts, len(d) - length, side="right")
        offsets += starts[:k][known(d, starts[:k])].tolist()
        offsets += starts[k:].tolist()
    return sorted(offsets)


def frames(data: bytes) -> Iterator[Frame]:
    """The frames of a datagram; a truncated frame at its end is dropped."""
    frame, at = find_frame(data, 0)
    while frame is not None:
        yield frame
        frame, at = find_frame(data, at)


class FrameStream:
    """Frames of a byte stream that arrives in pieces.

    Attributes:
        garbage: Bytes so far that belong to no frame.
        buffer: What was scanned last: start and end of the newest frames are offsets in it.
    """

    def __init__(self) -> None:
        self._rest = self.buffer = b""
        self.garbage = 0

    def feed(self, data: bytes) -> Iterator[Frame]:
        """The frames that these bytes complete."""
        self.buffer = buffer = self._rest + data
        frame, at = find_frame(buffer, 0, True)
        before = 0
        while frame is not None:
            self.garbage += frame.start - before
            before = at
            yield frame
            frame, at = find_frame(buffer, at, True)
        self.garbage += at - before
        self._rest = buffer[at:]
