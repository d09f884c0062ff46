"""One long flight with checks of memory growth, clock drift and crashes.

Vehicles take off, change positions on a circle every half minute, log, and stream
to a ground station that does not exist. Exits with status 1 if a check fails. The
logs of one hour with 20 vehicles take 1.5 GB; they are deleted at the end.
"""

import argparse
import math
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import psutil
from pyulog import ULog

from xtdrone_control.agents import HoverAgent
from xtdrone_core import Scenario, run_folder
from xtdrone_core.scenario import fleet
from xtdrone_core.truth_log import read_truth
from xtdrone_sim.simulation import STEP_US, Simulation

SETTLED_MIN = 5  # simulated minutes until memory use has settled
MAX_GROWTH = 0.05  # of the resident memory after that
PERIOD_S = 30.0  # between two moves
PACED, PACED_S, MAX_DRIFT = 10.0, 120.0, 0.002  # factor, simulated time, relative error


class Rounds(HoverAgent):
    """Every vehicle climbs to 5 m above its pad, then flies a 2 m circle in eight corners."""

    def offset(self, t_us):
        """Set-points of the corner for this half minute."""
        angle = math.tau * (t_us * 1e-6 // PERIOD_S % 8) / 8
        return 2 * math.cos(angle), 2 * math.sin(angle), 5.0


def paced_drift() -> float:
    """Relative error of the real-time factor of one paced vehicle, by the wall clock."""
    simulation = Simulation(Scenario(fleet("iris", 1), speed=PACED), agent=Rounds(1), links=False)
    try:
        simulation.run(until_us=5_000_000)  # excludes one-time start-up work
        begin = time.monotonic()
        simulation.run(until_us=round((5.0 + PACED_S) * 1e6))
        return PACED_S / PACED / (time.monotonic() - begin) - 1.0
    finally:
        simulation.close()


def log_end(folder, n) -> float:
    """Last simulated time in the last vehicle's flight log, which must be complete [s]."""
    log = ULog(str(next(folder.glob(f"ulog/iris_{n - 1}/*.ulg"))), ["vehicle_attitude"])
    return -1.0 if log.file_corruption else log.last_timestamp * 1e-6


def main() -> int:
    """Flies, checks and prints the results."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--n", type=int, default=20)
    parser.add_argument("--minutes", type=int, default=60, help="simulated (60)")
    args = parser.parse_args()
    process = psutil.Process()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        run_folder.prepare(folder)
        simulation = Simulation(Scenario(fleet("iris", args.n), speed=0.0, gps="rtk"), folder,
                                agent=Rounds(args.n))
        memory, faults = [], []
        try:
            for minute in range(1, args.minutes + 1):
                simulation.run(until_us=minute * 60_000_000)
                memory.append(process.memory_info().rss / 2 ** 20)
                height = simulation.state.pos[:, 2]
                if abs(height - 5.1).max() > 1.0:
                    faults.append(f"minute {minute}: heights {height.min():.1f} to "
                                  f"{height.max():.1f} m")
                print(f"minute {minute}: {simulation.real_time_factor():.1f} x real time, "
                      f"{memory[-1]:.0f} MiB", flush=True)
        finally:
            simulation.close()
        t_us, _ = read_truth(folder / "truth.bin", args.n)
        logged = log_end(folder, args.n)
    if simulation.t_us != args.minutes * 60_000_000 or simulation.t_us % STEP_US:
        faults.append(f"the clock stands at {simulation.t_us} us")
    if not (np.diff(t_us) == 20_000).all():
        faults.append("the truth log has a gap")
    if abs(logged - args.minutes * 60) > 1.5:
        faults.append(f"a flight log ends at {logged:g} s, or has a gap")
    drift = paced_drift()
    print(f"paced at {PACED:g} x real time: {drift:+.3%} against the wall clock")
    if abs(drift) > MAX_DRIFT:
        faults.append("a paced simulation drifts against the wall clock")
    settled = memory[min(SETTLED_MIN, len(memory)) - 1]
    if memory[-1] > settled * (1 + MAX_GROWTH):
        faults.append(f"memory grew from {settled:.0f} to {memory[-1]:.0f} MiB")
    print("\n".join(faults) or f"no fault in {args.minutes} simulated minutes with {args.n} "
          f"vehicles; memory {settled:.0f} MiB then, {memory[-1]:.0f} MiB now")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
