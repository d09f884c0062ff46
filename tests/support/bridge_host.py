"""What stands for ROS and for the MAVLink link in tests of the bridge."""

import importlib

from xtdrone_core.mavlink.dialect import mavlink
from xtdrone_core.mavlink.framing import frames
from xtdrone_mavros.mavlink_link import FleetLink

NOW = 3_000_000  # [us]


class Output:
    """A topic with listeners or without."""

    def __init__(self, kind, listened):
        self.kind, self.listened, self.sent = kind, listened, []

    def wanted(self):
        return self.listened

    def publish(self, data):
        self.sent.append(data)

    def last(self):
        package, name = self.kind.split("/")
        message = getattr(importlib.import_module(f"{package}.msg"), name)()
        return message.deserialize(self.sent[-1])


class Host:
    def __init__(self):
        self.outputs, self.lines, self.params, self.put_off = {}, [], {}, []
        self.listened = True

    def output(self, name, topic, kind, latched):
        self.outputs[name, topic] = Output(kind, self.listened)
        return self.outputs[name, topic]

    def log(self, name, severity, text):
        self.lines.append((name, severity, text))

    def store_params(self, name, values):
        self.params[name] = dict(values)

    def load_params(self, name):
        return self.params[name]

    def set_parameter(self, name, key, value):
        self.params.setdefault(name, {})[key] = value

    def later(self, function):
        self.put_off.append(function)


class Link:
    """Stands for a FleetLink: what comes in is a list, what goes out too."""

    def __init__(self, n):
        self.n, self.incoming, self.sent = n, [], []
        self.sent_bytes = [0] * n
        self._decoder = mavlink.MAVLink(None)
        self._inboxes = {}

    def feed(self, i, *messages):
        encoder = mavlink.MAVLink(None, i + 1, 1)
        for message in messages:
            frame = bytes(message.pack(encoder))
            found = next(frames(frame))
            self.incoming.append((i, found.message_id, found.payload, frame))

    def datagrams(self):
        found, self.incoming = self.incoming, []
        return found

    def receive(self, datagrams):
        yield from datagrams

    def send(self, i, message, component=191):
        self.sent.append((i, message))

    def url(self, i):
        return f"udp://:{14540 + i}@127.0.0.1:{14580 + i}"

    decode = FleetLink.decode

    def of_kind(self, kind):
        return [(i, m) for i, m in self.sent if m.get_type() == kind]
