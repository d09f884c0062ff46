"""The keyboard node in a pseudo-terminal flies a real fleet."""

import json
import math
import os
import signal
import subprocess

import numpy as np
import pytest

from keyboard_terminal import Keyboard
from ros_fixtures import NODES, ROOT, Processes, environment, free_port, needs_ros, ros  # noqa: F401
from waiting import LIMIT_S, PATIENT, until
from xtdrone_core.runs.control_link import ControlClient

pytestmark = needs_ros


@pytest.fixture
def fleet(tmp_path):
    """Two vehicles under multi_vehicle.launch: (processes, control client)."""
    processes = Processes(environment(free_port(), tmp_path))
    port = processes.env["ROS_MASTER_URI"].rsplit(":", 1)[1]
    running = processes.start(
        "roslaunch",
        "-p",
        port,
        ROOT / "launch" / "multi_vehicle.launch",
        "n:=2",
        "speed:=5",
        "gps:=rtk",
        f"params:={PATIENT}",
    )
    processes.await_vehicles(running)
    control = ControlClient(timeout=120.0)
    yield processes, control
    control.close()
    processes.close()


def truth(control):
    """The newest truth (N, 13)."""
    table = control.next_tick()[1]
    while control.ready(0.0):
        table = control.next_tick()[1]
    return table


@pytest.mark.slow
def test_keys_fly_the_fleet_and_quitting_stops_it(fleet):
    processes, control = fleet
    keyboard = Keyboard(processes.env, NODES / "keyboard")
    try:
        keyboard.wait("both are there", lambda text: "2 vehicles, 2 connected" in text)
        keyboard.arm(2)
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
        keyboard.wait(
            "only the first speeds up to its left", lambda text: truth(control)[0, 8] > 0.5
        )
        assert abs(truth(control)[1, 8]) < 0.3
        keyboard.press("q")
        assert keyboard.process.wait(LIMIT_S) == 0
        until(lambda: (abs(truth(control)[:, 7:10]) < 0.2).all(), "both vehicles rest")
        assert keyboard.restored()
    finally:
        keyboard.close()


@pytest.mark.long
def test_a_pyramid_below_the_ground_is_refused_and_flown_higher_up(tmp_path):
    """roslaunch keyboard.launch and its keys, from arming to quitting."""
    env = environment(port := free_port(), tmp_path)
    keyboard = Keyboard(
        env,
        "roslaunch",
        "-p",
        port,
        ROOT / "launch/keyboard.launch",
        "n:=9",
        "speed:=5",
        f"params:={PATIENT}",
    )
    lowest = math.inf

    def height(control):
        nonlocal lowest
        lowest = min(lowest, truth(control)[:, 2].min())
        return truth(control)[0, 2]

    try:
        keyboard.wait("all are there", lambda text: "9 vehicles, 9 connected" in text)
        keyboard.arm(9)
        control = ControlClient(timeout=LIMIT_S)
        control.request("subscribe")
        keyboard.press("v")
        keyboard.wait("all are up", lambda text: (truth(control)[:, 2] > 2.2).all())
        keyboard.press("b")
        keyboard.wait("all follow", lambda text: text.count("OFFBOARD  ") >= 9)
        keyboard.press("g2")
        keyboard.wait("the pyramid is refused", lambda text: "climb to 5.0 m" in text)
        keyboard.press("i" * 10)
        keyboard.wait("the leader is higher", lambda text: height(control) > 5.5)
        keyboard.press("s2")
        keyboard.wait(
            "the pyramid is flown",
            lambda text: "formation pyramid: " in text and "climb to" not in text,
        )
        # At rest: who lands on the way to its slot may come down on another one.
        keyboard.wait(
            "it is taken",
            lambda text: (
                height(control) > 5.0
                and (np.ptp(truth(control)[:, 2]) > 3.8)
                and np.abs(truth(control)[:, 7:10]).max() < 0.3
            ),
        )
        keyboard.press("gn")
        keyboard.wait("all have landed", lambda text: "0 armed" in text)
        control.close()
        keyboard.press("q")
        assert keyboard.process.wait(LIMIT_S) == 0, keyboard.process.stderr.read()
        assert keyboard.restored()
    finally:
        keyboard.close()
    assert lowest > 0.8
    run = tmp_path / "runs/keyboard"
    summary = json.loads((run / "summary.json").read_text())
    assert summary["landed"] and not summary["crashes"]
    events = map(json.loads, (run / "events.jsonl").read_text().splitlines())
    assert [row["formation"] for row in events if row["event"] == "formation"] == ["pyramid"]


@pytest.mark.parametrize(
    "number",
    [
        signal.SIGINT,
        *(pytest.param(one, marks=pytest.mark.long) for one in (signal.SIGTERM, signal.SIGHUP)),
    ],
)
def test_signals_end_it_with_the_terminal_restored(ros, number):  # noqa: F811
    ros.ask("setParam", "/xtdrone/vehicles", ["iris_0"])
    keyboard = Keyboard(ros.env, NODES / "keyboard")
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
    done = subprocess.run(
        [NODES / "keyboard"],
        env=processes.env,
        text=True,
        timeout=LIMIT_S,
        stdin=subprocess.DEVNULL,
        capture_output=True,
    )
    assert done.returncode == 1
    assert "needs a terminal" in done.stderr and done.stderr.count("\n") == 1


def test_without_a_master_it_says_so_in_one_line(tmp_path):
    keyboard = Keyboard(environment(free_port(), tmp_path), NODES / "keyboard")
    try:
        assert keyboard.process.wait(LIMIT_S) == 1
        errors = keyboard.process.stderr.read()
        assert "no ROS master" in errors and errors.count("\n") == 1
        assert keyboard.restored()
    finally:
        keyboard.close()
