"""Frames to other processes: the ring in shared memory, ROS messages, and the node."""

import errno
import math
import os
import subprocess
import sys

import numpy as np
import pytest

from drawing import described, draws
from ros_fixtures import ROOT, needs_ros, ros  # noqa: F401
from sensor_models import ros_messages as camera_messages
from sensor_models.cameras import cameras_of
from xtdrone_core import ControlError
from xtdrone_core.runs import frame_ring
from xtdrone_core.runs.frame_ring import FrameReader, FrameWriter
from xtdrone_sim.vehicles.sdf import load_vehicle

ARRAYS = [["image", "|u1", [3, 5]], ["depth", "<f4", [2, 2]]]


def frame(k):
    return {"image": np.full((3, 5), k, dtype=np.uint8), "depth": np.full((2, 2), 0.5 * k)}


@pytest.fixture
def ring(tmp_path):
    writer = FrameWriter(tmp_path / "ring", ARRAYS)
    yield writer
    writer.close()


def test_ring_hands_on_every_frame_in_order(ring):
    ring.write(1, frame(1))
    reader = FrameReader(ring.path, ARRAYS)
    assert reader.read() == []
    for k in range(2, 40):
        ring.write(10 * k, frame(k))
        if k % 5 == 0:
            frames = reader.read()
            assert [t for t, _ in frames] == [10 * j for j in range(max(2, k - 4), k + 1)]
            for t, data in frames:
                assert (data["image"] == t // 10).all() and (data["depth"] == 0.05 * t).all()
    assert reader.lost == 0


def test_slow_reader_loses_the_oldest_and_knows_it(ring):
    reader = FrameReader(ring.path, ARRAYS)
    for k in range(1, 21):
        ring.write(k, frame(k))
    assert [t for t, _ in reader.read()] == list(range(21 - frame_ring.SLOTS + 1, 21))
    assert reader.lost == 20 - frame_ring.SLOTS + 1
    assert reader.read() == []


def test_a_ring_of_more_slots_keeps_more(tmp_path):
    writer = FrameWriter(tmp_path / "long", ARRAYS, slots=50)
    reader = FrameReader(writer.path, ARRAYS)
    for k in range(1, 61):
        writer.write(k, frame(k))
    assert [t for t, _ in reader.read()] == list(range(12, 61))
    assert reader.lost == 11
    writer.close()


def test_reader_of_another_layout_is_refused(ring):
    with pytest.raises(ControlError, match="same version"):
        FrameReader(ring.path, [["image", "|u1", [300, 500]]])
    with pytest.raises(ControlError, match="cannot open"):
        FrameReader(ring.path.with_name("no_ring"), ARRAYS)


def test_rings_of_dead_processes_are_swept():
    child = subprocess.Popen([sys.executable, "-c", ""])
    child.wait()
    dead, alive = (frame_ring.path_of(pid, 0, "test_sweep") for pid in (child.pid, os.getpid()))
    writers = [FrameWriter(path, ARRAYS) for path in (dead, alive)]
    try:
        frame_ring.sweep()
        assert not dead.exists() and alive.exists()
    finally:
        for writer in writers:
            writer.close()


def test_files_that_are_in_the_way_do_not_stop_cameras(monkeypatch, tmp_path):
    monkeypatch.setattr(frame_ring, "folder", lambda: tmp_path)
    names = [
        "xtdrone-",
        "xtdrone-x-0",
        "xtdrone-99999999999999999999-0",
        "xtdrone-\u0663-0",
        f"xtdrone-{os.getpid()}-0-camera",
    ]
    for name in names:
        (tmp_path / name).write_text("not ours")
    (tmp_path / "xtdrone-999999999-0-folder").mkdir()  # no process has this number
    frame_ring.sweep()
    path = frame_ring.path_of(os.getpid(), 0, "camera")
    writers = [FrameWriter(path, ARRAYS) for _ in range(2)]
    readers = [FrameReader(writer.path, ARRAYS) for writer in writers]
    for k, writer in enumerate(writers, start=1):
        writer.write(k, frame(k))
    assert [reader.read()[0][0] for reader in readers] == [1, 2]
    for writer in writers:
        writer.close()
    assert all((tmp_path / name).read_text() == "not ours" for name in names)


def test_no_room_for_images_is_said_in_one_line(monkeypatch, tmp_path):
    def full(handle, begin, length):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "posix_fallocate", full)
    with pytest.raises(
        ControlError,
        match=r"no room for images in .* \(0.0 MiB\): No space left "
        r"on device; make room there, give a container more \(--shm-size\)",
    ):
        FrameWriter(tmp_path / "ring", ARRAYS)
    assert not list(tmp_path.iterdir())


@draws
@pytest.mark.parametrize(
    "vehicle,topics",
    [
        (
            "iris_stereo",
            {
                "/v_0/stereo_camera/left/image_raw",
                "/v_0/stereo_camera/left/camera_info",
                "/v_0/stereo_camera/right/image_raw",
                "/v_0/stereo_camera/right/camera_info",
            },
        ),
        (
            "iris_depth",
            {
                "/v_0/depth_camera/rgb/image_raw",
                "/v_0/depth_camera/rgb/camera_info",
                "/v_0/depth_camera/depth/image_raw",
                "/v_0/depth_camera/depth/camera_info",
                "/v_0/depth_camera/depth/points",
            },
        ),
        ("iris_2d_lidar", {"/v_0/scan"}),
        ("iris_3d_lidar", {"/v_0/velodyne_points"}),
    ],
)
def test_messages_of_every_kind(vehicle, topics):
    (sensor,) = described(vehicle)
    data = {name: np.ones(shape, dtype=dtype) for name, dtype, shape in sensor["arrays"]}
    sent = {
        topic: (kind, fields)
        for topic, kind, fields in camera_messages.messages(sensor, 12_340_000, data)
    }
    assert set(sent) == topics == {topic for topic, _ in camera_messages.topics(sensor)}
    assert dict(camera_messages.topics(sensor)) == {t: kind for t, (kind, _) in sent.items()}
    frames = {t["child_frame_id"] for t in camera_messages.transforms([sensor])}
    for _kind, fields in sent.values():
        assert fields["header"]["stamp"] == {"secs": 12, "nsecs": 340_000_000}
        assert fields["header"]["frame_id"] in frames
        if "step" in fields:
            assert len(fields["data"]) == fields["step"] * fields["height"]
        if "row_step" in fields:
            assert len(fields["data"]) == fields["row_step"] * fields["height"]
    assert camera_messages.messages(sensor, 0, data, lambda topic: False) == []


def test_a_cloud_is_stamped_by_point_as_velodynes_driver_does():
    (sensor,) = described("iris_3d_lidar")
    sensor["parameters"][0]["sweep"] = 0.1
    ranges = np.full((16, 1800), 2.0, dtype=np.float32)
    ranges[3, 0] = np.inf
    ((_, _, cloud),) = camera_messages.messages(sensor, 12_340_000, {"ranges": ranges})
    assert [(field["name"], field["offset"], field["datatype"]) for field in cloud["fields"]] == [
        ("x", 0, 7), ("y", 4, 7), ("z", 8, 7), ("intensity", 12, 7), ("ring", 16, 4),
        ("time", 18, 7),
    ]  # fmt: skip
    assert cloud["header"]["stamp"] == {"secs": 12, "nsecs": 240_000_000}  # of the first column
    kinds = {7: "<f4", 4: "<u2"}
    point = np.dtype(
        {
            "names": [field["name"] for field in cloud["fields"]],
            "formats": [kinds[field["datatype"]] for field in cloud["fields"]],
            "offsets": [field["offset"] for field in cloud["fields"]],
            "itemsize": cloud["point_step"],
        }
    )
    points = np.frombuffer(cloud["data"], dtype=point).reshape(16, 1800)
    assert points["ring"][:, 7].tolist() == list(range(16)) and not cloud["is_dense"]
    np.testing.assert_allclose(points["time"][5], 0.1 * np.arange(1800) / 1800, atol=1e-7)
    np.testing.assert_allclose(points["z"][15], 2.0 * np.sin(np.radians(15.0)), atol=1e-5)
    assert np.isnan(points["x"][3, 0]) and points["x"][2, 0] < -1.8


def test_a_scan_in_a_plane_has_the_time_between_its_rays():
    (sensor,) = described("iris_2d_lidar")
    sensor["parameters"][0]["sweep"] = 0.03
    ranges = np.ones((1, 1081), dtype=np.float32)
    ((_, _, scan),) = camera_messages.messages(sensor, 12_340_000, {"ranges": ranges})
    assert scan["time_increment"] == pytest.approx(0.03 / 1081) and scan["scan_time"] == 0.04
    assert scan["header"]["stamp"] == {"secs": 12, "nsecs": 310_000_000}


@draws
def test_camera_info_tells_the_baseline():
    (sensor,) = described("iris_stereo")
    infos = {
        topic: fields
        for topic, kind, fields in camera_messages.messages(
            sensor, 0, {n: np.zeros(s, dtype=d) for n, d, s in sensor["arrays"]}
        )
        if kind == "sensor_msgs/CameraInfo"
    }
    left, right = (
        infos[f"/v_0/stereo_camera/{side}/camera_info"]["P"] for side in ("left", "right")
    )
    camera = cameras_of(next(b for b in load_vehicle("iris_stereo").sensors if b.kind == "camera"))[
        1
    ]
    assert left[3] == 0.0 and right[3] == pytest.approx(-0.12 * camera.fx)


@draws
def test_cloud_of_a_depth_image_has_its_points():
    (sensor,) = described("iris_depth")
    depth = np.full((360, 480), 2.0, dtype=np.float32)
    depth[0, 0] = math.inf
    cloud = next(
        fields
        for topic, _, fields in camera_messages.messages(
            sensor, 0, {"depth": depth, "image": np.zeros((360, 480, 3), np.uint8)}
        )
        if topic.endswith("points")
    )
    points = np.frombuffer(cloud["data"], dtype="<f4").reshape(360, 480, 3)
    fx = sensor["parameters"][0]["fx"]
    assert np.isnan(points[0, 0]).all() and not cloud["is_dense"]
    np.testing.assert_allclose(points[359, 479], (2 * 239.5 / fx, 2 * 179.5 / fx, 2), rtol=1e-6)


LISTENER = """
import sys, rospy
from sensor_msgs.msg import CameraInfo, Image
rospy.init_node("listener", anonymous=True, disable_rostime=True)
for topic, kind in (("left/image_raw", Image), ("right/image_raw", Image),
                    ("right/camera_info", CameraInfo)):
    stamps = [rospy.wait_for_message("/iris_stereo_0/stereo_camera/" + topic, kind, timeout=150)
              for _ in range(2)]
    message = stamps[-1]
    stamp = message.header.stamp
    print(topic, message.width, message.height, (stamp.secs * 10**9 + stamp.nsecs) % 80_000_000,
          getattr(message, "encoding", ""), len(getattr(message, "data", "")))
"""


@pytest.mark.long
@draws
@needs_ros
def test_node_publishes_a_stereo_pair(ros):  # noqa: F811
    ros.start(
        sys.executable,
        "-m",
        "xtdrone_core.command",
        "sim",
        "--vehicle",
        "iris_stereo",
        "--no_run_folder",
    )
    node = ros.start(ROOT / "src" / "xtdrone_sim" / "nodes" / "cameras")
    heard = ros.run(sys.executable, "-c", LISTENER)
    assert heard.returncode == 0, heard.stderr + ros.stop(node)
    assert heard.stdout.splitlines() == [
        "left/image_raw 752 480 0 mono8 360960",
        "right/image_raw 752 480 0 mono8 360960",
        "right/camera_info 752 480 0  0",
    ]


@pytest.mark.slow
@needs_ros
def test_node_without_a_simulation_says_so(ros):  # noqa: F811
    done = ros.run(ROOT / "src" / "xtdrone_sim" / "nodes" / "cameras", "--wait", "0.2")
    assert done.returncode == 1 and done.stderr.count("\n") == 1
    assert "no simulation answers" in done.stderr
