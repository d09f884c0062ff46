"""MAVROS 1's topics and services for a whole fleet, from MAVLink alone and without rospy.

nodes/bridge makes rospy publishers, subscribers and services from the tables
TOPICS, SUBSCRIPTIONS and SERVICES; names are below V/mavros/ of each vehicle V.
Messages go out as bytes (ros_wire) and only where somebody listens. Those that
come in may be any objects with the fields of their ROS types.
"""


from pymavlink.dialects.v20 import common as mavlink

from xtdrone_core import modes
from xtdrone_core.errors import unknown_name

from . import mavlink_convert as convert, ros_serialisation as wire
from .command_translator import LATE_US
from .mavlink_link import unpack
from .requests import Requests, heartbeat, param_value

LOST_US = 10_000_000  # without a heartbeat for this long a vehicle counts as gone [us]
HEARTBEAT_US = 1_000_000  # of this end [us]
_NEAR_US = 1_000_000  # a vehicle's clock further from ours than this is not ours [us]
MAP, BODY = "map", "base_link"  # MAVROS's frames, the same for every vehicle
# MAVROS's standard deviations of imu/*, for whoever reads its covariances.
_ACCEL_COV = wire.diagonal(*(0.0003 ** 2,) * 3)
_RATE_COV = wire.diagonal(*(0.0003490659 ** 2,) * 3)
_ATTITUDE_COV = wire.diagonal(1.0, 1.0, 1.0)
_NO_COV = (0.0,) * 9
_ATTITUDE, _IMU = mavlink.MAVLINK_MSG_ID_ATTITUDE_QUATERNION, mavlink.MAVLINK_MSG_ID_HIGHRES_IMU
# Asked of real PX4, whose own rates on this link are lower: message id -> period [us].
PX4_INTERVALS = {mavlink.MAVLINK_MSG_ID_LOCAL_POSITION_NED: 20_000, _ATTITUDE: 20_000,
                 _IMU: 20_000, mavlink.MAVLINK_MSG_ID_HOME_POSITION: 2_000_000}

TOPICS = (  # name, type, latched
    ("state", "mavros_msgs/State", True),
    ("extended_state", "mavros_msgs/ExtendedState", False),
    ("statustext/recv", "mavros_msgs/StatusText", False),
    ("battery", "sensor_msgs/BatteryState", False),
    ("estimator_status", "mavros_msgs/EstimatorStatus", False),
    ("time_reference", "sensor_msgs/TimeReference", False),
    ("local_position/pose", "geometry_msgs/PoseStamped", False),
    ("local_position/velocity_local", "geometry_msgs/TwistStamped", False),
    ("local_position/velocity_body", "geometry_msgs/TwistStamped", False),
    ("local_position/odom", "nav_msgs/Odometry", False),
    ("global_position/global", "sensor_msgs/NavSatFix", False),
    ("global_position/rel_alt", "std_msgs/Float64", False),
    ("global_position/compass_hdg", "std_msgs/Float64", False),
    ("global_position/raw/fix", "sensor_msgs/NavSatFix", False),
    ("global_position/raw/gps_vel", "geometry_msgs/TwistStamped", False),
    ("global_position/raw/satellites", "std_msgs/UInt32", False),
    ("global_position/gp_origin", "geographic_msgs/GeoPointStamped", True),
    ("imu/data", "sensor_msgs/Imu", False),
    ("imu/data_raw", "sensor_msgs/Imu", False),
    ("imu/mag", "sensor_msgs/MagneticField", False),
    ("imu/static_pressure", "sensor_msgs/FluidPressure", False),
    ("imu/diff_pressure", "sensor_msgs/FluidPressure", False),
    ("imu/temperature_imu", "sensor_msgs/Temperature", False),
    ("home_position/home", "mavros_msgs/HomePosition", True),
    ("altitude", "mavros_msgs/Altitude", False),
    ("vfr_hud", "mavros_msgs/VFR_HUD", False),
    ("rc/out", "mavros_msgs/RCOut", False),
    ("setpoint_raw/target_local", "mavros_msgs/PositionTarget", False),
    ("setpoint_raw/target_attitude", "mavros_msgs/AttitudeTarget", False),
    ("param/param_value", "mavros_msgs/Param", False),
    ("mission/waypoints", "mavros_msgs/WaypointList", True),
    ("mission/reached", "mavros_msgs/WaypointReached", True),
)

SUBSCRIPTIONS = (  # name, type, method of Vehicle
    ("setpoint_raw/local", "mavros_msgs/PositionTarget", "setpoint_raw_local"),
    ("setpoint_raw/attitude", "mavros_msgs/AttitudeTarget", "setpoint_raw_attitude"),
    ("setpoint_raw/global", "mavros_msgs/GlobalPositionTarget", "setpoint_raw_global"),
    ("setpoint_position/local", "geometry_msgs/PoseStamped", "setpoint_position"),
    ("setpoint_position/global", "geographic_msgs/GeoPoseStamped", "setpoint_position_global"),
    ("setpoint_velocity/cmd_vel", "geometry_msgs/TwistStamped", "setpoint_velocity"),
    ("setpoint_velocity/cmd_vel_unstamped", "geometry_msgs/Twist", "setpoint_velocity_unstamped"),
    ("setpoint_accel/accel", "geometry_msgs/Vector3Stamped", "setpoint_accel"),
    ("setpoint_attitude/thrust", "mavros_msgs/Thrust", "setpoint_thrust"),
    ("setpoint_attitude/attitude", "geometry_msgs/PoseStamped", "setpoint_attitude"),
    ("setpoint_attitude/cmd_vel", "geometry_msgs/TwistStamped", "setpoint_rates"),
    ("vision_pose/pose", "geometry_msgs/PoseStamped", "vision_pose"),
    ("vision_pose/pose_cov", "geometry_msgs/PoseWithCovarianceStamped", "vision_pose_cov"),
    ("manual_control/send", "mavros_msgs/ManualControl", "manual_control"),
    ("rc/override", "mavros_msgs/OverrideRCIn", "rc_override"),
    ("statustext/send", "mavros_msgs/StatusText", "send_status_text"),
    ("global_position/set_gp_origin", "geographic_msgs/GeoPointStamped", "set_gp_origin"),
    ("home_position/set", "mavros_msgs/HomePosition", "set_home_position"),
)

SERVICES = (  # name, type, method of Vehicle; each returns the fields of the response
    ("cmd/arming", "mavros_msgs/CommandBool", "arming"),
    ("cmd/command", "mavros_msgs/CommandLong", "command"),
    ("cmd/command_int", "mavros_msgs/CommandInt", "command_int"),
    ("cmd/takeoff", "mavros_msgs/CommandTOL", "takeoff"),
    ("cmd/land", "mavros_msgs/CommandTOL", "land"),
    ("cmd/set_home", "mavros_msgs/CommandHome", "set_home"),
    ("cmd/vtol_transition", "mavros_msgs/CommandVtolTransition", "vtol_transition"),
    ("set_mode", "mavros_msgs/SetMode", "set_mode"),
    ("set_stream_rate", "mavros_msgs/StreamRate", "set_stream_rate"),
    ("set_message_interval", "mavros_msgs/MessageInterval", "set_message_interval"),
    ("home_position/req_update", "std_srvs/Trigger", "request_home"),
    ("param/get", "mavros_msgs/ParamGet", "param_get"),
    ("param/set", "mavros_msgs/ParamSet", "param_set"),
    ("param/pull", "mavros_msgs/ParamPull", "param_pull"),
    ("param/push", "mavros_msgs/ParamPush", "param_push"),
    ("mission/push", "mavros_msgs/WaypointPush", "mission_push"),
    ("mission/pull", "mavros_msgs/WaypointPull", "mission_pull"),
    ("mission/clear", "mavros_msgs/WaypointClear", "mission_clear"),
    ("mission/set_current", "mavros_msgs/WaypointSetCurrent", "mission_set_current"),
)


class Bridge:
    """The fleet's topics and services. One thread calls poll() and tick()."""

    def __init__(self, names, link, host, intervals=None):
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
        """Publishes everything that has come in."""
        received = list(self._link.receive())
        for i, message_id, payload, _ in received:
            if message_id == _ATTITUDE:
                self.vehicles[i].attitude_payload = payload
            elif message_id == _IMU:
                self.vehicles[i].imu_payload = payload
        for i, message_id, payload, frame in received:
            handler = _HANDLERS.get(message_id)
            if handler is not None:
                handler(self.vehicles[i], payload, frame)

    def tick(self, t_us: int) -> None:
        """Simulated time has come to t_us: heartbeats, and what is lost is said to be lost."""
        self.now_us = t_us
        if t_us >= self._next_heartbeat:
            self._next_heartbeat = t_us + HEARTBEAT_US
            self.greet()
            for vehicle in self.vehicles:
                vehicle.check_connection()

    @property
    def late(self) -> list:
        """Vehicles in OFFBOARD whose stream of set-points is late."""
        return [vehicle for vehicle in self.vehicles if vehicle.set_point_late]

    def greet(self) -> None:
        """Sends a heartbeat to every vehicle, which makes its link stream."""
        for vehicle in self.vehicles:
            self._link.send(vehicle.index, heartbeat())


class Vehicle:
    """One vehicle's side of the bridge."""

    def __init__(self, index, name, link, host, bridge, intervals):
        self.index = index
        self.name = name
        self.requests = Requests(link, index)
        self.attitude_payload = self.imu_payload = None
        self._link = link
        self._host = host
        self._bridge = bridge
        self._intervals = intervals
        self._out = {topic: host.output(name, topic, kind, latched)
                     for topic, kind, latched in TOPICS}
        self._attitude = (None, None)  # payload, what it says
        self._imu = (None, None)
        self._heard_us = -LOST_US - 1
        self._base_mode = 0
        self._offboard = False
        self._set_point_us = None  # when the last set-point came; None: no stream [us]
        self._connected = False
        self._fix = (-1, _NO_COV, 0)  # status, covariance, its type
        self._geoid = 0.0  # above the ellipsoid [m]
        self._thrust = 0.0
        self._chunks = {}  # id of a long status text -> text so far
        self._mission_current = 0
        self._waypoints = []
        self._publish_disconnected()

    @property
    def set_point_late(self) -> bool:
        """Whether it flies by a stream of set-points, and the next one is overdue."""
        last = self._set_point_us
        return (self._offboard and last is not None
                and LATE_US <= self._bridge.now_us - last)

    def end_stream(self) -> None:
        """Nobody waits for the next set-point any more."""
        self._set_point_us = None

    def _send_set_point(self, message):
        self._set_point_us = self._bridge.now_us
        self._link.send(self.index, message)

    # From the vehicle -----------------------------------------------------------------------

    def _stamp(self, t_us):
        """The vehicle's own time of a message, unless its clock is another one than ours."""
        now = self._bridge.now_us
        return t_us if abs(t_us - now) < _NEAR_US else now

    def _attitude_now(self):
        if self._attitude[0] is not self.attitude_payload:
            self._attitude = (self.attitude_payload, convert.attitude(self.attitude_payload))
        return self._attitude[1] or (0, (0.0, 0.0, 0.0, 1.0), (0.0, 0.0, 0.0))

    def _imu_now(self):
        if self._imu[0] is not self.imu_payload:
            self._imu = (self.imu_payload, convert.highres_imu(self.imu_payload))
        return self._imu[1]

    def _on_heartbeat(self, payload, frame):
        custom, _kind, autopilot, base, status, _ = unpack(0, payload)
        if autopilot == mavlink.MAV_AUTOPILOT_INVALID:
            return
        first = not self._connected
        self._connected, self._heard_us, self._base_mode = True, self._bridge.now_us, base
        mode = modes.from_custom_mode(custom)
        self._offboard = mode == modes.Mode.OFFBOARD
        self._out["state"].publish(wire.state(
            self._bridge.now_us, True, base & 128 != 0, base & 8 != 0, base & 64 != 0,
            f"CMODE({custom})" if mode is None else modes.ROS_NAME[mode], status))
        if first:
            self._link.send(self.index, heartbeat())
            for message_id, interval in self._intervals.items():
                self._link.send(self.index, mavlink.MAVLink_command_long_message(
                    self.index + 1, 1, mavlink.MAV_CMD_SET_MESSAGE_INTERVAL, 0, message_id,
                    interval, 0, 0, 0, 0, 0))

    def check_connection(self) -> None:
        """Says that the vehicle is gone where it has been silent for long."""
        if self._connected and self._bridge.now_us - self._heard_us > LOST_US:
            self._connected = False
            self._host.log(self.name, mavlink.MAV_SEVERITY_CRITICAL,
                           f"no heartbeat for {LOST_US // 1_000_000} s: the vehicle is gone")
            self._publish_disconnected()

    def _publish_disconnected(self):
        self._out["state"].publish(wire.state(self._bridge.now_us, False, False, False, False,
                                              "", 0))

    def _on_attitude(self, payload, frame):
        out = self._out["imu/data"]
        if out.wanted():
            t, quat, rate = self._attitude_now()
            accel = self._imu_now()[1] if self.imu_payload is not None else (0.0, 0.0, 0.0)
            out.publish(wire.imu(self._stamp(t), BODY, quat, _ATTITUDE_COV, rate, _RATE_COV,
                                 accel, _ACCEL_COV))

    def _on_imu(self, payload, frame):
        for topic, bits, build in _IMU_TOPICS:
            out = self._out[topic]
            if out.wanted():
                imu = self._imu_now()
                if imu[7] & bits:
                    out.publish(build(self._stamp(imu[0]), imu))

    def _on_local_position(self, payload, frame):
        pose, velocity, body, odom = (self._out[topic] for topic in _LOCAL_TOPICS)
        wanted = pose.wanted(), velocity.wanted(), body.wanted(), odom.wanted()
        if not any(wanted):
            return
        t, pos, vel = convert.local_position(payload)
        t = self._stamp(t)
        _, quat, rate = self._attitude_now()
        if wanted[0]:
            pose.publish(wire.pose_stamped(t, MAP, pos, quat))
        if wanted[1]:
            velocity.publish(wire.twist_stamped(t, BODY, vel, convert.rotate(quat, rate)))
        if wanted[2] or wanted[3]:
            own = convert.rotate_back(quat, vel)
            if wanted[2]:
                body.publish(wire.twist_stamped(t, BODY, own, rate))
            if wanted[3]:
                odom.publish(wire.odometry(t, MAP, BODY, pos, quat, own, rate))

    def _on_global_position(self, payload, frame):
        t, lat, lon, alt, relative, _, heading = convert.global_position(payload)
        status, covariance, kind = self._fix
        self._put("global_position/global", wire.nav_sat_fix, self._stamp(t), BODY, status, lat,
                  lon, alt + self._geoid, covariance, kind)
        self._put("global_position/rel_alt", _FLOAT64, relative)
        self._put("global_position/compass_hdg", _FLOAT64, heading)

    def _on_gps_raw(self, payload, frame):
        t, fix, lat, lon, alt, self._geoid, accuracy, dilution, velocity, satellites = \
            convert.gps_raw(payload)
        covariance, kind = _NO_COV, 0
        if accuracy or dilution:
            h, v = accuracy or dilution
            covariance, kind = wire.diagonal(h * h, h * h, v * v), 2 if accuracy else 1
        self._fix = (0 if fix > 2 else -1, covariance, kind)
        t = self._stamp(t)
        self._put("global_position/raw/fix", wire.nav_sat_fix, t, BODY, self._fix[0], lat, lon,
                  alt + self._geoid, covariance, kind)
        if velocity:
            self._put("global_position/raw/gps_vel", wire.twist_stamped, t, MAP,
                      (*velocity, 0.0), (0.0, 0.0, 0.0))
        self._put("global_position/raw/satellites", _UINT32, satellites)

    def _on_extended_state(self, payload, frame):
        self._put("extended_state", wire.fields, self._bridge.now_us, "", "BB",
                  *unpack(245, payload))

    def _on_battery(self, payload, frame):
        number, volts, amperes, left, cells = convert.battery(payload)
        self._put("battery", wire.battery_state, self._bridge.now_us, "", volts, amperes, left,
                  cells, f"id{number}")

    def _on_home(self, payload, frame):
        lat, lon, alt, pos, quat, approach = convert.home(payload)
        self._out["home_position/home"].publish(wire.fields(
            self._bridge.now_us, MAP, "13d", lat, lon, alt + self._geoid, *pos, *quat, *approach))

    def _on_origin(self, payload, frame):
        lat, lon, alt, _ = unpack(49, payload)
        self._out["global_position/gp_origin"].publish(wire.fields(
            self._bridge.now_us, "earth", "3d", lat * 1e-7, lon * 1e-7,
            alt * 1e-3 + self._geoid))

    def _on_altitude(self, payload, frame):
        t, *heights = unpack(141, payload)
        self._put("altitude", wire.fields, self._stamp(t), MAP, "6f", *heights)

    def _on_vfr_hud(self, payload, frame):
        air, ground, alt, climb, heading, throttle = unpack(74, payload)
        self._put("vfr_hud", wire.fields, self._bridge.now_us, "", "2fh3f", air, ground, heading,
                  throttle / 100.0, alt, climb)

    def _on_estimator_status(self, payload, frame):
        t, *_, flags = unpack(230, payload)
        self._put("estimator_status", wire.fields, self._stamp(t), "", "12B",
                  *(flags >> bit & 1 for bit in range(12)))

    def _on_system_time(self, payload, frame):
        unix, boot = unpack(2, payload)
        self._put("time_reference", wire.time_reference, self._stamp(boot * 1000), unix, "fcu")

    def _on_servos(self, payload, frame):
        values = unpack(36, payload)
        self._put("rc/out", wire.fields, self._stamp(values[0]), "", "I16H", 16, *values[1:9],
                  *values[10:18])

    def _on_position_target(self, payload, frame):
        self._put("setpoint_raw/target_local",
                  lambda: wire.position_target(self._bridge.now_us, MAP,
                                               *convert.position_target(payload)[1:]))

    def _on_attitude_target(self, payload, frame):
        def build():
            t, mask, quat, rate, thrust = convert.attitude_target(payload)
            return wire.fields(self._stamp(t), "", "B7df", mask, *quat, *rate, thrust)

        self._put("setpoint_raw/target_attitude", build)

    def _on_status_text(self, payload, frame):
        severity, words, number, chunk = unpack(253, payload)
        part = words.split(b"\0")[0].decode(errors="replace")
        if number:  # longer than one message: the chunks come one after the other
            part = (self._chunks.pop(number, "") if chunk else "") + part
            if b"\0" not in words:
                self._chunks = {number: part}
                return
        self._put("statustext/recv", wire.status_text, self._bridge.now_us, severity, part)
        self._host.log(self.name, severity, part)

    def _on_ack(self, payload, frame):
        command, result, *_ = unpack(77, payload)
        if command == mavlink.MAV_CMD_DO_SET_MODE and result != mavlink.MAV_RESULT_ACCEPTED:
            name = mavlink.enums["MAV_RESULT"].get(result)
            self._host.log(self.name, mavlink.MAV_SEVERITY_WARNING,
                           f"mode refused: {name.name if name else result}")

    def _on_param(self, payload, frame):
        message = self._link.decode(frame)
        value = param_value(message)
        integer, real = (0, value) if isinstance(value, float) else (value, 0.0)
        self._put("param/param_value", wire.param, self._bridge.now_us, message.param_id, integer,
                  real, message.param_index, message.param_count)

    def _on_timesync(self, payload, frame):
        sent, echo = unpack(111, payload)
        if sent == 0:
            self._link.send(self.index, mavlink.MAVLink_timesync_message(
                self._bridge.now_us * 1000, echo))

    def _on_mission_current(self, payload, frame):
        current = unpack(42, payload)[0]
        if current != self._mission_current:
            self._mission_current = current
            self._publish_waypoints()

    def _on_mission_reached(self, payload, frame):
        self._out["mission/reached"].publish(wire.fields(self._bridge.now_us, "", "H",
                                                         *unpack(46, payload)))

    def _put(self, topic, build, *values):
        out = self._out[topic]
        if out.wanted():
            out.publish(build(*values))

    # Set-points -----------------------------------------------------------------------------

    def setpoint_raw_local(self, data) -> None:
        """mavros_msgs/PositionTarget as bytes: this topic is the busiest of all."""
        t, frame, mask, x, y, z, vx, vy, vz, ax, ay, az, yaw, rate = \
            wire.parse_position_target(data)
        self._send_set_point(convert.set_position_target(
            self.index, t, frame, mask, (x, y, z), (vx, vy, vz), (ax, ay, az), yaw, rate))

    def setpoint_raw_attitude(self, m) -> None:
        self._send_attitude(m.type_mask, _quat(m.orientation), _xyz(m.body_rate), m.thrust)

    def setpoint_raw_global(self, m) -> None:
        self._send_set_point(convert.set_global_target(
            self.index, self._bridge.now_us, m.coordinate_frame, m.type_mask, m.latitude,
            m.longitude, m.altitude, _xyz(m.velocity), _xyz(m.acceleration_or_force), m.yaw,
            m.yaw_rate))

    def setpoint_position(self, m) -> None:
        self._send_local(convert.POSITION_ONLY, pos=_xyz(m.pose.position),
                         yaw=convert.euler(_quat(m.pose.orientation))[2])

    def setpoint_position_global(self, m) -> None:
        place = m.pose.position
        self._send_set_point(convert.set_global_target(
            self.index, self._bridge.now_us, mavlink.MAV_FRAME_GLOBAL_INT, convert.POSITION_ONLY,
            place.latitude, place.longitude, place.altitude - self._geoid, _ZERO, _ZERO,
            convert.euler(_quat(m.pose.orientation))[2], 0.0))

    def setpoint_velocity(self, m) -> None:
        self.setpoint_velocity_unstamped(m.twist)

    def setpoint_velocity_unstamped(self, m) -> None:
        self._send_local(convert.VELOCITY_ONLY, vel=_xyz(m.linear), yaw_rate=m.angular.z)

    def setpoint_accel(self, m) -> None:
        self._send_local(convert.ACCELERATION_ONLY, acc=_xyz(m.vector))

    def setpoint_thrust(self, m) -> None:
        self._thrust = m.thrust

    def setpoint_attitude(self, m) -> None:
        self._send_attitude(0b00000111, _quat(m.pose.orientation), _ZERO, self._thrust)

    def setpoint_rates(self, m) -> None:
        self._send_attitude(0b10000000, (0.0, 0.0, 0.0, 1.0), _xyz(m.twist.angular), self._thrust)

    def _send_local(self, mask, pos=(0.0, 0.0, 0.0), vel=(0.0, 0.0, 0.0), acc=(0.0, 0.0, 0.0),
                    yaw=0.0, yaw_rate=0.0):
        self._send_set_point(convert.set_position_target(
            self.index, self._bridge.now_us, mavlink.MAV_FRAME_LOCAL_NED, mask, pos, vel, acc,
            yaw, yaw_rate))

    def _send_attitude(self, mask, quat, rate, thrust):
        self._send_set_point(convert.set_attitude_target(
            self.index, self._bridge.now_us, mask, quat, rate, thrust))

    # Other inputs ---------------------------------------------------------------------------

    def vision_pose(self, m) -> None:
        self._send_vision(m.header, m.pose, None)

    def vision_pose_cov(self, m) -> None:
        triangle = [m.pose.covariance[6 * row + column]
                    for row in range(6) for column in range(row, 6)]
        self._send_vision(m.header, m.pose.pose, triangle)

    def _send_vision(self, header, pose, covariance):
        t = header.stamp.secs * 1_000_000 + header.stamp.nsecs // 1000
        self._link.send(self.index, convert.vision_position(
            t or self._bridge.now_us, _xyz(pose.position), _quat(pose.orientation), covariance))

    def manual_control(self, m) -> None:
        axes = (min(max(round(a), -1000), 1000) for a in (m.x, m.y, m.z, m.r))
        self._link.send(self.index, mavlink.MAVLink_manual_control_message(
            self.index + 1, *axes, m.buttons))

    def rc_override(self, m) -> None:
        self._link.send(self.index, mavlink.MAVLink_rc_channels_override_message(
            self.index + 1, 1, *m.channels))

    def send_status_text(self, m) -> None:
        self._link.send(self.index, mavlink.MAVLink_statustext_message(
            m.severity, m.text.encode()[:50]))

    def set_gp_origin(self, m) -> None:
        self._link.send(self.index, mavlink.MAVLink_set_gps_global_origin_message(
            self.index + 1, round(m.position.latitude * 1e7), round(m.position.longitude * 1e7),
            round((m.position.altitude - self._geoid) * 1e3)))

    def set_home_position(self, m) -> None:
        self._link.send(self.index, mavlink.MAVLink_command_int_message(
            self.index + 1, 1, mavlink.MAV_FRAME_GLOBAL_INT, mavlink.MAV_CMD_DO_SET_HOME, 0, 0, 0,
            0, 0, 0, round(m.geo.latitude * 1e7), round(m.geo.longitude * 1e7),
            m.geo.altitude - self._geoid))

    # Services -------------------------------------------------------------------------------

    def _command(self, command, *params, confirmation=1):
        result = self.requests.command_long(command, params, confirmation)
        return result == mavlink.MAV_RESULT_ACCEPTED, result

    def arming(self, q):
        return self._command(mavlink.MAV_CMD_COMPONENT_ARM_DISARM, q.value, 0, 0, 0, 0, 0, 0)

    def command(self, q):
        return self._command(q.command, q.param1, q.param2, q.param3, q.param4, q.param5,
                             q.param6, q.param7, confirmation=q.confirmation)

    def command_int(self, q):
        result = self.requests.command_int(
            q.frame, q.command, q.current, q.autocontinue,
            (q.param1, q.param2, q.param3, q.param4), q.x, q.y, q.z)
        return (result == mavlink.MAV_RESULT_ACCEPTED,)

    def takeoff(self, q):
        return self._command(mavlink.MAV_CMD_NAV_TAKEOFF, q.min_pitch, 0, 0, q.yaw, q.latitude,
                             q.longitude, q.altitude)

    def land(self, q):
        return self._command(mavlink.MAV_CMD_NAV_LAND, 0, 0, 0, q.yaw, q.latitude, q.longitude,
                             q.altitude)

    def set_home(self, q):
        return self._command(mavlink.MAV_CMD_DO_SET_HOME, q.current_gps, 0, 0, q.yaw, q.latitude,
                             q.longitude, q.altitude)

    def vtol_transition(self, q):
        return self._command(mavlink.MAV_CMD_DO_VTOL_TRANSITION, q.state, 0, 0, 0, 0, 0, 0,
                             confirmation=0)

    def set_mode(self, q):
        """As MAVROS: True says that the request went out, State whether it was obeyed."""
        base, main, sub = q.base_mode, 0, 0
        if q.custom_mode:
            mode = modes.FROM_ROS_NAME.get(q.custom_mode)
            if mode is None:
                self._host.log(self.name, mavlink.MAV_SEVERITY_WARNING,
                               unknown_name("mode", q.custom_mode, modes.FROM_ROS_NAME))
                return (False,)
            main, sub = modes.PX4_MODE[mode]
            base |= mavlink.MAV_MODE_FLAG_CUSTOM_MODE_ENABLED | self._base_mode & 0xA0
        self.requests.send_mode(base, main, sub)
        return (True,)

    def set_stream_rate(self, q):
        self._link.send(self.index, mavlink.MAVLink_request_data_stream_message(
            self.index + 1, 1, q.stream_id, q.message_rate, q.on_off))
        return ()

    def set_message_interval(self, q):
        interval = -1 if q.message_rate < 0 else 0 if q.message_rate == 0 \
            else 1e6 / q.message_rate
        return self._command(mavlink.MAV_CMD_SET_MESSAGE_INTERVAL, q.message_id, interval, 0, 0,
                             0, 0, 0)[:1]

    def request_home(self, q):
        done, result = self._command(mavlink.MAV_CMD_GET_HOME_POSITION, 0, 0, 0, 0, 0, 0, 0)
        return done, "" if done else f"MAV_RESULT {result}"

    def param_get(self, q):
        value = self.requests.param_get(q.param_id)
        return value is not None, _param_value(value)

    def param_set(self, q):
        value = self.requests.param_set(q.param_id, q.value.integer, q.value.real)
        return value is not None, _param_value(value)

    def param_pull(self, q):
        known = self.requests.params
        complete = known and len(known) >= self.requests.param_count
        count = len(known) if complete and not q.force_pull else self.requests.param_pull()
        self._host.store_params(self.name, {name: value for name, (value, _) in known.items()})
        return count > 0, count

    def param_push(self, q):
        changed = 0
        for name, value in self._host.load_params(self.name).items():
            if name in self.requests.params and self.requests.params[name][0] != value:
                integer, real = (0, value) if isinstance(value, float) else (value, 0.0)
                changed += self.requests.param_set(name, integer, real) is not None
        return True, changed

    def mission_push(self, q):
        if q.start_index:
            self._host.log(self.name, mavlink.MAV_SEVERITY_WARNING,
                           "PX4 takes whole missions only: push with start_index 0")
            return False, 0
        items = [convert.mission_item(waypoint, k == 0) for k, waypoint in enumerate(q.waypoints)]
        done = self.requests.mission_push(items)
        if done:
            self.mission_pull(None)
        return done == len(items), done

    def mission_pull(self, q):
        items = self.requests.mission_pull()
        if items is None:
            return False, 0
        self._waypoints = [convert.waypoint(item) for item in items]
        self._publish_waypoints()
        return True, len(items)

    def mission_clear(self, q):
        done = self.requests.mission_clear()
        if done:
            self._waypoints = []
            self._publish_waypoints()
        return (done,)

    def mission_set_current(self, q):
        return (self.requests.mission_set_current(q.wp_seq),)

    def _publish_waypoints(self):
        current = self._mission_current
        marked = [(frame, command, seq == current, *rest)
                  for seq, (frame, command, _, *rest) in enumerate(self._waypoints)]
        self._out["mission/waypoints"].publish(wire.waypoint_list(current, marked))


def _xyz(v):
    return v.x, v.y, v.z


def _quat(q):
    return q.x, q.y, q.z, q.w


def _param_value(value):
    """Fields of a mavros_msgs/ParamValue."""
    if value is None:
        return {"integer": 0, "real": 0.0}
    if isinstance(value, float):
        return {"integer": 0, "real": value}
    return {"integer": value, "real": 0.0}


_ZERO = (0.0, 0.0, 0.0)
_FLOAT64 = wire.struct.Struct("<d").pack
_UINT32 = wire.struct.Struct("<I").pack
_LOCAL_TOPICS = tuple(f"local_position/{name}"
                      for name in ("pose", "velocity_local", "velocity_body", "odom"))
_IMU_TOPICS = (  # topic, bits of fields_updated that it needs, message from highres_imu()
    ("imu/data_raw", 0x3F, lambda t, m: wire.imu(t, BODY, None, None, m[2], _RATE_COV, m[1],
                                                 _ACCEL_COV)),
    ("imu/mag", 0x1C0, lambda t, m: wire.magnetic_field(t, BODY, m[3], _NO_COV)),
    ("imu/static_pressure", 0x200, lambda t, m: wire.fields(t, BODY, "2d", m[4], 0.0)),
    ("imu/diff_pressure", 0x400, lambda t, m: wire.fields(t, BODY, "2d", m[5], 0.0)),
    ("imu/temperature_imu", 0x1000, lambda t, m: wire.fields(t, BODY, "2d", m[6], 0.0)),
)
_HANDLERS = {
    getattr(mavlink, f"MAVLINK_MSG_ID_{name}"): handler for name, handler in (
        ("HEARTBEAT", Vehicle._on_heartbeat), ("ATTITUDE_QUATERNION", Vehicle._on_attitude),
        ("HIGHRES_IMU", Vehicle._on_imu), ("LOCAL_POSITION_NED", Vehicle._on_local_position),
        ("GLOBAL_POSITION_INT", Vehicle._on_global_position),
        ("GPS_RAW_INT", Vehicle._on_gps_raw), ("EXTENDED_SYS_STATE", Vehicle._on_extended_state),
        ("BATTERY_STATUS", Vehicle._on_battery), ("HOME_POSITION", Vehicle._on_home),
        ("GPS_GLOBAL_ORIGIN", Vehicle._on_origin), ("ALTITUDE", Vehicle._on_altitude),
        ("VFR_HUD", Vehicle._on_vfr_hud), ("ESTIMATOR_STATUS", Vehicle._on_estimator_status),
        ("SYSTEM_TIME", Vehicle._on_system_time), ("SERVO_OUTPUT_RAW", Vehicle._on_servos),
        ("POSITION_TARGET_LOCAL_NED", Vehicle._on_position_target),
        ("ATTITUDE_TARGET", Vehicle._on_attitude_target),
        ("STATUSTEXT", Vehicle._on_status_text), ("COMMAND_ACK", Vehicle._on_ack),
        ("PARAM_VALUE", Vehicle._on_param), ("TIMESYNC", Vehicle._on_timesync),
        ("MISSION_CURRENT", Vehicle._on_mission_current),
        ("MISSION_ITEM_REACHED", Vehicle._on_mission_reached))
}
