"""MAVLink frames found in datagrams and in streams."""

import pytest
from fastcrc.crc16 import mcrf4xx
from hypothesis import given, strategies as st
from pymavlink.dialects.v20 import common as mavlink

from xtdrone_core.mavlink.framing import FrameStream, frames, payload_sizes


def packed(message, system=1, version_1=False):
    return bytes(message.pack(mavlink.MAVLink(None, system, 1), force_mavlink1=version_1))


HEARTBEAT = packed(mavlink.MAVLink_heartbeat_message(2, 12, 81, 393216, 4, 3), 2)
OLD = packed(mavlink.MAVLink_heartbeat_message(2, 12, 81, 393216, 4, 3), 4, True)
POSITION = packed(mavlink.MAVLink_local_position_ned_message(5, 1.0, 2.0, 3.0, 0, 0, 0), 3)


def test_several_frames_of_one_datagram():
    data = HEARTBEAT + POSITION + OLD
    found = list(frames(data))
    assert [(f.system, f.component, f.message_id) for f in found] == [
        (2, 1, 0),
        (3, 1, 32),
        (4, 1, 0),
    ]
    assert data[found[0].start : found[0].end] == HEARTBEAT
    assert len(found[1].payload) == POSITION[1]


@pytest.mark.parametrize("at", range(len(POSITION)))
def test_any_broken_byte_costs_its_own_frame_only(at):
    broken = bytearray(POSITION)
    broken[at] ^= 0x55
    found = [frame.message_id for frame in frames(bytes(broken) + HEARTBEAT * 3)]
    assert 32 not in found
    assert found.count(0) >= 2  # a wrong length may swallow the frame that follows


@pytest.mark.parametrize("junk", [b"", b"\xfd", b"\xfd" * 11, b"\xfd" * 300, bytes(range(256))])
def test_junk_is_skipped(junk):
    assert list(frames(junk)) == []
    assert 0 in [frame.message_id for frame in frames(junk + HEARTBEAT * 20)]


def test_cut_frames():
    for length in range(len(POSITION)):
        assert list(frames(POSITION[:length])) == []


@given(
    st.lists(st.sampled_from([HEARTBEAT, POSITION, OLD, b"\x00\x01", b"\xfd\x05"])),
    st.lists(st.integers(1, 40), min_size=1),
)
def test_a_stream_gives_the_frames_of_the_whole_however_it_is_cut(pieces, cuts):
    data, stream, found, at, k = b"".join(pieces), FrameStream(), [], 0, 0
    whole = [(frame.system, frame.payload) for frame in frames(data + b"\x00" * 600)]
    data += b"\x00" * 600  # so that a broken length ends
    while at < len(data):
        size = cuts[k % len(cuts)]
        found += [(frame.system, frame.payload) for frame in stream.feed(data[at : at + size])]
        at, k = at + size, k + 1
    assert found == whole


@pytest.mark.parametrize(
    "name, sizes",
    [
        ("HEARTBEAT", (9, 9)),
        ("MISSION_COUNT", (4, 9)),
        ("SYS_STATUS", (31, 43)),
        ("BATTERY_STATUS", (36, 54)),
    ],
)
def test_a_message_is_as_long_as_the_specification_says(name, sizes):
    kind = mavlink.mavlink_map[getattr(mavlink, f"MAVLINK_MSG_ID_{name}")]
    assert payload_sizes(kind) == sizes


@pytest.mark.parametrize(
    "junk",
    [b"\xfe" * 4096, b"\xfd" * 4096, b"\xfe\x00" * 2048, b"\xfe" + bytes(4095), b"\xfe\xff" * 2048],
    ids=["fe", "fd", "fe00", "fe zeros", "feff"],
)
def test_junk_full_of_first_bytes_costs_next_to_nothing(junk, monkeypatch):
    """Hardly any of them begins the header of a message, so hardly a checksum is computed."""
    checked = []

    def count(data):
        checked.append(data)
        return mcrf4xx(data)

    monkeypatch.setattr("xtdrone_core.mavlink.framing.mcrf4xx", count)
    assert [frame.message_id for frame in frames(junk + HEARTBEAT)] == [0]
    assert len(checked) < 10


def test_a_message_of_version_1_is_taken_with_and_without_its_extensions():
    message = mavlink.MAVLink_mission_count_message(1, 1, 5, 0)
    whole = packed(message, version_1=True)
    assert whole[1] == 5
    short = bytes([0xFE, 4, *whole[2:10]])
    crc = mcrf4xx(short[1:] + bytes([message.crc_extra]))
    found = list(frames(b"\xfe" + whole + b"\xfe" + short + crc.to_bytes(2, "little")))
    assert [frame.payload for frame in found] == [whole[6:11], whole[6:10]]
