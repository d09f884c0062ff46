"""Short flights with a flight log, for the tests of logs."""

from dataclasses import dataclass
from pathlib import Path

from xtdrone_control.agents import HoverAgent
from xtdrone_core import Scenario
from xtdrone_core.runs import run_folder
from xtdrone_core.runs.truth_log import read_truth
from xtdrone_core.scenario.vehicles import fleet
from xtdrone_sim.simulation import Simulation

DATA = Path(__file__).parents[1] / "data"


@dataclass
class Flight:
    """What a flight left behind."""

    folder: Path
    simulation: Simulation
    t_us: int
    truth: tuple


def hover(base, n, seconds=14.0, close=True, log="auto", ulog=None) -> Flight:
    """Flies n vehicles, one parameter changed on the way; `ulog` takes the place of its folder."""
    import os

    before = os.environ.get("XTDRONE_RUNS")
    os.environ["XTDRONE_RUNS"] = str(base)
    try:
        folder = run_folder.create("flight")
    finally:
        os.environ.pop("XTDRONE_RUNS") if before is None else os.environ.update(XTDRONE_RUNS=before)
    if ulog is not None:
        (folder / "ulog").rmdir()
        (folder / "ulog").symlink_to(ulog)
    simulation = Simulation(
        Scenario(fleet("iris", n), speed=0.0, log=log),
        folder,
        agent=HoverAgent(n, yaw=0.0),
        links=False,
    )
    simulation.run(until_us=round(seconds * 0.5e6))
    simulation.autopilot.parameters.set(0, "MPC_XY_CRUISE", 7.5)
    simulation.run(until_us=round(seconds * 1e6))
    t_us = simulation.t_us
    truth = None
    if close:
        simulation.close()
        truth = read_truth(folder / "truth.bin", n) if seconds > 1 else None
    return Flight(folder, simulation, t_us, truth)
