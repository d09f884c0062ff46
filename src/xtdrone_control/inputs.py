"""Subscriptions of the bridge: MAVROS's set-points and other inputs, one row each.

To add one, write a function of a vehicle and a message, and its row in SUBSCRIPTIONS.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from pymavlink.dialects.v20 import common as mavlink

from . import mavlink_convert as convert, ros_serialisation as ros

_ZERO = (0.0, 0.0, 0.0)


@dataclass(frozen=True)
class Subscription:
    """One topic below V/mavros/ to which the bridge subscribes."""

    name: str
    type: str
    handle: Callable  # of the bridge's Vehicle and a message: any object with the type's fields
    raw: bool = False  # the message comes as its bytes


def setpoint_raw_local(v: Any, data: bytes) -> None:
    """mavros_msgs/PositionTarget as bytes, since this topic has the highest rate."""
    t, frame, mask, x, y, z, vx, vy, vz, ax, ay, az, yaw, rate = \
        ros.parse_position_target(data)
    v.send_set_point(convert.set_position_target(
        v.index, t, frame, mask, (x, y, z), (vx, vy, vz), (ax, ay, az), yaw, rate))


def setpoint_raw_attitude(v: Any, m: Any) -> None:
    _send_attitude(v, m.type_mask, _quat(m.orientation), _xyz(m.body_rate), m.thrust)


def setpoint_raw_global(v: Any, m: Any) -> None:
    v.send_set_point(convert.set_global_target(
        v.index, v.now_us, m.coordinate_frame, m.type_mask, m.latitude,
        m.longitude, m.altitude, _xyz(m.velocity), _xyz(m.acceleration_or_force), m.yaw,
        m.yaw_rate))


def setpoint_position(v: Any, m: Any) -> None:
    _send_local(v, convert.POSITION_ONLY, pos=_xyz(m.pose.position),
                     yaw=convert.euler(_quat(m.pose.orientation))[2])


def setpoint_position_global(v: Any, m: Any) -> None:
    position = m.pose.position
    v.send_set_point(convert.set_global_target(
        v.index, v.now_us, mavlink.MAV_FRAME_GLOBAL_INT, convert.POSITION_ONLY,
        position.latitude, position.longitude, position.altitude - v.geoid, _ZERO, _ZERO,
        convert.euler(_quat(m.pose.orientation))[2], 0.0))


def setpoint_velocity(v: Any, m: Any) -> None:
    setpoint_velocity_unstamped(v, m.twist)


def setpoint_velocity_unstamped(v: Any, m: Any) -> None:
    _send_local(v, convert.VELOCITY_ONLY, vel=_xyz(m.linear), yaw_rate=m.angular.z)


def setpoint_accel(v: Any, m: Any) -> None:
    _send_local(v, convert.ACCELERATION_ONLY, acc=_xyz(m.vector))


def setpoint_thrust(v: Any, m: Any) -> None:
    v.thrust = m.thrust


def setpoint_attitude(v: Any, m: Any) -> None:
    _send_attitude(v, 0b00000111, _quat(m.pose.orientation), _ZERO, v.thrust)


def setpoint_rates(v: Any, m: Any) -> None:
    _send_attitude(v, 0b10000000, (0.0, 0.0, 0.0, 1.0), _xyz(m.twist.angular), v.thrust)


def _send_local(v, mask, pos=(0.0, 0.0, 0.0), vel=(0.0, 0.0, 0.0), acc=(0.0, 0.0, 0.0),
                yaw=0.0, yaw_rate=0.0):
    v.send_set_point(convert.set_position_target(
        v.index, v.now_us, mavlink.MAV_FRAME_LOCAL_NED, mask, pos, vel, acc,
        yaw, yaw_rate))


def _send_attitude(v, mask, quat, rate, thrust):
    v.send_set_point(convert.set_attitude_target(
        v.index, v.now_us, mask, quat, rate, thrust))


def vision_pose(v: Any, m: Any) -> None:
    _send_vision(v, m.header, m.pose, None)


def vision_pose_cov(v: Any, m: Any) -> None:
    triangle = [m.pose.covariance[6 * row + column]
                for row in range(6) for column in range(row, 6)]
    _send_vision(v, m.header, m.pose.pose, triangle)


def _send_vision(v, header, pose, covariance):
    t = header.stamp.secs * 1_000_000 + header.stamp.nsecs // 1000
    v.link.send(v.index, convert.vision_position(
        t or v.now_us, _xyz(pose.position), _quat(pose.orientation), covariance))


def manual_control(v: Any, m: Any) -> None:
    axes = (min(max(round(a), -1000), 1000) for a in (m.x, m.y, m.z, m.r))
    v.link.send(v.index, mavlink.MAVLink_manual_control_message(
        v.index + 1, *axes, m.buttons))


def rc_override(v: Any, m: Any) -> None:
    v.link.send(v.index, mavlink.MAVLink_rc_channels_override_message(
        v.index + 1, 1, *m.channels))


def send_status_text(v: Any, m: Any) -> None:
    v.link.send(v.index, mavlink.MAVLink_statustext_message(
        m.severity, m.text.encode()[:50]))


def set_gp_origin(v: Any, m: Any) -> None:
    v.link.send(v.index, mavlink.MAVLink_set_gps_global_origin_message(
        v.index + 1, round(m.position.latitude * 1e7), round(m.position.longitude * 1e7),
        round((m.position.altitude - v.geoid) * 1e3)))


def set_home_position(v: Any, m: Any) -> None:
    v.link.send(v.index, mavlink.MAVLink_command_int_message(
        v.index + 1, 1, mavlink.MAV_FRAME_GLOBAL_INT, mavlink.MAV_CMD_DO_SET_HOME, 0, 0, 0,
        0, 0, 0, round(m.geo.latitude * 1e7), round(m.geo.longitude * 1e7),
        m.geo.altitude - v.geoid))


def _xyz(vector):
    return vector.x, vector.y, vector.z


def _quat(q):
    return q.x, q.y, q.z, q.w


SUBSCRIPTIONS = (
    Subscription("setpoint_raw/local", "mavros_msgs/PositionTarget", setpoint_raw_local, raw=True),
    Subscription("setpoint_raw/attitude", "mavros_msgs/AttitudeTarget", setpoint_raw_attitude),
    Subscription("setpoint_raw/global", "mavros_msgs/GlobalPositionTarget", setpoint_raw_global),
    Subscription("setpoint_position/local", "geometry_msgs/PoseStamped", setpoint_position),
    Subscription("setpoint_position/global", "geographic_msgs/GeoPoseStamped",
                 setpoint_position_global),
    Subscription("setpoint_velocity/cmd_vel", "geometry_msgs/TwistStamped", setpoint_velocity),
    Subscription("setpoint_velocity/cmd_vel_unstamped", "geometry_msgs/Twist",
                 setpoint_velocity_unstamped),
    Subscription("setpoint_accel/accel", "geometry_msgs/Vector3Stamped", setpoint_accel),
    Subscription("setpoint_attitude/thrust", "mavros_msgs/Thrust", setpoint_thrust),
    Subscription("setpoint_attitude/attitude", "geometry_msgs/PoseStamped", setpoint_attitude),
    Subscription("setpoint_attitude/cmd_vel", "geometry_msgs/TwistStamped", setpoint_rates),
    Subscription("vision_pose/pose", "geometry_msgs/PoseStamped", vision_pose),
    Subscription("vision_pose/pose_cov", "geometry_msgs/PoseWithCovarianceStamped",
                 vision_pose_cov),
    Subscription("manual_control/send", "mavros_msgs/ManualControl", manual_control),
    Subscription("rc/override", "mavros_msgs/OverrideRCIn", rc_override),
    Subscription("statustext/send", "mavros_msgs/StatusText", send_status_text),
    Subscription("global_position/set_gp_origin", "geographic_msgs/GeoPointStamped", set_gp_origin),
    Subscription("home_position/set", "mavros_msgs/HomePosition", set_home_position),
)
