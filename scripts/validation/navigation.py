"""Flies through forests, between people, in swarms and through rooms: every figure of Navigation.

    python scripts/validation/navigation.py                   flies what is missing, then the page
    python scripts/validation/navigation.py --only people     one part
    python scripts/validation/navigation.py --flights 0       the page of what was flown

Each flight is a line of scripts/validation/navigation/PART.jsonl as soon as it has ended; the
command may be interrupted and goes on when it is given again. A flight through a forest takes about
15 s of processor time, one with people 40 s, a crossing of ten 110 s, an exploration 2 minutes. The
page tells how many were flown beside how many were asked for; status 1 if a bound is exceeded.
"""

import argparse
import contextlib
import itertools
import json
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

from _report import Page
from xtdrone_core import Scenario, plot_style
from xtdrone_core.runs import run_folder
from xtdrone_core.scenario.vehicles import parse_vehicles
from xtdrone_planning import faults, table
from xtdrone_planning.exploration import comparison
from xtdrone_planning.exploration.agent import PERCENT, SCHEMES, seconds_to
from xtdrone_planning.forest import write_world
from xtdrone_planning.results import Case, Kept, Result, Scene
from xtdrone_planning.several import crossing
from xtdrone_planning.several.formation import SwarmFormationAgent
from xtdrone_sim.simulation import Simulation

FOLDER = Path(__file__).with_suffix("")
FORESTS, PEOPLE, CROSSINGS = 100, 20, 50
SEEN, QUICKER = 0.98, 2.0 / 3.0  # of the rooms; of the baseline's time
OPEN = "empty"
FORMATIONS = ((OPEN, 1, "30,0,2"), ("woods", 1, "56,0,2"), ("woods", 2, "56,0,2"))
V_STARTS = "; ".join(f"iris_depth_small@{place},0" for place in ("0,0", "-2,2", "-2,-2"))
AREA, VEHICLE = "-18,-12,18,12", "iris_depth_small"
SEEDS = 1, 2, 3  # of the noise in the explorations


@dataclass(frozen=True)
class Row:
    """Flights with one planner."""

    title: str
    case: Case
    world: str
    people: int = 0
    most: int = FORESTS
    share: float = 0.0  # of the flights that has to succeed; 0: it is only told
    longest: float = 0.0  # of a way, over the shortest; 0: it is only told

    @property
    def scenes(self) -> list[Scene]:
        """All scenes."""
        return [Scene(self.world, seed, self.people) for seed in range(self.most)]


ROWS = (
    Row("ours, 3 m/s", Case("local", 3.0), "woods", share=0.98, longest=1.15),
    Row("ours, 5 m/s", Case("local", 5.0), "woods", share=0.95, longest=1.15),
    Row("OMPL's RRT-Connect, 3 m/s", Case("ompl", 3.0), "woods"),
    Row("policy of DepthNavigation-v0, 3 m/s", Case("policy", 3.0), "woods"),
    Row("ours between ten people, 2 m/s", Case("local", 2.0), "navigation_forest", 10, PEOPLE, 1.0),
)


def file_of(row: Row) -> Path:
    """Returns the file of a row's flights."""
    return FOLDER / ("people.jsonl" if row.people else "forests.jsonl")


def results_of(row: Row) -> list[Result]:
    """Returns the flights of a row so far."""
    kept = Kept(file_of(row))
    found = [kept.find(row.case, scene) for scene in row.scenes]
    return [result for result in found if result is not None]


def forests(page: Page, flown: list[tuple[Row, list[Result]]]) -> None:
    """Tells the flights through forests and between people."""
    page.add("## One vehicle", "")
    page.table(
        "planner", "flights", "untouched at the goal", "bound", "touched", "way / shortest",
        "mean speed [m/s]", "plan [ms]", "holds",
    )  # fmt: skip
    for row, own in flown:
        if not own:
            continue
        good = [result for result in own if result.success]
        touched = sum(bool(result.touched) for result in own)
        ratio = np.mean([r.way / r.shortest for r in good]) if good else np.nan
        speed = np.mean([r.way / r.seconds for r in good]) if good else np.nan
        holds = "only told"
        if row.people:
            holds = page.holds(f"{row.title}: {touched} touches in {len(own)} scenes", touched == 0)
        elif row.share:
            enough = len(good) >= row.share * len(own) and ratio <= row.longest
            share = f"{len(good)} of {len(own)}"
            holds = page.holds(f"{row.title}: {share}, {ratio:.3f} of the shortest", enough)
        bound = "0 touches" if row.people else f"{row.share:.0%}, {row.longest:g}"
        page.row(
            row.title, f"{len(own)} of {row.most}",
            f"{len(good)} ({len(good) / len(own):.1%})",
            bound if row.share else "none", touched, f"{ratio:.3f}", f"{speed:.2f}",
            f"{np.median([r.plan_ms for r in own]):.1f}", holds,
        )  # fmt: skip
    page.add("")
    missed = [
        f"- {result}" for row, own in flown if row.share for result in own if not result.success
    ]
    if missed:
        page.add("Flights of ours that did not succeed:", "", *missed)


def crossings(page: Page, path: Path) -> None:
    """Tells the crossings of ten."""
    flights = crossing.read(path)
    if not flights:
        return
    touches = sum(len(flight.touched) for flight in flights)
    page.add("## Ten at once", "", *crossing.summary(flights), "")
    what = f"{touches} touches in {len(flights)} crossings"
    holds = page.holds(what, not touches)
    page.add(
        f"{what} of {CROSSINGS} that were asked for; bound 0: holds {holds}. "
        f"The least true distance of two vehicles was {min(f.least for f in flights):.2f} m."
    )
    given_up = [f"{f.seed}: {', '.join(f.given_up)}" for f in flights if f.given_up]
    if given_up:
        page.add(f"Who did not come to its goal, by forest: {'; '.join(given_up)}.")


def formations(page: Page, path: Path) -> None:
    """Tells where a formation kept its shape."""
    rows = lines_of(path)
    if not rows:
        return
    page.add("## A formation between trees", "")
    page.table("world", "vehicles", "at the goal", "shape kept", "off its slot, RMS [m]",
               "shape lost at x [m]", "least distance [m]", "touches")  # fmt: skip
    for row in rows:
        lost = ", ".join(f"{x:.0f}" for x, _ in row["shape_lost_at_m"]) or "nowhere"
        page.row(
            row["world"], row["vehicles"], "yes" if row["goals_reached"] else "no",
            f"{row['shape_kept_percent']:.0f} % of the time", row["worst_slot_error_kept_rms_m"],
            lost, row["least_distance_m"], len(row["touched"]),
        )  # fmt: skip
        what = f"formation in {row['world']}: at the goal, nothing touched"
        page.holds(what, bool(row["goals_reached"]) and not row["touched"])
    page.add("")


def formation_flown(world: str, seed: int, goal: str) -> dict:
    """Flies a V of three to a goal, in the open or through a forest; returns what was measured."""
    over: list[int] = []
    agent = SwarmFormationAgent(
        3, goal, "V", delay=0.1, loss=0.1, seed=seed,
        on_event=lambda t_us, name, **values: over.append(t_us) if name == "goal" else None,
    )  # fmt: skip
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "forest.world"
        if world != OPEN:
            write_world(path, world, seed)
        scenario = Scenario(
            parse_vehicles(V_STARTS),
            world=world if world == OPEN else str(path),
            seed=seed,
            speed=0.0,
            log="none",
        )
        with contextlib.closing(Simulation(scenario)) as simulation:
            simulation.agent = agent
            while not over and simulation.t_us < 240e6:
                simulation.run(simulation.t_us + 500_000)
            touched = [" and ".join(names) for _, *names in simulation.collisions]
    name = world if world == OPEN else f"{world}, seed {seed}"
    return {"world": name, **agent.metrics(), "touched": touched}


def exploration(page: Page, path: Path) -> None:
    """Tells explorations of the hall beside those of the baseline."""
    flown = lines_of(path)
    if not flown:
        return
    page.add("## Exploration of `hall`", "", "Means of flights with other noise, and ranges.", "")
    page.table("scheme", "flights", "least seen", *(f"{p} % after [s]" for p in PERCENT),
               "all [s]", "way [m]", "touches")  # fmt: skip
    figure, axes = plot_style.panels(1, 1, 8.0, 4.0)
    least, means = [], []
    for k, scheme in enumerate(SCHEMES):
        own = [row for row in flown if row["scheme"] == scheme]
        tables = [np.array(row["rows"]) for row in own]
        times = [[seconds_to(rows, percent) for rows in tables] for percent in PERCENT]
        least.append(min(rows[-1, 2] for rows in tables))
        means.append(np.mean(times[-1]))
        page.row(
            scheme, len(own), f"{least[-1]:.1%}", *map(ranged, times),
            ranged([row["seconds"] for row in own]), ranged([row["way"] for row in own]),
            sum(len(row["touched"]) for row in own),
        )  # fmt: skip
        for number, rows in enumerate(tables):
            label = None if number else scheme
            axes.plot(rows[:, 0], 100.0 * rows[:, 2], color=plot_style.series(k), label=label)
    holds = page.holds(f"{least[0]:.1%} seen", least[0] >= SEEN)
    page.add("", f"Bound {SEEN:.0%} seen: {holds}.")
    page.add(
        f"98 % by the tour after {means[0] / means[1]:.2f} of the baseline's time; the goal is "
        f"{QUICKER:.2f}."
    )
    axes.set(xlabel="time [s]", ylabel="seen of what there is [%]")
    axes.legend()
    page.picture("Seen over time", figure, "exploration")


def ranged(values: list[float]) -> str:
    """Returns a mean and a range in words."""
    if len(values) == 1 or not np.isfinite(values).all():
        return f"{np.mean(values):.0f}"
    return f"{np.mean(values):.0f} ({min(values):.0f} to {max(values):.0f})"


def tell_faults(page: Page, path: Path) -> None:
    """Tells what was held when something went wrong."""
    rows = lines_of(path)
    if not rows:
        return
    page.add("## Faults", "", *faults.HEAD.splitlines(), *(row["row"] for row in rows), "")
    for row in rows:
        page.holds(f"{row['fault']} is held", row["holds"])


def lines_of(path: Path) -> list[dict]:
    """Returns the lines of a file of JSON; none if there is no file."""
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def append(path: Path, row: dict) -> None:
    """Adds a line."""
    with path.open("a") as file:
        file.write(json.dumps(row) + "\n")


def fly_forests(most: int, people: bool = False) -> Iterator[object]:
    """Flies what is missing, up to so many of each row."""
    for row in ROWS:
        if (row.people > 0) == people:
            yield from table.fly(row.scenes[:most], [row.case], Kept(file_of(row)))


def fly_people(most: int) -> Iterator[object]:
    """Flies what is missing between people."""
    return fly_forests(most, True)


def fly_crossings(most: int) -> Iterator[object]:
    """Flies what is missing of the crossings."""
    yield from crossing.fly(
        crossing.Case(), range(min(most, CROSSINGS)), FOLDER / "crossings.jsonl"
    )


def fly_formations(most: int) -> Iterator[object]:
    """Flies the formations that are missing."""
    path = FOLDER / "formations.jsonl"
    for case in FORMATIONS[len(lines_of(path)) : most]:
        row = formation_flown(*case)
        append(path, row)
        yield row


def fly_exploration(most: int) -> Iterator[object]:
    """Explores the hall by each scheme as often as is missing."""
    path = FOLDER / "exploration.jsonl"
    known = {(row["scheme"], row["seed"]) for row in lines_of(path)}
    pictures = run_folder.runs_root() / "exploration"
    (pictures / "plots").mkdir(parents=True, exist_ok=True)
    for seed, scheme in itertools.product(SEEDS[:most], SCHEMES):
        if (scheme, seed) not in known:
            flown = comparison.explore(scheme, "hall", AREA, VEHICLE, 1200.0, pictures, seed)
            row = {**asdict(flown), "rows": np.round(flown.rows, 4).tolist()}
            append(path, {"seed": seed, **row})
            yield flown


def fly_faults(most: int) -> Iterator[object]:
    """Flies each fault anew."""
    path = FOLDER / "faults.jsonl"
    if most and not path.exists():
        for held in faults.fly():
            append(path, {"fault": held.fault.name, "row": str(held), "holds": held.holds})
            yield held


PARTS = {
    "faults": fly_faults,
    "exploration": fly_exploration,
    "formations": fly_formations,
    "people": fly_people,
    "forests": fly_forests,
    "crossings": fly_crossings,
}


def write() -> int:
    """Writes the page of what was flown; returns 1 if a bound is exceeded."""
    page = Page("navigation")
    page.add(
        "# Navigation",
        "",
        "Made by `scripts/validation.sh navigation`, which flies what is missing of "
        "scripts/validation/navigation/: one line for each flight. The forests have 200 trees on "
        "50 x 50 m, unknown at the start; a depth camera of 480 x 360 pixels with noise (`"
        f"{table.VEHICLE}`), estimates of the flight stack; a touch is one of the simulation's. "
        "Between people who walk it flies below their heads with cameras all around (`"
        f"{table.LOOKING_AROUND}`), 28 m between 40 trees. Ten vehicles cross a forest with 100 ms "
        "delay and 10 % loss. [Navigation](../navigation.md) tells how it works.",
    )
    forests(page, [(row, results_of(row)) for row in ROWS])
    crossings(page, FOLDER / "crossings.jsonl")
    formations(page, FOLDER / "formations.jsonl")
    exploration(page, FOLDER / "exploration.jsonl")
    tell_faults(page, FOLDER / "faults.jsonl")
    return page.write()


def main() -> int:
    """Flies what is missing, and writes the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--flights", type=int, default=FORESTS, help=f"of each row ({FORESTS})")
    parser.add_argument("--only", default="", choices=("", *PARTS), help="one part")
    args = parser.parse_args()
    plot_style.load()
    FOLDER.mkdir(exist_ok=True)
    for name in [args.only] if args.only else PARTS:
        for flown in PARTS[name](args.flights):
            print(flown, flush=True)
    return write()


if __name__ == "__main__":
    sys.exit(main())
