"""Drives MAVProxy through its console against a running simulation; see scripts/mavproxy.sh.

If a step fails, prints the output of MAVProxy and exits with status 1.
"""

import argparse
import math
import os
import queue
import re
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import numpy as np

from xtdrone_autopilot.navigation.mission_items import LAND, MISSION
from xtdrone_autopilot.navigation.plan_file import load
from xtdrone_autopilot.parameters import store as parameters
from xtdrone_core.runs.control_link import ControlClient
from xtdrone_core.runs.ports import Ports
from xtdrone_core.runs.truth_log import read_truth
from xtdrone_sim.world import load_world

PLAN = Path(__file__).resolve().parents[1] / "docs" / "missions" / "square.plan"
SPEED = 4.0  # real-time factor of the simulation
PATIENCE_S = 60.0  # wall-clock time-out of each step
RADIUS = 2.0  # acceptance radius of every waypoint, NAV_ACC_RAD [m]
TOUCH_DOWN = 0.6  # largest distance from the landing item [m]


class Failed(Exception):
    """A step failed."""


class Console:
    """A MAVProxy process with pipes to its console."""

    def __init__(self, program, folder):
        """Starts MAVProxy on the ground station's port; its files go to folder."""
        self._process = subprocess.Popen(
            [
                program,
                f"--master=udp:127.0.0.1:{Ports().ground_station}",
                "--nowait",
                f"--state-basedir={folder}",
                f"--logfile={folder}/mav.tlog",
            ],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            cwd=folder,
            env={**os.environ, "HOME": str(folder), "PYTHONPATH": ""},
        )
        self._lines, self.said = queue.Queue(), []
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self):
        for line in self._process.stdout:
            self._lines.put(line.rstrip())

    def ask(self, words: str) -> None:
        """Sends a console command."""
        self._process.stdin.write(words + "\n")
        self._process.stdin.flush()

    def expect(self, pattern: str):
        """Waits for a line that matches the pattern; returns the match.

        Raises:
            Failed: No such line arrives in time.
        """
        end = time.monotonic() + PATIENCE_S
        while True:
            try:
                line = self._lines.get(timeout=max(0.0, end - time.monotonic()))
            except queue.Empty:
                raise Failed(f"MAVProxy did not say '{pattern}'") from None
            self.said.append(line)
            if found := re.search(pattern, line):
                return found

    def close(self):
        """Ends MAVProxy by closing its input."""
        self._process.stdin.close()
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            self._process.kill()


def waypoint_file(path, items) -> None:
    """Writes mission items in the text format of MAVProxy's `wp load`."""
    rows = ["QGC WPL 110"]
    for k, item in enumerate(items):
        params = [0.0 if math.isnan(p) else p for p in item.params]
        rows.append(
            "\t".join(
                map(
                    str,
                    (
                        k,
                        int(k == 0),
                        item.frame,
                        item.command,
                        *params,
                        f"{item.x * 1e-7:.7f}",
                        f"{item.y * 1e-7:.7f}",
                        item.z,
                        1,
                    ),
                )
            )
        )
    path.write_text("\n".join(rows) + "\n")


def places_in(path) -> np.ndarray:
    """Command, latitude, longitude and height of each row of such a file, (K, 4)."""
    rows = [line.split() for line in path.read_text().splitlines()[1:]]
    return np.array([[float(row[k]) for k in (3, 8, 9, 10)] for row in rows])


def fly(console, folder, items) -> None:
    """Runs a typical MAVProxy session up to the landing."""
    count = int(console.expect(r"Received (\d+) parameters")[1])
    if count != len(parameters.listed()):
        raise Failed(f"{count} parameters came, {len(parameters.listed())} exist")
    step(f"{count} parameters downloaded")
    console.ask("param set MPC_XY_CRUISE 6")
    for _ in range(10):  # it is set in the background, without a message
        console.ask("param fetch MPC_XY_CRUISE")
        if float(console.expect(r"MPC_XY_CRUISE = ([\d.]+)")[1]) == 6.0:
            break
    else:
        raise Failed("MPC_XY_CRUISE does not become 6")
    step("a parameter set and read back")
    given, back = folder / "mission.txt", folder / "back.txt"
    waypoint_file(given, items)
    console.ask(f"wp load {given}")
    console.expect(r"MISSION_ACK: TYPE_MISSION: ACCEPTED")
    console.ask(f"wp save {back}")
    console.expect(rf"Saved {len(items)} waypoints to {back}")
    if abs(places_in(given) - places_in(back)).max() > 2e-7:
        raise Failed("the mission that came back is another one")
    step(f"mission of {len(items)} items loaded, and the same downloaded")
    console.ask("long DO_SET_MODE 1 4 4")  # MAVProxy's 'mode' lacks PX4's modes
    console.expect(r"COMMAND_ACK: DO_SET_MODE: ACCEPTED")
    console.ask("arm throttle")
    console.expect(r"COMMAND_ACK: COMPONENT_ARM_DISARM: ACCEPTED")
    step("armed in AUTO.MISSION")
    console.expect(r"Mission finished|Disarmed by landing")
    console.expect(r"^DISARMED")
    step("landed and disarmed")


def check_way(folder, items) -> None:
    """Checks that the true path passed every waypoint and ended at the landing item."""
    world = load_world("empty")
    origin = world.latitude, world.longitude, world.altitude
    _, rows = read_truth(folder / "truth.bin", 1)
    pos = rows[:, 0, :3]
    for k, item in enumerate(items):
        position = item.position(origin, np.zeros(3))
        if item.command == LAND:
            miss, maximum = np.hypot(*(pos[-1] - position)[:2]), TOUCH_DOWN
        else:
            miss, maximum = np.linalg.norm(pos - position, axis=1).min(), RADIUS
        if miss > maximum:
            raise Failed(f"item {k} was missed by {miss:.2f} m")
    step("every waypoint passed")


def step(text: str) -> None:
    """Reports a step that succeeded."""
    print(f"ok   {text}", flush=True)


def main() -> int:
    """Starts simulation and MAVProxy, flies, checks."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program", help="mavproxy.py")
    program = Path(parser.parse_args().program).absolute()
    items = load(PLAN).items[MISSION]
    with tempfile.TemporaryDirectory() as name:
        runs = Path(name) / "runs"
        simulation = subprocess.Popen(
            [
                sys.executable,
                "-m",
                "xtdrone_core.command",
                "sim",
                "--gps",
                "rtk",
                "--speed",
                str(SPEED),
            ],
            env={**os.environ, "XTDRONE_RUNS": str(runs)},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        said = next((line for line in simulation.stdout if "run folder" in line), "")
        console = Console(program, name)
        try:
            if not said:
                raise Failed("the simulation does not start; see 'xtdrone sim'")
            fly(console, Path(name), items)
            control = ControlClient()
            control.request("stop")
            control.close()
            simulation.communicate(timeout=20)
            check_way(next(runs.glob("*/truth.bin")).parent, items)
        except Failed as error:
            print(*console.said[-40:], f"FAIL {error}", sep="\n", file=sys.stderr)
            return 1
        finally:
            console.close()
            if simulation.poll() is None:
                simulation.terminate()
                simulation.wait()
    return 0


if __name__ == "__main__":
    sys.exit(main())
