"""The control socket of a simulation: pause, step, speed, events, and its clock.

Lines of JSON over TCP on loopback. A client sends {"op": NAME, ...} and gets one
answer {"ok": true, ...} or {"ok": false, "error": TEXT}. After `subscribe` it
also gets a line {"tick": T_US, "truth": BASE64} at every 20 ms of simulated
time; truth is (N, 13) float64: position, quaternion xyzw, velocity (world) and
angular velocity (body). With tables: ["models", "links"], or one of them, it also gets
{"models": {"names": [...], "states": BASE64}} there: (P, 13) float64 of Gazebo's models or
links, all in the world. A subscriber with barrier: true sends {"op": "done",
"t_us": T_US} when it has taken in a tick (this has no answer), and an unpaced
simulation waits for that.
"""

import base64
import json
import select
import socket
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from . import ports
from .errors import ControlError
from .state import FleetState

Handler = Callable[[str, dict[str, Any]], dict[str, Any] | None]

TICK_US = 20_000  # period of ticks and of the barrier [us]
TABLES = ("models", "links")  # that ticks can carry
_TRUTH_WIDTH = 13


def pack_truth(state: FleetState) -> str:
    """The truth field of a tick from a FleetState."""
    return pack(np.hstack([state.pos, state.quat, state.vel, state.ang_vel]))


def pack(table: np.ndarray) -> str:
    """A table (N, 13) as the text of a tick."""
    return base64.b64encode(table.tobytes()).decode()


def unpack(text: str) -> np.ndarray:
    """The (N, 13) table of a tick: pos 0:3, quat 3:7 (xyzw), vel 7:10, ang_vel 10:13."""
    return np.frombuffer(base64.b64decode(text)).reshape(-1, _TRUTH_WIDTH)


def _readable(sockets: Iterable[socket.socket], timeout: float) -> list[socket.socket]:
    """Those sockets that can be read within the time-out [s].

    Not by select(): a ROS node of a hundred vehicles has more than its 1024 descriptors.
    """
    poll = select.poll()
    by_number = {sock.fileno(): sock for sock in sockets}
    for number in by_number:
        poll.register(number, select.POLLIN)
    return [by_number[number] for number, _ in poll.poll(timeout * 1000.0)]


class ControlServer:
    """The simulation's end. Never blocks, except in barrier()."""

    def __init__(self, port: int) -> None:
        """Listens on 127.0.0.1:port.

        Raises:
            ControlError: The port is taken.
        """
        self._listener = socket.socket()
        self._listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            self._listener.bind(("127.0.0.1", port))
        except OSError as error:
            self._listener.close()
            raise ControlError(f"control port {port} (TCP) is in use: another simulation is "
                               f"running; {ports.advice()}") from error
        self._listener.listen()
        self._listener.setblocking(False)
        self._buffers: dict[socket.socket, bytes] = {}  # bytes that are not yet a line
        self._subscribers: dict[socket.socket, bool] = {}  # takes part in the barrier
        self._tables: dict[socket.socket, list[str]] = {}  # that a subscriber gets with a tick
        self._done: dict[socket.socket, int] = {}  # last tick processed

    def poll(self, handle: Handler, timeout: float = 0.0) -> None:
        """Answers clients' requests; handle(op, request) returns a dict or raises ControlError.

        Args:
            handle: Called for each request but subscribe and done.
            timeout: How long to wait for the first one [s].
        """
        for sock in _readable([self._listener, *self._buffers], timeout):
            if sock is self._listener:
                client, _ = sock.accept()
                client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                self._buffers[client] = b""
            else:
                self._receive(sock, handle)

    def tick(self, t_us: int, state: FleetState,
             table: Callable[[str], dict[str, Any]] | None = None) -> None:
        """Sends the clock and the truth to the subscribers.

        Args:
            t_us: Simulated time [us].
            state: Of the fleet.
            table: The table of a name, models or links, for who wants it.
        """
        if self._subscribers:
            line = {"tick": t_us, "truth": pack_truth(state)}
            for sock in list(self._subscribers):
                tables = {} if table is None else {name: table(name)
                                                   for name in self._tables.get(sock, ())}
                self._send(sock, {**line, **tables})

    @property
    def has_barrier(self) -> bool:
        """Whether some subscriber takes part in the barrier."""
        return any(self._subscribers.values())

    def barrier(self, t_us: int, handle: Handler, timeout: float) -> bool:
        """Waits until every such subscriber has taken in the tick t_us.

        Returns:
            False where the time-out [s] came first.
        """
        import time

        end = time.monotonic() + timeout
        while any(wanted and self._done.get(sock, -1) < t_us
                  for sock, wanted in self._subscribers.items()):
            left = end - time.monotonic()
            if left <= 0:
                return False
            self.poll(handle, left)
        return True

    def close(self) -> None:
        """Closes every connection."""
        for sock in [self._listener, *self._buffers]:
            sock.close()
        self._buffers.clear()
        self._subscribers.clear()

    def _receive(self, sock: socket.socket, handle: Handler) -> None:
        try:
            data = sock.recv(65536)
        except OSError:
            data = b""
        if not data or len(self._buffers[sock]) > 1 << 20:
            self._drop(sock)
            return
        *lines, self._buffers[sock] = (self._buffers[sock] + data).split(b"\n")
        for line in lines:
            if sock in self._buffers:
                self._answer(sock, line, handle)

    def _answer(self, sock: socket.socket, line: bytes, handle: Handler) -> None:
        try:
            request = json.loads(line)
            op = request["op"]
            if op == "done":
                self._done[sock] = int(request["t_us"])
                return
            if op == "subscribe":
                self._subscribers[sock] = bool(request.get("barrier", False))
                self._tables[sock] = [name for name in TABLES if name in request.get("tables", ())]
                answer: dict[str, Any] = {}
            else:
                answer = handle(op, request) or {}
            self._send(sock, {"ok": True, **answer})
        except ControlError as error:
            self._send(sock, {"ok": False, "error": str(error)})
        except (ValueError, TypeError, KeyError):
            self._send(sock, {"ok": False, "error": "a request is a line of JSON like "
                                                    '{"op": "status"}'})

    def _send(self, sock: socket.socket, line: dict[str, Any]) -> None:
        try:
            sock.settimeout(1.0)  # a client that does not read must not block the simulation
            sock.sendall(json.dumps(line).encode() + b"\n")
        except OSError:
            self._drop(sock)

    def _drop(self, sock: socket.socket) -> None:
        sock.close()
        for table in (self._buffers, self._subscribers, self._tables, self._done):
            table.pop(sock, None)


class ControlClient:
    """The client's end, for the command line, the bridge and tests.

    Attributes:
        tables: Names and states (P, 13) by table, as they came with the last tick.
    """

    def __init__(self, instance: int | None = None, timeout: float = 5.0) -> None:
        """Connects to a simulation on 127.0.0.1.

        Args:
            instance: Of the simulation; None = the environment's.
            timeout: For each answer [s].

        Raises:
            ControlError: Nothing listens there.
        """
        port = (ports.Ports() if instance is None else ports.Ports(instance)).control
        try:
            self._sock = socket.create_connection(("127.0.0.1", port), timeout)
        except OSError as error:
            raise ControlError(f"no simulation answers on control port {port}: start one with "
                               "'xtdrone sim' or roslaunch") from error
        self._sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._buffer = b""
        self._ticks: list[dict[str, Any]] = []
        self.tables: dict[str, tuple[list[str], np.ndarray]] = {}

    def fileno(self) -> int:
        """For select() and epoll."""
        return self._sock.fileno()

    def request(self, op: str, **values: Any) -> dict:
        """Asks and returns the answer.

        Raises:
            ControlError: The simulation refused, is gone, or does not answer in time.
        """
        self.ask(op, **values)
        return self.answer()

    def ask(self, op: str, **values: Any) -> None:
        """Sends a request; once ready(), answer() returns what came back.

        Raises:
            ControlError: The simulation is gone.
        """
        self._send({"op": op, **values})

    def answer(self) -> dict:
        """The answer to the request of ask(); ticks that come in between are kept.

        Raises:
            ControlError: The simulation refused, is gone, or does not answer in time.
        """
        while True:
            line = self._line()
            if "tick" in line:
                self._ticks.append(line)
            elif line.get("ok"):
                return line
            else:
                raise ControlError(line.get("error", "the simulation refused"))

    def ready(self, timeout: float) -> bool:
        """Whether next_tick() has something to read, at once or within the time-out [s]."""
        if self._ticks or b"\n" in self._buffer:
            return True
        return bool(_readable([self._sock], timeout))

    def next_tick(self) -> tuple[int, np.ndarray]:
        """The next (t_us, truth (N, 13)) after `subscribe`; waits up to the time-out.

        Raises:
            ControlError: The simulation is gone or sends none.
        """
        line = self._ticks.pop(0) if self._ticks else self._line()
        self.tables = {name: (line[name]["names"], unpack(line[name]["states"]))
                       for name in TABLES if name in line}
        return line["tick"], unpack(line["truth"])

    def done(self, t_us: int) -> None:
        """Says that the tick t_us has been dealt with."""
        self._send({"op": "done", "t_us": int(t_us)})

    def close(self) -> None:
        """Closes the connection."""
        self._sock.close()

    def _send(self, line: dict[str, Any]) -> None:
        try:
            self._sock.sendall(json.dumps(line).encode() + b"\n")
        except OSError as error:
            raise ControlError("the simulation has ended") from error

    def _line(self) -> dict[str, Any]:
        while b"\n" not in self._buffer:
            try:
                data = self._sock.recv(1 << 20)
            except TimeoutError as error:
                raise ControlError("the simulation does not answer: it may be starting, or "
                                   "paused") from error
            except OSError as error:
                raise ControlError("the simulation has ended") from error
            if not data:
                raise ControlError("the simulation has ended")
            self._buffer += data
        line, self._buffer = self._buffer.split(b"\n", 1)
        return json.loads(line)
