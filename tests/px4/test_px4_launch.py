"""The status with which roslaunch ends where a PX4 or the simulation is lost."""

import os
import signal

import pytest

from ros_fixtures import ROOT, Processes, environment, free_port, needs_ros
from waiting import LIMIT_S, until

pytestmark = needs_ros
LAUNCH = ROOT / "launch" / "single_vehicle.launch"


@pytest.fixture
def launching(tmp_path):
    """Processes, and the words of a launch command with a master of its own."""
    processes = Processes(environment(free_port(), tmp_path))
    port = processes.env["ROS_MASTER_URI"].rsplit(":", 1)[1]
    yield processes, ["roslaunch", "-p", port, LAUNCH, "autopilot:=px4"]
    processes.close()


def test_a_px4_that_ends_ends_the_launch_with_a_status(launching, build):
    processes, command = launching
    (build / "bin/px4").write_text("#!/bin/sh\necho server already running\nexit 7\n")
    done = processes.run(*command, f"px4:={build}")
    assert done.returncode == 1, done.stdout + done.stderr
    assert "ended with status 7: server already running" in done.stdout + done.stderr


@pytest.mark.parametrize("word,status", [("px4", 1), ("simulation", 1), (None, 0)])
@pytest.mark.px4
@pytest.mark.skipif(not os.environ.get("PX4_BUILD"), reason="needs real PX4: set PX4_BUILD")
def test_a_launch_whose_px4_or_simulation_is_killed(launching, word, status):
    """Ctrl-C alone ends it with 0."""
    processes, command = launching
    running = processes.start(*command)
    processes.await_vehicles(running)

    def pids(name):
        return [pid for pid, line in processes.left().items() if f"/{name} " in line]

    until(lambda: pids("px4"), "PX4 runs", running)
    if word is None:
        running.send_signal(signal.SIGINT)
    else:
        os.kill(pids(word)[0], signal.SIGKILL)
    said = running.communicate(timeout=LIMIT_S)[0]
    assert running.returncode == status, said
