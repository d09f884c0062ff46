"""Tunes on flight logs of a real DJI Tello, which are fetched and not shipped.

`python scripts/validation/tello.py` clones github.com/pgminin/tello-vision-telemetry-lab, which has
no licence file, into a temporary folder; `--log FILE` takes a copy that is there. Status 1 if J of
an axis that moves exceeds 10 % of doing nothing, 25 % on the held-out part, or a search 30 s.
"""

import argparse
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from xtdrone_control.teleoperation import record
from xtdrone_tune import report, tuning

REPOSITORY = "https://github.com/pgminin/tello-vision-telemetry-lab"
LOG = "data/tv_telemetry_210325_122021_demo_trackMode.txt"
STRETCHES = ((172.5, 218.0, (0, 1, 2, 3)), (18.0, 57.0, (1,)))  # from, to [s], axes
MAX, MAX_HELD_OUT, MAX_S = 0.10, 0.25, 30.0


def fetched(folder):
    """The log of a clone in this folder, or None where there is no network."""
    done = subprocess.run(["git", "clone", "--depth", "1", REPOSITORY, folder], check=False)
    return Path(folder) / LOG if done.returncode == 0 else None


def check(log, method):
    """Prints a table for each stretch; returns whether all bounds hold."""
    good = True
    for begin, end, axes in STRETCHES:
        flight = record.read(log).between(begin, end)
        begun = time.perf_counter()
        found = tuning.tune(flight, axes, method)
        seconds = time.perf_counter() - begun
        first, _ = tuning.split(flight, 0.3)
        print(f"\n{begin:g} to {end:g} s, {method}, {seconds:.1f} s")
        print("\n".join(report.lines(found, tuning.together(first, found))))
        good &= seconds <= MAX_S and all(
            one.fitted.share <= MAX and one.held_out.share <= MAX_HELD_OUT
            for one in found
            if one.moves
        )
    return good


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--log", type=Path, help="the log, in place of a clone")
    parser.add_argument("--method", default="scipy", choices=("scipy", "de", "cma"))
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        log = args.log or fetched(folder)
        if log is None:
            print("not checked: the log cannot be fetched; give a copy with --log")
            return 0
        good = check(log, args.method)
    print("\nbounds hold" if good else "\na bound is exceeded")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
