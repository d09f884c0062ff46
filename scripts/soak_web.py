"""A long flight with pages open, and checks that neither process grows.

Nine vehicles fly as in soak.py while three viewers read every frame and message over sockets of
their own, or three pages of Chromium show them. Resident memory, threads and open files of the
simulation and of the web server are read at each simulated minute, and the memory of the pages'
objects; code that the browser compiles as it learns what is often used is left out. Exits with
status 1 if one of them has grown between the settled state and the end, a viewer was closed, or a
page has not kept up or logs an error.
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
from xtdrone_core.scenario.vehicles import fleet
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
    async with (
        aiohttp.ClientSession() as session,
        session.ws_connect(url + "socket", max_msg_size=0) as socket,
    ):
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
        return process.memory_info().rss / 2**20, process.num_threads(), process.num_fds()


class Viewers:
    """Viewers in a process of their own: over sockets, or pages of Chromium."""

    def __init__(self, url: str, pages: bool):
        """Of the station at this address."""
        self._pages = pages
        self._process = subprocess.Popen(
            [sys.executable, __file__, "--show" if pages else "--watch", url],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            preexec_fn=tied(),
        )
        if pages:
            self._process.stdout.readline()

    def figures(self, t_us: int) -> tuple[str, list[float]]:
        """What is wrong with them at a time, and the memory of each page's objects [MiB]."""
        if self._process.poll() is not None:
            return "the viewers were closed", []
        if not self._pages:
            return "", []
        self._process.stdin.write(f"{t_us}\n")
        self._process.stdin.flush()
        answer = self._process.stdout.readline()
        return json.loads(answer) if answer else ("the viewers were closed", [])

    def close(self) -> None:
        """Waits for their end, which is that of the server or of standard input."""
        said, _ = self._process.communicate(timeout=60.0)
        if not self._pages:
            print("frames of the viewers:", ", ".join(said.split()))


def show(url: str) -> None:
    """The pages; answers each time [us] on standard input with Viewers.figures()."""
    import browser

    with tempfile.TemporaryDirectory() as scratch, browser.browser(scratch, (960, 540)) as context:
        pages = []
        for _ in range(PAGES):
            page = context.new_page()
            pages.append((page, browser.watched(page), context.new_cdp_session(page)))
            page.goto(url)
        print(flush=True)  # they are open
        for line in sys.stdin:
            faults = [_fault(page, errors, int(line)) for page, errors, _ in pages]
            print(
                json.dumps(
                    ["; ".join(filter(None, faults)), [_objects(tools) for *_, tools in pages]]
                ),
                flush=True,
            )


def _fault(page, errors, t_us: int) -> str:
    if errors:
        return f"a page logs {errors[0]}"
    shown = page.evaluate("window.station?.frame?.t ?? 0")
    late = t_us * 1e-6 - shown > _LATE_S
    return f"a page shows {shown:.1f} s, not {t_us * 1e-6:.1f} s" if late else ""


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
    sizes, types = (nodes[fields.index(name) :: step] for name in ("self_size", "type"))
    return sum(size for size, kind in zip(sizes, types) if kind != code) / 2**20


def main() -> int:
    """Flies, checks and prints the results."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--n", type=int, default=9)
    parser.add_argument("--minutes", type=int, default=60, help="simulated, from 3 on (60)")
    parser.add_argument("--chromium", action="store_true", help="pages of Chromium as viewers")
    parser.add_argument(
        "--speed", type=float, default=0.0, help="1 is real time, 0 as fast as possible (0)"
    )
    parser.add_argument("--watch", metavar="URL", help=argparse.SUPPRESS)
    parser.add_argument("--show", metavar="URL", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.watch:
        asyncio.run(watch_all(args.watch))
        return 0
    if args.show:
        show(args.show)
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
    simulation = Simulation(
        scenario, folder, agent=Rounds(args.n), control=ControlServer(Ports().control)
    )
    rows, faults = [], []
    pages: list[list[float]] = []
    with contextlib.ExitStack() as stack:
        stack.callback(simulation.close)
        station = Station(simulation)
        simulation.observers.append(station)
        here = psutil.Process()
        server = next(
            child for child in here.children() if "xtdrone_web.live.main" in child.cmdline()
        )
        viewers = Viewers(station.watch_url, args.chromium)
        for minute in range(1, args.minutes + 1):
            simulation.run(until_us=minute * 60_000_000)
            rows.append([figures(process) for process in (here, server)])
            fault, objects = viewers.figures(minute * 60_000_000)
            pages.append(objects)
            if minute in (1, SETTLED_MIN) or minute % 10 == 0:
                print(
                    f"minute {minute}: {simulation.real_time_factor():.1f} x real time; "
                    + "; ".join(
                        f"{name} {rss:.0f} MiB, {threads} threads, {files} files"
                        for name, (rss, threads, files) in zip(
                            ("simulation", "web server"), rows[-1]
                        )
                    )
                    + "".join(f"; page {used:.1f} MiB" for used in pages[-1]),
                    flush=True,
                )
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
            faults.append(
                f"memory of the {process} grew from {before[0]:.0f} to {after[0]:.0f} MiB"
            )
        for what, one, other in zip(("threads", "open files"), before[1:], after[1:]):
            if other > one + _SLACK:
                faults.append(f"{what} of the {process} grew from {one} to {other}")
    if simulation.crashes:
        faults.append(f"{len(simulation.crashes)} vehicles crashed")
    print("\n".join(faults) or f"no growth in {args.minutes} simulated minutes")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
