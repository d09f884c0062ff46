"""MAVLink messages to a vehicle in the hover: each of the dialect field by field, and sequences."""

import math
import socket
import struct
import warnings

import numpy as np

from own_ports import PORTS
from stack_flights import NoLinks
from xtdrone_autopilot.parameters.store import listed
from xtdrone_core import Scenario, XtdroneError
from xtdrone_core.mavlink.dialect import mavlink
from xtdrone_core.scenario.vehicles import fleet
from xtdrone_sim.simulation import Simulation
from xtdrone_sim.warm_up import ensure_warm

from .common import EXTREMES, Crash, Kind, Nonsense, Obeyed, mutated_bytes

STEPS = 6  # of 4 ms, so that one is a tick of the streams
HEIGHT = 10.0  # of the hover [m]
_KINDS = [kind for _, kind in sorted(mavlink.mavlink_map.items())]
_INTEGERS = {
    "int8_t": "b",
    "uint8_t": "B",
    "char": "B",
    "int16_t": "h",
    "uint16_t": "H",
    "int32_t": "i",
    "uint32_t": "I",
    "int64_t": "q",
    "uint64_t": "Q",
}
_FLOATS = [float(np.float32(x)) for x in EXTREMES if not 3.4e38 < abs(x) < math.inf]
_REAL = [-30.0, -1.0, 0.0, 0.5, 1.0, 2.0, 7.0, 47.397742, 8.545594, 488.0, 1e4]
# Fields that decide what a message is about, as a client would fill them.
_SENSIBLE = {
    "target_system": [1, 1, 1, 1, 0],
    "target_component": [1, 1, 1, 0],
    "target": [1],
    "target_network": [0],
    "mission_type": [0, 0, 1, 2, 255],
    "frame": [0, 2, 3, 5, 6],
    "coordinate_frame": [1, 5, 6, 7, 8, 9],
    "frame_id": [1, 20],
    "type": [6, 2],
    "type_mask": [0, 0xDF8, 0xDC7, 0xC3F, 128, 7, 64],
    "group_mlx": [0, 1],
    "param_type": [6, 9],
    "seq": [0, 1, 2, 3],
    "count": [0, 1, 2, 3, 5],
    "autocontinue": [1],
    "param_index": [-1, 0, 5],
    "start": [0],
    "end": [65535],
    "id": [0, 1],
}
# In an upload: what an item may be about.
_ITEMS = [
    16,
    16,
    17,
    18,
    19,
    20,
    21,
    22,
    31,
    93,
    112,
    177,
    178,
    179,
    189,
    195,
    197,
    201,
    206,
    2000,
    5000,
    5001,
    5002,
    5003,
    5004,
    5100,
    0,
    65535,
]
# They end the flight, and the rest of the fork would be spent on the ground.
_GROUNDING = {
    mavlink.MAV_CMD_COMPONENT_ARM_DISARM,
    mavlink.MAV_CMD_DO_FLIGHTTERMINATION,
    mavlink.MAV_CMD_NAV_LAND,
    mavlink.MAV_CMD_INJECT_FAILURE,
}


def columns(kind) -> list:
    """(name, type, length of the array or 0) of each field of a message."""
    lengths = dict(zip(kind.ordered_fieldnames, kind.array_lengths))
    return [(name, type_, lengths[name]) for name, type_ in zip(kind.fieldnames, kind.fieldtypes)]


def _extremes(type_) -> list:
    if type_ in ("float", "double"):
        return _FLOATS
    minimum, maximum = _range(type_)
    return [
        x
        for x in (0, 1, -1, 2, 127, 128, 1000, minimum, maximum, maximum - 1)
        if minimum <= x <= maximum
    ]


def _range(type_) -> tuple:
    bits = 8 * struct.calcsize(_INTEGERS[type_])
    if type_.startswith("int"):
        return -1 << bits - 1, (1 << bits - 1) - 1
    return 0, (1 << bits) - 1


def _value(rng, name, type_, length, wild):
    """Something for a field: extreme, or what a client would say."""
    if type_ == "char":
        if wild:
            return rng.randbytes(length) if length else rng.randrange(256)
        text = rng.choice(_NAMES).encode() if name == "param_id" else b"x" * rng.randrange(9)
        return text[:length] if length else 0
    if wild:
        one = rng.choice(_extremes(type_))
        values = [
            one if rng.random() < 0.7 else rng.choice(_extremes(type_)) for _ in range(length)
        ]
        return values if length else one
    choice = _SENSIBLE.get(name)
    if choice is None:
        choice = _REAL if type_ in ("float", "double") else [0, 0, 1, 100]
    if type_ in _INTEGERS:
        minimum, maximum = _range(type_)
        choice = [x for x in choice if minimum <= x <= maximum] or [0]
    if name == "q":
        return [1.0, 0.0, 0.0, 0.0]
    return [rng.choice(choice) for _ in range(length)] if length else rng.choice(choice)


def message(rng, kind, wild_fields=(), **given):
    """A message of a kind with extremes in some of its fields."""
    values = {
        name: given.get(name, _value(rng, name, type_, length, name in wild_fields))
        for name, type_, length in columns(kind)
    }
    return kind(**values)


class KIND(Kind):
    """A simulation of one vehicle, and a client on its offboard link."""

    share = 150
    per_fork = 3000

    def prepare(self):
        """Flies it to the hover without links, so that forks begin there."""
        ensure_warm()
        simulation = self.simulation = Simulation(
            Scenario(fleet("typhoon_h480", 1), speed=0.0, gps="rtk"), links=False
        )
        autopilot = self.autopilot = simulation.autopilot
        autopilot.parameters.set(0, "MIS_TAKEOFF_ALT", HEIGHT)
        messages = autopilot.messages(NoLinks())
        self.handled = [
            mavlink.mavlink_map[getattr(mavlink, f"MAVLINK_MSG_ID_{name}")]
            for name in messages.names
        ]
        self.commands = sorted(messages.handlers["COMMAND_LONG"].__self__.handlers)
        while not autopilot.status["ready"][0]:
            simulation.step()
        autopilot.commander.take_off(0, math.nan, simulation.t_us)
        assert autopilot.commander.arm(0, simulation.t_us).accepted
        for _ in range(10 * 250):
            simulation.step()

    def start(self, folder):
        """Opens the links."""
        warnings.simplefilter("error", RuntimeWarning)
        self.autopilot.open_links()
        self.said, self.obeyed = [], []
        handlers = self.autopilot.handlers.handlers
        for name, handler in handlers.items():
            handlers[name] = self._watched(name, handler)
        self.autopilot.outbox.on_text = lambda i, severity, text: self.said.append(text)
        self.sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.sock.bind(("127.0.0.1", 0))
        self.sock.connect(("127.0.0.1", PORTS.offboard_local(0)))
        self.sock.setblocking(False)

    def make(self, rng, index):
        """Datagrams, and whether somebody is meant who has to obey."""
        pick = rng.random()
        sender = mavlink.MAVLink(None, 255, 190)
        if pick < 0.05:
            frame = bytes(message(rng, rng.choice(self.handled), ()).pack(sender))
            broken = mutated_bytes(rng, frame)
            return [broken], frame in broken
        if pick < 0.1:
            kind = rng.choice([kind for kind in self.handled if "target_system" in kind.fieldnames])
            return [
                bytes(
                    message(rng, kind, _some(rng, kind), target_system=rng.randrange(2, 256)).pack(
                        sender
                    )
                )
            ], False
        if pick < 0.25:
            made = _upload(rng)
        elif pick < 0.5:
            made = [_command(rng, self.commands)]
        elif pick < 0.6:
            kind = rng.choice(_KINDS)
            made = [message(rng, kind, _some(rng, kind))]
        else:
            made = []
            for _ in range(rng.choice((1, 1, 2, 5))):
                kind = rng.choice(self.handled)
                made.append(message(rng, kind, _some(rng, kind)))
        return [
            bytes(one.pack(sender, force_mavlink1=rng.random() < 0.05 and type(one).id < 256))
            for one in made
        ], True

    def try_one(self, value):
        """Sends the datagrams, steps, and looks at all that must be in range."""
        datagrams, addressed = value
        self.said.clear()
        self.obeyed.clear()
        for datagram in datagrams:
            self.sock.send(datagram)
        try:
            for _ in range(STEPS):
                self.simulation.step()
        except XtdroneError as error:
            raise Crash(f"the flight has ended: {error}") from error
        failed = [text for text in self.said if " failed, please report" in text]
        if failed:
            raise Crash(failed[0])
        self._check_numbers()
        self._check_answers()
        if self.obeyed and not addressed:
            raise Obeyed(f"{self.obeyed[0]}, which is broken, or for somebody else")

    def close(self):
        """Ends it."""
        self.sock.close()
        self.simulation.close()

    def _watched(self, name, handler):
        """The handler of a message, which notes that it was called."""

        def handle(link, message):
            self.obeyed.append(name)
            handler(link, message)

        return handle

    def _check_numbers(self):
        a, state = self.autopilot, self.simulation.state
        for name, array in (
            ("position", state.pos),
            ("attitude", state.quat),
            ("velocity", state.vel),
            ("estimate", a.estimator.pos),
            ("estimate", a.estimator.quat),
            ("command", a.commands),
        ):
            if not np.isfinite(array).all():
                raise Nonsense(f"the {name} is not finite: {array}")
        for name in a.status.dtype.names:
            column = a.status[name]
            if column.dtype.kind == "f" and np.isinf(column).any() and name != "orbit_left":
                raise Nonsense(f"{name} is infinite")
        if np.abs(state.pos).max() > 1e5:
            raise Nonsense(f"the vehicle has left: {state.pos}")

    def _check_answers(self):
        parser = mavlink.MAVLink(None)
        while True:
            try:
                data = self.sock.recv(65536)
            except BlockingIOError:
                return
            except ConnectionRefusedError as error:
                raise Crash("the link is closed") from error
            parser.parse_buffer(data)  # raises where a frame is broken


def _some(rng, kind):
    """One to three fields."""
    return rng.sample(kind.fieldnames, min(len(kind.fieldnames), rng.choice((0, 1, 1, 1, 2, 3))))


def _command(rng, commands):
    number = rng.choice(commands) if rng.random() < 0.7 else rng.choice(_ALL_COMMANDS)
    if number in _GROUNDING and rng.random() < 0.98:
        number = mavlink.MAV_CMD_SET_MESSAGE_INTERVAL
    kind = (
        mavlink.MAVLink_command_long_message
        if rng.random() < 0.7
        else mavlink.MAVLink_command_int_message
    )
    params = [
        name
        for name in kind.fieldnames
        if name not in ("target_system", "target_component", "command", "confirmation", "frame")
    ]
    chosen = rng.sample(params, rng.choice((0, 1, 1, 2, 7)))
    given = {"command": number}
    if number in _ABOUT_MESSAGES and "param1" not in chosen:
        given["param1"] = float(rng.choice(_KINDS).id)
    return message(rng, kind, chosen, **given)


def _upload(rng):
    kind, count = rng.choice((0, 0, 0, 1, 2)), rng.randrange(1, 6)
    made = [
        message(
            rng,
            mavlink.MAVLink_mission_count_message,
            mission_type=kind,
            count=count,
            target_system=1,
            target_component=1,
        )
    ]
    item = (
        mavlink.MAVLink_mission_item_int_message
        if rng.random() < 0.8
        else mavlink.MAVLink_mission_item_message
    )
    fields = ["param1", "param2", "param3", "param4", "x", "y", "z", "command", "frame"]
    for seq in range(count):
        given = {"seq": seq, "mission_type": kind, "target_system": 1, "target_component": 1}
        wild = rng.sample(fields, rng.choice((0, 0, 1, 2)))
        if "command" not in wild:
            given["command"] = rng.choice(_ITEMS)
        if "x" not in wild and item is mavlink.MAVLink_mission_item_int_message:
            given["x"], given["y"] = 473977420 + rng.randrange(-900, 900), 85455940
        made.append(message(rng, item, wild, **given))
    if rng.random() < 0.5:  # and fly it
        made.append(
            mavlink.MAVLink_command_long_message(1, 1, mavlink.MAV_CMD_MISSION_START, 0, *[0.0] * 7)
        )
    return made


_NAMES = list(listed())
_ABOUT_MESSAGES = (
    mavlink.MAV_CMD_SET_MESSAGE_INTERVAL,
    mavlink.MAV_CMD_GET_MESSAGE_INTERVAL,
    mavlink.MAV_CMD_REQUEST_MESSAGE,
)
_ALL_COMMANDS = sorted(mavlink.enums["MAV_CMD"])
