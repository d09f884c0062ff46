"""Judging of teams: what they see, how they fail, results that are signed and verified."""

import json
from pathlib import Path

import numpy as np
import pytest

from xtdrone_challenge import result, run, table
from xtdrone_challenge.blind import BlindFlight
from xtdrone_challenge.challenge import Challenge, Referee
from xtdrone_challenge.declarations import CHALLENGES
from xtdrone_challenge.errors import ChallengeError
from xtdrone_challenge.judge import judge
from xtdrone_core import Scenario, SetPoints
from xtdrone_core.agent import BaseAgent
from xtdrone_core.command import main
from xtdrone_core.contracts import Observer

HERE = f"{__name__}:Hover"
KEY = b"a secret of thirty-two bytes ..."


class Highest(Referee):
    """Keeps the largest height."""

    def __init__(self):
        self._highest = 0.0

    def on_step(self, t_us, state, sensors):
        self._highest = max(self._highest, float(state.pos[0, 2]))

    def points(self, collisions):
        return 50.0

    def figures(self):
        return {"highest_m": self._highest}


class Hover(Challenge):
    """Do what you like for half a second."""

    baseline = f"{__name__}:Idle"
    longest_s = 1.0

    def scenario(self, seed, folder):
        return Scenario("iris", seed=seed, speed=0.0)

    def told(self, seed):
        return {"word": f"seed {seed}", "unknown": 1}

    def referee(self, seed):
        return Highest()


class Idle(BaseAgent):
    """Stays on the ground."""

    def __init__(self, n, word=""):
        self.word, self.steps, self.done = word, 0, False

    def step(self, t_us, estimates):
        self.steps += 1
        self.done = self.steps > 10
        return SetPoints.empty(1)


class Told(Idle):
    """Fails with what it was told."""

    def step(self, t_us, estimates):
        raise ValueError(self.word)


class Cheater(Idle):
    """Reads the true state."""

    def attach(self, flight):
        self._flight = flight

    def step(self, t_us, estimates):
        return self._flight.state


class Watcher(Idle):
    """Adds an observer, which would see the true state."""

    class Seen(Observer):
        def on_step(self, t_us, state, sensors):
            assert np.isnan(state.pos).all()
            assert np.isfinite(sensors.gyro).all()

    def attach(self, flight):
        flight.observers.append(self.Seen())
        flight.observers += [self.Seen()]
        assert flight.scenario.n == 1
        assert flight.folder is None


@pytest.mark.parametrize(
    ("team", "status", "points", "reason"),
    [
        ("Idle", "done", 50.0, ""),
        ("Watcher", "done", 50.0, ""),
        ("Told", "failed", 0.0, "ValueError: seed 7"),
        ("Cheater", "refused", 0.0, "the rules forbid the true state"),
    ],
)
def test_a_team_is_judged_and_sees_no_truth(tmp_path, team, status, points, reason):
    judged = judge(HERE, f"{__name__}:{team}", 7, tmp_path)
    assert (judged.status, judged.points, judged.seed) == (status, points, 7)
    assert judged.reason.startswith(reason)
    assert status != "done" or judged.figures["highest_m"] > 0.05
    assert len(judged.truth) == 64


def test_the_same_flight_has_the_same_result(tmp_path):
    first, second = (judge(HERE, Hover.baseline, 3, tmp_path / name) for name in "ab")
    assert first == second


def test_observers_cannot_be_replaced():
    class Flight:
        scenario, fleet, log_gaps, observers = None, None, None, []

    with pytest.raises(ChallengeError, match="added, not replaced"):
        BlindFlight(Flight()).observers = []


def test_an_organisers_key_draws_other_seeds_and_signs():
    assert result.seeds_of("forest_dash", 3, None) == [1, 2, 3]
    drawn = result.seeds_of("forest_dash", 20, KEY)
    assert drawn == result.seeds_of("forest_dash", 20, KEY)
    assert len(set(drawn)) == 20
    assert drawn != result.seeds_of("gate_race", 20, KEY)
    assert max(drawn) < 2**31


def flight(points, status="done"):
    return {"seed": 1, "points": points, "status": status, "reason": "", "figures": {}}


@pytest.mark.parametrize("key", [None, KEY])
def test_a_result_that_was_changed_is_not_signed(tmp_path, key):
    made = result.compose("gate_race", "race", [flight(80.0), flight(0.0, "crashed")], key)
    path = tmp_path / "result.json"
    result.write(path, made)
    assert made["score"] == 40.0
    assert result.is_signed(result.read(path), key)
    path.write_text(path.read_text().replace("80.0", "90.0"))
    assert not result.is_signed(result.read(path), key)
    assert not result.is_signed(made, b"another key of enough bytes")


def test_the_table_has_the_best_first_and_escapes_names():
    results = [
        {"challenge": "gate_race", "team": team, "score": score, "flights": [flight(score)]}
        for team, score in (("slow", 10.0), ("<b>quick", 90.0))
    ]
    lines = table.text(results).splitlines()
    assert [line.split()[1] for line in lines[1:]] == ["<b>quick", "slow"]
    assert "&lt;b&gt;quick" in table.page(results)


def test_every_challenge_has_rules_and_a_baseline(capsys):
    assert main(["challenge", "list"]) == 0
    told = capsys.readouterr().out
    for name in CHALLENGES.names():
        challenge = CHALLENGES.load(name)()
        assert f"{name} (baseline: {challenge.baseline})" in told
        assert "score" in challenge.__doc__
        assert 0.0 == challenge.referee(1).points(0)


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (["run", "forest_dsh"], "did you mean 'forest_dash'"),
        (["run", "gate_race", "--team", "nobody.py:Team"], "nobody.py"),
        (["run", "gate_race", "--key", "short"], "has 3 bytes"),
        (["table", "short"], "short"),
        (["verify", "result.json"], "does not fit its content"),
    ],
)
def test_what_cannot_be_judged_is_refused_in_one_line(runs, capsys, words, line):
    Path("short").write_text("abc")
    made = result.compose("gate_race", "race", [], None)
    result.write(Path("result.json"), {**made, "score": 100.0})
    assert main(["challenge", *words]) == 1
    told = capsys.readouterr().err
    assert line in told
    assert told.count("\n") == 1


TEAM = """import os, time
from xtdrone_core.agent import BaseAgent

class Gone(BaseAgent):
    def __init__(self, n): pass
    def step(self, t_us, estimates): os._exit(3)

class Slow(Gone):
    def step(self, t_us, estimates): time.sleep(600)
"""


@pytest.mark.slow
def test_a_team_that_ends_its_process_or_hangs_has_a_result_of_its_own(tmp_path):
    team = tmp_path / "team.py"
    team.write_text(TEAM)
    (ended,) = run.flights("gate_race", f"{team}:Gone", [1], tmp_path / "gone", 60.0)
    assert (ended["status"], ended["points"]) == ("ended", 0.0)
    (hung,) = run.flights("gate_race", f"{team}:Slow", [1], tmp_path / "slow", 5.0)
    assert (hung["status"], hung["reason"]) == ("hung", "no end after 5 s of wall time")


@pytest.mark.slow
def test_a_result_is_verified_bit_for_bit(runs, capsys, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parent))  # for the judges' processes
    Path("key").write_bytes(KEY)
    assert main(["challenge", "run", HERE, "--seeds", "1", "--key", "key"]) == 0
    (made,) = runs.glob("challenge_*/result.json")
    assert main(["challenge", "verify", str(made), "--key", "key"]) == 0
    assert "as claimed, bit for bit" in capsys.readouterr().out
    flights = json.loads(made.read_text())["flights"]
    better = [{**flight, "points": 99.0} for flight in flights]
    result.write(made, result.compose(HERE, Hover.baseline, better, KEY))
    assert main(["challenge", "verify", str(made), "--key", "key"]) == 4
    assert "not as claimed: flights, score" in capsys.readouterr().out
