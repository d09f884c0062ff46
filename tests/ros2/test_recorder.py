"""Bags of rosbag2: what is published is in them, by simulated time, with its quality of service."""

import pytest

pytest.importorskip("cyclonedds")

from rosbags.highlevel import AnyReader
from rosbags.interfaces import QosDurability, QosReliability
from rosbags.rosbag2 import Writer

from xtdrone_ros2.errors import Ros2Error
from xtdrone_ros2.wire.quality import LATCHED, SENSOR
from xtdrone_ros2.wire.recorder import STORAGES, Recorder
from xtdrone_ros2.wire.types import DISTRIBUTIONS, Types

POSE = "geometry_msgs/msg/PoseStamped"


@pytest.mark.slow
@pytest.mark.parametrize("storage", STORAGES)
@pytest.mark.parametrize("distribution", DISTRIBUTIONS)
def test_a_bag_is_read_back(tmp_path, storage, distribution):
    types, said = Types(distribution), []
    recorder = Recorder(tmp_path / "bags" / "ros2", storage, "/a|/px4_1/.*", types, said.append)
    assert recorder.tap("/b", POSE, SENSOR) is None
    pose = recorder.tap("/a", POSE, SENSOR)
    again = recorder.tap("/a", POSE, SENSOR)  # another publisher of the topic
    status = recorder.tap("/px4_1/fmu/out/vehicle_status", "px4_msgs/msg/VehicleStatus", LATCHED)
    for k in range(5):
        recorder.now_us = 4000 * k
        for tap in (pose, again):
            tap(types.serialised(types.message(POSE, pose={"position": {"x": k}})))
        status(types.serialised(types.message("px4_msgs/msg/VehicleStatus", nav_state=k)))
    recorder.close()
    pose(b"")  # too late: nothing
    assert not said
    with AnyReader([tmp_path / "bags" / "ros2"]) as reader:
        found = [
            (connection.topic, t, reader.deserialize(data, connection.msgtype))
            for connection, t, data in reader.messages()
        ]
        quality = {
            connection.topic: connection.ext.offered_qos_profiles[0]
            for connection in reader.connections
        }
    assert [(t, m.pose.position.x) for topic, t, m in found if topic == "/a"] == [
        (4_000_000 * k, k) for k in range(5) for _ in range(2)
    ]
    assert [m.nav_state for topic, _, m in found if topic != "/a"] == list(range(5))
    assert quality["/a"].reliability == QosReliability.BEST_EFFORT
    assert quality["/px4_1/fmu/out/vehicle_status"].durability == QosDurability.TRANSIENT_LOCAL


def test_what_cannot_be_recorded(tmp_path):
    (tmp_path / "ros2").mkdir()
    with pytest.raises(Ros2Error, match="cannot record into"):
        Recorder(tmp_path / "ros2", "mcap", ".*", Types(), print)
    with pytest.raises(Ros2Error, match=r"ros2_topics '\(' is no regular expression"):
        Recorder(tmp_path / "other", "mcap", "(", Types(), print)


def test_a_full_disk_ends_the_recording_with_one_line(tmp_path, monkeypatch):
    types, said = Types(), []
    recorder = Recorder(tmp_path / "ros2", "mcap", ".*", types, said.append)
    tap = recorder.tap("/a", POSE, SENSOR)

    def full(*args):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Writer, "write", full)
    recorder.now_us = 1_500_000
    for _ in range(3):
        tap(types.serialised(types.message(POSE)))
    assert said == ["the recording ends at 1.50 s: [Errno 28] No space left on device"]
    recorder.close()
