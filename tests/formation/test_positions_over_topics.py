"""A fleet over topics of which a vehicle never has a position."""

import struct

import pytest

from xtdrone_core.errors import XtdroneError
from xtdrone_formation.topics.fleet import RosFleet


class Ros:
    """A node without a network; state() lets a vehicle say its state at a time [s]."""

    def __init__(self):
        self.handlers, self.polls = {}, 0

    def mavros(self, name):
        return f"/{name}/mavros"

    def listen(self, topic, kind, handle):
        self.handlers[topic] = handle

    def output(self, topic, kind, latched=False):
        return None

    def ended(self):
        self.polls += 1
        return self.polls > 3

    def state(self, name, seconds):
        self.handlers[f"/{name}/mavros/state"](struct.pack("<4I", 0, seconds, 0, 0))


class Impatient(RosFleet):
    """A fleet that does not wait for messages."""

    def wait(self, timeout=0.0):
        return super().wait(0.0)


@pytest.mark.parametrize("seconds, gives_up", [(50, False), (61, True)])
def test_it_is_given_up_after_a_minute_of_simulated_time(seconds, gives_up):
    ros = Ros()
    fleet = Impatient(ros, ["iris_0", "iris_1"])
    ros.state("iris_0", 100)
    assert list(fleet.periods()) == []
    ros.polls = 0
    ros.state("iris_0", 100 + seconds)
    if not gives_up:
        assert list(fleet.periods()) == []
        return
    with pytest.raises(XtdroneError, match="iris_0, iris_1: no position after 60 s"):
        list(fleet.periods())


def test_a_fleet_that_is_not_there_is_waited_for():
    assert list(Impatient(Ros(), ["iris_0"]).periods()) == []
