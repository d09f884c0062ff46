"""Cameras and lidars for ROS 2: ROS 1's rows, drawn when they are wanted, and their frames."""

import numpy as np
import pytest

pytest.importorskip("cyclonedds")

from drawing import described, draws
from xtdrone_core.runs.frame_ring import FrameWriter
from xtdrone_ros2 import cameras
from xtdrone_ros2.wire.types import Types

TYPES = Types()


class Writer:
    def __init__(self, kind):
        self.kind, self.wanted, self.sent = kind, False, []

    def write(self, data):
        self.sent.append(TYPES.read(data, self.kind))


class Node:
    types = TYPES

    def __init__(self):
        self.writers = {}

    def writer(self, name, kind, quality):
        return self.writers.setdefault(name, Writer(kind))


class Frames:
    def publish_static(self, more):
        self.static = [(parent, child) for parent, child, _ in more]


class Client:
    """Stands for the control socket."""

    def __init__(self, sensors):
        self.sensors, self.asked = sensors, 0

    def request(self, op):
        assert op == "sensors"
        self.asked += 1
        return {"sensors": self.sensors}


@draws
@pytest.mark.parametrize(
    "vehicle, kinds",
    [
        ("iris_stereo", {"Image", "CameraInfo"}),
        ("iris_depth", {"Image", "CameraInfo", "PointCloud2"}),
        ("iris_2d_lidar", {"LaserScan"}),
        ("iris_3d_lidar", {"PointCloud2"}),
    ],
)
def test_each_kind_is_drawn_once_it_is_wanted(tmp_path, vehicle, kinds):
    (sensor,) = described(vehicle)
    ring = FrameWriter(tmp_path / "ring", sensor["arrays"])
    node, frames = Node(), Frames()
    client = Client([{**sensor, "ring": str(ring.path)}])
    own = cameras.Cameras(node, frames, ["v_0"], [sensor])
    assert frames.static[0] == ("drone0_base_link", "v_0/base_link")
    assert {parent for parent, _ in frames.static[1:]} == {"v_0/base_link"}
    own.publish(client)
    assert client.asked == 0
    for writer in node.writers.values():
        writer.wanted = True
    own.publish(client)
    data = {name: np.full(shape, 2, dtype=dtype) for name, dtype, shape in sensor["arrays"]}
    for k in (1, 2):
        ring.write(12_340_000 * k, data)
    own.publish(client)
    ring.close()
    assert client.asked == 1
    assert {writer.kind.rpartition("/")[2] for writer in node.writers.values()} == kinds
    children = {child for _, child in frames.static}
    for writer in node.writers.values():
        first, second = writer.sent
        assert (first.header.stamp.sec, first.header.stamp.nanosec) == (12, 340_000_000)
        assert second.header.stamp.sec == 24
        assert first.header.frame_id in children
        if writer.kind.endswith("Image"):
            assert len(first.data) == first.step * first.height
        if writer.kind.endswith("CameraInfo"):
            assert first.k[0] > 100.0
        if writer.kind.endswith("LaserScan"):
            assert (first.ranges == 2.0).all()
