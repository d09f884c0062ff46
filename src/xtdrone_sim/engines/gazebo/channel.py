"""One socket to the plugin in gzserver: we ask, it answers; see plugin/channel.hh."""

import struct
from collections.abc import Callable
from typing import Any

from ...errors import EngineError

ANSWER_S = 30.0  # wall time that gzserver may take to answer [s]
_HEADER = struct.Struct("<II")
_LENGTH = struct.Struct("<I")


class Channel:
    """Requests to the plugin, one at a time."""

    def __init__(self, sock: Any, complaint: Callable[[], str]):
        """Takes a connected socket over.

        Args:
            sock: The socket.
            complaint: Called without arguments for what gzserver said last.
        """
        self._socket, self._complaint = sock, complaint
        sock.settimeout(ANSWER_S)

    def request(self, operation: int, body: bytes = b"",
                seconds: float = ANSWER_S) -> bytearray:
        """Asks, and gives the body of the answer.

        Args:
            operation: Its number.
            body: What belongs to it.
            seconds: Wall time that the answer may take.

        Raises:
            EngineError: gzserver is gone, or does not answer.
        """
        try:
            if seconds != ANSWER_S:
                self._socket.settimeout(seconds)
            self._socket.sendall(_HEADER.pack(operation, len(body)) + body)
            return self._receive(_LENGTH.unpack(self._receive(_LENGTH.size))[0])
        except TimeoutError as error:
            raise EngineError(f"gzserver has not answered for {seconds:g} s: "
                              f"{self._complaint()}") from error
        except OSError as error:
            raise EngineError(f"gzserver has ended: {self._complaint()}") from error
        finally:
            if seconds != ANSWER_S:
                self._socket.settimeout(ANSWER_S)

    def ask(self, operation: int, text: str, seconds: float = ANSWER_S) -> None:
        """A request whose answer is empty, or says what is wrong.

        Raises:
            EngineError: Gazebo refuses, is gone or does not answer.
        """
        complaint = self.request(operation, text.encode(), seconds).decode()
        if complaint:
            raise EngineError(f"Gazebo refuses: {complaint}")

    def close(self) -> None:
        """May be called twice."""
        self._socket.close()

    def _receive(self, size) -> bytearray:
        """Exactly so many bytes."""
        data = bytearray(size)
        rest = memoryview(data)
        while rest:
            got = self._socket.recv_into(rest)
            if not got:
                raise ConnectionError
            rest = rest[got:]
        return data
