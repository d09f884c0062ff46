"""What the parts of a simulation take over when its fleet changes."""

import numpy as np
import pytest

from xtdrone_autopilot.autopilot import EmbeddedAutopilot
from xtdrone_core import Scenario, ScenarioError
from xtdrone_core.scenario.vehicles import parse_vehicles
from xtdrone_sim.engines.embedded import EmbeddedEngine
from xtdrone_sim.observers.laps import LapTimer
from xtdrone_sim.simulation import Simulation

ONE, TWO = (parse_vehicles(text) for text in ("iris@0,0", "iris@0,0; iris@9,0"))


@pytest.fixture
def simulation(request):
    """One vehicle; the parameter gives options of the scenario."""
    options = getattr(request, "param", {})
    built = Simulation(Scenario(ONE, speed=0.0, log="none", **options), links=False)
    yield built
    built.close()


@pytest.mark.parametrize(
    "simulation", [{"disturbances": "0.02: payload iris_0 0.3 0,0,-0.1"}], indirect=True
)
def test_a_payload_stays_attached(simulation):
    simulation.run(until_us=100_000)
    simulation.change_fleet(TWO)
    simulation.run(until_us=200_000)
    assert simulation.engine.save()["payloads"][0][0] == 0.3


@pytest.mark.parametrize("simulation", [{"track": "eight"}], indirect=True)
def test_a_race_goes_on_with_the_laps_so_far(simulation):
    simulation.run(until_us=20_000)
    simulation.race.laps.lap[0] = 2
    simulation.race.laps.best[0] = 7.0
    simulation.change_fleet(TWO)
    simulation.run(until_us=60_000)
    assert simulation.race.laps.lap.tolist() == [2, 0]
    assert (simulation.race.laps.best[0] == 7.0).all()
    timers = [each for each in simulation.observers if isinstance(each, LapTimer)]
    assert timers == [simulation.race]
    simulation.change_fleet(ONE)
    simulation.run(until_us=100_000)
    assert simulation.race.laps.lap.tolist() == [2]


def test_figures_and_warnings_are_those_of_the_whole_flight(simulation):
    simulation.change_fleet(TWO)
    simulation.run(until_us=100_000)
    simulation.figures.separation, simulation.figures.closest = 3.0, ("iris_0", "iris_1")
    simulation.console.say(0, 0, 4, "low battery")
    simulation.change_fleet(ONE)
    assert simulation.figures.separation == 3.0
    assert simulation.console.warnings == 1
    assert simulation.last_warning.endswith("low battery")


@pytest.mark.parametrize("part", ["overlap", "autopilot"])
def test_a_change_that_fails_leaves_the_running_simulation_as_it_was(simulation, monkeypatch, part):
    simulation.run(until_us=40_000)
    if part == "overlap":  # where the new vehicle starts
        simulation.engine.place(0, np.array([9.1, 0, 0.1, 0, 0, 0, 1, *[0.0] * 6]))
    before, observers = simulation.parts, list(simulation.observers)
    state = simulation.state.pos.copy()
    closed = []
    close = EmbeddedEngine.close
    monkeypatch.setattr(EmbeddedEngine, "close", lambda self: (closed.append(self), close(self)))
    if part == "autopilot":

        def fail(self, former, rows):
            raise ScenarioError("a port is in use")

        monkeypatch.setattr(EmbeddedAutopilot, "regroup", fail)
    with pytest.raises(ScenarioError, match="overlap|in use"):
        simulation.change_fleet(TWO)
    assert simulation.parts is before and simulation.observers == observers
    assert simulation.engine is before.engine and simulation.scenario.n == 1
    assert len(closed) == 1 and closed[0] is not before.engine
    assert (simulation.state.pos == state).all()
    simulation.run(until_us=80_000)
    assert simulation.t_us == 80_000
