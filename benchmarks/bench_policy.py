"""Microseconds of one step of a policy from its file, beside PyTorch's module in the same run.

`act` is the network alone, `pilot` with goals, observation and scaling, as an Agent calls it.

    python benchmarks/bench_policy.py
    python benchmarks/bench_policy.py --policy runs/learn_Position-v0/policy.onnx --n 1 9
"""

import argparse
import time
from pathlib import Path

import numpy as np
import results

from xtdrone_gym.policy.pilot import Pilot
from xtdrone_gym.policy.policy_file import Policy
from xtdrone_sim.vehicles.sdf import load_vehicle

EXAMPLE = Path(__file__).resolve().parents[1] / "examples/policies/position_iris.onnx"
STEPS = 2000


def microseconds(what: str, step, n: int, work: results.Work) -> float:
    """The median of many calls [us]."""
    walls = []
    for _ in range(STEPS):
        begin = time.perf_counter()
        answer = step()
        walls.append(time.perf_counter() - begin)
    work.count(f"vehicles with actions of {what}", actions(answer), n)
    return 1e6 * float(np.median(walls))


def actions(answer) -> int:
    """How many vehicles have an action in what a step returns."""
    array = np.asarray(answer[0] if isinstance(answer, tuple) else answer)
    return int(np.isfinite(array).all(axis=-1).sum())


def torch_step(policy: Policy, seen: np.ndarray):
    """The same network as PyTorch's module: a call of it."""
    import torch

    d = policy.description
    net = torch.nn.Sequential(
        torch.nn.Linear(d.inputs, 64),
        torch.nn.ReLU(),
        torch.nn.Linear(64, 64),
        torch.nn.ReLU(),
        torch.nn.Linear(64, len(d.actions)),
    )
    torch.set_num_threads(1)
    given = torch.from_numpy(seen)

    @torch.inference_mode()
    def step():
        return net(given)

    return step


def main() -> None:
    """Measures and prints the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--policy", type=Path, default=EXAMPLE)
    parser.add_argument("--n", type=int, nargs="+", default=[1, 9, 100], help="vehicles")
    options = parser.parse_args()
    policy, rows, work = Policy(options.policy), [], results.Work()
    vehicle = load_vehicle(policy.description.vehicle)
    for n in options.n:
        seen, memory = np.zeros((n, policy.description.inputs), np.float32), policy.first_memory(n)
        pilot = Pilot(policy, (vehicle,) * n)
        s = pilot.tasks.batch.state
        pose = [np.array(a[:, 0], dtype=float) for a in (s.pos, s.quat, s.vel, s.ang_vel)]
        found = {
            "act": microseconds("act", lambda: policy.act(seen, memory), n, work),
            "pilot": microseconds("pilot", lambda: pilot.act(0, *pose), n, work),
        }
        try:
            found["torch"] = microseconds("torch", torch_step(policy, seen), n, work)
        except ImportError:
            print("PyTorch is not installed: its rows are left out")
        for what, value in found.items():
            rows.append(({"what": what, "n": n}, value, "us"))
        print(
            f"{n:5d} vehicles  "
            + "  ".join(f"{what} {value:7.1f} us" for what, value in found.items())
        )
    results.replace("policy_step_us", rows, work)


if __name__ == "__main__":
    main()
