"""Inputs that guide the vehicle: set-points, trajectories, sticks, actuators, home, mount."""

import functools
import math
from typing import Any

from xtdrone_core.mavlink.dialect import mavlink

from .. import convert, ros_serialisation as ros
from .row import Subscription, duration_us, quat, target, time_us, xyz

_ZERO = (0.0, 0.0, 0.0)
_LEVEL = (0.0, 0.0, 0.0, 1.0)
_POINTS = 5  # of a TRAJECTORY_REPRESENTATION_...
_NOTHING = 0xFFFF  # no command at a point
_GLOBAL, _LOCAL = (
    mavlink.MAVLINK_MSG_ID_GLOBAL_POSITION_INT,
    mavlink.MAVLINK_MSG_ID_LOCAL_POSITION_NED,
)


def setpoint_raw_local(v: Any, data: bytes) -> None:
    """mavros_msgs/PositionTarget as bytes, since this topic has the highest rate."""
    t, frame, mask, x, y, z, vx, vy, vz, ax, ay, az, yaw, rate = ros.parse_position_target(data)
    v.send_set_point(
        convert.set_position_target(
            v.index, t, frame, mask, (x, y, z), (vx, vy, vz), (ax, ay, az), yaw, rate
        )
    )


def setpoint_raw_attitude(v: Any, m: Any) -> None:
    _send_attitude(v, m.type_mask, quat(m.orientation), xyz(m.body_rate), m.thrust)


def setpoint_raw_global(v: Any, m: Any) -> None:
    v.send_set_point(
        convert.set_global_target(
            v.index,
            v.now_us,
            m.coordinate_frame,
            m.type_mask,
            m.latitude,
            m.longitude,
            m.altitude,
            xyz(m.velocity),
            xyz(m.acceleration_or_force),
            m.yaw,
            m.yaw_rate,
        )
    )


def setpoint_position(v: Any, m: Any) -> None:
    _send_position(v, xyz(m.pose.position), m.pose.orientation)


def setpoint_position_global(v: Any, m: Any) -> None:
    """As MAVROS does, the altitude goes on as it is: above mean sea level for PX4."""
    position = m.pose.position
    v.send_set_point(
        convert.set_global_target(
            v.index,
            v.now_us,
            mavlink.MAV_FRAME_GLOBAL_INT,
            convert.POSITION_AND_YAW_RATE,
            position.latitude,
            position.longitude,
            position.altitude,
            _ZERO,
            _ZERO,
            convert.euler(quat(m.pose.orientation))[2],
            0.0,
        )
    )


def setpoint_position_global_to_local(v: Any, m: Any) -> None:
    """A place above the ellipsoid, as an offset of where the vehicle is now."""
    if not {_GLOBAL, _LOCAL} <= v.latest.keys():
        return
    _, lat, lon, alt, *_ = convert.global_position(v.latest[_GLOBAL])
    _, here, _ = convert.local_position(v.latest[_LOCAL])
    goal = m.pose.position
    offset = convert.enu_from(
        (lat, lon, convert.above_ellipsoid(lat, lon, alt)),
        (goal.latitude, goal.longitude, goal.altitude),
    )
    _send_position(v, tuple(a + b for a, b in zip(here, offset)), m.pose.orientation)


def setpoint_velocity(v: Any, m: Any) -> None:
    setpoint_velocity_unstamped(v, m.twist)


def setpoint_velocity_unstamped(v: Any, m: Any) -> None:
    _send_local(
        v,
        v.mav_frames["setpoint_velocity"],
        convert.VELOCITY_ONLY,
        vel=xyz(m.linear),
        yaw_rate=m.angular.z,
    )


def setpoint_accel(v: Any, m: Any) -> None:
    _send_local(v, mavlink.MAV_FRAME_LOCAL_NED, convert.ACCELERATION_ONLY, acc=xyz(m.vector))


def setpoint_thrust(v: Any, m: Any) -> None:
    v.thrust = m.thrust


def setpoint_attitude(v: Any, m: Any) -> None:
    _send_with_thrust(v, 0b00000111, quat(m.pose.orientation), _ZERO)


def setpoint_rates(v: Any, m: Any) -> None:
    """MAVROS turns these rates as if they were a vector of the world: x and y change places."""
    x, y, z = xyz(m.twist.angular)
    _send_with_thrust(v, 0b10000000, _LEVEL, (y, -x, z))


def _send_with_thrust(v, mask, orientation, rate):
    """Sends an attitude or rates with the last thrust; nothing where that is none or wrong."""
    if v.thrust is None:
        return
    if not 0.0 <= v.thrust <= 1.0:
        v.host.log(
            v.name,
            mavlink.MAV_SEVERITY_WARNING,
            f"thrust {v.thrust:g} is not from 0 to 1: no set-point is sent",
        )
        return
    _send_attitude(v, mask, orientation, rate, v.thrust)


def _send_position(v, position, orientation):
    _send_local(
        v,
        v.mav_frames["setpoint_position"],
        convert.POSITION_ONLY,
        pos=position,
        yaw=convert.euler(quat(orientation))[2],
    )


def _send_local(v, frame, mask, pos=_ZERO, vel=_ZERO, acc=_ZERO, yaw=0.0, yaw_rate=0.0):
    v.send_set_point(
        convert.set_position_target(v.index, v.now_us, frame, mask, pos, vel, acc, yaw, yaw_rate)
    )


def _send_attitude(v, mask, orientation, rate, thrust):
    v.send_set_point(
        convert.set_attitude_target(v.index, v.now_us, mask, orientation, rate, thrust)
    )


class Trajectory:
    """The points of a setpoint_trajectory/local, each sent when its time has come."""

    def __init__(self, v: Any, points: Any):
        """points: of a trajectory_msgs/MultiDOFJointTrajectory."""
        self._vehicle, self._points, self._next = v, list(points), 0
        self._due_us = v.now_us + self._wait(0)

    def _wait(self, k):
        return duration_us(self._points[k].time_from_start)

    def tick(self, t_us: int) -> None:
        """Sends the points that are due. MAVROS waits after each point what its time says."""
        while self._due_us <= t_us:
            self._send(self._points[self._next])
            self._due_us += self._wait(self._next)
            self._next += 1
            if self._next == len(self._points):
                self._vehicle.trajectory = None
                return

    def _send(self, point):
        v, mask, numbers = self._vehicle, 0, {}
        if point.transforms:
            pose = point.transforms[0]
            numbers["pos"] = xyz(pose.translation)
            numbers["yaw"] = convert.euler(quat(pose.rotation))[2]
        else:
            mask |= convert.NO_POSITION | convert.NO_YAW
        if point.velocities:
            numbers["vel"] = xyz(point.velocities[0].linear)
            # MAVROS leaves its sign as it is in ENU; it is turned here once more.
            numbers["yaw_rate"] = -point.velocities[0].angular.z
        else:
            mask |= convert.NO_VELOCITY | convert.NO_YAW_RATE
        if point.accelerations:
            numbers["acc"] = xyz(point.accelerations[0].linear)
        else:
            mask |= convert.NO_ACCELERATION
        _send_local(v, v.mav_frames["setpoint_trajectory"], mask, **numbers)


def setpoint_trajectory(v: Any, m: Any) -> None:
    if not m.points:
        return
    v.trajectory = Trajectory(v, m.points)
    poses = [
        (xyz(point.transforms[0].translation), quat(point.transforms[0].rotation))
        for point in m.points
        if point.transforms
    ]
    v.publish("setpoint_trajectory/desired", ros.path(v.now_us, "map", poses))


def trajectory_generated(v: Any, m: Any) -> None:
    points = [m.point_1, m.point_2, m.point_3, m.point_4, m.point_5]
    valid = [bool(flag) for flag in m.point_valid]
    columns = functools.partial(_columns, points, valid)
    pos = columns(lambda p: convert.enu_ned(xyz(p.position)))
    (yaw,) = columns(lambda p: (convert.yaw_enu_ned(p.yaw),))
    if m.type:  # Bezier
        delta = [horizon if ok else math.nan for horizon, ok in zip(m.time_horizon, valid)]
        v.link.send(
            v.index,
            mavlink.MAVLink_trajectory_representation_bezier_message(
                time_us(m.header), sum(valid), *pos, delta, yaw
            ),
        )
        return
    vel = columns(lambda p: convert.enu_ned(xyz(p.velocity)))
    acc = columns(lambda p: convert.enu_ned(xyz(p.acceleration_or_force)))
    (rate,) = columns(lambda p: (p.yaw_rate,))
    v.link.send(
        v.index,
        mavlink.MAVLink_trajectory_representation_waypoints_message(
            time_us(m.header),
            sum(valid),
            *pos,
            *vel,
            *acc,
            yaw,
            rate,
            [_NOTHING if ok else 0 for ok in valid],
        ),
    )


def trajectory_path(v: Any, m: Any) -> None:
    poses = [stamped.pose for stamped in m.poses[:_POINTS]]
    valid = [k < len(poses) for k in range(_POINTS)]
    poses += [None] * (_POINTS - len(poses))
    pos = _columns(poses, valid, lambda p: convert.enu_ned(xyz(p.position)))
    (yaw,) = _columns(poses, valid, lambda p: (convert.euler(quat(p.orientation))[2],))
    none = [math.nan] * _POINTS
    v.link.send(
        v.index,
        mavlink.MAVLink_trajectory_representation_waypoints_message(
            time_us(m.header), sum(valid), *pos, *[none] * 6, yaw, none, [_NOTHING] * _POINTS
        ),
    )


def _columns(points, valid, numbers):
    """Numbers of all points, one list for each; NaN where a point is not valid."""
    rows = [numbers(point) if ok else None for point, ok in zip(points, valid)]
    width = len(next((row for row in rows if row), _ZERO))
    return [[row[k] if row else math.nan for row in rows] for k in range(width)]


def actuator_control(v: Any, m: Any) -> None:
    v.send_set_point(
        mavlink.MAVLink_set_actuator_control_target_message(
            time_us(m.header), m.group_mix, *target(v), list(m.controls)
        )
    )


def manual_control(v: Any, m: Any) -> None:
    axes = (min(max(round(a), -1000), 1000) for a in (m.x, m.y, m.z, m.r))
    v.link.send(v.index, mavlink.MAVLink_manual_control_message(v.index + 1, *axes, m.buttons))


def rc_override(v: Any, m: Any) -> None:
    v.link.send(v.index, mavlink.MAVLink_rc_channels_override_message(*target(v), *m.channels))


def mount_command(v: Any, m: Any) -> None:
    v.link.send(
        v.index,
        mavlink.MAVLink_command_long_message(
            *target(v),
            mavlink.MAV_CMD_DO_MOUNT_CONTROL,
            0,
            m.pitch,
            m.roll,
            m.yaw,
            m.altitude,
            m.latitude,
            m.longitude,
            m.mode,
        ),
    )


def set_gp_origin(v: Any, m: Any) -> None:
    lat, lon, alt = _above_sea(m.position)
    v.link.send(
        v.index,
        mavlink.MAVLink_set_gps_global_origin_message(
            v.index + 1, round(lat * 1e7), round(lon * 1e7), round(alt * 1e3)
        ),
    )


def set_home_position(v: Any, m: Any) -> None:
    lat, lon, alt = _above_sea(m.geo)
    v.link.send(
        v.index,
        mavlink.MAVLink_command_int_message(
            *target(v),
            mavlink.MAV_FRAME_GLOBAL_INT,
            mavlink.MAV_CMD_DO_SET_HOME,
            0,
            0,
            0,
            0,
            0,
            0,
            round(lat * 1e7),
            round(lon * 1e7),
            alt,
        ),
    )


def _above_sea(point):
    """Latitude, longitude [deg] and height above mean sea level [m] of a GeoPoint."""
    return (
        point.latitude,
        point.longitude,
        convert.above_sea(point.latitude, point.longitude, point.altitude),
    )


def _uses_quaternion(parameters):
    return parameters["setpoint_attitude"]["use_quaternion"]


SUBSCRIPTIONS = (
    Subscription("setpoint_raw/local", "mavros_msgs/PositionTarget", setpoint_raw_local, raw=True),
    Subscription("setpoint_raw/attitude", "mavros_msgs/AttitudeTarget", setpoint_raw_attitude),
    Subscription("setpoint_raw/global", "mavros_msgs/GlobalPositionTarget", setpoint_raw_global),
    Subscription("setpoint_position/local", "geometry_msgs/PoseStamped", setpoint_position),
    Subscription(
        "setpoint_position/global", "geographic_msgs/GeoPoseStamped", setpoint_position_global
    ),
    Subscription(
        "setpoint_position/global_to_local",
        "geographic_msgs/GeoPoseStamped",
        setpoint_position_global_to_local,
    ),
    Subscription("setpoint_velocity/cmd_vel", "geometry_msgs/TwistStamped", setpoint_velocity),
    Subscription(
        "setpoint_velocity/cmd_vel_unstamped", "geometry_msgs/Twist", setpoint_velocity_unstamped
    ),
    Subscription("setpoint_accel/accel", "geometry_msgs/Vector3Stamped", setpoint_accel),
    Subscription("setpoint_attitude/thrust", "mavros_msgs/Thrust", setpoint_thrust),
    Subscription(
        "setpoint_attitude/attitude",
        "geometry_msgs/PoseStamped",
        setpoint_attitude,
        where=_uses_quaternion,
    ),
    Subscription(
        "setpoint_attitude/cmd_vel",
        "geometry_msgs/TwistStamped",
        setpoint_rates,
        where=lambda parameters: not _uses_quaternion(parameters),
    ),
    Subscription(
        "setpoint_trajectory/local", "trajectory_msgs/MultiDOFJointTrajectory", setpoint_trajectory
    ),
    Subscription("trajectory/generated", "mavros_msgs/Trajectory", trajectory_generated),
    Subscription("trajectory/path", "nav_msgs/Path", trajectory_path),
    Subscription("actuator_control", "mavros_msgs/ActuatorControl", actuator_control),
    Subscription("manual_control/send", "mavros_msgs/ManualControl", manual_control),
    Subscription("rc/override", "mavros_msgs/OverrideRCIn", rc_override),
    Subscription("mount_control/command", "mavros_msgs/MountControl", mount_command),
    Subscription("global_position/set_gp_origin", "geographic_msgs/GeoPointStamped", set_gp_origin),
    Subscription("home_position/set", "mavros_msgs/HomePosition", set_home_position),
)
