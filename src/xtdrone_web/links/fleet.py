"""A ground station's MAVLink link to all vehicles: one UDP socket, and their last messages."""

import asyncio
import contextlib
import math
import queue
import socket
import struct
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from xtdrone_core.mavlink.client import MavlinkClient, Receive, ground_station_heartbeat
from xtdrone_core.mavlink.dialect import mavlink
from xtdrone_core.mavlink.signing import Signer
from xtdrone_core.runs.ports import Ports, system_id

SYSTEM = 252  # system id of this ground station
_MAX_DATAGRAM = 4096  # largest datagram that is read [bytes]
_MAX_AT_ONCE = 256  # datagrams that are read before others get their turn
_BUFFER = 4 << 20  # asked of the kernel [bytes]
_TEXT_LENGTH = 50  # characters of a STATUSTEXT that goes on in another one
_HEADER, _HEADER_V1, _CHECKSUM, _SIGNATURE = 10, 6, 2, 13  # bytes of MAVLink's frames
_V1, _V2 = 0xFE, 0xFD
_TARGET = struct.Struct("<I11fHB")  # POSITION_TARGET_LOCAL_NED
_TARGET_ID = mavlink.MAVLINK_MSG_ID_POSITION_TARGET_LOCAL_NED
_NO_POS, _NO_VEL = 0b111, 0b111000  # bits of its type mask
_DECODED = {
    getattr(mavlink, f"MAVLINK_MSG_ID_{name}")
    for name in (
        "HEARTBEAT",
        "STATUSTEXT",
        "COMMAND_ACK",
        "PARAM_VALUE",
        "MISSION_COUNT",
        "MISSION_ITEM_INT",
        "MISSION_REQUEST",
        "MISSION_REQUEST_INT",
        "MISSION_ACK",
        "MISSION_CURRENT",
        "SYS_STATUS",
    )
}
Message = Any  # a message of pymavlink, which has no types
OnText = Callable[[int, int, str], None]  # vehicle, severity, text


class FleetLink:
    """The link; messages are taken in the event loop, and sent from any thread.

    Attributes:
        n: Number of vehicles.
        set_pos, set_vel: (n, 3) set-points, ENU from each vehicle's local origin [m, m/s]; NaN.
        battery: (n,) state of charge, 0 to 1; NaN unknown.
        heard: (n,) wall time of the last heartbeat [s].
        mission_seq: (n,) item of the mission.
    """

    def __init__(
        self, n: int, ports: Ports, key: bytes | None, on_text: OnText, join: bool = False
    ):
        """Opens the socket.

        Args:
            n: Number of vehicles.
            ports: Ports of the simulation.
            key: 32 bytes that sign what is sent, or None.
            on_text: Called with each text of a vehicle.
            join: Whether to have the ground station's own port: real PX4 answers nobody else.
        """
        self.n = n
        self.set_pos, self.set_vel = np.full((n, 3), math.nan), np.full((n, 3), math.nan)
        self.battery = np.full(n, math.nan)
        self.heard = np.full(n, -math.inf)
        self.mission_seq = np.zeros(n, dtype=int)
        self._addresses = [("127.0.0.1", ports.ground_station_local(i)) for i in range(n)]
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, _BUFFER)
        if join:
            ports.join_ground_station(self._socket)
        else:
            self._socket.bind(("127.0.0.1", 0))
        self._socket.setblocking(False)
        self._encoder = mavlink.MAVLink(None, SYSTEM, mavlink.MAV_COMP_ID_MISSIONPLANNER)
        self._decoder = mavlink.MAVLink(None)
        self._signer = Signer(key, 7) if key else None
        self._lock = threading.Lock()
        self._inboxes: dict[tuple[int, str], list[queue.SimpleQueue[Message]]] = {}
        self._texts: dict[tuple[int, int], str] = {}
        self._on_text = on_text
        self._receivers = {
            "HEARTBEAT": self._heartbeat,
            "STATUSTEXT": self._text,
            "SYS_STATUS": self._status,
            "MISSION_CURRENT": self._current,
        }
        self.clients = [MavlinkClient(system_id(i), _VehicleTransport(self, i)) for i in range(n)]

    def start(self) -> None:
        """Takes messages in the running event loop from now on."""
        asyncio.get_running_loop().add_reader(self._socket, self._receive)

    def close(self) -> None:
        """Closes the socket."""
        asyncio.get_running_loop().remove_reader(self._socket)
        self._socket.close()

    def greet(self) -> None:
        """Sends a ground station's heartbeat to all vehicles; to be called once a second."""
        for i in range(self.n):
            self.send(i, ground_station_heartbeat())

    def send(self, i: int, message: Message) -> None:
        """Sends a pymavlink message to vehicle i."""
        with self._lock:
            data = message.pack(self._encoder)
            self._encoder.seq = (self._encoder.seq + 1) % 256
            parts = self._signer.datagrams(bytes(data), 280) if self._signer else [data]
        for part in parts:
            with contextlib.suppress(OSError):  # it is not there (yet), or its buffer is full
                self._socket.sendto(part, self._addresses[i])

    @contextlib.contextmanager
    def inbox(self, i: int, kinds: tuple[str, ...]) -> Iterator[queue.SimpleQueue[Message]]:
        """Returns a queue of vehicle i's messages of some kinds, while the context lasts."""
        box: queue.SimpleQueue[Message] = queue.SimpleQueue()
        with self._lock:
            for kind in kinds:
                self._inboxes.setdefault((i, kind), []).append(box)
        try:
            yield box
        finally:
            with self._lock:
                for kind in kinds:
                    self._inboxes[i, kind].remove(box)

    def _receive(self) -> None:
        for _ in range(_MAX_AT_ONCE):
            try:
                data = self._socket.recv(_MAX_DATAGRAM)
            except (BlockingIOError, OSError):
                return
            self._scan(data)

    def _scan(self, data: bytes) -> None:
        """Goes through the frames of a datagram and skips those that nobody wants.

        The checksum is only computed for those that are decoded: a fleet streams much
        more than this station needs.
        """
        at, length = 0, len(data)
        while at + _HEADER_V1 + _CHECKSUM <= length:
            if data[at] == _V2 and at + _HEADER + _CHECKSUM <= length:
                payload, end = at + _HEADER, at + _HEADER + data[at + 1] + _CHECKSUM
                end += _SIGNATURE * (data[at + 2] & 1)
                system = data[at + 5]
                number = data[at + 7] | data[at + 8] << 8 | data[at + 9] << 16
            elif data[at] == _V1:
                payload, end = at + _HEADER_V1, at + _HEADER_V1 + data[at + 1] + _CHECKSUM
                system, number = data[at + 3], data[at + 5]
            else:
                return
            if 1 <= system <= self.n and end <= length:
                if number == _TARGET_ID:
                    self._target(system - 1, data[payload : payload + data[at + 1]])
                elif number in _DECODED:
                    self._decode(system - 1, data[at:end])
            at = end

    def _target(self, i: int, payload: bytes) -> None:
        values = _TARGET.unpack(payload.ljust(_TARGET.size, b"\0")[: _TARGET.size])
        x, y, z, vx, vy, vz = values[1:7]
        mask = values[12]
        self.set_pos[i] = (math.nan,) * 3 if mask & _NO_POS else (y, x, -z)
        self.set_vel[i] = (math.nan,) * 3 if mask & _NO_VEL else (vy, vx, -vz)

    def _decode(self, i: int, frame: bytes) -> None:
        try:
            message = self._decoder.decode(bytearray(frame))
        except Exception:  # whatever the library trips over: no message then
            return
        kind = message.get_type()
        receiver = self._receivers.get(kind)
        if receiver is not None:
            receiver(i, message)
        for box in self._inboxes.get((i, kind), ()):
            box.put(message)

    def _heartbeat(self, i: int, message: Message) -> None:
        if message.get_srcComponent() == mavlink.MAV_COMP_ID_AUTOPILOT1:
            self.heard[i] = time.monotonic()

    def _status(self, i: int, message: Message) -> None:
        self.battery[i] = (
            message.battery_remaining / 100 if message.battery_remaining >= 0 else math.nan
        )

    def _current(self, i: int, message: Message) -> None:
        self.mission_seq[i] = message.seq

    def _text(self, i: int, message: Message) -> None:
        whole = self._texts.pop((i, message.id), "") + message.text if message.id else message.text
        if message.id and len(message.text) >= _TEXT_LENGTH:
            self._texts[i, message.id] = whole
        else:
            self._on_text(i, message.severity, whole.strip())


class _VehicleTransport:
    """Transport to one vehicle; see xtdrone_core.mavlink.client.Transport."""

    system = SYSTEM

    def __init__(self, link: FleetLink, i: int):
        self._link, self._i = link, i

    def send(self, message: Message) -> None:
        self._link.send(self._i, message)

    @contextlib.contextmanager
    def listen(self, *kinds: str) -> Iterator[Receive]:
        with self._link.inbox(self._i, kinds) as box:

            def receive(seconds: float) -> Message | None:
                try:
                    return box.get(timeout=max(seconds, 0.0))
                except queue.Empty:
                    return None

            yield receive
