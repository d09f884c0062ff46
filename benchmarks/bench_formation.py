"""Formation accuracy in both simulators and speed of the simple one, for several fleet sizes.

    python benchmarks/bench_formation.py
    python benchmarks/bench_formation.py --n 1000 --full --ros 0

Each flight visits three formations. Rows are formation_rms_error and
formation_largest_error (both from true positions, after settling),
formation_settling_time and formation_separation; the full simulator flies with the
receiver preset rtk. simple_real_time_factor over ROS topics is measured in flight at
speed 1 and stays below 1 if the nodes cannot keep up. `simple_cpu_share` gives the
CPU share of each node, because the factor alone does not show the reserve.
"""

import argparse
import contextlib
import json
import os
import subprocess
import tempfile
import time
from pathlib import Path

import numpy as np
import psutil
import results

from xtdrone_core.command import main as xtdrone
from xtdrone_core.runs.control_link import ControlClient
from xtdrone_formation.simple import run as simple_run

ROOT = Path(__file__).resolve().parents[1]
SHAPES = {
    9: "cube,pyramid,triangle",
    18: "cuboid,sphere,diamond",
    100: "cube,pyramid,triangle",
    1000: "cube,pyramid,sphere",
}
NAMES = (
    ("formation_settling_time", "settle_time_s", "s"),
    ("formation_rms_error", "rms_slot_error_m", "m"),
    ("formation_largest_error", "max_slot_error_m", "m"),
)


def shapes(n: int) -> str:
    """Three formations that n vehicles can fly, separated by commas."""
    return SHAPES.get(n, SHAPES[9])


@contextlib.contextmanager
def folder_for_runs():
    """Sets XTDRONE_RUNS to a temporary folder."""
    before = os.environ.get("XTDRONE_RUNS")
    with tempfile.TemporaryDirectory() as runs:
        os.environ["XTDRONE_RUNS"] = runs
        try:
            yield Path(runs)
        finally:
            del os.environ["XTDRONE_RUNS"]
            if before is not None:
                os.environ["XTDRONE_RUNS"] = before


def simple(n: int) -> dict:
    """Summary of a flight in the simple simulator; its factor excludes log and report."""
    with folder_for_runs():
        return simple_run.run(
            n, shapes(n).split(","), speed=3.0 if n < 500 else 4.5, clock=time.perf_counter
        )[1]


def full(n: int) -> dict:
    """Summary of a flight in the full simulator."""
    with folder_for_runs() as runs:
        if xtdrone(
            ["fly", "formation", "--n", str(n), "--gps", "rtk", "--set", f"formations={shapes(n)}"]
        ):
            raise SystemExit(f"the flight of {n} in the full simulator failed")
        return json.loads((runs / "latest" / "summary.json").read_text())


def write_errors(simulator: str, n: int, summary: dict) -> results.Work:
    """Prints the results of a flight, updates its rows and returns what was counted."""
    work = results.Work()
    work.count("vehicles landed", n if summary.get("landed", summary.get("done")) else 0, n)
    work.count("formations flown", len(summary["formations"]), len(shapes(n).split(",")))
    minimum = summary["min_separation_m"]
    for name, field, unit in NAMES:
        results.replace(
            name,
            [
                ({"n": n, "simulator": simulator, "formation": row["name"]}, row[field], unit)
                for row in summary["formations"]
            ],
            work,
        )
    results.replace(
        "formation_separation", [({"n": n, "simulator": simulator}, minimum, "m")], work
    )
    print(
        f"n {n:4d} {simulator}: "
        + "; ".join(
            "{name} settles in {settle_time_s} s, then {rms_slot_error_m} m RMS, "
            "{max_slot_error_m} m "
            "at most".format(**row)
            for row in summary["formations"]
        )
        + f"; at least {minimum} m apart",
        flush=True,
    )
    return work


def over_topics(n: int, seconds: float, work: results.Work):
    """Real-time factor, and CPU seconds per simulated second of each node, during a flight.

    Args:
        n: Number of vehicles.
        seconds: Length of the measurement, wall time [s].
    """
    with tempfile.TemporaryDirectory() as runs:
        launch = subprocess.Popen(
            [
                "roslaunch",
                ROOT / "launch" / "simple_formation.launch",
                f"n:={n}",
                "name:=bench",
                f"formations:={shapes(n)}",
            ],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env={**os.environ, "XTDRONE_RUNS": runs},
        )
        try:
            events = Path(runs) / "bench" / "events.jsonl"
            _wait(lambda: _begun(events) > 0, launch)
            work.count("formations begun", _begun(events), 1)
            client = ControlClient()
            nodes = {
                name: process
                for process in psutil.Process(launch.pid).children(True)
                if (name := _node(process))
            }
            work.count("nodes", len(nodes), 2)
            first = _moment(client, nodes)
            time.sleep(seconds)
            wall, sim, cpu = (b - a for a, b in zip(first, _moment(client, nodes)))
            shares = dict(zip(nodes, cpu / sim))
            return sim / wall, shares
        finally:
            if launch.poll() is None:
                launch.terminate()
            launch.wait(60)


def _moment(client, nodes):
    cpu = [sum(process.cpu_times()[:2]) for process in nodes.values()]
    return time.monotonic(), client.request("status")["t_us"] * 1e-6, np.array(cpu)


def _node(process):
    return next((Path(word).name for word in process.cmdline() if "/nodes/" in word), None)


def _begun(events):
    """How many formations the fleet has begun."""
    lines = events.read_text().splitlines() if events.exists() else []
    return sum(json.loads(line)["event"] == "formation" for line in lines)


def _wait(condition, launch, limit=90.0):
    end = time.monotonic() + limit
    while not condition():
        if launch.poll() is not None or time.monotonic() > end:
            raise SystemExit("the launch over ROS topics did not take off")
        time.sleep(0.1)


def main():
    """Measures each size, prints a line for each, and updates runs/bench.json."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--n",
        type=int,
        nargs="*",
        default=[9, 100, 1000],
        help="vehicles in the simple simulator, in process (9 100 1000)",
    )
    parser.add_argument(
        "--full",
        type=int,
        nargs="*",
        default=[9, 18, 100],
        help="vehicles in the full simulator (9 18 100)",
    )
    parser.add_argument(
        "--ros",
        type=int,
        nargs="*",
        default=[100],
        help="vehicles in the simple simulator, over ROS topics (100)",
    )
    parser.add_argument("--seconds", type=float, default=20.0, help="measured over ROS topics (20)")
    args = parser.parse_args()
    factors, shares, work = [], [], results.Work()
    for n in args.n:
        summary = simple(n)
        factors.append(({"n": n, "transport": "none"}, summary["real_time_factor"], "1"))
        print(f"n {n:4d} in process: {factors[-1][1]:.2f} times real time", flush=True)
        work.done += write_errors("simple", n, summary).done
    for n in args.full:
        write_errors("full", n, full(n))
    for n in filter(None, args.ros):
        factor, cpu = over_topics(n, args.seconds, work)
        factors.append(({"n": n, "transport": "ros"}, round(factor, 3), "1"))
        shares += [
            ({"n": n, "transport": "ros", "node": name}, round(value, 3), "cpu s/s")
            for name, value in cpu.items()
        ]
        print(
            f"n {n:4d} over ROS topics: {factor:.3f} times real time; CPU "
            + ", ".join(f"{name} {value:.2f}" for name, value in cpu.items()),
            flush=True,
        )
    results.replace("simple_real_time_factor", factors, work)
    results.replace("simple_cpu_share", shares, work)


if __name__ == "__main__":
    main()
