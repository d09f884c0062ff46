"""Milliseconds to draw an environment of a world file anew, in place, on one core.

The mean over many environments, the best of several times. Aim: 0.2 ms for 120 objects.

    python benchmarks/bench_worlds.py
    python benchmarks/bench_worlds.py --world room gates --n 512
"""

import argparse
import time

import numpy as np
import results

from xtdrone_batch.randomisation import seed_streams
from xtdrone_batch.scenes import NO_OBJECT
from xtdrone_batch.worlds.generate import World

REPEATS = 5


def measure(name: str, n: int, work: results.Work) -> tuple[float, float]:
    """Milliseconds of an environment, and the mean number of its objects."""
    world, every = World(name), np.arange(n)
    scenes, streams = world.scenes(n), np.zeros((n, 4), dtype=np.uint64)
    seed_streams(0, 0, streams)
    world.fill(scenes, every, streams)
    best = np.inf
    for _ in range(REPEATS):
        begin = time.perf_counter()
        world.fill(scenes, every, streams)
        best = min(best, time.perf_counter() - begin)
    objects = (scenes.objects["kind"] != NO_OBJECT).sum(axis=1)
    work.count("environments with objects", (objects > 0).sum(), n)
    return 1e3 * best / n, float(objects.mean())


def main() -> None:
    """Measures and prints the rows."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--world",
        nargs="+",
        metavar="NAME",
        default=["mixed", "forest", "room", "corridor", "gates", "moving"],
        help="of worlds/batch, or a file",
    )
    parser.add_argument("--n", type=int, default=2048, help="environments")
    options = parser.parse_args()
    rows, work = [], results.Work()
    for name in options.world:
        wall, objects = measure(name, options.n, work)
        rows.append(({"world": name, "n": options.n, "objects": round(objects)}, wall, "ms"))
        print(f"worlds_rebuild_ms {name:10s} {objects:6.1f} objects {wall:8.4f}")
    results.replace("worlds_rebuild_ms", rows, work)


if __name__ == "__main__":
    main()
