"""Messages of RTPS 2.3, the protocol below DDS: what is needed to answer requests.

OMG, "The Real-time Publish-Subscribe Protocol DDS Interoperability Wire Protocol", version 2.3,
sections 9.4 (messages) and 9.6 (parameters).
"""

import struct
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

HEADER = b"RTPS\x02\x03\x00\x00"  # version 2.3, no vendor
PREFIX = 12  # bytes of a GUID that are its participant's
UNKNOWN = bytes(4)  # an entity: all of them
_LITTLE, _QOS, _DATA, _FINAL, _INVALID = 1, 2, 4, 2, 2  # flags of submessages
ACKNACK, HEARTBEAT, GAP, INFO_DESTINATION, DATA = 0x06, 0x07, 0x08, 0x0E, 0x15
NACK_FRAG, DATA_FRAG = 0x12, 0x16
_LOCATOR = 24  # bytes
_BITS = 256  # of a set of sequence numbers at most
# Bytes from behind their own field to the inline QoS of a DATA and a DATA_FRAG.
_TO_QOS, _FRAG_TO_QOS = 16, 28
CDR, PL_CDR = b"\x00\x01\x00\x00", b"\x00\x03\x00\x00"  # little-endian

# Parameters.
LEASE, TOPIC, TYPE, VERSION, VENDOR, RELIABILITY, DURABILITY = 2, 5, 7, 0x15, 0x16, 0x1A, 0x1D
USER_DATA, DEFAULT_LOCATOR, DISCOVERY_LOCATOR, PARTICIPANT, BUILTIN, ENDPOINT, STATUS = (
    0x2C,
    0x31,
    0x32,
    0x50,
    0x58,
    0x5A,
    0x71,
)
RELATED = 0x83, 0x800F  # whose request a response answers: the standard's, and Fast DDS's
_SENTINEL = 1


@dataclass(frozen=True)
class Submessage:
    """One submessage that was received.

    Attributes:
        kind: Its id.
        source: GUID prefix of the sender.
        reader, writer: Entities.
        number: Sequence number of a DATA, first one of a HEARTBEAT or GAP, base of an ACKNACK.
        last: Last sequence number of a HEARTBEAT.
        numbers: Those of the set of an ACKNACK or GAP, or the one of a NACK_FRAG.
        final: No answer is needed.
        qos: Inline parameters of a DATA.
        payload: Of a DATA, encapsulation included; of a DATA_FRAG, its part.
        at, size: Of a DATA_FRAG, where its part begins in a payload of how many bytes.
    """

    kind: int
    source: bytes
    reader: bytes
    writer: bytes
    number: int
    last: int = 0
    numbers: tuple[int, ...] = ()
    final: bool = False
    qos: Mapping[int, bytes] = field(default_factory=dict)
    payload: bytes = b""
    at: int = 0
    size: int = 0


def parsed(data: bytes, own: bytes) -> Iterator[Submessage]:
    """The submessages of a datagram that are for a participant; nothing where it is no RTPS.

    Args:
        data: The datagram.
        own: GUID prefix of the participant.
    """
    if len(data) < 20 or data[:4] != b"RTPS":
        return
    source, destination = data[8:20], own
    at = 20
    while at + 4 <= len(data):
        kind, flags = data[at], data[at + 1]
        order = "<" if flags & _LITTLE else ">"
        (size,) = struct.unpack_from(f"{order}H", data, at + 2)
        end = at + 4 + size if size else len(data)
        body, at = data[at + 4 : end], end
        try:
            if kind == INFO_DESTINATION:
                destination = own if body[:PREFIX] == bytes(PREFIX) else body[:PREFIX]
            elif destination == own and kind in _PARSERS:
                yield _PARSERS[kind](source, flags, order, body)
        except (struct.error, IndexError):  # it is cut off
            continue


def _numbers(order, body, at):
    """Base and members of a set of sequence numbers, and where it ends."""
    high, low, count = struct.unpack_from(f"{order}iII", body, at)
    base, words = (high << 32) + low, (min(count, _BITS) + 31) // 32
    bits = struct.unpack_from(f"{order}{words}I", body, at + 12)
    return (
        base,
        tuple(base + k for k in range(min(count, _BITS)) if bits[k // 32] >> (31 - k % 32) & 1),
        at + 12 + 4 * words,
    )


def _number(order, body, at):
    high, low = struct.unpack_from(f"{order}iI", body, at)
    return (high << 32) + low


def _data(source, flags, order, body):
    (to_qos,) = struct.unpack_from(f"{order}H", body, 2)
    at, qos = 4 + to_qos, {}
    if flags & _QOS:
        qos, at = _parameters(order, body, at)
    return Submessage(
        DATA,
        source,
        body[4:8],
        body[8:12],
        _number(order, body, 12),
        qos=qos,
        payload=body[at:] if flags & _DATA else b"",
    )


def _data_frag(source, flags, order, body):
    (to_qos,) = struct.unpack_from(f"{order}H", body, 2)
    first, _, length, size = struct.unpack_from(f"{order}IHHI", body, 20)
    at, qos = 4 + to_qos, {}
    if flags & _QOS:
        qos, at = _parameters(order, body, at)
    return Submessage(
        DATA_FRAG,
        source,
        body[4:8],
        body[8:12],
        _number(order, body, 12),
        qos=qos,
        payload=body[at:],
        at=(first - 1) * length,
        size=size,
    )


def _heartbeat(source, flags, order, body):
    return Submessage(
        HEARTBEAT,
        source,
        body[:4],
        body[4:8],
        _number(order, body, 8),
        _number(order, body, 16),
        final=bool(flags & _FINAL),
    )


def _acknack(source, flags, order, body):
    base, numbers, _ = _numbers(order, body, 8)
    return Submessage(
        ACKNACK, source, body[:4], body[4:8], base, numbers=numbers, final=bool(flags & _FINAL)
    )


def _nack_frag(source, flags, order, body):
    return Submessage(
        NACK_FRAG, source, body[:4], body[4:8], 0, numbers=(_number(order, body, 8),), final=True
    )


def _gap(source, flags, order, body):
    first = _number(order, body, 8)
    base, numbers, _ = _numbers(order, body, 16)
    return Submessage(GAP, source, body[:4], body[4:8], first, base - 1, numbers)


_PARSERS = {
    DATA: _data,
    HEARTBEAT: _heartbeat,
    ACKNACK: _acknack,
    GAP: _gap,
    DATA_FRAG: _data_frag,
    NACK_FRAG: _nack_frag,
}


def _parameters(order, body, at):
    """Parameters of a list that begins at a place, equal ones joined, and where it ends."""
    found: dict[int, bytes] = {}
    while True:
        name, size = struct.unpack_from(f"{order}HH", body, at)
        at += 4
        if name == _SENTINEL:
            return found, at
        found[name] = found.get(name, b"") + body[at : at + size]
        at += size


def parameters(payload: bytes) -> Mapping[int, bytes]:
    """Parameters of a payload that is a list of them; {} where it is none."""
    order = {b"\x00\x03": "<", b"\x00\x02": ">"}.get(payload[:2])
    if order is None:
        return {}
    try:
        return _parameters(order, payload, 4)[0]
    except struct.error:
        return {}


def listed(items: Sequence[tuple[int, bytes]]) -> bytes:
    """A list of parameters."""
    text = b"".join(
        struct.pack("<HH", name, len(value) + -len(value) % 4) + value + bytes(-len(value) % 4)
        for name, value in items
    )
    return text + struct.pack("<HH", _SENTINEL, 0)


def string(text: str) -> bytes:
    """A parameter that is a string."""
    return struct.pack("<I", len(text) + 1) + text.encode() + b"\0"


def locator(address: tuple[str, int]) -> bytes:
    """A parameter that is an address of IPv4."""
    host, port = address
    return struct.pack("<iI", 1, port) + bytes(12) + bytes(map(int, host.split(".")))


def addresses(value: bytes) -> tuple[tuple[str, int], ...]:
    """The addresses of those locators that are of UDP over IPv4."""
    parts = [value[k : k + _LOCATOR] for k in range(0, len(value) - _LOCATOR + 1, _LOCATOR)]
    return tuple(
        (".".join(map(str, part[20:])), struct.unpack_from("<I", part, 4)[0])
        for part in parts
        if struct.unpack_from("<i", part)[0] == 1
    )


def sequence_number(number: int) -> bytes:
    """Eight bytes of a sequence number."""
    return struct.pack("<iI", number >> 32, number & 0xFFFFFFFF)


def _submessage(kind, flags, body):
    return struct.pack("<BBH", kind, flags | _LITTLE, len(body)) + body


def to(prefix: bytes) -> bytes:
    """Says for which participant the following submessages are."""
    return _submessage(INFO_DESTINATION, 0, prefix)


def data(
    reader: bytes, writer: bytes, number: int, payload: bytes, qos: Sequence[tuple[int, bytes]] = ()
) -> bytes:
    """A sample.

    Args:
        reader, writer: Entities.
        number: Its sequence number.
        payload: With its encapsulation; without one, `qos` says what has ended.
        qos: Inline parameters.
    """
    flags = (_DATA if payload else 0) | (_QOS if qos else 0)
    inline = listed(qos) if qos else b""
    return _submessage(
        DATA,
        flags,
        struct.pack("<HH", 0, _TO_QOS)
        + reader
        + writer
        + sequence_number(number)
        + inline
        + payload,
    )


def data_frags(
    reader: bytes,
    writer: bytes,
    number: int,
    payload: bytes,
    qos: Sequence[tuple[int, bytes]],
    length: int,
) -> list[bytes]:
    """The same as data() in parts of some length [bytes], each of which is a submessage."""
    inline = listed(qos) if qos else b""
    return [
        _submessage(
            DATA_FRAG,
            _QOS if qos else 0,
            struct.pack("<HH", 0, _FRAG_TO_QOS)
            + reader
            + writer
            + sequence_number(number)
            + struct.pack("<IHHI", at // length + 1, 1, length, len(payload))
            + inline
            + payload[at : at + length],
        )
        for at in range(0, len(payload), length)
    ]


def heartbeat(reader: bytes, writer: bytes, last: int, count: int, final: bool) -> bytes:
    """Says that the samples 1 to `last` are there; final: who has them all need not answer."""
    return _submessage(
        HEARTBEAT,
        _FINAL if final else 0,
        reader + writer + sequence_number(1) + sequence_number(last) + struct.pack("<I", count),
    )


def acknack(reader: bytes, writer: bytes, base: int, missing: Sequence[int], count: int) -> bytes:
    """Says that all samples below `base` are known, and which are missing from there on."""
    bits = [0] * ((missing[-1] - base) // 32 + 1 if missing else 0)
    for number in missing:
        bits[(number - base) // 32] |= 1 << (31 - (number - base) % 32)
    size = missing[-1] - base + 1 if missing else 0
    return _submessage(
        ACKNACK,
        0 if missing else _FINAL,
        reader
        + writer
        + sequence_number(base)
        + struct.pack(f"<I{len(bits)}II", size, *bits, count),
    )
