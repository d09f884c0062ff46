"""MAVROS 1's topics and services for a whole fleet, from MAVLink alone and without rospy.

What there is stands in the tables of topics/, inputs/ and services/; nodes/bridge makes rospy
publishers, subscribers and services of them; names are below V/mavros/ of each vehicle V.
Messages go out as bytes (ros_serialisation) and only where there is a subscriber. Those that
come in may be any objects with the fields of their ROS types.
"""

import struct
from collections.abc import Callable, Sequence
from typing import Any

from xtdrone_core import modes
from xtdrone_core.errors import XtdroneError, failure
from xtdrone_core.mavlink.dialect import mavlink

from . import convert, diagnostics, ros_serialisation as ros
from .command_translator import LATE_US
from .mavlink_link import unpack
from .remote_files import RemoteFiles
from .requests import Requests, heartbeat
from .services.row import ServiceFailed
from .timesync import PERIOD_US, Timesync
from .topics import TOPICS
from .topics.position import NO_FIX, fix_of

LOST_US = 10_000_000  # without a heartbeat for this long a vehicle counts as gone [us]
HEARTBEAT_US = 1_000_000  # of this end [us]
_FAILURES_US = 1_000_000  # between two lines of the log on failures of one kind
PARAMETERS_US = 10_000_000  # from the connection until all parameters are read, MAVROS's [us]
_NEAR_US = 1_000_000  # a vehicle's clock further from ours than this is not ours [us]
_ATTITUDE, _IMU = mavlink.MAVLINK_MSG_ID_ATTITUDE_QUATERNION, mavlink.MAVLINK_MSG_ID_HIGHRES_IMU
_STATIC_FRAMES = [  # parent, child, position, rotation xyzw
    ("map", "map_ned", (0.0,) * 3, convert.TO_NED),
    ("odom", "odom_ned", (0.0,) * 3, convert.TO_NED),
    ("base_link", "base_link_frd", (0.0,) * 3, convert.TO_FLU),
]
MISSION = mavlink.MAV_MISSION_TYPE_MISSION
_NO_MISSION = 65535  # as the total of MISSION_CURRENT
_PLANS = {
    MISSION: "mission",
    mavlink.MAV_MISSION_TYPE_FENCE: "geofence",
    mavlink.MAV_MISSION_TYPE_RALLY: "rallypoint",
}


class Bridge:
    """The fleet's topics and services. One thread calls poll() and tick()."""

    def __init__(self, names: Sequence[str], link: Any, host: Any):
        """Makes one Vehicle per name.

        Args:
            names: ROS namespaces; the index is the MAVLink instance.
            link: A FleetLink.
            host: What stands for ROS: output(name, topic, type, latched), an object with
                wanted() and publish(bytes), whose topic is global where it begins with /;
                log(name, severity, text); the parameter server as store_params(name, dict),
                load_params(name) -> dict and set_parameter(name, key, value); and
                later(function), which calls it in a thread of its own.
        """
        self._link = link
        self.now_us = 0
        self._next_heartbeat = self._next_timesync = 0
        self._arrived: list[bytes] = []
        self._diagnostics = host.output(
            "", "/diagnostics", "diagnostic_msgs/DiagnosticArray", False
        )
        host.output("", "/tf_static", "tf2_msgs/TFMessage", True).publish(
            ros.transforms(0, _STATIC_FRAMES)
        )
        self.vehicles = [Vehicle(i, name, link, host, self) for i, name in enumerate(names)]

    def poll(self) -> None:
        """Publishes everything that has come."""
        self.collect()
        self.publish()

    def collect(self) -> None:
        """Takes what has come, for publish()."""
        self._arrived += self._link.datagrams()

    def publish(self) -> None:
        """Publishes everything collected."""
        arrived, self._arrived = self._arrived, []
        self.take(list(self._link.receive(arrived)))

    def take(self, received: Sequence[tuple[int, int, bytes, bytes]]) -> None:
        """Publishes messages.

        Args:
            received: As FleetLink.receive() gives them.
        """
        for i, message_id, payload, _ in received:
            self.vehicles[i].latest[message_id] = payload
        for i, message_id, payload, frame in received:
            try:
                self.vehicles[i].take(message_id, payload, frame)
            except Exception as error:  # of one message: the others go on
                self.vehicles[i].tell_failure(mavlink.mavlink_map[message_id].msgname, error)

    def tick(self, t_us: int) -> None:
        """Advances simulated time to t_us: sends heartbeats and reports lost vehicles."""
        self.now_us = t_us
        if t_us >= self._next_timesync:
            self._next_timesync = t_us + PERIOD_US
            for vehicle in self.vehicles:
                vehicle.ask_for_time()
        if t_us >= self._next_heartbeat:
            self._next_heartbeat = t_us + HEARTBEAT_US
            self.greet()
            for vehicle in self.vehicles:
                vehicle.check_connection()
                vehicle.tell_time()
                if self._diagnostics.wanted():
                    self._diagnostics.publish(diagnostics.report(vehicle))
        for vehicle in self.vehicles:
            if vehicle.trajectory is not None:
                vehicle.follow_trajectory(t_us)

    @property
    def late(self) -> list:
        """Vehicles in OFFBOARD whose stream of set-points is overdue."""
        return [vehicle for vehicle in self.vehicles if vehicle.set_point_late]

    def greet(self) -> None:
        """Sends a heartbeat to every vehicle, which starts the streams of its link."""
        for vehicle in self.vehicles:
            self._link.send(vehicle.index, heartbeat())


def _failure(name, error):
    """One line; numbers that fit no field are the sender's fault, the rest is ours."""
    if isinstance(error, (ValueError, OverflowError, struct.error, XtdroneError)):
        return f"{name} ignored: a value is out of range: {error}"
    return failure(name, error)


class Vehicle:
    """One vehicle's side of the bridge: what the functions of the tables read and call.

    Attributes:
        index, name: Of the vehicle.
        link, host: As of the Bridge.
        requests: Asks the vehicle and waits for its answer.
        state: The last State message, as bytes; None after another system's heartbeat.
        text: Severity and text of a status text that is complete now, or None.
        mission: The waypoints as bytes where they have just changed, or None.
        fix: Status, covariance and its type, of the receiver.
        map_origin: Latitude, longitude [deg] and height above the ellipsoid [m] of
            global_position/local: home, or the first position where that is not known.
        timesync: Offset of the vehicle's clock.
        thrust: 0..1, for set-points of attitude that come without; None = not known yet.
        trajectory: The one of setpoint_trajectory/local that is being sent, or None.
        mav_frames: MAV_FRAME of the set-points of some topics, by the topic's first name.
        plans: Waypoints by MAV_MISSION_TYPE, as convert.waypoint() gives them.
        files: On the vehicle.
        latest: Message id -> payload of the last message.
        connected: Whether a heartbeat came lately.
        heartbeats, received, received_bytes: Messages that came so far.
        sequence: Of the last message.
        fake_position: Time [us] and position [m] of the last fake_gps, or None.
        landing_target_us: Time of the last landing_target [us].
    """

    def __init__(self, index: int, name: str, link: Any, host: Any, bridge: Any):
        self.index = index
        self.name = name
        self.link = link
        self.host = host
        self.requests = Requests(link, index)
        self.latest = {}
        self.heartbeats = self.received = self.received_bytes = self.sequence = 0
        self.state = self.text = self.mission = None
        self.fix = NO_FIX
        self.map_origin = None
        self.timesync = Timesync()
        self.thrust = None
        self.trajectory = None
        self.mav_frames = dict.fromkeys(
            ("setpoint_position", "setpoint_velocity", "setpoint_trajectory"),
            mavlink.MAV_FRAME_LOCAL_NED,
        )
        self.base_mode = 0
        self.plans = {kind: [] for kind in _PLANS}
        self.files = RemoteFiles(link, index)
        self.fake_position = self.landing_target_us = None
        self._bridge = bridge
        self._frame = None  # of the message that is dealt with
        self._read = {}  # function -> payload and what it gave
        self._heard_us = -LOST_US - 1
        self._offboard = False
        self._set_point_us = None  # when the last set-point came; None: no stream [us]
        self.connected = False
        self._parameters_due_us = None  # when they are next read, not having been asked for [us]
        self._pull_after_gcs = True  # whether missions that others upload are read
        self._next_due = {}  # name of a limited input -> when it is next taken [us]
        self._chunks = {}  # id of a long status text -> text so far
        self._mission_current, self._mission_total = 0, None  # None = not known yet
        self._motors = {}  # message id -> {index of the first motor: payload}
        self._parameters = {}  # name -> index and count that it first came with
        self._out, self._of_message = {}, {}  # by topic; by message id: (output, Topic)
        for topic in TOPICS:
            out = self._out[topic.name] = host.output(name, topic.name, topic.type, topic.latched)
            if topic.message:
                number = getattr(mavlink, f"MAVLINK_MSG_ID_{topic.message}")
                self._of_message.setdefault(number, []).append((out, topic))
        self._publish_disconnected()

    @property
    def now_us(self) -> int:
        """Simulated time [us]."""
        return self._bridge.now_us

    @property
    def set_point_late(self) -> bool:
        """Whether it is in OFFBOARD with a stream of set-points that is overdue."""
        last = self._set_point_us
        return self._offboard and last is not None and LATE_US <= self.now_us - last

    def end_stream(self) -> None:
        """Treats the stream of set-points as ended."""
        self._set_point_us = None

    def send_set_point(self, message: Any) -> None:
        """Sends one of a stream of set-points."""
        self._set_point_us = self.now_us
        self.link.send(self.index, message)

    # From ROS -------------------------------------------------------------------------------

    def take_input(self, row: Any, message: Any) -> None:
        """Passes on what came in on a topic; what fits no MAVLink message costs a line in the log.

        Args:
            row: The Subscription.
            message: Any object with its type's fields, or bytes where the row asks for them.
        """
        try:
            row.handle(self, message)
        except Exception as error:  # of one message: the others go on
            self.tell_failure(row.name, error)

    def follow_trajectory(self, t_us: int) -> None:
        """Sends the points of the present trajectory that are due; a wrong one ends it."""
        try:
            self.trajectory.tick(t_us)
        except Exception as error:
            self.trajectory = None
            self.tell_failure("setpoint_trajectory/local", error)

    def answer(self, row: Any, request: Any) -> tuple:
        """The fields of a service's response.

        Args:
            row: The Service.
            request: Any object with its type's fields.

        Raises:
            ServiceFailed: MAVROS answers with an error, or the request fits no MAVLink message.
        """
        try:
            return row.answer(self, request)
        except ServiceFailed:
            raise
        except Exception as error:
            raise ServiceFailed(_failure(row.name, error)) from error

    def tell_failure(self, name: str, error: Exception) -> None:
        """Says why a topic or message was not taken, once a second of each name."""
        if self.due(f"failure of {name}", _FAILURES_US):
            self.host.log(self.name, mavlink.MAV_SEVERITY_WARNING, _failure(name, error))

    # From the vehicle -----------------------------------------------------------------------

    def take(self, message_id: int, payload: bytes, frame: bytes) -> None:
        """Handles a message: the state of the bridge, then its topics."""
        handler = _HANDLERS.get(message_id)
        self._frame = frame
        self.received += 1
        self.received_bytes += len(frame)
        self.sequence = frame[4]
        if handler is not None:
            handler(self, payload)
        for out, topic in self._of_message.get(message_id, ()):
            if topic.latched or out.wanted():
                data = topic.build(self, payload)
                if data is not None:
                    out.publish(data)
        if message_id == mavlink.MAVLINK_MSG_ID_HEARTBEAT and self.state is not None:
            self._greet_once()

    def stamp(self, t_us: int) -> int:
        """The vehicle's time stamp of a message, or now if its clock differs [us]."""
        return t_us if abs(t_us - self.now_us) < _NEAR_US else self.now_us

    def read(self, convert_payload: Callable[[bytes], Any], payload: bytes) -> Any:
        """convert_payload(payload), done once for all topics of one message."""
        known = self._read.get(convert_payload)
        if known is None or known[0] is not payload:
            known = self._read[convert_payload] = payload, convert_payload(payload)
        return known[1]

    def decoded(self) -> Any:
        """The current message as a pymavlink message."""
        return self.link.decode(self._frame)

    def attitude(self) -> Any:
        """The latest time [us], quaternion xyzw, body to world, and body rates [rad/s]."""
        payload = self.latest.get(_ATTITUDE)
        if payload is None:
            return 0, (0.0, 0.0, 0.0, 1.0), (0.0, 0.0, 0.0)
        return self.read(convert.attitude, payload)

    def acceleration(self) -> Any:
        """The last accelerometer reading, body [m/s^2]."""
        payload = self.latest.get(_IMU)
        return (0.0, 0.0, 0.0) if payload is None else self.read(convert.highres_imu, payload)[1]

    def check_connection(self) -> None:
        """Publishes that the vehicle is disconnected if it has been silent for LOST_US."""
        if self.connected and self.now_us - self._heard_us > LOST_US:
            self.connected = False
            self.host.log(
                self.name,
                mavlink.MAV_SEVERITY_CRITICAL,
                f"no heartbeat for {LOST_US // 1_000_000} s: the vehicle is gone",
            )
            self._parameters_due_us = None
            self._publish_disconnected()
        if self._parameters_due_us is not None and self._parameters_due_us <= self.now_us:
            self._parameters_due_us = None
            self.host.later(self.requests.param_pull)

    def tell_time(self) -> None:
        """Sends SYSTEM_TIME to a connected vehicle."""
        if self.connected:
            self.link.send(self.index, mavlink.MAVLink_system_time_message(self.now_us, 0))

    def use_parameters(self, values: dict) -> None:
        """Takes over those of MAVROS's parameters that it heeds, nested as on the server."""
        for topics in self.mav_frames:
            number = convert.mav_frame(values.get(topics, {}).get("mav_frame", "LOCAL_NED"))
            if number is None:
                self.host.log(
                    self.name,
                    mavlink.MAV_SEVERITY_WARNING,
                    f"{topics}/mav_frame is no MAV_FRAME: LOCAL_NED is used",
                )
            else:
                self.mav_frames[topics] = number
        self._pull_after_gcs = bool(values.get("mission", {}).get("pull_after_gcs", True))

    def publish(self, topic: str, data: bytes) -> None:
        """Publishes a message of a topic whose row has no MAVLink message."""
        if self._out[topic].wanted():
            self._out[topic].publish(data)

    def due(self, name: str, period_us: int) -> bool:
        """Whether an input that is taken once in a period is due; then the next one begins."""
        if self.now_us < self._next_due.get(name, 0):
            return False
        self._next_due[name] = self.now_us + period_us
        return True

    def info(self) -> dict | None:
        """Fields of mavros_msgs/VehicleInfo; None before its first heartbeat."""
        beat, version = (
            self.latest.get(mavlink.MAVLINK_MSG_ID_HEARTBEAT),
            self.latest.get(mavlink.MAVLINK_MSG_ID_AUTOPILOT_VERSION),
        )
        if beat is None:
            return None
        custom, kind, autopilot, base, status, _ = unpack(0, beat)
        out = dict(
            header={
                "stamp": {
                    "secs": self._heard_us // 1_000_000,
                    "nsecs": self._heard_us % 1_000_000 * 1000,
                }
            },
            available_info=1,
            sysid=self.index + 1,
            compid=1,
            autopilot=autopilot,
            type=kind,
            system_status=status,
            base_mode=base,
            custom_mode=custom,
            mode=modes.ros_name(custom),
            mode_id=custom if base & 1 else base,
        )
        if version is not None:
            (
                capabilities,
                uid,
                flight,
                middleware,
                system,
                board,
                vendor,
                product,
                *custom_version,
            ) = unpack(148, version)
            out.update(
                available_info=3,
                capabilities=capabilities,
                uid=uid,
                flight_sw_version=flight,
                middleware_sw_version=middleware,
                os_sw_version=system,
                board_version=board,
                vendor_id=vendor,
                product_id=product,
                flight_custom_version=bytes(custom_version[7::-1]).hex(),
            )
        return out

    def publish_plan(self, kind: int) -> None:
        """Publishes mission, geofence or rally points, by their MAV_MISSION_TYPE."""
        data = self._waypoint_list() if kind == MISSION else ros.waypoint_list(0, self.plans[kind])
        self._out[f"{_PLANS[kind]}/waypoints"].publish(data)

    def ask_for_time(self) -> None:
        """Sends a TIMESYNC to a connected vehicle."""
        if self.connected:
            self.link.send(self.index, mavlink.MAVLink_timesync_message(0, self.now_us * 1000))

    def motors(self, message_id: int) -> tuple:
        """ESC_INFO or ESC_STATUS of all motors, four in each message.

        Returns:
            The numbers of each message in order, and how many motors there are. No messages
            where more of this round are to come.
        """
        parts = self._motors.get(message_id, {})
        newest, last = next(reversed(parts), None), max(parts, default=None)
        if newest != last:
            return [], 0
        counts = [unpack(290, payload)[15] for payload in self._motors.get(290, {}).values()]
        return [unpack(message_id, parts[k]) for k in sorted(parts)], max(counts, default=0)

    def parameter_place(self, message: Any) -> tuple:
        """Index and count of a PARAM_VALUE as they were at first."""
        return self._parameters.setdefault(
            message.param_id, (message.param_index, message.param_count)
        )

    def _publish_disconnected(self):
        self._out["state"].publish(ros.state(self.now_us, False, False, False, False, "", 0))

    def _waypoint_list(self):
        current = self._mission_current
        marked = [
            (frame, command, seq == current, *rest)
            for seq, (frame, command, _, *rest) in enumerate(self.plans[MISSION])
        ]
        return ros.waypoint_list(current, marked)

    def _greet_once(self):
        """Starts the streams of the link, and asks what MAVROS asks of a vehicle that comes."""
        if self.connected:
            return
        self.connected = True
        self.link.send(self.index, heartbeat())
        self.link.send(
            self.index,
            mavlink.MAVLink_command_long_message(
                self.index + 1,
                1,
                mavlink.MAV_CMD_REQUEST_AUTOPILOT_CAPABILITIES,
                0,
                1,
                0,
                0,
                0,
                0,
                0,
                0,
            ),
        )
        self._parameters_due_us = self.now_us + PARAMETERS_US
        self.host.later(self._pull_plans)

    def _pull_plans(self):
        for kind in _PLANS:
            self.pull_plan(kind)

    def pull_plan(self, kind: int) -> int | None:
        """Reads and publishes mission, geofence or rally points.

        Returns:
            How many waypoints there are; None where the vehicle does not answer.
        """
        items = self.requests.mission_pull(kind)
        if items is None:
            return None
        self.plans[kind] = [convert.waypoint(item) for item in items]
        self.publish_plan(kind)
        return len(items)

    def _on_heartbeat(self, payload):
        custom, _, autopilot, base, status, _ = unpack(0, payload)
        self.state = None
        if autopilot == mavlink.MAV_AUTOPILOT_INVALID:
            return
        self._heard_us, self.base_mode = self.now_us, base
        self.heartbeats += 1
        self._offboard = modes.from_custom_mode(custom) == modes.Mode.OFFBOARD
        self.state = ros.state(
            self.now_us,
            True,
            base & 128 != 0,
            base & 8 != 0,
            base & 64 != 0,
            modes.ros_name(custom),
            status,
        )

    def _on_gps_raw(self, payload):
        self.fix = fix_of(payload)

    def _on_status_text(self, payload):
        severity, words, number, chunk = unpack(253, payload)
        part, self.text = words.split(b"\0")[0].decode(errors="replace"), None
        if number:  # longer than one message: the chunks come one after the other
            part = (self._chunks.pop(number, "") if chunk else "") + part
            if b"\0" not in words:
                self._chunks = {number: part}
                return
        self.text = severity, part
        self.host.log(self.name, severity, part)

    def _on_ack(self, payload):
        command, result, *_ = unpack(77, payload)
        if command == mavlink.MAV_CMD_DO_SET_MODE and result != mavlink.MAV_RESULT_ACCEPTED:
            name = mavlink.enums["MAV_RESULT"].get(result)
            self.host.log(
                self.name,
                mavlink.MAV_SEVERITY_WARNING,
                f"mode refused: {name.name if name else result}",
            )

    def _on_timesync(self, payload):
        theirs, ours = unpack(111, payload)[:2]
        self.timesync.fresh = theirs > 0
        if theirs > 0:
            self.timesync.take(theirs, ours, self.now_us * 1000)
        elif theirs == 0:
            self.link.send(self.index, mavlink.MAVLink_timesync_message(self.now_us * 1000, ours))

    def _on_motors(self, message_id, index, payload):
        parts = self._motors.setdefault(message_id, {})
        parts.pop(unpack(message_id, payload)[index], None)
        parts[unpack(message_id, payload)[index]] = payload

    def _on_esc_info(self, payload):
        self._on_motors(290, 14, payload)

    def _on_esc_status(self, payload):
        self._on_motors(291, 13, payload)

    def _on_home(self, payload):
        lat, lon, alt, *_ = convert.home(payload)
        self.map_origin = lat, lon, convert.above_ellipsoid(lat, lon, alt)

    def _on_mission_current(self, payload):
        (current, total, *_), self.mission = unpack(42, payload), None
        total = 0 if total == _NO_MISSION else total
        if total != self._mission_total:
            known, self._mission_total = self._mission_total, total
            if known is not None and self._pull_after_gcs and total != len(self.plans[MISSION]):
                self.host.later(lambda: self.pull_plan(MISSION))
        if current != self._mission_current:
            self._mission_current = current
            self.mission = self._waypoint_list()


_HANDLERS = {
    getattr(mavlink, f"MAVLINK_MSG_ID_{name}"): handler
    for name, handler in (
        ("HEARTBEAT", Vehicle._on_heartbeat),
        ("GPS_RAW_INT", Vehicle._on_gps_raw),
        ("STATUSTEXT", Vehicle._on_status_text),
        ("COMMAND_ACK", Vehicle._on_ack),
        ("TIMESYNC", Vehicle._on_timesync),
        ("MISSION_CURRENT", Vehicle._on_mission_current),
        ("ESC_INFO", Vehicle._on_esc_info),
        ("ESC_STATUS", Vehicle._on_esc_status),
        ("HOME_POSITION", Vehicle._on_home),
    )
}
