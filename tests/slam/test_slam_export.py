"""Exports and bags, read by rosbags, evo and Basalt as they are."""

import json
import os
import shutil
import signal
import subprocess
import sys
import zlib

import numpy as np
import pytest

cv2 = pytest.importorskip("cv2")
pytest.importorskip("rosbags")

from evo.tools import file_interface
from rosbags.highlevel import AnyReader
from scipy.spatial.transform import Rotation

from slam_wall import stereo, wall
from xtdrone_core import command
from xtdrone_slam import SlamError
from xtdrone_slam.datasets.bag import BagWriter
from xtdrone_slam.datasets.dataset import Dataset, DatasetWriter
from xtdrone_slam.datasets.export import FORMATS, export

PAIRS = 5


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    """A short recording with depth, whose body also turns."""
    folder = tmp_path_factory.mktemp("data")
    writer = DatasetWriter(folder, stereo())
    for i in range(20 * PAIRS):
        t_us = 4000 * (i + 1)
        quat = Rotation.from_euler("z", 0.01 * i).as_quat()
        writer.truth(t_us, (0.01 * i, 0.5, 1.0), quat, (2.5, 0, 0))
        writer.imu(t_us, (0.0, 0.0, 2.5), (0.1, 0.0, 9.81))
        if i % 20 == 19:
            depth = np.full((240, 320), 2.5, np.float32)
            depth[0, 0] = np.inf
            writer.depth(t_us, depth)
            writer.images(t_us, *wall((0.01 * i, 0.0, 0.0)))
    writer.close()
    return Dataset(folder)


def check_bag(path, data, pairs=PAIRS, readings=20 * PAIRS):
    with AnyReader([path]) as reader:
        counts = {topic: info.msgcount for topic, info in reader.topics.items()}
        assert counts == {
            **dict.fromkeys(
                [f"/cam{i}/{name}" for i in (0, 1) for name in ("image_raw", "camera_info")], pairs
            ),
            "/imu0": readings,
            "/groundtruth/pose": readings,
        }
        seen = 0
        for connection, stamp, raw in reader.messages():
            message = reader.deserialize(raw, connection.msgtype)
            time = message.header.stamp
            assert time.sec * 10**9 + time.nanosec == stamp
            if connection.topic == "/cam1/image_raw":
                image = message.data.reshape(message.height, message.width)
                assert np.array_equal(image, data.pair(seen)[1])
                seen += 1
            elif connection.topic == "/cam1/camera_info":
                assert message.P[3] == pytest.approx(-200.0 * 0.12, rel=1e-3)  # -f times baseline
            elif connection.topic == "/imu0":
                assert message.linear_acceleration.z == pytest.approx(9.81)
        assert seen == pairs


def test_bag_is_read_by_rosbags_and_evo(data, tmp_path):
    path = export(data, "rosbag", tmp_path / "flight.bag")
    check_bag(path, data)
    from rosbags.rosbag1 import Reader

    with Reader(path) as bag:
        trajectory = file_interface.read_bag_trajectory(bag, "/groundtruth/pose")
    assert np.allclose(trajectory.positions_xyz, data.truth()[:, 1:4])


_RECORD = """
import sys, time; sys.path[:0] = {paths!r}
import numpy as np
from slam_wall import stereo
from xtdrone_slam.datasets.bag import BagWriter
bag = BagWriter({path!r}, stereo())
image = np.random.default_rng(1).integers(0, 255, (240, 320), dtype=np.uint8)
for i in range(1, 876):
    bag.imu(4000 * i, (0, 0, 0), (0, 0, 9.81))
    if i % 20 == 0:
        bag.images(4000 * i, image, image)
print("written", flush=True)
time.sleep(60)
"""


def test_bag_opens_after_a_kill(tmp_path):
    paths = sys.path
    path = tmp_path / "flight.bag"
    process = subprocess.Popen(
        [sys.executable, "-c", _RECORD.format(paths=paths, path=str(path))],
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout.readline() == "written\n"
    process.send_signal(signal.SIGKILL)
    process.wait()
    with AnyReader([path]) as reader:
        stamps = [stamp for _, stamp, _ in reader.messages()]
        images = reader.topics["/cam0/image_raw"].msgcount
    assert max(stamps) >= 3 * 10**9  # of the 3.5 s, all but the last one
    assert images >= 36


def test_bag_opens_whenever_the_kill_comes(tmp_path):
    """Images so large that chunks are written all the time, and a look after each pair."""
    image = np.zeros((480, 752), np.uint8)
    bag = BagWriter(tmp_path / "flight.bag", stereo())
    for i in range(30):
        bag.images(80_000 * i, image, image)
        shutil.copyfile(tmp_path / "flight.bag", tmp_path / "left.bag")  # what a kill leaves
        with AnyReader([tmp_path / "left.bag"]) as reader:
            assert reader.topics["/cam0/image_raw"].msgcount >= i - 12
    bag.close()
    with AnyReader([tmp_path / "flight.bag"]) as reader:
        assert [connection.topic for connection, *_ in reader.messages()].count(
            "/cam0/image_raw"
        ) == 30


def test_tum_folder_is_read_by_evo(data, tmp_path):
    folder = export(data, "tum", tmp_path / "tum")
    truth = file_interface.read_tum_trajectory_file(folder / "groundtruth.txt")
    left = data.calibration.left.pose
    first = truth.poses_se3[0]
    assert np.allclose(first[:3, 3], [0.0 + left[0, 3], 0.5 + left[1, 3], 1.0 + left[2, 3]])
    assert np.allclose(first[:3, 2], [1, 0, 0], atol=1e-6)  # the camera looks ahead
    rows = [line.split() for line in (folder / "rgb.txt").read_text().splitlines()[1:]]
    assert len(rows) == PAIRS
    assert all(
        np.array_equal(cv2.imread(str(folder / name), cv2.IMREAD_GRAYSCALE), data.pair(i)[0])
        for i, (_, name) in enumerate(rows)
    )
    depth = cv2.imread(str(folder / "depth" / f"{rows[0][0]}.png"), cv2.IMREAD_UNCHANGED)
    assert depth.dtype == np.uint16 and depth[5, 5] == 12500 and depth[0, 0] == 0
    assert data.depth(0)[5, 5] == pytest.approx(2.5)


def test_kitti_folder_is_read_by_evo(data, tmp_path):
    folder = export(data, "kitti", tmp_path / "kitti")
    poses = file_interface.read_kitti_poses_file(folder / "poses" / "00.txt").poses_se3
    assert len(poses) == PAIRS and np.allclose(poses[0], np.eye(4))
    turn = Rotation.from_matrix(poses[-1][:3, :3]).as_rotvec()
    assert np.allclose(turn, [0, -0.01 * 20 * (PAIRS - 1), 0], atol=1e-6)  # yaw is about -y there
    lines = (folder / "sequences/00/calib.txt").read_text().splitlines()
    right = np.array(lines[1].split()[1:], dtype=float).reshape(3, 4)
    assert right[0, 3] == pytest.approx(-200.0 * 0.12, rel=1e-3)
    assert len((folder / "sequences/00/times.txt").read_text().split()) == PAIRS
    for number in range(2):
        image = cv2.imread(
            str(folder / f"sequences/00/image_{number}/000002.png"), cv2.IMREAD_GRAYSCALE
        )
        assert np.abs(image.astype(int) - data.pair(2)[number]).mean() < 3  # was rectified already


def test_euroc_folder_is_read_by_evo_and_by_us(data, tmp_path):
    folder = export(data, "euroc", tmp_path / "euroc")
    truth = file_interface.read_euroc_csv_trajectory(
        folder / "mav0/state_groundtruth_estimate0/data.csv"
    )
    assert np.allclose(truth.positions_xyz, data.truth()[:, 1:4])
    again = Dataset(folder)
    assert again.calibration == data.calibration and len(again) == PAIRS


@pytest.mark.skipif(
    not os.environ.get("BASALT_EUROC_READER"),
    reason="needs Basalt's own loader: set BASALT_EUROC_READER to a program that prints what it "
    "holds of a folder (see docs/slam.md)",
)
def test_euroc_folder_is_read_by_basalt(data, tmp_path):
    folder = export(data, "euroc", tmp_path / "euroc")
    held = json.loads(subprocess.check_output([os.environ["BASALT_EUROC_READER"], folder]))
    assert held["image_times"] == (1000 * data.times_us).tolist()
    # Basalt holds 16 bits of a pixel, ours being the upper eight.
    assert held["images"] == [
        [[*image.shape[::-1], zlib.crc32(image.astype("<u2") << 8)] for image in data.pair(i)]
        for i in range(PAIRS)
    ]
    times = 4_000_000 * np.arange(1, 20 * PAIRS + 1)
    for name, reading in (("gyro", (0.0, 0.0, 2.5)), ("accel", (0.1, 0.0, 9.81))):
        assert held[name] == [[t, *reading] for t in times.tolist()]
    truth = np.array(held["truth"])
    assert np.array_equal(truth[:, 0], times)
    assert np.allclose(truth[:, 1:], data.truth()[:, 1:], rtol=0, atol=2e-9)


@pytest.mark.parametrize("kind", FORMATS)
def test_nothing_is_overwritten(data, tmp_path, kind):
    with pytest.raises(SlamError, match="exists already"):
        export(data, kind, tmp_path)


def test_bag_comes_back_as_the_same_dataset(data, tmp_path, capsys):
    export(data, "rosbag", tmp_path / "a.bag")
    words = [
        "slam",
        "import",
        str(tmp_path / "a.bag"),
        "--calibration",
        str(data.folder / "kalibr/camchain-imucam.yaml"),
        "--imu",
        str(data.folder / "kalibr/imu.yaml"),
        "--truth",
    ]
    assert not command.main([*words, "/groundtruth/pose", "--out", str(tmp_path / "b")])
    again = Dataset(tmp_path / "b")
    assert np.array_equal(again.times_us, data.times_us)
    assert np.allclose(again.imu(), data.imu()) and np.allclose(again.truth(), data.truth())
    assert all(
        np.array_equal(one, two)
        for i in range(len(data))
        for one, two in zip(again.pair(i), data.pair(i))
    )
    assert np.allclose(again.calibration.left.pose, data.calibration.left.pose)
    assert again.calibration.imu == data.calibration.imu
    assert again.calibration.left.rate == pytest.approx(12.5, rel=0.1)
    # The truth may be a file; what is not there is told.
    assert not command.main(
        [*words, str(data.folder / "groundtruth.tum"), "--out", str(tmp_path / "c")]
    )
    assert np.allclose(Dataset(tmp_path / "c").truth(), data.truth())
    capsys.readouterr()
    for truth, says in (("/none", "has no topic /none; it has /cam0"), ("/imu0", "must be one of")):
        assert command.main([*words, truth, "--out", str(tmp_path / truth[1:])]) == 1
        said = capsys.readouterr().err.splitlines()[-1]
        assert says in said and not (tmp_path / truth[1:]).exists()
