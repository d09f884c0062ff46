"""One scheme in both simulators: an own one, settling, bad radio, a leader that is lost."""

from pathlib import Path

import numpy as np
import pytest

from xtdrone_core import Scenario
from xtdrone_core.command import main
from xtdrone_core.scenario import fleet, grid
from xtdrone_formation import Radio, analysis, scheme
from xtdrone_formation.agents import FormationAgent
from xtdrone_formation.schemes import SteeredLeader
from xtdrone_formation.simple_simulator import SimpleSimulator
from xtdrone_formation.simple_simulator import fly as fly_simply
from xtdrone_sim.simulation import Simulation

ROOT = Path(__file__).resolve().parents[1]
SHAPES = ("cube", "pyramid", "triangle")
SIMULATORS = ("simple", "full")


@pytest.fixture
def examples(monkeypatch):
    """docs/examples as a user has it on PYTHONPATH."""
    monkeypatch.syspath_prepend(str(ROOT / "docs" / "examples"))


def track(simulator, agent, limit_s=200.0):
    """Flies an Agent; returns times (T,) [s] and true places (T, N, 3) [m] at every 20 ms."""
    rows = []
    if simulator == "simple":
        assert fly_simply(SimpleSimulator(grid(agent.n), noise=0.05), agent, limit_s,
                          lambda s: rows.append((s.t_us, s.pos.copy())))
    else:
        scenario = Scenario(fleet("iris", agent.n), speed=0.0, gps="rtk", log="none")
        simulation = Simulation(scenario, agent=agent, links=False)
        try:
            while not agent.done and simulation.t_us < limit_s * 1e6:
                simulation.step()
                if simulation.t_us % 20_000 == 0:
                    rows.append((simulation.t_us, simulation.state.pos.copy()))
        finally:
            simulation.close()
        assert not simulation.collisions
    assert agent.done
    return np.array([row[0] for row in rows]) * 1e-6, np.array([row[1] for row in rows])


def separation(pos):
    """Least distance between two vehicles while all are at least 1 m up."""
    up = pos[(pos[:, :, 2] > 1.0).all(axis=1)]
    return min(np.linalg.norm(up[:, i + 1:] - up[:, i:i + 1], axis=2).min()
               for i in range(up.shape[1] - 1))


def test_one_scheme_file_settles_alike_in_both_simulators(runs, examples, capsys):
    source = (ROOT / "docs" / "examples" / "my_scheme.py").read_text()
    assert len(source.splitlines()) <= 35
    assert source in (ROOT / "docs" / "formation.md").read_text()
    times = {}
    for seed in ("1", "2", "3"):
        assert main(["formation", "fly", "--scheme", "my_scheme:Cohesive", "--noise", "0.06",
                     "--seed", seed, "--name", "simple"]) == 0
        assert main(["fly", "formation", "--n", "9", "--gps", "rtk", "--seed", seed, "--name",
                     "full", "--set", "scheme=my_scheme:Cohesive"]) == 0
    for name in SIMULATORS:
        for suffix in ("", "-2", "-3"):
            flight = analysis.load(runs / (name + suffix))
            assert flight.summary()["landed"]
            assert flight.summary()["min_separation_m"] >= 1.3
            times.setdefault(name, []).append([w.settle_time for w in flight.windows])
    simple, full = (np.median(np.array(times[name], dtype=float), axis=0) for name in SIMULATORS)
    assert simple.shape == (3,)
    np.testing.assert_array_less(np.abs(full - simple), 0.2 * np.minimum(full, simple))
    plot = runs / "both.png"
    assert main(["formation", "compare", str(runs / "simple"), str(runs / "full"), "--out",
                 str(plot)]) == 0
    assert plot.stat().st_size > 30_000
    assert "simple" in capsys.readouterr().out


@pytest.mark.parametrize("name", ["centralised", "consensus", "consensus_acceleration"])
@pytest.mark.parametrize("simulator", SIMULATORS)
def test_loss_and_delay_leave_a_bounded_error_and_no_collision(simulator, name):
    """20 % of the packets lost, the rest 200 ms late."""
    commands = []
    agent = FormationAgent(9, SHAPES, name, delay=0.2, loss=0.2, formation_s=18.0,
                           on_event=lambda t, event, **v: commands.append((t, event, v)))
    t, pos = track(simulator, agent)
    assert separation(pos) >= 1.0
    ends = [c[0] * 1e-6 for c in commands if c[1] in ("formation", "return")]
    for begin, end, shape in zip(ends, ends[1:], [c[2] for c in commands if c[1] == "formation"]):
        late = (t > end - 4.0) & (t < end)
        error = np.linalg.norm(pos[late, 1:] - pos[late, :1] - shape["slots"], axis=2)
        assert error.max() < 0.6
        assert np.sqrt(np.mean(error ** 2)) < 0.3
    network = agent.formation.network
    assert 0.15 < network.lost / network.sent < 0.25


class LosesLeader(FormationAgent):
    """Its leader flies east, falls silent on the way, stops unheard, and is heard again later."""

    def __init__(self, n, name, on_event):
        leader, follower = scheme(name, Radio(delay=0.04))
        steered = SteeredLeader(leader.radio)
        steered.topology = type(leader).topology
        super().__init__(n, ("pyramid",), (steered, follower), formation_s=42.0, on_event=on_event)

    def steer(self, t_us, estimates, out):
        t = (t_us - self._command_us) * 1e-6
        inside = self._index == 0
        self.formation.leader.velocity = np.array([2.0 * (inside and 10 <= t < 14), 0.0, 0.0])
        self.formation.network.silent[0] = inside and 13 <= t < 33
        super().steer(t_us, estimates, out)


@pytest.mark.parametrize("name", ["centralised", "consensus", "consensus_acceleration"])
@pytest.mark.parametrize("simulator", SIMULATORS)
def test_the_formation_holds_while_the_leader_is_lost(simulator, name):
    events = []
    agent = LosesLeader(9, name, lambda t, event, **v: events.append((t, event, v)))
    t, pos = track(simulator, agent)
    begin, slots = next((e[0] * 1e-6, np.array(e[2]["slots"])) for e in events
                        if e[1] == "formation")

    def at(seconds):
        return pos[np.searchsorted(t, begin + seconds)]

    lost, later, back = at(27.0), at(32.5), at(41.5)
    assert separation(pos) >= 1.0
    np.testing.assert_allclose(lost[1:], later[1:], atol=0.25)  # they hang still
    shape = later[1:] - later[1:].mean(axis=0)
    np.testing.assert_allclose(shape, slots - slots.mean(axis=0), atol=0.4)
    assert np.linalg.norm(later[1:] - later[0] - slots, axis=1).min() > 0.5  # it went on alone
    assert np.linalg.norm(back[1:] - back[0] - slots, axis=1).max() < 0.45
