"""Many vehicles that cross a random forest at once, judged by the simulation."""

import contextlib
import dataclasses
import json
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from xtdrone_core import Scenario, files
from xtdrone_core.outputs import cannot_write
from xtdrone_core.runs import log_file
from xtdrone_core.scenario.vehicles import parse_vehicles
from xtdrone_sim.simulation import Simulation

from ..errors import PlanningError
from ..forest import write_world
from .agent import SwarmAgent

VEHICLE = "iris_depth_small"
GOAL = 56.0, 0.0, 2.0  # beyond the woods [m]
SPACING = 2.0  # between the starts [m]
_MOST_S = 240.0  # of a flight [s]


@dataclass(frozen=True)
class Case:
    """What is flown."""

    n: int = 10
    speed: float = 2.5  # [m/s]
    delay: float = 0.1  # of packets [s]
    loss: float = 0.1  # part of them that is lost
    world: str = "woods"


@dataclass(frozen=True)
class Crossing:
    """One flight."""

    case: Case
    seed: int
    reached: int
    touched: tuple[str, ...]  # what was touched in the air
    least: float  # least distance between two vehicles [m]
    seconds: float  # simulated, from the take-off height to the last goal [s]
    way: float  # of all vehicles [m]
    confirmed: int
    dropped: int
    cpu: float  # processor time per simulated time of the whole flight
    given_up: tuple[str, ...] = ()  # why vehicles did not come to their goals

    def __str__(self) -> str:
        """One line."""
        return (
            f"forest {self.seed}: {self.reached} of {self.case.n} at the goal, "
            f"{len(self.touched)} touches{': ' if self.touched else ''}"
            f"{', '.join(self.touched[:3])}; least distance {self.least:.2f} m, "
            f"{self.seconds:.1f} s, {self.confirmed} plans flown and {self.dropped} dropped, "
            f"{self.cpu:.2f} s of processor time a second"
            f"{'; given up: ' if self.given_up else ''}{', '.join(self.given_up)}"
        )


def fly(case: Case, seeds: Sequence[int], kept: Path | None = None) -> Iterator[Crossing]:
    """Flies a case through each forest, but for the flights that a file has already.

    Args:
        case: What is flown.
        seeds: Of the forests.
        kept: A file of lines, to which each flight is added; None to keep nothing.

    Raises:
        XtdroneError: There is no such world, or the file cannot be read or written.
    """
    known = {(flight.case, flight.seed): flight for flight in read(kept)}
    for seed in seeds:
        flight = known.get((case, seed))
        if flight is None:
            flight = flown(case, seed)
            if kept is not None:
                try:
                    line = json.dumps(dataclasses.asdict(flight)) + "\n"
                    log_file.append(kept, line.encode())
                except OSError as error:
                    raise cannot_write(kept, error, PlanningError) from error
        yield flight


def read(path: Path | None) -> list[Crossing]:
    """Returns the flights of a file; none if there is no file.

    Raises:
        PlanningError: It is no file of flights.
    """
    if path is None or not path.exists():
        return []
    out = []
    text = files.read_text(path, "file of flights", error=PlanningError)
    for number, line in enumerate(text.splitlines(), 1):
        try:
            row = json.loads(line)
            row["case"] = Case(**row["case"])
            row["touched"], row["given_up"] = tuple(row["touched"]), tuple(row["given_up"])
            out.append(Crossing(**row))
        except (ValueError, KeyError, TypeError) as error:
            raise PlanningError(
                f"line {number} of '{path}' is no flight through a forest: give --out another file"
            ) from error
    return out


def summary(flights: Sequence[Crossing]) -> list[str]:
    """Returns a table with a row for each case."""
    lines = [
        "| vehicles | delay [ms] | loss | flights | touches | vehicles at the goal "
        "| least distance [m] | mean speed [m/s] | plans dropped | processor time |",
        "|---|---|---|---|---|---|---|---|---|---|",
    ]
    for case in dict.fromkeys(flight.case for flight in flights):
        own = [flight for flight in flights if flight.case == case]
        plans = sum(flight.confirmed + flight.dropped for flight in own)
        dropped = sum(flight.dropped for flight in own) / max(plans, 1)
        speed = np.mean([flight.way / (case.n * flight.seconds) for flight in own])
        lines.append(
            f"| {case.n} | {1e3 * case.delay:g} | {100 * case.loss:g} % | {len(own)} "
            f"| {sum(len(flight.touched) for flight in own)} "
            f"| {sum(flight.reached for flight in own)} of {case.n * len(own)} "
            f"| {min(flight.least for flight in own):.2f} | {speed:.2f} | {100 * dropped:.1f} % "
            f"| {np.median([flight.cpu for flight in own]):.2f} |"
        )
    return lines


def vehicles(n: int, vehicle: str = VEHICLE, spacing: float = SPACING) -> str:
    """Returns a list of vehicles in a row across the way, as --vehicles takes it."""
    places = (np.arange(n) - 0.5 * (n - 1)) * spacing
    return "; ".join(f"{vehicle}@0,{y:g},0" for y in places)


def flown(case: Case, seed: int) -> Crossing:
    """Flies one case through one forest; it ends when all are at their goals."""
    goals: list[int] = []
    reasons: list[str] = []

    def note(t_us: int, name: str, **values: Any) -> None:  # of an event
        if name in ("goal", "given_up"):
            goals.append(t_us)
        if name == "given_up":
            reasons.append(values["reason"])

    agent = SwarmAgent(
        case.n,
        ",".join(f"{x:g}" for x in GOAL),
        speed=case.speed,
        delay=case.delay,
        loss=case.loss,
        seed=seed,
        on_event=note,
    )
    with tempfile.TemporaryDirectory() as folder:
        world = Path(folder) / "forest.world"
        write_world(world, case.world, seed)
        scenario = Scenario(
            parse_vehicles(vehicles(case.n)), world=str(world), seed=seed, speed=0.0, log="none"
        )
        begun = time.process_time()
        with contextlib.closing(Simulation(scenario)) as simulation:
            simulation.agent = agent
            while len(goals) < case.n and simulation.t_us < _MOST_S * 1e6:
                simulation.run(simulation.t_us + 500_000)
            touched = tuple(" and ".join(names) for _, *names in simulation.collisions)
            seconds = simulation.t_us * 1e-6
        cpu = (time.process_time() - begun) / seconds
    metrics = agent.metrics()
    return Crossing(
        case,
        seed,
        agent.goals_reached()["goals"][0],
        touched,
        metrics["least_distance_m"],
        metrics["way_s"],
        metrics["way_m"],
        metrics["plans_confirmed"],
        metrics["plans_dropped"],
        round(cpu, 2),
        tuple(reasons),
    )
