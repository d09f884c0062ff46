"""Vehicle steps a second of a batch on a graphics card, and how it agrees with the CPU.

The cases are those of bench_batch.py, with actions that are on the card already. A card passes if
it steps at least ten times as many vehicles with the flight stack's loops in single precision as
two cores of the same machine, and if its state agrees with the CPU's after 100 steps: in double
precision to 1e-9, in single precision to four times what rounding alone makes, which is how far
the CPU's single precision is from its double precision. Differences are relative where a
quantity is above 1.

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
BOUND = 1e-9  # of double precision
ROUNDINGS = 4.0  # of single precision
COMPARED = 256  # environments


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
    print("passed" if passed else "not passed")


if __name__ == "__main__":
    main()
