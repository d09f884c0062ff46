"""Decodes the MAVLink messages of a flight stack to records, only those with a handler."""

from collections.abc import Callable, Iterable

import numpy as np

from xtdrone_autopilot.mavlink.frames import layout
from xtdrone_core.mavlink.framing import Frame, FrameStream


class FrameReader:
    """Decodes chosen messages from the byte stream of one MAVLink peer."""

    def __init__(self, names: Iterable[str], forward: Callable[[Frame, bytes], None] | None = None):
        """A reader of one peer.

        Args:
            names: Names of the messages to decode, of the common dialect.
            forward: Called with each valid frame, of any message, and its bytes.
        """
        self._forward = forward
        self._wanted = {layout(name).id: (name, layout(name).dtype) for name in names}
        self._stream = FrameStream()
        self.frames = 0  # valid frames so far, of any message

    @property
    def garbage(self) -> int:
        """Number of bytes so far that belong to no valid frame."""
        return self._stream.garbage

    def feed(self, data: bytes) -> list[tuple[str, int, np.void]]:
        """Returns the chosen messages that these bytes complete.

        Args:
            data: The bytes received.

        Returns:
            (name, system id, record) each; the record's fields are MAVLink's,
            in MAVLink's units.
        """
        messages = []
        for frame in self._stream.feed(data):
            self.frames += 1
            if self._forward is not None:
                self._forward(frame, self._stream.buffer[frame.start : frame.end])
            if frame.message_id in self._wanted:
                name, dtype = self._wanted[frame.message_id]
                payload = frame.payload[: dtype.itemsize].ljust(dtype.itemsize, b"\0")
                messages.append((name, frame.system, np.frombuffer(payload, dtype=dtype)[0]))
        return messages
