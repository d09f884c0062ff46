"""ArduPilot's JSON interface: the simulator links of a fleet over UDP, in lockstep.

ArduPilot sends servo outputs in a packet of magic number, frame rate, frame count and pulse widths
[us], and waits for the vehicle's state as a line of JSON, which moves its clock. It answers each
line with exactly one packet. What it does with the state (it makes readings of GPS, compass and
barometer of its own; gyroscope and accelerometer are ours) is described in ArduPilot's sources,
libraries/SITL/examples/JSON.
"""

import select
import socket
import struct
import time
from collections.abc import Callable, Sequence

import numpy as np

from xtdrone_autopilot.errors import AutopilotError
from xtdrone_core.runs import ports
from xtdrone_core.runs.ports import Ports

CHANNELS = 16
ANSWER_S = 5.0  # wall time after which an ArduPilot that does not answer counts as hanging [s]
_LOOK_S = 0.1  # longest wait of one poll [s]
_PACKETS = {18458: struct.Struct("<HHI16H"), 29569: struct.Struct("<HHI32H")}  # by magic number
_LARGEST = 1024  # bytes of a packet that is read


class JsonLink:
    """The simulation's end of the JSON interfaces of N ArduPilots.

    Attributes:
        connected: (N,) bool, whether each has sent a packet.
        pulses: (N, CHANNELS) pulse widths [us]; 0 where none was sent.
        left: (N,) bool, whether it was taken out of the fleet.
    """

    def __init__(self, n: int, own: Ports):
        """Opens the ports; ArduPilot number i sends to own.ardupilot(i).

        Args:
            n: Number of vehicles.
            own: Ports of the simulation.

        Raises:
            AutopilotError: A port is in use.
        """
        self.connected = np.zeros(n, dtype=np.bool_)
        self.pulses = np.zeros((n, CHANNELS))
        self.left = np.zeros(n, dtype=np.bool_)
        self._frames = np.full(n, -1, dtype=np.int64)  # count of the newest packet
        self._due = np.zeros(n, dtype=np.bool_)
        self._addresses: list[tuple[str, int] | None] = [None] * n
        self._vehicle_of: dict[int, int] = {}
        self._sockets: list[socket.socket] = []
        self._poll = select.poll()
        for i in range(n):
            self._open(i, own.ardupilot(i))

    def close(self) -> None:
        """Closes every port. May be called twice."""
        for sock in self._sockets:
            sock.close()
        self._sockets.clear()
        self._vehicle_of.clear()

    def listen(self, seconds: float) -> None:
        """Takes what has come; waits for the first packet for at most so long."""
        for number, _ in self._poll.poll(seconds * 1e3):
            self._receive(self._vehicle_of[number])

    def exchange(self, lines: Sequence[bytes], look: Callable[[], None]) -> list[int]:
        """One step: sends the states, and waits for the answers.

        Args:
            lines: N lines of JSON; vehicles that have not connected get none.
            look: Called now and then while it waits, to end the wait by an exception.

        Returns:
            The vehicles that have not answered within ANSWER_S.
        """
        for i in np.flatnonzero(self.connected):
            self._due[i] = True
            try:
                self._sockets[i].sendto(lines[i], self._addresses[i])
            except OSError:  # it has ended: look() finds that
                pass
        begin = time.monotonic()
        while self._due.any() and time.monotonic() - begin < ANSWER_S:
            self.listen(_LOOK_S)
            if self._due.any():
                look()
        late = np.flatnonzero(self._due).tolist()
        self._due[:] = False
        return late

    def remove_vehicle(self, i: int) -> None:
        """Closes the port of a vehicle that is taken out of the fleet. May be called twice."""
        self.await_again(i)
        if self._vehicle_of.pop(self._sockets[i].fileno(), None) is not None:
            self._poll.unregister(self._sockets[i])
            self._sockets[i].close()
        self.left[i] = True

    @property
    def missing(self) -> np.ndarray:
        """(K,) the vehicles that have not connected yet."""
        return np.flatnonzero(~self.connected & ~self.left)

    def await_again(self, i: int) -> None:
        """Forgets ArduPilot i, which is being restarted."""
        self.connected[i] = False
        self.pulses[i], self._frames[i], self._addresses[i] = 0.0, -1, None

    def _open(self, i: int, port: int) -> None:
        def taken() -> AutopilotError:
            self.close()
            return AutopilotError(
                f"port {port} (UDP, JSON interface of ArduPilot {i}) is in use: another "
                f"simulation is running; {ports.advice()}"
            )

        sock = ports.open_udp(port, taken)
        self._sockets.append(sock)
        self._vehicle_of[sock.fileno()] = i
        self._poll.register(sock, select.POLLIN)

    def _receive(self, i: int) -> None:
        while True:
            try:
                data, address = self._sockets[i].recvfrom(_LARGEST)
            except BlockingIOError:
                return
            except OSError:  # an earlier line was refused: it is not there any more
                return
            self._take(i, data, address)

    def _take(self, i: int, data: bytes, address: tuple[str, int]) -> None:
        packet = _PACKETS.get(int.from_bytes(data[:2], "little"))
        if packet is None or len(data) != packet.size:
            return
        _, _, count, *pulses = packet.unpack(data)
        if self._addresses[i] not in (None, address):
            return  # another one than that which is flown
        self._addresses[i] = address
        self.connected[i] = True
        if count != self._frames[i]:  # it repeats a packet where nothing has come for a second
            self._frames[i] = count
            self.pulses[i] = pulses[:CHANNELS]
            self._due[i] = False
