"""Vehicles identified from flights of the embedded flight stack: docs/validation/identification.md.

    python scripts/validation/identification.py --only iris    flies and fits what is missing
    python scripts/validation/identification.py --flights 0    the page of what was fitted

Each fit is a line of scripts/validation/identification.jsonl as soon as it is done; the command may
be interrupted and goes on when it is given again. A fit takes about 10 s of processor time.
"""

import argparse
import json
import sys
import tempfile
from pathlib import Path

import numpy as np

from _report import Page
from xtdrone_core import plot_style, resources
from xtdrone_core.command import main
from xtdrone_core.runs import run_folder
from xtdrone_identification import logs, report
from xtdrone_identification.identification import identify
from xtdrone_identification.parameters import Model
from xtdrone_sim.vehicles.sdf import load_vehicle
from xtdrone_sim.vehicles.sdf_numbers_by_path import SdfNumbers

FILE = Path(__file__).with_suffix(".jsonl")
VEHICLES = ("iris", "crazyflie", "typhoon_h480", "tello")
FLIGHTS = 20  # of each vehicle
BOUND, INSIDE = 0.05, 19  # largest error; how often within the interval of FLIGHTS
PATHS = (
    "plugin/motorConstant",
    "plugin/momentConstant",
    "plugin/rotorDragCoefficient",
    "plugin/rollingMomentCoefficient",
    "plugin/timeConstantUp",
    "plugin/timeConstantDown",
    "plugin/control_channels/channel/zero_position_armed",
    "xtdrone:effects/linear_drag/coefficients#0",
    "xtdrone:effects/linear_drag/coefficients#1",
    "xtdrone:effects/linear_drag/coefficients#2",
    "link[base_link]/inertial/inertia/ixx",
    "link[base_link]/inertial/inertia/iyy",
    "link[base_link]/inertial/inertia/izz",
)


def distorted(vehicle, seed, folder):
    """Writes a model whose numbers are 0.7 to 1.4 times those of a vehicle; returns it."""
    file, rng = SdfNumbers(resources.vehicle_sdf(vehicle)), np.random.default_rng(seed)
    for path in PATHS:
        factor = rng.uniform(0.7, 1.4)
        if file.has(path):
            file.change(path, lambda old, factor=factor: factor * old)
    return load_vehicle(file.write_model(Path(folder) / f"{vehicle}_{seed}"))


def flown(vehicle, count):
    """Returns the logs of some vehicles that fly side by side, each with its own sensors."""
    name = f"identification_{vehicle}" if count == FLIGHTS else f"identification_{vehicle}_{count}"
    folder = run_folder.runs_root() / name / "ulog"
    done = run_folder.runs_root() / name / "summary.json"
    if not done.exists() or "stopped" in done.read_text():
        fleet = ["--vehicles", f"{vehicle}*{count}", "--log", "identification", "--name", name]
        main(["fly", "excite", *fleet, "--speed", "0", "--seed", "39"])
    return [folder / f"{vehicle}_{k}" / "log001.ulg" for k in range(count)]


def fitted(vehicle, seed, log):
    """Identifies one log; returns a line for the file, and what was found."""
    true = load_vehicle(vehicle)
    with tempfile.TemporaryDirectory() as folder:
        start = distorted(vehicle, seed, folder)
        found = identify(
            start, logs.read([log], len(true.rotors)), given={"mass": true.mass}, held_out=0.15
        )
    values = {}
    for one in Model(true).parameters:
        if one.of_vehicle:
            low, high = found.fit.interval(one.name)
            values[one.name] = [one.start, found.fit.values[one.name], low, high]
    scores = {
        name: [float(found.before.rms[name][-1]), float(found.after.rms[name][-1])]
        for name in found.after.rms
    }
    line = {"vehicle": vehicle, "seed": seed, "seconds": found.fitted.seconds, "values": values}
    return {**line, "scores": scores}, found


def read():
    """Returns the lines of the file."""
    return [json.loads(line) for line in FILE.read_text().splitlines()] if FILE.exists() else []


def work(vehicles, flights):
    """Fits what is missing."""
    done = {(line["vehicle"], line["seed"]) for line in read()}
    for vehicle in vehicles:
        for seed, log in enumerate(flown(vehicle, flights)):
            if (vehicle, seed) in done:
                continue
            line, _ = fitted(vehicle, seed, log)
            with FILE.open("a") as file:
                file.write(json.dumps(line) + "\n")
            worst = max(abs(v[1] / v[0] - 1.0) for v in line["values"].values() if v[0])
            print(f"{vehicle} {seed}: {worst:.2%} at worst", flush=True)


def table(page, vehicle, lines):
    """Adds a vehicle's table."""
    page.add(
        f"## {vehicle}", "", f"{len(lines)} logs with {lines[0]['seconds']:.0f} s that are fitted."
    )
    page.table(
        "parameter", "true", "median error", "largest error", "half width of the interval",
        "within it", "holds",
    )  # fmt: skip
    for name in lines[0]["values"]:
        rows = np.array([line["values"][name] for line in lines])
        true, value, low, high = rows.T
        inside = int(np.sum((low <= true) & (true <= high)))
        wanted = int(np.ceil(INSIDE * len(lines) / FLIGHTS))
        if true[0]:
            errors = np.abs(value / true - 1.0)
            size = np.median(high - low) / 2.0 / true[0]
            cells = [f"{np.median(errors):.2%}", f"{errors.max():.2%}", f"{size:.2%}"]
            good = errors.max() <= BOUND and inside >= wanted
        else:
            errors, size = np.abs(value), np.median(high - low) / 2.0
            cells = [f"{1e3 * np.median(errors):.2g} ms", f"{1e3 * errors.max():.2g} ms"]
            cells.append(f"{1e3 * size:.2g} ms")
            good = inside >= wanted
        what = f"{vehicle}, {name}: {cells[1]} at most, {inside} of {len(lines)} within"
        page.row(
            name, f"{true[0]:.4g}", *cells, f"{inside} of {len(lines)}", page.holds(what, good)
        )
    page.add("")


def predictions(page, lines):
    """Adds the held-out scores."""
    page.add(
        "## Predictions of the held-out part",
        "",
        "The last 15 % of each flight, 0.5 s ahead: median over the logs of the root mean square, "
        "with the numbers that the fit began with and with those that it found.",
    )
    page.table("vehicle", "position [m]", "velocity [m/s]", "attitude [deg]", "body rates [rad/s]")
    for vehicle in VEHICLES:
        own = [line["scores"] for line in lines if line["vehicle"] == vehicle]
        if not own:
            continue
        pairs = (np.median([scores[name] for scores in own], axis=0) for name in own[0])
        page.row(vehicle, *(f"{before:.3g} → {after:.3g}" for before, after in pairs))
    page.add("")


def write():
    """Writes the page; returns 1 if a bound is broken."""
    lines = read()
    page = Page("identification")
    page.add(
        "# Identification",
        "",
        "Made by `scripts/validation.sh identification`. "
        "Vehicles of a type, each with sensors of its own, fly the Agent `excite` for 60 s "
        "(`--log identification`, usual GPS, estimated state). Each is identified from a model "
        "whose numbers are 0.7 to 1.4 times the true ones; the mass is given. Bounds: every number "
        f"within 5 %, and within its 95 % interval in {INSIDE} of {FLIGHTS}. "
        "[How it works](../identification.md).",
    )
    for vehicle in VEHICLES:
        own = [line for line in lines if line["vehicle"] == vehicle]
        if own:
            table(page, vehicle, own)
    predictions(page, lines)
    logs_of_iris = sorted(run_folder.runs_root().glob("identification_iris*/ulog/iris_0/*.ulg"))
    for log in logs_of_iris[:1]:
        _, found = fitted("iris", 0, log)
        page.picture("Fitted over measured", report.draw_fit(found, "iris"), "fit")
        page.picture(
            "Predictions of the held-out part", report.draw_score(found, "iris"), "held_out"
        )
    page.add(*(Path(__file__).with_name("_identification.md").read_text().splitlines()))
    return page.write()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", choices=VEHICLES)
    parser.add_argument("--flights", type=int, default=FLIGHTS)
    args = parser.parse_args()
    plot_style.load()
    work([args.only] if args.only else VEHICLES, args.flights) if args.flights else None
    sys.exit(0 if args.only else write())
