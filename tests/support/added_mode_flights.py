"""Flies two added flight modes with each type of vehicle; prints what they did as JSON.

Each is its lines in xtdrone_core/modes.py, which are put into the source here, and a module, which
is in added_modes/.
"""

import importlib.util
import json
import math
import sys
from importlib.machinery import SourceFileLoader
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
ROWS = (
    ("    PRECLAND = 12\n", "    PRECLAND = 12\n    SPIRAL = 13\n    EAST = 14\n"),
    (
        "\n\ndef may_arm(",
        '\nNAV_STATES[23] = NavState("Spiral", (4, 11), 0x1D, _BY_POSITION)\n'
        'NAV_STATES[24] = NavState("East", (4, 12), 0x1D, _BY_POSITION)\n\n\ndef may_arm(',
    ),
    (
        "\nMODES = {\n",
        "\nMODES = {\n    Mode.SPIRAL: ModeSpec(23, Need.POSITION),\n"
        "    Mode.EAST: ModeSpec(24, Need.POSITION),\n",
    ),
)
VEHICLES = "iris@0,0; plane@0,50; rover@0,100; standard_vtol@0,150"
IRIS, PLANE, ROVER, VTOL = range(4)


class WithRows(SourceFileLoader):
    """Loads modes.py with two more modes."""

    def get_data(self, path):
        text = super().get_data(path).decode()
        for before, after in ROWS if path.endswith(".py") else ():
            assert text.count(before) == 1, before
            text = text.replace(before, after)
        return text.encode()

    def get_code(self, fullname):
        """The bytecode on the disk is that of the source without them."""
        return self.source_to_code(self.get_data(self.path), self.path)


class Finder:
    """Finds that one module."""

    @staticmethod
    def find_spec(name, path=None, target=None):
        if name != "xtdrone_core.modes":
            return None
        file = str(ROOT / "src" / "xtdrone_core" / "modes.py")
        return importlib.util.spec_from_file_location(name, file, loader=WithRows(name, file))


sys.meta_path.insert(0, Finder)

import xtdrone_autopilot.modes  # noqa: E402
from xtdrone_autopilot.state.vehicle_status import ON_WINGS  # noqa: E402
from xtdrone_core import Mode, Scenario  # noqa: E402
from xtdrone_core.scenario.scenario import parse_vehicles  # noqa: E402
from xtdrone_dynamics.quaternion import to_euler  # noqa: E402
from xtdrone_sim.simulation import Simulation  # noqa: E402

xtdrone_autopilot.modes.__path__.append(str(Path(__file__).parent / "added_modes"))


class Flights:
    """One vehicle of each type."""

    def __init__(self):
        self.simulation = Simulation(Scenario(parse_vehicles(VEHICLES), gps="rtk"), links=False)
        self.autopilot = self.simulation.autopilot
        self.commander, self.status = self.autopilot.commander, self.autopilot.status

    def wait(self, condition, seconds):
        for _ in range(round(seconds * 250)):
            self.simulation.step()
            if condition():
                return
        modes = [Mode(mode).name for mode in self.status["mode"]]
        raise SystemExit(f"not within {seconds} s: {modes}, {self.simulation.state.pos}")

    def run(self, seconds):
        for _ in range(round(seconds * 250)):
            self.simulation.step()

    def change(self, i, mode):
        answer = self.commander.set_mode(i, mode, self.simulation.t_us)
        assert answer.accepted, answer.reason

    def take_off(self):
        self.wait(lambda: self.status["ready"].all(), 10)
        for i in (IRIS, PLANE, VTOL):
            self.autopilot.parameters.set(i, "MIS_TAKEOFF_ALT", 30.0 if i == PLANE else 20.0)
            self.commander.take_off(i, math.nan, self.simulation.t_us)
        for i in range(4):
            answer = self.commander.arm(i, self.simulation.t_us)
            assert answer.accepted, answer.reason
        self.wait(lambda: (self.status["mode"] == Mode.LOITER).all(), 60)

    def roll(self, i):
        return to_euler(*self.simulation.state.quat[i])[0]


def main():
    f = Flights()
    f.take_off()
    f.autopilot.vtol.request(VTOL, ON_WINGS)
    f.wait(lambda: f.status["vtol_state"][VTOL] == ON_WINGS, 40)
    before = f.simulation.state.pos[:, 0].copy()
    f.change(IRIS, Mode.EAST)
    f.change(ROVER, Mode.EAST)
    f.wait(lambda: f.status["mode"][IRIS] == f.status["mode"][ROVER] == Mode.LOITER, 60)
    east = (f.simulation.state.pos[:, 0] - before)[[IRIS, ROVER]].tolist()
    for i in range(4):
        f.change(i, Mode.SPIRAL)
    f.run(3)
    state = f.simulation.state
    print(
        json.dumps(
            {
                "east": east,
                "climb": state.vel[IRIS, 2],
                "roll": [f.roll(PLANE), f.roll(VTOL)],
                "turn": state.ang_vel[ROVER, 2],
                "modes": [Mode(mode).name for mode in f.status["mode"]],
            }
        )
    )
    f.simulation.close()


if __name__ == "__main__":
    main()
