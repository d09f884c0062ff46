"""What ROS 2's topics cost: processor time of their process, and of handing steps to it.

    python benchmarks/bench_ros2.py
    python benchmarks/bench_ros2.py --n 9 --rate 50 --seconds 20

A program on Fast DDS (apt-get install libfastrtps-dev) receives the topics and finds gaps in them.
"""

import argparse
import sys
import tempfile
import time
from pathlib import Path

import psutil
import results

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "support"))

import fast_dds
from processes import SimulationProcess
from xtdrone_core import Scenario
from xtdrone_core.scenario.vehicles import fleet
from xtdrone_ros2.feed import Feeder
from xtdrone_ros2.topics import pegasus, px4_out
from xtdrone_ros2.topics.row import STATE_RATE
from xtdrone_sim.simulation import STEP_US, Simulation

DOMAIN = 90
BEGIN_S = 4.0  # until all have found each other
_STEPS = 2000


def states(n):
    """Topics of the vehicles' true states."""
    return [
        (f"/drone{i}/{row.name}", row.type)
        for i in range(n)
        for row in pegasus.TOPICS
        if row.period_us == STATE_RATE
    ]


def everything(n):
    """All that vehicles publish."""
    return [
        (f"{begin}/{row.name}", row.type)
        for i in range(n)
        for rows, begin in (
            (pegasus.TOPICS, f"/drone{i}"),
            (px4_out.TOPICS, f"{px4_out.namespace(i)}/fmu/out"),
        )
        for row in rows
    ]


def feeding(n):
    """Processor time of handing one step over [s]."""
    with tempfile.TemporaryDirectory() as folder:
        simulation = Simulation(Scenario(vehicles=fleet("iris", n), log="none"), links=False)
        feeder = Feeder(Path(folder) / "ring", n)
        simulation.step()
        begin = time.process_time()
        for k in range(_STEPS):
            feeder.write(k * STEP_US, simulation.state, simulation.sensors, simulation.autopilot)
        spent = time.process_time() - begin
        feeder.close()
        simulation.close()
    return spent / _STEPS


def measured(program, n, rate, seconds, topics, work):
    """Percent of a core of the process, messages received in a second, and steps without one."""
    with tempfile.TemporaryDirectory() as text:
        folder = Path(text)
        simulation = SimulationProcess(
            folder,
            "--n",
            n,
            "--ros2",
            "true",
            "--ros2_domain",
            DOMAIN,
            "--ros2_rate",
            rate,
            "--log",
            "none",
        )
        user = fast_dds.FastDdsUser(program, folder, DOMAIN, BEGIN_S + seconds + 1.0, topics)
        try:
            (process,) = (
                child
                for child in psutil.Process(simulation.process.pid).children()
                if "xtdrone_ros2.main" in child.cmdline()
            )
            time.sleep(BEGIN_S)
            before, begin = sum(process.cpu_times()[:2]), time.monotonic()
            time.sleep(seconds)
            spent, wall = sum(process.cpu_times()[:2]) - before, time.monotonic() - begin
            factor = simulation.control.request("status")["real_time_factor_now"]
            heard, _ = user.results()
        finally:
            user.close()
            simulation.stop()
    irregular = [
        one.topic
        for one in heard.values()
        if one.topic.startswith("/drone") and "gps" not in one.topic and one.maximum != one.minimum
    ]
    count = sum(one.count for one in heard.values())
    work.count("topics heard", sum(one.count > 0 for one in heard.values()), len(topics))
    work.count("messages received", count, n * seconds)
    print(
        f"{n} vehicles, {len(topics)} topics: {100 * spent / wall:.1f} % of a core, "
        f"{count} messages, simulation {factor:.2f} x; with gaps: {irregular or 'none'}",
        flush=True,
    )
    return 100 * spent / wall


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--n", type=int, default=9, help="vehicles (9)")
    parser.add_argument("--rate", type=float, default=50.0, help="of states [Hz] (50)")
    parser.add_argument("--seconds", type=float, default=10.0, help="measured (10)")
    args = parser.parse_args()
    if not fast_dds.installed():
        raise SystemExit(fast_dds.MISSING)
    handing = 100 * feeding(args.n) * 1e6 / STEP_US
    print(f"handing steps over: {handing:.1f} % of a core", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        program, work = fast_dds.compiled(Path(folder)), results.Work()
        for name, topics in (
            ("ros2_cpu_percent", states(args.n)),
            ("ros2_all_cpu_percent", everything(args.n)),
        ):
            spent = measured(program, args.n, args.rate, args.seconds, topics, work)
            results.replace(
                name, [({"n": args.n, "rate": args.rate}, round(spent + handing, 1), "%")], work
            )


if __name__ == "__main__":
    main()
