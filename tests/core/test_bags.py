"""Poses of bags: every type of message, of ROS 1 and ROS 2, and what has none."""

import numpy as np
import pytest

pytest.importorskip("rosbags")

import pose_bags
from xtdrone_core import XtdroneError
from xtdrone_core.runs import bags

TYPES = ("pose", "covariance", "odometry", "transform")
EXPECTED = np.array([pose_bags.position(k) for k in range(pose_bags.COUNT)])
TIMES = pose_bags.PERIOD_S * np.arange(pose_bags.COUNT)


@pytest.mark.parametrize("kind", pose_bags.KINDS)
def test_poses_of_every_type_are_read(tmp_path, kind):
    path = pose_bags.write(tmp_path, kind, *TYPES, "text")
    assert bags.is_bag(path)
    with bags.opened(path) as bag:
        tables = bag.poses()
        assert set(tables) == {f"/{name}" for name in TYPES}
        assert bag.counts["/text"] == pose_bags.COUNT
        assert set(bag.poses(lambda topic: topic == "/pose")) == {"/pose"}
        assert bag.described().startswith("/covariance (geometry_msgs/PoseWithCovarianceStamped)")
    for table in tables.values():
        # The first stamp is 0, which is none: there the time is that of the recording, 1 ns.
        assert np.allclose(table[:, 0], TIMES, atol=1e-8)
        assert np.allclose(table[:, 1:4], EXPECTED)
        assert np.allclose(table[:, 4:], (0, 0, 0, 1))


@pytest.mark.parametrize("kind", pose_bags.KINDS)
def test_transforms_are_the_vehicle_s_in_the_root(tmp_path, kind):
    with bags.opened(pose_bags.write(tmp_path, kind, "tf")) as bag:
        assert bag.poses() == {}
        ((name, table),) = bag.transforms().items()
    assert name == "uav0"
    assert np.allclose(table[:, 1:4], EXPECTED)
    assert np.allclose(table[:, 4:], (0, 0, np.sqrt(0.5), np.sqrt(0.5)))


def test_px4_s_odometry_becomes_east_north_up(tmp_path):
    with bags.opened(pose_bags.write(tmp_path, "ros2.mcap", "px4")) as bag:
        table = bag.poses()["/px4"]
    assert np.allclose(table[:, 0], 10.0 + TIMES)
    assert np.allclose(table[:, 1:4], EXPECTED)
    assert np.allclose(table[:, 4:], (0, 0, 0, 1), atol=1e-6)  # east is yaw 0


def test_messages_without_a_stamp_have_the_recording_s_time(tmp_path):
    with bags.opened(pose_bags.write(tmp_path, "ros1.bag", "pose", stamped=False)) as bag:
        assert np.allclose(bag.poses()["/pose"][:, 0], TIMES, atol=1e-8)


@pytest.mark.parametrize("kind", pose_bags.KINDS)
def test_a_bag_without_poses_says_what_it_has(tmp_path, kind):
    with bags.opened(pose_bags.write(tmp_path, kind, "text")) as bag:
        assert bag.poses() == bag.transforms() == {}
        assert bag.described() == "/text (std_msgs/String)"


@pytest.mark.parametrize("name", ["x.bag", "x.mcap", "x.db3"])
@pytest.mark.parametrize("content", [b"", bytes(range(256)) * 20])
def test_what_is_no_bag_is_one_line(tmp_path, name, content):
    (tmp_path / name).write_bytes(content)
    said = f"cannot read .*{name}.*repair"
    with pytest.raises(XtdroneError, match=said) as caught, bags.opened(tmp_path / name):
        pass
    assert "\n" not in str(caught.value)
