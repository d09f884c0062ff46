"""Objects and markers in images of ROS 2, as messages of ROS 2's vision_msgs."""

import threading

import numpy as np
import pytest

pytest.importorskip("cyclonedds", reason="DDS is an extra: pip install 'xtdrone[ros2]'")
pytest.importorskip("cv2", reason="markers need OpenCV")

from xtdrone_core.command import main
from xtdrone_core.runs.ports import Ports
from xtdrone_perception.detection.found import Detections
from xtdrone_perception.errors import PerceptionError
from xtdrone_perception.markers import picture
from xtdrone_perception.ros.messages import MarkerFinder, boxes, of_ros2
from xtdrone_perception.ros.ros2 import Markers, Objects, Topics, serve
from xtdrone_ros2.wire.node import Node
from xtdrone_ros2.wire.quality import SENSOR
from xtdrone_ros2.wire.types import Types

DOMAIN = 66 + Ports().instance
TOPICS = Topics("/a/image_raw", "/a/camera_info", "/a/out")
HEADER = {"stamp": {"secs": 3, "nsecs": 4}, "frame_id": "a/camera_optical"}
PAD = "tag36h11:0,1,2:0.8"


class Detector:
    """Finds a car everywhere."""

    names = ("person", "car")

    def __call__(self, image):
        height, width = image.shape[:2]
        box = np.array([[0.0, 0.0, width / 2, height / 4]])
        return Detections(box, np.array([0.75]), np.array([1]))


@pytest.fixture
def node():
    made = Node(Types(), "/perception", DOMAIN)
    yield made
    made.close()


def served(node, finding, messages):
    """What is published for messages (topic, kind, fields), the last of which repeats."""
    got, done, said = [], threading.Event(), []
    node.reader(TOPICS.out, finding.kind, got.append)
    writers = {topic: node.writer(topic, kind, SENSOR) for topic, kind, _ in messages}

    def ended():
        for topic, kind, fields in messages if all(w.wanted for w in writers.values()) else ():
            writers[topic].write(node.types.serialised(node.types.message(kind, **fields)))
        return bool(got) or done.is_set()

    serve(node, TOPICS, finding, 0.0, said.append, ended)
    assert "images" in said[-1]
    return node.types.read(got[0], finding.kind)


def image(pixels):
    height, width = pixels.shape
    return (
        TOPICS.image,
        "sensor_msgs/msg/Image",
        {"header": HEADER, "height": height, "width": width, "encoding": "mono8", "step": width,
         "data": pixels.tobytes()},
    )  # fmt: skip


def test_objects_of_an_image_are_published(node):
    message = served(node, Objects(Detector()), [image(np.zeros((40, 80), np.uint8))])
    assert (message.header.stamp.sec, message.header.frame_id) == (3, "a/camera_optical")
    (row,) = message.detections
    assert row.results[0].hypothesis.class_id == "car"
    assert row.results[0].hypothesis.score == 0.75
    assert (row.bbox.center.position.x, row.bbox.size_x, row.bbox.size_y) == (20.0, 40.0, 10.0)


def test_places_with_markers_are_published(node):
    pixels = np.pad(picture.draw(picture.nested_of(PAD), 300), 90, constant_values=255)
    side = len(pixels)
    info = {"width": side, "height": side, "k": [500.0, 0, side / 2, 0, 500.0, side / 2, 0, 0, 1]}
    finding = Markers(MarkerFinder([picture.nested_of(PAD)]))
    camera = (TOPICS.camera_info, "sensor_msgs/msg/CameraInfo", {"header": HEADER} | info)
    seen = [camera, image(pixels)]
    message = served(node, finding, seen)
    while not message.detections:  # an image came before the camera
        message = served(node, finding, seen)
    (row,) = message.detections
    assert row.results[0].hypothesis.class_id == "0"
    assert row.results[0].pose.pose.position.z == pytest.approx(5.0 / 3.0, abs=0.05)
    assert np.trace(np.reshape(row.results[0].pose.covariance, (6, 6))) > 0.0


def test_an_image_that_cannot_be_used_ends_it_with_a_line(node):
    bad = (TOPICS.image, "sensor_msgs/msg/Image", image(np.zeros((4, 4), np.uint8))[2] | {
        "encoding": "16UC1"})  # fmt: skip
    with pytest.raises(PerceptionError, match="encoding '16UC1'"):
        served(node, Objects(Detector()), [bad])


def test_rows_are_those_of_ros1_with_names_in_place_of_numbers():
    found = Detections(np.array([[0.0, 0.0, 4.0, 2.0]]), np.array([0.5]), np.array([7]))
    (row,) = of_ros2(boxes(HEADER, found), ("person",))["detections"]
    assert row["results"] == [{"hypothesis": {"class_id": "7", "score": 0.5}}]
    assert row["bbox"] == {"center": {"position": {"x": 2.0, "y": 1.0}}, "size_x": 4.0,
                           "size_y": 2.0}  # fmt: skip


@pytest.mark.parametrize(
    "arguments, said",
    [
        (["--marker", "tag99:1:0.5"], "tag99"),
        (["--detector", "none.onnx"], "NAME.onnx"),
        (["--domain", "999"], "give 0 to"),
    ],
)
def test_the_command_says_what_is_wrong(tmp_path, monkeypatch, capsys, arguments, said):
    pytest.importorskip("onnxruntime")
    monkeypatch.chdir(tmp_path)
    assert main(["perception", "ros2", "--image", "/a/image_raw", *arguments]) == 1
    error = capsys.readouterr().err
    assert said in error and error.count("\n") == 1
