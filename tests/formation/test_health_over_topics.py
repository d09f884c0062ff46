"""An Agent that flies over topics learns from the simulation how far the missions are."""

import argparse
from types import SimpleNamespace

import numpy as np
import pytest

from xtdrone_core import Estimates, Mode
from xtdrone_formation.topics import agent as agent_topics, fleet

ENDLESS = {"waypoints": (1, 3), "stays": True, "ends_early": "mission item 1 has no end"}


class Log(list):
    """Notes requests, and answers them as a simulation does."""

    client = None

    def __call__(self, t_us, name, **values):
        self.append(name)

    def request(self, op, **values):
        self.append(op)
        return {"health": [ENDLESS]}


class Fleet:
    """A vehicle in the air in AUTO.MISSION, for three and a half seconds."""

    def __init__(self, ros, names):
        self.names, self.n, self.sent = names, len(names), []
        self.ros = SimpleNamespace(kind=lambda name: None)
        Fleet.last = self

    def periods(self):
        yes, zeros = np.ones(1, dtype=bool), np.zeros((1, 3))
        flying = zeros, np.zeros((1, 4)), zeros, zeros, yes, ~yes, np.array([Mode.MISSION]), yes
        for t_us in range(0, 3_500_000, 20_000):
            yield t_us, Estimates(t_us, *flying)

    def send(self, set_points):
        self.sent.append(int(set_points.mode[0]))


def test_a_mission_without_an_end_is_ended_over_topics(monkeypatch, capsys):
    monkeypatch.setattr(agent_topics, "RosFleet", Fleet)
    log = Log()
    ros = SimpleNamespace(fleet=lambda wait: ["iris_0"])
    agent_topics.run(ros, argparse.Namespace(wait=1.0, agent="mission"), log)
    assert Mode.LAND in Fleet.last.sent
    assert "ends early: mission item 1 has no end" in capsys.readouterr().err
    assert log.count("health") == 7  # twice a second


@pytest.mark.parametrize("instance", [None, 4])
def test_without_a_simulation_nothing_is_known_and_it_is_asked_once(instance, capsys):
    health = fleet.Health(fleet.EventLog(instance))
    for t_us in range(0, 3_000_000, 20_000):
        health.update(t_us)
        assert health() == []
    assert capsys.readouterr().err.count("\n") == (instance is not None)
