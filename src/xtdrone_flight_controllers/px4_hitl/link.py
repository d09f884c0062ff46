"""Flight controllers with PX4 in hardware-in-the-loop mode, each at a serial device.

One MAVLink stream carries all: readings (HIL_SENSOR, HIL_GPS, DISTANCE_SENSOR) go out,
HIL_ACTUATOR_CONTROLS comes back, without lockstep. Everything else is passed on between the device
and UDP. There the link has the ports that PX4's software in the loop would have, so that ground
stations, MAVSDK and the simulation's own telemetry find it where they find that one.

HIL_STATE_QUATERNION is not sent: PX4 takes it for the result of its own estimator. Nor is
HIL_RC_INPUTS_RAW, which PX4 does not read; sticks reach it as the ground station's MANUAL_CONTROL.
"""

import select
import socket
import time
from collections.abc import Callable, Sequence
from functools import partial

import numpy as np

from xtdrone_autopilot.errors import AutopilotError
from xtdrone_autopilot.mavlink.frames import layout
from xtdrone_core.mavlink.dialect import mavlink
from xtdrone_core.mavlink.framing import Frame
from xtdrone_core.runs import ports
from xtdrone_core.runs.ports import Ports

from ..common.frames import FrameReader
from ..common.serial import SerialGone, SerialPort
from ..px4.link import MAX_GARBAGE, STOP_US, Peer

SILENCE_US = 3_000_000  # without a heartbeat, or without controls in the beginning [us]
FULL_US = 1_000_000  # a device that takes no bytes for so long is full [us]
_GREET_S = 0.5  # wall time between heartbeats to one that has not spoken yet [s]
_ARMED, _HIL = mavlink.MAV_MODE_FLAG_SAFETY_ARMED, mavlink.MAV_MODE_FLAG_HIL_ENABLED
_LARGEST = 65536


class HitlLink:
    """The serial devices of N flight controllers.

    Attributes:
        state: (N,) Peer: AWAITED before the first heartbeat, CONNECTED, LOST.
        controls: (N, 16) latest actuator controls; zero while disarmed or lost, and STOP_US after
            the last ones.
        armed: (N,) bool, from the mode field of HIL_ACTUATOR_CONTROLS.
        garbage: (N,) int64, bytes so far that are not MAVLink.
    """

    def __init__(
        self, devices: Sequence[tuple[str, int]], on_loss: Callable[[int, str], None], own: Ports
    ):
        """Opens devices and UDP ports.

        Args:
            devices: Path and baud rate of each vehicle's device.
            on_loss: Called with vehicle and text when a flight controller is lost.
            own: Ports of the simulation.

        Raises:
            AutopilotError: A device cannot be opened, or a port is in use.
        """
        n = len(devices)
        self.state = np.full(n, Peer.AWAITED, dtype=np.int8)
        self.controls = np.zeros((n, 16))
        self.armed = np.zeros(n, dtype=np.bool_)
        self.garbage = np.zeros(n, dtype=np.int64)
        self._on_loss, self._t_us = on_loss, 0
        self._heard_us = np.zeros(n, dtype=np.int64)  # last heartbeat [us]
        self._answered_us = np.full(n, -1, dtype=np.int64)  # last controls [us]
        self._taken_us = np.zeros(n, dtype=np.int64)  # when the device took bytes last [us]
        self._first_us = -1  # time of the first readings [us]
        self._greeted_s = -np.inf
        self._actuators = layout("HIL_ACTUATOR_CONTROLS").id
        self._packer = mavlink.MAVLink(None, 255, mavlink.MAV_COMP_ID_MISSIONPLANNER)
        self._readers = [
            FrameReader(("HIL_ACTUATOR_CONTROLS", "HEARTBEAT"), self._forwarder(i))
            for i in range(n)
        ]
        self._devices: list[SerialPort] = []
        self._routes: list[list[_Route]] = [[] for _ in range(n)]
        self._sources: dict[int, Callable[[], None]] = {}  # by file descriptor
        self._poll = select.poll()
        try:
            for i, (device, baud) in enumerate(devices):
                self._open(i, SerialPort(device, baud), own)
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Closes every device and port. May be called twice."""
        for device in self._devices:
            device.close()
        for routes in self._routes:
            for route in routes:
                route.socket.close()
        self._sources.clear()

    def listen(self, timeout: float) -> None:
        """Handles what comes; waits for it for at most so long [s]."""
        for number, _ in self._poll.poll(timeout * 1e3):
            if number in self._sources:
                self._sources[number]()

    def greet(self) -> None:
        """Sends a heartbeat now and then, upon which PX4 begins to speak on USB."""
        now = time.monotonic()
        if now - self._greeted_s >= _GREET_S:
            self._greeted_s = now
            data = mavlink.MAVLink_heartbeat_message(
                mavlink.MAV_TYPE_GCS,
                mavlink.MAV_AUTOPILOT_INVALID,
                0,
                0,
                mavlink.MAV_STATE_ACTIVE,
                3,
            ).pack(self._packer)
            for i in np.flatnonzero(self.state != Peer.LOST):
                self._write(int(i), data)

    def send(self, t_us: int, frames: Sequence[bytes]) -> None:
        """One step: sends the readings, and finds flight controllers that are lost.

        Args:
            t_us: Simulated time [us].
            frames: N byte strings: the MAVLink messages for each vehicle.
        """
        self._t_us = t_us
        if self._first_us < 0:
            self._first_us = t_us
            self._heard_us[:] = self._taken_us[:] = t_us
        for i in np.flatnonzero(self.state == Peer.CONNECTED):
            if self._write(int(i), frames[i]):
                self._taken_us[i] = t_us
            self._check(int(i))
        self.controls[t_us - self._answered_us >= STOP_US] = 0.0

    def lose(self, i: int, why: str) -> None:
        """Drops a flight controller for good: the rotors stop, on_loss is called."""
        if self.state[i] == Peer.LOST:
            return
        self.state[i] = Peer.LOST
        self.controls[i], self.armed[i] = 0.0, False
        device = self._devices[i]
        self._poll.unregister(device)
        del self._sources[device.fileno()]
        device.close()
        self._on_loss(i, why)

    def _open(self, i: int, device: SerialPort, own: Ports) -> None:
        self._devices.append(device)
        self._watch(device, lambda: self._receive(i))
        for local, remote in (
            (own.ground_station_local(i), own.ground_station),
            (own.offboard_local(i), own.offboard(i)),
            (own.camera_local(i), own.range("camera")[i]),
        ):
            sock = ports.open_udp(local, partial(_taken, local, i))
            route = _Route(sock, ("127.0.0.1", remote))
            self._routes[i].append(route)
            self._watch(sock, partial(self._pass_on, i, route))

    def _watch(self, source: SerialPort | socket.socket, handle: Callable[[], None]) -> None:
        self._sources[source.fileno()] = handle
        self._poll.register(source, select.POLLIN)

    def _forwarder(self, i: int) -> Callable[[Frame, bytes], None]:
        """Returns what forwards the frames of flight controller i to its UDP clients."""

        def forward(frame: Frame, data: bytes) -> None:
            if frame.message_id != self._actuators:
                for route in self._routes[i]:
                    try:
                        route.socket.sendto(data, route.remote)
                    except OSError:  # nobody listens, or the buffer is full
                        pass

        return forward

    def _pass_on(self, i: int, route: "_Route") -> None:
        """From a UDP client to the flight controller; the link answers who spoke last."""
        try:
            data, route.remote = route.socket.recvfrom(_LARGEST)
        except OSError:  # an earlier datagram was refused
            return
        if self.state[i] != Peer.LOST:
            self._write(i, data)

    def _write(self, i: int, data: bytes) -> bool:
        """Writes bytes; returns whether the device took them."""
        try:
            return self._devices[i].write(data)
        except SerialGone as gone:
            self.lose(i, f"cannot be reached: {gone}")
            return True

    def _receive(self, i: int) -> None:
        try:
            data = self._devices[i].read()
        except SerialGone as gone:
            self.lose(i, f"cannot be reached: {gone}")
            return
        reader = self._readers[i]
        for name, system, record in reader.feed(data):
            if system != ports.system_id(i):
                self.lose(
                    i, f"says that it is system {system}: set MAV_SYS_ID {ports.system_id(i)} on it"
                )
                return
            self._take(i, name, record)
            if self.state[i] == Peer.LOST:
                return
        self.garbage[i] = reader.garbage
        if reader.garbage > MAX_GARBAGE and not reader.frames:
            device = self._devices[i]
            self.lose(
                i,
                f"sent {reader.garbage} bytes that are not MAVLink on '{device.device}': "
                f"is {device.baud} its baud rate?",
            )

    def _take(self, i: int, name: str, record: np.void) -> None:
        if name == "HEARTBEAT":
            if record["autopilot"] != mavlink.MAV_AUTOPILOT_PX4:
                return
            if not record["base_mode"] & _HIL:
                self.lose(
                    i,
                    "is not in HITL mode: set SYS_HITL 1 and a HIL airframe on it, and restart it",
                )
                return
            self._heard_us[i] = self._t_us
            if self.state[i] == Peer.AWAITED:
                self.state[i] = Peer.CONNECTED
            return
        self._answered_us[i] = self._t_us
        self.armed[i] = bool(record["mode"] & _ARMED)
        self.controls[i] = np.clip(np.nan_to_num(record["controls"]) * self.armed[i], -1.0, 1.0)

    def _check(self, i: int) -> None:
        device = self._devices[i].device
        silent = self._t_us - self._heard_us[i]
        if self.state[i] == Peer.LOST:
            return
        if self._t_us - self._taken_us[i] > FULL_US:
            self.lose(
                i,
                f"takes no bytes on '{device}' for {FULL_US / 1e6:g} s: it hangs, or its "
                "baud rate is too low (readings are 20 kB/s: 460800 at least)",
            )
        elif silent > SILENCE_US:
            self.lose(
                i,
                f"sent no heartbeat on '{device}' for {silent / 1e6:.1f} s: it hangs, or "
                "was disconnected",
            )
        elif self._answered_us[i] < 0 and self._t_us - self._first_us > SILENCE_US:
            self.lose(
                i,
                "takes readings, but sends no HIL_ACTUATOR_CONTROLS: its start-up has to "
                "run 'pwm_out_sim start -m hil' (SYS_HITL 1 before its start)",
            )


class _Route:
    """A UDP port of the link, and who is spoken to from it."""

    def __init__(self, sock: socket.socket, remote: tuple[str, int]):
        self.socket, self.remote = sock, remote


def _taken(port: int, i: int) -> AutopilotError:
    return AutopilotError(
        f"port {port} (UDP, link of flight controller {i}) is in use: a PX4 or another simulation "
        f"is running; {ports.advice()}"
    )
