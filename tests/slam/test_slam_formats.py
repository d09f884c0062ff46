"""Datasets and trajectories: read back as written, by our readers and by others, after a kill."""

import dataclasses
import os
import signal
import subprocess
import sys

import numpy as np
import pytest
import yaml
from scipy.spatial.transform import Rotation

cv2 = pytest.importorskip("cv2")

from slam_wall import PARAMETERS

evo_files = pytest.importorskip("evo.tools.file_interface")

from xtdrone_slam import SlamError
from xtdrone_slam.datasets import formats, trajectory_file
from xtdrone_slam.datasets.calibration import Calibration, Camera, Imu
from xtdrone_slam.datasets.dataset import Dataset, DatasetWriter
from xtdrone_slam.flight.trajectories import load


def calibration():
    left, right = (
        Camera.from_simulation({**PARAMETERS, "pos": (0.15, y, 0.1)}, 12.5, (0.01, 0.0, 0.02))
        for y in (0.06, -0.06)
    )
    return Calibration(left, right, Imu(250.0, 1.9e-4, 3.9e-5, 1.9e-3, 6e-3))


def trajectory(count=40):
    rng = np.random.default_rng(3)
    times = 1.0 + 0.08 * np.arange(count)
    quats = Rotation.from_rotvec(rng.normal(size=(count, 3))).as_quat()
    return np.column_stack([times, rng.normal(size=(count, 3)), quats])


def record(folder, count=5):
    writer = DatasetWriter(folder, calibration())
    rng = np.random.default_rng(1)
    images = rng.integers(0, 255, (count, 2, 48, 64), dtype=np.uint8)
    table = trajectory(count)
    for i, row in enumerate(table):
        t_us = round(row[0] * 1e6)
        writer.truth(t_us, row[1:4], row[4:], (0.0, 0.1, 0.2))
        writer.imu(t_us, (0.1, 0.2, 0.3), (0.0, 0.0, 9.81))
        writer.images(t_us, *images[i])
    return writer, images, table


def test_dataset_reads_back(tmp_path):
    writer, images, table = record(tmp_path)
    writer.close()
    dataset = Dataset(tmp_path)
    assert dataset.calibration == calibration()
    assert dataset.times_us.tolist() == [round(t * 1e6) for t in table[:, 0]]
    for i, pair in enumerate(images):
        assert np.array_equal(dataset.pair(i), pair)
    assert np.allclose(dataset.truth(), table, atol=2e-9)


def test_evo_reads_the_exports(tmp_path):
    writer, _, table = record(tmp_path)
    writer.close()
    euroc = evo_files.read_euroc_csv_trajectory(
        tmp_path / "mav0" / "state_groundtruth_estimate0" / "data.csv"
    )
    tum = evo_files.read_tum_trajectory_file(tmp_path / "groundtruth.tum")
    kitti = evo_files.read_kitti_poses_file(tmp_path / "groundtruth.kitti")
    for read in (euroc, tum, kitti):
        assert np.allclose(read.positions_xyz, table[:, 1:4], atol=1e-8)
    for read in (euroc, tum):
        assert np.allclose(read.timestamps, table[:, 0], atol=1e-9)
        assert np.allclose(read.orientations_quat_wxyz[:, [1, 2, 3, 0]], table[:, 4:], atol=1e-8)
    assert np.allclose(
        np.array(kitti.poses_se3)[:, :3, :3],
        Rotation.from_quat(table[:, 4:]).as_matrix(),
        atol=1e-8,
    )


def test_opencv_and_kalibr_calibration(tmp_path):
    writer, _, _ = record(tmp_path)
    writer.close()
    file = cv2.FileStorage(str(tmp_path / "opencv_stereo.yaml"), cv2.FILE_STORAGE_READ)
    assert np.allclose(file.getNode("T").mat().ravel(), [-0.12, 0, 0])
    assert np.allclose(file.getNode("M1").mat(), calibration().left.matrix)
    # The right camera's projection holds -focal length times baseline.
    p2 = file.getNode("P2").mat()
    assert p2[0, 3] == pytest.approx(-0.12 * p2[0, 0])
    chain = yaml.safe_load((tmp_path / "kalibr" / "camchain-imucam.yaml").read_text())
    assert np.allclose(chain["cam1"]["T_cn_cnm1"], calibration().right_from_left)
    # A point one metre ahead of the IMU lies on the optical axis' side of the left camera.
    seen = np.array(chain["cam0"]["T_cam_imu"]) @ [1.0, 0.0, 0.0, 1.0]
    assert np.allclose(seen[:3], [0.06, 0.08, 1.0 - 0.14])


def test_the_distortion_of_ros_is_that_of_its_model():
    """plumb_bob has a third radial coefficient, which a lens here has not."""
    left = calibration().left
    assert (
        left.ros_distortion == [*left.distortion, 0.0] and left.ros_distortion_model == "plumb_bob"
    )
    fisheye = dataclasses.replace(left, distortion_model="equidistant")
    assert fisheye.ros_distortion == [*left.distortion]


def test_a_calibration_lists_what_a_sensor_is_before_its_numbers(tmp_path):
    writer, _, _ = record(tmp_path)
    writer.close()
    assert (
        (tmp_path / "mav0" / "cam0" / "sensor.yaml").read_text().startswith("sensor_type: camera\n")
    )


def test_readable_after_a_kill(tmp_path):
    script = (
        "import sys; sys.path[:0] = sys.argv[2:]; import pathlib, test_slam_formats as t; "
        "t.record(pathlib.Path(sys.argv[1])); print('done', flush=True); input()"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", script, str(tmp_path / "x"), os.path.dirname(__file__), *sys.path],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout.readline() == "done\n"
    process.send_signal(signal.SIGKILL)
    process.communicate()
    dataset = Dataset(tmp_path / "x")
    assert len(dataset) == 5 and len(dataset.truth()) == 5
    assert dataset.pair(4)[1].shape == (48, 64)
    assert len(trajectory_file.read(tmp_path / "x" / "groundtruth.tum")) == 5


def test_half_line_is_left_out(tmp_path):
    path = tmp_path / "a.tum"
    formats.write_tum(path, trajectory(3))
    whole = trajectory_file.read(path)
    path.write_text(path.read_text()[:-20])
    assert np.array_equal(trajectory_file.read(path), whole[:2])


@pytest.mark.parametrize("end", ["", "\n", "\r\n"])
def test_the_last_row_needs_no_line_end(tmp_path, end):
    formats.write_tum(tmp_path / "a.tum", trajectory(3))
    (tmp_path / "b.tum").write_text((tmp_path / "a.tum").read_text().rstrip("\n") + end)
    assert np.array_equal(
        trajectory_file.read(tmp_path / "b.tum"), trajectory_file.read(tmp_path / "a.tum")
    )
    (tmp_path / "two.csv").write_text("t,x,y,z,yaw\n0,0,0,1,0\n10,5,0,1,0" + end)
    assert load(str(tmp_path / "two.csv")).duration == 10.0


def test_a_dataset_whose_tables_do_not_end_with_a_line_end_is_whole(tmp_path):
    writer, _, table = record(tmp_path)
    writer.close()
    for path in tmp_path.rglob("data.csv"):
        path.write_text("\ufeff" + path.read_text().rstrip("\n"))
    dataset = Dataset(tmp_path)
    assert len(dataset) == len(dataset.imu()) == len(dataset.truth()) == len(table)
    for camera in ("cam0", "cam1"):
        path = tmp_path / "mav0" / camera / "data.csv"
        path.write_text(path.read_text()[:-6])  # the name of the last image is incomplete
    assert len(Dataset(tmp_path)) == len(table) - 1


@pytest.mark.parametrize("text", ["", "1 2 3\n", "a b c d e f g h\n", "1 nan 3 4 0 0 0 1\n"])
def test_bad_trajectory_is_refused_in_one_line(tmp_path, text):
    path = tmp_path / "bad.tum"
    path.write_text(text)
    with pytest.raises(SlamError, match="bad.tum"):
        trajectory_file.read(path)


def test_lens_beyond_the_formats_is_refused():
    with pytest.raises(SlamError, match="k3"):
        Camera.from_simulation({**PARAMETERS, "k3": 0.1, "pos": (0, 0, 0)}, 12.5, (0, 0, 0))


def test_dataset_is_never_overwritten(tmp_path):
    record(tmp_path)
    with pytest.raises(SlamError, match="another name"):
        DatasetWriter(tmp_path, calibration())
