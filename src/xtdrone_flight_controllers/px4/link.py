"""The simulator links of a fleet of PX4s: one TCP server per vehicle, in lockstep.

PX4 is the client. It sends its first HIL_ACTUATOR_CONTROLS only after some dozen
HIL_SENSOR messages. From then on PX4 answers each HIL_SENSOR with exactly one
HIL_ACTUATOR_CONTROLS, and the link waits for it. A PX4 whose controllers are all off answers none
(in OFFBOARD before the first set-point, in a flight termination) and waits for its clock, which is
HIL_SENSOR: the link goes on after ANSWER_S, as sitl_gazebo's plugin does, until it answers again.
The wall clock is used for time-outs only.
"""

import select
import socket
import time
from collections.abc import Callable, Sequence
from enum import IntEnum

import numpy as np

from xtdrone_autopilot.errors import AutopilotError
from xtdrone_core.runs import ports
from xtdrone_core.runs.ports import Ports

from ..common.frames import FrameReader

ANSWER_S = 0.8  # wall time after which a PX4 that does not answer gets the next readings [s]
LOOK_S = 0.1  # most that one poll adds to that time: a stalled machine stops PX4 too [s]
SILENCE_S = 1.8  # wall time from connecting to the first actuator message, at most [s]
SILENT_READINGS = 100  # sent before a PX4 counts as silent; PX4 answers from the 16th to 44th on
ALIGN_S = 0.004  # wall time per step that PX4 gets to answer while it is not in lockstep [s]
STOP_US = 200_000  # simulated time without an answer after which the rotors stop [us]
MAX_GARBAGE = 2048  # invalid bytes after which a peer does not count as PX4
_CHUNK = 65536
_MESSAGES = "HIL_ACTUATOR_CONTROLS", "HEARTBEAT"
_ARMED = 128  # bit of HIL_ACTUATOR_CONTROLS.mode


class Peer(IntEnum):
    """State of the simulator link of one vehicle."""

    AWAITED = 0  # not connected yet
    CONNECTED = 1  # receives readings, has not answered yet
    LOCKSTEP = 2  # answers every step
    SILENT = 3  # has stopped answering; receives readings
    HANGING = 4  # does nothing any more; gets no readings until it answers
    LOST = 5  # has ended, or its link is closed for good: PX4 does not reconnect


class SimulatorLink:
    """The simulation's end of the TCP links of N vehicles.

    Attributes:
        state: (N,) Peer.
        controls: (N, 16) latest actuator controls; zero while disarmed, hanging or lost, and
            STOP_US after the last answer.
        answered_us: (N,) simulated time of the readings that were answered last, -1 before [us].
        armed: (N,) bool, from the mode field of HIL_ACTUATOR_CONTROLS.
    """

    def __init__(
        self,
        n: int,
        on_loss: Callable[[int, str], None],
        on_news: Callable[[int, str], None],
        own: Ports | None = None,
        on_replaced: Callable[[int], None] | None = None,
    ):
        """Listens on 127.0.0.1:4560 + i, shifted by the instance.

        Args:
            n: Number of vehicles.
            on_loss: Called as on_loss(vehicle, text) when a PX4 is lost or hangs.
            on_news: Called as on_news(vehicle, text) with other events to report.
            own: Ports of the simulation; None = those of the environment's instance.
            on_replaced: Called with the vehicle when another PX4 connects in place of a lost one;
                None refuses it.

        Raises:
            AutopilotError: A port is in use.
        """
        self.state = np.full(n, Peer.AWAITED, dtype=np.int8)
        self.controls = np.zeros((n, 16))
        self.armed = np.zeros(n, dtype=np.bool_)
        self._ports = own or Ports()
        self._on_loss, self._on_news, self._on_replaced = on_loss, on_news, on_replaced
        self._listeners: dict[int, tuple[int, socket.socket]] = {}  # by file descriptor
        self._sockets: list[socket.socket | None] = [None] * n
        self._readers = [FrameReader(_MESSAGES) for _ in range(n)]
        self._since = np.zeros(n)  # wall time of connecting [s]
        self._sent = np.zeros(n, dtype=np.int64)  # readings sent since then
        self.answered_us = np.full(n, -1, dtype=np.int64)
        self._t_us = -1  # simulated time of the last readings [us]
        self._step_us = 0  # from the readings before to these [us]
        self._refused: set[int] = set()  # vehicles of which a further connection was reported
        self._vehicle_of: dict[int, int] = {}  # by the file descriptor of a connection
        self._poll = select.poll()
        self._all_in_step = False
        try:
            for i in range(n):
                self._listen(i)
        except AutopilotError:
            self.close()
            raise

    def _listen(self, i: int) -> None:
        sock, port = socket.socket(), self._ports.simulator(i)
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            sock.bind(("127.0.0.1", port))
        except OSError as error:
            sock.close()
            raise AutopilotError(
                f"port {port} (TCP, simulator link of PX4 {i}) is in use: another simulation is "
                f"running; {ports.advice()}"
            ) from error
        sock.listen()
        sock.setblocking(False)
        self._listeners[sock.fileno()] = i, sock
        self._poll.register(sock, select.POLLIN)

    def close(self) -> None:
        """Closes every connection. May be called twice."""
        for _, sock in self._listeners.values():
            sock.close()
        for connection in self._sockets:
            if connection is not None:
                connection.close()
        self._listeners.clear()
        self._vehicle_of.clear()
        self._sockets = [None] * len(self._sockets)

    def listen(self, timeout: float) -> None:
        """Accepts connections, and reads and handles the bytes received.

        Args:
            timeout: How long to wait for the first event [s].
        """
        for number, _ in self._poll.poll(timeout * 1e3):
            if number in self._listeners:
                self._accept(*self._listeners[number])
            elif number in self._vehicle_of:
                self._receive(self._vehicle_of[number])

    def exchange(self, t_us: int, frames: Sequence[bytes]) -> None:
        """One lockstep step: sends the readings, waits for the answers that are due.

        Args:
            t_us: Simulated time of the readings [us].
            frames: N byte strings: the MAVLink messages for each vehicle.
        """
        self._step_us, self._t_us = t_us - self._t_us, t_us
        for i, data in enumerate(frames):
            sock = self._sockets[i]
            if sock is not None and self.state[i] != Peer.HANGING:
                self._send(i, sock, data)
        if not self._all_in_step:
            self._align(t_us)
        waited = 0.0
        while (due := (self.state == Peer.LOCKSTEP) & (self.answered_us < t_us)).any():
            if waited >= ANSWER_S:
                self.state[due] = Peer.SILENT
                break
            begin = time.monotonic()
            self.listen(LOOK_S)
            waited += min(time.monotonic() - begin, LOOK_S)
        self._all_in_step = bool((self.state == Peer.LOCKSTEP).all())

    def hang(self, i: int, why: str) -> None:
        """Sends no more readings to the PX4 of a vehicle until it answers; calls on_loss."""
        self.state[i] = Peer.HANGING
        self._stop_rotors(i)
        self._on_loss(i, why)

    def lose(self, i: int, why: str) -> None:
        """Drops the PX4 of a vehicle for good: its rotors stop, on_loss is called."""
        self.state[i] = Peer.LOST
        self._drop(i)
        self._on_loss(i, why)

    def remove_vehicle(self, i: int) -> None:
        """Closes the link of a vehicle that is taken out of the fleet. May be called twice."""
        self.state[i] = Peer.LOST
        self._drop(i)
        for number, (vehicle, sock) in list(self._listeners.items()):
            if vehicle == i:
                self._poll.unregister(sock)
                sock.close()
                del self._listeners[number]

    def await_again(self, i: int) -> None:
        """Disconnects the PX4 of a vehicle and accepts the next one that connects."""
        self._drop(i)
        self._sent[i], self.answered_us[i] = 0, -1
        self.state[i] = Peer.AWAITED
        self._all_in_step = False

    def _align(self, t_us: int) -> None:
        """Receives from PX4s that are not in lockstep; drops those that have never answered.

        Blocks for at most ALIGN_S, so they slow down the rest of the fleet only a little.
        """
        waiting = (self.state == Peer.CONNECTED) | (self.state == Peer.SILENT)
        self.listen(ALIGN_S if waiting.any() else 0.0)
        self.controls[(self.state == Peer.SILENT) & (t_us - self.answered_us >= STOP_US)] = 0.0
        silent = (self.state == Peer.CONNECTED) & (self._sent > SILENT_READINGS)
        silent &= time.monotonic() - self._since > SILENCE_S
        for i in np.flatnonzero(silent):
            self.lose(int(i), f"connected, but sent no actuator controls for {SILENCE_S:g} s")

    def _accept(self, i: int, listener: socket.socket) -> None:
        try:
            sock, _ = listener.accept()
        except OSError:
            return
        lost = self.state[i] == Peer.LOST
        if self._sockets[i] is not None or (lost and self._on_replaced is None):
            sock.close()
            if i not in self._refused:
                self._refused.add(i)
                self._on_news(
                    i, f"further connections to TCP {self._ports.simulator(i)} are refused"
                )
            return
        if lost and self._on_replaced is not None:
            self.await_again(i)
            self._on_replaced(i)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        sock.setblocking(False)
        self._sockets[i], self._readers[i] = sock, FrameReader(_MESSAGES)
        self._vehicle_of[sock.fileno()] = i
        self._poll.register(sock, select.POLLIN)
        self._since[i] = time.monotonic()
        self.state[i] = Peer.CONNECTED

    def _send(self, i: int, sock: socket.socket, data: bytes) -> None:
        try:
            sent = sock.send(data)
        except BlockingIOError:
            sent = 0
        except OSError:
            self.lose(i, "closed its simulator link")
            return
        if sent < len(data):
            self.lose(i, "does not read its simulator link any more")
        self._sent[i] += 1

    def _receive(self, i: int) -> None:
        sock = self._sockets[i]
        assert sock is not None  # it is polled
        try:
            data = sock.recv(_CHUNK)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if not data:
            self.lose(i, "closed its simulator link")
            return
        reader = self._readers[i]
        for name, system, record in reader.feed(data):
            own = self._ports.system_id(i)
            if system != own:
                self.lose(
                    i,
                    f"says that it is system {system}: start it with "
                    f"'-i {self._ports.px4_number(i)}' and MAV_SYS_ID {own}",
                )
                return
            if name == "HIL_ACTUATOR_CONTROLS":
                self._take(i, record)
        if reader.garbage > MAX_GARBAGE:
            self.lose(i, f"sent {reader.garbage} bytes that are not MAVLink")

    def _take(self, i: int, record: np.void) -> None:
        """Takes an answer; one to readings that were answered before changes the controls only."""
        answered = min(int(record["time_usec"]), self._t_us)  # nobody answers what is to come
        if answered > self.answered_us[i]:
            if self.state[i] == Peer.HANGING:
                self._on_news(i, "answers again")
            # A rover's PX4 that is disarmed answers some readings only, and is not waited for.
            if self.state[i] != Peer.SILENT or answered - self.answered_us[i] <= self._step_us:
                self.state[i] = Peer.LOCKSTEP
            self.answered_us[i] = answered
        elif self.state[i] != Peer.LOCKSTEP:
            return
        self.armed[i] = bool(record["mode"] & _ARMED)
        controls = np.nan_to_num(record["controls"]) if self.armed[i] else 0.0
        self.controls[i] = np.clip(controls, -1.0, 1.0)

    def _drop(self, i: int) -> None:
        self._stop_rotors(i)
        sock = self._sockets[i]
        if sock is not None:
            self._poll.unregister(sock)
            del self._vehicle_of[sock.fileno()]
            sock.close()
            self._sockets[i] = None

    def _stop_rotors(self, i: int) -> None:
        self.controls[i] = 0.0
        self.armed[i] = False
