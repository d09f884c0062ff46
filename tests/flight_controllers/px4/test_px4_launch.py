"""The status with which roslaunch ends where a PX4 or the simulation is lost."""

import os
import signal

import pytest

from ros_fixtures import ROOT, Processes, environment, free_port, needs_ros
from waiting import LIMIT_S, until

pytestmark = needs_ros
real = pytest.mark.skipif(not os.environ.get("PX4_BUILD"), reason="needs real PX4: set PX4_BUILD")


def pids(processes, name):
    """Process ids of a program among those that run, by its arguments."""
    return {line: pid for pid, line in processes.left().items() if f"/{name} " in line}


@pytest.fixture
def launching(tmp_path):
    """Processes, and a function: the words that launch a file with a master of its own."""
    processes = Processes(environment(free_port(), tmp_path))
    port = processes.env["ROS_MASTER_URI"].rsplit(":", 1)[1]

    def command(name, *arguments):
        return ["roslaunch", "-p", port, ROOT / "launch" / name, "autopilot:=px4", *arguments]

    yield processes, command
    processes.close()


def test_a_px4_that_ends_ends_the_launch_with_a_status(launching, build):
    processes, command = launching
    (build / "bin/px4").write_text("#!/bin/sh\necho server already running\nexit 7\n")
    done = processes.run(*command("single_vehicle.launch", f"px4:={build}"))
    assert done.returncode == 1, done.stdout + done.stderr
    assert "ended with status 7: server already running" in done.stdout + done.stderr


@pytest.mark.parametrize("word,status", [("px4", 1), ("simulation", 1), (None, 0)])
@pytest.mark.px4
@real
def test_a_launch_whose_px4_or_simulation_is_killed(launching, word, status):
    """Ctrl-C alone ends it with 0."""
    processes, command = launching
    running = processes.start(*command("single_vehicle.launch"))
    processes.await_vehicles(running)

    until(lambda: pids(processes, "px4"), "PX4 runs", running)
    if word is None:
        running.send_signal(signal.SIGINT)
    else:
        os.kill(next(iter(pids(processes, word).values())), signal.SIGKILL)
    said = running.communicate(timeout=LIMIT_S)[0]
    assert running.returncode == status, said


@pytest.mark.px4
@real
def test_a_launch_that_goes_on_without_one_px4_says_so(launching, tmp_path):
    """The other three run until Ctrl-C."""
    processes, command = launching
    running = processes.start(*command("multi_vehicle.launch", "n:=4", "px4_loss:=continue"))
    processes.await_vehicles(running)
    until(lambda: len(pids(processes, "px4")) == 4, "four PX4s run", running)
    os.kill(next(iter(pids(processes, "px4").values())), signal.SIGKILL)
    until(
        lambda: any(
            "SIGKILL" in path.read_text() for path in tmp_path.rglob("console/autopilot.log")
        ),
        "it is lost",
        running,
    )
    assert len(pids(processes, "px4")) == 3 and running.poll() is None
    running.send_signal(signal.SIGINT)
    said = running.communicate(timeout=LIMIT_S)[0]
    assert running.returncode == 0 and "SIGKILL; the others fly on" in said, said
