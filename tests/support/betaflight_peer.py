"""A scripted Betaflight: the other end of its SITL's UDP ports, read as its C structures are."""

import ctypes
import socket
import threading

from xtdrone_flight_controllers.betaflight import link


class Readings(ctypes.Structure):
    """fdm_packet."""

    _fields_ = [
        ("timestamp", ctypes.c_double),
        ("gyro", ctypes.c_double * 3),
        ("accel", ctypes.c_double * 3),
        ("quat", ctypes.c_double * 4),
        ("vel", ctypes.c_double * 3),
        ("pos", ctypes.c_double * 3),
        ("pressure", ctypes.c_double),
    ]


class Sticks(ctypes.Structure):
    """rc_packet."""

    _fields_ = [("timestamp", ctypes.c_double), ("channels", ctypes.c_uint16 * 16)]


class Motors(ctypes.Structure):
    """servo_packet."""

    _fields_ = [("speed", ctypes.c_float * 4)]


class ScriptedBetaflight(threading.Thread):
    """Answers each packet of readings by its motors, which turn while AUX1 is high.

    Attributes:
        readings, sticks: The packets so far.
        motors: What it answers while it is armed, 4 numbers.
        arms: Whether it arms.
    """

    def __init__(self, arms=True):
        """Waits for start()."""
        super().__init__(daemon=True)
        self.readings, self.sticks, self.motors, self.arms = [], [], [0.2] * 4, arms
        self._in, self._rc = (socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for _ in range(2))
        self._in.bind(("127.0.0.1", link.READINGS_PORT))
        self._rc.bind(("127.0.0.1", link.STICKS_PORT))

    def run(self):
        """Until close()."""
        while data := self._in.recv(1024):
            assert len(data) == ctypes.sizeof(Readings)
            self.readings.append(Readings.from_buffer_copy(data))
            self.sticks.append(Sticks.from_buffer_copy(self._rc.recv(1024)))  # is sent before
            turns = self.arms and self.sticks[-1].channels[4] > 1700
            self.say(bytes(Motors((ctypes.c_float * 4)(*(self.motors if turns else [0.0] * 4)))))

    def say(self, data):
        """Sends a packet to the simulator."""
        self._in.sendto(data, ("127.0.0.1", link.MOTORS_PORT))

    def close(self):
        """Ends the thread."""
        if self.is_alive():
            with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
                sock.sendto(b"", self._in.getsockname())
            self.join()
        self._in.close()
        self._rc.close()
