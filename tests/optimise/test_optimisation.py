import json
import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
import yaml

from xtdrone_core.command import main
from xtdrone_optimise.errors import OptimiseError
from xtdrone_optimise.expressions import Constraint, Expression
from xtdrone_optimise.search import front
from xtdrone_optimise.study import read
from xtdrone_sim.vehicles.sdf import load_vehicle

STUDY = {
    "vehicle": "iris",
    "variables": {
        "mass": {"from": 1.2, "to": 1.8, "start": 1.5},
        "gain": {"from": 0.5, "to": 3.0, "start": 2.5},
    },
    "set": {"link[base_link]/inertial/mass": "mass"},
    "parameters": {"MPC_XY_P": "0.5 * gain"},
    "flights": {"made": {"call": "made_up_figures:trough", "seeds": 2}},
    "objectives": {"near": "made.near"},
    "evaluations": 40,
    "population": 6,
}
TWO = {**STUDY, "objectives": {"near": "made.near", "far": "made.far"}, "method": "nsga2"}


def written(tmp_path, study=STUDY, **changes):
    path = tmp_path / "study.yaml"
    path.write_text(yaml.safe_dump({**study, **changes}, sort_keys=False))
    return path


def run(path, out, *options):
    assert main(["optimise", str(path), "--out", str(out), *options]) == 0
    return json.loads((out / "result.json").read_text())


def evaluations(out):
    return [json.loads(line) for line in (out / "evaluations.jsonl").read_text().splitlines()][1:]


@pytest.fixture
def support(monkeypatch):
    """The made-up figures are found by workers, too."""
    folder = os.path.join(os.path.dirname(__file__), "..", "support")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([folder, *filter(None, sys.path)]))


@pytest.mark.slow
def test_cma_finds_the_bottom_and_exports_it(tmp_path, capsys):
    pytest.importorskip("cma")
    result = run(written(tmp_path), tmp_path / "out", "--workers", "0")
    (best,) = result["front"]
    assert best["objectives"]["near"] < 0.02 < result["start"]["objectives"]["near"]
    vehicle = load_vehicle(tmp_path / "out/models/best_1")
    assert vehicle.mass == pytest.approx(best["values"]["mass"] + 0.045, rel=1e-6)
    assert "MPC_XY_P" in (tmp_path / "out/models/best_1/vehicle.params").read_text()
    assert (tmp_path / "out/study.png").stat().st_size > 10_000
    assert "best 1" in capsys.readouterr().out


@pytest.mark.slow
def test_two_objectives_have_a_front(tmp_path):
    pytest.importorskip("pymoo")
    result = run(written(tmp_path, TWO), tmp_path / "out", "--workers", "0")
    assert len(result["front"]) > 3
    near = [one["objectives"]["near"] for one in result["front"]]
    assert near == sorted(near)


@pytest.mark.long
def test_processes_find_what_one_process_finds(tmp_path, support):
    pytest.importorskip("cma")
    path = written(tmp_path, evaluations=15)
    alone = run(path, tmp_path / "alone", "--workers", "0")
    assert run(path, tmp_path / "together", "--workers", "2") == alone


@pytest.mark.slow
def test_a_killed_study_goes_on_without_a_lost_evaluation(tmp_path, support):
    pytest.importorskip("cma")
    path, out = written(tmp_path), tmp_path / "out"
    command = [sys.executable, "-m", "xtdrone", "optimise", str(path), "--workers", "0"]
    process = subprocess.Popen([*command, "--out", str(out)], stderr=subprocess.DEVNULL)
    journal = out / "evaluations.jsonl"
    while not journal.exists() or journal.read_bytes().count(b"\n") < 9:
        assert process.poll() is None
        time.sleep(0.05)
    process.send_signal(signal.SIGKILL)
    process.wait()
    with journal.open("ab") as file:
        file.write(b'{"values": {"mass": 1')  # what a kill may leave
    before = evaluations_of(journal)
    killed = run(path, out, "--workers", "0")
    after = evaluations(out)
    assert after[: len(before)] == before
    assert len({json.dumps(row["values"]) for row in after}) == len(after)
    assert killed == run(path, tmp_path / "whole", "--workers", "0")


def evaluations_of(journal):
    lines = journal.read_text().splitlines()[1:]
    return [json.loads(line) for line in lines if line.endswith("}")]


def test_another_study_in_the_folder_is_refused(tmp_path, capsys):
    pytest.importorskip("cma")
    run(written(tmp_path, evaluations=2), tmp_path / "out", "--workers", "0")
    path = written(tmp_path, seed=7, evaluations=2)
    assert main(["optimise", str(path), "--out", str(tmp_path / "out"), "--workers", "0"]) == 1
    assert "another study" in capsys.readouterr().err


@pytest.mark.parametrize(
    "changes, reason",
    [
        ({"set": {"link[base_lnk]/inertial/mass": "mass"}}, "did you mean 'base_link'"),
        ({"set": {"link[base_link]/inertial/mass": "mas"}}, "did you mean 'mass'"),
        ({"set": {"link[base_link]/inertial/mass": "__import__('os')"}}, "no expression"),
        ({"parameters": {"MPC_XY_PP": "gain"}}, "MPC_XY_P"),
        ({"objectives": {"near": "mad.near"}}, "unknown name"),
        ({"objectives": {}}, "no objectives"),
        ({"objectives": {"a": "gain", "b": "mass"}, "method": "cma"}, "one objective"),
        ({"method": "gradient"}, "unknown method"),
        ({"variables": {}}, "no variables"),
        ({"variables": {"mass": {"from": 2, "to": 1}}}, "from < to"),
        ({"variables": {"mass": {"from": 1, "to": "two"}}}, "no number"),
        ({"constraints": ["gain"]}, "neither <= nor >="),
        ({"flights": {"made": {"agent": "sqare"}}}, "did you mean 'square'"),
        ({"flights": {"made": {"agent": "square", "set": {"sid": 3}}}}, "did you mean 'side'"),
        ({"flights": {"made": {"agents": "square"}}}, "did you mean 'agent'"),
        ({"flights": {"made": {"seeds": 0}}}, "seeds of flight made"),
        ({"evaluations": 1.5}, "whole number"),
        ({"vehicle": "irus"}, "did you mean 'iris'"),
        ({"objective": {"near": "gain"}}, "did you mean 'objectives'"),
    ],
)
def test_a_study_that_means_nothing_is_refused_in_a_line(tmp_path, changes, reason, capsys):
    path = written(tmp_path, **changes)
    assert main(["optimise", str(path), "--workers", "0", "--out", str(tmp_path / "out")]) == 1
    error = capsys.readouterr().err.strip()
    assert reason in error
    assert "\n" not in error


def test_expressions_are_arithmetic_over_seeds():
    values = {"gain": 2.0, "calm.error": np.array([1.0, 3.0])}
    assert Expression("gain * calm.error ** 2", "x").value(values) == 10.0
    assert Expression("largest(calm.error) - 1", "x").value(values) == 2.0
    assert Expression("cos(pi) + radians(180)", "x").value(values) == pytest.approx(np.pi - 1.0)
    assert np.isnan(Expression("1 / (gain - 2)", "x").value(values))
    assert Constraint("largest(calm.error) <= 3").excess(values) == 0.0
    assert Constraint("calm.error >= 4").excess(values) > 0.0
    for text in ("gain.real.real", "[1]", "lambda: 1", "open('x')", "gain if 1 else 2", ""):
        with pytest.raises(OptimiseError):
            Expression(text, "x")


def test_what_is_no_figure_is_refused():
    with pytest.raises(OptimiseError, match="unknown name"):
        Expression("gain.__class__", "x").check(["gain"])


def test_a_front_has_what_none_other_dominates():
    objectives = np.array([[1.0, 3.0], [2.0, 2.0], [2.0, 3.0], [3.0, 1.0], [0.0, 0.0]])
    allowed = np.array([True, True, True, True, False])
    assert front(objectives, allowed).tolist() == [0, 1, 3]


def test_a_study_has_defaults(tmp_path):
    study = read(written(tmp_path, constraints=["made.near <= 1"]))
    assert (study.method, study.seed) == ("cma", 1)
    assert study.start == {"mass": 1.5, "gain": 2.5}
