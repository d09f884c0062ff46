"""Time from a command to its answer, now and before a change, in turn.

python benchmarks/bench_start.py
python benchmarks/bench_start.py --before ../xtdrone-before --runs 5
python benchmarks/bench_start.py --rows "fly square" --launch --no-first

--before is another checkout, which need not be set up: it runs in this environment. Wall time is
what a user waits; processor time, of all processes that a command starts, tells commits apart on a
machine that does other work as well. The answer is the time until the last line is printed; what
draws a flight goes on for a moment after it. Of each, the least counts. Each row is measured as the
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
FLIGHT = "fly square"
PLOT = "flight.png"
TIMES = ("answer", "wall time", "processor time")
ROWS = {
    "help": ["--help"],
    TAB: [],
    "list vehicles": ["list", "vehicles"],
    "vehicle show iris": ["vehicle", "show", "iris"],
    FLIGHT: ["fly", "square"],
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


def seconds(row: str, values: dict[str, str], work: results.Work) -> dict[str, float]:
    """Times of one command [s], by TIMES; one that fails ends the benchmark."""
    if row == TAB:
        answer = Path(values["XTDRONE_RUNS"]) / "answer"
        values = {
            **values,
            "_ARGCOMPLETE": "1",
            "_ARGCOMPLETE_STDOUT_FILENAME": str(answer),
            "COMP_LINE": LINE,
            "COMP_POINT": str(len(LINE)),
            "COMP_TYPE": "9",
        }
    before, begin = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    answered, lines = begin, []
    with (
        tempfile.TemporaryFile("w+") as errors,
        subprocess.Popen(
            [sys.executable, "-m", "xtdrone", *ROWS[row]],
            env=values,
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
        ) as process,
    ):
        for line in process.stdout:
            answered = time.monotonic()
            lines.append(line)
        status = process.wait(timeout=GIVE_UP_S)
        wall = time.monotonic() - begin
        errors.seek(0)
        if status:
            raise SystemExit(f"'{row}' failed: {errors.read()[-500:]}")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if row == TAB:
        lines = answer.read_text().splitlines()
    work.count("lines of answers", len(lines), 1)
    if row == FLIGHT:
        work.count("plots of flights", Path(lines[-1].split()[-1], "plots", PLOT).is_file(), 1)
    used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return dict(zip(TIMES, (answered - begin if row != TAB else wall, wall, used)))


def measured(
    row: str, roots: dict[str, Path], runs: int, bytecode: bool, work: results.Work
) -> dict[str, dict[str, float]]:
    """The least times of each checkout, measured in turn."""
    found: dict[str, list] = {name: [] for name in roots}
    with tempfile.TemporaryDirectory() as folder:
        for turn in range(runs + 1):
            for name, root in roots.items():
                times = seconds(row, environment(root, folder, bytecode), work)
                if turn:  # the first one reads from the disk, and compiles what is not cached
                    found[name].append(times)
    return {
        name: {what: min(each[what] for each in times) for what in TIMES}
        for name, times in found.items()
    }


def first(roots: dict[str, Path], work: results.Work) -> dict[str, dict[str, float]]:
    """Times of each checkout's first flight, which compiles its kernels."""
    found = {}
    for name, root in roots.items():
        with tempfile.TemporaryDirectory() as folder:
            values = {**environment(root, folder, True), "XDG_CACHE_HOME": folder}
            found[name] = seconds(FLIGHT, values, work)
    return found


def launched(
    n: int, roots: dict[str, Path], runs: int, bytecode: bool, work: results.Work
) -> dict[str, dict[str, float]]:
    """The least wall time from roslaunch until n vehicles are armed, of each checkout."""
    found: dict[str, list] = {name: [] for name in roots}
    for _ in range(runs):
        for name, root in roots.items():
            values = environment(root, "", bytecode)
            found[name].append(seconds_to_armed(n, work, root, values))
    return {name: {"wall time": min(times)} for name, times in found.items()}


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
            for what in found["now"]:
                ratio = f"  {found['now'][what] / found['before'][what]:.2f}" if args.before else ""
                texts = "  ".join(f"{name} {times[what]:.2f} s" for name, times in found.items())
                print(f"  {row:24s} {what:14s} {texts}{ratio}", flush=True)
                for name, times in found.items():
                    params = {"command": row, "commit": name, "bytecode": bytecode, "time": what}
                    rows.append((params, round(times[what], 3), "s"))
    results.replace("start", rows, work)
    print(report.printed([row for row in results.rows_so_far() if row["name"] == "start"]))


if __name__ == "__main__":
    main()
