"""Seconds of training until a policy succeeds, with our PPO, Stable-Baselines3's and skrl's.

All learn the same task in the same environments on all cores of this machine, by policies of the
same size, with the same scaling of observations and actions, and the same rewards with the change
of the task's potential. After each 65,536 steps 256 unseen episodes are flown without
exploration; training ends with the first evaluation that reaches the target. The time of
evaluations, and of building environments and networks, does not count.

RotorPy learns its own hover (body rates and thrust, 100 Hz, from within 2 m of the goal, 5 s) in
its own environments with Stable-Baselines3's PPO: a success is an episode at whose end it is within
0.1 m of the goal, slower than 0.5 m/s, as of Position-v0. It is installed into a virtual
environment of its own, .setup/rotorpy_batched_learning; without network and without that folder
its rows are skipped. gym-pybullet-drones is not on PyPI.

A row without a value did not reach the target within the limit.

    python benchmarks/bench_learning.py
    python benchmarks/bench_learning.py --of xtdrone skrl --seeds 5 --limit 300
"""

import argparse
import importlib.metadata
import logging
import math
import statistics
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import peers
import results
import torch
from tqdm import tqdm

from xtdrone_gym.interfaces.skrl import SkrlEnv
from xtdrone_gym.interfaces.stable_baselines import BatchVecEnv
from xtdrone_gym.learning.ppo import evaluate
from xtdrone_gym.learning.settings import Settings
from xtdrone_gym.learning.training import Plan, Training
from xtdrone_gym.task_batch import TaskBatch, find_task

ROTORPY = "rotorpy[batched,learning]==3.0.0"
STEPS = 2**16  # of all vehicles, between two evaluations
EPISODES = 256
UNSEEN = 2**30  # seed of evaluations
USUAL = Settings()
DISCOUNT, TRACE = USUAL.discount, USUAL.trace


class Learning(NamedTuple):
    """A learner that has learned nothing yet."""

    train: Callable[[], Any]  # about STEPS steps
    policy: Any  # as evaluate() takes it
    scaling: Any


class Policy:
    """What evaluate() calls: a function from scaled observations to actions of -1..1."""

    recurrent = 0

    def __init__(self, mean: Callable[[torch.Tensor], torch.Tensor]):
        self._mean = mean

    def __call__(self, x, memory):
        return self._mean(x), memory


def xtdrone(task: str, environments: int, seed: int) -> Learning:
    """Ours, as `xtdrone learn` has it."""
    learner = Training(Plan(task, environments=environments, seed=seed)).learner
    count = max(1, STEPS // (environments * find_task(task).vehicles * learner.settings.horizon))
    return Learning(lambda: list(learner.learn(count)), learner.actor, learner.scaling)


def stable_baselines3(task: str, environments: int, seed: int) -> Learning:
    """Stable-Baselines3's PPO; rewards are divided by the deviation of returns, as ours are."""
    from stable_baselines3 import PPO
    from stable_baselines3.common.vec_env import VecNormalize

    env = BatchVecEnv(task, environments, seed=seed, discount=DISCOUNT)
    rows = env.num_envs * 32
    model = PPO(
        "MlpPolicy",
        VecNormalize(env, norm_obs=False, gamma=DISCOUNT),
        n_steps=32,
        batch_size=rows // 8,
        n_epochs=5,
        learning_rate=1e-3,
        gamma=DISCOUNT,
        gae_lambda=TRACE,
        ent_coef=0.001,
        max_grad_norm=1.0,
        seed=seed,
        device="cpu",
        policy_kwargs={"net_arch": list(USUAL.hidden), "log_std_init": -1.0},
    )
    count = max(1, STEPS // rows) * rows

    def mean(x):
        return model.policy.get_distribution(x).distribution.mean

    return Learning(
        lambda: model.learn(count, reset_num_timesteps=False), Policy(mean), env.rows.scaling
    )


def skrl(task: str, environments: int, seed: int) -> Learning:
    """skrl's PPO, with its learning rate by the policy's change and its scaling of values."""
    import skrl as library
    from skrl.agents.torch.ppo import PPO
    from skrl.memories.torch import RandomMemory
    from skrl.models.torch import DeterministicMixin, GaussianMixin, Model
    from skrl.resources.preprocessors.torch import RunningStandardScaler
    from skrl.resources.schedulers.torch import KLAdaptiveLR
    from skrl.trainers.torch import StepTrainer

    library.logger.setLevel(logging.WARNING)
    torch.manual_seed(seed)
    env = SkrlEnv(task, environments, seed=seed, discount=DISCOUNT)
    spaces = {
        "observation_space": env.observation_space,
        "state_space": env.state_space,
        "action_space": env.action_space,
        "device": env.device,
    }

    def net(inputs, outputs):
        a, b = USUAL.hidden
        return torch.nn.Sequential(
            torch.nn.Linear(inputs, a),
            torch.nn.Tanh(),
            torch.nn.Linear(a, b),
            torch.nn.Tanh(),
            torch.nn.Linear(b, outputs),
        )

    class Actor(GaussianMixin, Model):
        def __init__(self):
            Model.__init__(self, **spaces)
            GaussianMixin.__init__(self)
            self.net = net(self.num_observations, self.num_actions)
            torch.nn.init.orthogonal_(self.net[-1].weight, 0.01)
            self.log_std = torch.nn.Parameter(torch.full((self.num_actions,), -1.0))

        def compute(self, inputs, role):
            return self.net(inputs["observations"]), {"log_std": self.log_std}

    class Critic(DeterministicMixin, Model):
        def __init__(self):
            Model.__init__(self, **spaces)
            DeterministicMixin.__init__(self)
            self.net = net(self.num_states, 1)

        def compute(self, inputs, role):
            return self.net(inputs["states"]), {}

    horizon = 32
    models = {"policy": Actor(), "value": Critic()}
    agent = PPO(
        models=models,
        memory=RandomMemory(memory_size=horizon, num_envs=env.num_envs),
        **spaces,
        cfg={
            "rollouts": horizon,
            "learning_epochs": 5,
            "mini_batches": 8,
            "discount_factor": DISCOUNT,
            "gae_lambda": TRACE,
            "learning_rate": 1e-3,
            "learning_rate_scheduler": KLAdaptiveLR,
            "learning_rate_scheduler_kwargs": {"kl_threshold": 0.02},
            "value_preprocessor": RunningStandardScaler,
            "value_preprocessor_kwargs": {"size": 1, "device": env.device},
            "grad_norm_clip": 1.0,
            "entropy_loss_scale": 0.001,
            "value_loss_scale": 1.0,
            "experiment": {"write_interval": 0, "checkpoint_interval": 0},
        },
    )
    trainer = StepTrainer(
        env=env,
        agents=agent,
        cfg={
            "timesteps": 10**9,
            "headless": True,
            "disable_progressbar": True,
            "close_environment_at_exit": False,
        },
    )
    count = max(1, STEPS // (env.num_envs * horizon)) * horizon

    def train():
        for _ in range(count):
            trainer.train()

    return Learning(train, Policy(models["policy"].net), env.rows.scaling)


HERE = {
    "xtdrone": (xtdrone, "xtdrone"),
    "skrl": (skrl, "skrl"),
    "stable_baselines3": (stable_baselines3, "stable-baselines3"),
}  # with their packages


def seconds_of(
    name: str, task: str, environments: int, seed: int, target: float, limit: float
) -> tuple[float | None, float, float]:
    """Seconds to the target or None, the last success, steps a second."""
    torch.set_num_threads(1)  # networks are small: with more, all of them are slower
    learning = HERE[name][0](task, environments, seed)
    trial = TaskBatch(task, EPISODES, seed=UNSEEN)
    seconds, steps, success = 0.0, 0, 0.0
    with tqdm(total=limit, desc=f"{name} {seed}", unit="s", leave=False, disable=None) as bar:
        while seconds < limit and success < target:
            begin = time.perf_counter()
            learning.train()
            spent = time.perf_counter() - begin
            seconds, steps = seconds + spent, steps + STEPS
            success = evaluate(learning.policy, learning.scaling, trial, seed=UNSEEN + steps)
            bar.set_postfix(success=f"{success:.2f}")
            bar.update(min(spent, limit - bar.n))
    return seconds if success >= target else None, success, steps / seconds


def main() -> None:
    """Measures and prints the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--of", nargs="+", default=[*HERE, "rotorpy"], choices=[*HERE, "rotorpy"])
    parser.add_argument("--task", default="Position-v0")
    parser.add_argument("--environments", type=int, default=512)
    parser.add_argument("--seeds", type=int, default=3, help="how many")
    parser.add_argument("--target", type=float, default=0.95, help="share of successes")
    parser.add_argument("--limit", type=float, default=120.0, help="of one training [s]")
    options = parser.parse_args()
    rows: list[Any] = []
    found: dict[str, list] = {}
    work = results.Work()
    for seed in range(options.seeds):  # turn by turn, so that a busy machine delays all alike
        for name in options.of:
            task = "rotorpy's hover" if name == "rotorpy" else options.task
            result = (
                rotorpy(seed, options.target, options.limit)
                if name == "rotorpy"
                else (
                    importlib.metadata.version(HERE[name][1]),
                    *seconds_of(
                        name, task, options.environments, seed, options.target, options.limit
                    ),
                )
            )
            if result is None:
                continue
            version, seconds, success, rate = result
            work.count("steps a second", rate, 1)
            of = name if name == "xtdrone" else f"{name} {version}"
            rows.append(
                ({"task": task, "target": options.target, "seed": seed, "of": of}, seconds, "s")
            )
            found.setdefault(of, []).append(math.inf if seconds is None else seconds)
            tqdm.write(
                f"{of:28s} seed {seed}  "
                + (f"more than {options.limit:g} s" if seconds is None else f"{seconds:6.1f} s")
                + f"  success {success:.3f}, {rate:,.0f} steps/s"
            )
    for of, values in found.items():
        print(f"{of:28s} median {statistics.median(values):6.1f} s of {len(values)}")
    results.replace("learning_seconds", rows, work)


def rotorpy(seed: int, target: float, limit: float) -> tuple | None:
    """Version and result of rotorpy_learning.py, or None if it is not available."""
    python = peers.python_with(ROTORPY, beside=True)
    found = python and peers.answer_of(
        python, "rotorpy_learning.py", str(seed), str(target), str(limit)
    )
    return found and tuple(found[key] for key in ("version", "seconds", "success", "rate"))


if __name__ == "__main__":
    main()
