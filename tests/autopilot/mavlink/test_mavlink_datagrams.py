"""A fleet's stream read as libmavconn reads it: at most 296 bytes of each datagram."""

import contextlib
import itertools
import socket

import numpy as np
import pytest

from own_ports import PORTS
from xtdrone_autopilot.mavlink.datagrams import LARGEST, Sender
from xtdrone_autopilot.mavlink.frames import frame_crc
from xtdrone_autopilot.parameters.store import listed
from xtdrone_core import Scenario
from xtdrone_core.mavlink.dialect import mavlink
from xtdrone_core.mavlink.framing import FrameStream, frames
from xtdrone_core.scenario.vehicles import fleet
from xtdrone_sim.simulation import Simulation

READ = 296  # bytes that libmavconn takes of a datagram
N = 100
WITH_PARAMETERS = (0, 57, 99)  # vehicles that are asked for all of them
ITEMS = 3  # of each vehicle's mission


class Client:
    """One vehicle's offboard client, which answers the vehicle's requests for mission items."""

    def __init__(self, i):
        self._i = i
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._socket.bind(("127.0.0.1", 0))
        self._socket.setblocking(False)
        self._encoder = mavlink.MAVLink(None, 255, 190)
        self._decoder = mavlink.MAVLink(None)
        self._stream = FrameStream()
        self.sequence, self.lost, self.longest = None, 0, 0
        self.parameters, self.answers = set(), []

    def send(self, message):
        self._socket.sendto(
            message.pack(self._encoder), ("127.0.0.1", PORTS.offboard_local(self._i))
        )

    def read(self):
        with contextlib.suppress(BlockingIOError):
            while data := self._socket.recv(READ):
                self.longest = max(self.longest, len(data))
                for frame in self._stream.feed(data):
                    self._take(data, frame)

    def _take(self, data, frame):
        number = data[frame.start + 4]
        if self.sequence is not None:
            self.lost += (number - self.sequence - 1) % 256
        self.sequence = number
        if frame.message_id in _HANDLED:
            message = self._decoder.decode(bytearray(data[frame.start : frame.end]))
            getattr(self, f"_{message.get_type().lower()}")(message)

    def _param_value(self, m):
        self.parameters.add(m.param_id)

    def _command_ack(self, m):
        self.answers.append((m.command, m.result))

    def _mission_request_int(self, m):
        self.send(
            mavlink.MAVLink_mission_item_int_message(
                self._i + 1,
                1,
                m.seq,
                6,
                mavlink.MAV_CMD_NAV_WAYPOINT,
                0,
                1,
                0,
                0,
                0,
                0,
                473977420,
                85455940,
                10 + m.seq,
                0,
            )
        )

    def _mission_ack(self, m):
        self.answers.append(("mission", m.type))

    @property
    def broken(self):
        return self._stream.garbage

    def close(self):
        self._socket.close()


_HANDLED = {
    mavlink.MAVLINK_MSG_ID_PARAM_VALUE,
    mavlink.MAVLINK_MSG_ID_COMMAND_ACK,
    mavlink.MAVLINK_MSG_ID_MISSION_REQUEST_INT,
    mavlink.MAVLINK_MSG_ID_MISSION_ACK,
}


@pytest.mark.slow
def test_a_reader_of_296_bytes_loses_nothing_of_100_vehicles():
    simulation = Simulation(Scenario(fleet("iris", N), speed=0.0), None, links=True)
    clients = [Client(i) for i in range(N)]
    try:
        simulation.run(until_us=2_000_000)
        for client in clients:
            client.send(
                mavlink.MAVLink_heartbeat_message(
                    mavlink.MAV_TYPE_GCS, mavlink.MAV_AUTOPILOT_INVALID, 0, 0, 4, 3
                )
            )
            client.send(mavlink.MAVLink_mission_count_message(0, 1, ITEMS, 0))
            client.send(
                mavlink.MAVLink_command_long_message(
                    0,
                    1,
                    mavlink.MAV_CMD_SET_MESSAGE_INTERVAL,
                    0,
                    mavlink.MAVLINK_MSG_ID_ODOMETRY,
                    20_000,
                    0,
                    0,
                    0,
                    0,
                    0,
                )
            )
        for i in WITH_PARAMETERS:
            clients[i].send(mavlink.MAVLink_param_request_list_message(i + 1, 1))
        end = simulation.t_us + 1_500_000
        while simulation.t_us < end or any(
            len(clients[i].parameters) <= len(listed()) for i in WITH_PARAMETERS
        ):
            simulation.run(until_us=simulation.t_us + 20_000)
            assert simulation.t_us < 30_000_000
            for client in clients:
                client.read()
    finally:
        for client in clients:
            client.close()
        simulation.close()
    assert max(client.longest for client in clients) <= LARGEST
    assert sum(client.lost for client in clients) == 0
    assert sum(client.broken for client in clients) == 0
    wanted = {
        (mavlink.MAV_CMD_SET_MESSAGE_INTERVAL, mavlink.MAV_RESULT_ACCEPTED),
        ("mission", mavlink.MAV_MISSION_ACCEPTED),
    }
    assert all(set(client.answers) == wanted for client in clients)
    assert all(
        {*listed(), "_HASH_CHECK"}
        <= clients[i].parameters
        <= {*listed(mission_checked=True), "_HASH_CHECK"}
        for i in WITH_PARAMETERS
    )


@pytest.fixture
def ends():
    """Two UDP sockets, to send from and to receive at."""
    with (
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as near,
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as far,
    ):
        for end in (near, far):
            end.bind(("127.0.0.1", 0))
        far.setblocking(False)
        yield near, far


@pytest.mark.slow
def test_a_datagram_has_as_many_whole_frames_as_fit(ends):
    near, far = ends
    encoder = mavlink.MAVLink(None, 1, 1)
    packed = [
        mavlink.MAVLink_statustext_message(6, b"x" * size).pack(encoder)
        for size in (50, 1, 50, 50, 50, 50, 7, 50)
    ]
    packed.append(
        mavlink.MAVLink_file_transfer_protocol_message(0, 1, 1, b"\1" * 251).pack(encoder)
    )
    data = np.frombuffer(b"".join(packed), dtype=np.uint8)
    sender = Sender(1, 2)
    sender.sockets[0] = near.fileno()
    sender.set_addresses(0, [far.getsockname(), ("127.0.0.1", 9)])
    sender.send(data[None], np.array([len(data)]))
    datagrams = []
    with contextlib.suppress(BlockingIOError):
        while True:
            datagrams.append(far.recv(65536))
    assert b"".join(datagrams) == data.tobytes()
    assert sum(len(list(frames(datagram))) for datagram in datagrams) == len(packed)
    for datagram, following in itertools.pairwise(datagrams):
        assert len(datagram) <= LARGEST < len(datagram) + next(frames(following)).end


@pytest.mark.parametrize("size", [*range(1, 26), 255, 264])
def test_checksum_of_any_length_is_that_of_pymavlink(size):
    data = np.random.default_rng(size).integers(0, 256, size + 3, dtype=np.uint8)
    expected = mavlink.x25crc(data[2 : 2 + size].tobytes() + bytes([data[0]])).crc
    assert frame_crc(data, 2, 2 + size, int(data[0])) == expected
