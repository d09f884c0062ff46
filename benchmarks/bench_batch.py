"""Vehicle steps a second of a batch, beside crazyflow, and how they grow with its size.

A step is 4 ms of one iris: velocity, attitude and rate loop, allocation, rotor lag, H-force and
rolling moment, rigid body. `physics` keeps the vehicles in the scratch for 100 steps (actuator
commands), `gym` goes through Gymnasium's vector interface, with observations, rewards, ends and
resets after each 5 steps under body rates and thrust (its figure counts those, not the steps of
4 ms), `controlled` writes the state out after each action of 5 steps, with the flight stack's
loops; `geometric` has those of Aerial Gym, `indi` the flight stack's INDI. crazyflow steps as many
drones at the same rate under attitude control; it is installed into a virtual environment of its
own, .setup/crazyflow; without network and without that folder its rows are skipped.

Aerial Gym's paper gives 3.8 million steps/s of 10 ms for 2^17 robots, on two RTX 3090.

    python benchmarks/bench_batch.py
    python benchmarks/bench_batch.py --n 1024 131072 --dtype float32
    python benchmarks/bench_batch.py --sizes
"""

import argparse
import time
from typing import Any

import numpy as np
import peers
import results
from tqdm import tqdm

from xtdrone_batch.simulation import STEP_US, BatchSimulation
from xtdrone_gym.interfaces.vector_env import BatchVectorEnv

CRAZYFLOW = "crazyflow==0.4.0"
HEIGHT = 60.0  # of the start: nothing is touched [m]
ROBOTS = 131_072  # of Aerial Gym's headline
SECONDS = 2.0  # of each measurement
# The action's level, its controller, sub-steps.
WHAT = {
    "physics": ("actuator", "px4", 100),
    "controlled": ("velocity", "px4", 5),
    "geometric": ("velocity", "geometric", 5),
    "indi": ("velocity", "indi", 5),
    "controlled, 20 steps": ("velocity", "px4", 20),
}


def batch_of(
    environments: int, vehicles: int, what: str, dtype: str, **options: Any
) -> BatchSimulation:
    """Irises apart from each other, far above the ground; options of BatchSimulation."""
    level, controller, sub_steps = WHAT[what]
    fleet = "; ".join(f"iris@{4.0 * i},0,{HEIGHT}" for i in range(vehicles))
    return BatchSimulation(
        fleet,
        environments,
        action=level,
        controller=controller,
        sub_steps=sub_steps,
        dtype=dtype,
        **options,
    )


def measure(
    environments: int,
    vehicles: int = 1,
    what: str = "controlled",
    dtype: str = "float32",
    work: results.Work | None = None,
    **options: Any,
) -> float:
    """Vehicle steps a second: the best of many steps; options of BatchSimulation."""
    batch = batch_of(environments, vehicles, what, dtype, **options)
    rng = np.random.default_rng(0)
    action = rng.normal(0.0, 1.0, batch.action_shape).astype(dtype)
    if what == "physics":
        action = (0.63 + 0.0005 * action).astype(dtype)
    per_step = environments * vehicles * batch.sub_steps
    if options.get("device") == "cuda":  # whoever computes actions there leaves them there
        from numba import cuda

        action = cuda.to_device(action)
    batch.step(action)
    batch.wait()
    best, spent, steps = np.inf, 0.0, 0
    while spent < SECONDS and steps < 200:
        if steps % 5 == 0:
            batch.reset()  # otherwise they would meet the ground, or leave for the stratosphere
            batch.wait()
        begin = time.perf_counter()
        batch.step(action)
        batch.wait()
        wall = time.perf_counter() - begin
        best, spent, steps = min(best, wall), spent + wall, steps + 1
    if not np.isfinite(batch.state.pos).all() or np.any(batch.state.contact):
        raise SystemExit("the vehicles do not fly freely")
    if work is not None:
        moved = np.abs(np.asarray(batch.state.vel)).sum(axis=-1) > 0
        work.count(f"vehicles flown as {what}", moved.sum(), environments * vehicles)
    return per_step / best


def gym(n: int, work: results.Work) -> float:
    """Environment steps a second of Position-v0, each of 5 steps of 4 ms: the median."""
    env = BatchVectorEnv("Position-v0", n)
    env.reset(seed=0)
    rng, walls = np.random.default_rng(0), []
    action = np.zeros((n, 4), dtype=np.float32)
    action[:, :3], action[:, 3] = rng.normal(0.0, 0.3, (n, 3)), 0.64
    while sum(walls) < SECONDS or len(walls) < 20:
        begin = time.perf_counter()
        observation, *_ = env.step(action)
        walls.append(time.perf_counter() - begin)
    work.count("environments observed", np.isfinite(observation).all(axis=1).sum(), n)
    return n / float(np.median(walls))


def crazyflow(n: int, integrator: str) -> dict | None:
    """The result of crazyflow_batch.py, or None if crazyflow is not available."""
    python = peers.python_with(CRAZYFLOW)
    return python and peers.answer_of(
        python, "crazyflow_batch.py", str(n), str(round(1e6 / STEP_US)), integrator
    )


def main() -> None:
    """Measures and prints the tables."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--n", type=int, nargs="+", default=[ROBOTS], help="environments")
    parser.add_argument(
        "--dtype", nargs="+", default=["float32", "float64"], choices=["float32", "float64"]
    )
    parser.add_argument(
        "--sizes",
        action="store_true",
        help="also 1 to 1,048,576 environments, and 1 to 64 vehicles in one",
    )
    options = parser.parse_args()
    rows, ours, work = [], {}, results.Work()
    cases = [(n, 1, what, dtype) for n in options.n for dtype in options.dtype for what in WHAT]
    if options.sizes:
        cases += [(4**k, 1, "controlled", "float32") for k in range(11)]
        cases += [(16384 // v, v, "controlled", "float32") for v in (1, 4, 16, 64)]
    for n, v, what, dtype in tqdm(cases, desc="batch", disable=None):
        ours[n, v, what, dtype] = measure(n, v, what, dtype, work)
        rows.append(
            (
                {"what": what, "n": n * v, "vehicles": v, "dtype": dtype, "of": "xtdrone"},
                ours[n, v, what, dtype],
                "1/s",
            )
        )
        tqdm.write(
            f"{n:8d} x {v:<3d} {dtype} {what:20s} {ours[n, v, what, dtype] / 1e6:8.2f} "
            "million steps/s"
        )
    for n in options.n:
        found = gym(n, work)
        rows.append(({"what": "gym", "n": n, "dtype": "float32", "of": "xtdrone"}, found, "1/s"))
        print(
            f"{n:8d}       through Gymnasium, Position-v0 {found / 1e6:8.2f} million environment "
            "steps/s of 20 ms"
        )
        for integrator in ("euler", "rk4"):
            found = crazyflow(n, integrator)
            if found is None:
                break
            rows.append(
                (
                    {
                        "what": "controlled",
                        "n": n,
                        "integrator": integrator,
                        "of": f"crazyflow {found['version']}",
                    },
                    found["per_s"],
                    "1/s",
                )
            )
            print(
                f"{n:8d}       crazyflow {found['version']}, attitude control, {integrator:5s} "
                f"{found['per_s'] / 1e6:8.2f} million steps/s"
            )
            for dtype in options.dtype:
                print(
                    f"             ours, {dtype}, velocity control: "
                    f"{ours[n, 1, 'controlled', dtype] / found['per_s']:.1f} times as many"
                )
    results.replace("batch_steps_per_s", rows, work)


if __name__ == "__main__":
    main()
