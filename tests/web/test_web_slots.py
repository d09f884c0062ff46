"""Slots of formations, from the Agent that flies them and from events of other processes."""

import json

import numpy as np

from xtdrone_core.contracts import SlotProvider
from xtdrone_core.scenario.scenario import Scenario
from xtdrone_core.scenario.vehicles import fleet
from xtdrone_formation.agents import FormationAgent
from xtdrone_sim.simulation import Simulation
from xtdrone_web.events import EventLog


def test_formation_agent_tells_where_its_slots_are():
    agent = FormationAgent(3, ("line",))
    assert isinstance(agent, SlotProvider)
    simulation = Simulation(
        Scenario(fleet("iris", 3), speed=0.0, gps="rtk", log="none"), agent=agent, links=False
    )
    try:
        assert np.isnan(agent.slot_positions(0, simulation.state.pos)).all()  # on the ground
        simulation.run(until_us=26_000_000)
        places = agent.slot_positions(simulation.t_us, simulation.state.pos)
        assert np.isnan(places[0]).all()
        error = np.linalg.norm(places[1:] - simulation.state.pos[1:], axis=1)
        assert error.max() < 0.6
        assert agent.formation.name == "line"
    finally:
        simulation.close()


def test_slots_of_the_event_log(tmp_path):
    log = EventLog(str(tmp_path))
    path = tmp_path / "events.jsonl"

    def add(**event):
        with open(path, "a") as file:
            file.write(json.dumps({"t_us": 1, **event}) + "\n")
        return log.news()

    assert add(event="armed") and log.slots is None
    add(event="formation", formation="V", slots=[[1, 2, 0], [-1, 2, 0]])
    assert log.slots.tolist() == [[1, 2, 0], [-1, 2, 0]]
    for wrong in ("no", [1, 2], [[1], [2, 3]], None, {"a": 1}):
        add(event="formation", formation="V", slots=wrong)
        assert log.slots is None
