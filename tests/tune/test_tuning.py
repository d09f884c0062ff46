"""Tuning on logs of the simulator itself: what is found, what is graded, what is refused."""

import math

import numpy as np
import pytest
import yaml

from xtdrone_control.errors import TeleoperationError
from xtdrone_control.teleoperation import gains, record
from xtdrone_control.teleoperation.gains import TABLE_2
from xtdrone_control.teleoperation.simulator import simulate
from xtdrone_core import command
from xtdrone_tune import objective, search, tuning
from xtdrone_tune.errors import TuneError

HEIGHT, YAW, PITCH, ROLL = range(4)


def flight(seconds=5.0, lean=0.0, late=0, axes=(HEIGHT, YAW, PITCH, ROLL)):
    """A record of the simulator with Table 2, sticks by turns on each axis."""
    rng = np.random.default_rng(3)
    sticks = np.zeros((round(seconds * 1000), 4))
    for begin in range(0, len(sticks), 1000):
        for axis in axes:
            sticks[begin + 200 * axis : begin + 200 * axis + 500, axis] = rng.choice(
                [-1.0, 1.0]
            ) * rng.uniform(0.3, 1.0)
    delayed = np.concatenate([np.repeat(sticks[:1], late, axis=0), sticks])[: len(sticks)]
    flown = simulate(
        delayed, TABLE_2, start=(0.0, 0.0, 5.0) + (0.0,) * 9, lean=np.full((len(sticks), 2), lean)
    )
    return record.Record(flown.t_s, sticks, flown.axes.copy())


@pytest.fixture(scope="module")
def flown():
    return flight()


def alone(axis, **changed):
    """A flight on one axis only, which nothing couples to others."""
    return flight(axes=(axis,), **changed)


@pytest.mark.slow
@pytest.mark.parametrize(
    "axis",  # pitch is as roll
    [pytest.param(axis, marks=[pytest.mark.long] if axis == 1 else []) for axis in range(4)],
)
def test_an_axis_alone_is_the_whole_simulator(axis):
    one = objective.axis_of(alone(axis), axis)
    candidate = np.append(TABLE_2[axis], np.zeros(3))
    assert np.abs(one.flown(candidate) - one.measured).max() < 1e-9
    assert one.costs(candidate[:, None])[0] < 1e-15


def test_costs_of_many_are_those_of_each(flown):
    one = objective.axis_of(flown, ROLL)
    many = np.vstack([np.random.default_rng(1).uniform(0, 3, (4, 9)), np.zeros((3, 9))])
    together = one.costs(many)
    for k in range(9):
        assert together[k] == one.costs(many[:, k : k + 1])[0]
        squares = (one.flown(many[:, k]) - one.measured) ** 2
        assert together[k] == pytest.approx(squares.sum() * 1e-3)


def test_a_candidate_that_diverges_later_is_better(flown):
    one = objective.axis_of(flown, ROLL)
    candidates = np.zeros((7, 3))
    candidates[:4] = np.array([(0.3, 0.1, 0.0, d) for d in (1.0, 6.0, 20.0)]).T
    fine, late, early = one.costs(candidates)
    assert fine < 10.0 and 1e12 < late < early <= 2e12


@pytest.mark.long
@pytest.mark.parametrize(
    "method, extended, generations, axes",
    [("de", False, 600, range(4)), ("scipy", True, 200, range(4)), ("cma", True, 400, [YAW, ROLL])],
)
def test_a_synthetic_log_is_fitted_to_a_thousandth(flown, method, extended, generations, axes):
    found = tuning.tune(
        flown, axes, method, extended=extended, generations=generations, held_out=0.0
    )
    assert all(one.moves and one.held_out is None for one in found)
    assert sum(one.fitted.cost for one in found) <= 1e-3
    assert np.nansum(tuning.together(flown, found)) <= 3e-3


def test_the_same_seed_finds_the_same(flown):
    one, two, other = (
        tuning.tune(flown, [ROLL], "de", generations=30, seed=seed)[0].candidate
        for seed in (5, 5, 6)
    )
    assert one.tolist() == two.tolist() != other.tolist()


def test_delay_and_lean_are_found():
    late = alone(PITCH, lean=0.1, late=150)
    (found,) = tuning.tune(late, [PITCH], "scipy", held_out=0.0, generations=300)
    assert found.fitted.cost < 1e-4
    assert found.candidate[4] == pytest.approx(0.15, abs=0.01)
    heading = found.candidate[5]  # lean_x, as the yaw is 0
    assert heading == pytest.approx(0.1, abs=0.01)
    assert tuning.delay_of([found]) == pytest.approx(0.15, abs=0.01)


def test_the_held_out_part_is_graded_and_not_tuned_on(flown):
    (found,) = tuning.tune(flown, [YAW], "scipy", generations=150, held_out=0.25)
    assert len(found.held_out.measured) == pytest.approx(1250, abs=2)
    assert found.held_out.relative_cost < 0.01 and found.fitted.relative_cost < 1e-4
    first, last = tuning.split(flown, 0.25)
    assert first.t_s[-1] == pytest.approx(3.75, abs=0.01) and last.t_s[0] == 0.0


def test_an_axis_that_does_not_move_has_no_gains(flown):
    found = tuning.tune(alone(YAW), [YAW, ROLL], "de", generations=50)
    assert [one.moves for one in found] == [True, False]
    assert np.isnan(found[1].gains).all()
    with pytest.raises(TuneError, match="no axis of roll moves"):
        tuning.tune(alone(YAW), [ROLL])


def test_published_numbers_of_the_search():
    assert (search.GENERATIONS, search.POPULATION) == (1000, 20)
    assert (search.CROSSOVER, search.FACTOR) == (0.5, 0.5)
    axis = objective.axis_of(alone(YAW), YAW)
    assert objective.bounds(axis, False)[:4].tolist() == [[0.0, 30.0]] * 4
    assert not objective.bounds(axis, False)[4:].any()


def test_every_trial_stays_inside_its_bounds():
    seen = []

    def costs(candidates):
        seen.append(candidates.copy())
        return (candidates**2).sum(axis=0)

    box = np.array([[0.0, 30.0], [-1.0, 1.0], [2.0, 2.0]])
    best = search.differential_evolution(
        costs, box, np.random.default_rng(1), 60, lambda more, best: None
    )
    every = np.concatenate(seen, axis=1)
    assert (every >= box[:, :1]).all() and (every <= box[:, 1:]).all()
    assert best == pytest.approx((0.0, 0.0, 2.0), abs=0.1)


def run(*words):
    return command.main(["tune", *map(str, words)])


@pytest.mark.slow
def test_the_command_writes_gains_a_figure_and_a_table(tmp_path, capsys, flown):
    log = tmp_path / "flight.csv"
    record.write(log, flown)
    assert run(log, "--axis", "yaw,roll", "--generations", 60, "--out", tmp_path / "out") == 0
    said = capsys.readouterr().out
    assert "yaw" in said and "roll" in said and "height" not in said
    tuned, delay = gains.read(tmp_path / "out" / "gains.yaml")
    assert tuned[YAW, 0] == pytest.approx(0.0027, rel=0.02) and 0.0 <= delay <= 0.5
    assert (tuned[PITCH] == TABLE_2[PITCH]).all()
    assert (tmp_path / "out" / "fit.png").stat().st_size > 10_000
    result = yaml.safe_load((tmp_path / "out" / "result.json").read_text())
    assert result["axes"]["yaw"]["J"] < 1e-3 and math.isfinite(result["seconds"])
    assert run(log, "--axis", "yaw", "--generations", 20, "--out", tmp_path / "out") == 0


@pytest.mark.parametrize(
    "options, status, said",
    [
        (["--method", "dee"], 2, "did you mean 'de'?"),
        (["--axis", "yow"], 1, "did you mean 'yaw'?"),
        (["--from", "300"], 1, "less than 1 s"),
        (["--held_out", "1"], 2, "held_out 1 is not allowed"),
        (["--held_out", "0.1"], 1, "less than 1 s"),
        (["--out", "/proc/x"], 1, "cannot write to '/proc/x'"),
    ],
)
def test_what_cannot_be_tuned_is_one_line(tmp_path, capsys, flown, options, status, said):
    log = tmp_path / "flight.csv"
    record.write(log, flown)
    try:
        found = run(log, *options)
    except SystemExit as ended:  # of argparse
        found = ended.code
    error = capsys.readouterr().err.strip().splitlines()
    assert found == status
    assert said in error[-1] and "Traceback" not in " ".join(error)


def test_a_log_that_does_not_exist_is_one_line(capsys):
    assert run("/nowhere.csv") == 1
    assert "cannot read flight record '/nowhere.csv'" in capsys.readouterr().err


def test_a_record_of_sticks_alone_is_no_log(tmp_path):
    log = tmp_path / "sticks.csv"
    record.write(log, record.Record(np.arange(20) * 0.1, np.zeros((20, 4)), None))
    assert record.read(log, motion=False).motion is None
    with pytest.raises(TeleoperationError, match="no column 'height'"):
        record.read(log)
