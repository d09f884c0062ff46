"""The nodes `detect` and `markers`: what they make of messages, and a landing by ROS alone."""

import dataclasses
import json
import sys
import threading
from io import BytesIO

import numpy as np
import pytest

pytest.importorskip("rospy")
pytest.importorskip("cv2")

from sensor_msgs.msg import CameraInfo, Image

from ros_fixtures import ROOT, Processes, environment, free_port, ros  # noqa: F401
from sensor_models.cameras import CameraParameters
from waiting import until
from xtdrone_core import XtdroneError
from xtdrone_perception.detection.found import Detections
from xtdrone_perception.errors import PerceptionError
from xtdrone_perception.markers import picture
from xtdrone_perception.ros import images, markers
from xtdrone_perception.ros.messages import (
    MarkerFinder,
    boxes,
    darknet_boxes,
    marker_frames,
    places,
)
from xtdrone_ros1.messages import fill, md5sum, ros_class

NODES = ROOT / "src" / "xtdrone_perception" / "nodes"
PAD = "tag36h11:0,1,2:0.8"
FRAME = "iris_0/camera_optical"


def image(array, encoding="mono8", t_us=0, pad=0):
    """A sensor_msgs/Image whose rows end with `pad` bytes."""
    height, width = array.shape[:2]
    rows = np.pad(array.reshape(height, -1), ((0, 0), (0, pad)))
    header = {
        "stamp": {"secs": t_us // 1_000_000, "nsecs": t_us % 1_000_000 * 1000},
        "frame_id": FRAME,
    }
    fields = {"height": height, "width": width, "encoding": encoding, "step": rows.shape[1]}
    return fill(Image(), {"header": header, "data": rows.tobytes(), **fields})


def sent(kind, fields):
    """A message of these fields after it has travelled as bytes."""
    data = BytesIO()
    fill(ros_class(kind)(), fields).serialize(data)
    return ros_class(kind)().deserialize(data.getvalue())


@pytest.mark.parametrize(
    "kind, md5",
    [
        ("Detection2DArray", "402071f61477de256df9f1aa45e6e4c8"),
        ("Detection3DArray", "05c51d9aea1fb4cfdc8effb94f197b6f"),
    ],
)
def test_messages_are_those_of_noetic(kind, md5):
    assert md5sum(ros_class(f"vision_msgs/{kind}")) == md5


def test_a_slow_detector_sees_the_newest_image_alone():
    begun, go, seen = threading.Event(), threading.Event(), []

    def use(message):
        seen.append(message.header.stamp.nsecs)
        begun.set()
        assert go.wait(60.0)

    newest = images.Newest(use)
    pixel = np.zeros((1, 1), np.uint8)
    newest.put(image(pixel, t_us=0))
    assert begun.wait(60.0)
    begun.clear()
    for k in range(1, 5):
        newest.put(image(pixel, t_us=k))
    go.set()
    assert begun.wait(60.0)
    newest.close()
    assert (seen, newest.used, newest.left_out) == ([0, 4000], 2, 3)


def test_a_rate_counts_by_stamps_and_time_may_begin_anew():
    seen = []
    newest = images.Newest(lambda message: seen.append(message.header.stamp.nsecs), rate=10.0)
    pixel = np.zeros((1, 1), np.uint8)
    times_ms = (0, 99, 100, 150, 200, 5)
    for k, t_ms in enumerate(times_ms):
        newest.put(image(pixel, t_us=1000 * t_ms))
        until(lambda: len(seen) + newest.left_out == k + 1, "the image is used or left out")
    newest.close()
    assert [t_ns // 1_000_000 for t_ns in seen] == [0, 100, 200, 5]
    with pytest.raises(PerceptionError, match="rate of -1 Hz"):
        images.Newest(print, -1.0)


def test_an_error_ends_the_node_with_its_line():
    def use(message):
        raise PerceptionError("no")

    newest = images.Newest(use)
    newest.put(image(np.zeros((1, 1), np.uint8)))
    until(lambda: newest.error, "it failed")
    newest.close()
    assert isinstance(newest.error, XtdroneError)


RGB = np.arange(24, dtype=np.uint8).reshape(2, 4, 3)
ALPHA = np.full((2, 4, 1), 255, np.uint8)


@pytest.mark.parametrize(
    "encoding, array, wanted",
    [
        ("rgb8", RGB, RGB),
        ("bgr8", RGB[..., ::-1], RGB),
        ("rgba8", np.concatenate([RGB, ALPHA], axis=2), RGB),
        ("bgra8", np.concatenate([RGB[..., ::-1], ALPHA], axis=2), RGB),
        ("mono8", RGB[..., 0], RGB[..., 0]),
    ],
)
@pytest.mark.parametrize("pad", [0, 5])
def test_images_of_each_encoding(encoding, array, wanted, pad):
    assert np.array_equal(images.pixels(image(array, encoding, pad=pad)), wanted)


def test_images_that_make_no_sense_are_refused():
    with pytest.raises(PerceptionError, match="encoding '16UC1'"):
        images.pixels(image(RGB, "16UC1"))
    short = image(RGB, "rgb8")
    short.data = short.data[:-1]
    with pytest.raises(PerceptionError, match="makes no sense"):
        images.pixels(short)
    with pytest.raises(PerceptionError, match="makes no sense"):
        images.pixels(image(RGB, "rgba8"))


def info(camera, model="plumb_bob", d=()):
    k = np.array(camera.camera_matrix).ravel().tolist()
    fields = {"width": camera.width, "height": camera.height, "K": k, "D": list(d)}
    return fill(CameraInfo(), {"distortion_model": model, **fields})


def test_camera_info_becomes_a_camera():
    camera = CameraParameters.pinhole(320, 240, 1.2)
    found = images.camera_of(info(camera, d=(0.1, -0.2, 0.001, 0.002, 0.3)))
    assert found.camera_matrix == camera.camera_matrix
    assert found.distortion == (0.1, -0.2, 0.001, 0.002, 0.3)
    assert images.camera_of(info(camera, "equidistant", (0.1, 0, 0, 0.2))).is_fisheye
    assert images.camera_of(info(camera, "")).distortion == (0, 0, 0, 0, 0)
    for model, d in (("rational_polynomial", [0.1] * 8), ("thin_prism", [])):
        with pytest.raises(PerceptionError, match="distortion_model"):
            images.camera_of(info(camera, model, d))
    with pytest.raises(PerceptionError, match="no focal length"):
        images.camera_of(CameraInfo())


def test_boxes_become_detections():
    found = Detections(np.array([[50.0, 25, 150, 75], [0, 0, 2, 1]]), np.array([0.8, 0.5]),
                       np.array([1, 0]))  # fmt: skip
    header = images.header(image(RGB, "rgb8", t_us=2_500_000))
    message = sent("vision_msgs/Detection2DArray", boxes(header, found))
    first, second = message.detections
    assert message.header.frame_id == first.header.frame_id == FRAME
    assert (first.header.stamp.secs, first.header.stamp.nsecs) == (2, 500_000_000)
    assert [(each.id, each.score) for each in first.results] == [(1, 0.8)]
    assert (first.bbox.center.x, first.bbox.center.y) == (100.0, 50.0)
    assert (first.bbox.size_x, first.bbox.size_y) == (100.0, 50.0)
    assert second.results[0].id == 0


def test_boxes_are_those_of_darknet_ros_too():
    """XTDrone's yolo_human_tracking.py looks for boxes of id 0, people, and their edges."""
    pytest.importorskip("darknet_ros_msgs", reason="its messages are made by `make setup`")
    found = Detections(np.array([[50.4, 25, 150, 75.6]]), np.array([0.8]), np.array([0]))
    header = images.header(image(RGB, "rgb8", t_us=2_500_000))
    message = sent("darknet_ros_msgs/BoundingBoxes", darknet_boxes(header, found, ("person",)))
    (box,) = message.bounding_boxes
    assert (box.xmin, box.ymin, box.xmax, box.ymax) == (50, 25, 150, 76)
    assert (box.id, box.Class, box.probability) == (0, "person", 0.8)
    assert message.image_header.frame_id == FRAME


def test_places_are_frames_too_as_of_apriltag_ros():
    finder = MarkerFinder([picture.nested_of(PAD)])
    finder.camera = CameraParameters.pinhole(480, 480, 1.4)
    pixels = np.pad(picture.draw(picture.nested_of(PAD), 300), 90, constant_values=255)
    told = places(images.header(image(pixels)), finder(pixels))
    assert marker_frames(told, {5: "tag_5"}) == {"transforms": []}
    (row,) = sent("tf2_msgs/TFMessage", marker_frames(told, {0: "tag_0"})).transforms
    assert (row.header.frame_id, row.child_frame_id) == (FRAME, "tag_0")
    assert row.transform.translation.z == pytest.approx(0.8 * finder.camera.fx / 240.0, abs=0.05)
    assert row.transform.rotation.w != 0.0


# A vehicle at (1, 2, 5) that looks to the north, with a camera 0.1 m ahead of and 0.2 m below its
# middle that looks down; the top of its images is ahead.
POS, QUAT = (1.0, 2.0, 5.0), (0.0, 0.0, np.sin(np.pi / 4), np.cos(np.pi / 4))
MOUNT, DOWN = (0.1, 0.0, -0.2), (np.sqrt(0.5), -np.sqrt(0.5), 0.0, 0.0)
HEIGHT = POS[2] + MOUNT[2]


def scene():
    """The image (480, 640) of a pad 0.5 m ahead and 1 m to the right of the camera."""
    camera = CameraParameters.pinhole(640, 480, 1.4)
    pad = picture.nested_of(PAD)
    side = round(camera.fx * picture.board_size(pad[0]) / HEIGHT)
    out = np.full((480, 640), 200, np.uint8)
    centre = np.array([camera.cx + camera.fx / HEIGHT, camera.cy - 0.5 * camera.fx / HEIGHT])
    left, top = np.rint(centre - (side - 1) / 2).astype(int)
    out[top : top + side, left : left + side] = picture.draw(pad, side)
    return camera, out


def stamped(t_us, pos, quat):
    return fill(
        ros_class("geometry_msgs/PoseStamped")(),
        {
            "header": {"stamp": {"secs": t_us // 1_000_000, "nsecs": t_us % 1_000_000 * 1000}},
            "pose": {
                "position": dict(zip("xyz", pos)),
                "orientation": dict(zip("xyzw", map(float, quat))),
            },
        },
    )


def static(parent, child, pos, quat):
    transform = {
        "translation": dict(zip("xyz", pos)),
        "rotation": dict(zip("xyzw", map(float, quat))),
    }
    row = {"header": {"frame_id": parent}, "child_frame_id": child, "transform": transform}
    return fill(ros_class("tf2_msgs/TFMessage")(), {"transforms": [row]})


def test_a_marker_becomes_a_pose_and_a_landing_target():
    camera, array = scene()
    finder = MarkerFinder([picture.nested_of(PAD)])
    assert finder(array) == []  # the camera is not known yet
    finder.camera = images.camera_of(info(camera))
    ((marker, found),) = finder(array)
    header = images.header(image(array, t_us=11_050_000))
    (place,) = sent("vision_msgs/Detection3DArray", places(header, [(marker, found)])).detections
    result = place.results[0]
    optical = result.pose.pose.position
    assert (result.id, place.bbox.size.x) == (0, 0.8)
    assert np.allclose((optical.x, optical.y, optical.z), (1.0, -0.5, HEIGHT), atol=0.07)
    covariance = np.reshape(result.pose.covariance, (6, 6))
    assert np.allclose(covariance, covariance.T) and (np.linalg.eigvalsh(covariance) > 0).all()
    assert covariance[2, 2] > 4 * covariance[0, 0]  # distance is what a camera knows least

    targets = []
    target = markers.LandingTarget(targets.append)
    seen = (11_050_000, FRAME, finder.camera, found)
    assert not target.seen(*seen)  # neither the camera's place nor the vehicle's pose
    assert "no base_link above 'iris_0/camera_optical'" in target.missing(FRAME)
    target.frames.add(static("iris_0/base_link", "iris_0/arm", MOUNT, (0, 0, 0, 1)))
    target.frames.add(static("iris_0/arm", FRAME, (0, 0, 0), DOWN))
    assert "no local_position/pose" in target.missing(FRAME)
    target.vehicle_pose(stamped(11_000_000, (0.0, *POS[1:]), QUAT))
    # Half of the way is flown at the exposure.
    target.vehicle_pose(stamped(11_100_000, (2.0, *POS[1:]), QUAT))
    assert target.seen(*seen) and not target.missing(FRAME)
    place = targets[0]["pose"]["position"]
    # Ahead is north; to the right is east.
    assert np.allclose((place["x"], place["y"], place["z"]), (2.0, 2.6, 0.0), atol=0.07)
    assert targets[0]["header"]["stamp"] == {"secs": 11, "nsecs": 50_000_000}
    assert not target.seen(*seen)  # the same time again
    far = dataclasses.replace(found, pos=found.pos + [0.0, 0.0, 9.0])
    assert not target.seen(11_090_000, FRAME, finder.camera, far)
    assert not target.seen(19_000_000, FRAME, finder.camera, found)  # no pose for so long
    target.vehicle_pose(stamped(10_000, POS, QUAT))  # another flight
    assert target.seen(10_000, FRAME, finder.camera, found)
    assert len(targets) == 2


@pytest.mark.long
def test_wrong_options_end_a_node_with_one_line(ros, tmp_path):  # noqa: F811
    for node, words, said in (
        ("markers", ["--marker", "tag36h12:0:0.8"], "did you mean"),
        ("markers", ["--rate", "-1"], "a rate of -1 Hz"),
        ("detect", ["--detector", tmp_path / "none.onnx"], "no detector"),
    ):
        done = ros.run(NODES / node, "--image", "/a/image_raw", *words)
        assert done.returncode == 1 and done.stderr.startswith(f"{node}: ")
        assert said in done.stderr and done.stderr.count("\n") == 1, done.stderr


@pytest.mark.long
def test_a_vehicle_lands_on_the_pad_by_ros_alone(tmp_path):
    pytest.importorskip("onnx")
    pytest.importorskip("onnxruntime")
    from constant_network import save

    box = np.array([[(16, 24, 48, 40, 0.8, 1), (1, 1, 2, 2, 0.01, 0)]], dtype=np.float32)
    detector = save(tmp_path / "net.onnx", {"output0": box})
    processes = Processes(environment(free_port(), tmp_path))
    try:
        port = processes.env["ROS_MASTER_URI"].rsplit(":", 1)[1]
        running = processes.start(
            "roslaunch", "-p", port, ROOT / "launch" / "landing.launch", f"detector:={detector}"
        )
        processes.await_vehicles(running)
        user = ROOT / "tests" / "support" / "landing_user.py"
        done = processes.run(sys.executable, user)
        said = processes.stop(running)
    finally:
        processes.close()
    assert done.returncode == 0, done.stderr[-2000:] + said[-3000:]
    report = json.loads(done.stdout.splitlines()[-1])
    assert report["away"] < 0.25 and report["markers"] > 20 and report["targets"] > 20
    assert report["boxes"] > 20 and report["classes"] == ["person", "car"]
    assert "Traceback" not in said, said
