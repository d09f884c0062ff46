"""Shares out tasks many times: what the consensus costs beside the Hungarian method.

    scripts/validation.sh cooperation

Thirty visits on 80 x 80 m by six vehicles that hear each other 0.1 s late and lose 20 % of their
packets, one of which is lost on the way: twenty draws in the simple simulator, three in the full
one.
Then a task for each vehicle, where the Hungarian method is the optimum.
"""

import json
import os
import subprocess
import sys
import tempfile
from itertools import permutations
from pathlib import Path

import numpy as np

from _report import Report
from xtdrone_cooperation.tasks.agent import TasksAgent
from xtdrone_cooperation.tasks.bundle import Bundle
from xtdrone_cooperation.tasks.hungarian import assign
from xtdrone_cooperation.tasks.task import random_tasks
from xtdrone_cooperation.tasks.ways import Ways
from xtdrone_core.scenario.vehicles import grid
from xtdrone_formation.simple.simulator import SimpleSimulator, fly

LINKS = {"loss": 0.2, "delay": 0.1}
LOST = "2@30"
DRAWS, FLIGHTS, PAIRS = 20, 3, 200
HEAD = (
    "Made by `scripts/validation.sh cooperation`: thirty visits at random places on 80 x 80 m, "
    "six vehicles, 20 % of the packets lost, 0.1 s of delay, vehicle 2 lost after 30 s. The cost "
    "is the length of all ways that the vehicles agree on at the start, over that of the Hungarian "
    "method in rounds, which knows everything. With a task for each vehicle that method is the "
    "optimum."
)


def simple() -> list[dict]:
    """Flies in the simple simulator; returns the figures of each draw."""
    out = []
    for seed in range(1, DRAWS + 1):
        agent = TasksAgent(6, task_seed=seed, lost=LOST, seed=seed, **LINKS)
        fly(SimpleSimulator(grid(6)), agent, 600.0)
        out.append(agent.metrics())
        print(seed, json.dumps(out[-1]), flush=True)
    return out


def full() -> list[dict]:
    """Flies in the full simulator; returns the summaries."""
    out = []
    for seed in range(1, FLIGHTS + 1):
        options = {"task_seed": seed, "lost": LOST, **LINKS}
        settings = [word for pair in options.items() for word in ("--set", "{}={}".format(*pair))]
        command = ["xtdrone", "fly", "tasks", "--n", "6", "--seed", str(seed), "--speed", "0"]
        with tempfile.TemporaryDirectory() as folder:
            environment = {**os.environ, "XTDRONE_RUNS": folder}
            subprocess.run([*command, *settings], check=True, env=environment)
            out.append(json.loads((Path(folder) / "latest" / "summary.json").read_text()))
    return out


def one_each(seed: int) -> float:
    """Shares out six tasks among six vehicles; returns the cost over the optimum."""
    rng = np.random.default_rng(seed)
    places = rng.uniform(-40.0, 40.0, (6, 2))
    ways = Ways(random_tasks(6, 80.0, PAIRS + seed))
    bundles = [Bundle(i, 6, ways) for i in range(6)]
    for number in range(1, 100):
        packets = [bundle.packet(np.zeros(3)) for bundle in bundles]
        for i, j in permutations(range(6), 2):
            if rng.random() >= LINKS["loss"]:
                bundles[i].hear(j, packets[j], number)
        for bundle, place in zip(bundles, places):
            bundle.build(place, 1)
    paths = ([bundle.path for bundle in bundles], assign(ways, places, range(6)))
    ours, best = (sum(ways.length(a, b) for a, b in zip(places, each)) for each in paths)
    return ours / best


def main() -> int:
    """Flies, and writes the page."""
    report = Report("cooperation", HEAD)
    drawn, flown = simple(), full()
    for name, rows in (("simple simulator", drawn), ("full simulator", flown)):
        open_tasks = sum(row["tasks"] - row["tasks_done"] for row in rows)
        report.check(f"{name}, {len(rows)} flights: tasks left undone", open_tasks, 0.0)
        ratios = [row["agreed_to_hungarian"] for row in rows]
        report.check(f"{name}: cost over the Hungarian method's, largest", max(ratios), 1.2)
        agreed = [row["agreed_s"] for row in rows]
        report.check(f"{name}: time until all agree, largest", max(agreed), 5.0, "s")
        twice = sum(row["tasks_done_twice"] for row in rows)
        report.check(f"{name}: tasks done twice, of {30 * len(rows)}", twice, 3.0)
    collisions = sum(row["collisions"] for row in flown)
    report.check("full simulator: collisions", collisions, 0.0)
    over_optimum = np.array([one_each(seed) for seed in range(PAIRS)])
    report.check(
        f"a task each, {PAIRS} draws: cost over the optimum, mean", over_optimum.mean(), 1.2
    )
    most = float(np.quantile(over_optimum, 0.95))
    report.check("a task each: cost over the optimum, 95 % of the draws", most, 1.5)
    return report.write()


if __name__ == "__main__":
    sys.exit(main())
