"""Flies the built-in formations in the full simulator: their true slot errors, by fleet and seed.

    scripts/validation.sh formation                            flies what is missing, then the page
    python scripts/validation/formation.py --fleets 9          of some fleets alone
    python scripts/validation/formation.py --seeds 0           the page of what was flown
    python scripts/validation/formation.py --px4               nine by real PX4 (PX4_BUILD)

Each flight is kept in scripts/validation/formation.json as soon as it has ended; what the file
holds is not flown again. A flight of nine takes about 8 s of processor time, one of a hundred
100 s.
Status 1 if a bound is exceeded.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from _report import Page
from xtdrone_core import plot_style

FILE = Path(__file__).with_suffix(".json")
FLEETS = (9, 18, 100)
COMMAND = ("xtdrone", "fly", "formation", "--speed", "0", "--log", "none")
ERROR_M = 0.25  # bound of the slot errors of each flight [m RMS]
TYPICAL_M = 0.20  # of the mean over the seeds


def fly(n: int, seed: int, autopilot: str) -> dict[str, Any]:
    """Flies once; returns what is kept of it."""
    command = [*COMMAND, "--n", str(n), "--seed", str(seed), "--autopilot", autopilot]
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(command, check=True, env={**os.environ, "XTDRONE_RUNS": folder})
        summary = json.loads((Path(folder) / "latest" / "summary.json").read_text())
    keys = ("settle_time_s", "rms_slot_error_m", "max_slot_error_m")
    return {
        "n": n,
        "seed": seed,
        "autopilot": autopilot,
        "separation": round(summary["min_separation_m"], 3),
        "formations": {
            row["name"]: [round(row[key], 4) for key in keys] for row in summary["formations"]
        },
    }


def read() -> list[dict[str, Any]]:
    """Returns the flights of the file."""
    return json.loads(FILE.read_text()) if FILE.exists() else []


def keep(flights: Sequence[dict[str, Any]]) -> None:
    """Writes them, one a line."""
    lines = ",\n".join(json.dumps(flight) for flight in flights)
    FILE.write_text(f"[\n{lines}\n]\n")


def span(values: Sequence[float], digits: int) -> str:
    """Returns the least and the largest."""
    least, most = min(values), max(values)
    return f"{least:.{digits}f} to {most:.{digits}f}" if least < most else f"{least:.{digits}f}"


def tell(page: Page, fleet: Sequence[dict[str, Any]]) -> None:
    """Adds the rows of a fleet."""
    first = fleet[0]
    title = f"1 + {first['n'] - 1}" + ("" if first["autopilot"] == "embedded" else ", real PX4")
    for number, name in enumerate(first["formations"]):
        settling, error, largest = np.transpose([flight["formations"][name] for flight in fleet])
        good = error.max() <= ERROR_M and error.mean() <= TYPICAL_M
        page.row(
            "" if number else title,
            name,
            len(fleet),
            span(settling, 2),
            span(error, 3),
            f"{error.mean():.3f}",
            f"{largest.max():.3f}",
            "" if number else f"{min(flight['separation'] for flight in fleet):.2f}",
            page.holds(f"{title} {name}: {span(error, 3)} m", bool(good)),
        )


def draw(flights: Sequence[dict[str, Any]]):
    """Draws the error of each flight."""
    figure, axes = plot_style.panels(1, 1, 9.0, 3.6)
    places = sorted({(f["autopilot"], f["n"], name) for f in flights for name in f["formations"]})
    for flight in flights:
        for name, (_, error, _) in flight["formations"].items():
            at = places.index((flight["autopilot"], flight["n"], name))
            axes.plot(at, error, "o", color=plot_style.series(0), ms=4)
    axes.axhline(ERROR_M, color=plot_style.series(1), lw=1)
    labels = [f"{name}\n{n} {'PX4' if which == 'px4' else ''}" for which, n, name in places]
    axes.set_xticks(range(len(places)), labels)
    axes.set(ylabel="slot error [m RMS]", ylim=(0.0, 0.3))
    return figure


def write(flights: Sequence[dict[str, Any]]) -> int:
    """Writes the page; returns 1 if a bound is exceeded."""
    page = Page("formation")
    page.add(
        "# Formations",
        "",
        "Made by `scripts/validation.sh formation`: the true slot errors of the built-in "
        "formations after settling, iris with the receiver preset `rtk` (0.05 m on each horizontal "
        "axis, 0.08 m of height, a Gauss-Markov process of a minute), scheme `centralised`. "
        f"Bounds: {ERROR_M:g} m RMS in each flight, {TYPICAL_M:g} m in the mean of the seeds. By "
        "the estimates of the vehicles the error is 0.04 m: the rest is what their receivers err "
        "relative to the leader's, less what is known of it from the start grid (`survey_time`).",
    )
    page.table(
        "fleet",
        "formation",
        "flights",
        "settling [s]",
        "error [m RMS]",
        "mean [m RMS]",
        "largest [m]",
        "least separation [m]",
        "holds",
    )
    for which in ("embedded", "px4"):
        for n in FLEETS:
            fleet = [f for f in flights if (f["autopilot"], f["n"]) == (which, n)]
            if fleet:
                tell(page, fleet)
    page.add("")
    page.picture("slot errors by formation and fleet", draw(flights), "errors")
    return page.write()


def main() -> int:
    """Flies what is missing, and writes the page."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--fleets", type=int, nargs="+", default=FLEETS, help="their sizes")
    parser.add_argument("--seeds", type=int, default=5, help="of each fleet, from 1 (5)")
    parser.add_argument("--px4", action="store_true", help="by real PX4; needs PX4_BUILD")
    args = parser.parse_args()
    if args.px4 and not os.environ.get("PX4_BUILD"):
        parser.error("--px4 needs PX4_BUILD, the folder of a build of PX4")
    autopilot = "px4" if args.px4 else "embedded"
    flights = read()
    there = {(flight["n"], flight["seed"], flight["autopilot"]) for flight in flights}
    for n in args.fleets:
        for seed in range(1, args.seeds + 1):
            if (n, seed, autopilot) not in there:
                flights.append(fly(n, seed, autopilot))
                keep(flights)
                print(json.dumps(flights[-1]), flush=True)
    return write(flights)


if __name__ == "__main__":
    sys.exit(main())
