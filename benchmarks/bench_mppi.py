"""Rollouts a second of sampling model predictive control, and how often real time a decision is.

A decision is what `xtdrone fly mppi --track eight` takes every 20 ms, from a vehicle at rest before
the first gate on.

    python benchmarks/bench_mppi.py
    python benchmarks/bench_mppi.py --rollouts 1024 4096 --horizon 40 --vehicle iris
"""

import argparse
import time

import numpy as np
import results

from xtdrone_core.racing.track import read_track
from xtdrone_mpc.costs import race
from xtdrone_mpc.mppi import PERIOD_S, Mppi, MppiSettings
from xtdrone_mpc.race import RacePath

DECISIONS = 50


def decide(mppi: Mppi, path: RacePath, work: results.Work) -> float:
    """The median time of a decision [s]."""
    horizon = len(mppi.mean)
    pos, level, rest = path.lap.at(np.array([-2.0]))[0][0], np.array([0.0, 0, 0, 1]), np.zeros(3)
    walls = []
    mppi.begin()
    for _ in range(DECISIONS):
        begin = time.perf_counter()
        references = path.references(0.0, horizon, np.full(horizon, 30.0))
        action = mppi.decide(pos, level, rest, rest, references)
        walls.append(time.perf_counter() - begin)
    work.count("finite actions", int(np.isfinite(action).sum()), 4)
    return float(np.median(walls))


def main() -> None:
    """Measures; prints a line for each number of rollouts."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rollouts", type=int, nargs="+", default=[256, 1024, 2048])
    parser.add_argument("--horizon", type=int, default=40, help="actions of 20 ms (40)")
    parser.add_argument("--vehicle", default="iris")
    args = parser.parse_args()
    path, rows, work = RacePath(read_track("eight"), 0.4, 1.5), [], results.Work()
    for rollouts in args.rollouts:
        mppi = Mppi(race, args.vehicle, MppiSettings(rollouts=rollouts, horizon=args.horizon))
        decide(mppi, path, results.Work())  # it compiles
        seconds = decide(mppi, path, work)
        params = {"rollouts": rollouts, "horizon": args.horizon, "vehicle": args.vehicle}
        rows.append((params, rollouts / seconds, "1/s"))
        print(
            f"{rollouts} rollouts of {args.horizon} actions: {1e3 * seconds:.1f} ms, "
            f"{rollouts / seconds:,.0f} rollouts/s, {PERIOD_S / seconds:.2f} x real time"
        )
    results.replace("mppi_rollouts_per_s", rows, work)


if __name__ == "__main__":
    main()
