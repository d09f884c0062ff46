"""Equidistant lenses: OpenCV's model, what their cameras render, and what ROS is told."""

import dataclasses
import math

import numpy as np
import pytest

from drawing import draws
from sensor_models import fisheye, lens
from sensor_models.cameras import cameras_of
from sensor_models.errors import SensorError
from sensor_models.ros_messages import camera_info
from xtdrone_core import SensorBlock

cv2 = pytest.importorskip("cv2")
calibration = pytest.importorskip("calibration", reason="OpenCV is not installed here")

LENSES = [(0.0, 0.0, 0.0, 0.0), (0.0034, 0.0008, -0.0028, 0.0011), (-0.02, 0.01, -0.004, 0.0)]
FISHEYE = {"distortion_model": "equidistant", "p1": 0, "p2": 0, "k3": 0}


def camera(coefficients=LENSES[1], **tags):
    """A fisheye of 512 x 512 pixels that sees 154 degrees across."""
    bent = dict(zip(("k1", "k2", "k3", "k4"), coefficients))
    size = {"width": 512, "height": 512, "fx": 190, "fy": 190, "cx": 255.5, "cy": 255.5}
    return calibration.camera("mt9v034", **{**FISHEYE, **size, **bent, **tags})


@pytest.mark.parametrize("coefficients", LENSES)
def test_the_model_is_opencv_s(coefficients):
    points = np.random.default_rng(1).uniform((-3, -3, 1), (3, 3, 2), size=(200, 3))
    shot = camera(coefficients)
    still, matrix = np.zeros(3), np.array(shot.camera_matrix)
    given = still, still, matrix, np.array(coefficients)
    theirs = cv2.fisheye.projectPoints(points[:, None], *given)[0][:, 0]
    np.testing.assert_allclose(lens.project(shot, points), theirs, atol=1e-6)
    flat = (theirs - (shot.cx, shot.cy)) / (shot.fx, shot.fy)
    back = np.stack(fisheye.straighten(*flat.T, coefficients), axis=1)
    np.testing.assert_allclose(back, points[:, :2] / points[:, 2:], rtol=1e-6, atol=1e-9)


def test_what_is_not_rendered_is_nan_and_dark():
    x, y = lens.normalised_coordinates(camera())
    angle = np.arctan(np.hypot(x, y))
    assert np.isfinite(x[255, :]).all() and np.isnan(x[0, 0])
    assert np.nanmax(angle) == pytest.approx(fisheye.WIDEST, abs=0.01)
    shot = lens.Lens(camera(), 1, 0, 200)
    white = np.full((shot.pinhole.height, shot.pinhole.width, 3), 255, np.uint8)
    image = shot.image(white)
    assert image[0, 0] == 0 and image[255, 255] > 200
    far = np.full(white.shape[:2], 2.0, np.float32)
    depth = lens.Lens(camera(noise_stddev=0), 1, 0, 200).depth(far)
    assert np.isinf(depth[0, 0]) and depth[255, 255] == pytest.approx(2.0, abs=0.1)


def test_a_lens_that_folds_ends_there():
    x, _ = lens.normalised_coordinates(camera((-0.35, 0.0, 0.0, 0.0)))
    fold = math.sqrt(1.0 / (3.0 * 0.35))  # where the slope of theta_d is 0
    assert math.atan(np.nanmax(x)) == pytest.approx(fold, abs=0.02)


@pytest.mark.parametrize(
    "kind, distance",
    [
        ("equidistant", lambda theta: theta),
        ("stereographic", lambda theta: 2.0 * np.tan(0.5 * theta)),
        ("equisolid_angle", lambda theta: 2.0 * np.sin(0.5 * theta)),
        ("orthographic", np.sin),
    ],
)
def test_gazebo_s_wide_angle_cameras_have_their_lens(kind, distance):
    given = {"horizontal_fov": "2.6", "lens": {"type": kind}}
    given["image"] = {"width": "640", "height": "480"}
    block = SensorBlock("camera", "eye", (0, 0, 0), (0, 0, 0, 1), {"camera": given})
    (shot,) = cameras_of(block)
    assert shot.is_fisheye
    angles = np.linspace(0.01, 1.3, 30)
    points = np.column_stack([np.sin(angles), np.zeros(30), np.cos(angles)])
    focal = 320.0 / distance(1.3)  # the image's width has the horizontal field of view
    found = lens.project(shot, points)[:, 0] - shot.cx
    np.testing.assert_allclose(found, focal * distance(angles), rtol=2e-3)


def test_other_types_of_lenses_are_named():
    given = {"lens": {"type": "custom"}}
    with pytest.raises(SensorError, match="unknown lens type of camera 'eye' 'custom'.*stereogr"):
        cameras_of(SensorBlock("camera", "eye", (0, 0, 0), (0, 0, 0, 1), {"camera": given}))
    given = {"lens": {"type": "gnomonical"}}
    (shot,) = cameras_of(SensorBlock("camera", "e", (0, 0, 0), (0, 0, 0, 1), {"camera": given}))
    assert not shot.is_fisheye


@draws
def test_corners_are_where_the_model_puts_them(tmp_path):
    board = calibration.checkerboard_world(tmp_path / "board.world")
    shot = calibration.camera("mt9v034", anti_aliasing=4, **FISHEYE, k1=-0.02, k2=0.01, k4=0.002)
    views = calibration.photograph(
        board, calibration.Lens(shot, 1, 0, 200), calibration.places_around(6)
    )
    still, matrix = np.zeros(3), np.array(shot.camera_matrix)
    given = still, still, matrix, np.array(shot.fisheye_distortion)
    errors = []
    for view in views:
        corners = calibration.find_corners(view)
        if corners is not None:
            points = view.to_optical(calibration.board_points())[:, None]
            errors.append(corners - cv2.fisheye.projectPoints(points, *given)[0][:, 0])
    errors = np.concatenate(errors)
    assert math.sqrt((errors**2).sum(axis=1).mean()) < 0.12
    assert np.abs(errors.mean(axis=0)).max() < 0.02


def test_ros_is_told_the_model():
    info = camera_info(None, dataclasses.asdict(camera()))
    assert info["distortion_model"] == "equidistant" and info["D"] == list(LENSES[1])
    info = camera_info(None, dataclasses.asdict(calibration.camera("mt9v034_distorted")))
    assert info["distortion_model"] == "plumb_bob" and len(info["D"]) == 5


@pytest.mark.parametrize(
    "tags, said",
    [
        ({"distortion_model": "fov"}, "distortion_model 'fov'.*give plumb_bob or equidistant"),
        ({"p1": 0.1}, "distortion of the model equidistant.*k1 to k4"),
        ({"distortion_center": "0.4 0.5"}, "its centre is the principal point"),
        ({"distortion_model": "plumb_bob", "k4": 0.1}, "plumb_bob has k1, k2, k3, p1 and p2"),
    ],
)
def test_what_a_model_has_not_is_refused(tags, said):
    with pytest.raises(SensorError, match=said):
        camera(**tags)
