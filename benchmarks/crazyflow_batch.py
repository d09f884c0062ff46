"""crazyflow's part of bench_batch.py: drones under attitude control; prints JSON.

Runs in a virtual environment of its own, which bench_batch.py creates:

    python crazyflow_batch.py N FREQUENCY INTEGRATOR
"""

import importlib.metadata
import json
import sys
import time

import numpy as np
from crazyflow.control import Control
from crazyflow.dynamics import Dynamics
from crazyflow.sim import Sim

n, frequency, integrator = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
STEPS = 20
sim = Sim(
    n_worlds=n,
    n_drones=1,
    dynamics=Dynamics.first_principles,
    control=Control.attitude,
    integrator=integrator,
    freq=frequency,
    attitude_freq=frequency,
    body_rate_freq=frequency,
    force_torque_freq=frequency,
    device="cpu",
)
action = np.zeros((n, 1, 4), dtype=np.float32)
action[..., :2] = np.random.default_rng(0).normal(0.0, 0.1, (n, 1, 2))
action[..., 3] = 0.4
rates = []
for _ in range(5):
    begin = time.perf_counter()
    sim.attitude_control(action)
    sim.step(STEPS)
    pos = np.asarray(sim.data.states.pos.block_until_ready())
    rates.append(n * STEPS / (time.perf_counter() - begin))
assert np.isfinite(pos).all() and np.ptp(pos[..., 0]) > 0.0
print(json.dumps({"per_s": max(rates[1:]), "version": importlib.metadata.version("crazyflow")}))
