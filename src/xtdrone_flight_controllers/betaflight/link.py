"""The interface of Betaflight's SITL: readings and sticks out, motors in, over UDP.

Packets are C structures of a 64-bit little-endian machine, of Betaflight's sources,
src/platform/SIMULATOR/target/SITL/target.h. Its ports are fixed: a machine has room for one. It
answers each packet of readings by one of motors. It does not wait for readings, though: it goes on
by the wall clock, at the rate that it finds between the times in two packets and the wall time
between their arrivals. Two that arrive in a heap make that clock leap, so the link waits for the
answer to each, and sends the next one not before a step's time after it.
"""

import select
import struct
import time
from collections.abc import Sequence

import numpy as np

from xtdrone_autopilot.errors import AutopilotError
from xtdrone_core.runs.ports import open_udp

MOTORS_PORT, READINGS_PORT, STICKS_PORT = 9002, 9003, 9004
CHANNELS = 16
STEP_S = 0.004  # wall time from an answer to the next readings [s]
ANSWER_S = 0.02  # wall time for an answer, which may be lost [s]
# Time [s]; angular velocity; acceleration; attitude wxyz; velocity; longitude, latitude [degrees]
# and height [m]; pressure [Pa].
READINGS = struct.Struct("<d3d3d4d3d3dd")
STICKS = struct.Struct(f"<d{CHANNELS}H")  # time [s]; pulse widths [us]
MOTORS = struct.Struct("<4f")  # 0 to 1
_HERE = "127.0.0.1"


class BetaflightLink:
    """The simulator's end.

    Attributes:
        motors: (4,) the last outputs, 0..1, in Betaflight's order.
        heard_s: Wall time of the last ones, -inf before the first [s].
    """

    def __init__(self) -> None:
        """Opens the port of the motors.

        Raises:
            AutopilotError: It is in use.
        """
        self.motors = np.zeros(4)
        self.heard_s = -np.inf
        self._next_s = 0.0  # wall time from which on the next packet may be sent [s]
        self._socket = open_udp(
            MOTORS_PORT,
            lambda: AutopilotError(
                f"port {MOTORS_PORT} (UDP, motors of Betaflight) is in use: another simulation "
                "flies Betaflight, whose ports are fixed; stop it first"
            ),
            _HERE,
        )

    def close(self) -> None:
        """Closes the port. May be called twice."""
        self._socket.close()

    def exchange(
        self,
        t: float,
        gyro: Sequence[float] | np.ndarray,
        accel: Sequence[float] | np.ndarray,
        quat: Sequence[float] | np.ndarray,
        vel: Sequence[float] | np.ndarray,
        place: Sequence[float] | np.ndarray,
        pressure: float,
        channels: Sequence[float] | np.ndarray,
    ) -> None:
        """Sends readings and sticks, and waits for the motors; after ANSWER_S it goes on.

        Args:
            t: Time [s].
            gyro: (3,) body FLU [rad/s].
            accel: (3,) specific force, body FLU [m/s^2].
            quat: (4,) xyzw, body to world, from which Betaflight makes its magnetometer.
            vel: (3,) ENU [m/s].
            place: (3,) longitude, latitude [degrees], height [m].
            pressure: Of the air [Pa].
            channels: (CHANNELS,) pulse widths [us].
        """
        (gx, gy, gz), (ax, ay, az), (x, y, z, w) = gyro, accel, quat
        readings = READINGS.pack(
            t, gx, -gy, gz, -ax, -ay, -az, w, x, -y, -z, *vel, *place, pressure
        )
        sticks = STICKS.pack(t, *(round(float(pulse)) for pulse in channels))
        time.sleep(max(0.0, min(self._next_s - time.monotonic(), STEP_S)))
        self.receive()
        for data, port in ((sticks, STICKS_PORT), (readings, READINGS_PORT)):
            try:
                self._socket.sendto(data, (_HERE, port))
            except OSError:  # it is not there: heard_s tells
                pass
        select.select([self._socket], [], [], ANSWER_S)
        self.receive()
        self._next_s = time.monotonic() + STEP_S

    def receive(self) -> None:
        """Takes the motor outputs that have come; never waits."""
        while True:
            try:
                data, address = self._socket.recvfrom(256)
            except BlockingIOError:
                return
            except OSError:  # an earlier packet was refused: it is not there
                continue
            if len(data) == MOTORS.size and address[0] == _HERE:
                self.motors[:] = np.clip(np.nan_to_num(MOTORS.unpack(data)), 0.0, 1.0)
                self.heard_s = time.monotonic()
