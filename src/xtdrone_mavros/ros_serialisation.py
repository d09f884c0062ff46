"""Serialisation of ROS 1 messages without ROS.

Building a message object and serialising it by rospy takes about ten times as long as packing its
numbers, and the bridge sends thousands per second. All functions take world ENU, body FLU, SI units
and quaternions xyzw; times are in microseconds.
"""

import struct
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple, TypeAlias

import numpy as np

Numbers: TypeAlias = Sequence[float] | np.ndarray
Covariance3: TypeAlias = tuple[float, float, float, float, float, float, float, float, float]

_ZERO6 = (0.0,) * 36
_UNKNOWN3 = (-1.0,) + (
    0.0,
) * 8  # covariance of a quantity that is not measured, in sensor_msgs/Imu
_STAMP = struct.Struct("<III")
_POSE = struct.Struct("<7d")
_TWIST = struct.Struct("<6d")
_VECTOR = struct.Struct("<3d")
_ODOMETRY_POSE = struct.Struct("<43d")
_ODOMETRY_TWIST = struct.Struct("<42d")
_IMU = struct.Struct("<4d9d3d9d3d9d")
_VECTOR3_COVARIANCE = struct.Struct("<12d")
_NAV_SAT_FIX = struct.Struct("<bH3d9dB")
_POSITION_TARGET = struct.Struct("<BH9d2f")
_UINT32 = struct.Struct("<I")


@lru_cache(maxsize=1024)
def text(value: str) -> bytes:
    """Serialises a string: its length, then UTF-8."""
    data = value.encode()
    return _UINT32.pack(len(data)) + data


def header(t_us: int, frame: str) -> bytes:
    """std_msgs/Header; the publisher writes its number into seq, the first four bytes."""
    return _STAMP.pack(0, t_us // 1_000_000, t_us % 1_000_000 * 1000) + text(frame)


def stamp(t_us: int) -> bytes:
    """A time, which is also all of rosgraph_msgs/Clock."""
    return struct.pack("<II", t_us // 1_000_000, t_us % 1_000_000 * 1000)


def numbers(layout: str, *values: float | bytes) -> bytes:
    """Serialises values in the notation of struct."""
    return struct.pack("<" + layout, *values)


def fields(t_us: int, frame: str, layout: str, *values: float | bytes) -> bytes:
    """Serialises a header, followed by values in the notation of struct."""
    return header(t_us, frame) + numbers(layout, *values)


def array(items: Sequence[bytes]) -> bytes:
    """Serialises a sequence of messages: their number, then each of them."""
    return _UINT32.pack(len(items)) + b"".join(items)


def multi_array(values: np.ndarray, kind: str) -> bytes:
    """std_msgs/Float32MultiArray ("f4"), Int32MultiArray ("i4") and their like, of no dimension."""
    data = np.ascontiguousarray(values, f"<{kind}")
    return bytes(8) + _UINT32.pack(data.size) + data.tobytes()


def vector(values: Numbers) -> bytes:
    """geometry_msgs/Vector3."""
    return _VECTOR.pack(*values)


def pose(pos: Numbers, quat: Numbers) -> bytes:
    """geometry_msgs/Pose."""
    return _POSE.pack(*pos, *quat)


def twist(linear: Numbers, angular: Numbers = (0.0, 0.0, 0.0)) -> bytes:
    """geometry_msgs/Twist."""
    return _TWIST.pack(*linear, *angular)


def pose_stamped(t_us: int, frame: str, pos: Numbers, quat: Numbers) -> bytes:
    """geometry_msgs/PoseStamped."""
    return header(t_us, frame) + pose(pos, quat)


def path(t_us: int, frame: str, poses: Sequence[tuple[Numbers, Numbers]]) -> bytes:
    """nav_msgs/Path from (pos, quat); its poses have no time of their own."""
    return header(t_us, frame) + array([pose_stamped(0, "", pos, quat) for pos, quat in poses])


def twist_stamped(t_us: int, frame: str, linear: Numbers, angular: Numbers) -> bytes:
    """geometry_msgs/TwistStamped."""
    return header(t_us, frame) + twist(linear, angular)


def odometry(
    t_us: int,
    frame: str,
    child: str,
    pos: Numbers,
    quat: Numbers,
    linear: Numbers,
    angular: Numbers,
) -> bytes:
    """nav_msgs/Odometry with the twist in the child's axes and no covariance."""
    return b"".join(
        (
            header(t_us, frame),
            text(child),
            _ODOMETRY_POSE.pack(*pos, *quat, *_ZERO6),
            _ODOMETRY_TWIST.pack(*linear, *angular, *_ZERO6),
        )
    )


def diagonal(a: float, b: float, c: float) -> Covariance3:
    """Returns a 3 by 3 covariance, row-major, from its diagonal."""
    return a, 0.0, 0.0, 0.0, b, 0.0, 0.0, 0.0, c


def imu(
    t_us: int,
    frame: str,
    quat: Numbers | None,
    quat_cov: Numbers | None,
    rate: Numbers,
    rate_cov: Numbers,
    accel: Numbers,
    accel_cov: Numbers,
) -> bytes:
    """sensor_msgs/Imu; quat is None for a device without attitude."""
    if quat is None or quat_cov is None:
        quat, quat_cov = (0.0, 0.0, 0.0, 0.0), _UNKNOWN3
    return header(t_us, frame) + _IMU.pack(*quat, *quat_cov, *rate, *rate_cov, *accel, *accel_cov)


def magnetic_field(t_us: int, frame: str, field: Numbers, covariance: Numbers) -> bytes:
    """sensor_msgs/MagneticField [T]."""
    return header(t_us, frame) + _VECTOR3_COVARIANCE.pack(*field, *covariance)


def nav_sat_fix(
    t_us: int,
    frame: str,
    status: int,
    lat: float,
    lon: float,
    alt: float,
    covariance: Numbers,
    covariance_type: int,
) -> bytes:
    """sensor_msgs/NavSatFix of GPS; lat, lon in degrees, alt above the ellipsoid [m]."""
    return header(t_us, frame) + _NAV_SAT_FIX.pack(
        status, 1, lat, lon, alt, *covariance, covariance_type
    )


def battery_state(
    t_us: int,
    frame: str,
    voltage: float,
    current: float,
    percentage: float,
    cells: Sequence[float],
    location: str,
) -> bytes:
    """sensor_msgs/BatteryState of a lithium-polymer pack; current < 0: discharging."""
    nan = float("nan")
    return b"".join(
        (
            header(t_us, frame),
            struct.pack("<7fBBBB", voltage, 0.0, current, nan, nan, nan, percentage, 2, 0, 3, 1),
            _UINT32.pack(len(cells)),
            struct.pack(f"<{len(cells)}f", *cells),
            _UINT32.pack(0),
            text(location),
            text(""),
        )
    )


def state(
    t_us: int,
    connected: bool,
    armed: bool,
    guided: bool,
    manual_input: bool,
    mode: str,
    system_status: int,
) -> bytes:
    """mavros_msgs/State."""
    return b"".join(
        (
            header(t_us, ""),
            struct.pack("<4B", connected, armed, guided, manual_input),
            text(mode),
            struct.pack("<B", system_status),
        )
    )


def status_text(t_us: int, severity: int, message: str) -> bytes:
    """mavros_msgs/StatusText."""
    return header(t_us, "") + struct.pack("<B", severity) + text(message)


def time_reference(t_us: int, reference_us: int, source: str) -> bytes:
    """sensor_msgs/TimeReference."""
    return header(t_us, "") + stamp(reference_us) + text(source)


def param(t_us: int, name: str, integer: int, real: float, index: int, count: int) -> bytes:
    """mavros_msgs/Param."""
    return header(t_us, "") + text(name) + struct.pack("<qdHH", integer, real, index, count)


def position_target(
    t_us: int,
    frame: str,
    coordinate_frame: int,
    type_mask: int,
    pos: Numbers,
    vel: Numbers,
    acc: Numbers,
    yaw: float,
    yaw_rate: float,
) -> bytes:
    """mavros_msgs/PositionTarget."""
    return header(t_us, frame) + _POSITION_TARGET.pack(
        coordinate_frame, type_mask, *pos, *vel, *acc, yaw, yaw_rate
    )


class PositionTarget(NamedTuple):
    """Numbers of a mavros_msgs/PositionTarget."""

    t_us: int
    coordinate_frame: int
    type_mask: int
    pos: tuple[float, float, float]
    vel: tuple[float, float, float]
    acc: tuple[float, float, float]
    yaw: float
    yaw_rate: float


def parse_position_target(data: bytes) -> PositionTarget:
    """Parses a mavros_msgs/PositionTarget."""
    _, seconds, nanoseconds, size = struct.unpack_from("<4I", data)
    frame, mask, *numbers = _POSITION_TARGET.unpack_from(data, 16 + size)
    x, y, z, vx, vy, vz, ax, ay, az, yaw, yaw_rate = numbers
    t_us = seconds * 1_000_000 + nanoseconds // 1000
    return PositionTarget(t_us, frame, mask, (x, y, z), (vx, vy, vz), (ax, ay, az), yaw, yaw_rate)


def waypoint_list(current: int, waypoints: Sequence[tuple[float, ...]]) -> bytes:
    """mavros_msgs/WaypointList from tuples of a Waypoint's fields."""
    return struct.pack("<H", current) + array(
        [struct.pack("<BH2B4f3d", *waypoint) for waypoint in waypoints]
    )


def transforms(t_us: int, items: Sequence[tuple[str, str, Numbers, Numbers]]) -> bytes:
    """tf2_msgs/TFMessage from (parent, child, pos, quat)."""
    return array(
        [header(t_us, parent) + text(child) + pose(pos, quat) for parent, child, pos, quat in items]
    )


def states(names: Sequence[str], table: np.ndarray) -> bytes:
    """gazebo_msgs/ModelStates or LinkStates.

    Args:
        names: Names of the models or links.
        table: (P, 13) position, quaternion xyzw, velocity and angular velocity, world.
    """
    count = _UINT32.pack(len(names))
    return b"".join(
        (count, *map(text, names), count, table[:, :7].tobytes(), count, table[:, 7:].tobytes())
    )


def prefixed(data: bytes) -> bytes:
    """Returns a message as it is on the wire, behind its length."""
    return _UINT32.pack(len(data)) + data
