"""Both ends of RTPS's reliable streams: what was sent is kept, what is missing is asked for."""

from collections.abc import Iterator

from . import messages as rtps

_WINDOW = 256  # sequence numbers that one ACKNACK tells of
_KEPT = 16  # samples for one reader


class Incoming:
    """What one writer has sent to one reader."""

    def __init__(self):
        """Nothing yet."""
        self._below, self._seen, self._count = 1, set(), 0  # all below are known

    def new(self, number: int) -> bool:
        """Notes a sample; whether it was not there before."""
        if number < self._below or number in self._seen:
            return False
        self._seen.add(number)
        self._advance()
        return True

    def skip(self, message: rtps.Submessage) -> None:
        """Notes those that a GAP says will not come."""
        if message.number <= self._below:
            self._below = max(self._below, message.last + 1)
        self._seen.update(message.numbers)
        self._advance()

    def _advance(self):
        while self._below in self._seen:
            self._seen.remove(self._below)
            self._below += 1

    def answer(self, message: rtps.Submessage) -> bytes:
        """The ACKNACK to a HEARTBEAT."""
        self._below = max(self._below, message.number)  # what is older is gone
        self._seen = {number for number in self._seen if number >= self._below}
        self._advance()
        end = min(message.last, self._below + _WINDOW - 1)
        missing = [k for k in range(self._below, end + 1) if k not in self._seen]
        self._count += 1
        return rtps.acknack(message.reader, message.writer, self._below, missing, self._count)


class Outgoing:
    """What one writer sends to one reader; sequence numbers are counted for that reader alone.

    Attributes:
        last: Sequence number of the last sample; 0 before the first.
    """

    def __init__(self, reader: bytes, writer: bytes, kept: int = _KEPT):
        """reader, writer: entities; kept: how many samples can be sent again."""
        self._reader, self._writer, self._limit = reader, writer, kept
        self._kept: dict[int, bytes] = {}
        self.last, self._known, self._count = 0, 0, 0

    @property
    def waits(self) -> bool:
        """Whether the reader has not said yet that it has everything."""
        return self._known < self.last

    def add(self, payload: bytes, qos: tuple[tuple[int, bytes], ...] = ()) -> bytes:
        """Submessages of a new sample."""
        self.last += 1
        sample = rtps.data(self._reader, self._writer, self.last, payload, qos)
        self._kept[self.last] = sample
        self._kept.pop(self.last - self._limit, None)
        return sample

    def heartbeat(self, final: bool = False) -> bytes:
        """The submessage that asks what is missing; final: nothing need be said if it is not."""
        self._count += 1
        return rtps.heartbeat(self._reader, self._writer, self.last, self._count, final)

    def answer(self, message: rtps.Submessage) -> Iterator[bytes]:
        """Submessages that answer an ACKNACK: the samples that it asks for."""
        self._known = max(self._known, message.number - 1)
        for number in message.numbers:
            if number in self._kept:
                yield self._kept[number]
        if not message.final:
            yield self.heartbeat(final=True)
