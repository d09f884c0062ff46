"""Publishers and subscribers of serialised messages, which are faster than rospy's own."""

import contextlib
import functools
import itertools
import select
import socket
import threading
import traceback
import warnings
from collections.abc import Callable
from typing import ClassVar, Protocol, TypeAlias

import rospy
from rospy.impl.tcpros_base import TCPROSTransport

from xtdrone_mavros import ros_serialisation as serialisation

from .connection import Connection
from .messages import bytes_class, has_header, lazy_class, ros_class

Handle: TypeAlias = Callable[[bytes], object]


class Tap(Protocol):
    """Records what Outputs publish."""

    def tap(self, topic: str, kind: str) -> Callable[[bytes], None] | None:
        """Returns a function that records a message of this topic; None if it is not recorded."""


class Output:
    """A publisher of serialised messages.

    The headers of its messages are numbered from 0, as by roscpp.

    Attributes:
        recorder: Records the Outputs that are created from now on, or None.
    """

    recorder: ClassVar[Tap | None] = None

    def __init__(self, topic: str, kind: str, latched: bool = False):
        self._class = bytes_class(kind)
        self._number = itertools.count() if has_header(ros_class(kind)) else None
        self._latched = latched
        self._lock = threading.Lock()
        with warnings.catch_warnings():  # rospy wants a queue; here it is in Connection
            warnings.simplefilter("ignore")
            self._publisher = rospy.Publisher(topic, self._class, latch=latched)
        self._impl = self._publisher.impl
        add = self._impl.add_connection

        def add_connection(connection: TCPROSTransport) -> bool:
            connection.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            return add(Connection(connection))

        self._impl.add_connection = add_connection
        self._record = None if self.recorder is None else self.recorder.tap(topic, kind)

    def wanted(self) -> bool:
        """Returns whether there are subscribers."""
        return self._record is not None or self._impl.has_connections()

    def publish(self, data: bytes) -> None:
        """Sends one message."""
        if self._number is not None:
            data = next(self._number).to_bytes(4, "little") + data[4:]
        if self._record is not None:
            self._record(data)
        if self._latched:
            self._publisher.publish(self._class(data))
        elif self._impl.connections:
            self._send(serialisation.prefixed(data))

    def _send(self, message: bytes) -> None:
        """Does what rospy's publish() does, except for what only message objects need."""
        with self._lock:
            for connection in self._impl.connections:
                try:
                    connection.write_data(message)
                except (rospy.exceptions.TransportException, OSError):
                    connection.close()  # the subscriber has gone


class Input:
    """A subscriber to serialised messages, with those of all Inputs read by one thread.

    rospy reads each connection in a thread of its own; those of a fleet wake up for every single
    message, and wait for each other. A topic with an Input takes no rospy.Subscriber in the same
    process.
    """

    _handles: ClassVar[dict[str, list[Handle]]] = {}  # by topic

    def __init__(self, topic: str, kind: str, handle: Handle):
        """Subscribes.

        Args:
            topic: Name of the topic.
            kind: Type of the topic, for example std_msgs/String.
            handle: Called with each message in the thread that all Inputs share; must not block.
        """
        name = rospy.resolve_name(topic)
        handles = self._handles.get(name)
        if handles is not None:  # rospy has one connection for each topic
            handles.append(handle)
            return
        handles = self._handles[name] = [handle]
        reader = _reader()
        subscriber = rospy.Subscriber(topic, lazy_class(kind), tcp_nodelay=True)
        impl = subscriber.impl
        add = impl.add_connection

        def add_connection(connection: TCPROSTransport) -> bool:
            connection.receive_loop = lambda _: reader.take_over(connection, handles)
            return add(connection)

        impl.add_connection = add_connection


class _Reader(threading.Thread):
    """Reads the connections of all Inputs."""

    def __init__(self) -> None:
        super().__init__(daemon=True, name="inputs")
        self._poll = select.epoll()
        # By descriptor: connection, handles, and the bytes of an unfinished message.
        self._open: dict[int, tuple[TCPROSTransport, list[Handle], bytearray]] = {}
        self.start()

    def take_over(self, connection: TCPROSTransport, handles: list[Handle]) -> None:
        """Takes over a connection whose header has been exchanged."""
        number = connection.socket.fileno()
        self._open[number] = connection, handles, bytearray(connection.read_buff.getvalue())
        self._take(number, b"")
        self._poll.register(number, select.EPOLLIN)

    def run(self) -> None:
        """Reads until ROS shuts down."""
        while not rospy.is_shutdown():
            for number, _ in self._poll.poll(1.0):
                self._receive(number)

    def _receive(self, number: int) -> None:
        connection = self._open[number][0]
        try:
            data = connection.socket.recv(1 << 18, socket.MSG_DONTWAIT)
        except BlockingIOError:
            return
        except (AttributeError, OSError):  # rospy has closed it
            data = b""
        if data:
            self._take(number, data)
            return
        del self._open[number]
        with contextlib.suppress(OSError, ValueError):
            self._poll.unregister(number)
        connection.close()

    def _take(self, number: int, data: bytes) -> None:
        _, handles, buffer = self._open[number]
        buffer += data
        begin = 0
        while len(buffer) - begin >= 4:
            end = begin + 4 + int.from_bytes(buffer[begin : begin + 4], "little")
            if end > len(buffer):
                break
            message = bytes(buffer[begin + 4 : end])
            begin = end
            for handle in handles:
                try:
                    handle(message)
                except Exception:
                    rospy.logerr("an input fails: %s", traceback.format_exc())
        del buffer[:begin]


@functools.cache
def _reader() -> _Reader:
    return _Reader()
