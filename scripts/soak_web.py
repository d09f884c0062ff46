"""A long flight with pages open, and checks that neither process grows.

Nine vehicles fly as in soak.py while three viewers read every frame and message over sockets of
their own. Resident memory, threads and open files of the simulation and of the web server are
read at each simulated minute. Exits with status 1 if one of them has grown between the settled
state and the end, or a viewer was closed.
"""

import argparse
import asyncio
import contextlib
import subprocess
import sys
import tempfile
from pathlib import Path

import aiohttp
import psutil
from soak import MAX_GROWTH, SETTLED_MIN, Rounds

from xtdrone_core import Scenario
from xtdrone_core.runs import run_folder
from xtdrone_core.runs.control_link import ControlServer
from xtdrone_core.runs.parent import tied
from xtdrone_core.runs.ports import Ports
from xtdrone_core.scenario.scenario import fleet
from xtdrone_sim.simulation import Simulation
from xtdrone_web.station import Station

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "support"))
PAGES = 3
_SLACK = 2  # threads or files by which the counts may differ


async def watch(url: str) -> None:
    """A viewer that reads everything; prints how many frames it got when it is closed."""
    frames = 0
    async with aiohttp.ClientSession() as session, \
            session.ws_connect(url + "socket", max_msg_size=0) as socket:
        await socket.send_json({"op": "hello"})
        async for message in socket:
            frames += message.type == aiohttp.WSMsgType.BINARY
    print(frames, flush=True)


async def watch_all(url: str) -> None:
    """All viewers."""
    await asyncio.gather(*(watch(url) for _ in range(PAGES)))


def figures(process: psutil.Process) -> tuple[float, int, int]:
    """Resident memory [MiB], threads and open files of a process."""
    with process.oneshot():
        return process.memory_info().rss / 2 ** 20, process.num_threads(), process.num_fds()


@contextlib.contextmanager
def chromium(wanted: bool, url: str, scratch: Path):
    """A real page beside the viewers, if it is wanted."""
    if not wanted:
        yield
        return
    import browser

    with browser.browser(scratch, (960, 540)) as context:
        browser.opened(context, url)
        yield


def main() -> int:
    """Flies, checks and prints the results."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--n", type=int, default=9)
    parser.add_argument("--minutes", type=int, default=60, help="simulated, from 3 on (60)")
    parser.add_argument("--chromium", action="store_true", help="one real page in addition")
    parser.add_argument("--watch", metavar="URL", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.watch:
        asyncio.run(watch_all(args.watch))
        return 0
    if args.minutes < 3:
        parser.error(f"--minutes {args.minutes} is not allowed: give at least 3")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "run"
        folder.mkdir()
        run_folder.prepare(folder)
        return fly(args, folder)


def fly(args: argparse.Namespace, folder: Path) -> int:
    """The flight in a run folder; returns the exit status."""
    scenario = Scenario(fleet("iris", args.n), speed=0.0, gps="rtk", web=True, log="none")
    simulation = Simulation(scenario, folder, agent=Rounds(args.n),
                            control=ControlServer(Ports().control))
    rows, faults = [], []
    try:
        station = Station(simulation)
        simulation.observers.append(station)
        here = psutil.Process()
        server = next(child for child in here.children()
                      if "xtdrone_web.server.main" in child.cmdline())
        viewers = subprocess.Popen([sys.executable, __file__, "--watch", station.watch_url],
                                   stdout=subprocess.PIPE, text=True, preexec_fn=tied())
        with chromium(args.chromium, station.watch_url, folder.parent):
            for minute in range(1, args.minutes + 1):
                simulation.run(until_us=minute * 60_000_000)
                rows.append([figures(process) for process in (here, server)])
                if minute in (1, SETTLED_MIN) or minute % 10 == 0:
                    print(f"minute {minute}: {simulation.real_time_factor():.1f} x real time; "
                          + "; ".join(f"{name} {rss:.0f} MiB, {threads} threads, {files} files"
                                      for name, (rss, threads, files) in
                                      zip(("simulation", "web server"), rows[-1])), flush=True)
                if viewers.poll() is not None:
                    faults.append(f"minute {minute}: the viewers were closed")
                    break
    finally:
        simulation.close()
    frames, _ = viewers.communicate(timeout=60.0)
    print("frames of the viewers:", ", ".join(frames.split()))
    for k, process in enumerate(("simulation", "web server")):
        before, after = rows[min(SETTLED_MIN, len(rows)) - 1][k], rows[-1][k]
        if after[0] > before[0] * (1 + MAX_GROWTH):
            faults.append(f"memory of the {process} grew from {before[0]:.0f} to "
                          f"{after[0]:.0f} MiB")
        for what, one, other in zip(("threads", "open files"), before[1:], after[1:]):
            if other > one + _SLACK:
                faults.append(f"{what} of the {process} grew from {one} to {other}")
    if simulation.crashes:
        faults.append(f"{len(simulation.crashes)} vehicles crashed")
    print("\n".join(faults) or f"no growth in {args.minutes} simulated minutes")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
