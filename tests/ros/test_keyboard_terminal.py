"""The keyboard node in a pseudo-terminal flies a real fleet."""

import os
import pty
import select
import signal
import subprocess
import termios
import time

import pytest

from ros_fixtures import NODES, ROOT, Processes, environment, free_port, needs_ros, ros  # noqa: F401
from waiting import LIMIT_S, PATIENT, until
from xtdrone_core.control_link import ControlClient

pytestmark = needs_ros


class Keyboard:
    """The node behind a pseudo-terminal."""

    def __init__(self, env):
        self.master, self._slave = pty.openpty()
        self.before = termios.tcgetattr(self._slave)
        self.process = subprocess.Popen([str(NODES / "keyboard")], stdin=self._slave,
                                        stdout=self._slave, stderr=subprocess.PIPE,
                                        env=dict(env, COLUMNS="100", LINES="40"), text=True,
                                        start_new_session=True)
        self._text = ""

    def screen(self) -> str:
        """The newest whole screen."""
        while select.select([self.master], [], [], 0.05)[0]:
            self._text += os.read(self.master, 65536).decode(errors="replace")
        self._text = self._text[-20000:]
        whole = self._text.split("\x1b[H")
        return whole[-2] if len(whole) > 2 else ""

    def press(self, keys: str) -> None:
        os.write(self.master, keys.encode())

    def wait(self, what, condition):
        try:
            until(lambda: condition(self.screen()), what, self.process)
        except AssertionError as error:
            if self.process.poll() is not None:
                raise AssertionError(self.process.stderr.read()) from error
            raise AssertionError(f"{error}:\n{self.screen()}") from error

    def restored(self) -> bool:
        """Whether the terminal is as it was."""
        return termios.tcgetattr(self._slave)[3] == self.before[3]

    def close(self):
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        self.process.stderr.close()
        os.close(self.master)
        os.close(self._slave)


@pytest.fixture
def fleet(tmp_path):
    """Two vehicles under multi_vehicle.launch: (processes, control client)."""
    processes = Processes(environment(free_port(), tmp_path))
    port = processes.env["ROS_MASTER_URI"].rsplit(":", 1)[1]
    running = processes.start("roslaunch", "-p", port, ROOT / "launch" / "multi_vehicle.launch",
                              "n:=2", "speed:=5", "gps:=rtk", f"params:={PATIENT}")
    processes.await_vehicles(running)
    control = ControlClient(timeout=120.0)
    yield processes, control
    control.close()
    processes.close()


def truth(control):
    """The newest truth (N, 13)."""
    while control.ready(0.0):
        table = control.next_tick()[1]
    return control.next_tick()[1] if not control.ready(0.0) else table


def test_keys_fly_the_fleet_and_quitting_stops_it(fleet):
    processes, control = fleet
    keyboard = Keyboard(processes.env)
    try:
        keyboard.wait("both are there", lambda text: "2 vehicles, 2 connected" in text)

        def armed(text):
            if "2 armed" not in text:  # refused until the estimates have settled
                keyboard.press("t")
                time.sleep(1.0)
            return "2 armed" in text

        keyboard.wait("both are armed", armed)
        control.request("subscribe")
        keyboard.press("v")
        keyboard.wait("both are up", lambda text: (truth(control)[:, 2] > 2.0).all())
        keyboard.press("b")
        keyboard.wait("both follow", lambda text: text.count("OFFBOARD  ") >= 2)
        keyboard.press("w" * 10)
        keyboard.wait("both fly ahead", lambda text: (truth(control)[:, 7] > 0.8).all())
        keyboard.wait("it says so", lambda text: "forward +1.0" in text)
        keyboard.press("\t")
        keyboard.wait("both hover", lambda text: (abs(truth(control)[:, 7]) < 0.2).all())
        keyboard.press("m" + "a" * 10)
        keyboard.wait("only the first speeds up to its left",
                      lambda text: truth(control)[0, 8] > 0.5)
        assert abs(truth(control)[1, 8]) < 0.3
        keyboard.press("q")
        assert keyboard.process.wait(LIMIT_S) == 0
        until(lambda: (abs(truth(control)[:, 7:10]) < 0.2).all(), "both vehicles rest")
        assert keyboard.restored()
    finally:
        keyboard.close()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_signals_end_it_with_the_terminal_restored(ros, number):  # noqa: F811
    ros.run("rosparam", "set", "/xtdrone/vehicles", "[iris_0]")
    keyboard = Keyboard(ros.env)
    try:
        keyboard.wait("it draws", lambda text: "1 vehicles, 0 connected" in text)
        assert not keyboard.restored()
        os.kill(keyboard.process.pid, number)
        assert keyboard.process.wait(LIMIT_S) == 0
        assert keyboard.restored()
        assert keyboard.process.stderr.read() == ""
    finally:
        keyboard.close()


def test_without_a_terminal_it_says_so_in_one_line(tmp_path):
    processes = Processes(environment(free_port(), tmp_path))
    done = subprocess.run([NODES / "keyboard"], env=processes.env, text=True, timeout=LIMIT_S,
                          stdin=subprocess.DEVNULL, capture_output=True)
    assert done.returncode == 1
    assert "needs a terminal" in done.stderr and done.stderr.count("\n") == 1


def test_without_a_master_it_says_so_in_one_line(tmp_path):
    keyboard = Keyboard(environment(free_port(), tmp_path))
    try:
        assert keyboard.process.wait(LIMIT_S) == 1
        errors = keyboard.process.stderr.read()
        assert "no ROS master" in errors and errors.count("\n") == 1
        assert keyboard.restored()
    finally:
        keyboard.close()
