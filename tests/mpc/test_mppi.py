"""Sampling model predictive control: its decisions, its refusals, and a flight."""

import numba
import numpy as np
import pytest

import xtdrone as xd
from xtdrone_core.command import main
from xtdrone_core.errors import XtdroneError
from xtdrone_core.runs import run_folder
from xtdrone_mpc.agent import MppiAgent
from xtdrone_mpc.costs import follow, load_cost
from xtdrone_mpc.mppi import Mppi, MppiSettings

SMALL = MppiSettings(rollouts=64, horizon=10)
PLACE = np.array([0.0, 0.0, 5.0])
LEVEL, REST = np.array([0.0, 0.0, 0.0, 1.0]), np.zeros(3)


def references(pos, count=SMALL.horizon):
    """A point at rest, as what `follow` compares with."""
    return np.tile(np.concatenate([pos, np.zeros(3)]), (count, 1))


def decided(target, times=5):
    """The action after some decisions at rest at PLACE, when the point to follow is `target`."""
    mppi = Mppi(follow, "iris", SMALL, seed=2, threads=1)
    for _ in range(times):
        action = mppi.decide(PLACE, LEVEL, REST, REST, references(target))
    return action, mppi


def test_it_hovers_where_it_is_wanted():
    action, mppi = decided(PLACE)
    assert np.abs(action[:3]).max() < 1.0
    assert action[3] == pytest.approx(mppi.hover, abs=0.1)
    assert mppi.thrust(mppi.hover) == pytest.approx(1.545 * 9.81, rel=0.02)


@pytest.mark.parametrize(
    ("offset", "axis", "sign"), [((2, 0, 0), 1, 1), ((0, 2, 0), 0, -1), ((0, 0, 2), 3, 1)]
)
def test_it_turns_towards_its_target(offset, axis, sign):
    action, mppi = decided(PLACE + offset)
    assert sign * (action[axis] - (mppi.hover if axis == 3 else 0.0)) > 0.05


def test_the_same_seed_decides_the_same():
    assert (decided(PLACE + 1.0)[0] == decided(PLACE + 1.0)[0]).all()


def test_the_plan_is_better_than_a_hover():
    _, mppi = decided(PLACE + [1.0, 0.0, 0.0], times=20)
    planned = mppi.best
    mppi.begin()
    mppi.decide(PLACE, LEVEL, REST, REST, references(PLACE + [1.0, 0.0, 0.0]))
    assert planned < mppi.best


def test_a_cost_that_is_never_finite_is_refused():
    @numba.njit
    def nothing(pos, quat, vel, ang_vel, action, reference):
        return np.nan

    mppi = Mppi(nothing, "iris", SMALL, threads=1)
    with pytest.raises(XtdroneError, match="the cost of every future is not finite"):
        mppi.decide(PLACE, LEVEL, REST, REST, references(PLACE))


def test_what_cannot_be_a_cost_is_refused():
    with pytest.raises(XtdroneError, match="put @numba.njit above it"):
        Mppi(lambda *arguments: 0.0, "iris", SMALL)
    with pytest.raises(XtdroneError, match="unknown cost 'chase'"):
        load_cost("chase")
    with pytest.raises(XtdroneError, match="cost 'math:sin' is not compiled"):
        load_cost("math:sin")


def test_numbers_that_are_not_allowed_are_refused():
    with pytest.raises(XtdroneError, match="4 rollouts of 10 actions are not allowed"):
        Mppi(follow, "iris", MppiSettings(rollouts=4, horizon=10))
    with pytest.raises(XtdroneError, match="agent mppi flies one vehicle"):
        MppiAgent(2)


@pytest.mark.slow
def test_it_flies_a_circle_and_lands(runs):
    agent = ["--set", "curve=circle", "--set", "laps=1", "--set", "rollouts=128"]
    assert main(["fly", "mppi", "--gps", "rtk", "--name", "round", *agent]) == 0
    events = {event["event"]: event for event in run_folder.read_events(runs / "round")}
    assert events["curve_over"]["rms_m"] < 0.3


@pytest.mark.slow
def test_a_saved_flight_goes_on_to_the_bit(tmp_path):
    agent = MppiAgent(1, curve="circle", rollouts=32, horizon=10)
    with xd.Simulation(xd.Scenario(vehicles="iris", gps="rtk", seed=3), agent=agent) as simulation:
        simulation.step(2500)  # it follows the curve
        simulation.save(tmp_path / "flight.npz")
        simulation.step(100)
        first = simulation.state.pos.copy()
        simulation.load(tmp_path / "flight.npz")
        simulation.step(100)
        assert (simulation.state.pos == first).all()


@pytest.mark.parametrize(
    ("body", "message"),
    [("math.nan", "is nan"), ("math.inf", "is inf"), ("reference[99]", "fails with IndexError")],
)
def test_a_cost_that_is_not_a_number_is_refused_before_the_flight(
    tmp_path, monkeypatch, body, message
):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "broken_cost.py").write_text(
        "import math\nimport numba\n\n\n@numba.njit\n"
        f"def broken(pos, quat, vel, ang_vel, action, reference):\n    return {body}\n"
    )
    agent = MppiAgent(cost="broken_cost.py:broken")
    with pytest.raises(XtdroneError, match=f"cost 'broken_cost.py:broken' .*{message}") as refused:
        xd.Simulation(xd.Scenario(vehicles="iris"), agent=agent)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("nowhere.py:cost", "there is no Python file 'nowhere.py'"),
        ("own.py:missing", "the file defines no 'missing'"),
        ("bad.py:cost", "NameError"),
    ],
)
def test_a_file_without_the_cost_is_named(tmp_path, monkeypatch, name, message):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "own.py").write_text("x = 1\n")
    (tmp_path / "bad.py").write_text("unknown\n")
    with pytest.raises(XtdroneError, match=message):
        load_cost(name)
