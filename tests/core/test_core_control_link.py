"""The control socket against clients that send nonsense, come in numbers, or go deaf."""

import json
import socket
import time

import pytest

from own_ports import PORTS
from xtdrone_core import ControlError, FleetState
from xtdrone_core.runs import control_link
from xtdrone_core.runs.control_link import (
    LONGEST,
    MAX_CLIENTS,
    MISSES,
    ControlServer,
    read_request,
    unpack,
)

STATE = FleetState.zeros(2, 4)


class Client:
    """A raw connection."""

    def __init__(self, server):
        self.server = server
        self.sock = socket.create_connection(("127.0.0.1", PORTS.control))
        self.sock.settimeout(5.0)
        self.file = self.sock.makefile("rb")
        poll(server)

    def say(self, data):
        """Sends bytes, or a request."""
        self.sock.sendall(data if isinstance(data, bytes) else json.dumps(data).encode() + b"\n")
        poll(self.server)

    def hear(self):
        """The next line; None where the connection is closed."""
        try:
            line = self.file.readline()
        except ConnectionError:
            line = b""
        return json.loads(line) if line else None


def echo(op, request):
    if op == "fail":
        raise ControlError("no")
    return {"op": op}


def poll(server):
    for timeout in (1.0, 0.0, 0.0):
        server.poll(echo, timeout)


@pytest.fixture
def server():
    made = ControlServer(PORTS.control)
    made.warnings = []
    made.warn = made.warnings.append
    yield made
    made.close()


@pytest.mark.parametrize(
    "line",
    [
        b'{"op": "done", "t_us": 1e999}',
        b'{"op": "speed", "speed": NaN}',
        b'{"op": "x", "y": -1e999}',
        b'{"op": "x", "y": [Infinity]}',
        b'{"op": "x", "y": 9007199254740993}',
        b'{"op": "x", "y": ' + b"9" * 5000 + b"}",
    ],
)
def test_numbers_of_requests_are_finite_and_fit(line):
    with pytest.raises(ControlError, match=r"is not allowed in a request: give finite numbers"):
        read_request(line)


@pytest.mark.parametrize(
    "line",
    [
        b"[" * 100_000,
        b'{"op": ' + b"[" * 100_000,
        b"",
        b"\xff\xfe",
        b"[]",
        b"3",
        b'"op"',
        b"{}",
        b'{"op": 3}',
        b'{"op": ["status"]}',
        b'{"op"',
    ],
)
def test_what_is_no_request_is_refused_with_an_example(line):
    with pytest.raises(ControlError, match="a request is a line of JSON like"):
        read_request(line)


@pytest.mark.parametrize(
    "request_",
    [
        {"op": "done", "t_us": 2**62},
        {"op": "done", "t_us": -1},
        {"op": "done"},
        {"op": "done", "t_us": "x"},
        {"op": "subscribe", "tables": 3},
        {"op": "subscribe", "tables": ["x"]},
        {"op": "subscribe", "tables": [[]]},
        {"op": "fail"},
    ],
)
def test_a_bad_request_is_answered_and_the_next_one_too(server, request_):
    client = Client(server)
    client.say(request_)
    assert client.hear()["ok"] is False
    client.say({"op": "status"})
    assert client.hear() == {"ok": True, "op": "status"}


def test_a_thousand_connections_leave_those_that_ask(server):
    genuine = Client(server)
    genuine.say({"op": "status"})
    genuine.hear()
    strangers = []
    for _ in range(1000):
        strangers.append(socket.create_connection(("127.0.0.1", PORTS.control)))
        server.poll(echo)
    late = Client(server)
    late.say({"op": "status"})
    genuine.say({"op": "status"})
    assert late.hear()["ok"] and genuine.hear()["ok"]
    assert server.connections <= MAX_CLIENTS
    for stranger in strangers:
        stranger.close()


def test_where_all_have_asked_the_next_one_is_told(server):
    clients = [Client(server) for _ in range(MAX_CLIENTS)]
    for client in clients:
        client.say({"op": "status"})
    late = Client(server)
    assert "64 connections already: close one" in late.hear()["error"]
    assert late.hear() is None
    clients[0].say({"op": "status"})
    assert clients[0].hear()["ok"]


def test_a_request_without_end_is_cut_off(server):
    client = Client(server)
    client.sock.setblocking(False)
    sent = 0
    while sent <= 2 * LONGEST and server.connections:
        try:
            sent += client.sock.send(b"x" * 65536)
        except BlockingIOError:
            pass
        except ConnectionError:
            break
        server.poll(echo)
    assert not server.connections and sent <= 2 * LONGEST


def test_a_flood_of_requests_does_not_hold_the_others_up(server):
    flood, other = Client(server), Client(server)
    flood.sock.sendall(b'{"op": "status"}\n' * 3000)
    other.sock.sendall(b'{"op": "status"}\n')
    answered = []
    server.poll(lambda op, request: answered.append(op), 0.1)
    server.poll(lambda op, request: answered.append(op), 0.1)
    assert len(answered) < 200
    assert other.hear()["ok"]


def test_the_barrier_gives_a_deaf_client_up_and_takes_it_back(server):
    deaf, good = Client(server), Client(server)
    for client in (deaf, good):
        client.say({"op": "subscribe", "barrier": True})
        client.hear()

    def tick(t_us, heard_by):
        server.tick(t_us, STATE)
        for client in heard_by:
            client.sock.sendall(json.dumps({"op": "done", "t_us": t_us}).encode() + b"\n")
        return server.barrier(t_us, echo, 0.05)

    assert tick(0, [deaf, good])
    assert [tick(k * 20_000, [good]) for k in range(1, MISSES + 1)] == [False] * MISSES
    assert len(server.warnings) == 1 and "did not take in 3 ticks in a row" in server.warnings[0]
    begin = time.process_time()
    assert all(tick(k * 20_000, [good]) for k in range(10, 60)) and server.has_barrier
    assert time.process_time() - begin < 2.0
    assert tick(2_000_000, [good, deaf])  # it has caught up
    server.poll(echo, 0.1)
    assert not tick(2_020_000, [good])
    assert len(server.warnings) == 1


def test_one_late_tick_now_and_then_is_no_deafness(server):
    client = Client(server)
    client.say({"op": "subscribe", "barrier": True})
    for k in range(1, 4 * MISSES):
        server.tick(k, STATE)
        if k % MISSES == 0:
            client.say({"op": "done", "t_us": k})
        assert server.barrier(k, echo, 0.01) == (k % MISSES == 0)
    assert server.warnings == []


def test_who_wants_the_time_alone_gets_no_truth(server):
    whole, time_alone = Client(server), Client(server)
    whole.say({"op": "subscribe"})
    time_alone.say({"op": "subscribe", "truth": False})
    for client in (whole, time_alone):
        client.hear()
    server.tick(20_000, STATE)
    assert time_alone.hear() == {"tick": 20_000}
    assert unpack(whole.hear()["truth"]).shape == (2, 13)


def test_who_does_not_read_is_let_go_with_a_warning(server, monkeypatch):
    monkeypatch.setattr(control_link, "SEND_S", 0.01)
    deaf = Client(server)
    deaf.say({"op": "subscribe"})
    for k in range(100_000):
        server.tick(k, STATE)
        if server.connections == 0:
            break
    assert server.connections == 0
    assert server.warnings == [
        "a client of the control socket did not read for 0.01 s: its connection is closed"
    ]
