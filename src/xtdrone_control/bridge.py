"""MAVROS 1's topics and services for a whole fleet, from MAVLink alone and without rospy.

What there is stands in the tables of topics.py, inputs.py and services.py; nodes/bridge makes rospy
publishers, subscribers and services of them; names are below V/mavros/ of each vehicle V.
Messages go out as bytes (ros_serialisation) and only where there is a subscriber. Those that
come in may be any objects with the fields of their ROS types.
"""

from collections.abc import Callable, Sequence
from typing import Any

from pymavlink.dialects.v20 import common as mavlink

from xtdrone_core import modes

from . import mavlink_convert as convert, ros_serialisation as ros
from .command_translator import LATE_US
from .mavlink_link import unpack
from .requests import Requests, heartbeat
from .topics import NO_FIX, TOPICS, fix_of

LOST_US = 10_000_000  # without a heartbeat for this long a vehicle counts as gone [us]
HEARTBEAT_US = 1_000_000  # of this end [us]
_NEAR_US = 1_000_000  # a vehicle's clock further from ours than this is not ours [us]
_ATTITUDE, _IMU = mavlink.MAVLINK_MSG_ID_ATTITUDE_QUATERNION, mavlink.MAVLINK_MSG_ID_HIGHRES_IMU
# Asked of real PX4, whose own rates on this link are lower: message id -> period [us].
PX4_INTERVALS = {mavlink.MAVLINK_MSG_ID_LOCAL_POSITION_NED: 20_000, _ATTITUDE: 20_000,
                 _IMU: 20_000, mavlink.MAVLINK_MSG_ID_HOME_POSITION: 2_000_000}


class Bridge:
    """The fleet's topics and services. One thread calls poll() and tick()."""

    def __init__(self, names: Sequence[str], link: Any, host: Any, intervals: Any = None):
        """Makes one Vehicle per name.

        Args:
            names: ROS namespaces; the index is the MAVLink instance.
            link: A FleetLink.
            host: What stands for ROS: output(name, topic, type, latched), an object with
                wanted() and publish(bytes); log(name, severity, text); and the parameter
                server as store_params(name, dict) and load_params(name) -> dict.
            intervals: Message id -> period [us] to ask of each vehicle, or None.
        """
        self._link = link
        self.now_us = 0
        self._next_heartbeat = 0
        self.vehicles = [Vehicle(i, name, link, host, self, intervals or {})
                         for i, name in enumerate(names)]

    def poll(self) -> None:
        """Publishes everything received."""
        received = list(self._link.receive())
        for i, message_id, payload, _ in received:
            if message_id == _ATTITUDE:
                self.vehicles[i].attitude_payload = payload
            elif message_id == _IMU:
                self.vehicles[i].imu_payload = payload
        for i, message_id, payload, frame in received:
            self.vehicles[i].take(message_id, payload, frame)

    def tick(self, t_us: int) -> None:
        """Advances simulated time to t_us: sends heartbeats and reports lost vehicles."""
        self.now_us = t_us
        if t_us >= self._next_heartbeat:
            self._next_heartbeat = t_us + HEARTBEAT_US
            self.greet()
            for vehicle in self.vehicles:
                vehicle.check_connection()

    @property
    def late(self) -> list:
        """Vehicles in OFFBOARD whose stream of set-points is overdue."""
        return [vehicle for vehicle in self.vehicles if vehicle.set_point_late]

    def greet(self) -> None:
        """Sends a heartbeat to every vehicle, which starts the streams of its link."""
        for vehicle in self.vehicles:
            self._link.send(vehicle.index, heartbeat())


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
        geoid: Its height above the ellipsoid [m].
        thrust: 0..1, for set-points of attitude that come without.
        waypoints: Of the mission, as mavlink_convert.waypoint() gives them.
    """

    def __init__(self, index: int, name: str, link: Any, host: Any, bridge: Any, intervals: Any):
        self.index = index
        self.name = name
        self.link = link
        self.host = host
        self.requests = Requests(link, index)
        self.attitude_payload = self.imu_payload = None
        self.state = self.text = self.mission = None
        self.fix, self.geoid = NO_FIX, 0.0  # [m]
        self.thrust = 0.0
        self.base_mode = 0
        self.waypoints = []
        self._bridge = bridge
        self._intervals = intervals
        self._frame = None  # of the message that is dealt with
        self._read = {}  # function -> payload and what it gave
        self._heard_us = -LOST_US - 1
        self._offboard = False
        self._set_point_us = None  # when the last set-point came; None: no stream [us]
        self._connected = False
        self._chunks = {}  # id of a long status text -> text so far
        self._mission_current = 0
        self._out, self._of_message = {}, {}  # by topic; by message id: (output, Topic)
        for topic in TOPICS:
            out = self._out[topic.name] = host.output(name, topic.name, topic.type, topic.latched)
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

    # From the vehicle -----------------------------------------------------------------------

    def take(self, message_id: int, payload: bytes, frame: bytes) -> None:
        """Handles a message: the state of the bridge, then its topics."""
        handler = _HANDLERS.get(message_id)
        self._frame = frame
        if handler is not None:
            handler(self, payload)
        for out, topic in self._of_message.get(message_id, ()):
            if topic.latched or out.wanted():
                data = topic.build(self, payload)
                if data is not None:
                    out.publish(data)
        if message_id == mavlink.MAVLINK_MSG_ID_HEARTBEAT and self.state is not None:
            self._ask_for_streams()

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
        if self.attitude_payload is None:
            return 0, (0.0, 0.0, 0.0, 1.0), (0.0, 0.0, 0.0)
        return self.read(convert.attitude, self.attitude_payload)

    def acceleration(self) -> Any:
        """The last accelerometer reading, body [m/s^2]."""
        if self.imu_payload is None:
            return 0.0, 0.0, 0.0
        return self.read(convert.highres_imu, self.imu_payload)[1]

    def check_connection(self) -> None:
        """Publishes that the vehicle is disconnected if it has been silent for LOST_US."""
        if self._connected and self.now_us - self._heard_us > LOST_US:
            self._connected = False
            self.host.log(self.name, mavlink.MAV_SEVERITY_CRITICAL,
                          f"no heartbeat for {LOST_US // 1_000_000} s: the vehicle is gone")
            self._publish_disconnected()

    def publish_waypoints(self) -> None:
        """Publishes its mission."""
        self._out["mission/waypoints"].publish(self._waypoint_list())

    def _publish_disconnected(self):
        self._out["state"].publish(ros.state(self.now_us, False, False, False, False, "", 0))

    def _waypoint_list(self):
        current = self._mission_current
        marked = [(frame, command, seq == current, *rest)
                  for seq, (frame, command, _, *rest) in enumerate(self.waypoints)]
        return ros.waypoint_list(current, marked)

    def _ask_for_streams(self):
        if self._connected:
            return
        self._connected = True
        self.link.send(self.index, heartbeat())
        for message_id, interval in self._intervals.items():
            self.link.send(self.index, mavlink.MAVLink_command_long_message(
                self.index + 1, 1, mavlink.MAV_CMD_SET_MESSAGE_INTERVAL, 0, message_id, interval,
                0, 0, 0, 0, 0))

    def _on_heartbeat(self, payload):
        custom, _, autopilot, base, status, _ = unpack(0, payload)
        self.state = None
        if autopilot == mavlink.MAV_AUTOPILOT_INVALID:
            return
        self._heard_us, self.base_mode = self.now_us, base
        mode = modes.from_custom_mode(custom)
        self._offboard = mode == modes.Mode.OFFBOARD
        name = f"CMODE({custom})" if mode is None else modes.ROS_NAME[mode]
        self.state = ros.state(self.now_us, True, base & 128 != 0, base & 8 != 0, base & 64 != 0,
                                name, status)

    def _on_gps_raw(self, payload):
        self.fix, self.geoid = fix_of(payload)

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
            self.host.log(self.name, mavlink.MAV_SEVERITY_WARNING,
                          f"mode refused: {name.name if name else result}")

    def _on_timesync(self, payload):
        sent, echo = unpack(111, payload)
        if sent == 0:
            self.link.send(self.index, mavlink.MAVLink_timesync_message(self.now_us * 1000, echo))

    def _on_mission_current(self, payload):
        current, self.mission = unpack(42, payload)[0], None
        if current != self._mission_current:
            self._mission_current = current
            self.mission = self._waypoint_list()


_HANDLERS = {
    getattr(mavlink, f"MAVLINK_MSG_ID_{name}"): handler for name, handler in (
        ("HEARTBEAT", Vehicle._on_heartbeat), ("GPS_RAW_INT", Vehicle._on_gps_raw),
        ("STATUSTEXT", Vehicle._on_status_text), ("COMMAND_ACK", Vehicle._on_ack),
        ("TIMESYNC", Vehicle._on_timesync), ("MISSION_CURRENT", Vehicle._on_mission_current))
}
