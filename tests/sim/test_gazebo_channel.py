"""The simulation's end of the sockets to gzserver, against a plugin that answers nonsense."""

import socket
import struct
import threading

import pytest

from xtdrone_sim.engines.gazebo.channel import Channel
from xtdrone_sim.errors import EngineError


@pytest.fixture
def pair():
    near, far = socket.socketpair()
    channel = Channel(near, lambda: "it says nothing")
    yield channel, far
    channel.close()
    far.close()


@pytest.mark.parametrize(
    "size, length, body, said",
    [
        (16, 8, bytes(8), "answers request 3 with 8 bytes instead of 16: it says nothing"),
        (None, 2**32 - 1, b"", "with 4294967295 bytes instead of up to"),
        (8, 8, bytes(4), "has not answered for 0.05 s"),
        (None, None, b"\1", "has not answered for 0.05 s"),
    ],
)
def test_nonsense_ends_in_one_line(pair, size, length, body, said):
    channel, far = pair
    far.sendall((b"" if length is None else struct.pack("<I", length)) + body)
    with pytest.raises(EngineError, match=said) as error:
        channel.request(3, b"", 0.05, size)
    assert "\n" not in str(error.value)


def test_a_server_that_is_gone_is_named(pair):
    channel, far = pair
    far.close()
    with pytest.raises(EngineError, match="gzserver has ended: it says nothing"):
        channel.request(3)


def test_bytes_that_are_no_text_do_not_matter(pair):
    channel, far = pair
    far.sendall(struct.pack("<I", 3) + b"a\xff\xfe")
    assert channel.text(3).startswith("a")


def test_an_answer_in_pieces_arrives_whole(pair):
    channel, far = pair
    pieces = [struct.pack("<I", 6)[:2], struct.pack("<I", 6)[2:] + b"ab", b"cdef"]
    sender = threading.Thread(target=lambda: [far.sendall(piece) for piece in pieces])
    sender.start()
    assert channel.request(3, size=6) == b"abcdef"
    sender.join()
