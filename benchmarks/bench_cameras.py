"""Frames a second of cameras in a batch, beside Warp's ray caster and Aerial Gym's figure.

Each environment has 120 objects (boxes, spheres, cylinders) and a ground. Four channels are depth,
colour, segmentation and normals; one is depth. Warp casts the same rays against the same objects
as one triangle mesh for each environment (its fastest way), spheres and cylinders with 16 sides,
for distance, face and normal, in as many processes as there are cores; it is installed into a
virtual environment of its own, .setup/warp-lang.

Aerial Gym's paper: up to 1,800 frames/s of 480 x 270 depth from 1,024 robots, on two RTX 3090.

    python benchmarks/bench_cameras.py
    python benchmarks/bench_cameras.py --sizes
"""

import argparse
import itertools
import os
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import peers
import results
from tqdm import tqdm

from sensor_models.cameras import CameraParameters
from xtdrone_batch.scenes import BOX, CYLINDER, PLANE, SPHERE, Scenes, object_dtype
from xtdrone_batch.simulation import BatchSimulation
from xtdrone_dynamics.quaternion import to_matrix_array

WARP = "warp-lang==1.19.0"
OBJECTS = 120
FOUR, ONE = ("depth", "image", "segmentation", "normals"), ("depth",)
CASES = (
    (480, 270, FOUR, 64),
    (480, 270, ONE, 64),
    (64, 48, FOUR, 64),
    (64, 48, ONE, 64),
    (480, 270, ONE, 1024),
)  # the last is Aerial Gym's
FOV = 1.4  # [rad]
SECONDS = 3.0  # of each measurement
SIDES = 16  # of Warp's round things


def scenes_of(environments: int) -> Scenes:
    """Objects at random on 30 x 30 m."""
    rng = np.random.default_rng(0)
    found = np.zeros((environments, OBJECTS + 1), dtype=object_dtype())
    things, ground, lead = found[:, :OBJECTS], found[:, OBJECTS], (environments, OBJECTS)
    things["kind"] = rng.choice([BOX, SPHERE, CYLINDER], lead)
    things["pos"] = rng.uniform((-15.0, -15.0, 0.0), (15.0, 15.0, 5.0), (*lead, 3))
    turn = rng.uniform(-np.pi, np.pi, lead)
    things["quat"][..., 2], things["quat"][..., 3] = np.sin(0.5 * turn), np.cos(0.5 * turn)
    size = rng.uniform(0.3, 1.6, (*lead, 3))
    size[things["kind"] == SPHERE] *= 0.5
    size[things["kind"] == CYLINDER] *= (0.4, 3.0, 1.0)
    things["size"], things["semantic"] = size, things["kind"]
    things["colour"] = rng.uniform(0.2, 1.0, (*lead, 3))
    ground["kind"], ground["size"], ground["quat"] = PLANE, (200.0, 200.0, 0.0), (0, 0, 0, 1)
    ground["semantic"], ground["colour"] = PLANE, (0.35, 0.4, 0.3)
    bounds = np.tile([[-20.0, -20.0, 0.0], [20.0, 20.0, 10.0]], (environments, 1, 1))
    return Scenes(found, bounds)


def batch_of(scenes: Scenes) -> BatchSimulation:
    """Irises at a height of 2 m that look everywhere."""
    batch = BatchSimulation("iris@0,0,2", len(scenes.objects), scenes=scenes)
    turn = np.random.default_rng(1).uniform(-np.pi, np.pi, len(scenes.objects))
    batch.state.quat[:, 0, 2], batch.state.quat[:, 0, 3] = np.sin(0.5 * turn), np.cos(0.5 * turn)
    return batch


def best_of(call) -> float:
    """The shortest time of a call [s]."""
    call()
    best, spent = np.inf, 0.0
    while spent < SECONDS:
        begin = time.perf_counter()
        call()
        wall = time.perf_counter() - begin
        best, spent = min(best, wall), spent + wall
    return best


def ours(batch: BatchSimulation, width: int, height: int, channels, work: results.Work) -> float:
    """Frames a second."""
    camera = batch.add_camera(CameraParameters.pinhole(width, height, FOV), channels=channels)
    images = camera.capture()
    if not 0.3 < np.isfinite(images.depth).mean() < 1.0:
        raise SystemExit("the cameras do not see a forest")
    took = best_of(camera.capture)
    drawn = np.isfinite(camera.capture().depth).any(axis=tuple(range(1, images.depth.ndim)))
    work.count("images drawn", drawn.sum(), batch.environments)
    return batch.environments / took


def rebuild(batch: BatchSimulation) -> float:
    """Time to place the objects of one environment and to build their tree, on one core [ms]."""

    def call():
        batch.rays.invalidate()
        batch.rays.update(batch.state)

    return 1e3 * best_of(call) * batch.threads.count / batch.environments


def triangles_of(objects: np.ndarray) -> np.ndarray:
    """(T, 3, 3) corners of one environment's objects."""
    turn = np.linspace(0.0, 2.0 * np.pi, SIDES + 1)
    unit = {}
    cube = np.array([[x, y, z] for x in (-0.5, 0.5) for y in (-0.5, 0.5) for z in (-0.5, 0.5)])
    unit[BOX] = cube[
        np.array(
            [
                [0, 1, 3],
                [0, 3, 2],
                [4, 6, 7],
                [4, 7, 5],
                [0, 4, 5],
                [0, 5, 1],
                [2, 3, 7],
                [2, 7, 6],
                [0, 2, 6],
                [0, 6, 4],
                [1, 5, 7],
                [1, 7, 3],
            ]
        )
    ]
    rim = np.stack([np.cos(turn), np.sin(turn), 0.0 * turn], axis=1)
    up, top = np.array([0.0, 0.0, 0.5]), np.array([0.0, 0.0, 1.0])
    a, b = rim[:-1], rim[1:]
    ends = [np.stack(np.broadcast_arrays(s * up, a + s * up, b + s * up), axis=1) for s in (-1, 1)]
    unit[CYLINDER] = np.concatenate(
        [
            *ends,
            np.stack([a - up, b - up, b + up], axis=1),
            np.stack([a - up, b + up, a + up], axis=1),
        ]
    )
    lift = np.linspace(-0.5 * np.pi, 0.5 * np.pi, SIDES // 2 + 1)
    ring = [np.cos(angle) * rim + np.sin(angle) * top for angle in lift]
    unit[SPHERE] = np.concatenate(
        [
            np.concatenate(
                [
                    np.stack([low[:-1], low[1:], high[1:]], axis=1),
                    np.stack([low[:-1], high[1:], high[:-1]], axis=1),
                ]
            )
            for low, high in itertools.pairwise(ring)
        ]
    )
    square = np.array([[-0.5, -0.5, 0], [0.5, -0.5, 0], [0.5, 0.5, 0], [-0.5, 0.5, 0]])
    unit[PLANE] = square[np.array([[0, 1, 2], [0, 2, 3]])]
    found = []
    for o, matrix in zip(objects, to_matrix_array(objects["quat"].astype(float))):
        x, y, z = o["size"]
        size = {BOX: (x, y, z), PLANE: (x, y, 1.0), SPHERE: (x, x, x), CYLINDER: (x, x, y)}
        found.append(unit[int(o["kind"])] * size[int(o["kind"])] @ matrix.T + o["pos"])
    return np.concatenate(found)


def warp(scenes: Scenes, batch: BatchSimulation, cases) -> dict:
    """Frames a second of Warp for each size of image, or nothing if it is not available."""
    python = peers.python_with(WARP)
    if python is None:
        return {}
    cores = len(os.sched_getaffinity(0))
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(cores) as pool:
        shares = []
        for k in range(cores):
            which = range(k, len(scenes.objects), cores)
            path = Path(folder, f"{k}.npz")
            np.savez(
                path,
                quat=batch.state.quat[k::cores, 0],
                pos=batch.state.pos[k::cores, 0],
                **{
                    f"mesh{j}": triangles_of(scenes.objects[e]).astype(np.float32)
                    for j, e in enumerate(which)
                },
            )
            shares.append(str(path))
        sizes = [str(number) for case in cases for number in case]
        answers = list(
            pool.map(
                lambda path: peers.answer_of(
                    python, "warp_cameras.py", path, str(FOV), str(SECONDS), *sizes
                ),
                shares,
            )
        )
    if not all(answers):
        return {}
    return {
        "version": answers[0]["version"],
        **{case: sum(answer["per_s"][j] for answer in answers) for j, case in enumerate(cases)},
    }


def main() -> None:
    """Measures and prints the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--sizes", action="store_true", help="also 1 to 4,096 environments")
    options = parser.parse_args()
    scenes = scenes_of(64)
    batch = batch_of(scenes)
    peer, work = warp(scenes, batch, ((480, 270), (64, 48))), results.Work()
    rows = [
        (
            {
                "width": w,
                "height": h,
                "channels": 3,
                "environments": 64,
                "of": f"warp-lang {peer['version']}",
            },
            peer[w, h],
            "1/s",
        )
        for w, h in ((480, 270), (64, 48))
        if peer
    ]
    cases = list(CASES)
    if options.sizes:
        cases += [(64, 48, ONE, 4**k) for k in range(7)]
    for width, height, channels, environments in tqdm(cases, desc="cameras", disable=None):
        own = batch if environments == 64 else batch_of(scenes_of(environments))
        found = ours(own, width, height, channels, work)
        rows.append(
            (
                {
                    "width": width,
                    "height": height,
                    "channels": len(channels),
                    "environments": environments,
                    "of": "xtdrone",
                },
                found,
                "1/s",
            )
        )
        beside = f"{found / peer[width, height]:6.1f} x Warp's" if (width, height) in peer else ""
        tqdm.write(
            f"{width:4d} x {height:<4d}{len(channels)} channels {environments:5d} "
            f"environments {found:9.0f} frames/s "
            f"{found * width * height / 1e6:6.1f} million rays/s {beside}"
        )
    for width, height in ((480, 270), (64, 48)):
        if peer:
            print(
                f"{width:4d} x {height:<4d}Warp {peer['version']}, distance, face and normal "
                f"{peer[width, height]:9.0f} frames/s"
            )
    cost = rebuild(batch)
    print(f"an environment of {OBJECTS} objects is placed in {cost:.3f} ms")
    results.replace("camera_frames_per_s", rows, work)
    results.replace("camera_rebuild_ms", [({"objects": OBJECTS}, cost, "ms")], work)
    sys.stdout.flush()


if __name__ == "__main__":
    main()
