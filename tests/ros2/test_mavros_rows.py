"""MAVROS's rows for ROS 2: the messages of ROS 1's builders, and inputs that come from ROS 2."""

import struct

import numpy as np
import pytest

pytest.importorskip("rosbags")

from xtdrone_mavros import ros_serialisation as ros
from xtdrone_mavros.inputs import SUBSCRIPTIONS
from xtdrone_mavros.inputs.fields import duration_us, time_us
from xtdrone_mavros.services import SERVICES
from xtdrone_mavros.topics import TOPICS
from xtdrone_ros2.wire.types import Types, ros2_name

T = 12_345_678


@pytest.fixture(scope="module")
def types():
    return Types()


def test_all_types_of_the_rows_are_known(types):
    for row in (*TOPICS, *SUBSCRIPTIONS):
        assert ros2_name(row.type) in types.store.fielddefs, row


def test_all_services_are_known(types):
    for row in SERVICES:
        for end in ("Request", "Response"):
            assert f"{ros2_name(row.type, 'srv')}_{end}" in types.store.fielddefs, row


def read(types, data, kind):
    return types.read(types.from_ros1(data, kind), kind)


def test_messages_of_ros_1s_builders(types):
    state = read(
        types, ros.state(T, True, False, True, False, "OFFBOARD", 4), "mavros_msgs/msg/State"
    )
    assert (state.header.stamp.sec, state.header.stamp.nanosec) == (12, 345_678_000)
    assert (state.connected, state.armed, state.mode, state.system_status) == (
        True,
        False,
        "OFFBOARD",
        4,
    )
    odometry = read(
        types,
        ros.odometry(
            T, "map", "base_link", (1.0, 2.0, 3.0), (0, 0, 0, 1), (4.0, 5.0, 6.0), (7.0, 8.0, 9.0)
        ),
        "nav_msgs/msg/Odometry",
    )
    assert (odometry.child_frame_id, odometry.pose.pose.position.z) == ("base_link", 3.0)
    assert odometry.twist.twist.angular.z == 9.0
    transforms = read(
        types,
        ros.transforms(T, [("map", "a", (1, 2, 3), (0, 0, 0, 1))] * 2),
        "tf2_msgs/msg/TFMessage",
    )
    assert [part.child_frame_id for part in transforms.transforms] == ["a", "a"]


def test_raw_inputs_go_back_to_ros_1(types):
    kind = "mavros_msgs/msg/PositionTarget"
    data = types.serialised(
        types.message(
            kind,
            header={"stamp": {"sec": 12}, "frame_id": "map"},
            coordinate_frame=1,
            position={"x": 2.5},
            yaw=0.5,
        )
    )
    numbers = ros.parse_position_target(types.to_ros1(data, kind))
    assert numbers[:2] == (12_000_000, 1)
    assert numbers.pos == (2.5, 0.0, 0.0) and (numbers.yaw, numbers.yaw_rate) == (0.5, 0.0)


def test_times_of_both(types):
    message = types.message(
        "geometry_msgs/msg/PoseStamped", header={"stamp": {"sec": 3, "nanosec": 4000}}
    )
    assert time_us(message.header) == 3_000_004
    assert duration_us(types.message("builtin_interfaces/msg/Duration", sec=2)) == 2_000_000


def test_arrays_come_as_numbers(types):
    kind = "mavros_msgs/msg/OverrideRCIn"
    data = types.serialised(types.message(kind, channels=np.arange(18)))
    assert types.read(data, kind).channels.tolist() == list(range(18))
    assert types.to_ros1(data, kind) == struct.pack("<18H", *range(18))
