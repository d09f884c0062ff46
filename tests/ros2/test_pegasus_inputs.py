"""Speeds of rotors, as Pegasus Simulator's ROS 2 backend takes them."""

import math
from types import SimpleNamespace

import pytest

pytest.importorskip("rosbags")

from xtdrone_ros2.description import RotorRange
from xtdrone_ros2.topics.pegasus_in import RotorSpeeds

ROTORS = [RotorRange(k, 100.0, 1000.0, 1100.0) for k in (3, 0, 9)]


@pytest.fixture
def rotors():
    sent, said = [], []
    link = SimpleNamespace(send=lambda i, message: sent.append(message))
    host = SimpleNamespace(log=lambda name, severity, text: said.append(text))
    made = RotorSpeeds(1, "iris_1", link, host, ROTORS)
    return SimpleNamespace(made=made, sent=sent, said=said)


def tell(rotors, k, speed):
    row = rotors.made.subscriptions[k]
    assert row.name == f"control/rotor{k}/ref"
    row.handle(rotors.made, SimpleNamespace(data=speed))


def test_speeds_are_commands_of_the_rotors_channels(rotors):
    tell(rotors, 0, 600.0)
    tell(rotors, 2, 350.0)
    assert not rotors.sent  # once for each step
    rotors.made.step(8000)
    first, second = rotors.sent
    assert (first.group_mlx, second.group_mlx, first.target_system) == (0, 1, 2)
    assert first.controls[3] == 0.5 and first.controls[0] == 0.0  # the other rotor stands
    assert math.isnan(first.controls[1]) and second.controls[1] == 0.25
    rotors.made.step(12000)
    assert len(rotors.sent) == 2


@pytest.mark.parametrize("speed", [1100.1, -2000.0, math.nan, math.inf])
def test_speeds_that_it_cannot_turn_at_are_refused(rotors, speed):
    tell(rotors, 0, speed)
    rotors.made.step(4000)
    assert not rotors.sent and "rotor0/ref" in rotors.said[0] and "1100" in rotors.said[0]


def test_a_rotor_stands_below_its_slowest_speed(rotors):
    tell(rotors, 1, 60.0)
    rotors.made.step(4000)
    assert rotors.sent[0].controls[0] == 0.0
