"""Seconds of the set-up and of the first flight: by pip alone, and of `make demo` on a bare Debian.

    python benchmarks/bench_setup.py
    python benchmarks/bench_setup.py --only pip

Both need a network. `pip` installs the checkout into an empty virtual environment with an empty
cache of kernels, and flies twice. `debian` needs root and debootstrap as well:
tests/first_hour/first_hour.sh --demo makes a root, sets up and flies the demonstration there.
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import report
import results

ROOT = Path(__file__).resolve().parents[1]
SCRIPT = ROOT / "tests" / "first_hour" / "first_hour.sh"
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


def by_pip(work: results.Work) -> list:
    """Rows of an installation into an empty environment and of the two flights after it."""
    with tempfile.TemporaryDirectory() as text:
        folder = Path(text)
        hidden = ("PYTHONPATH", "VIRTUAL_ENV", "PYTHONDONTWRITEBYTECODE", "PYTHONPYCACHEPREFIX")
        environment = {
            **{name: value for name, value in os.environ.items() if name not in hidden},
            "XDG_CACHE_HOME": str(folder / "cache"),
            "XTDRONE_RUNS": str(folder / "runs"),
        }
        python = Path(sys.base_prefix) / "bin" / "python3"
        subprocess.run([python, "-m", "venv", folder / "venv"], check=True, env=environment)
        binaries = folder / "venv" / "bin"
        install = [binaries / "python", "-m", "pip", "install", "-q", "--no-compile", ROOT]
        steps = {
            "install": install,
            "first flight": [binaries / "xtdrone", "fly", "square"],
            "second flight": [binaries / "xtdrone", "fly", "square"],
        }
        rows = []
        for what, command in steps.items():
            begin = time.monotonic()
            done = subprocess.run(command, stdout=subprocess.PIPE, text=True, env=environment)
            wall = time.monotonic() - begin
            if done.returncode:
                raise SystemExit(f"'{what}' has failed")
            if what != "install":
                work.count("corners flown", 4 * ("4 of 4 corners" in done.stdout), 4)
            rows.append(({"what": what, "of": "pip"}, round(wall, 1), "s"))
    return rows


def on_debian(work: results.Work) -> list:
    """Rows of the demonstration on a bare Debian."""
    done = subprocess.run([SCRIPT, "--demo"], stdout=subprocess.PIPE, text=True)
    if done.returncode:
        raise SystemExit(f"{SCRIPT.name} --demo failed: {done.stdout.strip()}")
    return rows_of(done.stdout, work)


def main() -> None:
    """Measures, prints the rows and updates runs/bench.json."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", nargs="+", choices=["pip", "debian"], default=["pip", "debian"])
    wanted = parser.parse_args().only
    rows, work = [], results.Work()
    if "pip" in wanted:
        rows += by_pip(work)
    if "debian" in wanted:
        if os.geteuid() != 0 or shutil.which("debootstrap") is None:
            print("no Debian is measured: this needs root and debootstrap")
        else:
            rows += on_debian(work)
    for params, value, unit in rows:
        print(f"{params['of']:8s} {params['what']:14s} {value:8.1f} {unit}")
    if rows:
        results.replace("setup", rows, work)
        print(report.printed([row for row in results.rows_so_far() if row["name"] == "setup"]))


if __name__ == "__main__":
    main()
