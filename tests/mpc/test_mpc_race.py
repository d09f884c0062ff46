"""Races by sampling model predictive control: the path, its cost, and flights."""

import numpy as np
import pytest

from xtdrone_core import Scenario
from xtdrone_core.racing.track import read_track
from xtdrone_core.scenario.vehicles import fleet
from xtdrone_mpc.agent import MppiAgent
from xtdrone_mpc.costs import race
from xtdrone_mpc.race import RacePath
from xtdrone_sim.simulation import Simulation

LEVEL, REST = np.array([0.0, 0.0, 0.0, 1.0]), np.zeros(3)
SWING = """
laps: 1
gates:
  - {pos: [4, 0, 3], size: 1.8}
  - {pos: [12, 3, 3], yaw: 1.57, size: 1.8, move: [1.5, 0, 0], period: 5}
  - {pos: [4, 6, 3], yaw: 3.14, size: 1.8}
  - {pos: [-4, 3, 3], yaw: -1.57, size: 1.8}
"""


@pytest.fixture
def path():
    return RacePath(read_track("eight"), 0.4, 1.5)


def seen(path, speeds=30.0):
    return path.references(0.0, 2, np.full(2, speeds))[0]


def cost(reference, pos, vel=REST):
    return race(np.asarray(pos, float), LEVEL, np.asarray(vel, float), REST, np.zeros(4), reference)


def test_progress_is_rewarded_and_leaving_the_tunnel_costs(path):
    reference = seen(path)
    here, ahead = path.lap.at(np.array([0.0, 1.0]))[0]
    assert cost(reference, here) - cost(reference, ahead) == pytest.approx(1.0, abs=0.05)
    left = read_track("eight").gates[0].axes()[1]
    assert cost(reference, here + 0.3 * left) == pytest.approx(cost(reference, here), abs=0.05)
    assert cost(reference, here + 0.5 * left) > cost(reference, here) + 20.0


def test_speed_has_a_limit_that_the_reference_gives(path):
    slow, quick = seen(path, 3.0), seen(path)
    here = path.lap.at(np.array([0.0]))[0][0]
    assert cost(slow, here, [0, 5, 0]) == pytest.approx(cost(quick, here, [0, 5, 0]) + 10.0)


def test_the_tunnel_narrows_at_gates(path):
    reference = seen(path)
    tunnel = reference[3:].reshape(-1, 4)
    gate = read_track("eight").gates[0]
    apart = np.linalg.norm(tunnel[:, :3] - gate.pos, axis=1)
    assert tunnel[apart.argmin(), 3] == pytest.approx(0.36)
    assert np.diff(tunnel[apart.argmin() :, 3]).min() > -1e-9 or tunnel[:, 3].max() <= 1.5


def test_a_place_is_found_round_the_lap(path):
    for k, at in enumerate(np.arange(0.0, 2 * path.lap.length, 2.0)):
        path.find(path.lap.at(np.array([at]))[0][0])
        assert path.place == pytest.approx(at, abs=0.1), k


def test_the_path_goes_along_with_a_gate_that_moves(tmp_path):
    file = tmp_path / "swing.yaml"
    file.write_text(SWING)
    track = read_track(file)
    path = RacePath(track, 0.4, 1.5)
    path.place = float(path.lap.gates[1])
    for t in (0.0, 1.25, 3.75):
        rows = path.references(t, 3, np.full(3, 30.0))
        gate = track.gates[1].pos + track.gates[1].displacement(t + 0.06)
        apart = np.linalg.norm(rows[2, 3:].reshape(-1, 4)[:, :3] - gate, axis=1)
        assert apart.min() < 0.2


@pytest.mark.long
def test_it_races_through_a_gate_that_moves_and_brakes(tmp_path):
    file = tmp_path / "swing.yaml"
    file.write_text(SWING)
    agent = MppiAgent(rollouts=128, horizon=30, speed=8.0)
    scenario = Scenario(fleet("iris", 1), track=str(file), gps="rtk", speed=0.0)
    simulation = Simulation(scenario, agent=agent, links=False)
    try:
        simulation.run()
        laps = simulation.race.summary()["vehicles"][0]
    finally:
        simulation.close()
    assert not simulation.crashes and agent.goals_reached() == {"laps": (1, 1)}
    assert len(laps["laps"]) == 1 and laps["missed_gates"] == 0
    assert laps["best_lap_s"] < 10.0
