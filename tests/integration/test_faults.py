"""Each process is killed or stopped in flight. docs/robustness.md has what happens then."""

import json
import os
import signal
import sys
import time

import pytest
from pyulog import ULog

from own_ports import LATEST, PORTS
from ros_fixtures import NODES, ROOT, Processes, environment, free_port, needs_ros
from waiting import LIMIT_S, until
from xtdrone_core import ControlError
from xtdrone_core.runs.control_link import ControlClient
from xtdrone_core.runs.truth_log import read_truth

N = 2
STOPPED_S = 1.5  # for which a process is stopped [s]
CLIENT = """import time
from mavsdk_pilot import Pilot
pilot = Pilot("udpin://127.0.0.1:{port}", 1)
print("connected", flush=True)
while True:
    pilot.place
    time.sleep(0.05)
"""
PX4 = """import px4_peer
peer = px4_peer.ScriptedPx4({number}, px4_peer.script(1_000_000), beats=True)
print("begins", flush=True)
peer.run()
"""


class Flight:
    """A simulation with the processes around it, which all end with the test."""

    def __init__(self, folder):
        """Nothing runs yet."""
        self.processes = Processes(environment(free_port(), folder))
        self.processes.env["PYTHONPATH"] += f":{ROOT / 'tests/support'}"
        self.folder = folder / "runs" / LATEST
        self._control = None

    def command(self, *options):
        """Starts `xtdrone sim`."""
        running = self.processes.start("xtdrone", "sim", "--n", N, *options)
        assert any("run folder" in line for line in running.stdout)
        return running

    def launch(self):
        """Starts roslaunch, with a bridge that records."""
        port = self.processes.env["ROS_MASTER_URI"].rsplit(":", 1)[1]
        running = self.processes.start(
            "roslaunch",
            "-p",
            port,
            ROOT / "launch/simulation.launch",
            f"n:={N}",
            "record:=true",
            "communication:=true",
        )
        self.processes.await_vehicles(running)
        return running

    def pid(self, word):
        """The process with this word in its command line."""
        found = [pid for pid, line in self.processes.left().items() if word in line]
        assert len(found) == 1, (word, self.processes.left())
        return found[0]

    def time_us(self):
        """Simulated time [us]; None if no simulation answers."""
        try:
            self._control = self._control or ControlClient(timeout=LIMIT_S)
            return self._control.request("status")["t_us"]
        except ControlError:
            self._control = None
            return None

    def await_time(self, t_us, running=None):
        """Waits for a simulated time."""
        until(lambda: (self.time_us() or 0) >= t_us, "the flight goes on", running)

    def summary(self):
        """What summary.json says."""
        return json.loads((self.folder / "summary.json").read_text())

    def check_logs(self):
        """Truth and flight logs can be read, and hold what there was but for the last second."""
        t_us, _ = read_truth(self.folder / "truth.bin", N)
        for path in self.folder.glob("ulog/*/*.ulg"):
            log = ULog(str(path))
            assert not log.file_corruption and abs(log.last_timestamp - t_us[-1]) <= 1_500_000
        return t_us[-1]


@pytest.fixture
def flight(tmp_path):
    """A Flight, of which nothing is left after the test."""
    flight = Flight(tmp_path)
    yield flight
    flight.processes.close()


def stop_for_a_while(pid):
    """SIGSTOP, then SIGCONT: a machine that stalls, a debugger, a terminal's Ctrl-Z."""
    os.kill(pid, signal.SIGSTOP)
    time.sleep(STOPPED_S)
    os.kill(pid, signal.SIGCONT)


@needs_ros
@pytest.mark.slow
@pytest.mark.parametrize(
    "word, status, ended",
    [
        ("nodes/simulation", 1, "unfinished"),
        pytest.param("nodes/bridge", 1, "stopped", marks=pytest.mark.long),
        pytest.param("rosmaster", 1, "stopped", marks=pytest.mark.long),
    ],
)
def test_a_launch_ends_with_a_process_that_is_killed(flight, word, status, ended):
    running = flight.launch()
    flight.await_time(2_100_000, running)
    killed_us = flight.time_us()
    os.kill(flight.pid(word), signal.SIGKILL)
    said, _ = running.communicate(timeout=LIMIT_S)
    assert running.returncode == status and "REQUIRED process" in said, said
    until(lambda: not flight.processes.left(), "nothing is left")
    assert flight.check_logs() >= killed_us - 1_100_000
    assert flight.summary()["ended"] == ended
    assert list(flight.folder.glob("bags/ros.bag*"))


@needs_ros
def test_a_launch_goes_on_after_each_process_was_stopped_and_ends_when_roslaunch_is_killed(flight):
    running = flight.launch()
    flight.await_time(1_000_000, running)
    bag = flight.folder / "bags/ros.bag.active"
    for word in (
        "nodes/simulation",
        "nodes/bridge",
        "nodes/communication",
        "rosmaster",
        "scripts/ros/roslaunch",
    ):
        stop_for_a_while(flight.pid(word))
        size, t_us = bag.stat().st_size, flight.time_us()
        until(lambda: bag.stat().st_size > size, f"the bridge goes on after {word}", running)
        flight.await_time(t_us + 200_000, running)
    os.kill(flight.pid("nodes/communication"), signal.SIGKILL)  # only its own commands are lost
    flight.await_time(flight.time_us() + 500_000, running)
    os.kill(flight.pid("scripts/ros/roslaunch"), signal.SIGKILL)
    until(lambda: not flight.processes.left(), "nothing is left")
    flight.check_logs()
    assert flight.summary()["ended"] == "stopped" and (flight.folder / "bags/ros.bag").exists()


@needs_ros
def test_a_flight_goes_on_without_its_recorder(flight):
    port = flight.processes.env["ROS_MASTER_URI"].rsplit(":", 1)[1]
    flight.processes.start("rosmaster", "--core", "-p", port)
    until(lambda: flight.processes.parameter("/") is not None, "the ROS master answers")
    running = flight.command()
    recorder = flight.processes.start(NODES / "record")
    until(lambda: list(flight.folder.glob("bags/ros.bag.active")), "it records", recorder)
    stop_for_a_while(recorder.pid)
    t_us = flight.time_us()
    flight.await_time(t_us + 200_000, recorder)
    recorder.kill()
    flight.await_time(t_us + 400_000, running)


def test_a_simulation_that_is_killed_leaves_its_logs(flight):
    running = flight.command("--speed", 5)
    flight.await_time(4_000_000, running)
    stop_for_a_while(running.pid)
    flight.await_time(flight.time_us() + 1_000_000, running)
    until(lambda: flight.summary()["sim_time_s"] > 5.0, "the summary is rewritten", running)
    running.kill()
    running.wait()
    until(lambda: not flight.processes.left(), "nothing is left")
    assert flight.check_logs() >= 5_000_000
    assert flight.summary()["ended"] == "unfinished"


def test_clients_that_are_stopped_or_killed_do_not_touch_the_flight(flight):
    running = flight.command()
    client = flight.processes.start(sys.executable, "-c", CLIENT.format(port=PORTS.offboard(0)))
    assert any("connected" in line for line in client.stdout)
    stop_for_a_while(client.pid)
    t_us = flight.time_us()
    flight.await_time(t_us + 200_000, client)
    client.kill()
    flight.await_time(t_us + 700_000, running)
    assert "Traceback" not in flight.processes.stop(running)
    flight.check_logs()


@pytest.mark.parametrize("loss", [pytest.param("stop", marks=pytest.mark.long), "continue"])
def test_a_px4_that_is_stopped_answers_again_and_one_that_is_killed_is_named(flight, loss):
    running = flight.command("--autopilot", "px4", "--px4_loss", loss)
    peers = [
        flight.processes.start(sys.executable, "-c", PX4.format(number=number))
        for number in range(N)
    ]
    flight.await_time(1_300_000, running)  # the first heartbeats have come
    stop_for_a_while(peers[1].pid)
    t_us = flight.time_us()
    flight.await_time(t_us + 200_000, running)
    peers[1].kill()
    if loss == "stop":
        said, _ = running.communicate(timeout=LIMIT_S)
        assert running.returncode == 1 and "closed its simulator link" in said
        assert flight.summary()["ended"].startswith("failed: PX4 1 of 'iris_1' closed")
    else:
        flight.await_time(t_us + 600_000, running)
        flight.processes.stop(running)
        assert "closed its simulator link" in (flight.folder / "console/autopilot.log").read_text()
    read_truth(flight.folder / "truth.bin", N)


@pytest.mark.slow
@pytest.mark.long  # test_gazebo_flights.py has the server that ends
@pytest.mark.skipif(
    not (ROOT / ".setup/gazebo11/libxtdrone_lockstep.so").exists(),
    reason="Gazebo 11 is not set up here",
)
def test_gazebo_that_is_stopped_goes_on_and_one_that_is_killed_is_named(flight):
    running = flight.command("--engine", "gazebo")
    flight.await_time(500_000, running)
    server = flight.pid("gzserver")
    stop_for_a_while(server)
    flight.await_time(flight.time_us() + 200_000, running)
    os.kill(server, signal.SIGKILL)
    said, _ = running.communicate(timeout=LIMIT_S)
    assert running.returncode == 1 and "gzserver has ended" in said and "SIGKILL" in said
    assert said.count("Traceback") == 0
    until(lambda: not flight.processes.left(), "nothing is left")
    flight.check_logs()
    assert "gzserver has ended" in flight.summary()["ended"]
