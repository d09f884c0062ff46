"""Messages of RTPS 2.3, the wire protocol of DDS, as far as services need them.

OMG, "The Real-time Publish-Subscribe Protocol DDS Interoperability Wire Protocol", version 2.3,
sections 9.4 (messages) and 9.6 (parameters).
"""

import struct
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

HEADER = b"RTPS\x02\x03\x00\x00"  # version 2.3, no vendor
PREFIX = 12  # length of a GUID's prefix, which is its participant's [bytes]
UNKNOWN = bytes(4)  # ENTITYID_UNKNOWN: all entities
_LITTLE, _QOS, _DATA, _FINAL, _INVALID = 1, 2, 4, 2, 2  # flags of submessages
ACKNACK, HEARTBEAT, GAP, INFO_DESTINATION, DATA = 0x06, 0x07, 0x08, 0x0E, 0x15
NACK_FRAG, DATA_FRAG = 0x12, 0x16
_LOCATOR = 24  # length of a locator [bytes]
_BITS = 256  # maximum size of a set of sequence numbers
# octetsToInlineQos of a DATA and a DATA_FRAG [bytes].
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
# Identity of the request that a response answers: the standard's parameter, and Fast DDS's.
RELATED = 0x83, 0x800F
_SENTINEL = 1


@dataclass(frozen=True)
class Submessage:
    """One submessage that was received.

    Attributes:
        kind: Id of the submessage.
        source: GUID prefix of the sender.
        reader, writer: Entities.
        number: Sequence number of a DATA, first one of a HEARTBEAT or GAP, base of an ACKNACK.
        last: Last sequence number of a HEARTBEAT.
        numbers: Sequence numbers in the set of an ACKNACK or GAP, or that of a NACK_FRAG.
        final: No answer is needed.
        qos: Inline parameters of a DATA.
        payload: Payload of a DATA, encapsulation included, or the part in a DATA_FRAG.
        at, size: Begin of a DATA_FRAG's part, and size of the whole payload [bytes].
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
    """Yields the submessages of a datagram for a participant; none if it is no RTPS.

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


def _numbers(order: str, body: bytes, at: int) -> tuple[int, tuple[int, ...], int]:
    """Returns base and members of a set of sequence numbers, and where it ends."""
    high, low, count = struct.unpack_from(f"{order}iII", body, at)
    base, words = (high << 32) + low, (min(count, _BITS) + 31) // 32
    bits = struct.unpack_from(f"{order}{words}I", body, at + 12)
    return (
        base,
        tuple(base + k for k in range(min(count, _BITS)) if bits[k // 32] >> (31 - k % 32) & 1),
        at + 12 + 4 * words,
    )


def _number(order: str, body: bytes, at: int) -> int:
    high, low = struct.unpack_from(f"{order}iI", body, at)
    return (high << 32) + low


def _data(source: bytes, flags: int, order: str, body: bytes) -> Submessage:
    (to_qos,) = struct.unpack_from(f"{order}H", body, 2)
    at, qos = 4 + to_qos, dict[int, bytes]()
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


def _data_frag(source: bytes, flags: int, order: str, body: bytes) -> Submessage:
    (to_qos,) = struct.unpack_from(f"{order}H", body, 2)
    first, _, length, size = struct.unpack_from(f"{order}IHHI", body, 20)
    at, qos = 4 + to_qos, dict[int, bytes]()
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


def _heartbeat(source: bytes, flags: int, order: str, body: bytes) -> Submessage:
    return Submessage(
        HEARTBEAT,
        source,
        body[:4],
        body[4:8],
        _number(order, body, 8),
        _number(order, body, 16),
        final=bool(flags & _FINAL),
    )


def _acknack(source: bytes, flags: int, order: str, body: bytes) -> Submessage:
    base, numbers, _ = _numbers(order, body, 8)
    return Submessage(
        ACKNACK, source, body[:4], body[4:8], base, numbers=numbers, final=bool(flags & _FINAL)
    )


def _nack_frag(source: bytes, flags: int, order: str, body: bytes) -> Submessage:
    return Submessage(
        NACK_FRAG, source, body[:4], body[4:8], 0, numbers=(_number(order, body, 8),), final=True
    )


def _gap(source: bytes, flags: int, order: str, body: bytes) -> Submessage:
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


def _parameters(order: str, body: bytes, at: int) -> tuple[dict[int, bytes], int]:
    """Returns the parameters of a list, equal ones joined, and where the list ends."""
    parameters: dict[int, bytes] = {}
    while True:
        name, size = struct.unpack_from(f"{order}HH", body, at)
        at += 4
        if name == _SENTINEL:
            return parameters, at
        parameters[name] = parameters.get(name, b"") + body[at : at + size]
        at += size


def parameters(payload: bytes) -> Mapping[int, bytes]:
    """Returns the parameters of a payload that is a parameter list; {} if it is none."""
    order = {b"\x00\x03": "<", b"\x00\x02": ">"}.get(payload[:2])
    if order is None:
        return {}
    try:
        return _parameters(order, payload, 4)[0]
    except struct.error:
        return {}


def listed(items: Sequence[tuple[int, bytes]]) -> bytes:
    """Serialises a parameter list."""
    text = b"".join(
        struct.pack("<HH", name, len(value) + -len(value) % 4) + value + bytes(-len(value) % 4)
        for name, value in items
    )
    return text + struct.pack("<HH", _SENTINEL, 0)


def string(text: str) -> bytes:
    """Serialises a string parameter."""
    return struct.pack("<I", len(text) + 1) + text.encode() + b"\0"


def locator(address: tuple[str, int]) -> bytes:
    """Serialises the locator of an IPv4 address."""
    host, port = address
    return struct.pack("<iI", 1, port) + bytes(12) + bytes(map(int, host.split(".")))


def addresses(value: bytes) -> tuple[tuple[str, int], ...]:
    """Returns the addresses of the locators that are UDP over IPv4."""
    parts = [value[k : k + _LOCATOR] for k in range(0, len(value) - _LOCATOR + 1, _LOCATOR)]
    return tuple(
        (".".join(map(str, part[20:])), struct.unpack_from("<I", part, 4)[0])
        for part in parts
        if struct.unpack_from("<i", part)[0] == 1
    )


def sequence_number(number: int) -> bytes:
    """Serialises a sequence number."""
    return struct.pack("<iI", number >> 32, number & 0xFFFFFFFF)


def _submessage(kind: int, flags: int, body: bytes) -> bytes:
    return struct.pack("<BBH", kind, flags | _LITTLE, len(body)) + body


def to(prefix: bytes) -> bytes:
    """Serialises INFO_DESTINATION: the participant that the following submessages are for."""
    return _submessage(INFO_DESTINATION, 0, prefix)


def data(
    reader: bytes, writer: bytes, number: int, payload: bytes, qos: Sequence[tuple[int, bytes]] = ()
) -> bytes:
    """Serialises a sample.

    Args:
        reader, writer: Entities.
        number: Sequence number of the sample.
        payload: Data with their encapsulation; without one, `qos` says what has ended.
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
    """Serialises a sample as DATA_FRAG submessages with parts of a length [bytes]."""
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
    """Serialises a HEARTBEAT for samples 1 to last; final: a complete reader need not answer."""
    return _submessage(
        HEARTBEAT,
        _FINAL if final else 0,
        reader + writer + sequence_number(1) + sequence_number(last) + struct.pack("<I", count),
    )


def acknack(reader: bytes, writer: bytes, base: int, missing: Sequence[int], count: int) -> bytes:
    """Serialises an ACKNACK: all samples below base are known, and which others are missing."""
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
