"""The table at the end of a flight."""

import json
import time
from types import SimpleNamespace

import numpy as np
import pytest

from xtdrone_core import FleetState, Scenario
from xtdrone_core.contracts import Observer
from xtdrone_core.scenario.vehicles import fleet
from xtdrone_sim import pacer
from xtdrone_sim.observers import figures
from xtdrone_sim.simulation import Simulation


@pytest.mark.parametrize(
    "known, said",
    [
        (("plot", "view", "sim"), "xtdrone plot latest, xtdrone view latest"),
        (("view",), "xtdrone view latest"),
        ((), ""),
    ],
)
def test_the_table_names_the_commands_that_show_the_flight(monkeypatch, known, said):
    monkeypatch.setattr(figures.registry, "entries", lambda group: known)
    assert figures.commands_that_show("latest") == said


@pytest.mark.slow
def test_the_factor_is_that_of_the_flight_in_table_and_summary(tmp_path, monkeypatch):
    simulation = Simulation(Scenario(fleet("iris", 1), speed=0.0), tmp_path, links=False)
    simulation.run(until_us=500_000)
    simulation.close()
    later = time.monotonic() + 100.0  # plots are drawn
    monkeypatch.setattr(pacer, "time", SimpleNamespace(monotonic=lambda: later))
    line = figures.closing_lines(simulation)[0]
    factor = json.loads((tmp_path / "summary.json").read_text())["real_time_factor"]
    printed, *words = line.split()[-4:]
    assert float(printed) == pytest.approx(factor, abs=0.011)  # both are rounded
    assert words == ["x", "real", "time"]


@pytest.mark.slow
def test_a_stopped_flight_says_so_and_names_incomplete_logs(tmp_path, monkeypatch):
    (tmp_path / "console").mkdir()
    simulation = Simulation(Scenario(fleet("iris", 1), speed=0.0), tmp_path, links=False)
    stopping = Observer()
    monkeypatch.setattr(stopping, "on_step", lambda *state: simulation.stop())
    simulation.observers.append(stopping)
    simulation.run(until_us=500_000)
    simulation.log_gaps.begin(tmp_path / "a.ulg", 4_000, "No space left on device")
    simulation.close()
    lines = {line[:18].strip(): line[18:] for line in figures.closing_lines(simulation)}
    assert lines["ended"] == "stopped by you, or by a station"
    assert lines["incomplete logs"].startswith("1, the first a.ulg: No space left on device")


class Delayed:
    """An autopilot whose estimates are the truth of a while ago, where it says so."""

    def __init__(self, delays_us):
        self.delays_us, self.truths = np.array(delays_us), {}
        self.t_us = 0

    def estimates(self):
        pos = [self.at(self.t_us - delay)[0] for delay in self.delays_us]
        return SimpleNamespace(pos=np.array(pos), armed=np.ones(len(pos), dtype=bool))

    @staticmethod
    def at(t_us):
        """Position and velocity on a circle at 18 m/s."""
        angle = 18.0 / 40.0 * t_us * 1e-6
        c, s = np.cos(angle), np.sin(angle)
        return np.array([40 * c, 40 * s, 5.0]), 18.0 * np.array([-s, c, 0.0])


class Telemetered(Delayed):
    def estimated_us(self):
        return self.t_us - self.delays_us


@pytest.mark.parametrize("kind, minimum, maximum", [(Delayed, 1.2, 1.8), (Telemetered, 0.0, 0.002)])
def test_an_estimate_is_compared_with_the_truth_of_its_own_time(kind, minimum, maximum):
    autopilot = kind([0, 37_000, 100_000, 137_000])
    monitor = SimpleNamespace(crashed=np.zeros(4, dtype=bool), on_ground=np.ones(4, dtype=bool))
    measured = figures.FlightFigures(list("abcd"), monitor, autopilot)
    state = FleetState.zeros(4, 4)
    for t_us in range(0, 3_000_000, 100_000):
        autopilot.t_us = t_us
        state.pos[:], state.vel[:] = autopilot.at(t_us)
        if t_us >= 200_000:
            measured.on_step(t_us, state, None)
        elif kind is Telemetered:  # before the first estimates
            measured.on_step(t_us, state, None)
            measured.regroup(figures.FlightFigures(list("abcd"), monitor, autopilot))
    rms, _ = measured.estimate_errors()
    assert minimum <= rms <= maximum
