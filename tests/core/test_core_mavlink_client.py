"""The client's side of MAVLink's protocols, over a link that loses messages."""

import contextlib
import itertools

import pytest
from pymavlink.dialects.v20 import common as mavlink

from xtdrone_core.mavlink.client import MavlinkClient, NoAnswer, Refused

TEXT = mavlink.MAVLink_statustext_message(4, b"too far away")


class Lossy:
    """A way to a vehicle that answers with messages; every so-manieth of them is lost."""

    system = 254

    def __init__(self, answers, lost=0):
        self.answers, self.lost = answers, lost
        self.sent, self.heard = [], []
        self._count = itertools.count(1)

    def send(self, message):
        self.sent.append(message)
        self.heard += [
            answer
            for answer in self.answers(message)
            if not self.lost or next(self._count) % self.lost
        ]

    @contextlib.contextmanager
    def listen(self, *kinds):
        def receive(seconds):
            while self.heard:
                message = self.heard.pop(0)
                if message.get_type() in kinds:
                    return message
            return None

        yield receive


def client(answers, lost=0):
    return MavlinkClient(1, Lossy(answers, lost), wait_s=0.01)


def test_a_command_is_repeated_until_it_is_acknowledged():
    def answers(m):
        if m.confirmation == 2:
            yield mavlink.MAVLink_command_ack_message(m.command, 0, target_system=77)
            yield TEXT
            yield mavlink.MAVLink_command_ack_message(m.command, 4, target_system=254)

    asked = client(answers)
    assert asked.command(400, 1) == (4, "too far away")
    with pytest.raises(NoAnswer, match="vehicle 1 does not acknowledge command 16"):
        client(lambda m: ()).command(16)


def test_parameters_that_are_lost_are_asked_for_again():
    names = [b"A", b"B", b"C", b"D", b"E"]

    def value(k):
        return mavlink.MAVLink_param_value_message(names[k], 0.5 * k, 9, len(names), k)

    def answers(m):
        if m.get_type() == "PARAM_REQUEST_LIST":
            yield from map(value, range(len(names)))
        else:
            yield value(m.param_index)

    asked = client(answers, lost=2)
    assert asked.parameters() == {name.decode(): 0.5 * k for k, name in enumerate(names)}
    assert asked.params["C"] == (1.0, 9)


@pytest.mark.parametrize("told, now", [((1.0, 2.0), 2.0), ((1.0,), 1.0), ((2.0, 1.0), 2.0)])
def test_a_change_told_late_is_no_answer_to_a_parameter_that_is_set(told, now):
    def answers(m):
        for value in told:
            yield mavlink.MAVLink_param_value_message(b"A", value, 9, 1, 0)

    asked = client(answers)
    assert asked.set_parameter("A", 2.0, 9) == (now, "") and asked.params["A"] == (now, 9)


@pytest.mark.parametrize("seqs", [(0, 1, 2), (0, 0, 1, 9, 1, 2)])
def test_a_mission_is_sent_as_the_vehicle_asks_for_it(seqs):
    items = [
        dict(
            frame=6,
            command=16,
            current=0,
            autocontinue=1,
            param1=0,
            param2=0,
            param3=0,
            param4=0,
            x=k,
            y=0,
            z=10.0,
        )
        for k in range(3)
    ]
    wanted, held = iter(seqs), []

    def answers(m):
        if m.get_type() == "MISSION_ITEM_INT":
            held.append(m.x)
        yield mavlink.MAVLink_mission_request_int_message(254, 190, 0, 1)  # of the geofence
        for seq in wanted:
            yield mavlink.MAVLink_mission_request_int_message(254, 190, seq, 0)
            if seq < len(items):
                return
        yield mavlink.MAVLink_mission_ack_message(254, 190, 0, 0)

    client(answers).upload(items)
    assert held == [seq for seq in seqs if seq < len(items)]


def test_a_mission_is_refused_for_the_reason_that_the_vehicle_gives():
    refused = mavlink.MAVLink_mission_ack_message(254, 190, mavlink.MAV_MISSION_INVALID, 0)
    with pytest.raises(Refused, match="vehicle 1: too far away") as error:
        client(lambda m: (TEXT, refused)).clear()
    assert error.value.result == mavlink.MAV_MISSION_INVALID
    with pytest.raises(Refused, match="vehicle 1: MAV_MISSION_INVALID"):
        client(lambda m: (refused,)).clear()
    with pytest.raises(NoAnswer, match="does not answer: no MISSION_COUNT"):
        client(lambda m: ()).download()
