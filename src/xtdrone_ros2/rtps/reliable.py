"""Both ends of RTPS's reliable streams, which send lost samples again."""

from collections.abc import Iterator

from . import messages as rtps

_WINDOW = 256  # sequence numbers of one ACKNACK
_KEPT = 16  # samples kept for one reader
_MAX_SAMPLE, _FRAGMENT = 32_768, 8192  # larger samples are sent in fragments [bytes]
_MAX_OPEN = 4  # samples of one writer that are assembled at once
_MAX_ASSEMBLED = 8 << 20  # size of an assembled sample [bytes]


class Incoming:
    """Samples of one writer that one reader has received."""

    def __init__(self) -> None:
        """Starts without samples."""
        self._below = 1  # all samples with smaller numbers are known
        self._seen: set[int] = set()
        self._count = 0
        # Payloads in parts by their numbers, and the lengths of the parts by their places.
        self._parts: dict[int, tuple[bytearray, dict[int, int]]] = {}

    def new(self, number: int) -> bool:
        """Adds a sample; returns whether it is new."""
        if number < self._below or number in self._seen:
            return False
        self._seen.add(number)
        self._advance()
        return True

    def joined(self, message: rtps.Submessage) -> bytes | None:
        """Returns the payload that a DATA_FRAG completes; None if parts are missing."""
        if (
            message.number < self._below
            or message.number in self._seen
            or not 0 <= message.at < message.size <= _MAX_ASSEMBLED
        ):
            return None
        if message.number not in self._parts and len(self._parts) >= _MAX_OPEN:
            del self._parts[min(self._parts)]
        whole, known = self._parts.setdefault(message.number, (bytearray(message.size), {}))
        part = message.payload[: message.size - message.at]  # without what pads the last one
        whole[message.at : message.at + len(part)] = part
        known[message.at] = len(part)
        if len(whole) != message.size or sum(known.values()) < message.size:
            return None
        del self._parts[message.number]
        return bytes(whole)

    def skip(self, message: rtps.Submessage) -> None:
        """Skips the samples that a GAP declares irrelevant."""
        if message.number <= self._below:
            self._below = max(self._below, message.last + 1)
        self._seen.update(message.numbers)
        self._advance()

    def _advance(self) -> None:
        while self._below in self._seen:
            self._seen.remove(self._below)
            self._below += 1

    def answer(self, message: rtps.Submessage) -> bytes:
        """Returns the ACKNACK to a HEARTBEAT."""
        self._below = max(self._below, message.number)  # older samples are gone
        self._seen = {number for number in self._seen if number >= self._below}
        self._advance()
        end = min(message.last, self._below + _WINDOW - 1)
        missing = [k for k in range(self._below, end + 1) if k not in self._seen]
        self._count += 1
        return rtps.acknack(message.reader, message.writer, self._below, missing, self._count)


class Outgoing:
    """Samples of one writer for one reader; sequence numbers are counted for that reader alone.

    Attributes:
        last: Sequence number of the last sample; 0 before the first.
    """

    def __init__(self, reader: bytes, writer: bytes, kept: int = _KEPT):
        """Takes two entities, and the number of samples that can be sent again."""
        self._reader, self._writer, self._limit = reader, writer, kept
        self._kept: dict[int, list[bytes]] = {}
        self.last, self._known, self._count = 0, 0, 0

    @property
    def waits(self) -> bool:
        """Whether the reader has not yet acknowledged all samples."""
        return self._known < self.last

    def add(self, payload: bytes, qos: tuple[tuple[int, bytes], ...] = ()) -> list[bytes]:
        """Returns the submessages of a new sample: one, or its fragments."""
        self.last += 1
        sample = (self._reader, self._writer, self.last, payload, qos)
        sent = (
            [rtps.data(*sample)]
            if len(payload) <= _MAX_SAMPLE
            else rtps.data_frags(*sample, _FRAGMENT)
        )
        self._kept[self.last] = sent
        self._kept.pop(self.last - self._limit, None)
        return sent

    def heartbeat(self, final: bool = False) -> bytes:
        """Returns a HEARTBEAT; final: a reader without gaps need not answer."""
        self._count += 1
        return rtps.heartbeat(self._reader, self._writer, self.last, self._count, final)

    def answer(self, message: rtps.Submessage) -> Iterator[bytes]:
        """Yields the samples that an ACKNACK or a NACK_FRAG requests."""
        self._known = max(self._known, message.number - 1)
        for number in message.numbers:
            yield from self._kept.get(number, ())
        if not message.final:
            yield self.heartbeat(final=True)
