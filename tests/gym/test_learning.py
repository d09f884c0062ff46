"""Learning: a task is learned within a minute, not with a broken reward; resumed bit for bit."""

import csv
import dataclasses
from types import SimpleNamespace

import numpy as np
import pytest
from numba.core.dispatcher import Dispatcher

torch = pytest.importorskip("torch", reason="learning is not installed: scripts/setup.sh --learn")

from one_process import OneProcess  # noqa: E402
from xtdrone_core.errors import XtdroneError  # noqa: E402
from xtdrone_dynamics.compiled import njit  # noqa: E402
from xtdrone_gym.errors import LearningError  # noqa: E402
from xtdrone_gym.learning import curve, sweep, training as trainings  # noqa: E402
from xtdrone_gym.learning.training import Plan, Training  # noqa: E402
from xtdrone_gym.realism import FLIGHT  # noqa: E402
from xtdrone_gym.tasks import position  # noqa: E402

STEPS = 200_000  # within which Position-v0 is learned by few environments


@njit(nogil=True)
def judge_reversed(which, x):
    """Of Position-v0, with rewards of the opposite sign."""
    position.judge(which, x)
    for e in which:
        for i in range(x.reward.shape[1]):
            x.reward[e, i], x.potential[e, i] = -x.reward[e, i], -x.potential[e, i]


@pytest.fixture
def learn(monkeypatch):
    """learn(task) trains until nearly all episodes succeed, at most STEPS; returns the share."""
    monkeypatch.setattr(trainings, "EVALUATION_STEPS", STEPS // 4)

    def train(task):
        return Training(
            Plan(task=task, steps=STEPS, target=0.95, environments=64, threads=1, episodes=200)
        ).run()

    return train


@pytest.mark.long
def test_position_is_learned_within_its_steps(learn):
    assert learn("Position-v0") >= 0.95


@pytest.mark.long  # that no more steps of the test above do it by themselves
def test_nothing_is_learned_with_a_broken_reward(learn):
    assert learn(dataclasses.replace(position.TASK, judge=judge_reversed)) < 0.05


@pytest.mark.long
def test_nothing_is_compiled_in_the_time_that_counts(monkeypatch):
    training = Training(
        Plan(
            task=dataclasses.replace(position.TASK, judge=njit(nogil=True)(judge_reversed.py_func)),
            environments=64,
            threads=1,
            realism=FLIGHT,
            changes={"mass": 0.1},
        )
    )
    compiled, compiles = [], Dispatcher.compile
    monkeypatch.setattr(
        Dispatcher,
        "compile",
        lambda self, types: compiled.append(self.py_func.__name__) or compiles(self, types),
    )
    training.learner.tasks.batch.state.pos[0, 0, 2] = 0.0  # it touches the ground
    for _ in training.learner.learn(2):
        pass
    assert compiled == []


def weights(training):
    return [
        p.detach().clone()
        for p in (*training.learner.actor.parameters(), *training.learner.critic.parameters())
    ]


@pytest.mark.long
@pytest.mark.parametrize("settings", [{}, {"recurrent": 8}])
def test_a_resumed_training_is_the_undisturbed_one_bit_for_bit(tmp_path, settings):
    plan = Plan(
        task="Position-v0",
        environments=16,
        threads=1,
        episodes=16,
        settings={"horizon": 8, "minibatches": 2, **settings},
    )
    step = 16 * 8

    def run(folder, parts):
        for k, iterations in enumerate(parts):
            training = Training(
                dataclasses.replace(plan, steps=iterations * step), folder, resume=k > 0
            )
            training.run()
        return training

    whole = run(tmp_path / "whole", [2, 4])  # a checkpoint begins new episodes, so both have one
    training = Training(dataclasses.replace(plan, steps=2 * step), tmp_path / "parts")
    training.run()
    training.plan = dataclasses.replace(plan, steps=4 * step)
    training.run()
    for a, b in zip(weights(whole), weights(training), strict=True):
        assert torch.equal(a, b)


@pytest.mark.slow
def test_a_curriculum_grows_with_the_steps_and_is_resumed(tmp_path):
    plan = Plan(
        task="Position-v0",
        environments=64,
        threads=1,
        episodes=16,
        curriculum=10 * 64 * 8,
        realism=FLIGHT,
        changes={"mass": 0.4},
        settings={"horizon": 8},
        steps=4 * 64 * 8,
    )

    def spread(training):
        training.learner.tasks.begin()
        return abs(training.learner.tasks.batch.variation.mass - 1.0).max()

    training = Training(plan, tmp_path)
    assert spread(training) == 0.0 and not training.learner.tasks.delay.any()
    training.run()
    resumed = Training(plan, tmp_path, resume=True)
    for each in (training, resumed):
        assert each.learner.tasks.hardness == pytest.approx(0.4)
        assert 0.1 < spread(each) < 0.16
    assert abs(training.plan.tasks(64, 1).batch.variation.mass - 1.0).max() > 0.3  # evaluations


@pytest.mark.slow
def test_a_sweep_is_a_table_of_every_combination_and_seed(tmp_path, monkeypatch):
    monkeypatch.setattr(sweep, "ProcessRunner", OneProcess)
    plan = Plan(task="Velocity-v0", environments=4, steps=1, threads=1, episodes=16, seed=3)
    trials = sweep.trials(plan, ["learning_rate=1e-3,3e-3", "mass=0..0.4/0.4"], 2)
    assert [trial.folder for trial in trials[:3]] == [
        "learning_rate=1e-3,mass=0/seed_3",
        "learning_rate=1e-3,mass=0/seed_4",
        "learning_rate=1e-3,mass=0.4/seed_3",
    ]
    assert trials[-1].plan == dataclasses.replace(
        plan, seed=4, changes={"mass": 0.4}, settings={"learning_rate": 0.003}
    )
    assert len(trials) == 8
    work = trials[1::6]
    assert len(sweep.run(work, tmp_path, None)) == 2
    rows = list(csv.DictReader(open(tmp_path / sweep.TABLE)))
    assert [(row["learning_rate"], row["mass"], row["seed"]) for row in rows] == [
        ("1e-3", "0", "4"),
        ("3e-3", "0.4", "4"),
    ]
    assert all((tmp_path / trial.folder / "policy.onnx").exists() for trial in work)
    assert (tmp_path / "curve.png").stat().st_size > 5000


@pytest.mark.parametrize(("cores", "processes"), [({0, 1}, 2), (set(range(9)), 4)])
def test_a_sweep_has_a_process_for_each_training_or_core_and_tells_each_end(
    tmp_path, monkeypatch, capsys, cores, processes
):
    asked = []

    class Runner(OneProcess):
        def __init__(self, function, *limits):
            super().__init__(lambda task: {"success": 0.5, "steps": 2_500_000, "seconds": 12.0})
            asked.append(limits)

    monkeypatch.setattr(sweep, "ProcessRunner", Runner)
    monkeypatch.setattr(curve, "draw", lambda *_: None)
    monkeypatch.setattr(sweep.os, "sched_getaffinity", {0: cores}.__getitem__)  # of this process
    work = sweep.trials(Plan(task="Velocity-v0", seconds=30.0), ["mass=0.1,0.2"], 2)
    assert sweep.run(work, tmp_path, None) == [0.5] * 4
    assert asked == [(processes, 20.0 * 30.0 + 600.0)]
    assert f"{work[1].folder}: 50.0% after 2.50 million steps, 12.0 s" in capsys.readouterr().out


def test_one_of_several_trainings_has_one_thread_and_goes_on_from_its_checkpoint(
    tmp_path, monkeypatch
):
    made = []

    class Short:
        learner = SimpleNamespace(steps=640, seconds=1.23456)

        def __init__(self, plan, folder, resume):
            made.append((plan.threads, folder, resume))

        def run(self):
            return 0.75

    monkeypatch.setattr(trainings, "Training", Short)
    task = str(tmp_path), Plan(task="Velocity-v0", seed=3, threads=4)
    row = {"seed": 3, "success": 0.75, "steps": 640, "seconds": 1.235}
    assert sweep.train(task) == row
    (tmp_path / "checkpoint.zip").touch()
    assert sweep.train(task) == row
    assert made == [(1, tmp_path, False), (1, tmp_path, True)]


def test_the_curve_has_an_evaluation_where_there_was_one(tmp_path, monkeypatch):
    """Every second iteration, each of eight steps of four environments."""
    monkeypatch.setattr(trainings, "EVALUATION_STEPS", 2 * 4 * 8)
    monkeypatch.setattr(Training, "evaluate", lambda *_: 0.25)
    monkeypatch.setattr(Training, "checkpoint", lambda *_: None)
    monkeypatch.setattr(trainings, "draw", lambda *_: None)
    plan = Plan(
        task="Position-v0", environments=4, steps=4 * 4 * 8, threads=1, settings={"horizon": 8}
    )
    Training(plan, tmp_path).run()
    rows = list(csv.DictReader(open(tmp_path / "curve.csv")))
    assert [row["steps"] for row in rows] == ["32", "64", "96", "128"]
    assert [row["evaluated"] for row in rows] == ["", "0.25", "", "0.25"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["gama=1,2"], "unknown quantity 'gama'"),
        (["mass=2"], "mass 2 is not allowed"),
        (["mass=0.1", "mass=0.2"], "gives mass twice"),
        (["seed=1..2000"], "unknown quantity"),
        (["epochs=1..2000"], "trainings are not allowed"),
        (["epochs=few"], "epochs = few"),
    ],
)
def test_what_cannot_vary_is_named(words, message):
    with pytest.raises(XtdroneError, match=message):
        sweep.trials(Plan(task="Velocity-v0"), words, 1)


@pytest.mark.slow
def test_the_same_seed_learns_the_same(tmp_path):
    plan = Plan(task="Velocity-v0", environments=8, steps=8 * 32, threads=2, episodes=16)
    first, second = Training(plan), Training(plan)
    first.run()
    second.run()
    assert all(torch.equal(a, b) for a, b in zip(weights(first), weights(second), strict=True))
    other = Training(dataclasses.replace(plan, seed=1))
    other.run()
    assert not torch.equal(weights(first)[0], weights(other)[0])


def test_the_best_policy_is_kept(monkeypatch):
    """A policy that gets worse again does not replace a better one."""
    monkeypatch.setattr(trainings, "EVALUATION_STEPS", 1)
    found = iter([0.2, 0.9, 0.5, 0.9])
    monkeypatch.setattr(Training, "evaluate", lambda *_: next(found))
    training = Training(
        Plan(
            task="Position-v0", environments=4, steps=3 * 4 * 8, threads=1, settings={"horizon": 8}
        )
    )
    after = []
    training.run(lambda *_: after.append(weights(training)[0]))
    best = next(iter(training.kept.parameters()))
    assert [torch.equal(best, each) for each in after] == [False, True, False]


def test_an_unknown_setting_is_refused():
    plan = Plan(task="Position-v0", environments=4, threads=1, settings={"target_kll": 0.1})
    with pytest.raises(trainings.LearningError, match="target_kl"):
        Training(plan)


def test_a_training_belongs_to_its_folder(tmp_path):
    plan = Plan(task="Position-v0", environments=8, steps=1, threads=1, episodes=16)
    Training(plan, tmp_path).run()
    with pytest.raises(trainings.LearningError, match="give --resume"):
        Training(plan, tmp_path)
    with pytest.raises(trainings.LearningError, match="another plan"):
        Training(dataclasses.replace(plan, history=1), tmp_path, resume=True)
    with pytest.raises(trainings.LearningError, match="no training to resume"):
        Training(plan, tmp_path / "new", resume=True)
    rows = (tmp_path / "curve.csv").read_text().splitlines()
    assert len(rows) == 2 and (tmp_path / "curve.png").stat().st_size > 5000


def test_the_advantage_of_a_known_value_is_its_error():
    """With a value of zero everywhere the advantages are discounted sums of rewards."""
    training = Training(
        Plan(
            task="Position-v0",
            environments=4,
            threads=1,
            settings={"horizon": 6, "gae_lambda": 1.0},
        )
    )
    learner = training.learner
    for p in learner.critic.parameters():
        torch.nn.init.zeros_(p)
    _, _, rollout = learner.roll()
    rewards = rollout.reward.numpy()
    sums, total = np.zeros_like(rewards), np.zeros(4)
    for t in reversed(range(6)):
        total = rewards[t] + learner.settings.discount * total * (1.0 - rollout.done[t].numpy())
        sums[t] = total
    assert rollout.advantage.numpy() == pytest.approx(sums, abs=1e-5)


def test_a_task_without_gates_is_not_learned_on_a_track():
    with pytest.raises(LearningError, match="Position-v0 is not learned on a track: give Track-v0"):
        Plan(task="Position-v0", track="eight").learned()
    assert len(Plan(task="Track-v0", track="eight").learned().goal[0]) == 12 * 8
