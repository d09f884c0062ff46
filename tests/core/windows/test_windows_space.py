"""The grid and the camera of a view in 3D."""

import math

import numpy as np
import pytest

from xtdrone_core.windows import space

RNG = np.random.default_rng(3)


@pytest.mark.parametrize("spread", [0.0, 2.0, 200.0])
@pytest.mark.parametrize("angles", [(-65.0, 20.0), (100.0, 5.0), (10.0, 89.0)])
def test_a_camera_frames_all_points_and_no_more(spread, angles):
    points = RNG.uniform(-0.5, 0.5, (50, 3)) * spread + (10.0, -20.0, 30.0)
    middle, distance = space.frame(points, *angles, fov=60.0, aspect=1.3)
    right, up, back = space.directions(*angles) @ (points - middle).T
    slope = math.tan(math.radians(30.0))
    across = np.abs(right) / (slope * (distance - back))
    along = np.abs(up) / (slope / 1.3 * (distance - back))
    assert across.max() <= 0.9 and along.max() <= 0.9
    if spread > 10.0:  # a smaller fleet is seen from the least distance
        assert max(across.max(), along.max()) == pytest.approx(space.FILLED)


def test_the_grid_is_on_the_ground_unless_the_fleet_is_far_above_it():
    points = RNG.uniform(0.0, 10.0, (9, 3))
    near = space.scale(points + (0.0, 0.0, 5.0), ground=0.1)
    assert near.on_ground and near.low[2] == 0.1
    far = space.scale(points + (0.0, 0.0, 500.0), ground=0.1)
    assert not far.on_ground and 490.0 < far.low[2] < 501.0
    assert near.step == space.nice(near.step)
    for grid in (near, far):
        _, labels = grid.axes(-65.0)
        assert {"x east [m]", "y north [m]", "z up [m]"} <= {text for _, text in labels}
        numbers = [float(text) for _, text in labels if text[-1] != "]"]
        assert len(numbers) >= 4 and np.allclose(np.array(numbers) / grid.step % 1.0, 0.0)


@pytest.mark.parametrize(
    "value, expected", [(0.9, 1.0), (1.0, 1.0), (1.1, 2.0), (21.0, 50.0), (0.06, 0.1)]
)
def test_nice_steps(value, expected):
    assert space.nice(value) == pytest.approx(expected)
