"""Wall time from the start of roslaunch until the fleet is armed, at real time.

python benchmarks/bench_launch.py
python benchmarks/bench_launch.py --n 9 --runs 3
"""

import argparse
import os
import signal
import statistics
import subprocess
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path

import results

ROOT = Path(__file__).resolve().parents[1]
GIVE_UP_S = 90.0


def seconds_to_armed(
    n: int, work: results.Work, root: Path = ROOT, environment: Mapping[str, str] = os.environ
) -> float:
    """Launches a formation flight of a checkout and waits until every vehicle is armed."""
    with tempfile.TemporaryDirectory() as runs:
        begin = time.monotonic()
        launch = subprocess.Popen(
            [
                "roslaunch",
                root / "launch" / "formation.launch",
                f"n:={n}",
                "speed:=1",
                "name:=launch",
                "record:=false",
                "formations:=line",
            ],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
            env={**environment, "XTDRONE_RUNS": runs},
        )
        try:
            log = Path(runs) / "launch" / "console" / "autopilot.log"
            while True:
                armed = log.read_text().count("] Armed") if log.exists() else 0
                elapsed = time.monotonic() - begin
                if armed >= n:
                    work.count("vehicles armed", armed, n)
                    return elapsed
                if elapsed > GIVE_UP_S or launch.poll() is not None:
                    raise SystemExit(f"only {armed} of {n} vehicles armed after {elapsed:.0f} s")
                time.sleep(0.02)
        finally:
            if launch.poll() is None:
                os.killpg(launch.pid, signal.SIGINT)
                launch.wait(timeout=60)


def main():
    """Measures each size several times, prints medians and updates runs/bench.json."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--n", type=int, nargs="+", default=[2, 9])
    parser.add_argument("--runs", type=int, default=3)
    args = parser.parse_args()
    rows, work = [], results.Work()
    for n in args.n:
        times = [seconds_to_armed(n, work) for _ in range(args.runs)]
        print(
            f"n {n:3d}: armed {statistics.median(times):.2f} s after roslaunch "
            f"({min(times):.2f} to {max(times):.2f})",
            flush=True,
        )
        rows.append(
            (
                {"n": n, "engine": "embedded", "autopilot": "embedded"},
                round(statistics.median(times), 2),
                "s",
            )
        )
    results.replace("launch_to_all_armed", rows, work)


if __name__ == "__main__":
    main()
