"""Fixtures of the tests of SLAM."""

import pytest


@pytest.fixture(scope="module")
def dataset(tmp_path_factory):
    """A recording of a wall that comes nearer."""
    from slam_wall import record_wall  # OpenCV may be missing where these tests are skipped

    return record_wall(tmp_path_factory.mktemp("wall"))
