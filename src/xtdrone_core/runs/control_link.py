"""The control socket of a simulation: pause, step, speed, events, and its clock.

Lines of JSON over TCP on loopback. A client sends {"op": NAME, ...} and gets one
answer {"ok": true, ...} or {"ok": false, "error": TEXT}, with a "code"
where one of ControlError's says why. After `subscribe` it
also gets a line {"tick": T_US, "truth": BASE64} at every 20 ms of simulated
time; truth is (N, 13) float64: position, quaternion xyzw, velocity (world) and
angular velocity (body). With truth: false it gets the time alone. With tables: ["models",
"links"], or one of them, it also gets {"models": {"names": [...], "states": BASE64}} there: (P, 13)
float64 of Gazebo's models or links, all in the world. A subscriber with barrier: true sends
{"op": "done", "t_us": T_US} when it has taken in a tick (this has no answer), and an unpaced
simulation waits for that, as long as it comes within a second at least every third time. Who does
not read for a second is let go.
"""

import base64
import json
import math
import select
import socket
import time
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ..errors import ControlError
from . import ports

if TYPE_CHECKING:
    import numpy as np

    from ..state import FleetState

Handler = Callable[[str, dict[str, Any]], dict[str, Any] | None]

TICK_US = 20_000  # period of ticks and of the barrier [us]
TABLES = ("models", "links")  # tables that ticks can carry
MAX_CLIENTS = 64
MAX_REQUESTS = 64  # requests of one client that are answered at once
LONGEST = 1 << 20  # greatest length of a request [bytes]
MISSES = 3  # time-outs in a row after which the barrier gives a client up
SEND_S = 1.0  # time in which a client has to read before it is dropped [s]
_LARGEST = 1 << 53  # whole number; floating point holds all up to there
_EXAMPLE = 'a request is a line of JSON like {"op": "status"}'
_TRUTH_WIDTH = 13


def pack_truth(state: "FleetState") -> str:
    """The truth field of a tick from a FleetState."""
    import numpy as np  # here, so that what only asks and answers needs none

    return pack(np.hstack([state.pos, state.quat, state.vel, state.ang_vel]))


def pack(table: "np.ndarray") -> str:
    """A table (N, 13) as the text of a tick."""
    return base64.b64encode(table.tobytes()).decode()


def unpack(text: str) -> "np.ndarray":
    """The (N, 13) table of a tick: pos 0:3, quat 3:7 (xyzw), vel 7:10, ang_vel 10:13."""
    import numpy as np  # as above

    return np.frombuffer(base64.b64decode(text)).reshape(-1, _TRUTH_WIDTH)


def _readable(sockets: Iterable[socket.socket], timeout: float) -> list[socket.socket]:
    """Returns the sockets that can be read within the time-out [s].

    Not by select(): a ROS node of a hundred vehicles has more than its 1024 descriptors.
    """
    poll = select.poll()
    by_number = {sock.fileno(): sock for sock in sockets}
    for number in by_number:
        poll.register(number, select.POLLIN)
    return [by_number[number] for number, _ in poll.poll(timeout * 1000.0)]


def read_request(line: bytes) -> dict[str, Any]:
    """One request from its line: a JSON object with an op, whose numbers are finite.

    Raises:
        ControlError: It is something else.
    """
    try:
        request = json.loads(
            line, parse_constant=_no_number, parse_float=_decimal, parse_int=_whole
        )
    except (ValueError, RecursionError) as error:
        raise ControlError(_EXAMPLE) from error
    if not isinstance(request, dict) or not isinstance(request.get("op"), str):
        raise ControlError(_EXAMPLE)
    return request


def _no_number(text: str) -> float:
    raise ControlError(
        f"{text[:20]} is not allowed in a request: give finite numbers, whole ones up to 2^53"
    )


def _decimal(text: str) -> float:
    value = float(text)
    return value if math.isfinite(value) else _no_number(text)


def _whole(text: str) -> int | float:
    value = int(text) if len(text) < 20 else _LARGEST + 1
    return value if abs(value) <= _LARGEST else _no_number(text)


@dataclass
class _Client:
    """One connection."""

    sock: socket.socket
    rest: bytes = b""  # received bytes that are no complete line yet
    lines: deque[bytes] = field(default_factory=deque)  # not dealt with yet
    known: bool = False  # has made a request
    subscribed: bool = False
    barrier: bool = False  # asked for it
    misses: int = 0  # ticks in a row that it did not take in within the time-out
    done: int = -1  # last tick that it has taken in [us]
    truth: bool = True  # it gets the truth with a tick
    tables: list[str] = field(default_factory=list)  # tables that it gets with a tick

    @property
    def awaited(self) -> bool:
        """Whether the barrier waits for it."""
        return self.barrier and self.misses < MISSES


class ControlServer:
    """The simulation's end. Never blocks for longer than SEND_S, except in barrier().

    Attributes:
        warn: Called with a line on each client that is given up.
    """

    def __init__(self, port: int) -> None:
        """Listens on 127.0.0.1:port.

        Raises:
            ControlError: The port is taken.
        """
        self.warn: Callable[[str], None] = lambda text: None
        self._listener = socket.socket()
        self._listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            self._listener.bind(("127.0.0.1", port))
        except OSError as error:
            self._listener.close()
            raise ports.control_taken(port) from error
        self._listener.listen()
        self._listener.setblocking(False)
        self._clients: dict[socket.socket, _Client] = {}
        self._tick_us = -1  # simulated time of the last tick [us]

    def poll(self, handle: Handler, timeout: float = 0.0) -> None:
        """Answers clients' requests; handle(op, request) returns a dict or raises ControlError.

        Args:
            handle: Called for each request but subscribe and done.
            timeout: How long to wait for the first one [s].
        """
        if any(client.lines for client in self._clients.values()):
            timeout = 0.0
        listening = [self._listener] if self._listener.fileno() >= 0 else []
        for sock in _readable([*listening, *self._clients], timeout):
            if sock is self._listener:
                self._accept()
            elif (client := self._clients.get(sock)) is not None and not client.lines:
                self._receive(client)
        for client in list(self._clients.values()):
            for _ in range(min(len(client.lines), MAX_REQUESTS)):
                self._answer(client, client.lines.popleft(), handle)
                if client.sock not in self._clients:
                    break

    def tick(
        self, t_us: int, state: "FleetState", table: Callable[[str], dict[str, Any]] | None = None
    ) -> None:
        """Sends the clock and the truth to the subscribers.

        Args:
            t_us: Simulated time [us].
            state: State of the fleet.
            table: The table of a name, models or links, for who wants it.
        """
        if t_us < self._tick_us:  # an earlier state was loaded
            for client in self._clients.values():
                client.done = -1
        self._tick_us = t_us
        subscribers = [client for client in self._clients.values() if client.subscribed]
        if subscribers:
            truth = {"truth": pack_truth(state)}
            for client in subscribers:
                tables = {} if table is None else {name: table(name) for name in client.tables}
                self._send(client, {"tick": t_us, **(truth if client.truth else {}), **tables})

    def admit_no_more(self) -> None:
        """Takes no connection from now on; those of now stay."""
        self._listener.close()

    def wait_for_nobody(self) -> None:
        """No client of now is waited for at the barrier, until it has caught up."""
        for client in self._clients.values():
            client.misses = MISSES

    @property
    def has_subscriber(self) -> bool:
        """Whether a client gets the ticks."""
        return any(client.subscribed for client in list(self._clients.values()))

    @property
    def has_barrier(self) -> bool:
        """Whether some subscriber takes part in the barrier."""
        return any(client.awaited for client in self._clients.values())

    def barrier(self, t_us: int, handle: Handler, timeout: float) -> bool:
        """Waits until every such subscriber has taken in the tick t_us.

        Who misses MISSES of them in a row is not waited for any more, until it has caught up.

        Returns:
            False where the time-out [s] came first.
        """
        end = time.monotonic() + timeout
        while late := [
            client for client in self._clients.values() if client.awaited and client.done < t_us
        ]:
            left = end - time.monotonic()
            if left <= 0:
                for client in late:
                    self._miss(client, timeout)
                return False
            self.poll(handle, left)
        return True

    def close(self) -> None:
        """Closes every connection."""
        for sock in [self._listener, *self._clients]:
            sock.close()
        self._clients.clear()

    def _miss(self, client: _Client, timeout: float) -> None:
        client.misses += 1
        if client.misses == MISSES:
            self.warn(
                f"a client of the control socket did not take in {MISSES} ticks in a row "
                f"within {timeout:g} s each: the simulation does not wait for it any more"
            )

    @property
    def connections(self) -> int:
        """Number of open connections."""
        return len(self._clients)

    def _accept(self) -> None:
        try:
            sock, _ = self._listener.accept()
        except OSError:  # it has gone again, or there is no file number left
            self._drop_stranger()
            return
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        client = _Client(sock)
        if len(self._clients) >= MAX_CLIENTS and not self._drop_stranger():
            self._refuse(client, f"there are {MAX_CLIENTS} connections already: close one")
            sock.close()
            return
        self._clients[sock] = client

    def _drop_stranger(self) -> bool:
        """Closes the oldest connection that has made no request yet, if there is one."""
        for client in self._clients.values():
            if not client.known:
                self._drop(client)
                return True
        return False

    def _receive(self, client: _Client) -> None:
        try:
            data = client.sock.recv(65536)
        except OSError:
            data = b""
        if not data:
            self._drop(client)
            return
        *lines, client.rest = (client.rest + data).split(b"\n")
        client.lines.extend(lines)
        if len(client.rest) > LONGEST:
            self._refuse(client, f"a request has at most {LONGEST} bytes")
            self._drop(client)

    def _answer(self, client: _Client, line: bytes, handle: Handler) -> None:
        try:
            request = read_request(line)
            client.known = True
            op = request["op"]
            if op == "done":
                self._take_done(client, request.get("t_us"))
                return
            answer: dict[str, Any] = {}
            if op == "subscribe":
                self._subscribe(client, request)
            else:
                answer = handle(op, request) or {}
            self._send(client, {"ok": True, **answer})
        except ControlError as error:
            self._refuse(client, str(error), error.code)

    def _take_done(self, client: _Client, t_us: Any) -> None:  # a value of JSON
        if not isinstance(t_us, int) or not 0 <= t_us <= max(self._tick_us, 0):
            raise ControlError(
                f"done with tick {t_us!r:.20} is not possible: give the number of "
                "the last tick, t_us"
            )
        client.done = t_us
        if t_us == self._tick_us:
            client.misses = 0

    def _subscribe(self, client: _Client, request: dict[str, Any]) -> None:
        tables = request.get("tables", [])
        if not isinstance(tables, list) or not all(name in TABLES for name in tables):
            raise ControlError(f"tables has to be a list of {' and '.join(TABLES)}")
        client.subscribed, client.barrier = True, request.get("barrier") is True
        client.truth = request.get("truth") is not False
        client.tables = [name for name in TABLES if name in tables]

    def _refuse(self, client: _Client, why: str, code: str = "") -> None:
        self._send(client, {"ok": False, "error": why, **({"code": code} if code else {})})

    def _send(self, client: _Client, line: dict[str, Any]) -> None:
        try:
            client.sock.settimeout(SEND_S)  # one that does not read must not block the simulation
            client.sock.sendall(json.dumps(line).encode() + b"\n")
        except OSError as error:
            self._drop(client)
            if isinstance(error, TimeoutError):
                self.warn(
                    f"a client of the control socket did not read for {SEND_S:g} s: "
                    "its connection is closed"
                )

    def _drop(self, client: _Client) -> None:
        client.sock.close()
        self._clients.pop(client.sock, None)


class ControlClient:
    """The client's end, for the command line, the bridge and tests.

    Attributes:
        tables: Names and states (P, 13) by table, as they came with the last tick.
    """

    def __init__(self, instance: int | None = None, timeout: float = 5.0) -> None:
        """Connects to a simulation on 127.0.0.1.

        Args:
            instance: Instance of the simulation; None = the environment's.
            timeout: For each answer [s].

        Raises:
            ControlError: Nothing listens there.
        """
        port = (ports.Ports() if instance is None else ports.Ports(instance)).control
        try:
            self._sock = socket.create_connection(("127.0.0.1", port), timeout)
        except OSError as error:
            raise ControlError(
                f"no simulation answers on control port {port}: start one with "
                "'xtdrone sim' or roslaunch"
            ) from error
        self._sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._buffer = b""
        self._ticks: list[dict[str, Any]] = []
        self.tables: dict[str, tuple[list[str], np.ndarray]] = {}

    def fileno(self) -> int:
        """Returns the file number, for select() and epoll."""
        return self._sock.fileno()

    def request(self, op: str, **values: Any) -> dict:  # values of JSON
        """Asks and returns the answer.

        Raises:
            ControlError: The simulation refused, is gone, or does not answer in time.
        """
        self.ask(op, **values)
        return self.answer()

    def ask(self, op: str, **values: Any) -> None:  # values of JSON
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
                raise ControlError(
                    line.get("error", "the simulation refused"), line.get("code", "")
                )

    def ready(self, timeout: float) -> bool:
        """Returns whether next_tick() has something to read, at once or within the time-out [s]."""
        if self._ticks or b"\n" in self._buffer:
            return True
        return bool(_readable([self._sock], timeout))

    def next_tick(self) -> "tuple[int, np.ndarray]":
        """The next (t_us, truth (N, 13)) after `subscribe`; waits up to the time-out.

        Raises:
            ControlError: The simulation is gone or sends none.
        """
        line = self._next_line()
        self.tables = {
            name: (line[name]["names"], unpack(line[name]["states"]))
            for name in TABLES
            if name in line
        }
        return line["tick"], unpack(line["truth"])

    def next_time(self) -> int:
        """The t_us of the next tick after `subscribe`, with truth: false or not; waits as well.

        Raises:
            ControlError: The simulation is gone or sends none.
        """
        return self._next_line()["tick"]

    def _next_line(self) -> dict[str, Any]:
        return self._ticks.pop(0) if self._ticks else self._line()

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
                raise ControlError(
                    "the simulation does not answer: it may be starting, or paused"
                ) from error
            except OSError as error:
                raise ControlError("the simulation has ended") from error
            if not data:
                raise ControlError("the simulation has ended")
            self._buffer += data
        line, self._buffer = self._buffer.split(b"\n", 1)
        return json.loads(line)
