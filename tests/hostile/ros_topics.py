"""What ROS nodes publish and call: each topic and service of the bridge, XTDrone's commands, the
formation's; and what a vehicle sends to the bridge. Without a ROS master.
"""

import importlib
import importlib.util
import io
import math
import queue
import struct

from bridge_host import NOW, Host, Link
from ros_fixtures import GENERATED
from xtdrone_core.mavlink.dialect import mavlink
from xtdrone_core.mavlink.framing import frames
from xtdrone_ros1 import messages as ros_messages

from .common import Crash, Kind, Nonsense, mutated_bytes, number, text
from .mavlink import columns, message

_CODES = {
    "byte": "b",
    "char": "B",
    "int8": "b",
    "uint8": "B",
    "int16": "h",
    "uint16": "H",
    "int32": "i",
    "uint32": "I",
    "int64": "q",
    "uint64": "Q",
}
_LARGEST_FLOAT = 3.4e38
_TICK_US = 20_000


def ros_class(kind, folder="msg"):
    """The class of a ROS type."""
    package, name = kind.split("/")
    return getattr(importlib.import_module(f"{package}.{folder}"), name)


def filled(rng, made):
    """A ROS message with something awkward in its fields, as far as their types hold it."""
    for name, kind in ros_messages.field_types(made).items():
        if rng.random() < 0.3:
            continue  # it stays 0
        base, array, count = kind.rstrip("]").partition("[")
        if not array:
            setattr(made, name, _value(rng, base, getattr(made, name)))
            continue
        length = int(count or rng.choice((0, 1, 3, 300)))
        if base in ("uint8", "char"):
            setattr(made, name, rng.randbytes(length))
        else:
            setattr(made, name, [_value(rng, base, None) for _ in range(length)])
    return made


def _value(rng, kind, old):
    if kind == "float64":
        return float(number(rng))
    if kind == "float32":
        value = float(number(rng))
        return max(-_LARGEST_FLOAT, min(_LARGEST_FLOAT, value)) if math.isfinite(value) else value
    if kind == "bool":
        return rng.random() < 0.5
    if kind in _CODES:
        data = rng.choice((b"\0", b"\xff", b"\x7f")) * 8 if rng.random() < 0.7 else rng.randbytes(8)
        return struct.unpack_from("<" + _CODES[kind], data)[0]
    if kind == "string":
        return text(rng).encode("utf-8", "replace").decode()
    if kind in ("time", "duration"):
        from genpy import Duration, Time

        secs = rng.choice((0, 3, 2**31 - 1))
        return Time(secs, 999_999_999) if kind == "time" else Duration(secs, 0)
    return filled(rng, ros_class(kind)() if old is None else old)


def serialised(made):
    """A ROS message on the wire."""
    buffer = io.BytesIO()
    made.serialize(buffer)
    return buffer.getvalue()


class _Packing(Link):
    """A link that packs what is sent, as the real one does, and on which nothing is answered."""

    def __init__(self, n):
        super().__init__(n)
        self._encoder, self._reader = mavlink.MAVLink(None, 240, 191), mavlink.MAVLink(None)

    def send(self, i, message, component=191):
        self._reader.decode(bytearray(message.pack(self._encoder)))

    def inbox(self, i, *message_ids):
        return _Silence()


class _Silence:
    """An inbox into which nothing comes, however long one waits."""

    def __enter__(self):
        return self

    def __exit__(self, *error):
        pass

    def get(self, *args, **named):
        raise queue.Empty


class KIND(Kind):
    """The bridge of two vehicles, XTDrone's communication and the formation's commands."""

    def missing(self):
        """As of Kind."""
        return "" if importlib.util.find_spec("rospy") and GENERATED.is_dir() else "there is no ROS"

    def prepare(self):
        """Imports the tables."""
        from xtdrone_mavros.inputs import SUBSCRIPTIONS
        from xtdrone_mavros.services import SERVICES

        self.inputs = {row.name: row for row in SUBSCRIPTIONS}
        self.services = {row.name: row for row in SERVICES}
        self.messages = [kind for _, kind in sorted(mavlink.mavlink_map.items())]

    def start(self, folder):
        """Makes the parts."""
        from xtdrone_formation.service import CommandQueue
        from xtdrone_mavros.bridge import Bridge
        from xtdrone_mavros.command_translator import CommandTranslator
        from xtdrone_mavros.requests import Requests

        self.host, self.link, self.t_us = Host(), _Packing(2), NOW
        self.bridge = Bridge(["iris_0", "iris_1"], self.link, self.host)
        for vehicle in self.bridge.vehicles:
            vehicle.requests = Requests(self.link, vehicle.index, 1e-4, 1e-4)
        self.translator, self.commands = CommandTranslator(), CommandQueue(9)

    def make(self, rng, index):
        """What it is, its name, and bytes or numbers."""
        what = rng.choice(("input",) * 4 + ("service", "vehicle", "raw", "command", "formation"))
        if what == "input":
            row = list(self.inputs.values())[index % len(self.inputs)]
            return what, row.name, serialised(filled(rng, ros_class(row.type)()))
        if what == "service":
            row = list(self.services.values())[index % len(self.services)]
            empty = ros_messages.request(ros_class(row.type, "srv"))
            return what, row.name, serialised(filled(rng, empty))
        if what == "raw":
            row = rng.choice([row for row in self.inputs.values() if row.raw])
            data = serialised(filled(rng, ros_class(row.type)()))
            return what, row.name, mutated_bytes(rng, data)
        if what == "vehicle":
            kind = self.messages[index % len(self.messages)]
            wild = [name for name, *_ in columns(kind) if rng.random() < 0.5]
            return (
                what,
                kind.msgname,
                bytes(message(rng, kind, wild).pack(mavlink.MAVLink(None, rng.choice((1, 2)), 1))),
            )
        return what, text(rng), [float(number(rng)) for _ in range(4)]

    def try_one(self, value):
        """Hands it over, then lets a tick pass."""
        what, name, data = value
        vehicle = self.bridge.vehicles[0]
        if what in ("input", "raw"):
            row = self.inputs[name]
            vehicle.take_input(row, data if row.raw else ros_class(row.type)().deserialize(data))
        elif what == "service":
            row = self.services[name]
            request = ros_messages.request(ros_class(row.type, "srv")).deserialize(data)
            vehicle.answer(row, request)
        elif what == "vehicle":
            self.link.incoming += [
                (found.system - 1, found.message_id, found.payload, data) for found in frames(data)
            ]
            self.bridge.poll()
        elif what == "command":
            self._command(name, data)
        elif self.commands.push(name):
            self.commands.pop()
        self.t_us += _TICK_US
        self.bridge.tick(self.t_us)
        self._check()

    def _command(self, name, numbers):
        self.translator.command(name, self.t_us)
        for give in (self.translator.pose_flu, self.translator.pose_enu):
            give(numbers[:3], numbers[3])
        for give in (self.translator.velocity, self.translator.acceleration):
            give(1, numbers[:3], numbers[3])
        target = self.translator.set_point()
        if target and not all(map(math.isfinite, (*target.pos, *target.vel, *target.acc))):
            raise Nonsense(f"a set-point is not finite: {target}")

    def _check(self):
        """Nothing failed in the log, and ROS reads what is published."""
        lines = [line for *_, line in self.host.lines]
        self.host.lines.clear()
        self.host.put_off.clear()
        failed = [line for line in lines if "please report" in line]
        if failed:
            raise Crash(failed[0])
        for (_, name), output in self.host.outputs.items():
            for data in output.sent[-1:]:
                try:
                    ros_class(output.kind)().deserialize(data)
                except Exception as error:
                    raise Nonsense(f"{name} is published so that ROS cannot read it") from error
            output.sent.clear()
