"""Calibrations by Kalibr: both models of lenses, and a reason for each fault."""

import copy
from dataclasses import replace

import numpy as np
import pytest
import yaml

cv2 = pytest.importorskip("cv2")

import test_slam_formats
from test_slam_formats import calibration

from slam_wall import PARAMETERS
from xtdrone_core.command import main
from xtdrone_core.runs import bags
from xtdrone_slam import SlamError
from xtdrone_slam.datasets import export, kalibr, lenses
from xtdrone_slam.datasets.calibration import (
    EQUIDISTANT,
    Camera,
    read_euroc,
    write_euroc,
    write_kalibr,
)
from xtdrone_slam.datasets.dataset import Dataset
from xtdrone_slam.systems.vins_fusion import start as vins

BENT = (0.02, -0.01, 0.004, -0.001)  # k1 to k4


def without_pose(camera):
    return {key: value for key, value in camera.items() if key != "T_cam_imu"}


def fisheye():
    pair = calibration()
    left, right = (
        replace(camera, distortion=BENT, distortion_model=EQUIDISTANT)
        for camera in (pair.left, pair.right)
    )
    return replace(pair, left=left, right=right)


@pytest.mark.parametrize("make", [calibration, fisheye])
def test_both_models_are_read_as_written(tmp_path, make):
    wanted = make()
    write_kalibr(tmp_path, wanted)
    found, topics = kalibr.read(tmp_path / "camchain-imucam.yaml", tmp_path / "imu.yaml")
    assert topics == ["/cam0/image_raw", "/cam1/image_raw", "/imu0"]
    assert found.left.distortion_model == wanted.left.distortion_model
    assert found.right.distortion == wanted.right.distortion
    assert np.allclose(found.right_from_left, wanted.right_from_left)
    write_euroc(tmp_path / "mav0", wanted)
    assert read_euroc(tmp_path / "mav0") == wanted


def test_the_imu_of_kalibr_s_results_and_lenses_without_distortion_are_read(tmp_path):
    write_kalibr(tmp_path, calibration())
    path = tmp_path / "imu.yaml"
    path.write_text(yaml.safe_dump({"imu0": {**yaml.safe_load(path.read_text()), "model": "x"}}))
    chain = yaml.safe_load((tmp_path / "camchain-imucam.yaml").read_text())
    for camera in chain.values():
        camera.update(distortion_model="none", distortion_coeffs=[])
    (tmp_path / "camchain-imucam.yaml").write_text(yaml.safe_dump(chain))
    found, _ = kalibr.read(tmp_path / "camchain-imucam.yaml", path)
    assert found.left.distortion == (0.0, 0.0, 0.0, 0.0) and found.is_radtan


def test_the_inverse_poses_of_openvins_are_read(tmp_path):
    write_kalibr(tmp_path, calibration())
    path = tmp_path / "camchain-imucam.yaml"
    wanted, _ = kalibr.read(path, tmp_path / "imu.yaml")
    chain = yaml.safe_load(path.read_text())
    for camera in chain.values():
        camera["T_imu_cam"] = np.linalg.inv(camera.pop("T_cam_imu")).tolist()
    path.write_text("%YAML:1.0\n\n" + yaml.safe_dump(chain))
    found, _ = kalibr.read(path, tmp_path / "imu.yaml")
    assert np.allclose(found.left.pose, wanted.left.pose)
    assert np.allclose(found.right.pose, wanted.right.pose)


@pytest.mark.parametrize(
    "change, said",
    [
        (
            lambda c: c.update(cam0={**without_pose(c["cam0"]), "T_imu_cam": [[1, 2], [3, 4]]}),
            "T_cam_imu of cam0 has to be 4 x 4 numbers, and is 2 x 2",
        ),
        (lambda c: c["cam0"].pop("rostopic"), "cam0 has no rostopic"),
        (lambda c: c["cam1"].pop("T_cam_imu"), "cam1 has no T_cam_imu"),
        (lambda c: c.pop("cam1"), "there is no cam1, and a stereo pair has cam0 and cam1"),
        (
            lambda c: c["cam0"].update(T_cam_imu=np.eye(4).ravel().tolist()),
            "T_cam_imu of cam0 has to be 4 x 4 numbers, and is 16",
        ),
        (lambda c: c["cam0"].update(T_cam_imu=np.zeros((4, 4)).tolist()), "Singular matrix"),
        (
            lambda c: c["cam1"].update(distortion_model="fov"),
            "distortion_model of cam1 is fov, radtan or equidistant or none is wanted",
        ),
        (
            lambda c: c["cam0"].update(camera_model="omni"),
            "camera_model of cam0 is omni, pinhole is wanted",
        ),
        (
            lambda c: c["cam0"].update(distortion_coeffs=[1.0]),
            "distortion_coeffs of cam0 has to be 4 numbers, and is 1",
        ),
        (lambda c: c["cam0"].update(intrinsics="wide"), "is no table of numbers"),
        (lambda c: c["cam1"].update(distortion_model="equidistant"), "lenses of different models"),
    ],
)
def test_each_fault_is_named_before_the_bag_is_opened(tmp_path, capsys, change, said):
    write_kalibr(tmp_path, calibration())
    path = tmp_path / "camchain-imucam.yaml"
    chain = copy.deepcopy(yaml.safe_load(path.read_text()))
    change(chain)
    path.write_text(yaml.safe_dump(chain))
    words = ["slam", "import", "no.bag", "--calibration", str(path), "--truth", "/x"]
    words += ["--imu", str(tmp_path / "imu.yaml"), "--out", str(tmp_path / "out")]
    assert main(words) == 1
    error = capsys.readouterr().err.strip()
    assert said in error and "\n" not in error
    with pytest.raises(SlamError):
        kalibr.read(path, tmp_path / "imu.yaml")


def test_an_imu_without_its_keys_is_named(tmp_path):
    write_kalibr(tmp_path, calibration())
    (tmp_path / "imu.yaml").write_text("rostopic: /imu0\nupdate_rate: 200\n")
    with pytest.raises(SlamError, match="imu.yaml has no accelerometer_noise_density; imu.yaml"):
        kalibr.read(tmp_path / "camchain-imucam.yaml", tmp_path / "imu.yaml")


@pytest.mark.parametrize("make", [calibration, fisheye])
def test_a_rectified_pair_sees_a_point_in_one_row(tmp_path, make):
    pair = make()
    rotation_left, rotation_right, *_ = rectified = lenses.rectification(pair)
    point = np.array([0.3, -0.2, 2.0])  # in the left optical frame [m]
    other = pair.right_from_left[:3, :3] @ point + pair.right_from_left[:3, 3]
    rows = []
    for camera, rotation, projection, seen in (
        (pair.left, rotation_left, rectified[2], point),
        (pair.right, rotation_right, rectified[3], other),
    ):
        project = (
            cv2.fisheye.projectPoints
            if camera.distortion_model == EQUIDISTANT
            else cv2.projectPoints
        )
        still = np.zeros(3)
        given = seen.reshape(1, 1, 3), still, still, camera.matrix, np.array(camera.distortion)
        flat = lenses.undistorted(camera, np.asarray(project(*given)[0]).reshape(1, 1, 2))[0, 0]
        assert np.allclose(flat, seen[:2] / seen[2], atol=1e-6)
        turned = rotation @ [*flat, 1.0]
        rows.append((projection[:, :3] @ (turned / turned[2]))[1])
    assert rows[0] == pytest.approx(rows[1], abs=1e-4)


def test_vins_fusion_gets_the_model_of_the_lens(tmp_path):
    vins.write(tmp_path, fisheye())
    text = (tmp_path / "vins_cam0.yaml").read_text()
    assert "model_type: KANNALA_BRANDT" in text and "distortion_parameters" not in text
    fx = fisheye().left.intrinsics[0]
    assert f"   k2: {BENT[0]}\n" in text and f"   k5: {BENT[3]}\n   mu: {fx}\n" in text
    vins.write(tmp_path, calibration())
    text = (tmp_path / "vins_cam0.yaml").read_text()
    assert "model_type: PINHOLE" in text and "distortion_parameters:\n   k1:" in text


def test_a_simulated_fisheye_is_recorded_with_its_calibration():
    values = {**PARAMETERS, **dict(zip(("k1", "k2", "k3", "k4"), BENT)), "p1": 0.0, "p2": 0.0}
    values |= {"distortion_model": "equidistant", "pos": (0.0, 0.0, 0.0)}
    camera = Camera.from_simulation(values, 20.0, (0.0, 0.0, 0.0))
    assert camera.distortion == BENT and camera.distortion_model == EQUIDISTANT
    assert camera.ros_distortion == list(BENT) and camera.ros_distortion_model == "equidistant"


@pytest.mark.parametrize("form", ["euroc", "tum", "kitti", "rosbag"])
def test_a_dataset_of_fisheyes_is_written_read_and_exported(tmp_path, monkeypatch, form):
    monkeypatch.setattr(test_slam_formats, "calibration", fisheye)
    writer, _, _ = test_slam_formats.record(tmp_path / "data")
    writer.close()
    dataset = Dataset(tmp_path / "data")
    assert dataset.calibration == fisheye()
    target = tmp_path / ("out.bag" if form == "rosbag" else "out")
    export.export(dataset, form, target)
    if form == "rosbag":
        with bags.opened(target) as bag:
            topics = [topic for topic in bag.topics if topic.endswith("camera_info")]
            _, _, info = next(bag.messages(topics))
        assert info.distortion_model == "equidistant" and list(info.D) == list(BENT)
