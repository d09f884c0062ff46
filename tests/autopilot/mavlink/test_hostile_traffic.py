"""Whatever comes in on a link: nothing crashes, nothing is obeyed that should not be."""

import math
import random
import socket
import struct

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from pymavlink.dialects.v20 import common as mavlink
from pyulog import ULog

from own_ports import PORTS
from xtdrone_autopilot.parameters import store as parameters
from xtdrone_core import Scenario
from xtdrone_core.runs import run_folder
from xtdrone_core.scenario.vehicles import fleet
from xtdrone_sim.simulation import Simulation

BAD = (math.nan, math.inf, -math.inf)
LARGEST = {
    "float": 3e38,
    "double": 1e308,
    "int8_t": 127,
    "uint8_t": 255,
    "char": 255,
    "int16_t": 32767,
    "uint16_t": 65535,
    "int32_t": 2**31 - 1,
    "uint32_t": 2**32 - 1,
    "int64_t": 2**63 - 1,
    "uint64_t": 2**64 - 1,
}


class Client:
    """A socket that speaks to one vehicle's offboard link, and a packer of frames."""

    def __init__(self, vehicle, system=255):
        self.sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.sock.bind(("127.0.0.1", 0))
        self.sock.setblocking(False)
        self.address = ("127.0.0.1", PORTS.offboard_local(vehicle))
        self.pack = mavlink.MAVLink(None, system, 190)
        self._parser = mavlink.MAVLink(None)
        self._parser.robust_parsing = True

    def send(self, message):
        """Sends a message, or bytes as they are."""
        data = message if isinstance(message, bytes) else message.pack(self.pack)
        self.sock.sendto(data, self.address)

    def receive(self, kind=None):
        """Every message (of one kind) that has come back so far."""
        found = []
        while True:
            try:
                data = self.sock.recv(65536)
            except BlockingIOError:
                return found
            found += [
                m
                for m in self._parser.parse_buffer(data) or ()
                if kind is None or m.get_type() == kind
            ]


class World:
    """Two vehicles that are stepped by the test, a client of each."""

    def __init__(self, folder):
        run_folder.prepare(folder)
        self.folder = folder
        self.simulation = Simulation(Scenario(fleet("iris", 2), speed=0.0), folder, links=True)
        self.autopilot = self.simulation.autopilot
        self.said = []
        tell = self.autopilot.outbox.on_text
        self.autopilot.outbox.on_text = lambda i, severity, text: (
            self.said.append(text),
            tell(i, severity, text),
        )
        self.first, self.second = Client(0), Client(1)

    def steps(self, n=5):
        """n steps of 4 ms."""
        for _ in range(n):
            self.simulation.step()

    def state(self):
        """What no hostile message may change: parameters, and all but the clock of the vehicles."""
        status = self.autopilot.status
        names = (
            "mode",
            "armed",
            "failsafe",
            "home_set",
            "offboard_kind",
            "offboard_pos",
            "offboard_vel",
            "offboard_quat",
            "offboard_rates",
            "offboard_thrust",
            "target_speed",
            "stick_forward",
            "stick_up",
        )
        return (
            self.autopilot.parameters.values.tobytes(),
            tuple(status[name].tobytes() for name in names),
        )

    def close(self):
        self.first.sock.close()
        self.second.sock.close()
        self.simulation.close()


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    """A fleet at rest that is ready to fly, with its logs."""
    made = World(tmp_path_factory.mktemp("world"))
    made.steps(500)
    assert made.autopilot.status["ready"].all()
    yield made
    made.close()


def answered(world, client):
    """Whether the vehicle still answers a ping."""
    client.receive()
    client.send(mavlink.MAVLink_ping_message(0, 7, 0, 0))
    world.steps(6)
    return any(m.seq == 7 for m in client.receive("PING"))


def _message(name, number):
    """A message with `number` in every field, as far as its type holds it."""
    kind = mavlink.mavlink_map[name]
    values = []
    for _field, type_, length in zip(kind.fieldnames, kind.fieldtypes, _lengths(kind)):
        if type_ == "char":
            values.append(b"\xff" * length if length else 255)
            continue
        value = number if type_ in ("float", "double") else LARGEST[type_]
        values.append([value] * length if length else value)
    return kind(*values)


def _lengths(kind):
    by_name = dict(zip(kind.ordered_fieldnames, kind.array_lengths))
    return [by_name[field] for field in kind.fieldnames]


@pytest.mark.slow
@pytest.mark.parametrize("number", [*BAD, 3e38, -3e38])
def test_no_number_crashes_or_is_obeyed(world, number):
    """Each message that has a handler, with this number in every field."""
    world.said.clear()
    for name in world.autopilot.handlers.names:
        before = world.state()
        message = _message(getattr(mavlink, f"MAVLINK_MSG_ID_{name}"), number)
        for field, value in (
            ("target_system", 1),
            ("target_component", 1),
            ("target", 1),
            ("type_mask", 0),
            ("coordinate_frame", 1),
            ("group_mlx", 0),
        ):
            if hasattr(message, field):
                setattr(message, field, value)
        world.first.send(message)
        assert answered(world, world.first), name
        assert world.state() == before, name
        assert np.isfinite(world.autopilot.estimator.pos).all(), name
    assert not [text for text in world.said if "failed" in text]


@pytest.mark.parametrize(
    "message, result",
    [
        ((511, 30, 1e30), 2),
        ((511, 30, 3e9), 2),
        ((511, 30, -1e30), 2),
        ((510, 1e30), 2),
        ((178, 0, math.inf), 2),
        ((192, 1e30), 2),
        ((511, 30, 2e9), 0),
        ((510, 30), 0),
    ],
)
def test_parameters_of_commands_have_limits(world, message, result):
    """SET_MESSAGE_INTERVAL of 1e30 us overflowed; 3e9 us did so when it was asked for."""
    world.first.receive()
    world.first.send(
        mavlink.MAVLink_command_long_message(
            1, 1, message[0], 0, *message[1:], *[0] * (8 - len(message))
        )
    )
    world.steps(6)
    assert [m.result for m in world.first.receive("COMMAND_ACK")] == [result]


def test_a_handler_that_fails_costs_its_message_and_a_line(world, monkeypatch):
    def fail(link, message):
        raise OverflowError("too large")

    world.said.clear()
    monkeypatch.setitem(world.autopilot.handlers.handlers, "DEBUG", fail)
    for _ in range(3):
        world.first.send(mavlink.MAVLink_debug_message(0, 1, 2.0))
    assert answered(world, world.first) and answered(world, world.second)
    said = [text for text in world.said if "DEBUG failed" in text]
    assert len(said) == 3 and "OverflowError: too large (test_hostile_traffic.py" in said[0]


@pytest.mark.slow
def test_strangers_do_not_push_a_client_off_its_link(world):
    ping = mavlink.MAVLink_ping_message(0, 1, 0, 0)
    strangers = [Client(0, 100 + k) for k in range(20)]
    world.first.send(ping)
    for _ in range(50):
        world.first.receive()
        world.first.send(ping)
        for stranger in strangers:
            stranger.send(ping)
        world.steps(10)
        assert world.first.receive("ATTITUDE_QUATERNION")
        assert all(
            any(m.target_system for m in stranger.receive("PING"))  # and all get answers
            for stranger in strangers
        )
    world.first.send(ping)
    world.steps(1000)  # 4 s: whoever falls silent makes room
    newcomer = Client(0, 99)
    newcomer.send(ping)
    world.steps(10)
    assert newcomer.receive("ATTITUDE_QUATERNION")
    for one in (*strangers, newcomer):
        one.sock.close()


@pytest.mark.parametrize(
    "command",
    sorted(k for k in mavlink.enums["MAV_CMD"] if k < 3100)[::7]
    + [16, 20, 21, 22, 176, 178, 179, 192, 245, 300, 400, 511, 512],
)
@pytest.mark.parametrize("number", BAD)
def test_no_command_obeys_what_is_not_a_number(world, command, number):
    if command in (20, 21):
        pytest.skip("RTL and LAND read no parameter, so there is nothing to refuse")
    before = world.autopilot.parameters.values.tobytes()
    armed = world.autopilot.status["armed"].copy()
    world.first.send(mavlink.MAVLink_command_long_message(1, 1, command, 0, *[number] * 7))
    assert answered(world, world.first)
    assert world.autopilot.parameters.values.tobytes() == before
    assert (world.autopilot.status["armed"] == armed).all()
    for name in ("home", "target_speed", "takeoff_height"):
        assert not np.isinf(world.autopilot.status[name]).any()


def test_what_is_meant_for_others_is_ignored(world):
    before = world.state()
    for system in (2, 3, 250):
        world.first.send(mavlink.MAVLink_param_set_message(system, 1, b"MPC_XY_CRUISE", 9.0, 9))
        world.first.send(
            mavlink.MAVLink_command_long_message(system, 1, 400, 0, 1, 21196, *[0] * 5)
        )
    world.first.send(mavlink.MAVLink_param_set_message(1, 100, b"MPC_XY_CRUISE", 9.0, 9))
    world.steps()
    assert world.state() == before


def cruise_change(world):
    """The bytes of a message that vehicle 1 would obey."""
    message = mavlink.MAVLink_param_set_message(1, 1, b"MPC_XY_CRUISE", 9.0, 9)
    return message.pack(world.first.pack)


def test_the_message_of_the_next_tests_would_be_obeyed(world):
    values = world.autopilot.parameters.values
    world.first.send(cruise_change(world))
    world.steps()
    assert values["MPC_XY_CRUISE"].tolist() == [9.0, 5.0]
    values["MPC_XY_CRUISE"] = 5.0


def test_a_wrong_checksum_is_not_obeyed(world):
    before = world.state()
    frame = cruise_change(world)
    for k in range(1, len(frame)):
        broken = bytearray(frame)
        broken[k] ^= 0x10
        world.first.send(bytes(broken))
        world.steps(1)
    assert world.state() == before
    assert answered(world, world.first)


def test_a_truncated_message_does_not_swallow_the_next(world):
    frame = cruise_change(world)
    before = world.state()
    for cut in range(1, len(frame)):
        world.first.send(frame[:cut])
        assert answered(world, world.first), cut
    assert world.state() == before


def test_garbage_before_a_message_does_not_hide_it(world):
    ping = mavlink.MAVLink_ping_message(0, 9, 0, 0).pack(world.first.pack)
    for garbage in (b"\xfd", b"\xfe\xff", b"\xfd\xff\x00\x00\x00\x01\x01", b"\x00" * 40):
        world.first.receive()
        world.first.send(garbage + ping)
        world.steps(6)
        pings = world.first.receive("PING")  # the vehicle sends some of its own, to everyone
        assert [m.seq for m in pings if m.target_system] == [9]


@pytest.mark.parametrize("seed", range(5))
def test_random_bytes_do_nothing(world, seed):
    rng = random.Random(seed)
    before = world.state()
    for _ in range(60):
        size = rng.choice([0, 1, 2, 8, 12, 40, 280, 1400, 9000])
        start = rng.choice([b"", b"\xfd", b"\xfe", struct.pack("<BB", 0xFD, rng.randrange(256))])
        world.first.send(start + rng.randbytes(size))
    world.steps(10)
    assert world.state() == before
    assert answered(world, world.first)


def test_unknown_message_ids_are_left_out(world):
    before = world.state()
    for number in (5000, 65535, 0xFFFFFF):
        world.first.send(
            struct.pack("<BBBBBBBHB", 0xFD, 4, 0, 0, 0, 255, 190, number & 0xFFFF, number >> 16)
            + b"abcd"
            + b"\x12\x34"
        )
    world.steps()
    assert world.state() == before
    assert answered(world, world.first)


@pytest.mark.slow
def test_a_flood_to_one_vehicle_leaves_the_other_its_rates(world):
    world.second.send(mavlink.MAVLink_ping_message(0, 1, 0, 0))
    world.steps(10)
    world.second.receive()
    no_number = mavlink.MAVLink_param_set_message(1, 1, b"MPC_Z_P", math.nan, 9)
    flood = [
        no_number.pack(world.first.pack),
        b"\xfd" * 300,
        mavlink.MAVLink_ping_message(0, 3, 0, 0).pack(world.first.pack),
    ]
    count = 0
    for _step in range(250):  # one simulated second, 10,000 datagrams
        for k in range(40):
            world.first.send(flood[k % 3])
        world.simulation.step()
        count += len(world.second.receive("ATTITUDE_QUATERNION"))
        world.first.receive()
    assert 48 <= count <= 52
    console = (world.folder / "console" / "autopilot.log").read_text()
    assert console.count("MPC_Z_P") <= 40  # 20 in each second that it touched: logs are not flooded
    world.steps(50)
    assert answered(world, world.first)


NAMES = list(parameters.listed())
SETTINGS = settings(max_examples=60)


@pytest.mark.slow
@SETTINGS
@given(
    name=st.one_of(st.sampled_from(NAMES), st.text(max_size=16)),
    value=st.floats(width=32),
    kind=st.integers(0, 12),
)
def test_every_parameter_in_force_stays_within_its_limits(world, name, value, kind):
    world.steps(10)
    while world.first.receive("PARAM_VALUE"):  # which an earlier test has asked for
        world.steps(10)
    store = world.autopilot.parameters
    before, held = store.values.copy(), store.held.copy()
    world.first.send(mavlink.MAVLink_param_set_message(1, 1, name.encode()[:16], value, kind))
    world.steps(6)
    for used in store.values.dtype.names:
        p = parameters.table()[used]
        assert p.active_min <= store.values[used][
            0
        ].item() <= p.active_max or p.active_min == pytest.approx(store.values[used][0])
    assert store.values[1].tobytes() == before[1].tobytes()
    assert store.held[1].tobytes() == held[1].tobytes()
    answers = world.first.receive("PARAM_VALUE")
    if name in NAMES:  # at once, and at the next tick if it has changed
        right = kind == (6 if parameters.table()[name].type is int else 9)
        assert [m.param_id for m in answers] in (([name], [name] * 2) if right else ([],))
        assert all(m.param_index == NAMES.index(name) for m in answers)
    store.values[:], store.held[:] = before, held


@SETTINGS
@given(
    index=st.integers(-32768, 32767), name=st.one_of(st.sampled_from(NAMES), st.binary(max_size=16))
)
def test_every_request_for_a_parameter_is_answered_or_left(world, index, name):
    world.first.receive()
    name = name.encode() if isinstance(name, str) else name
    world.first.send(mavlink.MAVLink_param_request_read_message(1, 1, name, index))
    world.steps(6)
    answers = [m.param_id for m in world.first.receive("PARAM_VALUE")]
    if 0 <= index < len(NAMES):
        assert answers == [NAMES[index]]
    elif index >= len(NAMES):
        assert answers == []
    else:
        assert answers in ([], [name.split(b"\0")[0].decode("ascii", "replace")])


def test_the_logs_of_all_that_can_be_read(world):
    world.steps(300)  # of the same texts only so many are logged in a second
    world.first.send(mavlink.MAVLink_command_long_message(1, 1, 245, 0, 9, *[0] * 6))
    world.steps()
    for i in range(2):
        world.autopilot.log.flush(i)
        log = ULog(str(world.autopilot.log.paths[i]))
        assert not log.file_corruption
    assert any(
        "storage action 9" in m.message
        for m in ULog(str(world.autopilot.log.paths[0])).logged_messages
    )
