"""Navigation over ROS: what becomes of its messages, and a flight by the launch file."""

import json
import re
import sys
from types import SimpleNamespace

import numpy as np
import pytest

from ros_fixtures import ROOT, Processes, environment, free_port, needs_ros

pytest.importorskip("rospy")

from xtdrone_core import Estimates
from xtdrone_planning.errors import PlanningError
from xtdrone_planning.goals import GoalAgent
from xtdrone_planning.planners.planner import Limits
from xtdrone_planning.ros.depth import CloudTopic, DepthTopic, depth_of, points_of
from xtdrone_planning.ros.navigation import Navigation
from xtdrone_ros1.messages import fill, ros_class

pytestmark = needs_ros


def message(kind, **fields):
    return fill(ros_class(kind)(), fields)


def header(t_us=0, frame=""):
    return {
        "stamp": {"secs": t_us // 1_000_000, "nsecs": t_us % 1_000_000 * 1000}, "frame_id": frame
    }  # fmt: skip


def picture(depth, encoding, t_us=0, padding=0):
    """A depth image (H, W) whose rows have some bytes more."""
    rows = depth.view(np.uint8).reshape(len(depth), -1)
    rows = np.hstack([rows, np.zeros((len(depth), padding), np.uint8)])
    return message(
        "sensor_msgs/Image", header=header(t_us, "a/camera"), height=depth.shape[0],
        width=depth.shape[1], encoding=encoding, step=rows.shape[1], data=rows.tobytes(),
    )  # fmt: skip


INFO = {"K": [20.0, 0.0, 16.0, 0.0, 20.0, 12.0, 0.0, 0.0, 1.0]}


def static(*rows):
    """A TFMessage of (parent, child, place, quaternion)."""
    return SimpleNamespace(
        transforms=[
            SimpleNamespace(
                header=SimpleNamespace(frame_id=parent),
                child_frame_id=child,
                transform=SimpleNamespace(
                    translation=SimpleNamespace(**dict(zip("xyz", place))),
                    rotation=SimpleNamespace(**dict(zip("xyzw", quat))),
                ),
            )
            for parent, child, place, quat in rows
        ]
    )


OPTICAL = (-0.5, 0.5, -0.5, 0.5)
MOUNT = static(
    ("a/base_link", "a/arm", (0.2, 0.0, 0.0), (0.0, 0.0, 0.0, 1.0)),
    ("a/arm", "a/camera", (0.0, 0.0, 0.1), OPTICAL),
)


class Sent(list):
    """An Output that somebody hears."""

    publish = list.append

    def wanted(self):
        return True


@pytest.fixture
def node():
    states = []
    agent = GoalAgent(Limits(2.0, 4.0, 0.45, 0.9, 1.0, 3.5), map_size=20.0, on_state=states.append)
    depth = DepthTopic(agent.pilot.voxels, 0.4, 8.0)
    outputs = {name: Sent() for name in ("occupied", "path", "trajectory")}
    return SimpleNamespace(
        agent=agent, depth=depth, outputs=outputs, states=states,
        navigation=Navigation(agent, depth, outputs),
    )  # fmt: skip


def estimates(t_us):
    one = np.zeros((1, 3))
    no = np.array([False])
    return Estimates(
        t_us, one + [0.0, 0.0, 2.0], np.array([[0.0, 0.0, 0.0, 1.0]]), one, one, no, no,
        np.zeros(1, np.int8), no,
    )  # fmt: skip


@pytest.mark.parametrize("encoding, kind, unit", [("32FC1", "<f4", 1.0), ("16UC1", "<u2", 1e-3)])
def test_a_wall_in_a_depth_image_becomes_a_cloud_of_the_map(node, encoding, kind, unit):
    take, navigation = node.navigation.handler, node.navigation
    wall = np.full((24, 32), 4.0 / unit).astype(kind)
    take(node.depth.frames.add)(MOUNT)
    take(node.depth.on_info)(message("sensor_msgs/CameraInfo", **INFO))
    for k in range(1, 6):
        take(node.depth.on_image)(picture(wall, encoding, 40_000 * k, padding=6))
        navigation.step(40_000 * k)
        node.agent.sight.take(40_000 * k, estimates(40_000 * k))
    navigation.step(1_300_000)
    assert node.agent.sight.newest_us == 200_000
    cloud = node.outputs["occupied"][-1]
    assert cloud["header"]["frame_id"] == "map" and cloud["point_step"] == 12
    points = np.frombuffer(cloud["data"], np.float32).reshape(-1, 3)
    assert len(points) > 50 and points[:, 0] == pytest.approx(4.2, abs=0.16)
    assert abs(points[:, 2] - 2.1).max() < 2.5 and abs(points[:, 1]).max() < 3.4
    message("sensor_msgs/PointCloud2", **cloud)


def sweep(points, t_us=0, step=22, padding=0):
    """A cloud of points (M, 3) with other fields beside them, as a lidar's driver sends it."""
    kind = np.dtype(
        {"names": ["x", "y", "z"], "formats": ["<f4"] * 3, "offsets": [4, 8, 12], "itemsize": step}
    )
    rows = np.zeros(len(points), kind)
    for k, name in enumerate("xyz"):
        rows[name] = points[:, k]
    fields = [
        {"name": name, "offset": at, "datatype": 7, "count": 1}
        for name, at in (("intensity", 0), ("x", 4), ("y", 8), ("z", 12))
    ]
    return message(
        "sensor_msgs/PointCloud2", header=header(t_us, "a/lidar"), height=1, width=len(points),
        fields=fields, point_step=step, row_step=len(points) * step + padding,
        data=rows.tobytes() + bytes(padding),
    )  # fmt: skip


def test_a_wall_in_a_lidars_cloud_is_in_the_map():
    agent = GoalAgent(Limits(2.0, 4.0, 0.45, 0.9, 1.0, 3.5), map_size=20.0)
    lidar = CloudTopic(agent.pilot.voxels, 0.4, 8.0)
    navigation = Navigation(agent, lidar, {name: Sent() for name in ("occupied", "path")})
    take = navigation.handler
    y, z = np.meshgrid(np.arange(-1.0, 1.0, 0.05), np.arange(-0.5, 0.5, 0.05))
    wall = np.stack([np.full(y.size, 4.0), y.ravel(), z.ravel()], axis=1)
    far, own = np.array([[0.0, 9.5, 0.0]]), np.array([[0.1, 0.0, 0.0]])  # beyond reach, too near
    lost = np.array([[np.nan] * 3])
    assert lidar.missing() == "point cloud"
    take(lidar.on_cloud)(sweep(wall))
    navigation.step(20_000)
    assert "frame of the lidar" in lidar.missing() and agent.sight is None
    take(lidar.frames.add)(static(("a/base_link", "a/lidar", (0.2, 0.0, 0.1), (0, 0, 0, 1.0))))
    for k in range(1, 6):
        take(lidar.on_cloud)(sweep(np.vstack([wall, far, own, lost]), 40_000 * k, padding=8))
        navigation.step(40_000 * k)
        agent.sight.take(40_000 * k, estimates(40_000 * k))
    voxels = agent.pilot.voxels
    assert voxels.occupied()[:, 0] == pytest.approx(4.2, abs=0.16)
    free = [(2.0, 0.0, 2.1), (0.2, 7.5, 2.1)]
    assert (voxels.at(free) < 0).all() and (voxels.at([(4.8, 0.0, 2.1)]) == -128).all()


def test_a_cloud_without_places_is_refused():
    broken = sweep(np.zeros((2, 3)))
    broken.fields = broken.fields[:2]
    with pytest.raises(PlanningError, match="give float32 fields x, y, z"):
        points_of(broken)
    short = sweep(np.zeros((2, 3)))
    short.data = short.data[:-5]
    with pytest.raises(PlanningError, match="fewer bytes than it says"):
        points_of(short)


def test_what_a_depth_image_does_not_say():
    millimetres = np.array([[0, 1500]], np.uint16)
    unknown, known = depth_of(picture(millimetres, "16UC1"))[0]
    assert np.isnan(unknown) and known == pytest.approx(1.5)
    metres = np.array([[np.nan, np.inf]], np.float32)
    assert np.isnan(depth_of(picture(metres, "32FC1"))[0, 0])
    assert depth_of(picture(metres, "32FC1"), nan_is_far=True).tolist() == [[np.inf, np.inf]]
    with pytest.raises(PlanningError, match="encoding 'rgb8' is not allowed: give 32FC1 or 16UC1"):
        depth_of(picture(metres, "rgb8"))


def goal(x, y, z, frame="map", **orientation):
    pose = {"position": {"x": x, "y": y, "z": z}, "orientation": orientation}
    return message("geometry_msgs/PoseStamped", header=header(frame=frame), pose=pose)


def test_goals_are_taken_or_refused_with_a_state(node):
    send = node.navigation.handler(node.navigation.on_goal)
    for z, frame in ((0.0, "map"), (9.0, "map"), (2.0, "odom")):
        send(goal(3.0, 4.0, z, frame, w=1.0))
        node.navigation.step(0)
    assert node.states == [
        "on the ground",
        "refused: goal 3,4,9 is not allowed: give a height of 1 to 3.5 m",
        "refused: a goal in frame 'odom' is not allowed: give it in map",
    ]


@pytest.mark.parametrize(
    "came, missing",
    [
        ("", "no depth image came in 20 s"),
        ("image", "no CameraInfo came"),
        ("image info", "no frame of the camera below base_link on /tf_static came"),
    ],
)
def test_a_camera_that_is_silent_is_one_line_before_the_flight(node, came, missing):
    if "info" in came:
        node.depth.on_info(message("sensor_msgs/CameraInfo", **INFO))
    if "image" in came:
        node.depth.on_image(picture(np.ones((2, 2), np.float32), "32FC1"))
    assert not node.navigation.sees(1_000_000)
    with pytest.raises(PlanningError, match=missing) as error:
        node.navigation.sees(22_000_000)
    assert "\n" not in str(error.value)


WORLD = """<?xml version="1.0"?>
<sdf version="1.6"><world name="block">
  <include><uri>model://ground_plane</uri></include>
  <model name="block"><static>true</static><pose>5 0 2 0 0 0</pose><link name="link">
    <collision name="c"><geometry><box><size>1 4 4</size></box></geometry></collision>
    <visual name="v"><geometry><box><size>1 4 4</size></box></geometry></visual>
  </link></model>
</world></sdf>
"""
ASK = """
import rospy
from geometry_msgs.msg import PoseStamped
from nav_msgs.msg import Path
from sensor_msgs.msg import PointCloud2
from std_msgs.msg import String
goals = rospy.Publisher("/move_base_simple/goal", PoseStamped, queue_size=5)
seen = {}
def send(x, y):
    goal = PoseStamped()
    goal.header.frame_id, goal.pose.position.x, goal.pose.position.y = "map", x, y
    goal.pose.orientation.w = 1.0
    goals.publish(goal)
def on_state(message):
    if message.data == "hovering":
        send(9.0, 0.0)
    elif message.data.startswith("reached"):
        send(5.0, 0.0)
    print(message.data, flush=True)
    if message.data.startswith("given up"):
        print(sorted(seen.items()), flush=True)
        rospy.signal_shutdown("done")
def on(name, many):
    return lambda message: seen.update({name: max(seen.get(name, 0), many(message))})
rospy.init_node("ask", disable_rostime=True)
top = "/iris_depth_0/navigation/"
rospy.Subscriber(top + "occupied", PointCloud2, on("occupied", lambda m: m.width))
rospy.Subscriber(top + "path", Path, on("path", lambda m: len(m.poses)))
rospy.Subscriber(top + "trajectory", Path, on("trajectory", lambda m: len(m.poses)))
rospy.Subscriber(top + "state", String, on_state)
rospy.spin()
"""


@pytest.mark.long  # its parts are tested above and in tests/planning/test_goals.py
def test_a_goal_of_rviz_is_reached_around_a_block_and_one_in_it_is_given_up(tmp_path):
    (tmp_path / "block.world").write_text(WORLD)
    processes = Processes(environment(free_port(), tmp_path))
    port = processes.env["ROS_MASTER_URI"].rsplit(":", 1)[1]
    try:
        launch = processes.start(
            "roslaunch", "-p", port, ROOT / "launch" / "navigation.launch", "speed:=0",
            f"world:={tmp_path / 'block.world'}", "count:=2", "patience:=3",
        )  # fmt: skip
        processes.await_vehicles(launch)
        said = processes.run(sys.executable, "-c", ASK).stdout
        log = launch.communicate(timeout=60)[0]
    finally:
        processes.close()
    assert "reached 9,0," in said, log + said
    assert re.search("given up 5,0,.*: the goal is in an obstacle, or too close to one", said), said
    for topic in ("occupied", "path", "trajectory"):
        assert f"'{topic}'" in said
    (folder,) = (tmp_path / "runs").glob("navigation*")
    events = [json.loads(line) for line in (folder / "events.jsonl").read_text().splitlines()]
    names = [event["event"] for event in events]
    assert "landed" in names and "collision" not in names
