"""Samples in parts, as RTPS sends those that are too long for a datagram."""

import pytest

from xtdrone_ros2.rtps import messages as rtps
from xtdrone_ros2.rtps.reliable import Incoming, Outgoing

READER, WRITER = b"\0\0\1\4", b"\0\0\1\3"
OWN, OTHER = b"own" + bytes(9), b"other" + bytes(7)
LONG = rtps.CDR + bytes(range(256)) * 300  # 76,804 bytes, no multiple of a part


def received(submessages):
    """What a participant makes of them, each in a datagram of its own."""
    return [
        message
        for one in submessages
        for message in rtps.parsed(rtps.HEADER + OTHER + rtps.to(OWN) + one, OWN)
    ]


@pytest.mark.parametrize("order", [slice(None), slice(None, None, -1)])
def test_parts_are_put_together_in_any_order_and_once(order):
    qos = ((rtps.RELATED[0], bytes(range(24))),)
    parts = received(Outgoing(READER, WRITER).add(LONG, qos))
    assert len(parts) == 10 and {part.kind for part in parts} == {rtps.DATA_FRAG}
    assert all(part.qos == dict(qos) and part.size == len(LONG) for part in parts)
    stream = Incoming()
    *early, last = [stream.joined(part) for part in parts[order]]
    assert early == [None] * 9 and last == LONG
    assert stream.new(1) and not stream.new(1)
    assert [stream.joined(part) for part in parts] == [None] * 10  # it is there already


def test_a_sample_is_sent_again_for_parts_that_are_missing():
    stream = Outgoing(READER, WRITER)
    sent = stream.add(LONG)
    nack = rtps.Submessage(rtps.NACK_FRAG, OTHER, READER, WRITER, 0, numbers=(1,), final=True)
    assert list(stream.answer(nack)) == sent and stream.waits


def test_parts_that_claim_too_much_are_left_alone():
    part = received(Outgoing(READER, WRITER).add(LONG))[0]
    for at, size in ((0, 1 << 31), (len(LONG), len(LONG)), (-8192, len(LONG))):
        claimed = rtps.Submessage(
            rtps.DATA_FRAG, OTHER, READER, WRITER, 1, payload=part.payload, at=at, size=size
        )
        assert Incoming().joined(claimed) is None
