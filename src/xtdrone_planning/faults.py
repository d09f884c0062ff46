"""What goes wrong in flight: each fault is flown once, and the vehicle has to brake and hold."""

import contextlib
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from xtdrone_batch.scenes import BOX
from xtdrone_core import Estimates, Scenario, SetPoints
from xtdrone_core.scenario.vehicles import parse_vehicles
from xtdrone_sim.simulation import Simulation

from .agent import NavigateAgent
from .forest import objects_of, world_xml
from .planners.local import LocalPlanner
from .planners.planner import Plan, Situation

VEHICLE = "iris_depth_small"
RESTS = 0.3  # who holds stays within this distance [m]
_PATIENCE = 4.0  # for so long it holds before it gives up [s]
_PLANS = 40  # a planner that is killed has made so many before
_BLIND_S = 14.0  # the images stop at this time [s]
_MOST_S = 60.0  # of a flight [s]
_WALL = 4.0, 0.3  # height and thickness [m]


class KilledPlanner(LocalPlanner):
    """Plans for a while, then fails each time."""

    def __init__(self) -> None:
        """Has not failed yet."""
        super().__init__()
        self._made = 0

    def plan(self, situation: Situation) -> Plan:
        """Returns a plan, as long as it lives.

        Raises:
            RuntimeError: It lives no more.
        """
        self._made += 1
        if self._made > _PLANS:
            raise RuntimeError("killed")
        return super().plan(situation)


@dataclass(frozen=True)
class Fault:
    """What goes wrong, and what the vehicle should say."""

    name: str
    says: str  # part of the reason
    goal: str = "24,0,2"
    planner: str = "local"
    blind_s: float = np.inf  # no image arrives from then on [s]
    walls: tuple[tuple[float, float, float, float], ...] = ()  # x, y, and sides along x and y [m]


_SIDE = 3.5  # from the middle of the sealed room to its walls [m]
FAULTS = (
    Fault("lost images", "no image since", blind_s=_BLIND_S),
    Fault("killed planner", "RuntimeError killed", planner=f"{__name__}:KilledPlanner"),
    Fault("goal in a wall", "the goal is in an obstacle", "15,0,2", walls=((15.0, 0.0, 1.0, 8.0),)),
    Fault(
        "sealed room",
        "shut in",
        walls=tuple(
            (x * _SIDE, y * _SIDE, *((_WALL[1], 2 * _SIDE) if x else (2 * _SIDE, _WALL[1])))
            for x, y in ((1, 0), (-1, 0), (0, 1), (0, -1))
        ),
    ),
)


@dataclass(frozen=True)
class Held:
    """How one flight went."""

    fault: Fault
    reasons: tuple[str, ...]  # why it held, one after the other
    place: tuple[float, ...]  # where it was at the end [m]
    moved: float  # in the last seconds before it gave up [m]
    touched: tuple[str, ...]

    @property
    def holds(self) -> bool:
        """Whether it braked, held, said why, and touched nothing."""
        said = any(self.fault.says in reason for reason in self.reasons)
        return said and self.moved < RESTS and not self.touched

    def __str__(self) -> str:
        """A row of the table."""
        place = ", ".join(f"{x:.1f}" for x in self.place)
        return (
            f"| {self.fault.name} | {'; '.join(self.reasons) or 'nothing'} | {place} "
            f"| {self.moved:.2f} | {len(self.touched)} | {'yes' if self.holds else '**no**'} |"
        )


HEAD = (
    "| fault | it says | at [m] | moved while it held [m] | touches | holds |\n"
    "|---|---|---|---|---|---|"
)


def fly(seed: int = 0) -> Iterator[Held]:
    """Flies each fault in a forest."""
    for fault in FAULTS:
        yield _flown(fault, seed)


class _Agent(NavigateAgent):
    """Flies to a goal; its images stop at a time."""

    blind_us = np.inf

    def step(self, t_us: int, estimates: Estimates) -> SetPoints:
        """Covers the lens when it is time."""
        if self.sight is not None:
            self.sight.covered = t_us > self.blind_us
        return super().step(t_us, estimates)


def _flown(fault: Fault, seed: int) -> Held:
    reasons: list[str] = []
    ended: list[int] = []

    def note(t_us: int, name: str, **values: Any) -> None:  # of an event
        if name == "held":
            reasons.append(values["reason"])
        if name == "goal":
            ended.append(t_us)

    agent = _Agent(
        1, fault.goal, planner=fault.planner, speed=2.0, patience=_PATIENCE, on_event=note
    )
    agent.blind_us = 1e6 * fault.blind_s
    trees = objects_of("navigation_forest", seed)
    objects = np.concatenate([_clear_of(trees, fault), _walls(fault, trees.dtype)])
    with contextlib.ExitStack() as stack:
        path = Path(stack.enter_context(tempfile.TemporaryDirectory())) / "fault.world"
        path.write_bytes(world_xml(objects, "fault"))
        scenario = Scenario(
            parse_vehicles(VEHICLE), world=str(path), seed=seed, speed=0.0, log="none"
        )
        simulation = stack.enter_context(contextlib.closing(Simulation(scenario)))
        simulation.agent = agent
        while not ended and simulation.t_us < 1e6 * _MOST_S and not simulation.crashes:
            simulation.run(simulation.t_us + 500_000)
        touched = tuple(" and ".join(names) for _, *names in simulation.collisions)
    last = agent.way[-round(10.0 * 0.5 * _PATIENCE) :]
    moved = float(np.linalg.norm(last - last[-1], axis=1).max()) if len(last) else np.nan
    return Held(fault, tuple(reasons), tuple(agent.way[-1].tolist()), moved, touched)


def _walls(fault: Fault, kind: np.dtype) -> np.ndarray:
    """Returns the walls as objects of a batch's world."""
    out = np.zeros(len(fault.walls), dtype=kind)
    for obj, (x, y, along, across) in zip(out, fault.walls):
        obj["kind"], obj["pos"], obj["quat"] = BOX, (x, y, 0.5 * _WALL[0]), (0.0, 0.0, 0.0, 1.0)
        obj["size"], obj["colour"] = (along, across, _WALL[0]), (0.6, 0.6, 0.6)
    return out


def _clear_of(trees: np.ndarray, fault: Fault) -> np.ndarray:
    """Leaves out the trees of a sealed room."""
    if len(fault.walls) < 4:
        return trees
    return np.asarray(trees[np.abs(trees["pos"][:, :2]).max(axis=1) > _SIDE + 1.0])
