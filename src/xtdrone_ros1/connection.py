"""A connection to a subscriber that never blocks."""

import socket
from typing import Any

from rospy.impl.tcpros_base import TCPROSTransport


class Connection:
    """A rospy publisher's connection that drops messages instead of waiting for a slow subscriber.

    rospy's own queue needs a thread for each connection, and without a queue one blocked subscriber
    would block the whole fleet.
    """

    def __init__(self, connection: TCPROSTransport):
        self._connection = connection
        self._rest = b""  # what is left of a partly sent message

    def __getattr__(self, name: str) -> Any:  # rospy uses more of its connections
        return getattr(self._connection, name)

    def write_data(self, data: bytes) -> None:
        """Sends one message, or drops it if the subscriber has not kept up."""
        sock = self._connection.socket
        if sock is None or self._connection.done:
            self._connection.write_data(data)  # raises the exception that rospy expects
            return
        try:
            if self._rest:
                self._rest = self._rest[sock.send(self._rest, socket.MSG_DONTWAIT) :]
            if not self._rest:
                self._rest = data[sock.send(data, socket.MSG_DONTWAIT) :]
        except BlockingIOError:
            pass
