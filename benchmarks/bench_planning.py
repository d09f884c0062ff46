"""Times of maps and planners: a depth image, a sweep of a lidar, a distance field, a replan.

Processor times of one thread in a wood of cylinders, with the camera of iris_depth (480 x 360,
10 m) and a lidar of 16 x 1800 rays.

    python benchmarks/bench_planning.py
    python benchmarks/bench_planning.py --flight    # one vehicle with camera, map and planner alone
    python benchmarks/bench_planning.py --ros       # the same through ROS: launch/navigation.launch
"""

import argparse
import json
import os
import resource
import subprocess
import tempfile
import time
from pathlib import Path

import numpy as np
import results

import xtdrone as xd
from xtdrone_planning.agent import NavigateAgent
from xtdrone_planning.forest import write_world
from xtdrone_planning.maps.distance_field import DistanceField
from xtdrone_planning.maps.voxel_map import VoxelMap
from xtdrone_planning.planners.local import LocalPlanner
from xtdrone_planning.planners.planner import Limits, Situation

LENS = (423.9, 423.9, 239.5, 179.5, 0.47, 10.0)  # of iris_depth
AHEAD = np.array([[0.0, 0.0, 1.0], [-1.0, 0.0, 0.0], [0.0, -1.0, 0.0]])
PLACE = np.array([0.0, 0.0, 2.0])
WINDOW = (24.0, 24.0, 6.0)  # [m]
LIMITS = Limits(5.0, 5.0, 0.45, 0.9, 1.0, 3.0)
DENSITY = 0.08  # trees per square metre


def wood(seed: int) -> np.ndarray:
    """x, y and radius of the trunks (T, 3) about the origin, which is free."""
    rng = np.random.default_rng(seed)
    trees = rng.uniform((-12, -12, 0.12), (12, 12, 0.3), (round(DENSITY * 24 * 24), 3))
    return trees[np.hypot(trees[:, 0], trees[:, 1]) > 2.0]


def distances(directions: np.ndarray, trees: np.ndarray, furthest: float) -> np.ndarray:
    """Lengths (M,) along unit directions to trunks or ground [m]; inf beyond the furthest."""
    down = directions[:, 2] < -1e-6
    found = np.where(down, -PLACE[2] / np.where(down, directions[:, 2], -1.0), np.inf)
    flat = (directions[:, :2] ** 2).sum(axis=1)
    for x, y, radius in trees:
        along = directions[:, :2] @ (x, y) / flat
        miss = x * x + y * y - along**2 * flat
        hit = (miss < radius**2) & (along > 0)
        near = along - np.sqrt(np.maximum(radius**2 - miss, 0.0) / flat)
        found = np.where(hit, np.minimum(found, near), found)
    return np.where(found <= furthest, found, np.inf)


def depth_image(trees: np.ndarray) -> np.ndarray:
    """What the camera sees, with 1 cm of noise."""
    v, u = np.mgrid[:360, :480]
    rays = np.stack([(u - LENS[2]) / LENS[0], (v - LENS[3]) / LENS[1], np.ones(u.shape)], axis=-1)
    length = np.linalg.norm(rays, axis=-1)
    directions = (rays / length[..., None]).reshape(-1, 3) @ AHEAD.T
    depth = distances(directions, trees, 1e9).reshape(u.shape) / length
    depth += np.random.default_rng(0).normal(0.0, 0.01, depth.shape)
    return np.where(depth < LENS[5], depth, np.inf).astype(np.float32)


def sweep(trees: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Ends (M, 3) and returns (M,) of 16 x 1800 rays over 30 m."""
    elevation = np.radians(np.linspace(-15, 15, 16))[:, None]
    azimuth = np.linspace(-np.pi, np.pi, 1800, endpoint=False)[None]
    directions = np.stack(
        [
            np.cos(elevation) * np.cos(azimuth),
            np.cos(elevation) * np.sin(azimuth),
            np.sin(elevation) * np.ones_like(azimuth),
        ],
        axis=-1,
    ).reshape(-1, 3)
    length = distances(directions, trees, 30.0)
    returned = np.isfinite(length)
    return PLACE + directions * np.where(returned, length, 30.0)[:, None], returned


def times(call, rounds: int) -> np.ndarray:
    """Processor times of calls but the first [ms]."""
    found = []
    for _ in range(rounds + 1):
        begun = time.process_time()
        call()
        found.append(1e3 * (time.process_time() - begun))
    return np.array(found[1:])


def flight() -> None:
    """Prints how fast a flight through a forest is, and whose processor time it takes."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "woods.world"
        write_world(path, "woods", 0)
        agent = NavigateAgent(1, "56,0,2")
        scenario = xd.Scenario(vehicles="iris_depth", world=str(path), speed=0.0)
        with xd.Simulation(scenario, agent=agent) as simulation:
            simulation.run(2.0)  # kernels are loaded, the first image is drawn
            wall, own, all_threads = time.perf_counter(), time.thread_time(), time.process_time()
            simulation.run()
            seconds = simulation.time - 2.0
            wall = time.perf_counter() - wall
            own, all_threads = time.thread_time() - own, time.process_time() - all_threads
    print(f"{seconds:.1f} s of flight, {agent.goals_reached()['goals'][0]} goal reached")
    print(f"real-time factor {seconds / wall:.2f} (goal 1.5 on two idle cores)")
    print(f"processor time of a simulated second: {own / seconds:.3f} s in the flight's thread,")
    print(f"    {(all_threads - own) / seconds:.3f} s in those of images and planner")


def ros_flight() -> None:
    """Prints how fast a flight by launch/navigation.launch is, and what it takes."""
    launch = Path(__file__).resolve().parents[1] / "launch" / "navigation.launch"
    with tempfile.TemporaryDirectory() as folder:
        world = Path(folder) / "woods.world"
        write_world(world, "woods", 0)
        words = (f"world:={world}", "speed:=0", "goal:=56,0,2", "count:=1", "max_speed:=3")
        env = {**os.environ, "XTDRONE_RUNS": folder}
        subprocess.run(["roslaunch", launch, *words], env=env, check=True, capture_output=True)
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        (run,) = Path(folder).glob("navigation*/summary.json")
        summary = json.loads(run.read_text())
    seconds, cpu = summary["sim_time_s"], used.ru_utime + used.ru_stime
    print(f"{seconds:.1f} s simulated through ROS, ended {summary['ended']}")
    print(f"real-time factor {summary['real_time_factor']:.2f} (goal 1.5 on two idle cores)")
    print(f"processor time of a simulated second, with the start: {cpu / seconds:.2f} s")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--rounds", type=int, default=20, help="of each measurement (20)")
    parser.add_argument("--woods", type=int, default=200, help="in which is planned (200)")
    parser.add_argument("--flight", action="store_true", help="only a flight's real-time factor")
    parser.add_argument("--ros", action="store_true", help="only that of a flight through ROS")
    args = parser.parse_args()
    if args.flight or args.ros:
        flight() if args.flight else ros_flight()
        return
    rows, work = [], results.Work()

    def row(what: str, value: float, unit: str, **params: object) -> None:
        rows.append(({"what": what, **params}, round(value, 3), unit))
        print(f"{what:24} {' '.join(f'{k}={v}' for k, v in params.items()):32} {value:8.2f} {unit}")

    image, (ends, returned) = depth_image(wood(0)), sweep(wood(0))
    large = VoxelMap((100, 100, 20), 0.1, PLACE)
    row("map", large.cells.nbytes / 2**20, "MiB", resolution=0.1, size="100x100x20")
    for resolution in (0.1, 0.15, 0.2):
        voxels = large if resolution == 0.1 else VoxelMap((100, 100, 20), resolution, PLACE)
        field = DistanceField(WINDOW, resolution, 1.2)
        for what, call in (
            ("depth image 480x360", lambda v=voxels: v.insert_depth(image, LENS, PLACE, AHEAD)),
            ("sweep 16x1800", lambda v=voxels: v.insert_rays(PLACE[None], ends, returned)),
            ("distance field", lambda f=field, v=voxels: f.update(v, PLACE)),
        ):
            row(what, float(np.median(times(call, args.rounds))), "ms", resolution=resolution)
        work.count("occupied voxels", len(voxels.occupied()), 1000)
    found, planned = [], 0
    planner = LocalPlanner()
    for seed in range(args.woods + 1):
        voxels, field = VoxelMap(WINDOW, 0.15, PLACE), DistanceField(WINDOW, 0.15, 1.2)
        for _ in range(2):
            voxels.insert_depth(depth_image_small(wood(seed)), *SMALL, PLACE, AHEAD)
        field.update(voxels, PLACE)
        speed = np.array([5.0 * (seed % 4) / 4.0, 0.0, 0.0])
        situation = Situation(
            0, PLACE, speed, np.zeros(3), np.array([60.0, 0.0, 2.0]), voxels, field, LIMITS
        )
        begun = time.process_time()
        plan = planner.plan(situation)
        found.append(1e3 * (time.process_time() - begun))
        planned += plan.trajectory is not None
    row("replan, median", float(np.median(found[1:])), "ms", resolution=0.15)
    row("replan, 99 %", float(np.percentile(found[1:], 99)), "ms", resolution=0.15)
    work.count("trajectories", planned, 0.8 * args.woods)
    results.replace("planning", rows, work)


SMALL = ((105.9, 105.9, 59.5, 44.5, 0.47, 10.0),)  # a quarter of the camera, for many woods


def depth_image_small(trees: np.ndarray) -> np.ndarray:
    """What a camera of a quarter of the pixels on each side sees."""
    return depth_image(trees)[::4, ::4]


if __name__ == "__main__":
    main()
