"""Images of two cameras as pairs."""

import numpy as np
import pytest

from xtdrone_slam.benchmark.stereo_pairs import StereoPairs

IMAGE = np.zeros((2, 3), np.uint8)


def _times(arrivals):
    pairs = StereoPairs()
    found = [pairs.add(side, t_us, IMAGE) for side, t_us in arrivals]
    return [pair[0] for pair in found if pair is not None]


@pytest.mark.parametrize("first, second", [("left", "right"), ("right", "left")])
def test_images_of_one_time_are_a_pair_in_either_order(first, second):
    assert _times([(first, 10), (second, 10), (first, 20), (second, 20)]) == [10, 20]


def test_a_side_may_lag_by_several_images():
    assert _times([("left", 10), ("left", 20), ("right", 10), ("right", 20)]) == [10, 20]


def test_an_image_whose_other_half_is_lost_is_dropped():
    arrivals = [("left", 10), ("left", 20), ("right", 20), ("right", 10)]
    assert _times(arrivals) == [20]
