"""Frames out of datagrams, sockets of a fleet, and answers waited for."""

import socket
import threading

import pytest
from pymavlink.dialects.v20 import common as mavlink

from own_ports import PORTS
from xtdrone_mavros import mavlink_link
from xtdrone_mavros.errors import MavrosError
from xtdrone_mavros.mavlink_link import FleetLink
from xtdrone_mavros.requests import Requests


def packed(message, system=1):
    return bytes(message.pack(mavlink.MAVLink(None, system, 1)))


HEARTBEAT = packed(mavlink.MAVLink_heartbeat_message(2, 12, 81, 393216, 4, 3), 2)
POSITION = packed(mavlink.MAVLink_local_position_ned_message(5, 1.0, 2.0, 3.0, 0, 0, 0), 3)


@pytest.fixture
def link_ports():
    """The vehicle's end of the link, and the address of the other one."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        sock.bind(("127.0.0.1", PORTS.bridge_local(0)))
        sock.settimeout(0.05)
        yield sock, ("127.0.0.1", PORTS.bridge)


def test_port_in_use_is_one_clear_line(link_ports):
    first = FleetLink(1)
    with pytest.raises(MavrosError, match="in use.*stop it first"):
        FleetLink(1)
    first.close()
    first.close()


class Answering(threading.Thread):
    """A vehicle that gives prepared answers to each kind of message."""

    def __init__(self, sock, address, answers):
        super().__init__(daemon=True)
        self.sock, self.address, self.answers = sock, address, answers
        self.heard = []
        self.ended = False
        self.parser = mavlink.MAVLink(None)

    def run(self):
        encoder = mavlink.MAVLink(None, 1, 1)
        while not self.ended:
            try:
                data = self.sock.recv(4096)
            except TimeoutError:
                continue
            for message in self.parser.parse_buffer(data) or ():
                self.heard.append(message)
                for answer in self.answers(message):
                    self.sock.sendto(answer.pack(encoder), self.address)


@pytest.fixture
def ask(link_ports):
    """ask(answers) gives the Requests of a link to a vehicle that answers so."""
    sock, bridge = link_ports
    link = FleetLink(1)
    stop, vehicles = threading.Event(), []

    def receive():
        while not stop.wait(0.001):
            list(link.receive(link.datagrams()))

    reader = threading.Thread(target=receive, daemon=True)
    reader.start()

    def start(answers, part_wait_s=20.0, **waits):  # longer than a busy machine stalls
        vehicle = Answering(sock, bridge, answers)
        vehicles.append(vehicle)
        vehicle.start()
        return Requests(link, 0, part_wait_s=part_wait_s, **waits), vehicle

    yield start
    stop.set()
    reader.join()
    for vehicle in vehicles:
        vehicle.ended = True
        vehicle.join()
    link.close()


@pytest.mark.parametrize("result", [mavlink.MAV_RESULT_ACCEPTED, mavlink.MAV_RESULT_DENIED])
def test_command_waits_for_its_own_acknowledgement(ask, result):
    def answers(m):
        if m.get_type() == "COMMAND_LONG":
            yield mavlink.MAVLink_command_ack_message(999, 0)  # of another command
            yield mavlink.MAVLink_command_ack_message(m.command, 0, target_system=77)  # for others
            yield mavlink.MAVLink_command_ack_message(m.command, mavlink.MAV_RESULT_IN_PROGRESS)
            yield mavlink.MAVLink_command_ack_message(
                m.command, result, target_system=mavlink_link.SYSTEM_ID
            )

    asked, vehicle = ask(answers)
    assert asked.command_long(400, (1, 0, 0, 0, 0, 0, 0), 1) == result
    sent = vehicle.heard[0]
    assert (sent.command, sent.param1, sent.target_system, sent.confirmation) == (400, 1.0, 1, 1)
    assert sent.get_srcSystem() == mavlink_link.SYSTEM_ID


def test_command_without_an_answer_fails(ask):
    asked, _ = ask(lambda m: (), ack_wait_s=0.05)
    assert asked.command_long(400, (1,) + (0,) * 6) == mavlink.MAV_RESULT_FAILED


def test_parameters_of_both_types(ask):
    store = {
        "MPC_XY_VEL_MAX": [12.0, mavlink.MAV_PARAM_TYPE_REAL32],
        "COM_OBL_ACT": [5, mavlink.MAV_PARAM_TYPE_INT32],
        "NEGATIVE": [-3, mavlink.MAV_PARAM_TYPE_INT32],
    }
    import struct

    def value_of(name):
        value, kind = store[name]
        if kind == mavlink.MAV_PARAM_TYPE_INT32:
            value = struct.unpack("<f", struct.pack("<i", value))[0]
        return mavlink.MAVLink_param_value_message(
            name.encode(), value, kind, len(store), list(store).index(name)
        )

    def answers(m):
        if m.get_type() == "PARAM_REQUEST_LIST":
            yield from map(value_of, list(store)[1:])  # one is lost on the way
        elif m.get_type() == "PARAM_REQUEST_READ":
            name = m.param_id if m.param_index < 0 else list(store)[m.param_index]
            if name in store:
                yield value_of(name)
        elif m.get_type() == "PARAM_SET":
            kind = store[m.param_id][1]
            if m.param_type != kind:
                return  # PX4 is silent then
            value = m.param_value
            if kind == mavlink.MAV_PARAM_TYPE_INT32:
                value = struct.unpack("<i", struct.pack("<f", value))[0]
            store[m.param_id][0] = value
            yield value_of(m.param_id)

    asked, _ = ask(answers)
    assert asked.param_get("MPC_XY_VEL_MAX") == 12.0
    assert asked.param_get("COM_OBL_ACT") == 5
    assert asked.param_set("MPC_XY_VEL_MAX", 0, 8.5) == (True, 8.5)
    assert asked.param_set("COM_OBL_ACT", 4, 0.0) == (True, 4)
    assert asked.param_set("NEGATIVE", -7, 0.0) == (True, -7)
    asked, _ = ask(answers, part_wait_s=0.2)  # it waits for the one that is lost
    assert asked.param_set("MPC_XY_VEL_MAX", 9, 0.0) == (False, 8.5)  # not an integer: no answer
    assert asked.param_pull() == 3
    assert asked.params["NEGATIVE"][0] == -7
    assert isinstance(asked.params["COM_OBL_ACT"][0], int)


def test_mission_there_and_back(ask):
    held = []

    def answers(m):
        kind = m.get_type()
        if kind == "MISSION_COUNT":
            held[:] = [None] * m.count
            yield mavlink.MAVLink_mission_request_int_message(240, 191, 0, 0)
        elif kind == "MISSION_ITEM_INT":
            held[m.seq] = m
            if m.seq + 1 < len(held):
                yield mavlink.MAVLink_mission_request_int_message(240, 191, m.seq + 1, 0)
            else:
                yield mavlink.MAVLink_mission_ack_message(240, 191, 0, 0)
        elif kind == "MISSION_REQUEST_LIST":
            yield mavlink.MAVLink_mission_count_message(240, 191, len(held), 0)
        elif kind == "MISSION_REQUEST_INT":
            yield held[m.seq]
        elif kind == "MISSION_CLEAR_ALL":
            held.clear()
            yield mavlink.MAVLink_mission_ack_message(240, 191, 0, 0)
        elif kind == "MISSION_SET_CURRENT":
            yield mavlink.MAVLink_mission_current_message(m.seq)

    asked, _ = ask(answers)
    items = [
        dict(
            frame=6,
            command=16,
            current=0,
            autocontinue=1,
            param1=0,
            param2=0,
            param3=0,
            param4=0,
            x=475000000 + k,
            y=85000000,
            z=10.0,
        )
        for k in range(3)
    ]
    assert asked.mission_push(items, 0) == (True, 3)
    assert [item.x for item in asked.mission_pull(0)] == [475000000 + k for k in range(3)]
    assert asked.mission_set_current(2)
    assert asked.mission_clear(0)
    assert asked.mission_pull(0) == []
