"""MAVLink telemetry from real PX4s, and an Agent's set-points and commands to them.

One UDP socket serves the fleet. It sends heartbeats to each PX4's onboard camera
link (14280 + i; see xtdrone_core.runs.ports), which has no other client. That link gives slow
telemetry, and leaves the ground-station and offboard links to other clients. Once an
Agent flies the fleet, the socket uses the offboard link (14580 + i) too, on which PX4
then streams at full rate. Only what comes from these ports counts, and only of their vehicle.
"""

import math
import socket
from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt

from xtdrone_core.frames import enu_ned, flu_frd, quat_enu_ned, yaw_enu_ned
from xtdrone_core.modes import PX4_MODE, ROS_NAME, Mode, from_custom_mode
from xtdrone_core.runs import ports
from xtdrone_core.runs.ports import Ports
from xtdrone_core.state import ARM, DISARM, KEEP, Estimates, SetPoints

from ..errors import AutopilotError
from ..mavlink.dialect import mavlink
from ..mavlink.fields import in_range
from ..vehicle_status import command_of
from .frames import FrameReader

GREET_US = 1_000_000  # period of the heartbeat to PX4 [us]
ORIGIN_US = 500_000  # from sending the shared origin to the first external pose [us]
_ORIGIN_TOLERANCE = 2e-7  # of latitude and longitude of the shared origin [deg]
_NEVER = 1 << 62  # [us]
_MAX_DATAGRAMS = 256  # of each vehicle that are read at once
_BITS = {"pos": 0x7, "vel": 0x38, "acc": 0x1C0}
_NO_YAW, _NO_YAW_RATE = 1024, 2048
_NO_ATTITUDE = 128  # bit of the type mask of attitude targets
_POSE_VARIANCE = 1e-4, 1e-4  # of an external pose [m^2], [rad^2]
# Upper triangle of the 6 x 6 covariance, row by row: x, y, z, roll, pitch, yaw; NaN = unknown.
_POSE_COVARIANCE = [_POSE_VARIANCE[row // 3] if row == column else 0.0
                    for row in range(6) for column in range(row, 6)]
_UNKNOWN_COVARIANCE = [math.nan] * 21


class FleetTelemetry:
    """Estimates of N vehicles from PX4's telemetry; sends set-points and commands to PX4.

    Attributes:
        heard_us: (N,) simulated time of each PX4's last heartbeat, very negative before the first.
    """

    def __init__(self, n: int, origin: Sequence[float], offsets: npt.ArrayLike, shared_origin: bool,
                 on_text: Callable[[int, int, str], None] | None, own: Ports | None = None,
                 thrust_poly: np.ndarray | None = None):
        """Opens the socket; nothing is sent yet.

        Args:
            n: Number of vehicles.
            origin: Latitude, longitude [rad] and height [m] of the world's origin.
            offsets: (N, 3) origin of each local frame in the world, if not shared [m].
            shared_origin: Whether each PX4 gets the world's origin as that of its local frame.
            on_text: Called with (vehicle, severity, text).
            own: Ports of the simulation; None = those of the environment's instance.
            thrust_poly: (N, 3) collective thrust [N] as polynomial of the common rotor command,
                for the normalised thrust of SET_ATTITUDE_TARGET; None if no set-point will
                have a force.
        """
        self._thrust_poly = thrust_poly
        self._ignored = set()  # (vehicle, reason) of ignored set-points, each reported once
        self._origin = tuple(origin)
        self._shared = shared_origin
        self._offsets = np.zeros((n, 3)) if shared_origin else np.array(offsets, dtype=float)
        self._on_text = on_text
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4 << 20)
        self._socket.bind(("127.0.0.1", 0))
        self._socket.setblocking(False)
        self._ports = own or Ports()
        self._greeted = (self._ports.camera_local,)  # PX4's ports of the links in use
        self._handlers = {
            "HEARTBEAT": self._heartbeat, "LOCAL_POSITION_NED": self._position,
            "ATTITUDE_QUATERNION": self._attitude, "EXTENDED_SYS_STATE": self._extended,
            "SYS_STATUS": self._status, "COMMAND_ACK": self._acknowledged,
            "STATUSTEXT": self._text, "GPS_GLOBAL_ORIGIN": self._origin_is}
        self._vehicle_at = {("127.0.0.1", local(i)): i for i in range(n)
                            for local in (self._ports.camera_local, self._ports.offboard_local)}
        self._readers = {}  # by address
        self._packers = [mavlink.MAVLink(None, ports.system_id(i),
                                         mavlink.MAV_COMP_ID_ONBOARD_COMPUTER) for i in range(n)]
        self._t_us = 0
        self._greet_us = 0
        self.heard_us = np.full(n, -_NEVER)
        self._located = np.zeros(n, dtype=np.bool_)
        self._checked = np.zeros(n, dtype=np.bool_)
        self._origin_set = np.full(n, not shared_origin)
        self._origin_sent_us = np.full(n, _NEVER if shared_origin else -_NEVER)
        self._pos = np.zeros((n, 3))
        self._quat = np.tile((0.0, 0.0, 0.0, 1.0), (n, 1))
        self._vel = np.zeros((n, 3))
        self._ang_vel = np.zeros((n, 3))
        self._armed = np.zeros(n, dtype=np.bool_)
        self._landed = np.ones(n, dtype=np.bool_)
        self._mode = np.zeros(n, dtype=np.int8)

    @property
    def offboard(self) -> bool:
        """Whether this simulation uses the offboard links."""
        return len(self._greeted) > 1

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
        """PX4's estimates; `ready` = local position known, arming checks passed, origin set."""
        ready = self._located & self._checked & self._origin_set
        return Estimates(self._t_us, self._pos, self._quat, self._vel, self._ang_vel, self._armed,
                         self._landed, self._mode, ready)

    def apply(self, set_points: SetPoints) -> None:
        """Sends an Agent's set-points and requests on the offboard links.

        Raises:
            AutopilotError: Actuator commands are set; PX4 does not accept them by MAVLink.
        """
        if np.isfinite(set_points.actuators).any():
            raise AutopilotError("real PX4 takes no actuator commands by MAVLink (it knows "
                                 "SET_ACTUATOR_CONTROL_TARGET no more since 1.14, and before not "
                                 "in lockstep): command body rates and force, or fly "
                                 "autopilot:=embedded")
        if not self.offboard:
            self._greeted += (self._ports.offboard_local,)
            self._greet_us = 0
        s = set_points
        given = {name: np.isfinite(getattr(s, name)) for name in _BITS}
        for i in range(len(self.heard_us)):
            if np.isfinite(s.quat[i, 0]) or np.isfinite(s.rates[i]).any():
                self._attitude_set_point(i, s)
            elif any(given[name][i].any() for name in _BITS):
                self._set_point(i, s, given)
            if s.mode[i] != KEEP:
                main, sub = PX4_MODE[Mode(s.mode[i])]
                self._command(i, mavlink.MAV_CMD_DO_SET_MODE,
                              mavlink.MAV_MODE_FLAG_CUSTOM_MODE_ENABLED, main, sub)
            if s.arm[i] in (ARM, DISARM):
                self._command(i, mavlink.MAV_CMD_COMPONENT_ARM_DISARM, float(s.arm[i] == ARM))

    def send_pose(self, i: int, t_us: int, pos: npt.ArrayLike, quat: npt.ArrayLike) -> None:
        """Sends a pose to vehicle i as external vision (ODOMETRY), in its local frame.

        With a shared origin, no pose is sent until ORIGIN_US after the origin: without GPS, PX4
        shifts the height that it has when the origin arrives by the height of the origin.

        Args:
            i: The vehicle.
            t_us: Simulated time of the pose [us], which is PX4's own time.
            pos: (3,) centre of gravity, world [m].
            quat: (4,) xyzw, body to world.
        """
        if t_us < self._origin_sent_us[i] + ORIGIN_US:
            return
        x, y, z = map(float, enu_ned(np.asarray(pos) - self._offsets[i]))
        qx, qy, qz, qw = map(float, quat_enu_ned(quat))
        nothing = [math.nan] * 3
        self._send(i, mavlink.MAVLink_odometry_message(
            t_us, mavlink.MAV_FRAME_LOCAL_NED, mavlink.MAV_FRAME_BODY_FRD, x, y, z,
            (qw, qx, qy, qz), *nothing, *nothing, _POSE_COVARIANCE, _UNKNOWN_COVARIANCE, 0,
            mavlink.MAV_ESTIMATOR_TYPE_VISION), self._greeted[-1])

    def health(self) -> list[dict]:
        """Mode, armed, landed and not_ready (why it does not arm, or "") of each vehicle."""
        ready = self.estimates().ready
        return [{"mode": ROS_NAME[Mode(int(self._mode[i]))], "armed": bool(self._armed[i]),
                 "landed": bool(self._landed[i]),
                 "not_ready": "" if ready[i] or self._armed[i] else self._missing(i)}
                for i in range(len(self.heard_us))]

    def _missing(self, i) -> str:
        return ("PX4 has not been heard" if self.heard_us[i] < 0 else
                "PX4 does not know its place yet" if not self._located[i] else
                "PX4 has not taken the world's origin" if not self._origin_set[i] else
                "PX4's arming checks fail")

    def forget(self, i: int) -> None:
        """Marks vehicle i, whose PX4 is lost, as disarmed; its last estimate stays."""
        self._armed[i] = self._checked[i] = False

    def begin_again(self, i: int) -> None:
        """Clears everything known of vehicle i, whose PX4 is being restarted."""
        self._receive()  # discard the last messages of the old PX4
        self._readers.clear()
        self._greet_us = 0
        self._located[i] = self._checked[i] = self._armed[i] = False
        self._origin_set[i] = not self._shared
        self._origin_sent_us[i] = _NEVER if self._shared else -_NEVER
        self.heard_us[i] = -_NEVER
        self._landed[i], self._mode[i] = True, 0
        self._pos[i] = self._vel[i] = self._ang_vel[i] = 0.0
        self._quat[i] = 0.0, 0.0, 0.0, 1.0

    # To PX4 -----------------------------------------------------------------------------------

    def _send(self, i, message, port=None):
        data = message.pack(self._packers[i])
        for local in self._greeted if port is None else (port,):
            try:
                self._socket.sendto(data, ("127.0.0.1", local(i)))
            except OSError:  # PX4 does not listen yet, or its buffer is full: sent again later
                pass

    def _command(self, i, number, *values):
        values = [*map(float, values), *[0.0] * (7 - len(values))]
        self._send(i, mavlink.MAVLink_command_long_message(
            ports.system_id(i), mavlink.MAV_COMP_ID_AUTOPILOT1, number, 0, *values),
            self._greeted[-1])

    def _greet(self, i):
        self._send(i, mavlink.MAVLink_heartbeat_message(
            mavlink.MAV_TYPE_ONBOARD_CONTROLLER, mavlink.MAV_AUTOPILOT_INVALID, 0, 0,
            mavlink.MAV_STATE_ACTIVE, 3))
        if self.heard_us[i] < 0:
            return
        if self.offboard:
            for name in ("LOCAL_POSITION_NED", "ATTITUDE_QUATERNION"):
                self._command(i, mavlink.MAV_CMD_SET_MESSAGE_INTERVAL,
                              getattr(mavlink, f"MAVLINK_MSG_ID_{name}"), 20_000)
        if self._shared and self._located[i] and not self._origin_set[i]:
            self._origin_sent_us[i] = min(self._origin_sent_us[i], self._t_us)
            lat, lon, alt = self._origin
            self._send(i, mavlink.MAVLink_set_gps_global_origin_message(
                ports.system_id(i), round(math.degrees(lat) * 1e7), round(math.degrees(lon) * 1e7),
                round(alt * 1e3), self._t_us), self._greeted[-1])
            self._command(i, mavlink.MAV_CMD_REQUEST_MESSAGE,
                          mavlink.MAVLINK_MSG_ID_GPS_GLOBAL_ORIGIN)

    def _set_point(self, i, s, given):
        mask = sum(bits for name, bits in _BITS.items() if not given[name][i].all())
        mask |= 0 if math.isfinite(s.yaw[i]) else _NO_YAW
        mask |= 0 if math.isfinite(s.yaw_rate[i]) else _NO_YAW_RATE
        pos, vel, acc = (enu_ned(np.nan_to_num(x)) for x in (s.pos[i] - self._offsets[i], s.vel[i],
                                                             s.acc[i]))
        yaw = 0.0 if mask & _NO_YAW else float(yaw_enu_ned(s.yaw[i]))
        yaw_rate = 0.0 if mask & _NO_YAW_RATE else -float(s.yaw_rate[i])
        self._send(i, mavlink.MAVLink_set_position_target_local_ned_message(
            self._t_us // 1000 & 0xFFFFFFFF, ports.system_id(i), mavlink.MAV_COMP_ID_AUTOPILOT1,
            mavlink.MAV_FRAME_LOCAL_NED, mask, *pos, *vel, *acc, yaw, yaw_rate), self._greeted[-1])

    def _attitude_set_point(self, i, s):
        """Sends SET_ATTITUDE_TARGET: attitude or body rates, with normalised thrust."""
        why = ("an attitude or body rates need a force along the body's z axis"
               if self._thrust_poly is None or not math.isfinite(s.force[i, 2]) else
               "a force across the body's z axis cannot be flown"
               if np.nan_to_num(s.force[i, :2]).any() else "")
        if why:
            if (i, why) not in self._ignored:
                self._ignored.add((i, why))
                self._on_text(i, mavlink.MAV_SEVERITY_WARNING, f"Set-point ignored: {why}")
            return
        by_attitude = bool(np.isfinite(s.quat[i, 0]))
        rates = s.rates[i].copy()
        if by_attitude and math.isfinite(s.yaw_rate[i]):
            rates[2] = s.yaw_rate[i]
        mask = _NO_ATTITUDE * (not by_attitude)
        mask |= sum(1 << k for k in range(3) if not math.isfinite(rates[k]))
        quat = quat_enu_ned(s.quat[i])[[3, 0, 1, 2]] if by_attitude else (1.0, 0.0, 0.0, 0.0)
        thrust = command_of(self._thrust_poly[i:i + 1], np.maximum(s.force[i:i + 1, 2], 0.0))[0]
        self._send(i, mavlink.MAVLink_set_attitude_target_message(
            self._t_us // 1000 & 0xFFFFFFFF, ports.system_id(i), mavlink.MAV_COMP_ID_AUTOPILOT1,
            mask, list(map(float, quat)), *map(float, flu_frd(np.nan_to_num(rates))),
            float(thrust)), self._greeted[-1])

    # From PX4 ---------------------------------------------------------------------------------

    def _receive(self):
        for _ in range(_MAX_DATAGRAMS * len(self.heard_us)):
            try:
                data, address = self._socket.recvfrom(65536)
            except BlockingIOError:
                return
            except OSError:  # an earlier datagram was refused: its PX4 is not running yet
                continue
            vehicle = self._vehicle_at.get(address)
            if vehicle is None:  # a stranger
                continue
            if address not in self._readers:
                self._readers[address] = FrameReader(self._handlers)
            for name, system, record in self._readers[address].feed(data):
                if system == ports.system_id(vehicle) and in_range(name, record):
                    self._handlers[name](vehicle, record)

    def _heartbeat(self, i, m):
        if m["autopilot"] != mavlink.MAV_AUTOPILOT_PX4:
            return
        if self.heard_us[i] < 0:
            self._greet_us = 0
        self.heard_us[i] = self._t_us
        self._armed[i] = bool(m["base_mode"] & mavlink.MAV_MODE_FLAG_SAFETY_ARMED)
        mode = from_custom_mode(int(m["custom_mode"]))
        if mode is not None:
            self._mode[i] = mode

    def _position(self, i, m):
        self._pos[i] = enu_ned((m["x"], m["y"], m["z"])) + self._offsets[i]
        self._vel[i] = enu_ned((m["vx"], m["vy"], m["vz"]))
        self._located[i] = True

    def _attitude(self, i, m):
        self._quat[i] = quat_enu_ned((m["q2"], m["q3"], m["q4"], m["q1"]))
        self._ang_vel[i] = flu_frd((m["rollspeed"], m["pitchspeed"], m["yawspeed"]))

    def _extended(self, i, m):
        if m["landed_state"] != mavlink.MAV_LANDED_STATE_UNDEFINED:
            self._landed[i] = m["landed_state"] == mavlink.MAV_LANDED_STATE_ON_GROUND

    def _status(self, i, m):
        self._checked[i] = bool(int(m["onboard_control_sensors_health"])
                                & mavlink.MAV_SYS_STATUS_PREARM_CHECK)

    def _acknowledged(self, i, m):
        if m["command"] in (mavlink.MAV_CMD_DO_SET_MODE, mavlink.MAV_CMD_COMPONENT_ARM_DISARM) \
                and m["result"] != mavlink.MAV_RESULT_ACCEPTED:
            self._on_text(i, mavlink.MAV_SEVERITY_WARNING,
                          f"command {m['command']} was refused, result {m['result']}")

    def _text(self, i, m):
        text = m["text"].tobytes().split(b"\0")[0].decode("ascii", "replace")
        self._on_text(i, int(m["severity"]), text)

    def _origin_is(self, i, m):
        lat, lon = m["latitude"] * 1e-7, m["longitude"] * 1e-7
        wanted = map(math.degrees, self._origin[:2])
        if self._shared and all(abs(a - b) <= _ORIGIN_TOLERANCE for a, b in
                                zip((lat, lon), wanted)):
            self._origin_set[i] = True
