"""A scripted ArduPilot: the other end of its JSON interface, and of a telemetry link."""

import re
import socket
import struct
import threading

from pymavlink.dialects.v20 import ardupilotmega as mavlink

_NUMBER = r"-?[\d.]+(?:e[-+]?\d+)?"


def parsed(line: bytes) -> dict[str, list[float]]:
    """The fields of a line, found as ArduPilot's own reader finds them.

    It looks for a name, skips one character, and reads `[%f, %f, %f]`: other JSON of the same
    meaning is not understood.
    """
    text = line.decode()
    assert text[0] == text[-1] == "\n"
    found = {}
    for name, count in (
        ("timestamp", 0),
        ("gyro", 3),
        ("accel_body", 3),
        ("position", 3),
        ("quaternion", 4),
        ("velocity", 3),
        ("no_time_sync", 0),
    ):
        at = text.index(name) + len(name) + 2
        pattern = rf"\[{', '.join([f'({_NUMBER})'] * count)}\]" if count else f"({_NUMBER})"
        found[name] = [float(x) for x in re.compile(pattern).match(text, at).groups()]
    return found


class ScriptedArduPilot(threading.Thread):
    """Answers each line with the next packet.

    Attributes:
        heard: The parsed lines so far.
        pulses: What it answers [us].
    """

    def __init__(self, port, magic=18458, hang_after=None):
        """Waits for start(); sends its first packet then, as ArduPilot does."""
        super().__init__(daemon=True)
        self.heard = []
        self.pulses = [1000] * (32 if magic == 29569 else 16)
        self._magic, self._hang_after, self._count = magic, hang_after, 0
        self._to = "127.0.0.1", port
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.socket.bind(("127.0.0.1", 0))

    def run(self):
        """Until the socket is closed."""
        self.say()
        while True:
            try:
                line, _ = self.socket.recvfrom(4096)
            except OSError:
                return
            if not line:
                return
            self.heard.append(parsed(line))
            if self._hang_after is None or len(self.heard) < self._hang_after:
                self._count += 1
                self.say()

    def say(self):
        """Sends the packet of the present count."""
        packed = struct.pack(
            f"<HHI{len(self.pulses)}H", self._magic, 250, self._count, *self.pulses
        )
        self.socket.sendto(packed, self._to)

    def close(self):
        """Ends the thread."""
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
            sock.sendto(b"", self.socket.getsockname())
        self.join()
        self.socket.close()


def telemetry(system, *messages):
    """Messages as bytes of a system."""
    packer = mavlink.MAVLink(None, system, 1)
    return b"".join(message.pack(packer) for message in messages)
