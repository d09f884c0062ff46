"""How the cost grows with the number of vehicles, environments, cameras and topics.

Vehicles hover with flight logs, without and with telemetry; environments are batches of one iris
(float32, controlled); cameras of a batch draw depth images of 64 x 48 pixels; each vehicle of a
lockstep fleet has a depth camera of models/iris_depth_small; topics are those of ROS 2, which a
program on Fast DDS receives.

    python benchmarks/bench_growth.py
    python benchmarks/bench_growth.py vehicles environments
    python benchmarks/bench_growth.py --docs      also writes docs/growth.md's tables and picture
"""

import argparse
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

import bench_batch
import bench_cameras
import bench_fleet
import bench_ros2
import results
from tqdm import tqdm

from xtdrone_control.agents import HoverAgent
from xtdrone_core import Scenario, plot_style
from xtdrone_core.scenario.vehicles import fleet
from xtdrone_sim.simulation import Simulation

DOCS = Path(__file__).resolve().parents[1] / "docs"
PAGE, PICTURE = DOCS / "growth.md", DOCS / "images" / "growth.png"
VEHICLES = 1, 3, 10, 30, 100, 250, 500, 1000
ENVIRONMENTS = 1, 10, 100, 1000, 10_000, 100_000, 1_000_000
CAMERAS = 1, 4, 16, 64
ROS2_VEHICLES = 1, 3, 10, 50  # each with as many topics
_SECONDS = 4.0  # simulated, of a fleet
_CAMERA_HZ = 5.0  # of models/iris_depth_small


class Curve(NamedTuple):
    """What was measured over a number of things."""

    name: str
    of: str  # the things
    unit: str  # of the cost of one of them
    points: list[tuple[int, float]]  # number of things, cost of one


def vehicles(work: results.Work) -> list[Curve]:
    """Wall time of a step of 4 ms for each vehicle of a fleet."""
    curves = []
    for telemetry in ("none", "full"):
        points = []
        for n in tqdm(VEHICLES, f"vehicles, telemetry {telemetry}", leave=False):
            if telemetry == "full" and n > bench_fleet.MAX_LINKED:
                continue
            factor = bench_fleet.measure(n, _SECONDS, telemetry, work)["real_time_factor"]
            points.append((n, 4000.0 / factor / n))
        name = "flight, with telemetry" if telemetry == "full" else "flight"
        curves.append(Curve(name, "vehicles", "µs a step", points))
    return curves


def environments(work: results.Work) -> list[Curve]:
    """Wall time of a step of 4 ms for each vehicle of a batch."""
    points = [
        (n, 1e6 / bench_batch.measure(n, work=work))
        for n in tqdm(ENVIRONMENTS, "environments", leave=False)
    ]
    return [Curve("batch", "environments", "µs a step", points)]


def cameras(work: results.Work) -> list[Curve]:
    """Wall time of an image, of batches and of lockstep fleets."""
    drawn, flown = [], []
    for n in tqdm(CAMERAS, "cameras", leave=False):
        batch = bench_cameras.batch_of(bench_cameras.scenes_of(n))
        drawn.append((n, 1e3 / bench_cameras.ours(batch, 64, 48, bench_cameras.ONE, work)))
        flown.append((n, _image_ms(n, work)))
    return [
        Curve("image of a batch", "cameras", "ms", drawn),
        Curve("flight and image of a fleet", "cameras", "ms", flown),
    ]


def _image_ms(n: int, work: results.Work) -> float:
    """Wall time of a flight of n vehicles with a camera each, by its images [ms]."""
    scenario = Scenario(fleet("iris_depth_small", n), speed=0.0, world="outdoor", log="none")
    simulation = Simulation(scenario, agent=HoverAgent(n), links=False)
    try:
        readings = results.Readings()
        simulation.observers.append(readings)
        simulation.run(until_us=2_000_000)
        readings.count = 0
        begin = time.perf_counter()
        simulation.run(until_us=2_000_000 + round(_SECONDS * 1e6))
        wall = time.perf_counter() - begin
        work.count("depth images drawn", readings.count, n * int(_CAMERA_HZ * _SECONDS))
        return 1e3 * wall / readings.count
    finally:
        simulation.close()


def topics(work: results.Work) -> list[Curve]:
    """Part of a core that the process of ROS 2's topics takes, for each of them."""
    if not bench_ros2.fast_dds.installed():
        print(f"no topics: {bench_ros2.fast_dds.MISSING}")
        return []
    points = []
    with tempfile.TemporaryDirectory() as folder:
        program = bench_ros2.fast_dds.compiled(Path(folder))
        for n in tqdm(ROS2_VEHICLES, "topics", leave=False):
            names = bench_ros2.everything(n)
            percent = bench_ros2.measured(program, n, 50.0, 5.0, names, work)
            points.append((len(names), percent / len(names)))
    return [Curve("topics of ROS 2", "topics", "% of a core", points)]


WHAT = {"vehicles": vehicles, "environments": environments, "cameras": cameras, "topics": topics}


def picture(curves: list[Curve]) -> None:
    """Draws the cost of one over the number of them, a panel for each kind of thing."""
    kinds = list(dict.fromkeys(curve.of for curve in curves))
    figure = plot_style.figure(12.0, 4.2, "cost of one", wide=True)
    for k, kind in enumerate(kinds):
        axes = figure.add_subplot(1, len(kinds), k + 1)
        shown = [curve for curve in curves if curve.of == kind]
        for index, curve in enumerate(shown):
            axes.loglog(
                *zip(*curve.points), marker="o", color=plot_style.series(index), label=curve.name
            )
        axes.set(xlabel=kind, ylabel=f"[{shown[0].unit}]")
        axes.legend(fontsize=7)
    plot_style.save(figure, PICTURE)


def tables(curves: list[Curve]) -> str:
    """Lays the curves out as tables of Markdown."""
    parts = []
    for curve in curves:
        numbers, costs = zip(*curve.points)
        head = " | ".join(f"{n:,}" for n in numbers)
        row = " | ".join(f"{cost:.3g}" for cost in costs)
        parts.append(
            f"| {curve.of} | {head} |\n|---|{'---|' * len(numbers)}\n"
            f"| {curve.name}, {curve.unit} | {row} |\n"
        )
    return "\n".join(parts)


def write(curves: list[Curve]) -> None:
    """Writes the tables and the picture of docs/growth.md."""
    begin, end = "<!-- Figures: written by benchmarks/bench_growth.py. -->\n", "<!-- End. -->\n"
    before, _, rest = PAGE.read_text().partition(begin)
    PAGE.write_text(f"{before}{begin}\n{tables(curves)}\n{end}{rest.partition(end)[2]}")
    picture(curves)


def main() -> None:
    """Measures, prints the tables and updates runs/bench.json."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "what", nargs="*", choices=[*WHAT, []], metavar="WHAT", help=f"{', '.join(WHAT)} (all)"
    )
    parser.add_argument("--docs", action="store_true", help="write docs/growth.md")
    args = parser.parse_args()
    curves, work = [], results.Work()
    for name in args.what or WHAT:
        curves += WHAT[name](work)
    print(tables(curves))
    rows = [
        ({"what": curve.name, "n": n}, round(cost, 6), curve.unit)
        for curve in curves
        for n, cost in curve.points
    ]
    results.replace("growth", rows, work)
    if args.docs:
        write(curves)


if __name__ == "__main__":
    main()
