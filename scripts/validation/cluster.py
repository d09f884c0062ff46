"""Campaigns, trainings and optimisations on a Ray cluster that loses a machine.

`python scripts/validation/cluster.py` starts a cluster of four nodes on this machine, which stand
for machines, and kills one of them in each run. Results have to be those of one machine, to the
last byte. It writes docs/validation/cluster.md and exits with status 1 where they differ.
"""

import contextlib
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from _report import Page

NODES = 4
_LIMIT_S = 1800.0
STUDY = """vehicle: iris
variables: {gain: {from: 0.5, to: 2, start: 0.95}, arm: {from: 0.9, to: 1.2, start: 1}}
set: {"link[rotor_0]/pose#0": 0.1515 * arm}
parameters: {MPC_XY_P: gain}
flights: {windy: {agent: square, set: {side: 2}, scenario: {wind: "4,0,0"}, longest: 90}}
objectives: {error: windy.track_rms_m}
method: cma
population: 6
evaluations: 18
"""


class Job(NamedTuple):
    """What is run on one machine and on the cluster."""

    name: str
    tasks: int
    words: list[str]  # of xtdrone, without --out and --ray
    done: Callable[[Path], int]  # how many tasks are done, from the folder of results
    result: Callable[[Path], list[Any]]  # of each task; has to be the same


def lines_of(name: str) -> Callable[[Path], int]:
    """Counts the lines of a file that grows with the work."""
    return lambda folder: (
        len(file.read_bytes().splitlines()) if (file := folder / name).exists() else 0
    )


def evaluations(folder: Path) -> list[Any]:
    """The candidates of an optimisation, in their order, and what was found."""
    lines = (folder / "evaluations.jsonl").read_text().splitlines()
    found = [json.loads(line) for line in lines]
    for row in found:
        row.pop("wall_s", None)
    return sorted(map(json.dumps, found))


def policies(folder: Path) -> list[bytes]:
    """The trained policies, as their files."""
    return [path.read_bytes() for path in sorted(folder.glob("*/policy.onnx"))]


def jobs(scratch: Path) -> list[Job]:
    """The work; short enough that one machine does each in some minutes."""
    study = scratch / "study.yaml"
    study.write_text(STUDY)
    return [
        Job(
            "campaign",
            60,
            "campaign square --vary dryden=0..4/1 --seeds 12".split(),
            lines_of("campaign/results.jsonl"),
            lambda folder: (folder / "campaign" / "flights.csv").read_bytes().splitlines()[1:],
        ),
        Job("optimise", 18, ["optimise", str(study)], lines_of("evaluations.jsonl"), evaluations),
        Job(
            "learn",
            6,
            "learn Position-v0 --seeds 6 --steps 400000".split(),
            lambda folder: len(list(folder.glob("*/checkpoint.zip"))),
            policies,
        ),
    ]


@contextlib.contextmanager
def cluster() -> Iterator[Any]:  # a ray.cluster_utils.Cluster, which has no types
    """A cluster of NODES nodes of one core, and a head without any."""
    from ray.cluster_utils import Cluster

    here = {"node_ip_address": "127.0.0.1", "include_dashboard": False}
    made = Cluster(initialize_head=True, head_node_args={"num_cpus": 0, **here})
    try:
        for _ in range(NODES):
            made.add_node(num_cpus=1, **here)
        yield made
    finally:
        made.shutdown()


def run(job: Job, folder: Path, more: list[str], meanwhile: Callable[[], None]) -> float:
    """Runs a job; calls `meanwhile` once when the first task is done. Returns its wall time."""
    words = [sys.executable, "-m", "xtdrone", *job.words, "--out", str(folder), *more]
    begin, called = time.monotonic(), False
    process = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    while process.poll() is None:
        if time.monotonic() - begin > _LIMIT_S:
            process.kill()
            raise SystemExit(f"{job.name} took more than {_LIMIT_S:g} s")
        if not called and job.done(folder) > 0:
            called = True
            meanwhile()
        time.sleep(0.1)
    if process.returncode:
        raise SystemExit(f"{job.name} failed: {process.stderr.read()}")
    return time.monotonic() - begin


def main() -> int:
    """Runs all jobs and writes the page."""
    page = Page("cluster")
    page.add("# On more than one machine", "")
    page.add(
        f"Made by `scripts/validation.sh cluster`. {NODES} nodes of Ray with a core each, on one",
        "machine with two cores, stand for machines; one is killed, without a word to the others,",
        "when the first task is done. The others do again what it had begun. Results are compared",
        "byte for byte with those of processes on one machine, but for columns of wall time.",
    )
    page.table("work", "tasks", "processes [s]", f"{NODES} nodes, one killed [s]", "the same bytes")
    with tempfile.TemporaryDirectory() as text:
        scratch = Path(text)
        for job in jobs(scratch):
            alone, spread = scratch / f"{job.name}_alone", scratch / f"{job.name}_ray"
            alone_s = run(job, alone, [], lambda: None)
            with cluster() as made:
                victim = next(iter(made.worker_nodes))
                spread_s = run(
                    job,
                    spread,
                    ["--ray", made.address],
                    lambda: made.remove_node(victim, allow_graceful=False),
                )
                lost = len(made.worker_nodes) == NODES - 1
            found = job.result(spread)
            same = job.result(alone) == found and len(found) == job.tasks
            cell = page.holds(f"{job.name}: the same bytes, and a node was lost", same and lost)
            page.row(job.name, job.tasks, f"{alone_s:.0f}", f"{spread_s:.0f}", cell)
    page.add("")
    return page.write()


if __name__ == "__main__":
    raise SystemExit(main())
