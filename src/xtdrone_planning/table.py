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
from .forest import bounds_of, objects_of, world_xml
from .maps.distance_field import DistanceField
from .maps.voxel_map import VoxelMap
from .people import Walk, walks
from .planners.planner import Limits
from .planners.search import REACHED, Search
from .results import Case, Kept, Result, Scene

VEHICLE, LOOKING_AROUND = "iris_depth", "iris_depth_ring"  # without and with people
_HEIGHT, _AMONG_PEOPLE = 2.0, 1.3  # of a flight [m]
_VOXEL = 0.15, 0.2  # without and with people [m]
_HIGHEST = 3.5, 1.6  # of a flight, without and with people, over whom it does not fly [m]
_BEHIND = 3.0  # the goal is so far within the bounds of a world [m]
_RADIUS = 0.36  # of the vehicle, for the shortest way that there is [m]
_GRID = 0.15  # of that search [m]
_MOST_S = 240.0  # of a flight [s]
_ACCELERATION = 1.2  # of a flight, over its speed [1/s]; at least 4 m/s^2


@dataclass(frozen=True)
class Course:
    """What stands and walks in a scene, and where to fly."""

    objects: np.ndarray
    people: list[Walk]
    goal: np.ndarray  # (3,) [m]
    shortest: float  # length of the shortest way between what stands there [m]

    @classmethod
    def of_scene(cls, scene: Scene) -> "Course":
        """Makes a scene; errors as of objects_of()."""
        objects, bounds = objects_of(scene.world, scene.seed), bounds_of(scene.world)
        height = _AMONG_PEOPLE if scene.people else _HEIGHT
        goal = np.array([bounds[1, 0] - _BEHIND, 0.0, height])
        return cls(
            objects,
            walks(objects, bounds, scene.people, scene.seed),
            goal,
            shortest_way(objects, np.array([0.0, 0.0, height]), goal),
        )


def fly(
    scenes: Sequence[Scene], cases: Sequence[Case], kept: Kept | None = None
) -> Iterator[Result]:
    """Flies each case through each scene, but for the flights that are kept.

    Raises:
        XtdroneError: There is no such world or planner.
    """
    kept = kept or Kept(None)
    for scene in scenes:
        course = None
        for case in cases:
            result = kept.find(case, scene)
            if result is None:
                course = course or Course.of_scene(scene)
                result = _flown(course, case, scene)
                kept.add(result)
            yield result


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


def _flown(course: Course, case: Case, scene: Scene) -> Result:
    """Flies one case through one scene."""
    agent = NavigateAgent(
        1,
        ",".join(f"{x:g}" for x in course.goal),
        planner=case.planner,
        speed=case.speed,
        acceleration=max(4.0, _ACCELERATION * case.speed),
        height=float(course.goal[2]),
        high=_HIGHEST[scene.people > 0],
        resolution=_VOXEL[scene.people > 0],
    )
    with contextlib.ExitStack() as stack:
        path = Path(stack.enter_context(tempfile.TemporaryDirectory())) / "scene.world"
        path.write_bytes(world_xml(course.objects, "scene", course.people))
        vehicle = LOOKING_AROUND if scene.people else VEHICLE
        scenario = Scenario(
            parse_vehicles(vehicle), world=str(path), seed=scene.seed, speed=0.0, log="none"
        )
        simulation = stack.enter_context(contextlib.closing(Simulation(scenario)))
        simulation.agent = agent
        while not agent.done and simulation.t_us < _MOST_S * 1e6 and not simulation.crashes:
            simulation.run(simulation.t_us + 1_000_000)
        touched = [names for _, *names in simulation.collisions]
        reached, total = agent.goals_reached()["goals"]
        return Result(
            case,
            scene,
            reached == total,
            " and ".join(touched[0]) if touched else "",
            agent.flown_way,
            course.shortest,
            agent.flown_s,
            agent.pilot.reason,
            float(np.median(agent.pilot.plan_ms or [np.nan])),
        )
