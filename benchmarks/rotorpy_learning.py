"""RotorPy's part of bench_learning.py: hover by Stable-Baselines3's PPO; prints JSON.

Runs in a virtual environment of its own, which bench_learning.py creates:

    python rotorpy_learning.py SEED TARGET LIMIT
"""

import importlib.metadata
import json
import sys
import time

import numpy as np
import torch
from rotorpy.learning.quadrotor_environments import make_default_vec_env
from rotorpy.vehicles.crazyflie_params import quad_params
from stable_baselines3 import PPO
from stable_baselines3.common.vec_env import VecNormalize

seed, target, limit = int(sys.argv[1]), float(sys.argv[2]), float(sys.argv[3])
ENVIRONMENTS, EPISODES, STEPS, HORIZON = 512, 256, 2**16, 32
EPISODE = 500  # steps


def make(count):
    return make_default_vec_env(count, quad_params, "cmd_ctbr", torch.device("cpu"))


def success(model):
    """Share of EPISODES episodes that end near the goal, slowly."""
    env = make(EPISODES)
    seen = env.reset()
    going = np.ones(EPISODES, dtype=bool)
    for _ in range(EPISODE - 1):  # the environment begins anew in the last step
        seen, _, done, _ = env.step(model.predict(seen, deterministic=True)[0])
        going &= ~done
    near = np.linalg.norm(seen[:, :3], axis=1) < 0.1
    return float((going & near & (np.linalg.norm(seen[:, 3:6], axis=1) < 0.5)).mean())


torch.set_num_threads(1)
env = make(ENVIRONMENTS)
model = PPO(
    "MlpPolicy",
    VecNormalize(env, norm_obs=False, gamma=0.98),
    n_steps=HORIZON,
    batch_size=ENVIRONMENTS * HORIZON // 8,
    n_epochs=5,
    learning_rate=1e-3,
    gamma=0.98,
    ent_coef=0.001,
    max_grad_norm=1.0,
    seed=seed,
    device="cpu",
    policy_kwargs={"net_arch": [64, 64], "log_std_init": -1.0},
)
seconds, steps, found = 0.0, 0, 0.0
while seconds < limit and found < target:
    begin = time.perf_counter()
    model.learn(STEPS, reset_num_timesteps=False)
    seconds, steps = seconds + time.perf_counter() - begin, steps + STEPS
    found = success(model)
    print(seconds, steps, found, file=sys.stderr)
print(
    json.dumps(
        {
            "seconds": seconds if found >= target else None,
            "success": found,
            "rate": steps / seconds,
            "version": importlib.metadata.version("rotorpy"),
        }
    )
)
