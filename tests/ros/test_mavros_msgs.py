"""The message definitions are those of MAVROS 1, bit for bit."""

import importlib

import pytest

from ros_fixtures import needs_ros

# As MAVROS 1's own generated code states them.
MD5 = {
    "mavros_msgs/msg/ActuatorControl": "9eea0a80c88944fe2fb67f3b3768854b",
    "mavros_msgs/msg/Altitude": "1296a05dc5b6160be0ae04ba9ed3a3fa",
    "mavros_msgs/msg/AttitudeTarget": "456f3af666b22ccd0222ea053a86b548",
    "mavros_msgs/msg/BatteryStatus": "8ba4ae7c602c5ae6a7e8f3ffb652dc5f",
    "mavros_msgs/msg/EstimatorStatus": "39dbcc4be3f04b68422f784827c47dd5",
    "mavros_msgs/msg/ExtendedState": "ae780b1800fe17b917369d21b90058bd",
    "mavros_msgs/msg/GlobalPositionTarget": "076ded0190b9e045f9c55264659ef102",
    "mavros_msgs/msg/HomePosition": "c1167922de8c97acdb0ec714c1dba774",
    "mavros_msgs/msg/ManualControl": "c41e3298484ea98e05ac502ce55af59f",
    "mavros_msgs/msg/Mavlink": "41093e1fd0f3eea1da2aa33a177e5ba6",
    "mavros_msgs/msg/OverrideRCIn": "fd1e1c08fa504ec32737c41f45223398",
    "mavros_msgs/msg/Param": "62165a8f212050223dda9583b0f22c3c",
    "mavros_msgs/msg/ParamValue": "e2cb1c7a0f6ef0c62d450cd9362c980d",
    "mavros_msgs/msg/PositionTarget": "dedb0081aaf8cb20209737746bb49117",
    "mavros_msgs/msg/RCIn": "1c3eafdb5efbcda3c334e1788bbcfe39",
    "mavros_msgs/msg/RCOut": "52cacf104bab5ae3b103cfe176590713",
    "mavros_msgs/msg/State": "65cd0a9fff993b062b91e354554ec7e9",
    "mavros_msgs/msg/StatusText": "6cfd33cd09e4abf5841d7be3c770a969",
    "mavros_msgs/msg/Thrust": "c61da3a8868a8b502eaf0b0abd839f57",
    "mavros_msgs/msg/TimesyncStatus": "021ec8044e747bea518b441f374ba64b",
    "mavros_msgs/msg/VFR_HUD": "1f55e210c3d39fe105d44d8dc963655f",
    "mavros_msgs/msg/Waypoint": "f7090ce9f0c7ad0665de1ddadfd11ace",
    "mavros_msgs/msg/WaypointList": "0605a2df153acd9a4a4823385ed81b57",
    "mavros_msgs/msg/WaypointReached": "1cf64d072d9f6aa0a6715922bdde6a35",
    "mavros_msgs/srv/CommandBool": "e09abbb4e5bae6b558e5010966eb6e9e",
    "mavros_msgs/srv/CommandHome": "05b5da557a6a0cf6c2b958dba173bca1",
    "mavros_msgs/srv/CommandInt": "5d5fd287bf3d27ad6ec508b1692f3b09",
    "mavros_msgs/srv/CommandLong": "eb9034afc87577c0a235d45b8f3437d2",
    "mavros_msgs/srv/CommandTOL": "93ff4eaa9907f58c0e7a909cddce23e2",
    "mavros_msgs/srv/CommandVtolTransition": "9fd38be6714b4cc56cabc5f733b6f095",
    "mavros_msgs/srv/MessageInterval": "99e633e185b7ee6b477bc9843a87b5ae",
    "mavros_msgs/srv/ParamGet": "777d24d2a7ab1765ef009a69f464d2bc",
    "mavros_msgs/srv/ParamPull": "c9628aea2226088718fd240fbd62afc7",
    "mavros_msgs/srv/ParamPush": "d3fc4d8cefa193382985a92a041a2a3d",
    "mavros_msgs/srv/ParamSet": "c423cafb898fff374cbe8530ecd4d285",
    "mavros_msgs/srv/SetMode": "e4f18fa93379f9ff1780d270ce110203",
    "mavros_msgs/srv/StreamRate": "d12f7661724c8ba25f67ba597bb7d039",
    "mavros_msgs/srv/WaypointClear": "358e233cde0c8a8bcfea4ce193f8fc15",
    "mavros_msgs/srv/WaypointPull": "a8d9ecef8fb37028d2db2a9aa4ed7e79",
    "mavros_msgs/srv/WaypointPush": "96690cb0f07ea4a54cdd6f188e10228e",
    "mavros_msgs/srv/WaypointSetCurrent": "f99aa1a911a80ab546ea470f4e90c807",
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
    assert cls._md5sum == MD5[name]


@needs_ros
def test_constants_that_scripts_use():
    from mavros_msgs.msg import CommandCode, PositionTarget, State

    assert PositionTarget.FRAME_BODY_NED == 8
    assert PositionTarget.IGNORE_YAW_RATE == 2048
    assert State.MODE_PX4_OFFBOARD == "OFFBOARD"
    assert CommandCode.NAV_TAKEOFF == 22
