"""A serial cable of two pseudo-terminals, and a scripted flight controller at its far end."""

import os
import pty
import select
import threading
import tty

import numpy as np
from pymavlink.dialects.v20 import common as mavlink

from xtdrone_flight_controllers.common.serial import SerialGone, SerialPort


class Cable:
    """What is written to one end is read at the other, as on a null-modem cable.

    What the other end has no room for is lost, as without flow control.

    Attributes:
        near, far: Paths of the two devices.
    """

    def __init__(self):
        """Plugs it in."""
        self._masters, paths = [], []
        for _ in range(2):
            master, slave = pty.openpty()
            tty.setraw(slave)
            os.set_blocking(master, False)
            paths.append(os.ttyname(slave))
            # A slave that is held open here keeps its master readable while nobody has it.
            self._masters.append((master, slave))
        self.near, self.far = paths
        self._stop, self._wake = os.pipe()
        self._thread = threading.Thread(target=self._carry, daemon=True)
        self._thread.start()

    def unplug(self):
        """Both devices hang up. May be called twice."""
        if self._masters:
            os.write(self._wake, b"x")
            self._thread.join()
            for number in (*sum(self._masters, ()), self._stop, self._wake):
                os.close(number)
            self._masters = []

    def _carry(self):
        (near, _), (far, _) = self._masters
        while True:
            ready, _, _ = select.select([near, far, self._stop], [], [])
            if self._stop in ready:
                return
            for source, target in ((near, far), (far, near)):
                if source in ready:
                    data = os.read(source, 65536)
                    try:
                        os.write(target, data)
                    except BlockingIOError:
                        pass


class ScriptedBoard(threading.Thread):
    """A flight controller that answers each HIL_SENSOR by HIL_ACTUATOR_CONTROLS.

    Attributes:
        heard: Names of the messages that it got, with their number.
        sensors: The last HIL_SENSOR.
        controls: What it answers, 16 numbers.
    """

    def __init__(
        self,
        device,
        system=1,
        base_mode=mavlink.MAV_MODE_FLAG_HIL_ENABLED,
        answers=True,
        beats=True,
    ):
        """Waits for start().

        Args:
            device: Path of its end of the cable.
            system: Its system id.
            base_mode: Of its heartbeats.
            answers: Whether it answers readings.
            beats: Whether it sends a heartbeat with every tenth one, after the first heartbeat.
        """
        super().__init__(daemon=True)
        self.port = SerialPort(device, 921_600)
        self.heard, self.sensors, self.controls = {}, None, np.zeros(16)
        self.mode = base_mode
        self.answers, self._beats = answers, beats
        self.packer = mavlink.MAVLink(None, system, 1)
        self._parser = mavlink.MAVLink(None)
        self._parser.robust_parsing = True
        self._ended = threading.Event()

    def say(self, *messages):
        """Sends messages, or bytes as they are."""
        for message in messages:
            data = message if isinstance(message, bytes) else message.pack(self.packer)
            self.port.write(data)

    def beat(self):
        """Sends a heartbeat."""
        self.say(
            mavlink.MAVLink_heartbeat_message(2, mavlink.MAV_AUTOPILOT_PX4, self.mode, 0, 4, 3)
        )

    def run(self):
        """Until close(), or the cable is unplugged."""
        self.beat()
        while not self._ended.is_set():
            if not select.select([self.port], [], [], 0.05)[0]:
                continue
            try:
                data = self.port.read()
                for message in self._parser.parse_buffer(data) or ():
                    self._take(message)
            except SerialGone:
                return

    def _take(self, message):
        name = message.get_type()
        self.heard[name] = self.heard.get(name, 0) + 1
        if name == "HIL_SENSOR":
            self.sensors = message
            if self._beats and self.heard[name] % 10 == 0:
                self.beat()
            if self.answers:
                self.say(
                    mavlink.MAVLink_hil_actuator_controls_message(
                        message.time_usec, list(self.controls), self.mode, 0
                    )
                )

    def close(self):
        """Ends the thread."""
        self._ended.set()
        self.join()
        self.port.close()
