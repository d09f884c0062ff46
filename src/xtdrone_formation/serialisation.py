"""Reads the fields of ROS messages that the formation needs from the serialised bytes.

With a hundred vehicles at 50 Hz, deserialising whole messages would cost more than everything else
in the node.
"""

import struct

import numpy as np

Numbers = tuple[float, ...]
_ODOMETRY = struct.Struct("<7d288x6d")  # pose, its covariance left out, twist
_POSE = struct.Struct("<7d")
_TWIST = struct.Struct("<6d")
_VECTOR = struct.Struct("<3d")
_FIX_COVARIANCE = struct.Struct("<9dB")
_BEFORE_COVARIANCE = 27  # bytes of a NavSatFix: status, service, latitude, longitude, altitude


def _after_header(data: bytes) -> int:
    """Returns the offset of the data after a std_msgs/Header."""
    return 16 + struct.unpack_from("<I", data, 12)[0]


def stamp(data: bytes) -> int:
    """Reads the time stamp of any message with a header [us]."""
    seconds, nanoseconds = struct.unpack_from("<II", data, 4)
    return seconds * 1_000_000 + nanoseconds // 1000


def odometry(data: bytes) -> tuple[Numbers, Numbers, Numbers, Numbers]:
    """Reads pos (3), quat (4) xyzw, vel (3), ang_vel (3) of an Odometry; velocities: body."""
    at = _after_header(data)
    at += 4 + struct.unpack_from("<I", data, at)[0]
    values = _ODOMETRY.unpack_from(data, at)
    return values[0:3], values[3:7], values[7:10], values[10:13]


def pose(data: bytes, at: int = 0) -> tuple[Numbers, Numbers]:
    """Reads pos (3) and quat (4) xyzw of a Pose that begins at an offset."""
    values = _POSE.unpack_from(data, at)
    return values[:3], values[3:]


def pose_stamped(data: bytes) -> tuple[Numbers, Numbers]:
    """Reads pos (3) and quat (4) xyzw of a PoseStamped."""
    return pose(data, _after_header(data))


def twist(data: bytes, at: int = 0) -> tuple[Numbers, Numbers]:
    """Reads linear (3) and angular (3) velocity of a Twist that begins at an offset."""
    values = _TWIST.unpack_from(data, at)
    return values[:3], values[3:]


def twist_stamped(data: bytes) -> tuple[Numbers, Numbers]:
    """Reads linear (3) and angular (3) velocity of a TwistStamped."""
    return twist(data, _after_header(data))


def state(data: bytes) -> tuple[bool, bool, str, int]:
    """Reads connected, armed, mode (MAVROS's name) and system_status of a mavros_msgs/State."""
    at = _after_header(data)
    connected, armed, _, _, size = struct.unpack_from("<4BI", data, at)
    mode = data[at + 8 : at + 8 + size].decode()
    return bool(connected), bool(armed), mode, data[at + 8 + size]


def landed_state(data: bytes) -> int:
    """Reads MAV_LANDED_STATE of a mavros_msgs/ExtendedState: 1 on the ground, 2 in the air."""
    return data[_after_header(data) + 1]


def fix_covariance(data: bytes) -> tuple[np.ndarray, int]:
    """Reads position_covariance (3, 3) [m^2] and its type of a sensor_msgs/NavSatFix."""
    *values, kind = _FIX_COVARIANCE.unpack_from(data, _after_header(data) + _BEFORE_COVARIANCE)
    return np.array(values).reshape(3, 3), kind


def text(data: bytes) -> str:
    """Reads a std_msgs/String."""
    return data[4:].decode(errors="replace")


def vector(data: bytes) -> Numbers:
    """Reads a geometry_msgs/Vector3."""
    return _VECTOR.unpack_from(data)


def multi_array(data: bytes, kind: str) -> np.ndarray:
    """Reads the values (N,) of a std_msgs/Float32MultiArray ("f4") or its like, as float64."""
    (count,) = struct.unpack_from("<I", data)
    at = 4
    for _ in range(count):  # dimensions: label, size, stride
        at += 4 + struct.unpack_from("<I", data, at)[0] + 8
    at += 4  # data_offset
    return np.frombuffer(data, f"<{kind}", struct.unpack_from("<I", data, at)[0], at + 4).astype(
        float
    )
