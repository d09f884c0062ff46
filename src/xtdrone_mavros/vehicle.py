"""One vehicle's side of the bridge: what the rows of the tables read and call."""

import struct
from collections.abc import Callable, Sequence
from typing import Any, Protocol, TypeVar

from xtdrone_core import modes
from xtdrone_core.errors import XtdroneError, failure
from xtdrone_core.mavlink.dialect import mavlink

from . import ros_serialisation as ros
from .command_translator import LATE_US
from .convert import decode, encode, geometry
from .host import Host, Output
from .mavlink_link import COMPONENT_ID, FleetLink, Numbers, unpack
from .remote_files import RemoteFiles
from .requests import Requests, heartbeat
from .rows import Parameters, Response, RosMessage, Service, ServiceFailed, Subscription, Topic
from .timesync import Timesync

LOST_US = 10_000_000  # without a heartbeat for this long a vehicle counts as gone [us]
PARAMETERS_US = 10_000_000  # delay of reading all parameters after the connection [us]
_FAILURES_US = 1_000_000  # between two lines of the log on failures of one kind [us]
_OTHER_CLOCK_US = 1_000_000  # stamps that differ by more are of another clock [us]
_ATTITUDE, _IMU = mavlink.MAVLINK_MSG_ID_ATTITUDE_QUATERNION, mavlink.MAVLINK_MSG_ID_HIGHRES_IMU
_HEARTBEAT = mavlink.MAVLINK_MSG_ID_HEARTBEAT
_ESC_INFO, _ESC_STATUS = 290, 291
_GUIDED, _MANUAL_INPUT, _ARMED = 8, 64, 128  # bits of MAV_MODE_FLAG
_NO_MISSION = 65535  # total of MISSION_CURRENT
MISSION = mavlink.MAV_MISSION_TYPE_MISSION
_PLANS = {
    MISSION: "mission",
    mavlink.MAV_MISSION_TYPE_FENCE: "geofence",
    mavlink.MAV_MISSION_TYPE_RALLY: "rallypoint",
}
T = TypeVar("T")


class SetPointSequence(Protocol):
    """Set-points that are sent one after the other, each at its time."""

    def tick(self, t_us: int) -> None:
        """Sends the set-points that are due at simulated time t_us."""


class Vehicle:
    """One vehicle of the bridge.

    Attributes:
        index, name: Number and namespace of the vehicle.
        link: MAVLink link to the fleet.
        host: ROS.
        now_us: Simulated time [us]; the bridge sets it.
        requests: Asks the vehicle and waits for its answer.
        state: Last State message, serialised; None after another system's heartbeat.
        text: Severity and text of a status text that has just become complete, or None.
        mission: Serialised waypoints if they have just changed, or None.
        fix: Status and covariance of the GNSS receiver.
        map_origin: Latitude, longitude [deg] and height above the ellipsoid [m] of
            global_position/local: home, or the first position before that is known.
        timesync: Offset of the vehicle's clock.
        thrust: 0..1, for set-points of attitude that come without; None = not known yet.
        trajectory: The one of setpoint_trajectory/local that is being sent, or None.
        mav_frames: MAV_FRAME of the set-points of some topics, by the topic's first name.
        plans: Waypoints by MAV_MISSION_TYPE.
        files: File system of the vehicle.
        latest: Message id -> payload of the last message.
        connected: Whether a heartbeat has come within LOST_US.
        heard_us: Simulated time of the last heartbeat [us].
        heartbeats, received, received_bytes: Number of messages so far, and their bytes.
        sequence: Sequence number of the last message.
        fake_position: Time [us] and position [m] of the last fake_gps, or None.
        landing_target_us: Time of the last landing_target [us].
    """

    def __init__(
        self, index: int, name: str, link: FleetLink, host: Host, topics: Sequence[Topic["Vehicle"]]
    ):
        self.index = index
        self.name = name
        self.link = link
        self.host = host
        self.now_us = 0
        self.requests = Requests(link, index)
        self.latest: dict[int, bytes] = {}
        self.heartbeats = self.received = self.received_bytes = self.sequence = 0
        self.state: bytes | None = None
        self.text: tuple[int, str] | None = None
        self.mission: bytes | None = None
        self.fix = decode.NO_FIX
        self.map_origin: geometry.Vector | None = None
        self.timesync = Timesync()
        self.thrust: float | None = None
        self.trajectory: SetPointSequence | None = None
        self.mav_frames = dict.fromkeys(
            ("setpoint_position", "setpoint_velocity", "setpoint_trajectory"),
            mavlink.MAV_FRAME_LOCAL_NED,
        )
        self.base_mode = 0
        self.plans: dict[int, list[decode.Waypoint]] = {kind: [] for kind in _PLANS}
        self.files = RemoteFiles(link, index)
        self.fake_position: tuple[int, geometry.Vector] | None = None
        self.landing_target_us: int | None = None
        self.connected = False
        self.heard_us = -LOST_US - 1
        self._frame = b""  # bytes of the message that is handled now
        self._converted: dict[Callable[[bytes], Any], tuple[bytes, Any]] = {}
        self._offboard = False
        self._set_point_us: int | None = None  # time of the last set-point; None: no stream
        self._parameters_due_us: int | None = None  # when all parameters are read unasked
        self._pull_after_gcs = True  # whether missions that others upload are read
        self._next_due: dict[str, int] = {}  # time at which a rate-limited input is next taken [us]
        self._chunks: dict[int, str] = {}  # id of a long status text -> text so far
        self._mission_current = 0
        self._mission_total: int | None = None  # None = not known yet
        # Message id -> {index of the first motor: payload}, in the order of arrival.
        self._motors: dict[int, dict[int, bytes]] = {_ESC_INFO: {}, _ESC_STATUS: {}}
        self._parameters: dict[str, tuple[int, int]] = {}  # name -> index and count at first
        self._outputs: dict[str, Output] = {}
        self._rows: dict[int, list[tuple[Output, Topic[Vehicle]]]] = {}  # by message id
        for topic in topics:
            output = host.output(name, topic.name, topic.type, topic.latched)
            self._outputs[topic.name] = output
            if topic.message:
                number = getattr(mavlink, f"MAVLINK_MSG_ID_{topic.message}")
                self._rows.setdefault(number, []).append((output, topic))
        handlers: dict[str, Callable[[bytes], None]] = {
            "HEARTBEAT": self._on_heartbeat,
            "GPS_RAW_INT": self._on_gps_raw,
            "STATUSTEXT": self._on_status_text,
            "COMMAND_ACK": self._on_ack,
            "TIMESYNC": self._on_timesync,
            "MISSION_CURRENT": self._on_mission_current,
            "ESC_INFO": self._on_esc_info,
            "ESC_STATUS": self._on_esc_status,
            "HOME_POSITION": self._on_home,
        }
        self._handlers = {
            getattr(mavlink, f"MAVLINK_MSG_ID_{message}"): handler
            for message, handler in handlers.items()
        }
        self._publish_disconnected()

    # From ROS -------------------------------------------------------------------------------

    def take_input(self, row: Subscription["Vehicle"], message: RosMessage) -> None:
        """Handles a message of a topic; one that fits no MAVLink message is logged.

        Args:
            row: The topic's row.
            message: Any object with the fields of its type, or bytes if the row is raw.
        """
        try:
            row.handle(self, message)
        except Exception as error:  # concerns one message: the others go on
            self.log_failure(row.name, error)

    def answer(self, row: Service["Vehicle"], request: RosMessage) -> Response:
        """Returns the fields of a service's response.

        Args:
            row: The service's row.
            request: Any object with the fields of its type.

        Raises:
            ServiceFailed: MAVROS answers with an error, or the request fits no MAVLink message.
        """
        try:
            return row.answer(self, request)
        except ServiceFailed:
            raise
        except Exception as error:
            raise ServiceFailed(_failure(row.name, error)) from error

    def use_parameters(self, values: Parameters) -> None:
        """Applies those of MAVROS's parameters that have an effect."""
        for topics in self.mav_frames:
            number = encode.mav_frame(values.get(topics, {}).get("mav_frame", "LOCAL_NED"))
            if number is None:
                self.log(
                    mavlink.MAV_SEVERITY_WARNING,
                    f"{topics}/mav_frame is no MAV_FRAME: LOCAL_NED is used",
                )
            else:
                self.mav_frames[topics] = number
        self._pull_after_gcs = bool(values.get("mission", {}).get("pull_after_gcs", True))

    def send_set_point(self, message: mavlink.MAVLink_message) -> None:
        """Sends one of a stream of set-points."""
        self._set_point_us = self.now_us
        self.send(message)

    def send(self, message: mavlink.MAVLink_message, component: int = COMPONENT_ID) -> None:
        """Sends a MAVLink message to the vehicle, as from a component of this end."""
        self.link.send(self.index, message, component)

    def log(self, severity: int, text: str) -> None:
        """Logs a line with a MAV_SEVERITY."""
        self.host.log(self.name, severity, text)

    @property
    def set_point_late(self) -> bool:
        """Whether it is in OFFBOARD with a stream of set-points that is overdue."""
        last = self._set_point_us
        return self._offboard and last is not None and LATE_US <= self.now_us - last

    def end_stream(self) -> None:
        """Treats the stream of set-points as ended."""
        self._set_point_us = None

    def follow_trajectory(self, t_us: int) -> None:
        """Sends the points of the current trajectory that are due; a wrong one ends it."""
        if self.trajectory is None:
            return
        try:
            self.trajectory.tick(t_us)
        except Exception as error:
            self.trajectory = None
            self.log_failure("setpoint_trajectory/local", error)

    def due(self, name: str, period_us: int) -> bool:
        """Returns whether something that is taken once per period is due; starts the next one."""
        if self.now_us < self._next_due.get(name, 0):
            return False
        self._next_due[name] = self.now_us + period_us
        return True

    def log_failure(self, name: str, error: Exception) -> None:
        """Logs why a topic or message was not taken, once a second for each name."""
        if self.due(f"failure of {name}", _FAILURES_US):
            self.log(mavlink.MAV_SEVERITY_WARNING, _failure(name, error))

    # From the vehicle -----------------------------------------------------------------------

    def take(self, message_id: int, payload: bytes, frame: bytes) -> None:
        """Handles a message: the state of the bridge, then its topics."""
        handler = self._handlers.get(message_id)
        self._frame = frame
        self.received += 1
        self.received_bytes += len(frame)
        self.sequence = frame[4]
        if handler is not None:
            handler(payload)
        for output, topic in self._rows.get(message_id, ()):
            if topic.build is not None and (topic.latched or output.wanted()):
                data = topic.build(self, payload)
                if data is not None:
                    output.publish(data)
        if message_id == _HEARTBEAT and self.state is not None:
            self._on_connection()

    def publish(self, topic: str, data: bytes) -> None:
        """Publishes a message of a topic whose row has no MAVLink message."""
        if self._outputs[topic].wanted():
            self._outputs[topic].publish(data)

    def stamp(self, t_us: int) -> int:
        """Returns a message's time stamp, or now if it is of another clock [us]."""
        return t_us if abs(t_us - self.now_us) < _OTHER_CLOCK_US else self.now_us

    def read(self, convert: Callable[[bytes], T], payload: bytes) -> T:
        """Returns convert(payload), computed once for all topics of one message."""
        known = self._converted.get(convert)
        if known is None or known[0] is not payload:
            known = self._converted[convert] = payload, convert(payload)
        return known[1]

    def decoded(self) -> mavlink.MAVLink_message:
        """Returns the message that is handled now as a pymavlink message."""
        return self.link.decode(self._frame)

    def attitude(self) -> decode.Attitude:
        """Returns the last attitude; level and at rest before the first one."""
        payload = self.latest.get(_ATTITUDE)
        if payload is None:
            return decode.Attitude(0, (0.0, 0.0, 0.0, 1.0), (0.0, 0.0, 0.0))
        return self.read(decode.attitude, payload)

    def acceleration(self) -> geometry.Vector:
        """Returns the last accelerometer reading, body [m/s^2]."""
        payload = self.latest.get(_IMU)
        return (0.0, 0.0, 0.0) if payload is None else self.read(decode.highres_imu, payload).accel

    def check_connection(self) -> None:
        """Publishes that the vehicle is disconnected if it has been silent for LOST_US."""
        if self.connected and self.now_us - self.heard_us > LOST_US:
            self.connected = False
            self.log(
                mavlink.MAV_SEVERITY_CRITICAL,
                f"no heartbeat for {LOST_US // 1_000_000} s: the vehicle is gone",
            )
            self._parameters_due_us = None
            self._publish_disconnected()
        if self._parameters_due_us is not None and self._parameters_due_us <= self.now_us:
            self._parameters_due_us = None
            self.host.later(self.requests.param_pull)

    def send_system_time(self) -> None:
        """Sends SYSTEM_TIME to a connected vehicle."""
        if self.connected:
            self.send(mavlink.MAVLink_system_time_message(self.now_us, 0))

    def request_timesync(self) -> None:
        """Sends a TIMESYNC to a connected vehicle."""
        if self.connected:
            self.send(mavlink.MAVLink_timesync_message(0, self.now_us * 1000))

    def motors(self, message_id: int) -> tuple[list[Numbers], int]:
        """Returns ESC_INFO or ESC_STATUS of all motors, four in each message.

        Returns:
            The numbers of each message in order, and how many motors there are. No messages if
            more of this round are still to come.
        """
        parts = self._motors[message_id]
        newest, last = next(reversed(parts), None), max(parts, default=None)
        if newest != last:
            return [], 0
        counts = [unpack(_ESC_INFO, payload)[15] for payload in self._motors[_ESC_INFO].values()]
        return [unpack(message_id, parts[k]) for k in sorted(parts)], max(counts, default=0)

    def parameter_place(self, message: mavlink.MAVLink_message) -> tuple[int, int]:
        """Returns index and count of a PARAM_VALUE as they were at first."""
        return self._parameters.setdefault(
            message.param_id, (message.param_index, message.param_count)
        )

    def publish_plan(self, kind: int) -> None:
        """Publishes mission, geofence or rally points, by their MAV_MISSION_TYPE."""
        data = self._waypoint_list() if kind == MISSION else ros.waypoint_list(0, self.plans[kind])
        self._outputs[f"{_PLANS[kind]}/waypoints"].publish(data)

    def pull_plan(self, kind: int) -> int | None:
        """Reads and publishes mission, geofence or rally points.

        Returns:
            How many waypoints there are; None if the vehicle does not answer.
        """
        items = self.requests.mission_pull(kind)
        if items is None:
            return None
        self.plans[kind] = [decode.waypoint(item) for item in items]
        self.publish_plan(kind)
        return len(items)

    def _publish_disconnected(self) -> None:
        data = ros.state(self.now_us, False, False, False, False, "", 0)
        self._outputs["state"].publish(data)

    def _waypoint_list(self) -> bytes:
        current = self._mission_current
        waypoints = [
            (frame, command, sequence == current, *rest)
            for sequence, (frame, command, _, *rest) in enumerate(self.plans[MISSION])
        ]
        return ros.waypoint_list(current, waypoints)

    def _on_connection(self) -> None:
        """Starts the streams of the link, and asks what MAVROS asks of a new vehicle."""
        if self.connected:
            return
        self.connected = True
        self.send(heartbeat())
        self.send(
            mavlink.MAVLink_command_long_message(
                self.index + 1,
                mavlink.MAV_COMP_ID_AUTOPILOT1,
                mavlink.MAV_CMD_REQUEST_AUTOPILOT_CAPABILITIES,
                0,
                *(1, 0, 0, 0, 0, 0, 0),
            )
        )
        self._parameters_due_us = self.now_us + PARAMETERS_US
        self.host.later(self._pull_plans)

    def _pull_plans(self) -> None:
        for kind in _PLANS:
            self.pull_plan(kind)

    def _on_heartbeat(self, payload: bytes) -> None:
        custom, _, autopilot, base, status, _ = unpack(_HEARTBEAT, payload)
        self.state = None
        if autopilot == mavlink.MAV_AUTOPILOT_INVALID:
            return
        self.heard_us, self.base_mode = self.now_us, base
        self.heartbeats += 1
        self._offboard = modes.from_custom_mode(custom) == modes.Mode.OFFBOARD
        self.state = ros.state(
            self.now_us,
            True,
            base & _ARMED != 0,
            base & _GUIDED != 0,
            base & _MANUAL_INPUT != 0,
            modes.ros_name(custom),
            status,
        )

    def _on_gps_raw(self, payload: bytes) -> None:
        self.fix = decode.gps_fix(payload)

    def _on_status_text(self, payload: bytes) -> None:
        severity, words, number, chunk = unpack(253, payload)
        part, self.text = words.split(b"\0")[0].decode(errors="replace"), None
        if number:  # longer than one message: the chunks come one after the other
            part = (self._chunks.pop(number, "") if chunk else "") + part
            if b"\0" not in words:
                self._chunks = {number: part}
                return
        self.text = severity, part
        self.log(severity, part)

    def _on_ack(self, payload: bytes) -> None:
        command, result, *_ = unpack(77, payload)
        if command == mavlink.MAV_CMD_DO_SET_MODE and result != mavlink.MAV_RESULT_ACCEPTED:
            name = mavlink.enums["MAV_RESULT"].get(result)
            self.log(mavlink.MAV_SEVERITY_WARNING, f"mode refused: {name.name if name else result}")

    def _on_timesync(self, payload: bytes) -> None:
        remote_ns, local_ns = unpack(111, payload)[:2]
        self.timesync.fresh = remote_ns > 0
        if remote_ns > 0:
            self.timesync.take(remote_ns, local_ns, self.now_us * 1000)
        elif remote_ns == 0:
            answer = mavlink.MAVLink_timesync_message(self.now_us * 1000, local_ns)
            self.send(answer)

    def _on_esc_info(self, payload: bytes) -> None:
        self._on_motors(_ESC_INFO, unpack(_ESC_INFO, payload)[14], payload)

    def _on_esc_status(self, payload: bytes) -> None:
        self._on_motors(_ESC_STATUS, unpack(_ESC_STATUS, payload)[13], payload)

    def _on_motors(self, message_id: int, index: int, payload: bytes) -> None:
        parts = self._motors[message_id]
        parts.pop(index, None)
        parts[index] = payload

    def _on_home(self, payload: bytes) -> None:
        lat, lon, alt, *_ = decode.home(payload)
        self.map_origin = lat, lon, geometry.above_ellipsoid(lat, lon, alt)

    def _on_mission_current(self, payload: bytes) -> None:
        (current, total, *_), self.mission = unpack(42, payload), None
        total = 0 if total == _NO_MISSION else total
        if total != self._mission_total:
            known, self._mission_total = self._mission_total, total
            if known is not None and self._pull_after_gcs and total != len(self.plans[MISSION]):
                self.host.later(lambda: self.pull_plan(MISSION))
        if current != self._mission_current:
            self._mission_current = current
            self.mission = self._waypoint_list()


def _failure(name: str, error: Exception) -> str:
    """Returns one line; numbers that fit no field are the sender's fault, the rest is ours."""
    if isinstance(error, (ValueError, OverflowError, struct.error, XtdroneError)):
        return f"{name} ignored: a value is out of range: {error}"
    return failure(name, error)
