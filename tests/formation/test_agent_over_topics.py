"""An Agent over topics asks the simulation how far the missions are."""

import pytest

from xtdrone_control.agents import MissionAgent
from xtdrone_core import ControlError
from xtdrone_core.contracts import HealthAware
from xtdrone_formation.topics import fleet

STATE = {"waypoints": [1, 3], "stays": True, "ends_early": "mission item 1 has no end"}


@pytest.fixture
def simulation(monkeypatch):
    """Stands where a control socket answers; returns what was asked."""
    asked = []

    class Client:
        def __init__(self, instance):
            if instance != 0:
                raise ControlError("no simulation")

        def request(self, what, **values):
            asked.append(what)
            return {"health": [STATE]}

    monkeypatch.setattr(fleet, "ControlClient", Client)
    return asked


def test_health_is_asked_for_once_a_second(simulation, monkeypatch):
    now = [10.0]
    monkeypatch.setattr(fleet.time, "monotonic", lambda: now[0])
    log = fleet.EventLog(0)
    for now[0] in (10.0, 10.5, 10.99, 11.0):
        assert log.health() == [STATE]
    assert simulation == ["health", "health"]


@pytest.mark.parametrize("instance", [None, 1])
def test_without_a_simulation_nothing_is_known(simulation, instance, capsys):
    assert fleet.EventLog(instance).health() == []
    assert ("no simulation" in capsys.readouterr().err) == (instance == 1)


def test_the_agent_of_missions_takes_it():
    assert isinstance(MissionAgent(1), HealthAware)
