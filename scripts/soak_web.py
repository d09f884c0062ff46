"""A long flight with pages open, and checks that neither process grows.

Nine vehicles fly as in soak.py while three viewers read every frame and message over sockets of
their own, or three pages of Chromium show them. Resident memory, threads and open files of the
simulation and of the web server are read at each simulated minute, and the memory of what lives
in the pages, but for code that the browser compiles as it learns what is often used. Exits with status 1 if one of them has grown between the settled state and
the end, a viewer was closed, or a page has not kept up or logs an error.
"""

import argparse
import asyncio
import contextlib
import json
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
_LATE_S = 20.0  # of simulated time by which a page may be behind an unpaced flight
_PAGE_GROWTH = 0.1  # of the memory of a page's objects


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


class Viewers:
    """Viewers over sockets of their own."""

    def __init__(self, url: str):
        """Of the station at this address."""
        self._process = subprocess.Popen([sys.executable, __file__, "--watch", url],
                                         stdout=subprocess.PIPE, text=True, preexec_fn=tied())

    def figures(self) -> tuple[float, ...]:
        """None that could grow."""
        return ()

    def fault(self, t_us: int) -> str:
        """What is wrong with them at a time, or ""."""
        return "the viewers were closed" if self._process.poll() is not None else ""

    def close(self) -> None:
        """Waits for their end, which is that of the server."""
        frames, _ = self._process.communicate(timeout=60.0)
        print("frames of the viewers:", ", ".join(frames.split()))


class Pages:
    """Pages in Chromium."""

    def __init__(self, url: str, scratch: Path, open_at_end: contextlib.ExitStack):
        """Of the station at this address; scratch: for their profile."""
        import browser

        context = open_at_end.enter_context(browser.browser(scratch, (960, 540)))
        self._pages = []
        for _ in range(PAGES):
            page = context.new_page()
            self._pages.append((page, browser.watched(page)))
            page.goto(url)
        self._tools = [context.new_cdp_session(page) for page, _ in self._pages]

    def figures(self) -> tuple[float, ...]:
        """Memory of each page's objects [MiB]."""
        return tuple(map(_objects, self._tools))

    def fault(self, t_us: int) -> str:
        """What is wrong with them at a time, or ""."""
        for page, errors in self._pages:
            if errors:
                return f"a page logs {errors[0]}"
            shown = page.evaluate("window.station?.frame?.t ?? 0")
            if t_us * 1e-6 - shown > _LATE_S:
                return f"a page shows {shown:.1f} s, not {t_us * 1e-6:.1f} s"
        return ""

    def close(self) -> None:
        """Nothing: the browser ends with the flight."""


def _objects(tools) -> float:
    """Memory of a page's objects, without compiled code, by a snapshot of its heap [MiB]."""
    parts: list[str] = []

    def take(event):
        parts.append(event["chunk"])

    tools.on("HeapProfiler.addHeapSnapshotChunk", take)
    tools.send("HeapProfiler.takeHeapSnapshot", {"reportProgress": False})
    tools.remove_listener("HeapProfiler.addHeapSnapshotChunk", take)
    heap = json.loads("".join(parts))
    meta, nodes = heap["snapshot"]["meta"], heap["nodes"]
    fields, kinds = meta["node_fields"], meta["node_types"][0]
    step, code = len(fields), kinds.index("code")
    sizes, types = (nodes[fields.index(name)::step] for name in ("self_size", "type"))
    return sum(size for size, kind in zip(sizes, types) if kind != code) / 2 ** 20


def main() -> int:
    """Flies, checks and prints the results."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--n", type=int, default=9)
    parser.add_argument("--minutes", type=int, default=60, help="simulated, from 3 on (60)")
    parser.add_argument("--chromium", action="store_true", help="pages of Chromium as viewers")
    parser.add_argument("--speed", type=float, default=0.0,
                        help="1 is real time, 0 as fast as possible (0)")
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
    scenario = Scenario(fleet("iris", args.n), speed=args.speed, gps="rtk", web=True, log="none")
    simulation = Simulation(scenario, folder, agent=Rounds(args.n),
                            control=ControlServer(Ports().control))
    rows, faults = [], []
    pages: list[tuple[float, ...]] = []
    with contextlib.ExitStack() as stack:
        stack.callback(simulation.close)
        station = Station(simulation)
        simulation.observers.append(station)
        here = psutil.Process()
        server = next(child for child in here.children()
                      if "xtdrone_web.server.main" in child.cmdline())
        viewers = (Pages(station.watch_url, folder.parent, stack) if args.chromium
                   else Viewers(station.watch_url))
        for minute in range(1, args.minutes + 1):
            simulation.run(until_us=minute * 60_000_000)
            fault = viewers.fault(minute * 60_000_000)
            rows.append([figures(process) for process in (here, server)])
            pages.append(viewers.figures())
            if minute in (1, SETTLED_MIN) or minute % 10 == 0:
                print(f"minute {minute}: {simulation.real_time_factor():.1f} x real time; "
                      + "; ".join(f"{name} {rss:.0f} MiB, {threads} threads, {files} files"
                                  for name, (rss, threads, files) in
                                  zip(("simulation", "web server"), rows[-1]))
                      + "".join(f"; page {used:.1f} MiB" for used in pages[-1]), flush=True)
            if fault:
                faults.append(f"minute {minute}: {fault}")
                break
    viewers.close()
    settled = min(SETTLED_MIN, len(rows)) - 1
    for before, after in zip(pages[settled], pages[-1]):
        if after > before * (1 + _PAGE_GROWTH):
            faults.append(f"memory of a page grew from {before:.1f} to {after:.1f} MiB")
    for k, process in enumerate(("simulation", "web server")):
        before, after = rows[settled][k], rows[-1][k]
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
