"""Planners beside each other: flights through random worlds, judged by the simulation."""

import contextlib
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from scipy.spatial.transform import Rotation

from xtdrone_batch.scenes import CYLINDER, SPHERE
from xtdrone_core import Scenario
from xtdrone_core.scenario.vehicles import parse_vehicles
from xtdrone_sim.simulation import Simulation

from .agent import NavigateAgent
from .forest import objects_of, world_xml
from .maps.distance_field import DistanceField
from .maps.voxel_map import VoxelMap
from .planners.planner import Limits
from .planners.search import REACHED, Search

START, GOAL = (0.0, 0.0, 2.0), (56.0, 0.0, 2.0)  # of the woods [m]
VEHICLE = "iris_depth"
_RADIUS = 0.36  # of the vehicle, for the shortest way that there is [m]
_GRID = 0.15  # of that search [m]
_MOST_S = 240.0  # of a flight [s]
_ACCELERATION = 1.2  # of a flight, over its speed [1/s]; at least 4 m/s^2


@dataclass(frozen=True)
class Case:
    """A planner and how fast it flies."""

    planner: str
    speed: float  # [m/s]


@dataclass(frozen=True)
class Result:
    """One flight."""

    case: Case
    seed: int
    reached: bool
    touched: str  # what the vehicle touched in the air, or ""
    way: float  # from the take-off height to the goal [m]
    shortest: float  # [m]
    seconds: float  # simulated, for that way [s]
    reason: str  # why it held last, or ""
    plan_ms: float  # median processor time of a plan [ms]

    @property
    def success(self) -> bool:
        """Whether the goal was reached and nothing was touched."""
        return self.reached and not self.touched

    def __str__(self) -> str:
        """One line."""
        what = "ok" if self.success else f"touched {self.touched}" if self.touched else self.reason
        return (
            f"{self.case.planner} {self.case.speed:g} m/s, forest {self.seed}: {what}; "
            f"{self.way:.1f} m in {self.seconds:.1f} s, shortest {self.shortest:.1f} m"
        )


def fly(world: str, cases: Sequence[Case], seeds: Sequence[int]) -> Iterator[Result]:
    """Flies each case through each random environment of a batch's world.

    Raises:
        XtdroneError: There is no such world or planner.
    """
    for seed in seeds:
        objects = objects_of(world, seed)
        shortest = shortest_way(objects, np.array(START), np.array(GOAL))
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "forest.world"
            path.write_bytes(world_xml(objects, "forest"))
            for case in cases:
                yield _flown(path, case, seed, shortest)


def summary(results: Sequence[Result]) -> list[str]:
    """Returns a table of cases: successes, touches, way over the shortest, mean speed, plans."""
    lines = [
        "| planner | speed [m/s] | flights | untouched at the goal | touched | way / shortest "
        "| mean speed [m/s] | plan [ms] |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for case in dict.fromkeys(result.case for result in results):
        own = [result for result in results if result.case == case]
        good = [result for result in own if result.success]
        ratio = np.mean([result.way / result.shortest for result in good]) if good else np.nan
        mean = np.mean([result.way / result.seconds for result in good]) if good else np.nan
        lines.append(
            f"| {case.planner} | {case.speed:g} | {len(own)} | {len(good)} "
            f"({100 * len(good) / len(own):.0f} %) | {sum(bool(r.touched) for r in own)} "
            f"| {ratio:.3f} | {mean:.2f} | {np.median([r.plan_ms for r in own]):.1f} |"
        )
    return lines


def shortest_way(objects: np.ndarray, start: np.ndarray, goal: np.ndarray) -> float:
    """Returns the length of the shortest way between what stands there, as A* finds it [m]."""
    span = np.abs(goal - start) + (16.0, 30.0, 3.0)
    voxels = VoxelMap(span, _GRID, 0.5 * (start + goal))
    axes = [(np.arange(n) + low + 0.5) * _GRID for n, low in zip(voxels.cells.shape, voxels.low)]
    places = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1)
    inside = np.zeros(voxels.cells.shape, dtype=bool)
    for obj in objects:
        if obj["kind"] in (CYLINDER, SPHERE):
            part = _around(obj, voxels)
            inside[part] |= _inside(obj, places[part])
    voxels.cells[:] = np.roll(np.where(inside, 9, -4), tuple(voxels.low % voxels.shape), (0, 1, 2))
    field = DistanceField(span, _GRID, 1.0)
    field.update(voxels, 0.5 * (start + goal))
    limits = Limits(1.0, 1.0, _RADIUS, _RADIUS + 1e-3, 1.0, 3.5)
    found = Search(1).find(field, start, goal, limits, 1e9)
    if found.end != REACHED:
        return float("nan")
    return float(np.linalg.norm(np.diff(found.path, axis=0), axis=1).sum())


def _around(obj: np.void, voxels: VoxelMap) -> tuple[slice, ...]:
    """Returns the part of a map's array, in the order of the world, that an object may be in."""
    reach = np.full(3, float(obj["size"][0]))
    if obj["kind"] == CYLINDER:
        axis = Rotation.from_quat(obj["quat"]).as_matrix()[:, 2]
        reach += 0.5 * float(obj["size"][1]) * np.abs(axis)
    first = np.floor((obj["pos"] - reach) / _GRID).astype(int) - voxels.low
    last = np.floor((obj["pos"] + reach) / _GRID).astype(int) - voxels.low + 1
    return tuple(slice(max(a, 0), max(b, 0)) for a, b in zip(first, last))


def _inside(obj: np.void, places: np.ndarray) -> np.ndarray:
    """Which places are inside a cylinder or sphere."""
    apart = places - np.asarray(obj["pos"], dtype=float)
    if obj["kind"] == SPHERE:
        return np.asarray((apart**2).sum(axis=-1) < obj["size"][0] ** 2)
    axis = Rotation.from_quat(obj["quat"]).as_matrix()[:, 2]
    along = apart @ axis
    aside = (apart**2).sum(axis=-1) - along**2
    return np.asarray((aside < obj["size"][0] ** 2) & (np.abs(along) < 0.5 * obj["size"][1]))


def _flown(world: Path, case: Case, seed: int, shortest: float) -> Result:
    """Flies one case through one world."""
    scenario = Scenario(parse_vehicles(VEHICLE), world=str(world), seed=seed, speed=0.0)
    events: list[tuple[int, str]] = []
    agent = NavigateAgent(
        1,
        ",".join(f"{x:g}" for x in GOAL),
        planner=case.planner,
        speed=case.speed,
        acceleration=max(4.0, _ACCELERATION * case.speed),
        on_event=lambda t_us, name, **values: events.append((t_us, name)),
    )
    with contextlib.closing(Simulation(scenario)) as simulation:
        simulation.agent = agent
        while not agent.done and simulation.t_us < _MOST_S * 1e6 and not simulation.crashes:
            simulation.run(simulation.t_us + 1_000_000)
        touched = [names for _, *names in simulation.collisions]
        reached, total = agent.goals_reached()["goals"]
        return Result(
            case,
            seed,
            reached == total,
            " and ".join(touched[0]) if touched else "",
            agent.flown_way,
            shortest,
            agent.flown_s,
            agent.pilot.reason,
            float(np.median(agent.pilot.plan_ms or [np.nan])),
        )
