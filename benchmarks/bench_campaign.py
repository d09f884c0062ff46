"""Flights per second of a campaign on one worker process and on several.

python benchmarks/bench_campaign.py
python benchmarks/bench_campaign.py --workers 8 --flights 400
"""

import argparse
import os
import time

import results

from xtdrone_campaign.flight import GOOD, Flight, fly_each
from xtdrone_campaign.runners import ProcessRunner
from xtdrone_core import Scenario
from xtdrone_core.scenario.vehicles import fleet
from xtdrone_sim.warm_up import ensure_warm

LONGEST_S = 120.0  # simulated; a flight takes 40
TIME_OUT_S = 600.0  # wall time of one flight


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--workers", type=int, default=os.cpu_count(), help="processes")
    parser.add_argument("--flights", type=int, default=100, help="of square, in a campaign")
    parser.add_argument("--repeats", type=int, default=3, help="of both, in turns")
    args = parser.parse_args()
    ensure_warm()
    work = results.Work()
    best = {1: 0.0, args.workers: 0.0}  # another program may slow any of them down
    for _ in range(args.repeats):
        for workers in best:
            best[workers] = max(best[workers], rate(workers, args.flights, work))
    rows = [
        ({"workers": workers, "flights": args.flights}, value, "1/s")
        for workers, value in best.items()
    ]
    efficiency = best[args.workers] / best[1] / args.workers
    results.replace(
        "campaign",
        [*rows, ({"workers": args.workers, "flights": args.flights}, efficiency, "efficiency")],
        work,
    )
    print(f"{args.flights} flights of square, embedded engine and flight stack:")
    for workers, value in best.items():
        print(f"{workers:3d} processes: {value:6.2f} flights/s")
    print(f"efficiency of {args.workers} processes: {100 * efficiency:.1f} %")


def rate(workers: int, count: int, work: results.Work) -> float:
    """Flights per second of wall time, with the start of the processes [1/s]."""
    scenario = Scenario(fleet("iris", 1), speed=0.0).to_dict()
    flights = [
        Flight(k, "square", (), {**scenario, "seed": k + 1}, {}, LONGEST_S) for k in range(count)
    ]
    begin = time.perf_counter()
    done = list(ProcessRunner(fly_each, workers, TIME_OUT_S).run([[flight] for flight in flights]))
    took = time.perf_counter() - begin
    work.count("good flights", sum(each.value[0].status == GOOD for each in done), count)
    return count / took


if __name__ == "__main__":
    main()
