"""What a vehicle says about itself: versions, modes, component metadata; tests of its motors."""

import json
import lzma
import math

import pytest

from stack_flights import Flight, Link
from xtdrone_autopilot.mavlink.description import metadata
from xtdrone_autopilot.mavlink.dialect import mavlink
from xtdrone_autopilot.parameters.store import table
from xtdrone_core.modes import Mode, custom_mode

ACCEPTED, DENIED, UNSUPPORTED = (mavlink.MAV_RESULT_ACCEPTED, mavlink.MAV_RESULT_DENIED,
                                 mavlink.MAV_RESULT_UNSUPPORTED)


@pytest.fixture(scope="module")
def flight():
    flight = Flight()
    flight.run(0.1)
    return flight


def ask(flight, number, *params):
    """Replies to a command: the messages, and the result."""
    flight.links.replies.clear()
    message = mavlink.MAVLink_command_long_message(
        1, 1, number, 0, *params, *[0.0] * (7 - len(params)))
    message._header = mavlink.MAVLink_header(message.id, srcSystem=255, srcComponent=190)
    flight.messages.handle(Link, message)
    *messages, answer = flight.links.replies
    return messages, answer.result


def request(flight, name, *params):
    return ask(flight, mavlink.MAV_CMD_REQUEST_MESSAGE,
               getattr(mavlink, f"MAVLINK_MSG_ID_{name}"), *params)


@pytest.mark.parametrize("command", [
    (mavlink.MAV_CMD_REQUEST_PROTOCOL_VERSION, 1),
    (mavlink.MAV_CMD_REQUEST_MESSAGE, mavlink.MAVLINK_MSG_ID_PROTOCOL_VERSION)])
def test_the_protocol_is_mavlink_2(flight, command):
    (message,), result = ask(flight, *command)
    assert result == ACCEPTED
    assert (message.version, message.min_version, message.max_version) == (200, 100, 200)


def test_modes_are_listed_all_or_one(flight):
    modes, result = request(flight, "AVAILABLE_MODES", 0)
    assert result == ACCEPTED
    assert {m.custom_mode for m in modes} == {custom_mode(mode) for mode in Mode}
    assert [m.mode_index for m in modes] == list(range(1, len(Mode) + 1))
    named = {m.custom_mode: (m.standard_mode, m.mode_name) for m in modes}
    assert named[custom_mode(Mode.LOITER)] == (0, b"Hold")  # as PX4 names it
    assert named[custom_mode(Mode.RTL)] == (5, b"")  # RETURN_HOME of MAV_STANDARD_MODE
    (third,), _ = request(flight, "AVAILABLE_MODES", 3)
    assert third.custom_mode == modes[2].custom_mode


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
    row, = (row for row in parameters["parameters"] if row["name"] == "MPC_XY_CRUISE")
    assert row["units"] == "m/s" and row["type"] == "Float"


@pytest.mark.parametrize("value, seconds, function, result, motor", [
    (0.4, 0.5, 1, ACCEPTED, 0), (0.4, 0.5, 1104, ACCEPTED, 3), (0.4, 9.0, 2, ACCEPTED, 1),
    (0.4, 0.5, 12, ACCEPTED, None),  # PX4 has that function; this vehicle has no such motor
    (math.nan, 0.5, 1, ACCEPTED, None), (0.4, 0.0, 1, ACCEPTED, None),
    (0.4, 0.5, 99, UNSUPPORTED, None)])
def test_a_motor_turns_for_its_test(value, seconds, function, result, motor):
    flight = Flight()
    flight.run(0.1)
    assert ask(flight, mavlink.MAV_CMD_ACTUATOR_TEST, value, seconds, 0, 0, function)[1] == result
    turning = []
    for _ in range(800):
        flight.run(0.004)
        turning.append([k for k, u in enumerate(flight.autopilot.commands[0]) if u])
    steps = 0 if motor is None else round(min(seconds, 3.0) * 250)
    assert all(motors == [motor] for motors in turning[:max(steps - 1, 0)])
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
