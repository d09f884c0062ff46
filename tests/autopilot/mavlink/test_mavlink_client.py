"""The command line's client on a vehicle's UDP link."""

import contextlib
import socket
import threading

import pytest

from own_ports import PORTS
from xtdrone_autopilot.errors import AutopilotError
from xtdrone_autopilot.mavlink.client import Client
from xtdrone_core.mavlink.dialect import mavlink


class FirstAlone(threading.Thread):
    """A vehicle that answers, as real PX4, only the address that spoke to it first."""

    def __init__(self):
        super().__init__(daemon=True)
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.socket.bind(("127.0.0.1", PORTS.ground_station_local(0)))
        self.start()

    def run(self):
        beat = mavlink.MAVLink_heartbeat_message(2, 12, 0, 0, 3, 3)
        beat = beat.pack(mavlink.MAVLink(None, 1, 1))
        partner = None
        while (address := self.socket.recvfrom(65536)[1])[1] != PORTS.ground_station_local(0):
            partner = partner or address
            with contextlib.suppress(ConnectionRefusedError):
                self.socket.sendto(beat, partner)

    def close(self):
        self.socket.sendto(b"", ("127.0.0.1", PORTS.ground_station_local(0)))
        self.join()
        self.socket.close()


@pytest.fixture
def vehicle():
    thread = FirstAlone()
    yield thread
    thread.close()


def test_one_after_the_other_has_the_same_address(vehicle):
    for _ in range(3):
        Client(1, PORTS).close()


def test_a_ground_station_that_is_there_is_named(monkeypatch):
    monkeypatch.setattr(Client, "is_there", lambda self: False)  # without its time-out
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as station:
        station.bind(("127.0.0.1", PORTS.ground_station))
        with pytest.raises(AutopilotError, match=f"has UDP port {PORTS.ground_station}: end"):
            Client(1, PORTS)
