"""Seconds of `make demo`'s set-up and its size on disk, on a bare Debian in a root of its own.

    python benchmarks/bench_setup.py

Needs root, debootstrap and a network: tests/first_hour/first_hour.sh --demo makes the root, sets up
and flies the demonstration there. Without them nothing is measured.
"""

import argparse
import os
import re
import shutil
import subprocess
from pathlib import Path

import results

SCRIPT = Path(__file__).resolve().parents[1] / "tests" / "first_hour" / "first_hour.sh"
STEPS = {"set-up": "first", "again": "second", "demo": "demonstration"}


def rows_of(table: str, work: results.Work) -> list:
    """Rows of the table that first_hour.sh prints: seconds and status of steps, sizes in MB."""
    found = {}
    for name, seconds, status in re.findall(r"^(\S+) +(\d+) s +status (\d+)$", table, re.MULTILINE):
        work.count(f"{name} done", status == "0", 1)
        found[name] = int(seconds)
    sizes = {
        name: int(size) for name, size in re.findall(r"^(\S+) +(\d+) MB$", table, re.MULTILINE)
    }
    rows = [({"what": what, "of": "demo"}, found[step], "s") for step, what in STEPS.items()]
    return [*rows, ({"what": "size", "of": "demo"}, sizes["set-up"] - sizes["bare"], "MB")]


def main() -> None:
    """Measures and prints the rows."""
    argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    ).parse_args()
    if os.geteuid() != 0 or shutil.which("debootstrap") is None:
        print("nothing is measured: this needs root and debootstrap (apt-get install debootstrap)")
        return
    done = subprocess.run([SCRIPT, "--demo"], stdout=subprocess.PIPE, text=True)
    if done.returncode:
        raise SystemExit(f"{SCRIPT.name} --demo failed: {done.stdout.strip()}")
    work = results.Work()
    rows = rows_of(done.stdout, work)
    for params, value, unit in rows:
        print(f"{params['what']:14s} {value:6d} {unit}")
    results.replace("setup", rows, work)


if __name__ == "__main__":
    main()
