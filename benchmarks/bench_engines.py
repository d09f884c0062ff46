"""Real-time factor of both engines, and the round-trip time of one lockstep step.

Fleets of several sizes hover on the embedded autopilot without telemetry. A second run also renders
the stereo pair of every vehicle (752 x 480 twice at 12.5 Hz, world 'outdoor'). If PX4_BUILD names a
real PX4, it is measured too. Combinations that are not set up are skipped with a message.

    python benchmarks/bench_engines.py
    python benchmarks/bench_engines.py --n 1 4 --seconds 5
"""

import argparse
import os
import time

import numpy as np
import results

from xtdrone_control.agents import HoverAgent
from xtdrone_core import Scenario, resources
from xtdrone_core.scenario.vehicles import fleet
from xtdrone_sim.simulation import Simulation

FLIGHT_S = 12.0  # simulated time until all vehicles hover
STEREO_SHARE = 0.1  # of the simulated time, for the slow runs with stereo pairs
STEREO_RATE = 12.5  # of models/iris_stereo [Hz]
PX4_READY_S = 25.0  # the same with PX4, which takes longer to be ready


class RoundTrips:
    """Records the wall time of each call of one method of an object."""

    def __init__(self, owner, name):
        self.seconds = []
        inner = getattr(owner, name)

        def timed(*args):
            begin = time.perf_counter()
            try:
                return inner(*args)
            finally:
                self.seconds.append(time.perf_counter() - begin)

        setattr(owner, name, timed)

    def median_us(self):
        """Median over all calls [us]."""
        return float(np.median(self.seconds) * 1e6)


def measure(n, engine, autopilot, seconds, stereo, work):
    """Real-time factor, and medians of the engine's and the autopilot's step [us]."""
    kind, world = ("iris_stereo", "outdoor") if stereo else ("iris", "empty")
    scenario = Scenario(
        fleet(kind, n), engine=engine, autopilot=autopilot, speed=0.0, gps="rtk", world=world
    )
    simulation = Simulation(scenario, agent=HoverAgent(n), links=False)
    try:
        simulation.run(until_us=round((PX4_READY_S if autopilot == "px4" else FLIGHT_S) * 1e6))
        airborne = int((simulation.state.pos[:, 2] > 2.0).sum())
        work.count("vehicles airborne", airborne, n)
        readings = results.Readings()
        if stereo:
            simulation.observers.append(readings)
            simulation.run(until_us=simulation.t_us + 200_000)  # the first images take longer
            readings.count = 0
        begin = time.perf_counter()
        simulation.run(until_us=simulation.t_us + round(seconds * 1e6))
        wall = time.perf_counter() - begin
        if stereo:
            work.count("stereo pairs drawn", readings.count, n * int(STEREO_RATE * seconds))
        trips = [RoundTrips(part, "step") for part in (simulation.engine, simulation.autopilot)]
        simulation.run(until_us=simulation.t_us + round(0.2 * seconds * 1e6))
    finally:
        simulation.close()
    return seconds / wall, *(trip.median_us() for trip in trips)


def main():
    """Measures each combination, prints a table and updates runs/bench.json."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--n", type=int, nargs="*", default=[1, 4, 9, 20])
    parser.add_argument("--px4_n", type=int, nargs="*", default=[1, 4, 9])
    parser.add_argument("--seconds", type=float, default=10.0, help="simulated, per size (10)")
    args = parser.parse_args()
    engines = ["embedded"]
    if (resources.root() / ".setup/gazebo11/libxtdrone_lockstep.so").is_file():
        engines.append("gazebo")
    else:
        print("Gazebo 11 is not set up (scripts/setup_gazebo.sh): left out")
    runs = [
        (n, engine, "embedded", stereo)
        for stereo in (False, True)
        for engine in engines
        for n in args.n
    ]
    if os.environ.get("PX4_BUILD"):
        runs += [(n, "embedded", "px4", False) for n in args.px4_n]
    else:
        print("PX4_BUILD is not set: real PX4 left out")
    factors, trips, work = [], [], results.Work()
    for n, engine, autopilot, stereo in runs:
        seconds = args.seconds * (STEREO_SHARE if stereo else 1.0)
        factor, engine_us, autopilot_us = measure(n, engine, autopilot, seconds, stereo, work)
        cameras = "stereo" if stereo else "none"
        print(
            f"n {n:3d}  {engine:8s} {autopilot:8s} cameras {cameras:6s}: {factor:7.3f} x real "
            f"time; per step: engine {engine_us:6.0f} us, autopilot {autopilot_us:6.0f} us",
            flush=True,
        )
        params = {
            "n": n,
            "engine": engine,
            "autopilot": autopilot,
            "transport": "agent",
            "telemetry": "none",
            "cameras": cameras,
        }
        factors.append((params, round(factor, 3), "s/s"))
        for part, value in (("engine", engine_us), ("autopilot", autopilot_us)):
            trips.append(({**params, "part": part}, round(value, 1), "us"))
    results.replace("fleet_real_time_factor", factors, work)
    results.replace("lockstep_round_trip", trips, work)


if __name__ == "__main__":
    main()
