"""Client side of one request-reply socket to the plugin in gzserver; see plugin/channel.hh."""

import socket
import struct
from collections.abc import Callable

from ...errors import EngineError

ANSWER_S = 30.0  # wall-clock time-out of a reply from gzserver [s]
MAX_REPLY = 1 << 28  # size of a reply, such as an image [bytes]
_HEADER = struct.Struct("<II")
_LENGTH = struct.Struct("<I")


class Channel:
    """Sends requests to the plugin, one at a time.

    Attributes:
        socket: The connected socket.
    """

    def __init__(self, sock: socket.socket, complaint: Callable[[], str]):
        """Takes ownership of a connected socket.

        Args:
            sock: The socket.
            complaint: Called without arguments; returns gzserver's last error text.
        """
        self.socket, self._complaint = sock, complaint
        sock.settimeout(ANSWER_S)

    def request(
        self, operation: int, body: bytes = b"", seconds: float = ANSWER_S, size: int | None = None
    ) -> bytearray:
        """Sends a request and returns the body of the reply.

        Args:
            operation: Number of the operation.
            body: Its payload.
            seconds: Wall-clock time-out of the reply [s].
            size: What the reply has to have [bytes]; None = up to MAX_REPLY.

        Raises:
            EngineError: gzserver has ended, does not reply, or replies something else.
        """
        try:
            if seconds != ANSWER_S:
                self.socket.settimeout(seconds)
            self.socket.sendall(_HEADER.pack(operation, len(body)) + body)
            length = _LENGTH.unpack(self._receive(_LENGTH.size))[0]
            if length > MAX_REPLY or size not in (None, length):
                wanted = f"up to {MAX_REPLY}" if size is None else size
                raise EngineError(
                    f"gzserver answers request {operation} with {length} bytes "
                    f"instead of {wanted}: {self._complaint()}"
                )
            return self._receive(length)
        except TimeoutError as error:
            raise EngineError(
                f"gzserver has not answered for {seconds:g} s: {self._complaint()}"
            ) from error
        except OSError as error:
            raise EngineError(f"gzserver has ended: {self._complaint()}") from error
        finally:
            if seconds != ANSWER_S:
                self.socket.settimeout(ANSWER_S)

    def text(self, operation: int, body: bytes = b"", seconds: float = ANSWER_S) -> str:
        """Sends a request whose reply is a text; see request()."""
        return self.request(operation, body, seconds).decode(errors="replace")

    def ask(
        self, operation: int, text: str, seconds: float = ANSWER_S, numbers: bytes = b""
    ) -> None:
        """Sends a request whose reply is empty on success and an error text otherwise.

        Args:
            operation: Number of the operation.
            text: End of its payload.
            seconds: Wall-clock time-out of the reply [s].
            numbers: Beginning of its payload.

        Raises:
            EngineError: Gazebo reports an error, has ended or does not reply.
        """
        complaint = self.text(operation, numbers + text.encode(), seconds)
        if complaint:
            raise EngineError(f"Gazebo refuses: {complaint}")

    def close(self) -> None:
        """Closes the socket. May be called twice."""
        self.socket.close()

    def _receive(self, size: int) -> bytearray:
        """Receives exactly this many bytes."""
        data = bytearray(size)
        rest = memoryview(data)
        while rest:
            got = self.socket.recv_into(rest)
            if not got:
                raise ConnectionError
            rest = rest[got:]
        return data
