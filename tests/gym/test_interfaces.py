"""Tasks through PettingZoo, Stable-Baselines3, skrl and rsl-rl: their checkers, and a training."""

import dataclasses
import importlib
import sys

import numpy as np
import pytest

from xtdrone_batch.errors import BatchError
from xtdrone_gym.rows import Rows
from xtdrone_gym.task_batch import TaskBatch
from xtdrone_gym.tasks import TASKS

THREE = dataclasses.replace(
    TASKS["Position-v0"],
    name="Three-v0",
    starts=((0.0, 0.0, 30.0), (3.0, 0.0, 30.0), (0.0, 3.0, 30.0)),
)
SMALL = {"threads": 1, "seed": 3}


def parallel_env(**options):
    pytest.importorskip("pettingzoo")
    from xtdrone_gym.interfaces.parallel_env import parallel_env

    return parallel_env(THREE, **options)


def test_pettingzoo_checks_the_parallel_environment():
    env = parallel_env()
    from pettingzoo.test import parallel_api_test, parallel_seed_test

    parallel_api_test(env, num_cycles=600)
    parallel_seed_test(parallel_env, num_cycles=50)


def test_each_vehicle_is_an_agent_and_all_end_together():
    env = parallel_env()
    observations, _ = env.reset(seed=2)
    tasks = env.tasks
    assert env.agents == ["vehicle_0", "vehicle_1", "vehicle_2"]
    assert observations["vehicle_1"].tolist() == tasks.observation[0, 1].tolist()
    actions = {name: np.float32([0.1 * i, 0, 0, 0.64]) for i, name in enumerate(env.agents)}
    observations, rewards, *_ = env.step(actions)
    kept = observations["vehicle_2"].copy()
    assert observations["vehicle_2"][-4:] == pytest.approx([0.2, 0, 0, 0.64])
    assert rewards == pytest.approx(dict(zip(actions, tasks.reward[0])))
    assert env.state_space.contains(env.state()) and env.state()[-4:] == pytest.approx(
        observations["vehicle_2"][-4:]
    )
    tasks.batch.t_us[:] = 9_980_000
    _, _, terminated, truncated, infos = env.step(actions)
    assert set(truncated.values()) == {True} and set(terminated.values()) == {False}
    assert env.agents == [] and infos["vehicle_0"] == {"is_success": False}
    assert observations["vehicle_2"].tolist() == kept.tolist()  # a copy
    with pytest.raises(BatchError, match="call reset"):
        env.step(actions)
    env.reset()
    with pytest.raises(BatchError, match="one of each of vehicle_0, vehicle_1"):
        env.step({"vehicle_0": actions["vehicle_0"]})


def test_rows_are_vehicles_in_numbers_of_about_one():
    rows = Rows(TaskBatch(THREE, 4, **SMALL))
    seen = rows.begin(seed=1)
    assert seen.shape == (12, 16) and rows.observation_space.contains(seen[0])
    assert seen[4] * rows.scaling.scale == pytest.approx(rows.tasks.observation[1, 1])
    assert rows.state().shape == (12, 22)
    rows.step(np.zeros((12, 4)))  # all hover
    assert rows.tasks.action[..., 3] == pytest.approx(rows.scaling.centre[3])
    for _ in range(20):  # rotors have a lag
        rows.step(np.zeros((12, 4)))
    assert np.abs(rows.tasks.batch.state.acc[..., 2]).max() < 1.5
    rows.tasks.batch.t_us[:] = (0, 9_980_000, 0, 0)
    rows.step(np.zeros((12, 4)))
    over = rows.of_rows(rows.tasks.done)
    assert over.nonzero()[0].tolist() == [3, 4, 5]
    now = rows.observation()[3:6]
    assert now[:, -4:] == pytest.approx(0.0) and not np.allclose(rows.final(np.arange(3, 6)), now)
    assert rows.final(np.array([4]))[0, -1] == pytest.approx(
        rows.scaling.centre[3] / rows.scaling.scale[-1]
    )


def test_rewards_may_contain_the_change_of_the_potential():
    plain, shaped = (
        Rows(TaskBatch("Position-v0", 3, **SMALL), discount) for discount in (None, 0.9)
    )
    for rows in (plain, shaped):
        rows.begin(seed=1)
        rows.step(np.zeros((3, 4)))
    before = shaped.tasks.potential[:, 0].copy()
    for rows in (plain, shaped):
        rows.tasks.batch.t_us[1] = 9_980_000
        rows.step(np.zeros((3, 4)))
    after = shaped.tasks.potential[:, 0].copy()
    assert shaped.reward - plain.reward == pytest.approx(0.9 * after - before, abs=1e-4)
    shaped.step(np.zeros((3, 4)))
    plain.step(np.zeros((3, 4)))
    after[1] = shaped.tasks.first[1, 0]  # of the next episode
    assert shaped.reward - plain.reward == pytest.approx(
        0.9 * shaped.tasks.potential[:, 0] - after, abs=1e-4
    )


@pytest.mark.slow
def test_stable_baselines_trains():
    pytest.importorskip("stable_baselines3")
    from stable_baselines3 import PPO
    from stable_baselines3.common.vec_env import VecMonitor

    from xtdrone_gym.interfaces.stable_baselines import BatchVecEnv

    env = BatchVecEnv(THREE, 8, **SMALL)
    model = PPO(
        "MlpPolicy",
        VecMonitor(env),
        n_steps=16,
        batch_size=128,
        n_epochs=2,
        seed=1,
        policy_kwargs={"net_arch": [16]},
        device="cpu",
    )
    before = [array.clone() for array in model.policy.parameters()]
    model.learn(3 * 16 * 24)
    assert model.num_timesteps == 3 * 16 * 24
    assert any((a != b).any() for a, b in zip(before, model.policy.parameters()))
    assert model.predict(env.reset())[0].shape == (24, 4)
    assert env.env_is_wrapped(VecMonitor) == [False] * 24 and env.has_attr("tasks")
    with pytest.raises(BatchError, match="call methods of `tasks`"):
        env.env_method("render")


def test_stable_baselines_gets_what_an_episode_saw_last():
    pytest.importorskip("stable_baselines3")
    from xtdrone_gym.interfaces.stable_baselines import BatchVecEnv

    env = BatchVecEnv("Position-v0", 3, **SMALL)
    env.seed(5)
    first = env.reset()
    env.seed(5)
    assert first.tolist() == env.reset().tolist() and env.reset().tolist() != first.tolist()
    state = env.tasks.batch.state
    env.tasks.batch.t_us[1] = 9_980_000
    state.pos[2, 0, 0] = 20.0
    observation, reward, done, infos = env.step(np.zeros((3, 4)))
    assert done.tolist() == [False, True, True] and infos[0] == {}
    assert [info["TimeLimit.truncated"] for info in infos[1:]] == [True, False]
    assert not any(info["is_success"] for info in infos[1:]) and reward[2] == -20.0
    assert infos[2]["terminal_observation"] == pytest.approx(
        env.tasks.final[2, 0] / env.rows.scaling.scale
    )
    assert np.linalg.norm(infos[2]["terminal_observation"][:3]) > 8.0
    assert np.linalg.norm(observation[2, :3]) < 4.0


@pytest.mark.slow
@pytest.mark.parametrize("asymmetric", [False, True])
def test_skrl_trains(asymmetric, tmp_path):
    pytest.importorskip("skrl")
    import torch
    from skrl.agents.torch.ppo import PPO
    from skrl.memories.torch import RandomMemory
    from skrl.models.torch import DeterministicMixin, GaussianMixin, Model
    from skrl.trainers.torch import SequentialTrainer

    from xtdrone_gym.interfaces.skrl import SkrlEnv

    env = SkrlEnv(THREE, 4, **SMALL)
    spaces = {
        "observation_space": env.observation_space,
        "state_space": env.state_space,
        "action_space": env.action_space,
        "device": env.device,
    }

    class Policy(GaussianMixin, Model):
        def __init__(self):
            Model.__init__(self, **spaces)
            GaussianMixin.__init__(self)
            self.net = torch.nn.Linear(16, 4)
            self.log_std = torch.nn.Parameter(torch.zeros(4))

        def compute(self, inputs, role):
            return self.net(inputs["observations"]), {"log_std": self.log_std}

    class Value(DeterministicMixin, Model):
        def __init__(self):
            Model.__init__(self, **spaces)
            DeterministicMixin.__init__(self)
            self.net = torch.nn.Linear(22 if asymmetric else 16, 1)

        def compute(self, inputs, role):
            return self.net(inputs["states" if asymmetric else "observations"]), {}

    models = {"policy": Policy(), "value": Value()}
    before = models["value"].net.weight.detach().clone()
    agent = PPO(
        models=models,
        memory=RandomMemory(memory_size=8, num_envs=env.num_envs),
        **spaces,
        cfg={
            "rollouts": 8,
            "mini_batches": 1,
            "learning_epochs": 2,
            "experiment": {
                "directory": str(tmp_path),
                "write_interval": 0,
                "checkpoint_interval": 0,
            },
        },
    )
    SequentialTrainer(
        env=env,
        agents=agent,
        cfg={
            "timesteps": 24,
            "disable_progressbar": True,
            "headless": True,
            "close_environment_at_exit": False,
        },
    ).train()
    assert (models["value"].net.weight != before).any()
    env.tasks.batch.t_us[:] = 9_980_000
    observation, reward, terminated, truncated, info = env.step(torch.zeros(12, 4))
    assert observation.shape == (12, 16) and reward.shape == terminated.shape == (12, 1)
    assert truncated.all() and not terminated.any() and float(info["episode"]["success"]) == 0.0


@pytest.mark.slow
def test_rsl_rl_trains_with_a_critic_that_knows_more():
    pytest.importorskip("rsl_rl")
    import torch
    from rsl_rl.runners import OnPolicyRunner

    from xtdrone_gym.interfaces.rsl_rl import RslRlEnv

    env = RslRlEnv(THREE, 8, **SMALL)
    net = {"class_name": "MLPModel", "hidden_dims": [16], "activation": "elu"}
    runner = OnPolicyRunner(
        env,
        {
            "num_steps_per_env": 8,
            "save_interval": 100,
            "algorithm": {"class_name": "PPO", "num_learning_epochs": 2, "num_mini_batches": 2},
            "actor": net | {"distribution_cfg": {"class_name": "GaussianDistribution"}},
            "critic": net,
            "obs_groups": {"actor": ["policy"], "critic": ["policy", "privileged"]},
        },
    )
    before = [array.clone() for array in runner.alg.critic.parameters()]
    assert before[0].shape == (16, 16 + 22)
    runner.learn(3, init_at_random_ep_len=True)
    assert (
        runner.alg.critic.state_dict()[next(iter(runner.alg.critic.state_dict()))] != before[0]
    ).any()
    assert env.tasks.batch.t_us.max() > 3 * 8 * 20_000  # episodes did not all begin at once
    env.episode_length_buf = torch.full((24,), 499)
    assert env.episode_length_buf.tolist() == [499] * 24
    seen, reward, done, extras = env.step(torch.zeros(24, 4))
    assert done.all() and extras["time_outs"].all() and extras["log"] == {"/success": 0.0}
    assert seen["privileged"].shape == (24, 22) and reward.shape == (24,)


@pytest.mark.parametrize(
    ("module", "missing", "package"),
    [
        ("parallel_env", "pettingzoo", "pettingzoo"),
        ("stable_baselines", "stable_baselines3.common.vec_env", "stable-baselines3"),
        ("skrl", "skrl.envs.wrappers.torch.base", "skrl"),
        ("rsl_rl", "tensordict", "rsl-rl-lib"),
    ],
)
def test_a_missing_library_is_named(module, missing, package, monkeypatch):
    name = f"xtdrone_gym.interfaces.{module}"
    monkeypatch.setitem(sys.modules, missing, None)
    monkeypatch.delitem(sys.modules, name, raising=False)
    extra = "gym" if package == "pettingzoo" else "learners"
    with pytest.raises(
        BatchError,
        match=rf"needs a Python package that is not installed \(.*{missing}.*\): .*pip install "
        rf".*\[{extra}\]'$",
    ):
        importlib.import_module(name)
