"""XTDrone's own scripts, as they are, fly six iris; scripts/xtdrone_scripts.sh runs this."""

import itertools
import json
import os
import pty
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest
from scipy.optimize import linear_sum_assignment

from ros_fixtures import ROOT, Processes, environment, free_port, needs_ros
from waiting import until
from xtdrone_core.runs.control_link import ControlClient

CHECKOUT = os.environ.get("XTDRONE_CHECKOUT", "")
COMMUNICATION = "communication/multirotor_communication.py"
KEYBOARD = "control/keyboard/multirotor_keyboard_control.py"
FORMATION = "coordination/formation_demo"
N = 6
FORMATIONS = {"1": "T", "3": "triangle"}  # by the key of XTDrone's keyboard
LIMIT_S = 90.0  # of each wait, simulated

pytestmark = [
    needs_ros,
    pytest.mark.skipif(not CHECKOUT, reason="XTDRONE_CHECKOUT names no checkout of XTDrone"),
]


class Fleet:
    """The running simulation, XTDrone's scripts, and what the flight showed."""

    def __init__(self, folder):
        self.folder = folder
        self._processes = Processes(environment(free_port(), folder))
        port = self._processes.env["ROS_MASTER_URI"].rsplit(":", 1)[1]
        self.launch = self._processes.start(
            "roslaunch",
            "-p",
            port,
            ROOT / "launch" / "multi_vehicle.launch",
            f"n:={N}",
            "communication:=false",
            "gps:=rtk",
        )
        self._processes.await_vehicles(self.launch)
        threading.Thread(target=self.launch.stdout.read, daemon=True).start()
        self._control = ControlClient(timeout=120.0)
        self._control.request("subscribe")
        self._keyboard, self._terminal = pty.openpty()
        self.minimum = np.inf
        self._scripts = {}  # path of the output by process

    def script(self, path, *arguments, terminal=False):
        """Starts one of XTDrone's scripts in its own folder, as its manual does."""
        path = Path(CHECKOUT).resolve() / path
        output = self.folder / f"{path.stem}{len(self._scripts)}.log"
        with output.open("w") as log:
            process = subprocess.Popen(
                [sys.executable, str(path), *map(str, arguments)],
                cwd=path.parent,
                env=self._processes.env,
                stdin=self._terminal if terminal else subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        self._scripts[process] = output
        if terminal:
            self._typed = output
            until(lambda: "CTRL-C" in output.read_text(), "the keyboard is there", process)
        return process

    def press(self, keys):
        """Types keys on XTDrone's keyboard script, each once the one before has been read."""
        for key in keys:
            size = self._typed.stat().st_size
            os.write(self._keyboard, key.encode())
            until(
                lambda size=size: self._drain() and self._typed.stat().st_size > size,
                f"'{key}' is read",
            )
            time.sleep(0.05)  # the script throws away what comes while it sets the terminal

    def _drain(self):
        while self._control.ready(0.0):
            self._control.next_tick()
        return True

    def ended(self):
        """What the scripts that have ended said, by name."""
        return {
            output.name: output.read_text()[-500:]
            for process, output in self._scripts.items()
            if process.poll() is not None
        }

    def wait(self, what, condition, held_s=0.5):
        """Waits until condition(truth) has held for held_s; gives the truth (N, 13)."""
        begun = since = None
        for t_us, truth in iter(self._control.next_tick, None):
            begun = t_us if begun is None else begun
            pairs = itertools.combinations(truth[:, :3], 2)
            self.minimum = min(self.minimum, *(np.linalg.norm(a - b) for a, b in pairs))
            since = (t_us if since is None else since) if condition(truth) else None
            if since is not None and t_us - since >= held_s * 1e6:
                print(f"  {what}: yes, after {(t_us - begun) * 1e-6:.1f} s")
                return truth
            if t_us - begun > LIMIT_S * 1e6:
                raise AssertionError(f"waited {LIMIT_S:g} s in vain until {what}:\n{truth[:, :3]}")

    def close(self):
        """Ends the launch and closes the terminal."""
        self._control.close()
        self._processes.close()
        os.close(self._keyboard)
        os.close(self._terminal)


@pytest.fixture
def fleet(tmp_path):
    """Six iris under roslaunch with XTDrone's communication scripts and its keyboard."""
    fleet, scripts = Fleet(tmp_path), []
    try:
        scripts += [fleet.script(COMMUNICATION, "iris", i) for i in range(N)]
        scripts.append(fleet.script(KEYBOARD, "iris", N, "vel", terminal=True))
        yield fleet, scripts
    finally:
        for process in scripts:
            process.kill()
            process.wait()
        fleet.close()


def slots(name):
    """XTDrone's formation by name: (N - 1, 3) from the leader [m]."""
    code = (
        "import json, formation_dict; "
        f"print(json.dumps(formation_dict.formation_dict_{N}[{name!r}].T.tolist()))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=Path(CHECKOUT) / FORMATION,
        capture_output=True,
        text=True,
        check=True,
    )
    return np.array(json.loads(done.stdout))


def slot_errors(truth, wanted):
    """Distance of each follower from its slot, by the best assignment (N - 1,) [m]."""
    apart = np.linalg.norm((truth[1:, :3] - truth[0, :3])[:, None] - wanted[None], axis=2)
    return apart[linear_sum_assignment(apart)]


def test_xtdrones_own_scripts_fly_a_formation(fleet):
    fleet, scripts = fleet
    start = fleet.wait("six vehicles stand", lambda truth: np.abs(truth[:, 7:]).max() < 0.05, 8.0)
    fleet.press("i" * 60 + "b")  # climb at 0.6 m/s
    fleet.wait("set-points flow", lambda truth: True, 3.0)
    fleet.press("bt")
    fleet.wait("all climb above 9 m", lambda truth: (truth[:, 2] - start[:, 2] > 9.0).all())
    fleet.press("s")
    fleet.wait("all hover", lambda truth: np.linalg.norm(truth[:, 7:10], axis=1).max() < 0.3, 2.0)
    scripts.append(fleet.script(f"{FORMATION}/leader.py", "iris", N))
    scripts.append(fleet.script(f"{FORMATION}/avoid.py", "iris", N, "vel"))
    scripts += [fleet.script(f"{FORMATION}/follower.py", "iris", i, N) for i in range(1, N)]
    fleet.press("g")
    grid = slots("origin")
    fleet.wait("the grid stands", lambda truth: slot_errors(truth, grid).max() < 0.5, 5.0)
    for key, name in FORMATIONS.items():
        wanted = slots(name)
        fleet.press(key)
        truth = fleet.wait(
            f"{name} stands",
            lambda truth, wanted=wanted: slot_errors(truth, wanted).max() < 0.3,
            2.0,
        )
        print(f"    largest slot error {slot_errors(truth, wanted).max():.2f} m")
    before = truth[0, :2]
    fleet.press("w" * 50)  # 0.5 m/s
    fleet.wait(
        "the fleet follows its leader for 4 m",
        lambda truth: np.linalg.norm(truth[0, :2] - before) > 4.0,
    )
    fleet.press("s")
    truth = fleet.wait(
        "it stops in formation",
        lambda truth: (
            slot_errors(truth, wanted).max() < 0.3
            and np.linalg.norm(truth[:, 7:10], axis=1).max() < 0.2
        ),
        2.0,
    )
    print(
        f"    largest slot error {slot_errors(truth, wanted).max():.2f} m, "
        f"least separation so far {fleet.minimum:.2f} m"
    )
    fleet.press("g" + "n")
    fleet.wait("all have landed", lambda truth: (truth[:, 2] < 0.3).all(), 2.0)
    assert fleet.ended() == {}
    assert fleet.launch.poll() is None
