"""Vehicle steps and images a second of a batch on a graphics card, and how it agrees with the CPU.

The cases are those of bench_batch.py, with actions that are on the card already. A card passes if
it steps at least ten times as many vehicles with the flight stack's loops in single precision as
two cores of the same machine, and if its state agrees with the CPU's after 100 steps: in double
precision to 1e-9, in single precision to four times what rounding alone makes, which is how far
the CPU's single precision is from its double precision. Differences are relative where a
quantity is above 1. Images are those of bench_cameras.py; at most one pixel in a
thousand, at the edges of objects, may differ by more than a millimetre from the CPU's.

    python benchmarks/bench_gpu.py
    python benchmarks/bench_gpu.py --n 131072 1048576
"""

import argparse
import math
import time

import numpy as np
import results
from bench_batch import ROBOTS, WHAT, batch_of, measure
from bench_cameras import FOUR, FOV, ONE, scenes_of

from sensor_models.cameras import CameraParameters
from xtdrone_batch.device_array import check_device
from xtdrone_batch.errors import BatchError
from xtdrone_batch.randomisation import Randomisation
from xtdrone_batch.rays.sensor import Camera
from xtdrone_batch.simulation import BatchSimulation

FASTER = 10.0
BOUND = 1e-9  # of double precision
ROUNDINGS = 4.0  # of single precision
COMPARED = 256  # environments
IMAGES = (
    (480, 270, ONE, 1024),
    (480, 270, FOUR, 1024),
    (64, 48, ONE, 16384),
    (64, 48, FOUR, 16384),
)
SECONDS = 2.0  # of each measurement of images
EDGES = 1e-3  # fraction of pixels that may differ


def flown(dtype: str, device: str) -> list[np.ndarray]:
    """The state after 100 steps under random velocities."""
    batch = batch_of(COMPARED, 1, "controlled", dtype, device=device)
    action = np.random.default_rng(0).normal(0.0, 1.0, batch.action_shape).astype("float32")
    for _ in range(100 // batch.sub_steps):
        batch.step(action.astype(dtype))
    return [np.asarray(array, dtype=float) for array in batch.state]


def difference(state: list[np.ndarray], reference: list[np.ndarray]) -> float:
    """The largest difference of two states, relative where above 1."""
    return max(
        float((np.abs(one - other) / np.maximum(1.0, np.abs(other))).max(initial=0.0))
        for one, other in zip(state, reference, strict=True)
    )


def agrees() -> bool:
    """Compares the card's states with the CPU's, and prints how they differ."""
    double, single = flown("float64", "cpu"), flown("float32", "cpu")
    rounding = difference(single, double)
    bounds = {"float64": (double, BOUND), "float32": (single, ROUNDINGS * rounding)}
    agreed = True
    for dtype, (reference, bound) in bounds.items():
        differs = difference(flown(dtype, "cuda"), reference)
        agreed &= differs <= bound
        print(
            f"{dtype}: differs from the CPU by {differs:.1e} after 100 steps; allowed {bound:.1e}"
        )
    return agreed


def camera_of(
    width: int, height: int, channels: tuple[str, ...], environments: int, device: str
) -> tuple[BatchSimulation, Camera]:
    """A batch among objects, with a camera that looks anywhere on each vehicle."""
    batch = BatchSimulation(
        "iris@0,0,2",
        environments,
        scenes=scenes_of(environments),
        randomisation=Randomisation(yaw=math.pi),
        device=device,
    )
    pinhole = CameraParameters.pinhole(width, height, FOV)
    return batch, batch.add_camera(pinhole, channels=channels)


def images_per_s(
    width: int, height: int, channels: tuple[str, ...], environments: int, work: results.Work
) -> float:
    """Frames a second on the card, which stay there."""
    batch, camera = camera_of(width, height, channels, environments, "cuda")
    depth = np.asarray(camera.capture().depth)
    drawn = np.isfinite(depth).any(axis=(1, 2, 3))
    work.count("images drawn", drawn.sum(), environments)
    begin, frames = time.perf_counter(), 0
    while time.perf_counter() - begin < SECONDS:
        for _ in range(10):
            camera.capture()
        batch.wait()
        frames += 10 * environments
    return frames / (time.perf_counter() - begin)


def images_agree() -> bool:
    """Compares images with the CPU's, and prints how they differ."""
    (_, here), (_, there) = (camera_of(160, 90, FOUR, 32, device) for device in ("cpu", "cuda"))
    ours, theirs = np.asarray(here.capture().depth), np.asarray(there.capture().depth)
    seen = np.isfinite(ours) & np.isfinite(theirs)
    apart = np.abs(np.where(seen, ours, 0.0) - np.where(seen, theirs, 0.0)) > 1e-3
    apart |= np.isfinite(ours) != np.isfinite(theirs)
    print(f"images: {apart.mean():.1e} of the pixels differ from the CPU's; allowed {EDGES:.0e}")
    return bool(apart.mean() <= EDGES)


def main() -> None:
    """Measures and prints the rows."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--n", type=int, nargs="+", default=[ROBOTS], help="environments")
    options = parser.parse_args()
    try:
        check_device()
    except BatchError as error:
        print(f"nothing is measured: {error}")
        return
    rows, passed, work = [], True, results.Work()
    for n in options.n:
        for dtype in ("float32", "float64"):
            for what in WHAT:
                found = measure(n, 1, what, dtype, work, device="cuda")
                rows.append(
                    (
                        {
                            "what": what,
                            "n": n,
                            "vehicles": 1,
                            "dtype": dtype,
                            "of": "xtdrone",
                            "device": "cuda",
                        },
                        found,
                        "1/s",
                    )
                )
                print(f"{n:8d} {dtype} {what:20s} {found / 1e6:8.1f} million steps/s")
                if (what, dtype) == ("controlled", "float32"):
                    here = measure(n, 1, what, dtype, threads=2)
                    passed &= found >= FASTER * here
                    print(f"         two cores: {here / 1e6:.1f}; {found / here:.1f} times as many")
    results.replace("batch_steps_per_s", rows, work)
    passed &= agrees()
    passed &= images_agree()
    pictures = []
    for width, height, channels, environments in IMAGES:
        found = images_per_s(width, height, channels, environments, work)
        case = {
            "width": width,
            "height": height,
            "channels": len(channels),
            "environments": environments,
            "of": "xtdrone",
            "device": "cuda",
        }
        pictures.append((case, found, "1/s"))
        print(
            f"{width:4d} x {height:<4d}{len(channels)} channels {environments:6d} environments "
            f"{found:10.0f} frames/s {found * width * height / 1e6:8.0f} million rays/s"
        )
    results.replace("camera_frames_per_s", pictures, work)
    print("passed" if passed else "not passed")


if __name__ == "__main__":
    main()
