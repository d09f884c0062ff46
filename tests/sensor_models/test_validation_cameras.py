"""Rendered images measured by OpenCV: calibration, distortion, skew, stereo depth."""

import numpy as np
import pytest

from drawing import draws

calibration = pytest.importorskip("calibration", reason="OpenCV is not installed here")
pytestmark = draws


@pytest.fixture(scope="module")
def board(tmp_path_factory):
    return calibration.checkerboard_world(tmp_path_factory.mktemp("board") / "board.world")


@pytest.mark.long
@pytest.mark.parametrize("preset", ["mt9v034", "mt9v034_distorted"])
def test_opencv_finds_the_intrinsics_that_were_given(board, preset):
    shot = calibration.camera(preset, anti_aliasing=4)
    views = calibration.photograph(
        board, calibration.Lens(shot, 1, 0, 200), calibration.places_around(16)
    )
    rms, matrix, _distortion, used = calibration.calibrate(views, (shot.width, shot.height))
    assert used >= 10 and rms < 0.12
    found = matrix[0, 0], matrix[1, 1], matrix[0, 2], matrix[1, 2]
    np.testing.assert_allclose(found, (shot.fx, shot.fy, shot.cx, shot.cy), rtol=0.005)
    assert calibration.straightness(views, shot) <= 0.1


@pytest.mark.long
@pytest.mark.parametrize(
    "tags",
    [
        {"skew": 4},
        {"distortion_center": "0.53 0.46"},
        {"skew": -6, "distortion_center": "0.47 0.55", "cx": 350},
        {"k3": 0.01, "p1": 0.002, "p2": -0.003},
    ],
)
def test_corners_are_where_the_textbook_puts_them(board, tags):
    shot = calibration.camera("mt9v034_distorted", anti_aliasing=4, **tags)
    views = calibration.photograph(
        board, calibration.Lens(shot, 1, 0, 200), calibration.places_around(6)
    )
    rms, mean = calibration.projected_error(views, shot)
    assert rms < 0.12 and np.abs(mean).max() < 0.02


@pytest.mark.slow
@pytest.mark.parametrize("distance", [3.0, 6.0])
def test_stereo_depth_of_a_wall(tmp_path, distance):
    world = calibration.wall_world(tmp_path / "wall.world", distance)
    found = calibration.range_wall(world, distance)
    assert found.covered > 0.9
    # Whole pixels of disparity: half of one either way, for the median and for nearly all pixels.
    assert abs(found.median_depth - distance) <= 0.5 * found.depth_per_pixel
    assert found.within_half > 0.9
    # The whole image at once is finer than a matcher: a tenth of a pixel.
    assert abs(found.shift - found.disparity) <= 0.1
