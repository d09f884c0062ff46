"""A task of one's own, as module:TASK or as an object: learned, resumed, swept and flown."""

import dataclasses
import json
import os
from pathlib import Path

import pytest

pytest.importorskip("torch", reason="learning is not installed: scripts/setup.sh --learn")

from one_process import OneProcess
from xtdrone_campaign.runners import ProcessRunner
from xtdrone_core.command import main
from xtdrone_core.errors import XtdroneError
from xtdrone_gym.learning import sweep
from xtdrone_gym.learning.training import Plan, Training
from xtdrone_gym.task_batch import find_task, name_of
from xtdrone_gym.tasks import TASKS

ROOT = Path(__file__).resolve().parents[2]
SMALL = {"environments": 8, "episodes": 4, "threads": 1}
WORDS = ("--environments", "8", "--steps", "1000")


@pytest.fixture(autouse=True)
def on_the_path(monkeypatch):
    """The examples, of which calm_task is a task of one's own."""
    folder = str(ROOT / "examples")
    monkeypatch.syspath_prepend(folder)
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([folder, os.environ.get("PYTHONPATH", "")]))


def calm():
    import calm_task

    return calm_task.TASK


def test_a_task_is_found_by_its_module_and_a_registered_one_by_its_name():
    assert find_task("calm_task:TASK") is calm() and name_of(calm()) == "calm_task:TASK"
    assert name_of("calm_task:TASK") == "calm_task:TASK"
    assert name_of(TASKS["Hover-v0"]) == "Hover-v0" == name_of("Hover-v0")
    assert name_of(dataclasses.replace(calm(), name="Mine-v0")) == "Mine-v0"


@pytest.mark.parametrize(
    "name, said",
    [
        ("Calm-v0", "or name one of your own as module:TASK"),
        ("calm_task:TASKS", "has no attribute 'TASKS'"),
        ("calm_task:judge", "name an xtdrone_gym.task.Task"),
        ("no_such_task:TASK", "its folder on PYTHONPATH"),
    ],
)
def test_what_is_no_task_is_refused_in_one_line(capfd, name, said):
    assert main(["learn", name, *WORDS]) == 1
    (line,) = (text for text in capfd.readouterr().err.splitlines() if text)
    assert said in line


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["name", "object", "made here"])
def test_it_is_learned_written_and_resumed(tmp_path, kind):
    task = {"name": "calm_task:TASK", "object": calm()}.get(kind) or dataclasses.replace(
        calm(), name="Mine-v0"
    )
    named = "Mine-v0" if kind == "made here" else "calm_task:TASK"
    plan = Plan(task=task, steps=1000, **SMALL)
    Training(plan, tmp_path).run()
    assert json.loads((tmp_path / "policy.json").read_text())["task"] == named
    more = Training(dataclasses.replace(plan, steps=2000), tmp_path, resume=True)
    more.run()
    assert more.learner.steps >= 2000 and more.plan.name in ("Calm-v0", "Mine-v0")
    with pytest.raises(XtdroneError, match="a training of another plan"):
        Training(dataclasses.replace(plan, task="Position-v0"), tmp_path, resume=True)


@pytest.mark.slow
def test_the_command_learns_it_and_fly_policy_flies_it(tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XTDRONE_RUNS", str(tmp_path / "runs"))
    assert main(["learn", "calm_task:TASK", *WORDS]) == 0
    policy = tmp_path / "runs" / "learn_Calm-v0" / "policy.onnx"
    assert policy.is_file() and "Calm-v0, iris, seed 0" in capfd.readouterr().out
    described = json.loads(policy.with_suffix(".json").read_text())
    assert described["task"] == "calm_task:TASK"

    fly = ["fly", "policy", "--policy", str(policy), "--speed", "0"]
    policy.with_suffix(".json").write_text(json.dumps({**described, "task": "Mine-v0"}))
    assert main(fly) == 1
    said = capfd.readouterr().err
    assert "unknown task 'Mine-v0'" in said and "--task names it" in said
    # The vehicle flies however badly so few steps have taught it.
    main([*fly, "--task", "calm_task:TASK", "--episodes", "1"])
    assert "the task of policy" not in capfd.readouterr().err


@pytest.mark.long
@pytest.mark.parametrize(
    "runner", [OneProcess, pytest.param(ProcessRunner, marks=pytest.mark.long)]
)
def test_a_sweep_takes_it_into_its_processes(tmp_path, monkeypatch, runner):
    monkeypatch.setattr(sweep, "ProcessRunner", runner)
    out = tmp_path / "sweep"
    assert main(["learn", "calm_task:TASK", *WORDS, "--seeds", "2", "--out", str(out)]) == 0
    assert len((out / "trainings.csv").read_text().splitlines()) == 3


def test_the_manual_shows_what_the_example_is():
    page = (ROOT / "docs" / "learning.md").read_text()
    shown = page.partition("it is examples/calm_task.py -->\n```python\n")[2].partition("```")[0]
    assert shown and shown in (ROOT / "examples" / "calm_task.py").read_text()
