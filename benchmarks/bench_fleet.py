"""Real-time factor of a hovering fleet against its size, and the CPU share of each part.

Each vehicle streams PX4's full set of messages to a ground station, a separate
process that parses all of them; its CPU time is reported separately.
`--telemetry none` closes the MAVLink ports, as in flights with Agents in process.
Each vehicle writes its flight log as in any fleet flight; `--log none` writes no file.

    python benchmarks/bench_fleet.py
    python benchmarks/bench_fleet.py --n 1 9 --telemetry none
    python benchmarks/bench_fleet.py --mixed
"""

import argparse
import json
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import results

from xtdrone_control.agents import HoverAgent, MissionAgent
from xtdrone_core import Scenario, resources
from xtdrone_core.runs import run_folder
from xtdrone_core.runs.ports import MAX_VEHICLES as MAX_LINKED
from xtdrone_core.scenario.vehicles import fleet
from xtdrone_sim.simulation import Simulation

MIXED_MAX_US = 300_000_000  # the mixed fleet is on the ground after 144 s of simulated time
FLIGHT_S = 6.0  # simulated time until all vehicles hover
MESSAGES_PER_S = 20  # a vehicle at least; at high speeds a ground station on a busy core loses some
PARTS = {
    "engine": ("engine", "step"),
    "rotors": ("plant.actuators", "step"),
    "sensors": ("sensor_suite", "step"),
    "estimator": ("autopilot.estimator", "step"),
    "navigator": ("autopilot.navigator", "step"),
    "position control": ("autopilot.position_control", "step"),
    "velocity control": ("autopilot.velocity_control", "step"),
    "attitude control": ("autopilot.attitude_control", "step"),
    "rate control": ("autopilot.rate_control", "step"),
    "mixer": ("autopilot.mixer", "step"),
    "flight log": ("autopilot.log", "step"),
    "telemetry": ("autopilot.links", "stream"),
    "MAVLink in": ("autopilot.links", "receive"),
}


class Stopwatch:
    """Measures the wall time spent in one method of an object."""

    def __init__(self, owner, name):
        self.seconds = 0.0
        inner = getattr(owner, name)

        def timed(*args):
            begin = time.perf_counter()
            try:
                return inner(*args)
            finally:
                self.seconds += time.perf_counter() - begin

        setattr(owner, name, timed)


def measure(n: int, seconds: float, telemetry: str, work: results.Work, log: str = "fleet") -> dict:
    """Flies n vehicles and measures `seconds` of simulated hover.

    Args:
        n: Number of vehicles.
        seconds: Simulated time [s].
        telemetry: full (PX4's messages to a ground station) or none.
        work: Counts vehicles and messages.
        log: Profile of the flight logs, or none for a flight without log files.

    Returns:
        real_time_factor, wall_s, parts (share of the wall time), ground_station.
    """
    station = None
    if telemetry == "full":
        station = subprocess.Popen(
            [sys.executable, __file__.replace("bench_fleet", "ground_station")],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        station.stdout.readline()
    folder = None if log == "none" else Path(tempfile.mkdtemp(prefix="bench-"))
    if folder is not None:
        run_folder.prepare(folder)
    simulation = Simulation(
        Scenario(fleet("iris", n), speed=0.0, log=log),
        folder,
        agent=HoverAgent(n),
        links=telemetry == "full",
    )
    try:
        simulation.run(until_us=round(FLIGHT_S * 1e6))
        airborne = int((~simulation.autopilot.estimates().landed).sum())
        work.count("vehicles airborne", airborne, n)
        # First without timers, for the real-time factor; then with timers, for the shares.
        begin = time.perf_counter()
        simulation.run(until_us=simulation.t_us + round(seconds * 1e6))
        wall = time.perf_counter() - begin
        watches = {}
        for part, (path, method) in PARTS.items():
            owner = simulation
            for name in path.split("."):
                owner = getattr(owner, name)
            if owner is not None:
                watches[part] = Stopwatch(owner, method)
        begin = time.perf_counter()
        simulation.run(until_us=simulation.t_us + round(seconds * 1e6))
        watched = time.perf_counter() - begin
        error = np.abs(simulation.state.pos[:, 2] - 3.0).max()
    finally:
        simulation.close()
        if folder is not None:
            shutil.rmtree(folder)
    counts = {}
    if station is not None:
        counts = json.loads(station.communicate()[0])
        work.count("vehicles heard by the ground station", counts["vehicles"], n)
        work.count("messages parsed", counts["messages"], n * MESSAGES_PER_S * seconds)
    return {
        "real_time_factor": seconds / wall,
        "height_error": error,
        "ground_station": counts,
        "parts": {part: watch.seconds / watched for part, watch in watches.items()},
    }


def measure_mixed(work: results.Work) -> float:
    """Flies launch/mixed.launch's fleet in process, with telemetry, from start to end.

    Returns:
        The real-time factor.
    """
    arg = ElementTree.parse(resources.root() / "launch/mixed.launch").find("arg[@name='defaults']")
    words = shlex.split(arg.get("default").replace("$(dirname)", str(resources.root() / "launch")))
    given = dict(word.split("=", 1) for word in words if "=" in word)
    scenario = Scenario(**given, speed=0.0)
    folder = Path(tempfile.mkdtemp(prefix="bench-"))
    run_folder.prepare(folder)
    simulation = Simulation(scenario, folder, agent=MissionAgent(scenario.n), links=True)
    try:
        begin = time.perf_counter()
        simulation.run(until_us=MIXED_MAX_US)
        wall = time.perf_counter() - begin
        work.count("vehicles landed", simulation.landed.sum(), scenario.n)
        return simulation.t_us * 1e-6 / wall
    finally:
        simulation.close()
        shutil.rmtree(folder)


def main():
    """Measures each size, prints a table and updates runs/bench.json."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--n",
        type=int,
        nargs="+",
        default=[1, 10, 50, 100, 200, 1000],
        help="vehicles; more than 250 without telemetry only",
    )
    parser.add_argument("--seconds", type=float, default=10.0, help="simulated, per size (10)")
    parser.add_argument(
        "--telemetry", choices=["full", "none"], nargs="+", default=["full", "none"]
    )
    parser.add_argument(
        "--log",
        choices=["fleet", "full", "none"],
        default="fleet",
        help="profile of the flight logs (fleet)",
    )
    parser.add_argument(
        "--mixed", action="store_true", help="only the mixed fleet of twelve of launch/mixed.launch"
    )
    args = parser.parse_args()
    work = results.Work()
    if args.mixed:
        factor = measure_mixed(work)
        print(f"mixed fleet of twelve: {factor:.2f} x real time")
        params = {"fleet": "mixed", "n": 12, "transport": "mavlink"}
        return results.replace(
            "mixed_fleet_real_time_factor", [(params, round(factor, 3), "s/s")], work
        )
    rows, shares_of_wall = [], []
    for telemetry in args.telemetry:
        for n in args.n:
            if n > MAX_LINKED and telemetry == "full":
                continue
            m = measure(n, args.seconds, telemetry, work, args.log)
            station = m["ground_station"]
            shares = ", ".join(
                f"{part} {share:.0%}"
                for part, share in sorted(m["parts"].items(), key=lambda item: -item[1])[:6]
            )
            print(
                f"n {n:4d}  telemetry {telemetry}: {m['real_time_factor']:7.2f} x real time; "
                f"{shares}",
                flush=True,
            )
            if station:
                print(
                    f"        ground station: {station['messages']} messages of "
                    f"{station['vehicles']} vehicles, {station['cpu_s']:.1f} s CPU",
                    flush=True,
                )
            params = {
                "n": n,
                "engine": "embedded",
                "autopilot": "embedded",
                "transport": "mavlink" if telemetry == "full" else "agent",
                "telemetry": telemetry,
            }
            if args.log != "fleet":
                params["log"] = args.log
            rows.append((params, round(m["real_time_factor"], 3), "s/s"))
            shares_of_wall += [
                ({**params, "part": part}, round(share, 4), "of wall time")
                for part, share in m["parts"].items()
            ]
            if station:
                shares_of_wall.append(
                    ({**params, "part": "ground station"}, round(station["cpu_s"], 2), "CPU s")
                )
    results.replace("fleet_real_time_factor", rows, work)
    results.replace("fleet_share_of_part", shares_of_wall, work)


if __name__ == "__main__":
    main()
