"""The flight before a board, by which other programs calibrate cameras and IMU."""

import cv2
import numpy as np
import pytest
import yaml
from PIL import Image

from xtdrone_core import command, resources
from xtdrone_slam.datasets.dataset import Dataset, find
from xtdrone_slam.flight import trajectories

BOARD = resources.root() / "models" / "calibration_board"
TARGET = yaml.safe_load((BOARD / "target.yaml").read_text())
CORNERS = TARGET["targetCols"], TARGET["targetRows"]


def corners_of(image):
    """The corners between the squares (K, 1, 2) [pixels], or None."""
    found, corners = cv2.findChessboardCorners(image, CORNERS)
    stop = cv2.TERM_CRITERIA_EPS + cv2.TERM_CRITERIA_MAX_ITER, 30, 0.01
    return cv2.cornerSubPix(image, corners, (7, 7), (-1, -1), stop) if found else None


def test_the_board_is_what_its_target_says():
    texture = BOARD / "materials" / "textures" / "calibration_board.png"
    picture = np.array(Image.open(texture).convert("L"))
    corners = corners_of(picture)[:, 0]
    metres = 1.32 / len(picture)  # of the board in model.sdf
    steps = np.linalg.norm(np.diff(corners.reshape(*CORNERS[::-1], 2), axis=1), axis=-1)
    np.testing.assert_allclose(steps * metres, TARGET["colSpacingMeters"], rtol=2e-3)


def test_the_flight_moves_along_and_about_each_axis_and_keeps_off_the_board():
    reference = trajectories.load("calibration")
    rows = [reference.at(t) for t in np.arange(0.0, reference.duration, 0.05)]
    pos, acc = np.array([row.pos for row in rows]), np.array([row.acc for row in rows])
    assert pos[:, 0].max() < 2.0 and pos[:, 2].min() > 0.8  # the board is at x = 3 m
    assert (np.ptp(pos, axis=0) > 0.5).all() and 1.0 < np.abs(acc).max() < 5.0
    assert np.ptp([row.yaw for row in rows]) > 0.4


@pytest.mark.long
def test_the_camera_is_calibrated_by_the_flight(runs):
    flight = "slam record --world calibration --trajectory calibration --name board"
    assert command.main(flight.split()) == 0
    recording = Dataset(find(str(runs / "board")))
    board = np.zeros((CORNERS[0] * CORNERS[1], 3), np.float32)
    board[:, :2] = np.mgrid[: CORNERS[0], : CORNERS[1]].T.reshape(-1, 2)
    board *= TARGET["colSpacingMeters"]
    pairs = [recording.pair(k) for k in range(0, len(recording.times_us), 12)]
    seen = [[corners_of(image) for image in pair] for pair in pairs]
    left, right = zip(*[pair for pair in seen if all(corners is not None for corners in pair)])
    assert len(left) > 25
    stereo, boards = recording.calibration, [board] * len(left)
    size = stereo.left.width, stereo.left.height
    cameras = [
        cv2.calibrateCamera(boards, views, size, None, None, flags=cv2.CALIB_FIX_K3)
        for views in (left, right)
    ]
    for error, matrix, *_ in cameras:
        assert error < 0.2  # pixels
        assert matrix[0, 0] == pytest.approx(stereo.left.matrix[0, 0], rel=5e-3)
        np.testing.assert_allclose(matrix[:2, 2], stereo.left.matrix[:2, 2], atol=3.0)
    (_, k1, d1, *_), (_, k2, d2, *_) = cameras
    *_, shift, _, _ = cv2.stereoCalibrate(
        boards, left, right, k1, d1, k2, d2, size, flags=cv2.CALIB_FIX_INTRINSIC
    )
    baseline = np.linalg.norm(stereo.right_from_left[:3, 3])
    assert np.linalg.norm(shift) == pytest.approx(baseline, rel=1e-2)
