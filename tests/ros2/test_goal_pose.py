"""Goals from ROS 2 for an Agent of the simulation, without DDS."""

from types import SimpleNamespace

import pytest

pytest.importorskip("cyclonedds", reason="DDS is an extra: pip install 'xtdrone[ros2]'")

from xtdrone_core import ControlError
from xtdrone_ros2 import goals


@pytest.fixture
def given(monkeypatch):
    """A subscriber, what it hands on, and what it logs."""
    asked, said, readers = [], [], {}

    class Client:
        def __init__(self, instance, timeout):
            assert instance == 3

        def request(self, op, **values):
            if values["goal"][2] > 3.0:
                raise ControlError("goal 1,2,9 is not allowed")
            asked.append((op, values))

        def close(self):
            asked.append("closed")

    monkeypatch.setattr(goals, "ControlClient", Client)
    node = SimpleNamespace(
        reader=lambda topic, kind, handle, quality: readers.update({topic: (kind, handle)})
    )
    goals.Goals(node, 3, said.append)
    kind, handle = readers["/goal_pose"]
    assert kind == "geometry_msgs/msg/PoseStamped"
    return handle, asked, said


def pose(x, y, z, frame="map"):
    return SimpleNamespace(
        header=SimpleNamespace(frame_id=frame),
        pose=SimpleNamespace(position=SimpleNamespace(x=x, y=y, z=z)),
    )


def test_a_goal_is_handed_on(given):
    handle, asked, said = given
    handle(pose(1.0, 2.0, 0.0))
    handle(pose(1.0, 2.0, 0.0, ""))
    assert asked == [("goal", {"goal": [1.0, 2.0, 0.0]}), "closed"] * 2 and said == []


@pytest.mark.parametrize(
    "message, why",
    [
        (pose(1.0, 2.0, 2.0, "odom"), "frame 'odom' is not taken"),
        (pose(float("nan"), 2.0, 2.0), "give numbers in map"),
        (pose(1.0, 2.0, 9.0), "goal 1,2,9 is not allowed"),
    ],
)
def test_what_is_refused_is_one_line(given, message, why):
    handle, asked, said = given
    handle(message)
    assert len(said) == 1 and why in said[0] and "\n" not in said[0]
    assert not any(each != "closed" for each in asked)
