"""Explorations beside each other in one world, judged by the simulation."""

import contextlib
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from xtdrone_core import Scenario
from xtdrone_core.scenario.vehicles import parse_vehicles
from xtdrone_sim.simulation import Simulation

from ..picture import draw, draw_coverage
from .agent import PERCENT, ExploreAgent, seconds_to


@dataclass(frozen=True)
class Explored:
    """One flight."""

    scheme: str
    rows: np.ndarray  # (T, 3) of ExploreAgent.coverage
    way: float  # [m]
    seconds: float  # until nothing was left to see [s]
    touched: tuple[str, ...]

    def __str__(self) -> str:
        """A row of the table."""
        times = " | ".join(f"{seconds_to(self.rows, percent):.0f}" for percent in PERCENT)
        return (
            f"| {self.scheme} | {100.0 * self.rows[-1, 2]:.1f} % | {times} | {self.seconds:.0f} "
            f"| {self.way:.0f} | {len(self.touched)} |"
        )


HEAD = (
    "| scheme | seen | "
    + " | ".join(f"{percent} % [s]" for percent in PERCENT)
    + " | all [s] | way [m] | touches |\n|---|---|"
    + "---|" * (len(PERCENT) + 3)
)


def explore(
    scheme: str, world: str, area: str, vehicle: str, seconds: float, folder: Path, seed: int = 0
) -> Explored:
    """Flies one exploration, whose noise has a seed, and draws its map.

    Raises:
        XtdroneError: There is no such world or vehicle, or the area cannot be read.
    """
    over: list[int] = []
    agent = ExploreAgent(
        1,
        scheme,
        area,
        seconds=seconds,
        on_event=lambda t_us, name, **values: over.append(t_us) if name == "land" else None,
    )
    vehicles = parse_vehicles(vehicle)
    scenario = Scenario(vehicles, world=world, seed=seed, speed=0.0, log="none")
    with contextlib.closing(Simulation(scenario)) as simulation:
        simulation.agent = agent
        while not over and not simulation.crashes:
            simulation.run(simulation.t_us + 1_000_000)
        touched = tuple(" and ".join(names) for _, *names in simulation.collisions)
    draw(folder / "plots" / f"{scheme}.png", agent.pilot.voxels, agent.way, agent.goals())
    return Explored(scheme, np.array(agent.coverage), agent.flown_way, agent.flown_s, touched)


def picture(flights: list[Explored], folder: Path) -> None:
    """Draws what was seen over time."""
    draw_coverage(
        folder / "plots" / "coverage.png", {flight.scheme: flight.rows for flight in flights}
    )
