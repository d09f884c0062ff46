"""The bridge's MAVLink 2 link to a whole fleet: UDP sockets, frames, and answers waited for.

Vehicle i has system id i + 1. One thread calls receive(); any thread may send,
and wait in an inbox for what a vehicle answers.
"""

import contextlib
import queue
import socket
import threading
from collections.abc import Iterable, Iterator
from typing import Any

from xtdrone_core.mavlink.dialect import mavlink
from xtdrone_core.mavlink.framing import frames
from xtdrone_core.runs.ports import Ports, advice

from .errors import MavrosError

SYSTEM_ID = 240  # of this end
COMPONENT_ID = mavlink.MAV_COMP_ID_ONBOARD_COMPUTER
_BUFFER = 8 << 20  # asked of the kernel for what comes in within one tick [bytes]


def _layout(message_id):
    message = mavlink.mavlink_map[message_id]
    return message.unpacker.unpack, message.unpacker.size


def unpack(message_id: int, payload: bytes) -> tuple:
    """Numbers of a payload in the order of the wire, arrays flattened."""
    reader, size = _LAYOUTS.get(message_id) or _LAYOUTS.setdefault(message_id, _layout(message_id))
    return reader(payload[:size].ljust(size, b"\0"))


_LAYOUTS = {}


class FleetLink:
    """UDP sockets to n vehicles.

    Attributes:
        n: Number of vehicles.
        sent_bytes: To each of them so far.
    """

    def __init__(self, n: int, kind: str = "bridge", ports: Ports | None = None):
        """Opens the sockets.

        Args:
            n: Number of vehicles.
            kind: "bridge" for the embedded flight stack's own link; "ros2" for the same from any
                port, beside a bridge; "offboard" for PX4's offboard API (14540 and up), where
                there is no other.
            ports: Of the simulation; None = those of the environment's instance.

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
        self._sockets = []
        by_port = {port: self._open(port, kind) for port in sorted(set(local))}
        self._of = [by_port[port] for port in local]
        self.n = n
        self._lock = threading.Lock()
        self._encoder = mavlink.MAVLink(None, SYSTEM_ID, COMPONENT_ID)
        self._inboxes = {}  # (vehicle, message id) -> queues
        self._decoder = mavlink.MAVLink(None)

    def _open(self, port, kind):
        sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        try:
            sock.bind(("127.0.0.1", port))
        except OSError as error:
            sock.close()
            self.close()
            raise MavrosError(
                f"port {port} (UDP, {kind} link) is in use: another bridge or "
                f"MAVROS is running; {advice()}"
            ) from error
        sock.setblocking(False)
        try:
            sock.setsockopt(socket.SOL_SOCKET, 33, _BUFFER)  # SO_RCVBUFFORCE, for root
        except OSError:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, _BUFFER)
        self._sockets.append(sock)
        return sock

    def filenos(self) -> list[int]:
        """Of its sockets, for select()."""
        return [sock.fileno() for sock in self._sockets]

    def datagrams(self) -> list[bytes]:
        """Everything that has come in."""
        found = []
        for sock in self._sockets:
            while True:
                try:
                    found.append(sock.recv(65536))
                except BlockingIOError:
                    break
                except OSError:  # an earlier datagram found nobody there
                    continue
        return found

    def receive(self, datagrams: Iterable[bytes]) -> Iterator[Any]:
        """The messages in datagrams; awaited answers go to their inboxes.

        Yields:
            (vehicle, message id, payload, frame).
        """
        for data in datagrams:
            for found in frames(data):
                system, message_id, payload = found.system, found.message_id, found.payload
                frame = data[found.start : found.end]
                if not 1 <= system <= self.n:
                    continue
                boxes = self._inboxes.get((system - 1, message_id))
                if boxes:
                    message = self.decode(frame)
                    for box in boxes:
                        box.put(message)
                yield system - 1, message_id, payload, frame

    def url(self, i: int) -> str:
        """The link to vehicle i in MAVROS's notation of an fcu_url."""
        host, port = self._addresses[i]
        return f"udp://:{self._local[i]}@{host}:{port}"

    def decode(self, frame: bytes) -> Any:
        """A frame as a pymavlink message."""
        return self._decoder.decode(bytearray(frame))

    def send(self, i: int, message: Any, component: int = COMPONENT_ID) -> None:
        """Sends a pymavlink message to vehicle i, as from a component of this end."""
        with self._lock:
            self._encoder.srcComponent = component
            data = message.pack(self._encoder)
            self._encoder.seq = (self._encoder.seq + 1) % 256
            self.sent_bytes[i] += len(data)
        with contextlib.suppress(OSError):  # the vehicle is not there (yet)
            self._of[i].sendto(data, self._addresses[i])

    @contextlib.contextmanager
    def inbox(self, i: int, *message_ids: int) -> Iterator[Any]:
        """A queue of vehicle i's messages of some kinds, while the context lasts."""
        box = queue.SimpleQueue()
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
