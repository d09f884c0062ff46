"""What a PX4 sends, as records: only the messages that have a handler."""

from collections.abc import Sequence

import numpy as np

from xtdrone_core.mavlink_frames import FrameStream

from ..mavlink.frames import layout


class FrameReader:
    """Reads wanted messages from what a peer sends."""

    def __init__(self, names: Sequence[str]):
        """names: of the messages of the common dialect that are wanted."""
        self._wanted = {layout(name).id: (name, layout(name).dtype) for name in names}
        self._stream = FrameStream()
        self.frames = 0  # correct ones so far, wanted or not

    @property
    def garbage(self) -> int:
        """Bytes so far that belong to no correct frame."""
        return self._stream.garbage

    def feed(self, data: bytes) -> list:
        """The wanted messages that these bytes complete.

        Args:
            data: What came in.

        Returns:
            (name, system id, record) each; the record's fields are MAVLink's,
            in MAVLink's units.
        """
        found = []
        for frame in self._stream.feed(data):
            self.frames += 1
            if frame.message_id in self._wanted:
                name, dtype = self._wanted[frame.message_id]
                payload = frame.payload[:dtype.itemsize].ljust(dtype.itemsize, b"\0")
                found.append((name, frame.system, np.frombuffer(payload, dtype=dtype)[0]))
        return found
