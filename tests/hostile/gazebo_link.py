"""What a broken plugin answers on the sockets between the simulation and gzserver."""

import socket
import struct

from xtdrone_sim.engines.gazebo.channel import Channel

from .common import Kind, Nonsense, mutated_bytes

ANSWER_S = 0.01
_SIZES = (None, 0, 8, 104, 1000)


class KIND(Kind):
    """One end of a socket that answers what it likes."""

    share = 100

    def make(self, rng, index):
        """The size of the answer that is wanted, whether it is a text, and the bytes that come."""
        size = rng.choice(_SIZES)
        body = rng.randbytes(size if size is not None else rng.choice((0, 8, 3000)))
        length = rng.choice((len(body), len(body), len(body), 2**32 - 1, 2**31, 1 << 28, 0, 7))
        data = struct.pack("<I", length) + body
        return size, rng.random() < 0.3, data if rng.random() < 0.5 else mutated_bytes(rng, data)

    def try_one(self, value):
        """Asks, with the answer there already."""
        size, text, data = value
        near, far = socket.socketpair()
        with far:
            far.sendall(data)
            if len(data) % 16:  # now and then the answer stays open instead
                far.shutdown(socket.SHUT_WR)
            channel = Channel(near, lambda: "it says nothing")
            try:
                if text:
                    assert isinstance(channel.text(1, b"", ANSWER_S), str)
                    return
                answer = channel.request(1, b"", ANSWER_S, size)
                if size is not None and len(answer) != size:
                    raise Nonsense(f"an answer of {len(answer)} bytes, not {size}")
            finally:
                channel.close()
