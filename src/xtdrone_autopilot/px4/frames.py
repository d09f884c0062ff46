"""MAVLink 2 frames picked out of a stream of bytes: only those messages that somebody wants."""

import numpy as np

from ..mavlink.dialect import mavlink
from ..mavlink.frames import frame_crc, layout

_HEADER, _CHECKSUM, _SIGNATURE = 10, 2, 13  # lengths [bytes]
_START = b"\xfd"


class FrameReader:
    """Finds whole, correct frames in what a peer sent.

    Attributes:
        garbage: Bytes so far that belong to no correct frame.
        frames: Correct frames so far, wanted or not.
    """

    def __init__(self, names):
        """names: of the messages of the common dialect that are wanted."""
        self._wanted = {layout(name).id: (name, layout(name).dtype) for name in names}
        self._rest = b""
        self.garbage = 0
        self.frames = 0

    def feed(self, data: bytes) -> list:
        """The wanted messages that these bytes complete.

        Args:
            data: What came in.

        Returns:
            (name, system id, record) each; the record's fields are MAVLink's,
            in MAVLink's units.
        """
        buffer = self._rest + data
        view = np.frombuffer(buffer, dtype=np.uint8)
        found, at, end = [], 0, len(buffer)
        while True:
            start = buffer.find(_START, at)
            start = end if start < 0 else start
            self.garbage += start - at
            at = start
            if end - at < _HEADER + _CHECKSUM:
                break
            body = at + _HEADER + buffer[at + 1]
            after = body + _CHECKSUM + (_SIGNATURE if buffer[at + 2] & 1 else 0)
            if after > end:
                break
            number = int.from_bytes(buffer[at + 7:at + 10], "little")
            message = mavlink.mavlink_map.get(number)
            if message is None or frame_crc(view, at + 1, body, message.crc_extra) != (
                    buffer[body] | buffer[body + 1] << 8):
                self.garbage += 1
                at += 1
                continue
            self.frames += 1
            if number in self._wanted:
                name, dtype = self._wanted[number]
                payload = buffer[at + _HEADER:body][:dtype.itemsize]
                record = np.frombuffer(payload.ljust(dtype.itemsize, b"\0"), dtype=dtype)[0]
                found.append((name, buffer[at + 5], record))
            at = after
        self._rest = buffer[at:]
        return found
