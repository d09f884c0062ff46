"""Bytes built by hand are what ROS's own code would send, and a stalled reader stops nobody."""

import importlib
import math
import socket

import numpy as np
import pytest

from ros_fixtures import needs_ros
from xtdrone_mavros import ros_serialisation as wire

T = 12_345_678  # [us]
POS, QUAT, VEL, RATE = (1.0, -2.0, 3.0), (0.1, 0.2, 0.3, 0.9), (4.0, 5.0, -6.0), (0.7, 0.8, -0.9)
COV = wire.diagonal(1.0, 2.0, 3.0)

CASES = {  # bytes, type, {path of a field: value}
    "pose": (
        wire.pose_stamped(T, "map", POS, QUAT),
        "geometry_msgs/PoseStamped",
        {
            "header.stamp.secs": 12,
            "header.stamp.nsecs": 345_678_000,
            "header.frame_id": "map",
            "pose.position.y": -2.0,
            "pose.orientation.w": 0.9,
        },
    ),
    "twist": (
        wire.twist_stamped(T, "base_link", VEL, RATE),
        "geometry_msgs/TwistStamped",
        {"twist.linear.z": -6.0, "twist.angular.x": 0.7},
    ),
    "odometry": (
        wire.odometry(T, "map", "base_link", POS, QUAT, VEL, RATE),
        "nav_msgs/Odometry",
        {
            "child_frame_id": "base_link",
            "pose.pose.position.x": 1.0,
            "twist.twist.linear.y": 5.0,
            "twist.twist.angular.z": -0.9,
            "pose.covariance": (0.0,) * 36,
        },
    ),
    "imu": (
        wire.imu(T, "base_link", QUAT, COV, RATE, COV, VEL, COV),
        "sensor_msgs/Imu",
        {
            "orientation.z": 0.3,
            "orientation_covariance": COV,
            "angular_velocity.y": 0.8,
            "linear_acceleration.x": 4.0,
            "linear_acceleration_covariance": COV,
        },
    ),
    "raw imu": (
        wire.imu(T, "", None, None, RATE, COV, VEL, COV),
        "sensor_msgs/Imu",
        {"orientation_covariance": (-1.0,) + (0.0,) * 8},
    ),
    "magnetic": (
        wire.magnetic_field(T, "", VEL, COV),
        "sensor_msgs/MagneticField",
        {"magnetic_field.y": 5.0, "magnetic_field_covariance": COV},
    ),
    "fix": (
        wire.nav_sat_fix(T, "base_link", -1, 47.5, 8.5, 488.0, COV, 2),
        "sensor_msgs/NavSatFix",
        {
            "status.status": -1,
            "status.service": 1,
            "latitude": 47.5,
            "altitude": 488.0,
            "position_covariance": COV,
            "position_covariance_type": 2,
        },
    ),
    "battery": (
        wire.battery_state(T, "", 16.0, -2.5, 0.75, [4.0] * 4, "id0"),
        "sensor_msgs/BatteryState",
        {
            "voltage": 16.0,
            "current": -2.5,
            "percentage": 0.75,
            "present": True,
            "power_supply_status": 2,
            "cell_voltage": (4.0,) * 4,
            "location": "id0",
        },
    ),
    "state": (
        wire.state(T, True, False, True, False, "OFFBOARD", 4),
        "mavros_msgs/State",
        {"connected": True, "armed": False, "guided": True, "mode": "OFFBOARD", "system_status": 4},
    ),
    "text": (
        wire.status_text(T, 3, "no position"),
        "mavros_msgs/StatusText",
        {"severity": 3, "text": "no position"},
    ),
    "time": (
        wire.time_reference(T, 5_000_001, "fcu"),
        "sensor_msgs/TimeReference",
        {"time_ref.secs": 5, "time_ref.nsecs": 1000, "source": "fcu"},
    ),
    "param": (
        wire.param(T, "MPC_XY_VEL_MAX", 0, 12.5, 7, 99),
        "mavros_msgs/Param",
        {"param_id": "MPC_XY_VEL_MAX", "value.real": 12.5, "param_index": 7, "param_count": 99},
    ),
    "target": (
        wire.position_target(T, "map", 8, 455, POS, VEL, RATE, 0.5, -0.25),
        "mavros_msgs/PositionTarget",
        {
            "coordinate_frame": 8,
            "type_mask": 455,
            "position.z": 3.0,
            "velocity.x": 4.0,
            "acceleration_or_force.z": -0.9,
            "yaw": 0.5,
            "yaw_rate": -0.25,
        },
    ),
    "waypoints": (
        wire.waypoint_list(
            1,
            [
                (3, 22, 0, 1, 0, 0, 0, 0, 47.0, 8.0, 10.0),
                (3, 16, 1, 1, 0, 0, 0, math.nan, 48.0, 9.0, 20.0),
            ],
        ),
        "mavros_msgs/WaypointList",
        {
            "current_seq": 1,
            "waypoints.0.command": 22,
            "waypoints.0.autocontinue": True,
            "waypoints.1.is_current": True,
            "waypoints.1.z_alt": 20.0,
        },
    ),
    "transforms": (
        wire.transforms(T, [("map", "iris_0/base_link", POS, QUAT)]),
        "tf2_msgs/TFMessage",
        {
            "transforms.0.child_frame_id": "iris_0/base_link",
            "transforms.0.header.frame_id": "map",
            "transforms.0.transform.translation.y": -2.0,
            "transforms.0.transform.rotation.w": 0.9,
        },
    ),
    "clock": (wire.stamp(T), "rosgraph_msgs/Clock", {"clock.nsecs": 345_678_000}),
}


def field(message, path):
    """A field by a path like waypoints.0.command."""
    for name in path.split("."):
        message = message[int(name)] if name.isdigit() else getattr(message, name)
    return message


@needs_ros
@pytest.mark.parametrize("case", CASES)
def test_ros_reads_what_we_write(case):
    data, kind, expected = CASES[case]
    package, name = kind.split("/")
    message = getattr(importlib.import_module(f"{package}.msg"), name)()
    message.deserialize(data)
    for path, value in expected.items():
        assert field(message, path) == pytest.approx(value), path
    from io import BytesIO

    again = BytesIO()
    message.serialize(again)
    assert again.getvalue() == data


def test_position_target_comes_back():
    data = wire.position_target(T, "map", 1, 3000, POS, VEL, RATE, 1.5, 0.25)
    target = wire.parse_position_target(data)
    assert (target.t_us, target.coordinate_frame, target.type_mask) == (T, 1, 3000)
    assert np.allclose([target.pos, target.vel, target.acc], [POS, VEL, RATE])
    assert (target.yaw, target.yaw_rate) == (1.5, 0.25)


class Peer:
    """What Connection wraps: rospy's connection, as far as it matters."""

    done = False

    def __init__(self):
        self.socket, self.reader = socket.socketpair()
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 8192)


@needs_ros
def test_stalled_reader_loses_whole_messages_only():
    peer = Peer()
    from xtdrone_ros1.connection import Connection

    connection = Connection(peer)
    messages = [bytes([k % 256]) * 3000 for k in range(60)]
    for message in messages:
        connection.write_data(message)  # would block for ever if it waited
    peer.reader.setblocking(False)
    received = b""
    for extra in range(20):  # the reader wakes up, and the rest of a cut message follows
        try:
            while True:
                received += peer.reader.recv(65536)
        except BlockingIOError:
            pass
        connection.write_data(bytes([200 + extra]) * 3000)
    while True:
        try:
            received += peer.reader.recv(65536)
        except BlockingIOError:
            break
    assert len(received) % 3000 == 0
    parts = [received[k : k + 3000] for k in range(0, len(received), 3000)]
    assert all(len(set(part)) == 1 for part in parts)
    assert 0 < len(parts) < 80
