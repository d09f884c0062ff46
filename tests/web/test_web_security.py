"""Hosts, origins, tokens, viewers, floods and half-open sockets."""

import http.client
import socket
import time
from urllib.parse import urlsplit

import aiohttp
import pytest

from xtdrone_web.server.guard import Guard


def get(station, path="/", **headers):
    connection = http.client.HTTPConnection(urlsplit(station.watch_url).netloc)
    connection.request("GET", path, headers=headers)
    answer = connection.getresponse()
    body = answer.read()
    connection.close()
    return answer, body.decode(errors="replace")


def test_page_has_a_policy_without_inline_scripts(station):
    answer, body = get(station)
    policy = answer.headers["Content-Security-Policy"]
    assert "default-src 'none'" in policy and "unsafe" not in policy
    assert "<style" not in body and "onclick" not in body
    assert body.count("<script") == body.count('<script type="module" src=')


def test_only_this_page_by_its_other_name_frames_the_gamepad(station):
    policy = get(station, "/gamepad")[0].headers["Content-Security-Policy"]
    port = urlsplit(station.watch_url).port
    names = f"http://127.0.0.1:{port} http://localhost:{port}"
    assert f"frame-ancestors {names}" in policy and "frame-src 'none'" in policy
    policy = get(station)[0].headers["Content-Security-Policy"]
    assert "frame-ancestors 'none'" in policy and f"frame-src {names}" in policy


def test_pages_without_frames_get_none(connect, station):
    client = connect(False)
    client.send(op="hello", token=station.token, frames=False)
    assert client.until(lambda m: isinstance(m, dict) and m["op"] == "scene")["pilot"] is True
    client.send(op="ping", t0=0.0)
    pong = client.until(lambda m: isinstance(m, bytes) or m["op"] == "pong")
    assert pong["sent"] == pong["dropped"] == 0


def test_other_hosts_and_origins_are_refused(station):
    answer, body = get(station, Host="evil.example:80")
    assert answer.status == 403 and "evil.example" in body and body.count("\n") == 1
    answer, body = get(station, "/socket", Origin="http://evil.example")
    assert answer.status == 403 and "origin" in body
    assert get(station, "/vehicle/none.glb")[0].status == 404
    assert get(station, "/static/../server/main.py")[0].status == 404


def test_socket_of_another_origin_is_refused(connect):
    with pytest.raises(aiohttp.WSServerHandshakeError):
        connect(Origin="http://evil.example")


def test_wrong_token_is_refused_with_a_line(connect):
    client = connect("wrong")
    refused = client.receive()
    assert refused["op"] == "refused" and "token" in refused["error"]
    assert client.receive() == "closed"


def test_first_message_has_to_be_a_hello(connect):
    client = connect(False)
    client.send(op="pause")
    assert "hello" in client.receive()["error"]


def test_viewers_look_and_do_not_command(connect, station):
    client = connect()
    assert client.until(lambda m: isinstance(m, dict) and m["op"] == "scene")["pilot"] is False
    client.until(lambda m: m == "frame")
    for op in ("pause", "arm", "takeoff", "reset", "param_set", "params", "stop"):
        answer = client.ask(op, vehicles=[0])
        assert answer["ok"] is False and "look" in answer["error"]
    client.send_bytes(bytes(28))
    client.until(lambda m: isinstance(m, dict) and m.get("op") == "error")
    assert station.control.request("status")["paused"] is False


@pytest.mark.parametrize(
    "message, says",
    [
        ({"op": "nonsense"}, "not known"),
        ({"op": "arm", "vehicles": [99]}, "0 to 2"),
        ({"op": "arm", "vehicles": "all"}, "0 to 2"),
        ({"op": "takeoff", "vehicles": [0], "height": 1e9}, "height"),
        ({"op": "takeoff", "vehicles": [0]}, "height"),
        ({"op": "goto", "vehicles": [0], "x": "1", "y": 2}, "x"),
        ({"op": "mode", "vehicles": [0], "mode": "FLY"}, "POSCTL"),
        ({"op": "failure", "vehicles": [0], "unit": "wings"}, "gps"),
        ({"op": "param_set", "vehicles": [0], "name": "", "value": 1}, "name"),
        ({"op": "param_set", "vehicles": [0], "name": "MPC_LAND_SPEED", "value": None}, "value"),
        ({"op": "wind", "wind": "much"}, "much"),
        ({"op": "wind", "wind": "field=/etc/passwd"}, "wind"),
        ({"op": "speed", "speed": -1}, "speed"),
        ({"op": "disturb", "disturbance": "hit x"}, "hit"),
        ({"op": "reset", "vehicles": ["nobody"]}, "nobody"),
    ],
)
def test_bad_input_gets_one_clear_line(connect, station, message, says):
    client = connect(station.token)
    answer = client.ask(**message)
    assert answer["ok"] is False and says in answer["error"] and "\n" not in answer["error"]


def test_what_is_no_message_is_said_to_be_none(connect, station):
    client = connect(station.token)
    client.send_text("[1, 2")
    error = client.until(lambda m: isinstance(m, dict) and m.get("op") == "error")
    assert "op" in error["error"]
    client.send_bytes(b"\1\2\3")
    client.until(lambda m: isinstance(m, dict) and "28 bytes" in m.get("error", ""))


def test_flood_and_half_open_sockets_do_not_slow_the_simulation(connect, station):
    address = urlsplit(station.watch_url)
    silent = [socket.create_connection((address.hostname, address.port)) for _ in range(40)]
    for k, sock in enumerate(silent):
        if k % 2:
            sock.sendall(b"GET /socket HTTP/1.1\r\nHost: ")
    try:
        client = connect(station.token)
        try:
            for _ in range(3000):
                client.send(op="ping", t0=0)
        except (ConnectionError, aiohttp.ClientError):
            pass
        deadline = time.monotonic() + 60
        while (message := client.receive()) != "closed":
            assert time.monotonic() < deadline
            if isinstance(message, dict) and message["op"] == "refused":
                assert "too many" in message["error"]
        # A new page is served at once, and the clock goes on.
        before = station.control.request("status")["t_us"]
        other = connect()
        other.until(lambda m: m == "frame" and other.frame[0]["t"] > before * 1e-6)
    finally:
        for sock in silent:
            sock.close()


def test_slow_page_gets_the_newest_frame_and_no_queue(connect, station):
    client = connect()
    client.until(lambda m: m == "frame")
    begin = station.control.request("status")["t_us"]
    while station.control.request("status")["t_us"] < begin + 1_000_000:
        pass  # without reading meanwhile
    other = connect()
    other.until(lambda m: m == "frame")
    assert other.frame[0]["t"] >= begin * 1e-6


@pytest.mark.parametrize(
    "host, refused",
    [
        ("192.168.1.5:99", ""),
        ("10.0.0.1:99", ""),
        ("evil.example:99", "host"),
        ("10.0.0.1:98", "host"),
        ("localhost:99", ""),
        ("", "host"),
        (None, "host"),
        ("1.2.3.evil:99", "host"),
    ],
)
def test_every_address_but_no_other_name(host, refused):
    guard = Guard("secret", "0.0.0.0", 99)
    assert refused in guard.host_refused(host) and bool(guard.host_refused(host)) == bool(refused)
    assert guard.is_pilot("secret") and not guard.is_pilot(None) and not guard.is_pilot("é")
