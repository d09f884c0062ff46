"""Fields that ROS 1 and ROS 2 call differently are read by one name."""

from types import SimpleNamespace

import pytest

from xtdrone_mavros.inputs.fields import duration_us, field, time_parts

OF_ROS1 = {"secs": 3, "nsecs": 4_000}, {"K": [1.0], "D": []}
OF_ROS2 = {"sec": 3, "nanosec": 4_000}, {"k": [1.0], "d": []}


@pytest.mark.parametrize("stamp, info", [OF_ROS1, OF_ROS2])
def test_of_either_ros(stamp, info):
    assert time_parts(SimpleNamespace(**stamp)) == (3, 4_000)
    assert duration_us(SimpleNamespace(**stamp)) == 3_000_004
    assert field(SimpleNamespace(**info), "k") == [1.0]
    assert field(SimpleNamespace(**info), "d") == []
