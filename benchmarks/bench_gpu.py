"""Vehicle steps a second of a batch on a graphics card, and how it agrees with the CPU.

The cases are those of bench_batch.py. A card passes if it steps at least ten times as many vehicles
with the flight stack's loops in single precision as two cores of the same machine, and if after 100
steps no number differs from the CPU's by more than 1e-5 (single precision) or 1e-9 (double) of it,
or of 1 where it is smaller.

    python benchmarks/bench_gpu.py
    python benchmarks/bench_gpu.py --n 131072 1048576
"""

import argparse

import numpy as np
import results
from bench_batch import ROBOTS, WHAT, batch_of, measure

from xtdrone_batch.device_array import check_device
from xtdrone_batch.errors import BatchError

FASTER = 10.0
BOUNDS = {"float32": 1e-5, "float64": 1e-9}
COMPARED = 256  # environments


def difference(dtype: str) -> float:
    """The largest difference from the CPU's numbers after 100 steps, relative where above 1."""
    states = []
    for device in ("cpu", "cuda"):
        batch = batch_of(COMPARED, 1, "controlled", dtype, device=device)
        action = np.random.default_rng(0).normal(0.0, 1.0, batch.action_shape).astype(dtype)
        for _ in range(100 // batch.sub_steps):
            batch.step(action)
        states.append([np.asarray(array, dtype=float) for array in batch.state])
    return max(
        float((np.abs(here - there) / np.maximum(1.0, np.abs(here))).max(initial=0.0))
        for here, there in zip(*states, strict=True)
    )


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
    rows, passed = [], True
    for n in options.n:
        for dtype in BOUNDS:
            for what in WHAT:
                found = measure(n, 1, what, dtype, device="cuda")
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
    results.replace("batch_steps_per_s", rows)
    for dtype, bound in BOUNDS.items():
        found = difference(dtype)
        passed &= found <= bound
        print(f"{dtype}: differs from the CPU by {found:.1e} after 100 steps; allowed {bound:g}")
    print("passed" if passed else "not passed")


if __name__ == "__main__":
    main()
