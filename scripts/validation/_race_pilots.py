"""Four pilots on the track `eight`, a section of docs/validation/racing.md."""

import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests" / "support"))

import browser
from _report import Page
from stick_pilot import SPEED, fly_laps
from xtdrone_control.race_table import draw, read_entries
from xtdrone_core.runs import run_folder

LEARNED = "fly policy --policy examples/policies/track_iris.onnx"
AGENTS = {
    "planned": "fly race --plan time_optimal --rate_control indi",
    "sampled": "fly mppi",
    "learned": LEARNED,
}
STICKS = "sticks on the page, held by a program"
LAPS = 3
SEEDS = range(1, 9)
WITHIN = 1.1  # best lap by sampling over that of the plan


class Race(NamedTuple):
    """What a run's summary says of its race."""

    laps: list[float]  # [s]
    missed: int
    touches: int

    @classmethod
    def of(cls, folder: Path) -> "Race":
        """Reads a run folder."""
        summary = run_folder.read_summary(folder)
        (vehicle,) = summary["race"]["vehicles"]
        laps = [lap["splits"][-1] for lap in vehicle["laps"]]
        return cls(laps, vehicle["missed_gates"], summary["collisions"])

    @property
    def clean(self) -> bool:
        """Whether it flew all laps, through every gate, and touched nothing."""
        return len(self.laps) == LAPS and not self.missed and not self.touches


def fly(folder: Path, name: str, command: str) -> Path:
    """Flies a command of xtdrone on the track; returns its run folder, whatever came of it."""
    given = [*command.split(), "--track", "eight", "--gps", "rtk", "--name", name]
    subprocess.run(
        [sys.executable, "-m", "xtdrone_core.command", *given],
        stdout=subprocess.DEVNULL,
        env={**os.environ, "XTDRONE_RUNS": str(folder)},
        check=False,
    )
    return folder / name


def fly_sticks(folder: Path) -> Path:
    """Flies by the sticks of the page in a browser; returns the run folder."""
    with browser.browser(folder, (800, 500)) as context:
        return fly_laps(context, folder / "sticks", LAPS)


def check() -> None:
    """Exits where there is no browser, whose page a pilot needs."""
    if why := browser.missing():
        sys.exit(why)


def pilots(page: Page) -> None:
    """The best lap of each pilot with its splits, and seeds of the learned policy."""
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        runs = {name: fly(folder, name, command) for name, command in AGENTS.items()}
        runs[STICKS] = fly_sticks(folder)
        _table(page, runs)
        _seeds(page, folder)


def _table(page: Page, runs: dict[str, Path]) -> None:
    commands = "; ".join(f"{name} `xtdrone {command}`" for name, command in AGENTS.items())
    page.add(
        "## Four pilots",
        "",
        f"An iris on `eight`, {LAPS} laps by estimated states with RTK GPS "
        f"(`--track eight --gps rtk`): {commands}. "
        "*Sticks*: no person flew here. A program holds the sticks of the page in Chromium: "
        "it reads what the page shows, pose and velocity, presses its buttons and moves the axes "
        "of a gamepad up to fifty times a second, in ALTCTL, along the smooth path at up to "
        f"{SPEED:g} m/s (tests/support/stick_pilot.py). "
        "The best lap of each, by its splits at the gates. "
        f"The lap by sampling is at most {WITHIN - 1.0:.0%} longer than that of the plan; "
        "every pilot passes all gates of all laps and touches nothing.",
    )
    entries, track = read_entries([f"{name}={run}" for name, run in runs.items()])
    count = len(track.gates)
    gates = [f"gate {k + 1} [s]" for k in range(1, count)]
    page.table("pilot", *gates, "lap [s]", "all laps [s]", "missed", "touches", "holds")
    best = {entry.pilot: float(entry.lap.splits[-1]) for entry in entries}
    allowed = {"sampled": WITHIN * best["planned"]}
    for entry in entries:
        race, name = Race.of(runs[entry.pilot]), entry.pilot
        good = race.clean and best[name] <= allowed.get(name, float("inf"))
        page.row(
            name,
            *(f"{split:.2f}" for split in entry.lap.splits),
            ", ".join(f"{lap:.2f}" for lap in race.laps),
            race.missed,
            race.touches,
            page.holds(f"{name}: {best[name]:.2f} s, {len(race.laps)} laps", good),
        )
    page.add("")
    page.picture("Four pilots", draw(entries, track))


def _seeds(page: Page, folder: Path) -> None:
    page.add(
        "## Seeds of the learned policy",
        "",
        f"The same flight by the learned policy with other noise: `--seed {SEEDS[0]}` to "
        f"`{SEEDS[-1]}`.",
    )
    page.table("seed", "laps [s]", "missed", "touches", "untouched")
    races = {
        seed: Race.of(fly(folder, f"seed_{seed}", f"{LEARNED} --seed {seed}")) for seed in SEEDS
    }
    for seed, race in races.items():
        page.row(
            seed,
            ", ".join(f"{lap:.2f}" for lap in race.laps),
            race.missed,
            race.touches,
            "yes" if race.clean else "no",
        )
    page.add("")
    clean = sum(race.clean for race in races.values())
    page.add(f"{clean} of {len(SEEDS)} fly all laps without a touch.")
