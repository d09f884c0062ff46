"""Writes tests/TIMES.md, the processor time of the tests, and finds those beyond their budget.

    make test ARGS="--times=runs/test_times.json"  measures; parts of the tests add to the file
    python scripts/times_of_tests.py               writes the table from that file
    python scripts/times_of_tests.py --check       measures those beyond their budget once more,
                                                   alone; exits with status 1 if any still is

The first measurement may hold what a test compiled for all that follow it; the second does not.
"""

import argparse
import subprocess
import sys
import tempfile
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests" / "support"))

from processor_times import BUDGET_S, over_budget, read  # noqa: E402
from recorded_times import TABLE  # noqa: E402
from xtdrone_slam.benchmark.machine import describe  # noqa: E402

ROWS = 60
SHORT_S = 0.5  # a file that takes less has no row
INTRODUCTION = """# Processor time of the tests

<!-- Written by scripts/times_of_tests.py. -->

Seconds of processor time, with that of the processes that a test starts, on {cpu}, {cores} cores.
Budget of a test: {budget}.

{total} tests were measured and take {seconds:.0f} s; without those marked slow or long {fast:.0f}
s, without those marked long, as by `make test`, {test:.0f} s. `make test-times` measures all.
"""


def table(head: str, rows) -> str:
    """Lays out (name, numbers...) as a table of Markdown."""
    columns = head.count("|") + 1
    lines = [head, "|".join(["---"] * columns), *("|".join(map(str, row)) for row in rows)]
    return "\n".join(f"|{line}|" for line in lines) + "\n"


def sums(times: dict, group) -> list:
    """Sums the times by group(name): rows (group, tests, seconds of each mark), longest first."""
    groups = defaultdict(lambda: {**dict.fromkeys(BUDGET_S, 0.0), "n": 0})
    for name, row in times.items():
        one = groups[group(name)]
        one[row["mark"]] += row["s"]
        one["n"] += row["mark"] != "fixtures"
    ordered = sorted(groups.items(), key=lambda item: -sum(item[1][mark] for mark in BUDGET_S))
    return [(name, one["n"], *(f"{one[mark]:.1f}" for mark in BUDGET_S)) for name, one in ordered]


def written(times: dict) -> str:
    """Lays out tests/TIMES.md."""
    by_room = sums(times, lambda name: name.removeprefix("tests/").partition("/")[0])
    by_file = sums(times, lambda name: name.removeprefix("tests/").partition("::")[0])
    by_file = [row for row in by_file if sum(map(float, row[2:])) >= SHORT_S]
    tests = {name: row for name, row in times.items() if row["mark"] != "fixtures"}
    by_test = sorted(tests.items(), key=lambda item: -item[1]["s"])
    here = describe()
    budget = ", ".join(f"{mark or 'unmarked'} {s:.0f} s" for mark, s in BUDGET_S.items() if s < 1e9)
    head = INTRODUCTION.format(
        cpu=here["cpu"],
        cores=here["cores"],
        budget=budget,
        total=len(tests),
        seconds=sum(row["s"] for row in times.values()),
        fast=sum(row["s"] for row in times.values() if not row["mark"]),
        test=sum(row["s"] for row in times.values() if row["mark"] != "long"),
    )
    test_rows = [
        (name.removeprefix("tests/").replace("|", "\\|"), row["mark"], f"{row['s']:.1f}")
        for name, row in by_test[:ROWS]
    ]
    return "\n".join(
        (
            head,
            "## Rooms\n",
            table("room | tests | unmarked | slow | long | shared fixtures", by_room),
            f"## Files that take {SHORT_S} s or more\n",
            table("file | tests | unmarked | slow | long | shared fixtures", by_file),
            f"## The {ROWS} tests that take longest\n",
            table("test | mark | s", test_rows),
        )
    )


def again(names) -> dict:
    """Measures some tests once more, one process for all."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "times.json"
        subprocess.run(
            [sys.executable, "-m", "pytest", "-q", "--long", "--times", path, *names], cwd=ROOT
        )
        return read(path)


def main() -> int:
    """Writes the table or checks the budgets; returns the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("file", nargs="?", type=Path, default=ROOT / "runs" / "test_times.json")
    parser.add_argument("--check", action="store_true", help="measure, write nothing")
    args = parser.parse_args()
    times = read(args.file)
    if not times:
        print(f"{args.file} has no times: run pytest with --times {args.file}", file=sys.stderr)
        return 1
    if not args.check:
        TABLE.write_text(written(times))
        return 0
    beyond = over_budget(times)
    beyond = over_budget(again(beyond)) if beyond else {}
    for name, row in beyond.items():
        print(
            f"{name} takes {row['s']:.1f} s of processor time, allowed are"
            f" {BUDGET_S[row['mark']]:.0f} s: make it cheaper, or mark it as CONTRIBUTING.md says"
        )
    return 1 if beyond else 0


if __name__ == "__main__":
    sys.exit(main())
