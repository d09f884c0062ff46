"""Time from a command to its answer, now and before a change, in turn.

python benchmarks/bench_start.py
python benchmarks/bench_start.py --before ../xtdrone-before --runs 5
python benchmarks/bench_start.py --rows "fly square" --launch --no-first

--before is another checkout, which need not be set up: it runs in this environment. Wall time is
what a user waits; processor time, of all processes that a command starts, tells commits apart on a
machine that does other work as well. Of both, the least counts. Each row is measured as the
environment is, and where Python may not write bytecode and finds only what was there before.
The first flight has no compiled kernel at all, and is flown once; roslaunch is called three times.
"""

import argparse
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import report
import results
from launching import seconds_to_armed

ROOT = Path(__file__).resolve().parents[1]
GIVE_UP_S = 600.0
TAB = "tab"
FIRST = "first flight"
ROWS = {
    "help": ["--help"],
    TAB: [],
    "list vehicles": ["list", "vehicles"],
    "vehicle show iris": ["vehicle", "show", "iris"],
    "fly square": ["fly", "square"],
}
LINE = "xtdrone fly square --wor"


def environment(root: Path, runs: str, bytecode: bool) -> dict[str, str]:
    """The environment variables with which a checkout runs."""
    path = [str(root / "src"), str(root / ".setup" / "ros"), os.environ.get("PYTHONPATH", "")]
    values = {
        **os.environ,
        "PATH": f"{root / 'scripts' / 'ros'}:{os.environ['PATH']}",  # its own roslaunch
        "PYTHONPATH": os.pathsep.join(filter(None, path)),
        "ROS_PACKAGE_PATH": f"{root / 'src'}:{os.environ.get('ROS_PACKAGE_PATH', '')}",
        "XTDRONE_RUNS": runs,
    }
    values.pop("PYTHONDONTWRITEBYTECODE", None)
    return values if bytecode else {**values, "PYTHONDONTWRITEBYTECODE": "1"}


def seconds(row: str, values: dict[str, str], work: results.Work) -> tuple[float, float]:
    """Wall and processor time of one command [s]; one that fails ends the benchmark."""
    if row == TAB:
        answer = os.path.join(values["XTDRONE_RUNS"], "answer")
        values = {
            **values,
            "_ARGCOMPLETE": "1",
            "_ARGCOMPLETE_STDOUT_FILENAME": answer,
            "COMP_LINE": LINE,
            "COMP_POINT": str(len(LINE)),
            "COMP_TYPE": "9",
        }
    before, begin = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    done = subprocess.run(
        [sys.executable, "-m", "xtdrone", *ROWS[row]],
        env=values,
        capture_output=True,
        text=True,
        timeout=GIVE_UP_S,
    )
    wall = time.monotonic() - begin
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    answered = Path(answer).read_text() if row == TAB else done.stdout
    if done.returncode:
        raise SystemExit(f"'{row}' failed: {done.stderr[-500:]}")
    work.count("lines of answers", len(answered.splitlines()), 1)
    return wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def measured(
    row: str, roots: dict[str, Path], runs: int, bytecode: bool, work: results.Work
) -> dict[str, list]:
    """The least wall and processor time of each checkout, measured in turn."""
    found: dict[str, list] = {name: [] for name in roots}
    with tempfile.TemporaryDirectory() as folder:
        for turn in range(runs + 1):
            for name, root in roots.items():
                times = seconds(row, environment(root, folder, bytecode), work)
                if turn:  # the first one reads from the disk, and compiles what is not cached
                    found[name].append(times)
    return {name: [min(each) for each in zip(*times)] for name, times in found.items()}


def first(roots: dict[str, Path], work: results.Work) -> dict[str, list]:
    """Wall and processor time of each checkout's first flight, which compiles its kernels."""
    found = {}
    for name, root in roots.items():
        with tempfile.TemporaryDirectory() as folder:
            values = {**environment(root, folder, True), "XDG_CACHE_HOME": folder}
            found[name] = list(seconds("fly square", values, work))
    return found


def launched(
    n: int, roots: dict[str, Path], runs: int, bytecode: bool, work: results.Work
) -> dict[str, list]:
    """The least wall time from roslaunch until n vehicles are armed, of each checkout."""
    found: dict[str, list] = {name: [] for name in roots}
    for _ in range(runs):
        for name, root in roots.items():
            values = environment(root, "", bytecode)
            found[name].append(seconds_to_armed(n, work, root, values))
    return {name: [min(times)] for name, times in found.items()}


def main():
    """Prints the times, updates runs/bench.json, and prints goal, last release and now."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--before", type=Path, help="checkout of the commit to compare with")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--rows", nargs="*", choices=list(ROWS), default=list(ROWS))
    has_ros = shutil.which("roslaunch") is not None
    parser.add_argument(
        "--launch",
        type=int,
        nargs="*",
        default=[2, 9] if has_ros else [],
        metavar="N",
        help="fleets that roslaunch starts (2 9, where there is ROS)",
    )
    parser.add_argument(
        "--first",
        action=argparse.BooleanOptionalAction,
        default=True,
        help="a flight with an empty cache of kernels, too",
    )
    args = parser.parse_args()
    roots = {"before": args.before.resolve()} if args.before else {}
    roots["now"] = ROOT
    if args.launch and not has_ros:
        raise SystemExit("there is no roslaunch: leave out --launch")
    rows, work = [], results.Work()
    for bytecode in (True, False):
        print("Python may write bytecode:" if bytecode else "it may not:")
        compiling = [FIRST] if args.first and bytecode else []
        for row in (*args.rows, *(f"roslaunch to armed, {n}" for n in args.launch), *compiling):
            if row == FIRST:
                found = first(roots, work)
            elif row in ROWS:
                found = measured(row, roots, args.runs, bytecode, work)
            else:
                found = launched(int(row.split()[-1]), roots, min(args.runs, 3), bytecode, work)
            for k, what in enumerate(("wall time", "processor time")[: len(found["now"])]):
                ratio = f"  {found['now'][k] / found['before'][k]:.2f}" if args.before else ""
                texts = "  ".join(f"{name} {times[k]:.2f} s" for name, times in found.items())
                print(f"  {row:24s} {what:14s} {texts}{ratio}", flush=True)
                for name, times in found.items():
                    params = {"command": row, "commit": name, "bytecode": bytecode, "time": what}
                    rows.append((params, round(times[k], 3), "s"))
    results.replace("start", rows, work)
    print(report.printed([row for row in results.rows_so_far() if row["name"] == "start"]))


if __name__ == "__main__":
    main()
