"""A simulation with ROS 2's topics: what a bag holds, the keyboard, bad input."""

import os
import subprocess
import sys
import time

import pytest

pytest.importorskip("cyclonedds")

import numpy as np
from rosbags.highlevel import AnyReader

import xtdrone as xd
from climbing import Climb
from keyboard_terminal import Keyboard
from own_ports import LATEST
from processes import SimulationProcess
from service_clients import CycloneClient
from xtdrone_core import Scenario, ScenarioError
from xtdrone_core.runs.ports import Ports
from xtdrone_core.scenario.vehicles import fleet
from xtdrone_ros2.wire.node import Node
from xtdrone_ros2.wire.quality import DEFAULT
from xtdrone_ros2.wire.types import Types

DOMAIN = 80 + Ports().instance
STEPS = 500  # of 4 ms
LIMIT_S = 60.0


def xtdrone(folder, *options):
    return subprocess.run(
        [sys.executable, "-m", "xtdrone_core.command", *map(str, options)],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=300,
    )


@pytest.mark.long
def test_a_bag_has_every_step_of_an_unpaced_simulation(tmp_path, monkeypatch):
    monkeypatch.setenv("XTDRONE_RUNS", str(tmp_path))
    done = xtdrone(
        tmp_path,
        "sim",
        "--n",
        2,
        "--speed",
        0,
        "--log",
        "none",
        "--ros2",
        "true",
        "--ros2_domain",
        DOMAIN,
        "--ros2_record",
        "mcap",
        "--ros2_mavros",
        "true",
        "--duration",
        STEPS * 0.004,
    )
    assert done.returncode == 0, done.stderr
    assert "lost" not in done.stderr
    with AnyReader([tmp_path / LATEST / "bags" / "ros2"]) as reader:
        times = {c.topic: [] for c in reader.connections}
        for connection, t, _ in reader.messages():
            times[connection.topic].append(t)
    steps = [4_000_000 * k for k in range(STEPS + 1)]
    for i in range(2):
        assert times[f"/drone{i}/sensors/imu"] == steps
        assert times[f"/drone{i}/state/pose"] == steps[::5]
    assert times["/clock"] == steps and times["/tf"] == steps[::5]
    assert times["/px4_1/fmu/out/vehicle_odometry"] == steps[::3]
    assert len(times["/iris_1/mavros/imu/data"]) > 50
    assert len(times["/iris_1/mavros/state"]) >= 3  # before its first heartbeat, and with each


@pytest.mark.long
def test_an_address_of_another_machine_is_refused(tmp_path, monkeypatch):
    monkeypatch.setenv("XTDRONE_RUNS", str(tmp_path))
    done = xtdrone(
        tmp_path, "sim", "--ros2", "true", "--ros2_domain", DOMAIN, "--ros2_address", "192.0.2.1"
    )
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1].startswith(
        "xtdrone: ROS 2 does not start: DDS cannot start on 192.0.2.1 in domain"
    )
    assert "Traceback" not in done.stderr
    for options, words in (
        ({"ros2_address": "here"}, "ros2_address 'here' is not an IPv4"),
        ({"ros2_domain": 233}, "ros2_domain 233 is not allowed: give a whole"),
    ):
        with pytest.raises(ScenarioError, match=words):
            Scenario(fleet("iris", 1), **options)


@pytest.mark.long
def test_the_keyboard_flies_two_vehicles(tmp_path):
    """In a pseudo-terminal: arm, take off, fly forward in OFFBOARD, hover, quit."""
    simulation = SimulationProcess(
        tmp_path,
        "--n",
        2,
        "--log",
        "none",
        "--gps",
        "rtk",
        "--speed",
        3,
        "--ros2",
        "true",
        "--ros2_domain",
        DOMAIN,
    )
    keyboard = Keyboard(
        dict(os.environ),
        sys.executable,
        "-m",
        "xtdrone_core.command",
        "ros2",
        "keyboard",
        "--domain",
        DOMAIN,
    )
    try:
        keyboard.wait("both are there", lambda text: "2 vehicles, 2 connected" in text)
        keyboard.arm(2)
        keyboard.press("v")
        simulation.control.request("subscribe")

        def truth():
            table = simulation.control.next_tick()[1]
            while simulation.control.ready(0.0):
                table = simulation.control.next_tick()[1]
            return table

        keyboard.wait("both are up", lambda text: (truth()[:, 2] > 2.0).all())
        keyboard.press("b" + "w" * 10)
        keyboard.wait("both fly forward", lambda text: (truth()[:, 7] > 0.7).all())
        keyboard.press("s")
        keyboard.wait("both rest", lambda text: (abs(truth()[:, 7:10]) < 0.2).all())
        keyboard.press("q")
        assert keyboard.process.wait(LIMIT_S) == 0
        assert keyboard.restored()
    finally:
        keyboard.close()
        simulation.stop()


class Beside(CycloneClient):
    """A client that lets a simulation of its own process run while it waits."""

    def __init__(self, node, sim):
        super().__init__(node)
        self._sim = sim
        self.stream = lambda: None  # what is sent meanwhile

    def until(self, condition):
        end = time.monotonic() + LIMIT_S
        while not condition():
            assert time.monotonic() < end, "it has not come"
            self.stream()
            self._sim.run(0.02)
            self.node.handle()


@pytest.mark.long
def test_rotors_turn_as_told_by_pegasus_topics():
    scenario = xd.Scenario(vehicles="iris", gps="rtk", ros2=True, ros2_domain=DOMAIN)
    node = Node(Types(), "/user", DOMAIN)
    try:
        with xd.Simulation(scenario, links=True) as sim:
            client = Beside(node, sim)
            rotors = [
                node.writer(f"/drone0/control/rotor{k}/ref", "std_msgs/msg/Float64", DEFAULT)
                for k in range(4)
            ]

            speed = 300.0

            def stream():
                message = node.types.message("std_msgs/msg/Float64", data=speed)
                for rotor in rotors:
                    rotor.write(node.types.serialised(message))

            client.stream = stream
            client.until(lambda: sim.estimates.ready.all() and all(each.wanted for each in rotors))
            begin = sim.time
            client.until(lambda: sim.time > begin + 1.0)
            for command, param1, param2 in ((176, 1.0, 6.0), (400, 1.0, 0.0)):  # OFFBOARD, arm
                request = {
                    "command": command,
                    "param1": param1,
                    "param2": param2,
                    "target_system": 1,
                }
                answer = client.call(
                    "/fmu/vehicle_command", "px4_msgs/srv/VehicleCommand", request=request
                ).reply
                assert (answer.command, answer.result) == (command, 0)
            speed, begin = 900.0, sim.time
            client.until(lambda: sim.time > begin + 2.0)
            assert np.allclose(sim.state.actuator[0, :4], 900.0, atol=9.0)
            assert sim.state.pos[0, 2] > 1.0
    finally:
        node.close()


@pytest.mark.slow
def test_ros2_flies_one_vehicle_a_python_class_another_and_commands_a_third():
    scenario = xd.Scenario(vehicles="iris*3", gps="rtk", ros2=True, ros2_domain=DOMAIN)
    with pytest.raises(xd.XtdroneError, match="ros2 true needs MAVLink links"):
        xd.Simulation(scenario)
    node = Node(Types(), "/user", DOMAIN)
    try:
        with xd.Simulation(scenario, backends={"iris_1": Climb()}, links=True) as sim:
            client = Beside(node, sim)
            client.until(lambda: sim.estimates.ready.all())
            sim.arm("iris_2")
            sim.takeoff(2.0, "iris_2")
            for command, value in ((400, 1.0), (22, 0.0)):  # arm, take off
                request = {
                    "command": command,
                    "param1": value,
                    "param7": float("nan"),
                    "target_system": 1,
                }
                answer = client.call(
                    "/fmu/vehicle_command", "px4_msgs/srv/VehicleCommand", request=request
                ).reply
                assert (answer.command, answer.result) == (command, 0)
            client.until(lambda: (sim.state.pos[:, 2] > 1.5).all())
            assert [state["mode"] for state in sim.health()] == [
                "AUTO.TAKEOFF",
                "OFFBOARD",
                "OFFBOARD",
            ]
            with pytest.raises(xd.XtdroneError, match="with ros2 stay the same"):
                sim.remove("iris_2")
    finally:
        node.close()


@pytest.mark.long
@pytest.mark.parametrize(
    "options, top", [((), "/uav0"), (("--namespace", "none"), "")], ids=("name", "none")
)
def test_mavros_topics_have_the_namespace(tmp_path, monkeypatch, options, top):
    monkeypatch.setenv("XTDRONE_RUNS", str(tmp_path))
    words = "--ros2 true --ros2_record mcap --ros2_mavros true --log none --speed 0 --duration 1"
    done = xtdrone(
        tmp_path,
        *("sim", "--vehicles", "uav0=iris", *words.split(), "--ros2_domain", DOMAIN, *options),
    )
    assert done.returncode == 0, done.stderr
    with AnyReader([tmp_path / LATEST / "bags" / "ros2"]) as reader:
        topics = {connection.topic for connection in reader.connections}
    assert f"{top}/mavros/state" in topics
    assert {"/mavros/state", "/uav0/mavros/state"} & topics == {f"{top}/mavros/state"}
