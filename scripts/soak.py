"""One long flight with faults, and checks of memory growth, clock drift, logs and crashes.

Vehicles take off, change positions on a circle every half minute, log, and stream to a ground
station that comes and goes. Strangers flood their links and the control socket, and in the middle
the disk takes nothing for a minute of simulated time. Exits with status 1 if a check fails. The
logs of one hour with 20 vehicles take 1.5 GB; they are deleted at the end.
"""

import argparse
import contextlib
import json
import math
import random
import resource
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import psutil
from pyulog import ULog

from xtdrone_control.agents import HoverAgent
from xtdrone_core import Scenario
from xtdrone_core.mavlink.dialect import mavlink
from xtdrone_core.runs import run_folder
from xtdrone_core.runs.control_link import ControlServer
from xtdrone_core.runs.parent import tied
from xtdrone_core.runs.ports import Ports
from xtdrone_core.runs.truth_log import read_truth
from xtdrone_core.scenario.vehicles import fleet
from xtdrone_sim.simulation import STEP_US, Simulation

SETTLED_MIN = 5  # simulated minutes until memory use has settled
MAX_GROWTH = 0.05  # of the resident memory after that
PERIOD_S = 30.0  # between two moves
FULL_S = 60  # for which the disk takes nothing [s, simulated]
FLOOD_S = 0.005  # between two bursts of the strangers [s, wall]
STATION_S = 10.0  # for which the ground station is there, and then away [s, wall]
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


def trouble(n) -> None:
    """Strangers and a ground station that comes and goes, for n vehicles; never ends."""
    ports, random_ = Ports(), random.Random(1)
    stranger, station = (socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for _ in range(2))
    packer = mavlink.MAVLink(None, 255, 190)
    links = [
        port(i) for i in range(n) for port in (ports.ground_station_local, ports.offboard_local)
    ]
    begin = time.monotonic()
    for burst in range(1 << 62):
        heartbeat = mavlink.MAVLink_heartbeat_message(6, 8, 0, 0, 4, 3).pack(packer)
        for port in random_.sample(links, min(len(links), 5)):
            garbage = random_.choice([b"\xfd", b"\xfe", b""]) + random_.randbytes(
                random_.randrange(280)
            )
            for data in (garbage, heartbeat[: random_.randrange(len(heartbeat))]):
                stranger.sendto(data, ("127.0.0.1", port))
        if burst % 20 == 0:
            with (
                contextlib.suppress(OSError),
                socket.create_connection(("127.0.0.1", ports.control), 1.0) as client,
            ):  # it may be busy, or drop us
                client.sendall(
                    random_.choice([b"{", b"[" * 5000, b"\x00\n", b'{"op": "status"}\n'])
                )
        if burst % 100 == 0 and (time.monotonic() - begin) // STATION_S % 2 == 0:
            for i in range(n):
                station.sendto(heartbeat, ("127.0.0.1", ports.ground_station_local(i)))
        time.sleep(FLOOD_S)


def disk_is_full(full: bool) -> None:
    """From now on this process cannot write files, or can again."""
    _, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (0 if full else hard, hard))


def log_faults(folder, n, minutes, full_s) -> list[str]:
    """What is wrong with the logs of a flight, in which the disk was full from full_s on."""
    found = []
    t_us, _ = read_truth(folder / "truth.bin", n)
    gaps = np.flatnonzero(np.diff(t_us) != 20_000)
    lost = [t_us[k] * 1e-6 for k in (gaps[0], gaps[0] + 1)] if len(gaps) == 1 else []
    if not lost or abs(lost[0] - full_s) > 1.0 or abs(lost[1] - full_s - FULL_S) > 1.1:
        found.append(f"the truth log has gaps after {t_us[gaps] * 1e-6} s: {lost}")
    for i in range(n):
        log = ULog(str(next(folder.glob(f"ulog/iris_{i}/*.ulg"))), ["vehicle_attitude"])
        missing = sum(drop.duration for drop in log.dropouts) * 1e-3
        end = log.last_timestamp * 1e-6
        if log.file_corruption or abs(end - minutes * 60) > 1.5 or abs(missing - FULL_S) > 1.1:
            found.append(f"the flight log of iris_{i} ends at {end:g} s and lacks {missing:g} s")
    summary = json.loads((folder / "summary.json").read_text())
    if summary["ended"] != "finished" or len(summary["log_gaps"]) < n + 1:
        found.append(f"summary.json says {summary['ended']}, {len(summary['log_gaps'])} gaps")
    return found


def main() -> int:
    """Flies, checks and prints the results."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--n", type=int, default=20)
    parser.add_argument("--minutes", type=int, default=60, help="simulated, from 3 on (60)")
    parser.add_argument("--trouble", action="store_true", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.trouble:
        trouble(args.n)
    if args.minutes < 3:
        parser.error(f"--minutes {args.minutes} is not allowed: give at least 3")
    process, full_s = psutil.Process(), 60 * (args.minutes // 2)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        run_folder.prepare(folder)
        simulation = Simulation(
            Scenario(fleet("iris", args.n), speed=0.0, gps="rtk"),
            folder,
            agent=Rounds(args.n),
            control=ControlServer(Ports().control),
        )
        memory, faults = [], []
        others = subprocess.Popen(
            [sys.executable, __file__, "--trouble", "--n", str(args.n)], preexec_fn=tied()
        )
        try:
            for minute in range(1, args.minutes + 1):
                disk_is_full((minute - 1) * 60 == full_s)
                simulation.run(until_us=minute * 60_000_000)
                disk_is_full(False)
                memory.append(process.memory_info().rss / 2**20)
                height = simulation.state.pos[:, 2]
                if abs(height - 5.1).max() > 1.0:
                    faults.append(
                        f"minute {minute}: heights {height.min():.1f} to {height.max():.1f} m"
                    )
                print(
                    f"minute {minute}: {simulation.real_time_factor():.1f} x real time, "
                    f"{memory[-1]:.0f} MiB",
                    flush=True,
                )
                if others.poll() is not None:
                    faults.append(f"minute {minute}: the strangers have ended")
                    break
        finally:
            others.kill()
            others.wait()
            simulation.close()
        faults += log_faults(folder, args.n, args.minutes, full_s)
    if simulation.t_us != args.minutes * 60_000_000 or simulation.t_us % STEP_US:
        faults.append(f"the clock stands at {simulation.t_us} us")
    drift = paced_drift()
    print(f"paced at {PACED:g} x real time: {drift:+.3%} against the wall clock")
    if abs(drift) > MAX_DRIFT:
        faults.append("a paced simulation drifts against the wall clock")
    settled = memory[min(SETTLED_MIN, len(memory)) - 1]
    if memory[-1] > settled * (1 + MAX_GROWTH):
        faults.append(f"memory grew from {settled:.0f} to {memory[-1]:.0f} MiB")
    print(
        "\n".join(faults)
        or f"no fault in {args.minutes} simulated minutes with {args.n} "
        f"vehicles; memory {settled:.0f} MiB then, {memory[-1]:.0f} MiB now"
    )
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
