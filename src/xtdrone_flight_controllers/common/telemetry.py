"""MAVLink telemetry from real flight stacks, and an Agent's set-points and commands to them.

One UDP socket serves the fleet. What differs between flight stacks (their links, the numbers of
their modes, what they take) is in the classes that derive from PeerTelemetry.
"""

import math
import socket
from collections.abc import Callable, Iterable
from typing import ClassVar

import numpy as np

from xtdrone_autopilot.mavlink.fields import in_range
from xtdrone_core.frames import enu_ned, flu_frd, quat_enu_ned, yaw_enu_ned
from xtdrone_core.mavlink.dialect import mavlink
from xtdrone_core.modes import ROS_NAME, Mode
from xtdrone_core.runs.ports import Ports
from xtdrone_core.state import ARM, DISARM, KEEP, Estimates, SetPoints

from .frames import FrameReader

GREET_US = 1_000_000  # period of the heartbeat to the flight stack [us]
NEVER = 1 << 62  # [us]
_OLDEST_US = 1_000_000  # a position that is older was stamped by another clock [us]
_MAX_DATAGRAMS = 256  # datagrams of each vehicle that are read at once
_BITS = {"pos": 0x7, "vel": 0x38, "acc": 0x1C0}
_NO_YAW, _NO_YAW_RATE = 1024, 2048
Address = tuple[str, int]


class PeerTelemetry:
    """Estimates of N vehicles from their telemetry; sends set-points and commands.

    Attributes:
        port: Port of the socket.
        heard_us: (N,) simulated time of each vehicle's last heartbeat, very negative before the
            first.
        vehicle_of: The vehicle of each MAVLink system.
    """

    flight_stack: ClassVar[int]  # MAV_AUTOPILOT of its heartbeats
    heartbeat_type: ClassVar[int] = mavlink.MAV_TYPE_ONBOARD_CONTROLLER  # of those sent to it

    def __init__(self, n: int, on_text: Callable[[int, int, str], None], own: Ports):
        """Opens the socket; nothing is sent yet.

        Args:
            n: Number of vehicles.
            on_text: Called with (vehicle, severity, text).
            own: Ports of the simulation.
        """
        self._systems = [own.system_id(i) for i in range(n)]
        self.vehicle_of = {system: i for i, system in enumerate(self._systems)}
        self._on_text = on_text
        self._ignored: set[tuple[int, str]] = set()  # reasons that were reported
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4 << 20)
        self._socket.bind(("127.0.0.1", 0))
        self._socket.setblocking(False)
        self.port = self._socket.getsockname()[1]
        self._handlers: dict[str, Callable[[int, np.void], None]] = {
            "HEARTBEAT": self._heartbeat,
            "LOCAL_POSITION_NED": self._position,
            "ATTITUDE_QUATERNION": self._attitude,
            "EXTENDED_SYS_STATE": self._extended,
            "SYS_STATUS": self._status,
            "COMMAND_ACK": self._acknowledged,
            "STATUSTEXT": self._text,
            "GPS_GLOBAL_ORIGIN": self._origin_is,
        }
        self._readers: dict[Address, FrameReader] = {}
        self._packers = [
            mavlink.MAVLink(None, system, mavlink.MAV_COMP_ID_ONBOARD_COMPUTER)
            for system in self._systems
        ]
        self._left = np.zeros(n, dtype=np.bool_)
        self._t_us = 0
        self._greet_us = 0
        self.heard_us = np.full(n, -NEVER)
        self._offsets = np.zeros((n, 3))  # origin of each local frame in the world [m]
        self._located = np.zeros(n, dtype=np.bool_)
        self._checked = np.zeros(n, dtype=np.bool_)
        self._origin_known = np.zeros(n, dtype=np.bool_)
        self._pos = np.zeros((n, 3))
        self._quat = np.tile((0.0, 0.0, 0.0, 1.0), (n, 1))
        self._estimated_us = np.zeros(n, dtype=np.int64)
        self._vel = np.zeros((n, 3))
        self._ang_vel = np.zeros((n, 3))
        self._armed = np.zeros(n, dtype=np.bool_)
        self._landed = np.ones(n, dtype=np.bool_)
        self._mode = np.zeros(n, dtype=np.int8)

    # Defined by a flight stack --------------------------------------------------------------

    def ends(self, i: int) -> Iterable[Address]:
        """Vehicle i's ends of the links in use; the last one takes commands."""
        raise NotImplementedError

    def vehicle_at(self, address: Address, system: int) -> int | None:
        """The vehicle that sends from an address as a MAVLink system, or None for a stranger."""
        raise NotImplementedError

    def mode_of(self, custom_mode: int) -> Mode | None:
        """The mode of a HEARTBEAT.custom_mode, or None."""
        raise NotImplementedError

    def numbers_of(self, mode: Mode) -> tuple[int, int] | None:
        """Parameters 2 and 3 of MAV_CMD_DO_SET_MODE, or None where there is no such mode."""
        raise NotImplementedError

    def wants_heartbeat(self, i: int) -> bool:
        """Returns whether vehicle i is sent a heartbeat in this second."""
        return True

    def greeted(self, i: int) -> None:
        """Called each second after the heartbeat to vehicle i, once it has been heard."""

    def missing(self, i: int) -> str:
        """Why vehicle i does not arm."""
        raise NotImplementedError

    def _origin_is(self, i: int, message: np.void) -> None:
        """Takes a GPS_GLOBAL_ORIGIN."""

    # ------------------------------------------------------------------------------------------

    def close(self) -> None:
        """Closes the socket. May be called twice."""
        self._socket.close()

    def step(self, t_us: int) -> None:
        """Handles received messages, and sends heartbeat and requests when due."""
        self._t_us = t_us
        self._receive()
        if t_us >= self._greet_us:
            self._greet_us = t_us + GREET_US
            for i in range(len(self.heard_us)):
                self._greet(i)

    def estimates(self) -> Estimates:
        """The estimates; `ready` = local position and origin known, arming checks passed."""
        ready = self._located & self._checked & self._origin_known
        return Estimates(
            self._t_us,
            self._pos,
            self._quat,
            self._vel,
            self._ang_vel,
            self._armed,
            self._landed,
            self._mode,
            ready,
        )

    def estimated_us(self) -> np.ndarray:
        """(N,) simulated time of each position; by another clock, when it came [us]."""
        return self._estimated_us

    def apply(self, set_points: SetPoints) -> None:
        """Sends an Agent's set-points and requests."""
        s = set_points
        given = {name: np.isfinite(getattr(s, name)) for name in _BITS}
        for i in range(len(self.heard_us)):
            if np.isfinite(s.quat[i, 0]) or np.isfinite(s.rates[i]).any():
                self.set_attitude(i, s)
            elif any(given[name][i].any() for name in _BITS):
                self.set_position(i, s, given)
            if s.mode[i] != KEEP:
                self.set_mode(i, Mode(s.mode[i]))
            if s.arm[i] in (ARM, DISARM):
                self.command(i, mavlink.MAV_CMD_COMPONENT_ARM_DISARM, float(s.arm[i] == ARM))

    def health(self) -> list[dict]:
        """Mode, armed, landed and not_ready (why it does not arm, or "") of each vehicle."""
        ready = self.estimates().ready
        return [
            {
                "mode": ROS_NAME[Mode(int(self._mode[i]))],
                "armed": bool(self._armed[i]),
                "landed": bool(self._landed[i]),
                "not_ready": "" if ready[i] or self._armed[i] else self.missing(i),
            }
            for i in range(len(self.heard_us))
        ]

    def forget(self, i: int) -> None:
        """Marks vehicle i, whose flight stack is lost, as disarmed; its last estimate stays."""
        self._armed[i] = self._checked[i] = False

    def remove_vehicle(self, i: int) -> None:
        """Says nothing to vehicle i any more, which is taken out of the fleet."""
        self.forget(i)
        self._left[i] = True

    def begin_again(self, i: int) -> None:
        """Clears everything known of vehicle i, whose flight stack is being restarted."""
        self._receive()  # discard the last messages of the old one
        self._readers.clear()
        self._greet_us = 0
        self._located[i] = self._checked[i] = self._armed[i] = self._origin_known[i] = False
        self.heard_us[i] = -NEVER
        self._landed[i], self._mode[i] = True, 0
        self._pos[i] = self._vel[i] = self._ang_vel[i] = 0.0
        self._quat[i] = 0.0, 0.0, 0.0, 1.0

    # To the flight stack ----------------------------------------------------------------------

    def send(self, i: int, message: mavlink.MAVLink_message, every: bool = False) -> None:
        """Sends a message to vehicle i on the link for commands, or on every link in use."""
        if self._left[i]:
            return
        data, ends = message.pack(self._packers[i]), list(self.ends(i))
        for address in ends if every else ends[-1:]:
            try:
                self._socket.sendto(data, address)
            except OSError:  # nobody listens yet, or the buffer is full: sent again later
                pass

    def command(self, i: int, number: int, *values: float) -> None:
        """Sends a COMMAND_LONG to vehicle i; parameters that are not given are 0."""
        self.send(
            i,
            mavlink.MAVLink_command_long_message(
                self._systems[i],
                mavlink.MAV_COMP_ID_AUTOPILOT1,
                number,
                0,
                *map(float, values),
                *[0.0] * (7 - len(values)),
            ),
        )

    def set_mode(self, i: int, mode: Mode) -> None:
        """Asks vehicle i for a mode."""
        numbers = self.numbers_of(mode)
        if numbers is None:
            self.ignore(i, f"it has no mode {ROS_NAME[mode]}")
            return
        self.command(
            i, mavlink.MAV_CMD_DO_SET_MODE, mavlink.MAV_MODE_FLAG_CUSTOM_MODE_ENABLED, *numbers
        )

    def set_position(self, i: int, set_points: SetPoints, given: dict[str, np.ndarray]) -> None:
        """Sends position, velocity and acceleration as SET_POSITION_TARGET_LOCAL_NED.

        Args:
            i: The vehicle.
            set_points: The set-points.
            given: By name, (N, 3) bool: what is not NaN.
        """
        mask = sum(bits for name, bits in _BITS.items() if not given[name][i].all())
        mask |= 0 if math.isfinite(set_points.yaw[i]) else _NO_YAW
        mask |= 0 if math.isfinite(set_points.yaw_rate[i]) else _NO_YAW_RATE
        pos, vel, acc = (
            enu_ned(np.nan_to_num(x))
            for x in (set_points.pos[i] - self._offsets[i], set_points.vel[i], set_points.acc[i])
        )
        yaw = 0.0 if mask & _NO_YAW else float(yaw_enu_ned(set_points.yaw[i]))
        yaw_rate = 0.0 if mask & _NO_YAW_RATE else -float(set_points.yaw_rate[i])
        self.send(
            i,
            mavlink.MAVLink_set_position_target_local_ned_message(
                self._t_us // 1000 & 0xFFFFFFFF,
                self._systems[i],
                mavlink.MAV_COMP_ID_AUTOPILOT1,
                mavlink.MAV_FRAME_LOCAL_NED,
                mask,
                *pos,
                *vel,
                *acc,
                yaw,
                yaw_rate,
            ),
        )

    def set_attitude(self, i: int, set_points: SetPoints) -> None:
        """Sends attitude or body rates; refused here unless a flight stack takes them."""
        self.ignore(i, "it takes positions, velocities and accelerations only")

    def ignore(self, i: int, why: str) -> None:
        """Reports a set-point that cannot be flown, once for each reason."""
        if (i, why) not in self._ignored:
            self._ignored.add((i, why))
            self._on_text(i, mavlink.MAV_SEVERITY_WARNING, f"Set-point ignored: {why}")

    def _greet(self, i: int) -> None:
        if self.wants_heartbeat(i):
            self.send(
                i,
                mavlink.MAVLink_heartbeat_message(
                    self.heartbeat_type,
                    mavlink.MAV_AUTOPILOT_INVALID,
                    0,
                    0,
                    mavlink.MAV_STATE_ACTIVE,
                    3,
                ),
                every=True,
            )
        if self.heard_us[i] >= 0:
            self.greeted(i)

    # From the flight stack --------------------------------------------------------------------

    def _receive(self) -> None:
        for _ in range(_MAX_DATAGRAMS * len(self.heard_us)):
            try:
                data, address = self._socket.recvfrom(65536)
            except BlockingIOError:
                return
            except OSError:  # an earlier datagram was refused: nobody is there yet
                continue
            reader = self._readers.get(address) or FrameReader(self._handlers)
            for name, system, record in reader.feed(data):
                vehicle = self.vehicle_at(address, system)
                if (
                    vehicle is not None
                    and system == self._systems[vehicle]
                    and not self._left[vehicle]
                ):
                    self._readers[address] = reader
                    if in_range(name, record):
                        self._handlers[name](vehicle, record)

    def _heartbeat(self, i: int, message: np.void) -> None:
        if message["autopilot"] != self.flight_stack:
            return
        if self.heard_us[i] < 0:
            self._greet_us = 0
        self.heard_us[i] = self._t_us
        self._armed[i] = bool(message["base_mode"] & mavlink.MAV_MODE_FLAG_SAFETY_ARMED)
        mode = self.mode_of(int(message["custom_mode"]))
        if mode is not None:
            self._mode[i] = mode

    def _position(self, i: int, message: np.void) -> None:
        self._pos[i] = enu_ned((message["x"], message["y"], message["z"])) + self._offsets[i]
        self._vel[i] = enu_ned((message["vx"], message["vy"], message["vz"]))
        stamp_us = int(message["time_boot_ms"]) * 1000
        same_clock = 0 <= self._t_us - stamp_us <= _OLDEST_US
        self._estimated_us[i] = stamp_us if same_clock else self._t_us
        self._located[i] = True

    def _attitude(self, i: int, message: np.void) -> None:
        self._quat[i] = quat_enu_ned((message["q2"], message["q3"], message["q4"], message["q1"]))
        self._ang_vel[i] = flu_frd(
            (message["rollspeed"], message["pitchspeed"], message["yawspeed"])
        )

    def _extended(self, i: int, message: np.void) -> None:
        if message["landed_state"] != mavlink.MAV_LANDED_STATE_UNDEFINED:
            self._landed[i] = message["landed_state"] == mavlink.MAV_LANDED_STATE_ON_GROUND

    def _status(self, i: int, message: np.void) -> None:
        self._checked[i] = bool(
            int(message["onboard_control_sensors_health"]) & mavlink.MAV_SYS_STATUS_PREARM_CHECK
        )

    def _acknowledged(self, i: int, message: np.void) -> None:
        if (
            message["command"]
            in (mavlink.MAV_CMD_DO_SET_MODE, mavlink.MAV_CMD_COMPONENT_ARM_DISARM)
            and message["result"] != mavlink.MAV_RESULT_ACCEPTED
        ):
            self._on_text(
                i,
                mavlink.MAV_SEVERITY_WARNING,
                f"command {message['command']} was refused, result {message['result']}",
            )

    def _text(self, i: int, message: np.void) -> None:
        text = message["text"].tobytes().split(b"\0")[0].decode("ascii", "replace")
        self._on_text(i, int(message["severity"]), text)
