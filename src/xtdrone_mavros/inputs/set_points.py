"""Inputs that guide the vehicle: set-points, trajectories, sticks, actuators, home, mount."""

import functools
import math
from collections.abc import Callable, Iterable, Sequence

from xtdrone_core.mavlink.dialect import mavlink

from .. import ros_serialisation as ros
from ..convert import decode, encode, geometry
from ..convert.geometry import Quaternion, Vector
from ..rows import Parameters, RosMessage, Subscription
from ..vehicle import Vehicle
from .fields import duration_us, quat, target, time_us, xyz

_ZERO: Vector = (0.0, 0.0, 0.0)
_LEVEL: Quaternion = (0.0, 0.0, 0.0, 1.0)
_POINTS = 5  # points of a TRAJECTORY_REPRESENTATION_...
_NOTHING = 0xFFFF  # no command at a point
_GLOBAL, _LOCAL = (
    mavlink.MAVLINK_MSG_ID_GLOBAL_POSITION_INT,
    mavlink.MAVLINK_MSG_ID_LOCAL_POSITION_NED,
)


def setpoint_raw_local(vehicle: Vehicle, data: bytes) -> None:
    """mavros_msgs/PositionTarget as bytes, since this topic has the highest rate."""
    vehicle.send_set_point(
        encode.set_position_target(vehicle.index, *ros.parse_position_target(data))
    )


def setpoint_raw_attitude(vehicle: Vehicle, message: RosMessage) -> None:
    _send_attitude(
        vehicle,
        message.type_mask,
        quat(message.orientation),
        xyz(message.body_rate),
        message.thrust,
    )


def setpoint_raw_global(vehicle: Vehicle, message: RosMessage) -> None:
    vehicle.send_set_point(
        encode.set_global_target(
            vehicle.index,
            vehicle.now_us,
            message.coordinate_frame,
            message.type_mask,
            message.latitude,
            message.longitude,
            message.altitude,
            xyz(message.velocity),
            xyz(message.acceleration_or_force),
            message.yaw,
            message.yaw_rate,
        )
    )


def setpoint_position(vehicle: Vehicle, message: RosMessage) -> None:
    _send_position(vehicle, xyz(message.pose.position), message.pose.orientation)


def setpoint_position_global(vehicle: Vehicle, message: RosMessage) -> None:
    """Passes on the altitude as it is, as MAVROS does: above mean sea level for PX4."""
    position = message.pose.position
    vehicle.send_set_point(
        encode.set_global_target(
            vehicle.index,
            vehicle.now_us,
            mavlink.MAV_FRAME_GLOBAL_INT,
            encode.POSITION_AND_YAW_RATE,
            position.latitude,
            position.longitude,
            position.altitude,
            _ZERO,
            _ZERO,
            geometry.euler(quat(message.pose.orientation))[2],
            0.0,
        )
    )


def setpoint_position_global_to_local(vehicle: Vehicle, message: RosMessage) -> None:
    """Sends a place above the ellipsoid as an offset from the vehicle's position."""
    if not {_GLOBAL, _LOCAL} <= vehicle.latest.keys():
        return
    _, lat, lon, alt, *_ = decode.global_position(vehicle.latest[_GLOBAL])
    _, (x, y, z), _ = decode.local_position(vehicle.latest[_LOCAL])
    goal = message.pose.position
    east, north, up = geometry.geodetic_to_enu(
        (lat, lon, geometry.above_ellipsoid(lat, lon, alt)),
        (goal.latitude, goal.longitude, goal.altitude),
    )
    _send_position(vehicle, (x + east, y + north, z + up), message.pose.orientation)


def setpoint_velocity(vehicle: Vehicle, message: RosMessage) -> None:
    setpoint_velocity_unstamped(vehicle, message.twist)


def setpoint_velocity_unstamped(vehicle: Vehicle, message: RosMessage) -> None:
    _send_local(
        vehicle,
        vehicle.mav_frames["setpoint_velocity"],
        encode.VELOCITY_ONLY,
        vel=xyz(message.linear),
        yaw_rate=message.angular.z,
    )


def setpoint_accel(vehicle: Vehicle, message: RosMessage) -> None:
    _send_local(
        vehicle, mavlink.MAV_FRAME_LOCAL_NED, encode.ACCELERATION_ONLY, acc=xyz(message.vector)
    )


def setpoint_thrust(vehicle: Vehicle, message: RosMessage) -> None:
    vehicle.thrust = message.thrust


def setpoint_attitude(vehicle: Vehicle, message: RosMessage) -> None:
    _send_with_thrust(vehicle, 0b00000111, quat(message.pose.orientation), _ZERO)


def setpoint_rates(vehicle: Vehicle, message: RosMessage) -> None:
    """MAVROS turns these rates as if they were a vector of the world: x and y change places."""
    x, y, z = xyz(message.twist.angular)
    _send_with_thrust(vehicle, 0b10000000, _LEVEL, (y, -x, z))


def _send_with_thrust(vehicle: Vehicle, mask: int, orientation: Quaternion, rate: Vector) -> None:
    """Sends an attitude or rates with the last thrust; nothing if there is none or a wrong one."""
    if vehicle.thrust is None:
        return
    if not 0.0 <= vehicle.thrust <= 1.0:
        vehicle.log(
            mavlink.MAV_SEVERITY_WARNING,
            f"thrust {vehicle.thrust:g} is not from 0 to 1: no set-point is sent",
        )
        return
    _send_attitude(vehicle, mask, orientation, rate, vehicle.thrust)


def _send_position(vehicle: Vehicle, position: Vector, orientation: RosMessage) -> None:
    _send_local(
        vehicle,
        vehicle.mav_frames["setpoint_position"],
        encode.POSITION_ONLY,
        pos=position,
        yaw=geometry.euler(quat(orientation))[2],
    )


def _send_local(
    vehicle: Vehicle,
    frame: int,
    mask: int,
    pos: Vector = _ZERO,
    vel: Vector = _ZERO,
    acc: Vector = _ZERO,
    yaw: float = 0.0,
    yaw_rate: float = 0.0,
) -> None:
    vehicle.send_set_point(
        encode.set_position_target(
            vehicle.index, vehicle.now_us, frame, mask, pos, vel, acc, yaw, yaw_rate
        )
    )


def _send_attitude(
    vehicle: Vehicle, mask: int, orientation: Quaternion, rate: Vector, thrust: float
) -> None:
    vehicle.send_set_point(
        encode.set_attitude_target(vehicle.index, vehicle.now_us, mask, orientation, rate, thrust)
    )


class Trajectory:
    """The points of a setpoint_trajectory/local, each sent when it is due."""

    def __init__(self, vehicle: Vehicle, points: Iterable[RosMessage]):
        """points: MultiDOFJointTrajectoryPoints of trajectory_msgs."""
        self._vehicle, self._points, self._next = vehicle, list(points), 0
        self._due_us = vehicle.now_us + self._wait(0)

    def _wait(self, k: int) -> int:
        return duration_us(self._points[k].time_from_start)

    def tick(self, t_us: int) -> None:
        """Sends the points that are due; as in MAVROS, a point's time is the wait after it."""
        while self._due_us <= t_us:
            self._send(self._points[self._next])
            self._due_us += self._wait(self._next)
            self._next += 1
            if self._next == len(self._points):
                self._vehicle.trajectory = None
                return

    def _send(self, point: RosMessage) -> None:
        vehicle, mask = self._vehicle, 0
        pos = vel = acc = _ZERO
        yaw = yaw_rate = 0.0
        if point.transforms:
            pose = point.transforms[0]
            pos = xyz(pose.translation)
            yaw = geometry.euler(quat(pose.rotation))[2]
        else:
            mask |= encode.NO_POSITION | encode.NO_YAW
        if point.velocities:
            vel = xyz(point.velocities[0].linear)
            # MAVROS leaves its sign as it is in ENU; it is turned here once more.
            yaw_rate = -point.velocities[0].angular.z
        else:
            mask |= encode.NO_VELOCITY | encode.NO_YAW_RATE
        if point.accelerations:
            acc = xyz(point.accelerations[0].linear)
        else:
            mask |= encode.NO_ACCELERATION
        frame = vehicle.mav_frames["setpoint_trajectory"]
        _send_local(vehicle, frame, mask, pos, vel, acc, yaw, yaw_rate)


def setpoint_trajectory(vehicle: Vehicle, message: RosMessage) -> None:
    if not message.points:
        return
    vehicle.trajectory = Trajectory(vehicle, message.points)
    poses = [
        (xyz(point.transforms[0].translation), quat(point.transforms[0].rotation))
        for point in message.points
        if point.transforms
    ]
    vehicle.publish("setpoint_trajectory/desired", ros.path(vehicle.now_us, "map", poses))


def trajectory_generated(vehicle: Vehicle, message: RosMessage) -> None:
    points = [message.point_1, message.point_2, message.point_3, message.point_4, message.point_5]
    valid = [bool(flag) for flag in message.point_valid]
    columns = functools.partial(_columns, points, valid)
    pos = columns(lambda p: geometry.enu_ned(xyz(p.position)))
    (yaw,) = columns(lambda p: (geometry.yaw_enu_ned(p.yaw),))
    if message.type:  # Bezier
        delta = [horizon if ok else math.nan for horizon, ok in zip(message.time_horizon, valid)]
        vehicle.send(
            mavlink.MAVLink_trajectory_representation_bezier_message(
                time_us(message.header), sum(valid), *pos, delta, yaw
            )
        )
        return
    vel = columns(lambda p: geometry.enu_ned(xyz(p.velocity)))
    acc = columns(lambda p: geometry.enu_ned(xyz(p.acceleration_or_force)))
    (rate,) = columns(lambda p: (p.yaw_rate,))
    vehicle.send(
        mavlink.MAVLink_trajectory_representation_waypoints_message(
            time_us(message.header),
            sum(valid),
            *pos,
            *vel,
            *acc,
            yaw,
            rate,
            [_NOTHING if ok else 0 for ok in valid],
        )
    )


def trajectory_path(vehicle: Vehicle, message: RosMessage) -> None:
    poses = [stamped.pose for stamped in message.poses[:_POINTS]]
    valid = [k < len(poses) for k in range(_POINTS)]
    poses += [None] * (_POINTS - len(poses))
    pos = _columns(poses, valid, lambda p: geometry.enu_ned(xyz(p.position)))
    (yaw,) = _columns(poses, valid, lambda p: (geometry.euler(quat(p.orientation))[2],))
    none = [math.nan] * _POINTS
    vehicle.send(
        mavlink.MAVLink_trajectory_representation_waypoints_message(
            time_us(message.header), sum(valid), *pos, *[none] * 6, yaw, none, [_NOTHING] * _POINTS
        )
    )


def _columns(
    points: Sequence[RosMessage],
    valid: Sequence[bool],
    numbers: Callable[[RosMessage], Sequence[float]],
) -> list[list[float]]:
    """Returns the numbers of all points, a list for each component; NaN for an invalid point."""
    rows = [numbers(point) if ok else None for point, ok in zip(points, valid)]
    width = len(next((row for row in rows if row), _ZERO))
    return [[row[k] if row else math.nan for row in rows] for k in range(width)]


def actuator_control(vehicle: Vehicle, message: RosMessage) -> None:
    vehicle.send_set_point(
        mavlink.MAVLink_set_actuator_control_target_message(
            time_us(message.header), message.group_mix, *target(vehicle), list(message.controls)
        )
    )


def manual_control(vehicle: Vehicle, message: RosMessage) -> None:
    axes = (min(max(round(a), -1000), 1000) for a in (message.x, message.y, message.z, message.r))
    vehicle.send(mavlink.MAVLink_manual_control_message(vehicle.index + 1, *axes, message.buttons))


def rc_override(vehicle: Vehicle, message: RosMessage) -> None:
    vehicle.send(mavlink.MAVLink_rc_channels_override_message(*target(vehicle), *message.channels))


def mount_command(vehicle: Vehicle, message: RosMessage) -> None:
    vehicle.send(
        mavlink.MAVLink_command_long_message(
            *target(vehicle),
            mavlink.MAV_CMD_DO_MOUNT_CONTROL,
            0,
            message.pitch,
            message.roll,
            message.yaw,
            message.altitude,
            message.latitude,
            message.longitude,
            message.mode,
        )
    )


def set_gp_origin(vehicle: Vehicle, message: RosMessage) -> None:
    lat, lon, alt = _above_sea(message.position)
    vehicle.send(
        mavlink.MAVLink_set_gps_global_origin_message(
            vehicle.index + 1, round(lat * 1e7), round(lon * 1e7), round(alt * 1e3)
        )
    )


def set_home_position(vehicle: Vehicle, message: RosMessage) -> None:
    lat, lon, alt = _above_sea(message.geo)
    vehicle.send(
        mavlink.MAVLink_command_int_message(
            *target(vehicle),
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
        )
    )


def _above_sea(point: RosMessage) -> Vector:
    """Returns latitude, longitude [deg] and height above mean sea level [m] of a GeoPoint."""
    return (
        point.latitude,
        point.longitude,
        geometry.above_sea(point.latitude, point.longitude, point.altitude),
    )


def _uses_quaternion(parameters: Parameters) -> bool:
    return parameters["setpoint_attitude"]["use_quaternion"]


SUBSCRIPTIONS: tuple[Subscription[Vehicle], ...] = (
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
