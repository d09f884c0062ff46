"""The message definitions are those of MAVROS 1.21.0, bit for bit."""

import importlib
import json
from pathlib import Path

import pytest

from ros_fixtures import needs_ros
from xtdrone_ros1.messages import md5sum

REFERENCE = json.loads((Path(__file__).parents[1] / "data/mavros_reference.json").read_text())
MD5 = REFERENCE["messages"] | {  # all of mavros_msgs, and what they are made of
    "geographic_msgs/msg/GeoPoint": "c48027a852aeff972be80478ff38e81a",
    "geographic_msgs/msg/GeoPointStamped": "ea50d268b03080563c330351a21edc89",
    "geographic_msgs/msg/GeoPose": "778680b5172de58b7c057d973576c784",
    "geographic_msgs/msg/GeoPoseStamped": "cc409c8ed6064d8a846fa207bf3fba6b",
}


@needs_ros
@pytest.mark.parametrize("name", MD5)
def test_md5_sum_is_that_of_mavros(name):
    package, folder, kind = name.split("/")
    cls = getattr(importlib.import_module(f"{package}.{folder}"), kind)
    assert md5sum(cls) == MD5[name]


@needs_ros
def test_constants_that_scripts_use():
    from mavros_msgs.msg import CommandCode, PositionTarget, State

    assert PositionTarget.FRAME_BODY_NED == 8
    assert PositionTarget.IGNORE_YAW_RATE == 2048
    assert State.MODE_PX4_OFFBOARD == "OFFBOARD"
    assert CommandCode.NAV_TAKEOFF == 22
