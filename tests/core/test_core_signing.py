"""MAVLink 2 message signing, against pymavlink's."""

import hashlib
import os

import pytest
from pymavlink.dialects.v20 import common as mavlink

from xtdrone_core import ScenarioError
from xtdrone_core.mavlink.framing import frames
from xtdrone_core.mavlink.key_file import read_key
from xtdrone_core.mavlink.signing import AHEAD, MAX_STREAMS, NEW_STREAM, Signer, now

KEY = hashlib.sha256(b"secret").digest()
PING = mavlink.MAVLink_ping_message(1, 2, 0, 0)


def packer(key=KEY, system=255, component=190, link_id=1, timestamp=None):
    """pymavlink's end of a link."""
    made = mavlink.MAVLink(None, system, component)
    made.signing.secret_key, made.signing.sign_outgoing = key, key is not None
    made.signing.link_id = link_id
    made.signing.timestamp = now() if timestamp is None else timestamp
    return made


def refusal(signer, data):
    """What a signer says to the one frame of a datagram."""
    (frame,) = frames(data)
    return signer.refusal(data, frame)


@pytest.fixture
def signer():
    return Signer(KEY, 0, own_fleet=3)


def test_what_is_signed_is_taken_by_pymavlink_and_nothing_else_of_the_frame_changes(signer):
    plain = PING.pack(packer(None)) + mavlink.MAVLink_heartbeat_message(2, 12, 0, 0, 3, 3).pack(
        packer(None)
    )
    receiver = packer()
    datagrams = signer.datagrams(plain, 280)
    assert len(datagrams) == 1
    received = receiver.parse_buffer(datagrams[0])
    assert [m.get_type() for m in received] == ["PING", "HEARTBEAT"]
    assert received[0].to_dict() == PING.to_dict()
    assert receiver.signing.goodsig_count == 2
    assert [len(d) for d in signer.datagrams(plain, 60)] == [len(plain) // 2 + 13] * 2
    others = packer(hashlib.sha256(b"other").digest())
    others.robust_parsing = True
    assert [m.get_type() for m in others.parse_buffer(signer.datagrams(plain, 280)[0])] == [
        "BAD_DATA",
        "BAD_DATA",
    ]


def test_what_pymavlink_signs_is_taken_once(signer):
    sender = packer()
    data = PING.pack(sender)
    assert refusal(signer, data) == ""
    assert "repetition" in refusal(signer, data)
    assert refusal(signer, PING.pack(sender)) == ""
    assert "repetition" in refusal(signer, data)


@pytest.mark.parametrize(
    "sender, why",
    [
        ({"key": None}, "not signed"),
        ({"key": bytes(32)}, "another key"),
        ({"timestamp": 0}, "a minute late"),
        ({"timestamp": 2**48 - 1}, "a day ahead"),
        ({"system": 3, "component": 1}, "a vehicle's own"),
    ],
)
def test_what_is_refused_and_why(signer, sender, why):
    assert why in refusal(signer, PING.pack(packer(**sender)))
    assert "not signed" in refusal(signer, PING.pack(packer(None), force_mavlink1=True))
    assert refusal(signer, PING.pack(packer())) == ""


def test_clocks_that_differ_a_little_are_taken(signer):
    for link_id, offset in enumerate((-NEW_STREAM + 1_000_000, 1_000_000)):
        assert refusal(signer, PING.pack(packer(link_id=link_id, timestamp=now() + offset))) == ""
    assert AHEAD > NEW_STREAM


def test_each_changed_bit_is_refused(signer):
    data = PING.pack(packer())
    for k in range(len(data) * 8):
        changed = bytearray(data)
        changed[k // 8] ^= 1 << k % 8
        assert all(signer.refusal(bytes(changed), frame) for frame in frames(bytes(changed)))


def test_radios_need_not_sign(signer):
    radio = mavlink.MAVLink_radio_status_message(1, 2, 3, 4, 5, 6, 7)
    assert refusal(signer, radio.pack(packer(None))) == ""


def test_streams_are_bounded():
    streams = {}
    signer = Signer(KEY, 0, own_fleet=3, streams=streams)
    for k in range(2 * MAX_STREAMS):
        assert refusal(signer, PING.pack(packer(link_id=k % 256, system=100 + k // 256))) == ""
    assert len(streams) == MAX_STREAMS


def test_the_clock_never_goes_back(signer, monkeypatch):
    (first,) = signer.datagrams(PING.pack(packer(None)), 280)
    monkeypatch.setattr("time.time", lambda: 0.0)
    (second,) = signer.datagrams(PING.pack(packer(None)), 280)
    assert int.from_bytes(second[-12:-6], "little") > int.from_bytes(first[-12:-6], "little")


def test_a_key_is_the_hash_of_the_passphrase_in_a_file_of_ones_own(tmp_path):
    path = tmp_path / "key"
    path.write_text("secret\n")
    path.chmod(0o600)
    assert read_key(path) == KEY
    for mode in (0o640, 0o604, 0o400, 0o700):
        path.chmod(mode)
        with pytest.raises(ScenarioError, match=f"has mode {mode:o} .*chmod 600"):
            read_key(path)


@pytest.mark.parametrize("content", [b"", b"\nsecret"])
def test_a_file_without_a_passphrase_is_refused(tmp_path, content):
    path = tmp_path / "key"
    path.write_bytes(content)
    path.chmod(0o600)
    with pytest.raises(ScenarioError, match="holds no passphrase"):
        read_key(path)


@pytest.mark.parametrize("name", ["fifo", "", "none", "a\0b", "a" * 300, "long"])
def test_what_is_no_key_is_refused(tmp_path, name):
    os.mkfifo(tmp_path / "fifo", 0o600)
    (tmp_path / "long").write_bytes(b"a" * 5000)
    with pytest.raises(ScenarioError, match="cannot read key"):
        read_key(f"{tmp_path}/{name}")
