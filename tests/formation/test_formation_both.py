"""Schemes in the full simulator, or in both: sizes, settling, bad radio, a leader that is lost.

The simple simulator alone is in test_formation_schemes.
"""

import json
from pathlib import Path

import numpy as np
import pytest

from steered_leader import SteeredLeader
from xtdrone_core import Scenario
from xtdrone_core.command import main
from xtdrone_core.scenario.vehicles import fleet
from xtdrone_formation import Radio, scheme
from xtdrone_formation.agents import FormationAgent
from xtdrone_formation.evaluation import analysis
from xtdrone_sim.simulation import Simulation

ROOT = Path(__file__).resolve().parents[2]
SHAPES = ("cube", "pyramid", "triangle")


@pytest.fixture
def examples(monkeypatch):
    """examples/ as a user has it on PYTHONPATH."""
    monkeypatch.syspath_prepend(str(ROOT / "examples"))


def track(agent, limit_s=200.0):
    """Flies an Agent in the full simulator: times (T,) [s], true places (T, N, 3) [m]."""
    rows = []
    scenario = Scenario(fleet("iris", agent.n), speed=0.0, gps="rtk", log="none")
    simulation = Simulation(scenario, agent=agent, links=False)
    try:
        while not agent.done and simulation.t_us < limit_s * 1e6:
            simulation.step()
            if simulation.t_us % 20_000 == 0:
                rows.append((simulation.t_us, simulation.state.pos.copy()))
    finally:
        simulation.close()
    assert agent.done and not simulation.collisions
    return np.array([row[0] for row in rows]) * 1e-6, np.array([row[1] for row in rows])


def separation(pos):
    """Least distance between two vehicles while all are at least 1 m up."""
    return analysis.min_separation(pos[(pos[:, :, 2] > 1.0).all(axis=1)])


@pytest.mark.slow
@pytest.mark.long
def test_eighteen_hold_three_formations_in_the_full_simulator():
    """RMS slot error at most 0.25 m after settling; benchmarks/bench_formation.py flies more."""
    commands = []
    agent = FormationAgent(
        18,
        ("cuboid", "sphere", "diamond"),
        hold=1.0,
        on_event=lambda t, event, **v: commands.append((t * 1e-6, event, v.get("slots"))),
    )
    t, pos = track(agent)
    assert separation(pos) >= 1.0
    assert [event for _, event, _ in commands].count("settled") == 3
    times = [time for time, event, _ in commands if event in ("formation", "return")]
    slots = [slots for _, event, slots in commands if event == "formation"]
    for end, wanted in zip(times[1:], slots, strict=True):
        late = (t > end - 1.0) & (t < end)  # past the 3 s that settle it
        error = np.linalg.norm(pos[late, 1:] - pos[late, :1] - wanted, axis=2)
        assert np.sqrt(np.mean(error**2)) <= 0.25
        assert error.max() < 0.7


@pytest.mark.slow
@pytest.mark.long
def test_one_scheme_file_settles_alike_in_both_simulators(runs, examples, capsys):
    source = (ROOT / "examples" / "my_scheme.py").read_text()
    assert len(source.splitlines()) <= 40
    assert source in (ROOT / "docs" / "formation.md").read_text()
    assert (
        main(
            [
                "formation",
                "simulate",
                "--scheme",
                "my_scheme:Cohesive",
                "--noise",
                "0.06",
                "--name",
                "simple",
            ]
        )
        == 0
    )
    assert (
        main(
            [
                "fly",
                "formation",
                "--n",
                "9",
                "--gps",
                "rtk",
                "--name",
                "full",
                "--set",
                "scheme=my_scheme:Cohesive",
            ]
        )
        == 0
    )
    flights = [analysis.load(runs / name) for name in ("simple", "full")]
    for flight in flights:
        assert flight.summary()["landed"]
        assert flight.summary()["min_separation_m"] >= 1.3
    simple, full = (
        np.array([w.settle_time for w in flight.windows], dtype=float) for flight in flights
    )
    assert simple.shape == (3,)
    np.testing.assert_array_less(np.abs(full - simple), 0.2 * np.minimum(full, simple))
    plot = runs / "both.png"
    assert (
        main(["formation", "compare", str(runs / "simple"), str(runs / "full"), "--out", str(plot)])
        == 0
    )
    assert plot.stat().st_size > 30_000
    assert "simple" in capsys.readouterr().out
    the_ulogs_tell_of_the_same_flight(runs / "full")


def the_ulogs_tell_of_the_same_flight(folder):
    """Estimates against truth: the same times, slot errors smaller by the receivers' own."""
    true = json.loads((folder / "summary.json").read_text())
    assert main(["formation", "report", str(folder), "--from", "ulog"]) == 0
    told = json.loads((folder / "summary.json").read_text()).pop("report_ulog")
    assert told["landed"]
    assert told["messages_sent"] == true["messages_sent"] > 10_000
    assert told["min_separation_m"] == pytest.approx(true["min_separation_m"], abs=0.3)
    for row, other in zip(told["formations"], true["formations"], strict=True):
        assert row["settle_time_s"] == pytest.approx(other["settle_time_s"], abs=0.6)
        assert row["rms_slot_error_m"] < min(other["rms_slot_error_m"], 0.1)
        assert row["rms_velocity_error_m_s"] == pytest.approx(
            other["rms_velocity_error_m_s"], abs=0.03
        )


@pytest.mark.slow
@pytest.mark.parametrize(
    "name",
    [
        pytest.param("centralised", marks=pytest.mark.long),
        pytest.param("consensus", marks=pytest.mark.long),
        "consensus_acceleration",
    ],
)
def test_loss_and_delay_leave_a_bounded_error_and_no_collision(name):
    """20 % of the packets lost, the rest 200 ms late."""
    commands = []
    agent = FormationAgent(
        9,
        SHAPES,
        name,
        delay=0.2,
        loss=0.2,
        interval=18.0,
        on_event=lambda t, event, **v: commands.append((t, event, v)),
    )
    t, pos = track(agent)
    assert separation(pos) >= 1.0
    ends = [c[0] * 1e-6 for c in commands if c[1] in ("formation", "return")]
    for _begin, end, shape in zip(ends, ends[1:], [c[2] for c in commands if c[1] == "formation"]):
        late = (t > end - 4.0) & (t < end)
        error = np.linalg.norm(pos[late, 1:] - pos[late, :1] - shape["slots"], axis=2)
        assert error.max() < 0.6
        assert np.sqrt(np.mean(error**2)) < 0.3
    network = agent.formation.network
    assert 0.15 < network.lost / network.sent < 0.25


class LosesLeader(FormationAgent):
    """Its leader flies east, falls silent on the way, stops unheard, and is heard again later."""

    def __init__(self, n, name, on_event):
        leader, follower = scheme(name, Radio(delay=0.04))
        steered = SteeredLeader(leader.radio)
        steered.topology = type(leader).topology
        super().__init__(n, ("pyramid",), (steered, follower), interval=42.0, on_event=on_event)

    def control(self, t_us, estimates, out):
        t = (t_us - self._command_us) * 1e-6
        inside = self._index == 0
        self.formation.leader.velocity = np.array([2.0 * (inside and 10 <= t < 14), 0.0, 0.0])
        self.formation.network.silent[0] = inside and 13 <= t < 33
        super().control(t_us, estimates, out)


@pytest.mark.slow
@pytest.mark.parametrize(
    "name",
    [
        pytest.param("centralised", marks=pytest.mark.long),
        pytest.param("consensus", marks=pytest.mark.long),
        "consensus_acceleration",
    ],
)
def test_the_formation_holds_while_the_leader_is_lost(name):
    events = []
    agent = LosesLeader(9, name, lambda t, event, **v: events.append((t, event, v)))
    t, pos = track(agent)
    begin, slots = next(
        (e[0] * 1e-6, np.array(e[2]["slots"])) for e in events if e[1] == "formation"
    )

    def at(seconds):
        return pos[np.searchsorted(t, begin + seconds)]

    lost, later, back = at(27.0), at(32.5), at(41.5)
    assert separation(pos) >= 1.0
    np.testing.assert_allclose(lost[1:], later[1:], atol=0.25)  # they hang still
    shape = later[1:] - later[1:].mean(axis=0)
    np.testing.assert_allclose(shape, slots - slots.mean(axis=0), atol=0.4)
    assert np.linalg.norm(later[1:] - later[0] - slots, axis=1).min() > 0.5  # it went on alone
    assert np.linalg.norm(back[1:] - back[0] - slots, axis=1).max() < 0.45
