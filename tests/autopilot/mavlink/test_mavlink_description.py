"""What a vehicle says about itself: versions, modes, component metadata; tests of its motors."""

import json
import lzma
import math

import pytest

from mission_records import Listener
from stack_flights import Flight, from_client
from xtdrone_autopilot.mavlink.description import metadata
from xtdrone_autopilot.parameters.store import table
from xtdrone_core.mavlink.dialect import mavlink
from xtdrone_core.modes import Mode, custom_mode, ros_name

ACCEPTED, DENIED, UNSUPPORTED = (
    mavlink.MAV_RESULT_ACCEPTED,
    mavlink.MAV_RESULT_DENIED,
    mavlink.MAV_RESULT_UNSUPPORTED,
)


@pytest.fixture(scope="module")
def flight():
    flight = Flight()
    flight.run(0.1)
    return flight


def ask(flight, number, *params):
    """Replies to a command: the messages, and the result."""
    flight.links.replies.clear()
    message = mavlink.MAVLink_command_long_message(
        1, 1, number, 0, *params, *[0.0] * (7 - len(params))
    )
    flight.send(from_client(message))
    *messages, answer = flight.links.replies
    return messages, answer.result


def streamed(flight, name):
    """A message of the telemetry, as it is now."""
    listener = Listener(flight.autopilot)
    listener.broadcast_stream(0, name, flight.simulation.t_us)
    return listener.seen[0][1]


def request(flight, name, *params):
    return ask(
        flight, mavlink.MAV_CMD_REQUEST_MESSAGE, getattr(mavlink, f"MAVLINK_MSG_ID_{name}"), *params
    )


@pytest.mark.parametrize(
    "command",
    [
        (mavlink.MAV_CMD_REQUEST_PROTOCOL_VERSION, 1),
        (mavlink.MAV_CMD_REQUEST_MESSAGE, mavlink.MAVLINK_MSG_ID_PROTOCOL_VERSION),
    ],
)
def test_the_protocol_is_mavlink_2(flight, command):
    (message,), result = ask(flight, *command)
    assert result == ACCEPTED
    assert (message.version, message.min_version, message.max_version) == (200, 100, 200)


# AVAILABLE_MODES of real PX4 v1.15.4: standard mode, custom mode, properties, name.
PX4_MODES = [
    (0, 0x10000, 1, b"Manual"),
    (0, 0x20000, 0, b"Altitude"),
    (0, 0x30000, 0, b"Position"),
    (7, 0x4040000, 1, b""),
    (0, 0x3040000, 1, b"Hold"),
    (5, 0x5040000, 1, b""),
    (0, 0x2030000, 1, b"Position Slow"),
    (0, 0x50000, 1, b"Acro"),
    (0, 0xA0000, 3, b"Termination"),
    (0, 0x60000, 1, b"Offboard"),
    (0, 0x70000, 1, b"Stabilized"),
    (9, 0x2040000, 1, b""),
    (8, 0x6040000, 1, b""),
    (0, 0x8040000, 1, b"Follow Target"),
    (0, 0x9040000, 1, b"Precision Landing"),
    (0, 0x1030000, 1, b"Orbit"),
    (0, 0xA040000, 1, b"VTOL Takeoff"),
    *[(0, 0x40000 | sub << 24, 2, b"(Mode not available)") for sub in range(11, 19)],
]


def test_modes_are_listed_as_by_px4(flight):
    modes, result = request(flight, "AVAILABLE_MODES", 0)
    assert result == ACCEPTED
    assert [(m.standard_mode, m.custom_mode, m.properties, m.mode_name) for m in modes] == PX4_MODES
    assert [(m.number_modes, m.mode_index) for m in modes] == [(25, k) for k in range(1, 26)]
    assert {custom_mode(mode) for mode in Mode} <= {m.custom_mode for m in modes}
    (third,), _ = request(flight, "AVAILABLE_MODES", 3)
    assert third.to_dict() == modes[2].to_dict()
    assert request(flight, "AVAILABLE_MODES", 26) == ([], mavlink.MAV_RESULT_DENIED)


@pytest.mark.parametrize(
    "sub, text",
    [
        (1, "Unsupported auto mode"),
        (10, "Unsupported auto mode"),
        (19, "Unsupported auto mode"),
        (18, "Switching to External 8 is currently not available"),
    ],
)
def test_auto_modes_that_cannot_be_flown_are_refused(flight, sub, text):
    before = flight.autopilot.status["mode"][0]
    _, result = ask(flight, mavlink.MAV_CMD_DO_SET_MODE, 1, 4, sub)
    assert result == mavlink.MAV_RESULT_TEMPORARILY_REJECTED
    assert flight.said[-1] == text
    assert flight.autopilot.status["mode"][0] == before


def test_component_metadata_names_files_that_are_there(flight):
    (message,), result = request(flight, "COMPONENT_METADATA")
    assert result == ACCEPTED
    path = message.uri.decode().removeprefix("mftp://")
    data = metadata.files()[path]
    assert message.file_crc == metadata.crc32(data)
    general = json.loads(lzma.decompress(data))
    for kind in general["metadataTypes"]:
        content = metadata.files()[kind["uri"].removeprefix("mftp://")]
        assert kind["fileCrc"] == metadata.crc32(content)
    parameters = json.loads(lzma.decompress(metadata.files()["etc/extras/parameters.json.xz"]))
    assert {row["name"] for row in parameters["parameters"]} == set(table())
    (row,) = (row for row in parameters["parameters"] if row["name"] == "MPC_XY_CRUISE")
    assert row["units"] == "m/s" and row["type"] == "Float"


@pytest.mark.slow
@pytest.mark.parametrize(
    "value, seconds, function, result, motor",
    [
        (0.4, 0.5, 1, ACCEPTED, 0),
        (0.4, 0.5, 1104, ACCEPTED, 3),
        (0.4, 9.0, 2, ACCEPTED, 1),
        (0.4, 0.5, 12, ACCEPTED, None),  # PX4 has that function; this vehicle has no such motor
        (math.nan, 0.5, 1, ACCEPTED, None),
        (0.4, 0.0, 1, ACCEPTED, None),
        (0.4, 0.5, 99, UNSUPPORTED, None),
    ],
)
def test_a_motor_turns_for_its_test(value, seconds, function, result, motor):
    flight = Flight()
    flight.run(0.1)
    assert ask(flight, mavlink.MAV_CMD_ACTUATOR_TEST, value, seconds, 0, 0, function)[1] == result
    turning = []
    for _ in range(800):
        flight.run(0.004)
        turning.append([k for k, u in enumerate(flight.autopilot.commands[0]) if u])
    steps = 0 if motor is None else round(min(seconds, 3.0) * 250)
    assert all(motors == [motor] for motors in turning[: max(steps - 1, 0)])
    assert not any(turning[steps:])


def test_no_motor_is_tested_while_armed_or_where_tests_are_off():
    flight = Flight()
    flight.run(0.1)
    flight.autopilot.parameters.set(0, "COM_MOT_TEST_EN", 0)
    assert ask(flight, mavlink.MAV_CMD_ACTUATOR_TEST, 0.4, 1, 0, 0, 1)[1] == DENIED
    flight.autopilot.parameters.set(0, "COM_MOT_TEST_EN", 1)
    assert ask(flight, mavlink.MAV_CMD_ACTUATOR_TEST, 0.4, 3, 0, 0, 1)[1] == ACCEPTED
    flight.wait(lambda: flight.autopilot.status["ready"][0], 5)
    assert flight.autopilot.commander.arm(0, flight.simulation.t_us, force=True).accepted
    assert ask(flight, mavlink.MAV_CMD_ACTUATOR_TEST, 0.4, 1, 0, 0, 1)[1] == DENIED
    flight.run(0.1)
    assert not flight.autopilot.actuator_test.running


@pytest.mark.parametrize(
    "numbers, flown, seen, name",
    [
        ((3, 2), Mode.POSCTL, 0x2030000, "POSCTL"),
        ((4, 9), Mode.PRECLAND, 0x9040000, "AUTO.PRECLAND"),
        ((3, 1), Mode.POSCTL, 0x30000, "POSCTL"),
        ((4, 0), Mode.MISSION, 0x4040000, "AUTO.MISSION"),
    ],
)
def test_variants_of_modes_are_seen_as_by_px4(flight, numbers, flown, seen, name):
    _, result = ask(flight, mavlink.MAV_CMD_DO_SET_MODE, 1, *numbers)
    assert result == ACCEPTED and flight.mode == flown
    message = streamed(flight, "CURRENT_MODE")
    assert (message.custom_mode, message.intended_custom_mode) == (seen, seen)
    assert ros_name(seen) == name
    ask(flight, mavlink.MAV_CMD_DO_SET_MODE, 1, 3, 0)
    message = streamed(flight, "CURRENT_MODE")
    assert message.custom_mode == 0x30000


def test_an_orbit_is_seen_as_one_and_forbids_arming(flight):
    flight.wait(lambda: flight.autopilot.status["ready"][0], 5)
    _, result = ask(flight, mavlink.MAV_CMD_DO_ORBIT, 10, 2, 0, 0, math.nan, math.nan, math.nan)
    assert result == ACCEPTED and flight.mode == Mode.LOITER
    beat = streamed(flight, "HEARTBEAT")
    assert (beat.custom_mode, beat.base_mode) == (0x1030000, 0x11)  # as recorded of PX4
    assert "not for take-off" in flight.autopilot.commander.arm(0, flight.simulation.t_us).reason
