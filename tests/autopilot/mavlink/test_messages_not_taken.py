"""No message that a client may count on is dropped without a word."""

import re
from pathlib import Path

import pytest

import xtdrone_mavros
import xtdrone_ros2
from stack_flights import Flight, Link
from xtdrone_autopilot.mavlink.not_taken import NOT_TAKEN, REPORTS
from xtdrone_core.mavlink.dialect import mavlink

# What the receivers of PX4 v1.15.4 read, with those of HITL.
READ_BY_PX4 = """
    ADSB_VEHICLE ATT_POS_MOCAP BATTERY_STATUS CELLULAR_STATUS COLLISION COMMAND_ACK COMMAND_INT
    COMMAND_LONG DEBUG DEBUG_FLOAT_ARRAY DEBUG_VECT DISTANCE_SENSOR FILE_TRANSFER_PROTOCOL
    FOLLOW_TARGET GENERATOR_STATUS GIMBAL_DEVICE_ATTITUDE_STATUS GIMBAL_DEVICE_INFORMATION
    GIMBAL_MANAGER_SET_ATTITUDE GIMBAL_MANAGER_SET_MANUAL_CONTROL GPS_RTCM_DATA HEARTBEAT HIL_GPS
    HIL_OPTICAL_FLOW HIL_SENSOR HIL_STATE_QUATERNION LOGGING_ACK LOG_ERASE
    LOG_REQUEST_DATA LOG_REQUEST_END LOG_REQUEST_LIST MANUAL_CONTROL MISSION_ACK MISSION_CLEAR_ALL
    MISSION_COUNT MISSION_ITEM MISSION_ITEM_INT MISSION_REQUEST MISSION_REQUEST_INT
    MISSION_REQUEST_LIST MISSION_SET_CURRENT NAMED_VALUE_FLOAT NAMED_VALUE_INT OBSTACLE_DISTANCE
    ODOMETRY ONBOARD_COMPUTER_STATUS OPTICAL_FLOW_RAD PARAM_MAP_RC PARAM_REQUEST_LIST
    PARAM_REQUEST_READ PARAM_SET PING PLAY_TUNE PLAY_TUNE_V2 RADIO_STATUS RC_CHANNELS_OVERRIDE
    REQUEST_EVENT SERIAL_CONTROL SET_ATTITUDE_TARGET SET_GPS_GLOBAL_ORIGIN SET_MODE
    SET_POSITION_TARGET_GLOBAL_INT SET_POSITION_TARGET_LOCAL_NED STATUSTEXT SYSTEM_TIME TIMESYNC
    TRAJECTORY_REPRESENTATION_BEZIER TRAJECTORY_REPRESENTATION_WAYPOINTS TUNNEL
    VISION_POSITION_ESTIMATE
""".split()


def of_ros():
    """Names of the messages that the bridges make of topics and services."""
    return {
        name.upper()
        for package in (xtdrone_mavros, xtdrone_ros2)
        for path in Path(package.__file__).parent.rglob("*.py")
        for name in re.findall(r"mavlink\.MAVLink_(\w+)_message", path.read_text())
    }


@pytest.fixture(scope="module")
def flight():
    one = Flight()
    yield one
    one.simulation.close()


def test_everything_is_handled_or_refused_with_a_reason(flight):
    known = {*flight.messages.names, *NOT_TAKEN, *REPORTS}
    assert {*READ_BY_PX4, *of_ros()} - known == set()
    assert not set(flight.messages.names) & {*NOT_TAKEN, *REPORTS}
    assert not set(NOT_TAKEN) & REPORTS


def made(name):
    """A message of a kind, addressed to the vehicle, all else zeros."""
    kind = mavlink.mavlink_map[getattr(mavlink, f"MAVLINK_MSG_ID_{name}")]
    values = []
    for field, type_, length in zip(kind.fieldnames, kind.fieldtypes, kind.array_lengths):
        if field in ("target_system", "target_component"):
            values.append(1)
        elif type_ == "char":
            values.append(b"")
        else:
            values.append([0] * length if length else 0)
    return kind(*values)


@pytest.mark.parametrize("name", [*NOT_TAKEN, *sorted(REPORTS)])
def test_the_first_of_a_kind_is_answered_by_a_text(flight, name):
    flight.run(0.1)  # warnings are limited in number
    flight.said.clear()
    for _ in range(2):
        flight.messages.handle(Link, made(name))
    expected = [f"{name} ignored: {NOT_TAKEN[name]}"] if name in NOT_TAKEN else []
    assert flight.said == expected
