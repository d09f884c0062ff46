"""MAVLink 2 link to a whole fleet: UDP sockets, frames, and inboxes for awaited answers.

Vehicle i has system id i + 1. One thread calls receive(); any thread may send,
and wait in an inbox for a vehicle's answer.
"""

import contextlib
import queue
import socket
import threading
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple, TypeAlias

from xtdrone_core.mavlink.dialect import mavlink
from xtdrone_core.mavlink.framing import frames
from xtdrone_core.runs.ports import Ports, advice, open_udp

from .errors import MavrosError

SYSTEM_ID = 240  # system id of this end
COMPONENT_ID = mavlink.MAV_COMP_ID_ONBOARD_COMPUTER
_BUFFER = 8 << 20  # receive buffer, for all that comes within one tick [bytes]


Inbox: TypeAlias = "queue.SimpleQueue[mavlink.MAVLink_message]"
Numbers: TypeAlias = tuple[Any, ...]  # types and length depend on the message
_Unpack: TypeAlias = Callable[[bytes], Numbers]


class Received(NamedTuple):
    """A message of a vehicle."""

    vehicle: int
    message_id: int
    payload: bytes
    frame: bytes


def _layout(message_id: int) -> tuple[_Unpack, int]:
    message = mavlink.mavlink_map[message_id]
    return message.unpacker.unpack, message.unpacker.size


def unpack(message_id: int, payload: bytes) -> Numbers:
    """Returns the numbers and texts of a payload in the order of the wire, arrays flattened."""
    reader, size = _LAYOUTS.get(message_id) or _LAYOUTS.setdefault(message_id, _layout(message_id))
    return reader(payload[:size].ljust(size, b"\0"))


_LAYOUTS: dict[int, tuple[_Unpack, int]] = {}


class FleetLink:
    """UDP sockets to n vehicles.

    Attributes:
        n: Number of vehicles.
        sent_bytes: Bytes sent to each vehicle so far.
    """

    def __init__(self, n: int, kind: str = "bridge", ports: Ports | None = None):
        """Opens the sockets.

        Args:
            n: Number of vehicles.
            kind: "bridge" for the embedded flight stack's own link; "ros2" for the same link from
                any port, beside a bridge; "offboard" for PX4's offboard API (14540 and up), if
                there is no other.
            ports: The simulation's; None = those of the environment's instance.

        Raises:
            MavrosError: A port is in use.
        """
        ports = ports or Ports()
        if kind in ("bridge", "ros2"):
            local = [ports.bridge if kind == "bridge" else 0] * n
            remote = ports.bridge_local
        else:
            local, remote = [ports.offboard(i) for i in range(n)], ports.offboard_local
        self._addresses = [("127.0.0.1", remote(i)) for i in range(n)]
        self._local = local
        self.sent_bytes = [0] * n
        self._sockets: list[socket.socket] = []
        by_port = {port: self._open(port, kind) for port in sorted(set(local))}
        self._socket_of = [by_port[port] for port in local]
        self.n = n
        self._lock = threading.Lock()
        self._encoder = mavlink.MAVLink(None, SYSTEM_ID, COMPONENT_ID)
        self._inboxes: dict[tuple[int, int], tuple[Inbox, ...]] = {}  # by vehicle, message id
        self._decoder = mavlink.MAVLink(None)

    def _open(self, port: int, kind: str) -> socket.socket:
        def taken() -> MavrosError:
            self.close()
            return MavrosError(
                f"port {port} (UDP, {kind} link) is in use: another bridge or "
                f"MAVROS is running; {advice()}"
            )

        sock = open_udp(port, taken)
        try:
            sock.setsockopt(socket.SOL_SOCKET, 33, _BUFFER)  # SO_RCVBUFFORCE, for root
        except OSError:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, _BUFFER)
        self._sockets.append(sock)
        return sock

    def filenos(self) -> list[int]:
        """Returns the descriptors of its sockets, for select()."""
        return [sock.fileno() for sock in self._sockets]

    def datagrams(self) -> list[bytes]:
        """Returns everything that has come in."""
        datagrams = []
        for sock in self._sockets:
            while True:
                try:
                    datagrams.append(sock.recv(65536))
                except BlockingIOError:
                    break
                except OSError:  # an earlier datagram found nobody there
                    continue
        return datagrams

    def receive(self, datagrams: Iterable[bytes]) -> Iterator[Received]:
        """Yields the messages in datagrams; awaited answers also go to their inboxes."""
        for data in datagrams:
            for part in frames(data):
                system, message_id = part.system, part.message_id
                frame = data[part.start : part.end]
                if not 1 <= system <= self.n:
                    continue
                boxes = self._inboxes.get((system - 1, message_id))
                if boxes:
                    message = self.decode(frame)
                    for box in boxes:
                        box.put(message)
                yield Received(system - 1, message_id, part.payload, frame)

    def url(self, i: int) -> str:
        """Returns the link to vehicle i as an fcu_url of MAVROS."""
        host, port = self._addresses[i]
        return f"udp://:{self._local[i]}@{host}:{port}"

    def decode(self, frame: bytes) -> mavlink.MAVLink_message:
        """Returns a frame as a pymavlink message."""
        return self._decoder.decode(bytearray(frame))

    def send(self, i: int, message: mavlink.MAVLink_message, component: int = COMPONENT_ID) -> None:
        """Sends a pymavlink message to vehicle i, as from a component of this end."""
        with self._lock:
            self._encoder.srcComponent = component
            data = message.pack(self._encoder)
            self._encoder.seq = (self._encoder.seq + 1) % 256
            self.sent_bytes[i] += len(data)
        with contextlib.suppress(OSError):  # the vehicle is not there (yet)
            self._socket_of[i].sendto(data, self._addresses[i])

    @contextlib.contextmanager
    def inbox(self, i: int, *message_ids: int) -> Iterator[Inbox]:
        """Collects vehicle i's messages of some kinds in a queue while the context lasts."""
        box: Inbox = queue.SimpleQueue()
        keys = [(i, message_id) for message_id in message_ids]
        with self._lock:
            for key in keys:
                self._inboxes[key] = (*self._inboxes.get(key, ()), box)
        try:
            yield box
        finally:
            with self._lock:
                for key in keys:
                    left = tuple(b for b in self._inboxes[key] if b is not box)
                    if left:
                        self._inboxes[key] = left
                    else:
                        del self._inboxes[key]

    def close(self) -> None:
        """Closes the sockets. May be called twice."""
        for sock in self._sockets:
            sock.close()
        self._sockets = []
