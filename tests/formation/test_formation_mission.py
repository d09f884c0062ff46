"""The leader flies a QGroundControl plan of 2 km; eight followers track it."""

import math
from pathlib import Path

import numpy as np
import pytest

import plan_data
from xtdrone_autopilot.navigation import plan_file
from xtdrone_core import Scenario
from xtdrone_core.scenario.vehicles import fleet
from xtdrone_formation.agents import MissionFormation
from xtdrone_sim.simulation import Simulation

CORNERS = ((500.0, 0.0), (500.0, 500.0), (0.0, 500.0), (0.0, 0.0))  # east, north [m]
PLAN = Path(__file__).resolve().parents[2] / "docs" / "missions" / "two_km.plan"


@pytest.fixture(scope="module")
def flight():
    """Events, and time [s], places and velocities of a whole flight, every 20 ms."""
    events, rows = {}, []
    agent = MissionFormation(
        9, "V", hold=1.0, on_event=lambda t, name, **v: events.setdefault(name, (t * 1e-6, v))
    )
    scenario = Scenario(fleet("iris", 9), speed=0.0, gps="rtk", log="none")
    simulation = Simulation(scenario, agent=agent, links=False)
    try:
        simulation.autopilot.missions.load_items(0, plan_file.load(PLAN).items)
        while not agent.done and simulation.t_us < 600e6:
            simulation.step()
            if simulation.t_us % 20_000 == 0:
                state = simulation.state
                rows.append((simulation.t_us * 1e-6, state.pos.copy(), state.vel.copy()))
    finally:
        simulation.close()
    assert agent.done and not simulation.collisions
    return events, *(np.array(values) for values in zip(*rows))


@pytest.mark.slow
@pytest.mark.long
def test_eight_followers_track_a_leader_on_a_mission(flight):
    events, t, pos, vel = flight
    under_way = (t >= events["mission"][0]) & (t <= events["mission_end"][0])
    pos, vel = pos[under_way], vel[under_way]
    for corner in CORNERS:
        assert np.linalg.norm(pos[:, 0, :2] - corner, axis=1).min() < 5.0
    flown = np.linalg.norm(np.diff(pos[:, 0], axis=0), axis=1).sum()
    assert 1950 < flown < 2100
    assert np.linalg.norm(vel[:, 0], axis=1).max() > 7.0
    error = np.linalg.norm(pos[:, 1:] - pos[:, :1] - events["formation"][1]["slots"], axis=2)
    rms = math.sqrt(np.mean(error**2))
    print(f"{flown:.0f} m, slot error {rms:.3f} m RMS, {error.max():.2f} m at most")
    assert rms <= 1.0
    assert error.max() < 4.0
    gap = min(np.linalg.norm(pos[:, i + 1 :] - pos[:, i : i + 1], axis=2).min() for i in range(8))
    assert gap > 1.0


@pytest.mark.slow
@pytest.mark.long  # the next test flies a shorter one
def test_the_fleet_lands_where_the_mission_ended(flight):
    events, _t, pos, _ = flight
    assert "landed" in events
    assert pos[-1, :, 2].max() < 0.3
    assert np.linalg.norm(pos[-1, 0, :2] - CORNERS[-1]) < 3.0


@pytest.mark.long
def test_a_leader_that_would_stay_for_ever_ends_the_mission(tmp_path, capsys):
    places = [plan_data.item(k, x, 0.0, 12.0) for k, x in ((16, 10.0), (17, 20.0), (16, 30.0))]
    path = plan_data.write(tmp_path / "a.plan", *places)
    agent = MissionFormation(3, "V", hold=1.0)
    scenario = Scenario(fleet("iris", 3), speed=0.0, gps="rtk", log="none")
    simulation = Simulation(scenario, agent=agent, links=False)
    try:
        simulation.autopilot.missions.load_items(0, plan_file.load(path).items)
        simulation.run(until_us=200_000_000)
        assert agent.done and simulation.landed.all()
        assert abs(simulation.state.pos[0, 0] - 20.0) < 2.0
        assert simulation.state.pos[:, 2].max() < 0.3
    finally:
        simulation.close()
    assert "leader ends early: mission item 1 (MAV_CMD_NAV_LOITER_UNLIM)" in capsys.readouterr().err
