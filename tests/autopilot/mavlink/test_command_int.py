"""COMMAND_INT as real PX4 v1.15.4 takes it: seven parameters, whatever the frame is."""

import math

import pytest

from stack_flights import Flight, Link
from xtdrone_autopilot.state.answer import ACCEPTED, Answer
from xtdrone_core.mavlink.dialect import mavlink

FRAMES = range(22)  # all of MAV_FRAME
UNSET, NAN_AS_INTEGER = 0x7FFFFFFF, 0x7FF80000
FIRST = 1.0, 2.0, 3.0, 4.0


@pytest.fixture(scope="module")
def flight():
    one = Flight()
    yield one
    one.simulation.close()


@pytest.fixture
def taken(flight):
    """What the commands' handlers get: (number, parameters)."""
    commands = flight.messages.handlers["COMMAND_INT"].__self__
    before, taken = commands.handlers, []

    def record(number):
        return lambda link, params: taken.append((number, list(params))) or Answer(ACCEPTED)

    commands.handlers = {number: record(number) for number in before}
    yield taken
    commands.handlers = before


def send(flight, number, frame, x, y, z=500.0):
    flight.links.replies.clear()
    flight.messages.handle(
        Link, mavlink.MAVLink_command_int_message(1, 1, frame, number, 0, 0, *FIRST, x, y, z)
    )
    return [reply.result for reply in flight.links.replies]


@pytest.mark.parametrize("frame", FRAMES)
def test_every_command_has_the_same_parameters_in_every_frame(flight, taken, frame):
    numbers = sorted(flight.messages.handlers["COMMAND_INT"].__self__.handlers)
    for number in numbers:
        assert send(flight, number, frame, 473977420, -85455940) == [ACCEPTED]
    expected = [*FIRST, 47.397742, -8.545594, 500.0]
    assert len(numbers) > 30
    assert taken == [(number, pytest.approx(expected)) for number in numbers]


@pytest.mark.parametrize("frame", FRAMES)
@pytest.mark.parametrize(
    "x, y, place",
    [
        (UNSET, UNSET, (math.nan, math.nan)),
        (UNSET, 0, (214.7483647, 0.0)),
        (0, UNSET, (0.0, 214.7483647)),
        (7, -3, (7e-7, -3e-7)),
    ],
)
def test_a_place_is_unset_where_both_numbers_are(flight, taken, frame, x, y, place):
    send(flight, mavlink.MAV_CMD_DO_ORBIT, frame, x, y, math.nan)
    ((_, params),) = taken
    assert params == pytest.approx([*FIRST, *place, math.nan], nan_ok=True)


def test_a_nan_that_became_an_integer_is_denied(flight, taken):
    answer = send(flight, mavlink.MAV_CMD_DO_ORBIT, 5, NAN_AS_INTEGER, NAN_AS_INTEGER)
    assert answer == [mavlink.MAV_RESULT_DENIED] and not taken
    assert "NaN sent as an integer" in flight.said[-1]
