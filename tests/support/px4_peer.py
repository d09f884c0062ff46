"""A scripted PX4: a client of the simulator link that answers as a recorded PX4 did."""

import gzip
import socket
import struct
import threading
from pathlib import Path

from pymavlink.dialects.v20 import common as mavlink

from own_ports import PORTS

RECORDINGS = {
    name: Path(__file__).parents[1] / "data" / f"{file}.bin.gz"
    for name, file in (("hover", "px4_session"), ("dynamic", "px4_session_dynamic"))
}


def script(readings: int, recording=RECORDINGS["dynamic"]):
    """What PX4 sent in the recording: (on connecting, [after the k-th HIL_SENSOR])."""
    data = gzip.open(recording).read()
    parsers = [mavlink.MAVLink(None), mavlink.MAVLink(None)]
    greeting, answers, at = [], [], 0
    while at < len(data) and len(answers) <= readings:
        direction, length = struct.unpack_from("<BI", data, at)
        at += 5
        for message in parsers[direction].parse_buffer(data[at : at + length]) or ():
            if direction == 1:
                (answers[-1] if answers else greeting).append(message)
            elif message.get_type() == "HIL_SENSOR":
                answers.append([])
        at += length
    return greeting, answers


class ScriptedPx4(threading.Thread):
    """Instance i of a PX4 that follows the recording, and errs where it is told to.

    Attributes:
        heard: The messages of the simulator so far.
    """

    def __init__(
        self,
        i,
        recorded,
        system=None,
        die_after=None,
        hang_after=None,
        garbage=b"",
        silent=False,
        waits=range(0),
        beats=False,
        edit=lambda t_us, controls: (t_us, controls),
    ):
        """Waits for start().

        Args:
            i: Instance.
            recorded: What script() gives.
            system: System id that it claims, i + 1 where None.
            die_after: Number of readings after which it closes the link.
            hang_after: Number of readings that it answers before resume is set.
            garbage: Sent on connecting instead of the greeting.
            silent: Never answers.
            waits: Numbers of the readings that it takes without an answer.
            edit: Gives time [us] and controls of an answer in place of the right ones.
            beats: Sends a heartbeat a second on its onboard camera link, by the readings' time.
        """
        super().__init__(daemon=True)
        self.heard = []
        self.resume = threading.Event()
        self._i, self._garbage, self._silent, self._waits = i, garbage, silent, waits
        self._edit = edit
        self._telemetry = None
        if beats:
            self._telemetry = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
            self._telemetry.bind(("127.0.0.1", PORTS.camera_local(i)))
            self._telemetry.setblocking(False)
        self._partner = None
        self._greeting, self._answers = recorded
        self._die_after, self._hang_after = die_after, hang_after
        self._mavlink = mavlink.MAVLink(None, i + 1 if system is None else system, 1)
        self.socket = socket.socket()

    def run(self):
        """Connects, then answers until the link closes."""
        sock = self.socket
        sock.connect(("127.0.0.1", PORTS.simulator(self._i)))
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        sock.sendall(self._garbage or b"".join(map(self._packed, self._greeting)))
        parser = mavlink.MAVLink(None)
        readings = 0
        try:
            while data := sock.recv(65536):
                for message in parser.parse_buffer(data) or ():
                    self.heard.append(message)
                    if message.get_type() == "HIL_SENSOR":
                        readings += 1
                        if readings == self._die_after:
                            return
                        self._answer(sock, readings, message.time_usec)
        except OSError:
            pass
        finally:
            sock.close()
            if self._telemetry is not None:
                self._telemetry.close()

    def _answer(self, sock, readings, t_us):
        if self._silent:
            return
        if readings == self._hang_after:
            self.resume.wait()
        if self._telemetry is not None:
            self._beat(t_us)
        if readings in self._waits:
            return
        for message in self._answers[min(readings, len(self._answers)) - 1]:
            if message.get_type() == "HIL_ACTUATOR_CONTROLS":
                message = mavlink.MAVLink_hil_actuator_controls_message(
                    *self._edit(t_us, message.controls), message.mode, message.flags
                )
            sock.sendall(self._packed(message))

    def _beat(self, t_us):
        while True:
            try:
                self._partner = self._telemetry.recvfrom(4096)[1]
            except BlockingIOError:
                break
        if self._partner is not None and t_us % 1_000_000 == 0:
            beat = mavlink.MAVLink_heartbeat_message(2, mavlink.MAV_AUTOPILOT_PX4, 128, 0, 4, 3)
            self._telemetry.sendto(self._packed(beat), self._partner)

    def _packed(self, message):
        return message.pack(self._mavlink)
