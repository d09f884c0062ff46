"""Speed of the formation demo through ROS and in process, as fast as the machine can.

python benchmarks/bench_demo.py
python benchmarks/bench_demo.py --n 9 --runs 3
"""

import argparse
import json
import os
import statistics
import subprocess
import tempfile
from pathlib import Path

import results

ROOT = Path(__file__).resolve().parents[1]
GIVE_UP_S = 600.0
FORMATIONS = 3
ROADS = {
    "ros": lambda n: ["roslaunch", ROOT / "launch" / "formation.launch", f"n:={n}", "speed:=0"],
    "in process": lambda n: ["xtdrone", "fly", "formation", "--n", str(n), "--gps", "rtk"],
}


def factor(command, n: int, work: results.Work) -> float:
    """Flies the demo once; returns simulated over wall time."""
    with tempfile.TemporaryDirectory() as runs:
        done = subprocess.run(
            command,
            capture_output=True,
            text=True,
            timeout=GIVE_UP_S,
            env={**os.environ, "XTDRONE_RUNS": runs},
        )
        found = list(Path(runs).glob("*/summary.json"))
        summary = json.loads(found[0].read_text()) if found else {}
        if not summary.get("landed"):
            raise SystemExit(f"the demo did not land: {done.stdout[-500:]}{done.stderr[-500:]}")
        work.count("vehicles landed", summary["n"], n)
        work.count("formations reached", len(summary["formations"]), FORMATIONS)
        return summary["real_time_factor"]


def main():
    """Measures both in turn, prints medians and updates runs/bench.json."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--n", type=int, default=9)
    parser.add_argument("--runs", type=int, default=3)
    args = parser.parse_args()
    found, work = {road: [] for road in ROADS}, results.Work()
    for _ in range(args.runs):
        for road, command in ROADS.items():
            found[road].append(factor(command(args.n), args.n, work))
    rows = []
    for road, factors in found.items():
        print(
            f"n {args.n}, {road}: {statistics.median(factors):.1f} x real time "
            f"({min(factors):.1f} to {max(factors):.1f})",
            flush=True,
        )
        rows.append(
            ({"n": args.n, "road": road}, round(statistics.median(factors), 2), "x real time")
        )
    results.replace("demo_real_time_factor", rows, work)


if __name__ == "__main__":
    main()
