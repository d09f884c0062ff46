"""Picks up a parcel many times, and moves an arm with and without the flight stack's knowledge.

    scripts/validation.sh manipulation
    python scripts/validation/manipulation.py --keep FILE    goes on after a stop, see _kept.py

Each flight of the Agent `pick`, by INDI, has another seed, and a parcel and a goal at other places:
in calm air and in wind of 3 m/s with turbulence. Then a hover in which the arm is unfolded and
folded.
"""

import contextlib
import sys
import tempfile
from pathlib import Path

import numpy as np

from _kept import Kept
from _report import Report
from xtdrone import Scenario
from xtdrone_core import XtdroneError
from xtdrone_core.flight_agent import FlightAgent
from xtdrone_perception.picking.agent import PickAgent
from xtdrone_sim.simulation import Simulation

VEHICLE = "quadrotor_gripper"
FLIGHTS = 20
LONGEST_S = 180.0
LOOPS = {"rate_control": "indi", "velocity_control": "indi"}
WIND = "mean=3,0,0 dryden=3"
AIRS = (("calm air", "", 1.0), ("wind of 3 m/s", WIND, 0.9))
DOWN = 0.97 / 1.6, -2.54 / 3.1  # commands of shoulder and elbow with the cup down
UNFOLD_S, FOLD_S, END_S = 8.0, 13.0, 18.0  # after the take-off
NEAR_M, HEIGHT_M = 0.05, 0.15
PARTS = (
    ("PX4's loops", "on", "embedded"),
    ("PX4's loops", "off", "embedded"),
    ("INDI", "on", "indi"),
    ("INDI", "off", "indi"),
)
HEAD = (
    "Made by `scripts/validation.sh manipulation`: `xtdrone fly pick` by INDI, with a parcel of "
    "200 g that lies up to 0.5 m east and north from where it should be, turned by any angle, and "
    f"a goal as far from where that should be. The wind is `{WIND}`. Put down well counts a "
    "parcel within 5 cm of its goal by the truth."
)


def pick(seed: int, wind: str) -> dict:
    """Flies once; returns the figures, and how the flight ended."""
    rng = np.random.default_rng(seed)
    (x, y), (east, north) = rng.uniform(-0.5, 0.5, (2, 2))
    yaw, turn = rng.uniform(-np.pi, np.pi, 2)
    models = f"parcel@{3 + x:.3f},{y:.3f},0,{yaw:.3f}; "
    models += f"goal_marker@{3 + east:.3f},{3 + north:.3f},0,{turn:.3f}"
    scenario = Scenario(
        VEHICLE, models=models, wind=wind, seed=seed, speed=0.0, log="none", **LOOPS
    )
    with tempfile.TemporaryDirectory() as folder:
        agent = PickAgent()
        with contextlib.closing(Simulation(scenario, folder, links=False, agent=agent)) as flight:
            try:
                flight.run(round(LONGEST_S * 1e6))
            except XtdroneError as error:
                return {"ended": str(error)}
            crashes = len(flight.crashes)
        found = agent.report(Path(folder))
    found["ended"] = "crash" if crashes else "landed" if agent.done else "late"
    print(seed, wind, found, flush=True)
    return found


class Unfold(FlightAgent):
    """Hovers, unfolds the arm as fast as its servos turn, and folds it again."""

    def __init__(self, on_event):
        """Prepares a flight at 2 m."""
        super().__init__(1, 2.0, on_event=on_event)
        self.command_actuators(7)
        self._begun_us = 0

    def begin(self, t_us, estimates):
        """Begins in the hover."""
        self._begun_us = t_us

    def fly(self, t_us, estimates, out):
        """Holds its place while the arm moves."""
        t = (t_us - self._begun_us) * 1e-6
        out.pos[0] = self.home[0] + [0.0, 0.0, self.height]
        out.actuators[0, 4:6] = DOWN if UNFOLD_S < t < FOLD_S else (0.0, 0.0)
        return t > END_S


def unfold(feedforward: str, loops: str) -> tuple[float, float]:
    """Largest change of height and of place by the truth from when the arm begins to move [m]."""
    scenario = Scenario(
        VEHICLE,
        speed=0.0,
        pose_source="motion_capture",
        arm_feedforward=feedforward,
        rate_control=loops,
        velocity_control=loops,
    )
    events, rows = {}, []
    agent = Unfold(on_event=lambda t_us, name, **values: events.setdefault(name, t_us))
    simulation = Simulation(scenario, links=False, agent=agent)
    try:
        while "land" not in events:
            simulation.step()
            rows.append((simulation.t_us, *simulation.state.pos[0]))
    finally:
        simulation.close()
    table = np.array(rows)
    since = (table[:, 0] - events["airborne"]) * 1e-6
    start = table[(since > UNFOLD_S - 0.5) & (since < UNFOLD_S), 1:].mean(axis=0)
    off = table[(since >= UNFOLD_S) & (since < END_S), 1:] - start
    return float(abs(off[:, 2]).max()), float(np.hypot(off[:, 0], off[:, 1]).max())


def main() -> int:
    """Flies, and writes the page."""
    kept = Kept(sys.argv[1:])
    report = Report("manipulation", HEAD)
    report.add("## Parcels")
    titles = ("air", "seed", "off its goal [cm]", "height off while the arm moves [cm]")
    report.table(*titles, "tries", "ended")
    rows = []
    for seed in range(1, FLIGHTS + 1):  # so that a stopped command has as many of each
        for air, wind, _ in AIRS:
            if kept.of(air, [seed]):
                kept(f"{air} {seed}", lambda: pick(seed, wind))
    for air, wind, least in AIRS:
        flown = {
            seed: kept(f"{air} {seed}", lambda: pick(seed, wind))
            for seed in kept.of(air, range(1, FLIGHTS + 1))
        }
        off = [each.get("placed_off_goal_m", np.inf) for each in flown.values()]
        high = [each.get("height_off_while_arm_moves_m", np.inf) for each in flown.values()]
        rows += [
            (air, seed, *(f"{100.0 * x:.1f}" for x in values), each.get("tries", ""), each["ended"])
            for (seed, each), *values in zip(flown.items(), off, high)
        ]
        missed = sum(each > NEAR_M for each in off)
        count = len(flown)
        report.check(f"{air}: parcels of {count} not put down well", missed, (1.0 - least) * count)
        report.check(f"{air}: height while the arm moves, largest error", max(high), HEIGHT_M, "m")
    for row in rows:
        report.row(*row)
    report.add("", "## The arm in a hover")
    report.add(
        "The arm unfolds and folds as fast as its servos turn, in calm air, with the pose of a "
        "motion capture; errors are the largest by the truth, against where the vehicle was "
        "before. `--arm_feedforward auto` is on for PX4's loops, and off for INDI, which measures "
        "the torque."
    )
    report.table("loops", "feed-forward of the arm", "height off [cm]", "place off [cm]")
    for name, feedforward, loops in PARTS:
        height, place = unfold(feedforward, loops)
        report.row(name, feedforward, f"{100.0 * height:.1f}", f"{100.0 * place:.1f}")
        report.check(
            f"{name}, feed-forward {feedforward}: height in the hover", height, HEIGHT_M, "m"
        )
    return report.write()


if __name__ == "__main__":
    sys.exit(main())
