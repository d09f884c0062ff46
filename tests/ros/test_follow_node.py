"""The node `follow`: what it makes of detections, and a flight by ROS alone."""

import json
from types import SimpleNamespace

import numpy as np
import pytest

from ros_fixtures import ROOT, Processes, environment, free_port, needs_ros

pytest.importorskip("rospy")

from xtdrone_core import Estimates
from xtdrone_core.modes import Mode
from xtdrone_perception.errors import PerceptionError
from xtdrone_perception.ros.follow import TopicFollower, found_of
from xtdrone_ros1.messages import fill, ros_class

pytestmark = needs_ros
FRAME = "a/camera_optical"
OPTICAL = (-0.5, 0.5, -0.5, 0.5)
INFO = {"width": 640, "height": 360, "K": [300.0, 0, 319.5, 0, 300.0, 179.5, 0, 0, 1]}


def detections(t_us, *rows):
    """A Detection2DArray of (class, score, left, top, right, bottom)."""
    header = {
        "stamp": {"secs": t_us // 1_000_000, "nsecs": t_us % 1_000_000 * 1000},
        "frame_id": FRAME,
    }
    fields = [
        {
            "results": [{"id": kind, "score": score}],
            "bbox": {
                "center": {"x": (left + right) / 2, "y": (top + bottom) / 2},
                "size_x": right - left,
                "size_y": bottom - top,
            },
        }
        for kind, score, left, top, right, bottom in rows
    ]
    message = ros_class("vision_msgs/Detection2DArray")()
    return fill(message, {"header": header, "detections": fields})


def mounted():
    """A TFMessage of a camera at the middle of a vehicle."""
    row = SimpleNamespace(
        header=SimpleNamespace(frame_id="a/base_link"),
        child_frame_id=FRAME,
        transform=SimpleNamespace(
            translation=SimpleNamespace(x=0.0, y=0.0, z=0.0),
            rotation=SimpleNamespace(**dict(zip("xyzw", OPTICAL))),
        ),
    )
    return SimpleNamespace(transforms=[row])


def estimates(t_us, pos):
    one, no = np.zeros((1, 3)), np.array([False])
    return Estimates(
        t_us, one + pos, np.array([[0.0, 0.0, 0.0, 1.0]]), one, one, no, no,
        np.full(1, Mode.OFFBOARD, np.int8), no,
    )  # fmt: skip


def test_boxes_of_a_class_are_taken_from_a_message():
    message = detections(0, (0, 0.9, 10, 20, 30, 60), (1, 0.8, 1, 2, 3, 4), (0, 0.5, 5, 6, 7, 8))
    found = found_of(message, 0)
    assert found.boxes.tolist() == [[10, 20, 30, 60], [5, 6, 7, 8]]
    np.testing.assert_allclose(found.scores, (0.9, 0.5), atol=1e-6)
    assert len(found_of(message, -1).boxes) == 0  # the class is not known yet


@pytest.mark.parametrize("gimbal", [True, False])
def test_a_person_on_the_ground_is_followed_and_looked_at(gimbal):
    mounts, events = [], []
    agent = TopicFollower(
        lambda: 0,
        mounts.append if gimbal else None,
        height=4.0,
        distance=6.0,
        search=5.0,
        on_event=lambda t_us, name, **values: events.append(name),
    )
    agent.home = np.zeros((1, 3))
    with pytest.raises(PerceptionError, match="no camera_info came"):
        agent.begin(0, estimates(0, (0.0, 0.0, 4.0)))
    agent.take_info(fill(ros_class("sensor_msgs/CameraInfo")(), INFO))
    agent.frames.add(mounted())
    agent.begin(0, estimates(0, (0.0, 0.0, 4.0)))
    out = SimpleNamespace(vel=np.zeros((1, 3)), yaw=np.zeros(1))
    for k in range(1, 30):
        t_us, here = 40_000 * k, estimates(40_000 * k, (0.0, 0.0, 4.0))
        agent.step(t_us, here)  # notes where the vehicle is
        pitch = -np.radians(mounts[-1]["pitch"]) if mounts else 0.0
        # The foot of a person 12 m ahead, from 4 m: 18.4 degrees below the horizon.
        below = np.arctan2(4.0, 12.0) - (pitch if gimbal else 0.0)
        foot = 180.0 + 300.0 * np.tan(below)
        agent.take_detections(detections(t_us, (0, 0.9, 310, foot - 40, 330, foot)))
        assert not agent.fly(t_us, here, out)
    assert events == ["target"]
    assert out.vel[0, 0] > 2.0 and abs(out.vel[0, 1]) < 0.3  # nearer, to 6 m
    assert abs(out.yaw[0]) < 0.05
    if gimbal:
        assert mounts[-1]["mode"] == 2 and -20.0 < mounts[-1]["pitch"] < -10.0


def test_what_is_not_found_is_given_up():
    events = []
    agent = TopicFollower(
        lambda: 0, None, search=5.0, on_event=lambda t_us, name, **values: events.append(name)
    )
    agent.home = np.zeros((1, 3))
    agent.take_info(fill(ros_class("sensor_msgs/CameraInfo")(), INFO))
    agent.begin(0, estimates(0, (0.0, 0.0, 8.0)))
    out = SimpleNamespace(vel=np.zeros((1, 3)), yaw=np.zeros(1))
    assert not agent.fly(4_000_000, estimates(0, (0.0, 0.0, 8.0)), out)
    assert agent.fly(5_100_000, estimates(0, (0.0, 0.0, 8.0)), out)
    assert events == ["gave_up"]


WORLD = """<?xml version="1.0"?>
<sdf version="1.7"><world name="walk">
<include><uri>model://ground_plane</uri></include><include><uri>model://sun</uri></include>
<actor name="ann"><xtdrone:figure xmlns:xtdrone="urn:xtdrone">{figure}</xtdrone:figure>
<script><loop>0</loop><delay_start>20</delay_start><trajectory id="0" type="walking">
<waypoint><time>0</time><pose>{start} 2 0 0 0 0</pose></waypoint>
<waypoint><time>60</time><pose>{end} 2 0 0 0 0</pose></waypoint></trajectory></script></actor>
</world></sdf>
"""


@pytest.mark.long  # its parts are tested above and in tests/perception/test_tracking.py
@pytest.mark.parametrize(
    "figure, start, end, distance", [("person", 9, 69, 6), ("car", 12, 132, 10)]
)
def test_a_person_or_a_car_is_followed_by_ros_alone(tmp_path, figure, start, end, distance):
    pytest.importorskip("onnxruntime")
    world = tmp_path / "walk.world"
    world.write_text(WORLD.format(figure=figure, start=start, end=end))
    processes = Processes(environment(free_port(), tmp_path))
    port = processes.env["ROS_MASTER_URI"].rsplit(":", 1)[1]
    try:
        launch = processes.start(
            "roslaunch", "-p", port, ROOT / "launch" / "follow.launch", "speed:=0", "follow_s:=20",
            "height:=4", f"distance:={distance}", f"target:={figure}", f"world:={world}",
        )  # fmt: skip
        processes.await_vehicles(launch)
        log = launch.communicate(timeout=900)[0]
    finally:
        processes.close()
    assert "Traceback" not in log, log
    (folder,) = (tmp_path / "runs").glob("follow*")
    events = [json.loads(line) for line in (folder / "events.jsonl").read_text().splitlines()]
    names = [event["event"] for event in events]
    assert "target" in names and "landed" in names and "gave_up" not in names, log
