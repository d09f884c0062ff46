"""MAVLink 2 message signing: signed frames out, checked frames in.

After mavlink.io's specification: a signature is the begin of SHA-256 over key and frame; its
timestamp grows from frame to frame of a stream, so that a recorded frame is refused. PX4 1.15 has
no signing; which messages are taken unsigned is as in its later versions.
"""

import hashlib
import hmac
import time
from collections.abc import Iterator

from fastcrc.crc16 import mcrf4xx

from .dialect import mavlink
from .framing import Frame, frames

EPOCH_S = 1_420_070_400  # start of the timestamps: 2015-01-01 in Unix time [s]
PER_S = 100_000  # timestamps of one second: they count 10 us
NEW_STREAM = 60 * PER_S  # a stream may begin so much behind this end's clock
AHEAD = 24 * 3600 * PER_S  # any timestamp may be so much ahead of it: clocks differ
MAX_STREAMS = 256  # remembered by one signer
UNSIGNED = (
    mavlink.MAVLINK_MSG_ID_RADIO_STATUS,
    mavlink.MAVLINK_MSG_ID_ADSB_VEHICLE,
    mavlink.MAVLINK_MSG_ID_COLLISION,
)  # taken unsigned: radios and receivers cannot sign
_SIGNED = 0x01  # incompatibility flag
_TAIL, _DIGEST = 13, 6  # bytes of link id, timestamp and digest; of the digest


def now() -> int:
    """The present timestamp [10 us since 2015]."""
    return max(0, int((time.time() - EPOCH_S) * PER_S))


class Signer:
    """One end of a link: signs what it sends, checks what it receives.

    Attributes:
        key: 32 bytes.
    """

    def __init__(
        self,
        key: bytes,
        link_id: int,
        own_fleet: int = 0,
        streams: dict[tuple[int, int, int], int] | None = None,
    ):
        """A signer of one link.

        Args:
            key: 32 bytes.
            link_id: Of what it sends, 0 to 255.
            own_fleet: Systems 1 to this are vehicles of this program: what they have signed
                comes from it, and is refused if somebody sends it back.
            streams: Newest timestamp of each stream: link id, system, component. The links of one
                vehicle share it, so that what was said on one is not repeated on another.
        """
        self.key = key
        self._link_id, self._own_fleet = link_id, own_fleet
        self._streams = {} if streams is None else streams
        self._start, self._start_s = now(), time.monotonic()
        self._newest = 0  # timestamp sent, or received

    def set_key(self, key: bytes, timestamp: int) -> None:
        """Goes on with another key, and from this timestamp if it is later than now."""
        self.key = key
        self._streams.clear()
        self._newest = max(self._newest, timestamp)

    def timestamp(self) -> int:
        """This end's clock; it never goes back, though the computer's may."""
        clock = self._start + int((time.monotonic() - self._start_s) * PER_S)
        return max(clock, self._newest)

    def signed(self, data: bytes) -> Iterator[bytes]:
        """Each frame of a datagram with its signature; the frames have none yet."""
        for frame in frames(data):
            body = bytearray(data[frame.start : frame.end - 2])
            body[2] |= _SIGNED
            extra = mavlink.mavlink_map[frame.message_id].crc_extra
            body += mcrf4xx(bytes(body[1:]) + bytes((extra,))).to_bytes(2, "little")
            self._newest = self.timestamp() + 1
            body.append(self._link_id)
            body += self._newest.to_bytes(6, "little")
            yield bytes(body) + self._digest(bytes(body))

    def datagrams(self, data: bytes, largest: int) -> list[bytes]:
        """Signed frames, as many in each datagram as fit into `largest` bytes."""
        made: list[bytes] = []
        for frame in self.signed(data):
            if made and len(made[-1]) + len(frame) <= largest:
                made[-1] += frame
            else:
                made.append(frame)
        return made

    def refusal(self, data: bytes, frame: Frame) -> str:
        """Why a received frame is not taken; empty if it is.

        Args:
            data: What the frame was found in.
            frame: As find_frame() gives it.
        """
        if data[frame.start] != 0xFD or not data[frame.start + 2] & _SIGNED:
            return "" if frame.message_id in UNSIGNED else "it is not signed"
        raw = data[frame.start : frame.end]
        if not hmac.compare_digest(self._digest(raw[:-_DIGEST]), raw[-_DIGEST:]):
            return "it is signed with another key"
        if frame.component == 1 and frame.system <= self._own_fleet:
            return "it is a vehicle's own"
        stream = raw[-_TAIL], frame.system, frame.component
        timestamp, here = int.from_bytes(raw[1 - _TAIL : -_DIGEST], "little"), self.timestamp()
        newest = self._streams.get(stream)
        if newest is not None and timestamp <= newest:
            return "it is a repetition, or its sender's clock went back"
        if newest is None and timestamp + NEW_STREAM < here:
            return "its sender's clock is more than a minute late"
        if timestamp > here + AHEAD:
            return "its sender's clock is more than a day ahead"
        if newest is None and len(self._streams) == MAX_STREAMS:
            # Whoever makes a stream has the key, so it is no stranger who makes room for himself.
            del self._streams[min(self._streams, key=self._streams.__getitem__)]
        self._streams[stream] = timestamp
        self._newest = max(self._newest, timestamp)
        return ""

    def _digest(self, data: bytes) -> bytes:
        return hashlib.sha256(self.key + data).digest()[:_DIGEST]
