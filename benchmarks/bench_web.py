"""The browser station: frames drawn, cost of many viewers, and how late the sticks are.

    python benchmarks/bench_web.py
    python benchmarks/bench_web.py --only sticks --seconds 20

Chromium draws without a graphics card on the same cores as the simulation. The level of detail and
the render scale follow the machine, and are written beside the frames. Processor time is that of
all processes of the browser, for each picture, and that of simulation and server, for each
simulated second; a busy machine measures the same, hence also how many cores 30 frames a second at
real time need.
"""

import argparse
import contextlib
import json
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import numpy as np
import psutil
import results

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "support"))

import browser
from web_simulation import serving
from xtdrone_core import Scenario
from xtdrone_core.contracts import Observer
from xtdrone_core.runs.control_link import ControlServer
from xtdrone_core.runs.ports import Ports, default_instance
from xtdrone_core.scenario.vehicles import fleet
from xtdrone_sim.simulation import Simulation
from xtdrone_web.station import Station

SIZES = ((9, 1440, 900), (9, 960, 540), (100, 640, 360))
BOUND = 30.0  # frames a second, with nine vehicles at 1440 x 900
VIEWERS = 9
# As in PX4, STABILIZED takes the latest stick each 4 ms, ALTCTL each 8 ms, in its loop of height.
MODES = ("STABILIZED", "ALTCTL")
_JUMP = 0.5  # change of the roll command in one step by which a stick is seen; others: below 0.1
PAD = """(() => { window.gamepad = { id: 'bench', connected: true, mapping: 'standard',
    axes: [0, 0, 0, 0],
    buttons: Array.from({ length: 16 }, () => ({ pressed: false, value: 0 })) };
    navigator.getGamepads = () => [window.gamepad]; })()"""
AIRBORNE = """[...Array(station.frame.n).keys()]
    .filter((i) => station.frame.get(i, 'pos', 2) > 1).length"""
# Pictures that the page has drawn, not those that the browser would have shown.
COUNT = """(seconds) => new Promise((done) => { const drawn = station.renderer.info.render;
    const begin = performance.now(), before = drawn.frame;
    setTimeout(() => done(1000 * (drawn.frame - before) / (performance.now() - begin)),
        1000 * seconds); })"""


def up(page):
    """Has the fleet take off, and waits until it hovers."""
    browser.until(
        page,
        "[...Array(station.frame.n).keys()].every((i) => station.frame.get(i, 'ready'))",
        240.0,
    )
    page.evaluate("station.chooseAll(); station.takeOff()")
    browser.until(page, "station.frame.get(0, 'pos', 2) > 3", 240.0)


class Cost:
    """Processor time of the browser for each picture, of the simulation for each simulated second.

    Attributes:
        factor: Simulated over wall time.
    """

    def __init__(self, running):
        """Begins to measure."""
        self._running = running
        self._begin = self._now()

    def _now(self):
        own = psutil.Process()
        simulation = processor_s(psutil.Process(self._running.process.pid))
        browser_s = processor_s(own) - simulation - sum(own.cpu_times()[:2])
        t_s = self._running.control.request("status")["t_us"] * 1e-6
        return np.array([browser_s, simulation, t_s, time.monotonic()])

    def end(self, pictures):
        """Ends after so many pictures."""
        browser_s, simulation_s, simulated, wall = self._now() - self._begin
        self.picture_s, self.second_s = browser_s / pictures, simulation_s / simulated
        self.factor = simulated / wall

    def cores(self, rate):
        """Cores for so many pictures a second beside a simulation at real time."""
        return rate * self.picture_s + self.second_s

    def __str__(self):
        return (
            f"{1e3 * self.picture_s:.1f} ms of processor time a picture, {self.second_s:.2f} s a "
            f"simulated second: {BOUND:.0f} frames/s at real time need "
            f"{self.cores(BOUND):.2f} cores"
        )


def processor_s(process):
    """Processor time of a process and of all that it has started [s]."""
    total = 0.0
    for each in [process, *process.children(recursive=True)]:
        with contextlib.suppress(psutil.Error):
            total += sum(each.cpu_times()[:2])
    return total


def frames(seconds):
    """Rows of frames/s and of the time until the page is ready."""
    drawn, ready, costs, factors, work = [], [], [], [], results.Work()
    for n, width, height in SIZES:
        with (
            tempfile.TemporaryDirectory() as folder,
            serving(Path(folder), "--n", str(n)) as running,
            browser.browser(folder, (width, height)) as context,
        ):
            page, errors = browser.opened(context, running.url)
            ready.append(float(page.evaluate("document.body.dataset.ready")))
            up(page)
            page.wait_for_timeout(15_000)  # scale and detail settle
            cost = Cost(running)
            rate = page.evaluate(COUNT, seconds)
            cost.end(rate * seconds)
            work.count("frames drawn", rate * seconds, seconds)
            work.count("vehicles airborne", page.evaluate(AIRBORNE), n)
            scale, level = page.evaluate("[station.pace.scale, station.pace.level]")
            print(
                f"{n} vehicles, {width}x{height}: {rate:.1f} frames/s at scale {scale:.2f}, "
                f"level {level}, simulation {cost.factor:.2f} x; ready in {ready[-1]:.0f} ms; "
                f"{cost}; {errors}",
                flush=True,
            )
            costs.append(({"n": n, "width": width}, round(cost.cores(BOUND), 2), "cores"))
            factors.append(({"n": n, "width": width}, round(cost.factor, 2), "x"))
            drawn.append(
                (
                    {
                        "n": n,
                        "width": width,
                        "height": height,
                        "scale": round(scale, 2),
                        "level": level,
                    },
                    round(rate, 1),
                    "1/s",
                )
            )
    results.replace("web_frames_per_s", drawn, work)
    results.replace("web_factor_beside_frames", factors, work)
    results.replace("web_cores_at_30_frames_per_s", costs, work)
    results.replace("web_ready_ms", [({}, round(statistics.median(ready)), "ms")], work)


def viewers(seconds):
    """Row of the simulation's real-time factor with sockets that take every frame."""
    reader = Path(__file__).with_name("web_viewers.py")
    with tempfile.TemporaryDirectory() as folder, serving(Path(folder), "--n", "9") as running:
        process = subprocess.Popen(
            [sys.executable, str(reader), running.url, str(VIEWERS), str(seconds + 5)],
            stdout=subprocess.PIPE,
            text=True,
        )
        time.sleep(5.0)
        factors = []
        for _ in range(round(seconds)):
            time.sleep(1.0)
            factors.append(running.control.request("status")["real_time_factor_now"])
        said = process.communicate()[0].strip()
    work = results.Work()
    work.count("frames received", int(said.split()[0]), VIEWERS * seconds)
    print(f"{VIEWERS} viewers: real-time factor {min(factors):.3f} at least; {said}", flush=True)
    results.replace(
        "web_real_time_factor", [({"viewers": VIEWERS}, round(min(factors), 3), "x")], work
    )


class Commands(Observer):
    """Records the actuator commands of each step and when it ended."""

    def __init__(self, autopilot):
        self._autopilot = autopilot
        self.times, self.values = [], []

    def on_step(self, t_us, state, sensors):
        self.times.append(time.monotonic())
        self.values.append(self._autopilot.commands[0, :4].copy())


STICKS = """async (count) => { const found = []; gamepad.buttons[4].pressed = true;
    for (let k = 0; k < count; k++) {
        await new Promise((done) => setTimeout(done, 90 + 40 * Math.random()));
        gamepad.axes[2] = k % 2 ? -0.35 : 0.35;
        found.push(performance.now() / 1000 + pad.connection.offset);
    } return found; }"""


def sticks(seconds):
    """Rows of the delay from a stick's move to the actuator command, through the gamepad's API."""
    rows, work = [], results.Work()
    for mode in MODES:
        late, moves, page = _flown(mode, seconds)
        work.count("moves of the stick answered", len(late), 0.9 * moves)
        p99 = float(np.percentile(late, 99))
        print(
            f"{mode}: stick to actuator command: median {np.median(late):.1f} ms, 99 % within "
            f"{p99:.1f} ms, of {len(late)} moves of {moves}; the page says {page}",
            flush=True,
        )
        rows.append(({"mode": mode}, round(p99, 2), "ms"))
    results.replace("stick_to_actuator_p99_ms", rows, work)


def _flown(mode, seconds):
    """A flight by moves of the roll stick: delays [ms], number of moves, what the page shows."""
    scenario = Scenario(
        vehicles=fleet("iris", 1), web=True, log="none", instance=default_instance()
    )
    simulation = Simulation(scenario, control=ControlServer(Ports(scenario.instance).control))
    commands, station = Commands(simulation.autopilot), Station(simulation)
    simulation.observers += [commands, station]
    pilot = subprocess.Popen(
        [
            sys.executable,
            __file__,
            "--pilot",
            station.url,
            "--mode",
            mode,
            "--seconds",
            str(seconds),
        ],
        stdout=subprocess.PIPE,
        text=True,
    )
    threading.Thread(target=lambda: (pilot.wait(), simulation.stop()), daemon=True).start()
    simulation.run()
    simulation.close()
    found = json.loads(pilot.communicate()[0] or "null")
    if not found:
        raise SystemExit("the page did not fly")
    return _delays(commands, found["moves"]), len(found["moves"]), found["page"]


def pilot(url, mode, seconds):
    """Flies by the gamepad's interface; prints when the stick was moved, as JSON."""
    with tempfile.TemporaryDirectory() as folder, browser.browser(folder, (640, 360)) as context:
        print(json.dumps(_moves(browser.opened(context, url)[0], mode, seconds)))


def _moves(page, mode, seconds):
    page.evaluate("station.pace.choose('0')")
    up(page)
    page.evaluate("station.order('goto', { x: 0, y: 0, z: 40 }); station.panels.show('sticks')")
    browser.until(page, "station.frame.get(0, 'pos', 2) > 30")
    frame = browser.gamepad_frame(page)
    frame.evaluate(PAD)
    browser.until(page, "station.panel.sticks.framed")
    page.evaluate("document.getElementById('fly').click()")
    frame.evaluate("gamepad.buttons[4].pressed = true")
    page.wait_for_timeout(500)
    page.evaluate(f"station.order('mode', {{ mode: '{mode}' }})")
    browser.until(page, f"station.scene.modes[station.frame.get(0, 'mode')] === '{mode}'")
    moves = frame.evaluate(STICKS, round(30 * seconds))
    return {"moves": moves, "page": page.evaluate("station.frame.latency")}


def _delays(commands, moves):
    """From each move to the end of the first step before the next whose commands answer [ms]."""
    times, values = np.array(commands.times), np.array(commands.values)
    jumps = np.abs(np.diff(values @ (1.0, -1.0, -1.0, 1.0))) > _JUMP  # left against right
    answers = times[1:][jumps]
    late = []
    for move, following in zip(moves, [*moves[1:], np.inf]):
        found = answers[(answers >= move) & (answers < following)]
        if len(found):
            late.append(1e3 * (found[0] - move))
    return late


PARTS = {"frames": frames, "viewers": viewers, "sticks": sticks}


def main():
    """Measures all, or one part, and updates runs/bench.json."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", choices=PARTS)
    parser.add_argument("--seconds", type=float, default=10.0)
    parser.add_argument("--pilot", help=argparse.SUPPRESS)
    parser.add_argument("--mode", choices=MODES, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if why := browser.missing():
        raise SystemExit(why)
    if args.pilot:
        pilot(args.pilot, args.mode, args.seconds)
        return
    for name, part in PARTS.items():
        if args.only in (None, name):
            part(args.seconds)


if __name__ == "__main__":
    main()
