"""The launch file with everything real: a user's script flies by XTDrone's and MAVROS's topics."""

import contextlib
import json
import os
import signal
import socket
import statistics
import sys
import time

import pytest

from own_ports import PORTS
from ros_fixtures import NODES, ROOT, Processes, environment, free_port, needs_ros, ros  # noqa: F401
from waiting import LIMIT_S, PATIENT, until
from xtdrone_core import FleetState
from xtdrone_core.runs.control_link import ControlClient, ControlServer

pytestmark = needs_ros


@pytest.fixture
def launch(tmp_path):
    """launch(*arguments) starts single_vehicle.launch with a master of its own."""
    processes = Processes(environment(free_port(), tmp_path))

    def start(*arguments):
        port = processes.env["ROS_MASTER_URI"].rsplit(":", 1)[1]
        return processes.start(
            "roslaunch", "-p", port, ROOT / "launch" / "single_vehicle.launch", *arguments
        )

    start.processes = processes
    yield start
    processes.close()


def await_end(launch, running, but=()) -> None:
    """Waits for the end of a launch and of all that it started.

    Args:
        but: Programs that may stay.
    """
    running.wait(LIMIT_S)
    until(
        lambda: all(
            any(program in line for program in but) for line in launch.processes.left().values()
        ),
        "nothing is left",
    )


@pytest.mark.slow
def test_a_users_script_flies_the_vehicle_and_an_interrupt_ends_the_launch(launch, tmp_path):
    processes = launch.processes
    running = launch("speed:=5", "gps:=rtk", f"params:={PATIENT}", "record:=true", "name:=user")
    processes.await_vehicles(running)
    done = processes.run(sys.executable, ROOT / "tests" / "support" / "xtdrone_user.py")
    os.kill(running.pid, signal.SIGINT)  # roslaunch alone, which ends the nodes
    await_end(launch, running)
    output = running.communicate()[0]
    assert done.returncode == 0, done.stderr[-2000:] + output[-3000:]
    assert "Traceback" not in output
    report = json.loads(done.stdout.splitlines()[-1])
    assert report["frame"] == "map"
    # Four sigma of the accelerometer's turn-on bias (0.196 m/s^2), of which this seed draws 0.45.
    assert report["gravity"] == pytest.approx(9.81, abs=0.8)
    assert report["volts"] > 10
    assert report["param"] == 3.0
    assert report["no_param"] is False and report["no_mode"] is False
    assert "did you mean" in report["bad_word"] or "choose one of" in report["bad_word"]
    assert report["flew_by_velocity"] and report["flew_by_acceleration"]
    assert report["place"] == pytest.approx([1.0, -1.0, 4.0], abs=0.4)
    assert report["stepped"] == pytest.approx(0.1, abs=0.021)
    assert report["bad_speed"][0] is False and "not allowed" in report["bad_speed"][1]
    assert report["no_disarm"] is False
    assert report["disarm_in_flight"].startswith("DISARM refused: ")
    assert "gave no reason" not in report["disarm_in_flight"]
    assert report["landed_at"] < 0.3
    # 30 Hz by a clock of 50 Hz are 40, 40 and 20 ms; a busy machine misses moments or makes up.
    steps = [b - a for a, b in zip(report["streamed"], report["streamed"][1:])]
    assert 20_000 <= statistics.median(steps) <= 40_000

    from rosbags.highlevel import AnyReader

    bag = tmp_path / "runs" / "user" / "bags" / "ros.bag"
    with AnyReader([bag]) as reader:
        topics = {connection.topic: connection.msgtype for connection in reader.connections}
    assert topics["/iris_0/mavros/local_position/pose"] == "geometry_msgs/msg/PoseStamped"
    assert {"/clock", "/xtdrone/iris_0/cmd", "/iris_0/mavros/setpoint_raw/local"} <= set(topics)


@pytest.mark.long
def test_the_launch_ends_with_the_simulation(launch):
    """On its way it has what MAVROS has beside its topics."""
    running = launch("n:=2")
    processes = launch.processes
    processes.await_vehicles(running)
    done = processes.run(sys.executable, ROOT / "tests" / "support" / "mavros_extras_user.py")
    assert done.returncode == 0, done.stderr
    heard = json.loads(done.stdout.splitlines()[-1])
    assert "/iris_1/mavros/state" in heard["topics"]
    assert "base_link_frd" in heard["frames"]
    assert "iris_0/mavros: FCU connection" in heard["diagnostics"]
    assert heard["numbers"] == [0, 1, 2]
    assert heard["frame"] == "LOCAL_NED"
    assert heard["capabilities"]["2"] == 59647
    assert "log" in heard["files"]
    assert "responded with an error" in heard["nobody"]
    control = ControlClient(timeout=LIMIT_S)
    control.request("stop")
    control.close()
    await_end(launch, running)
    said = running.communicate(timeout=LIMIT_S)[0]
    assert running.returncode == 0, said
    assert "REQUIRED" not in said and "Traceback" not in said, said


@pytest.mark.parametrize(
    "words, said",
    [
        (["spede:=2"], "unknown argument of single_vehicle.launch 'spede'"),
        pytest.param(["vehicle:=irish"], "did you mean 'iris'?", marks=pytest.mark.long),
    ],
)
def test_what_makes_no_sense_ends_the_launch_with_one_line(launch, words, said):
    running = launch(*words)
    await_end(launch, running)
    text = running.communicate(timeout=LIMIT_S)[0]
    assert said in text and "Traceback" not in text


@pytest.mark.parametrize(
    "moment", [pytest.param("nodes start", marks=pytest.mark.long), "simulation is there"]
)
def test_an_early_interrupt_leaves_nothing_behind(launch, tmp_path, moment):
    """roslaunch itself may forget its master then."""
    running = launch("record:=true")
    last = "process[xtdrone_communication"
    while last not in (line := running.stdout.readline()):
        assert line, "the launch has ended"
    if moment == "simulation is there":
        until((tmp_path / "runs").exists, "there is a run folder", running)
    os.kill(running.pid, signal.SIGINT)
    await_end(launch, running, but=("/rosmaster ", "/rosout "))


INTERRUPTS_ITSELF = """
import os, signal, threading, rospy
from xtdrone_ros1 import node
node.start("busy")
threading.Timer(0.1, os.kill, (os.getpid(), signal.SIGINT)).start()
while not rospy.is_shutdown():
    rospy.get_param("/use_sim_time", False)
"""


def test_an_interrupt_within_a_call_to_the_master_ends_a_node(ros):  # noqa: F811
    done = ros.run(sys.executable, "-c", INTERRUPTS_ITSELF)
    assert (done.returncode, done.stderr) == (0, "")


ACCEPTS_NOTHING = """
import os, signal
from rospy.impl.tcpros_base import get_tcpros_server_address
from xtdrone_ros1 import node
node.start("busy", disable_rostime=True)
print(get_tcpros_server_address()[1], flush=True)
os.kill(os.getpid(), signal.SIGSTOP)
"""


def test_a_busy_node_lets_the_connections_of_a_fleet_wait(ros):  # noqa: F811
    """A connection that is dropped is tried again by the kernel after a second."""
    node = ros.start(sys.executable, "-c", ACCEPTS_NOTHING)
    port = int(node.stdout.readline())
    with contextlib.ExitStack() as opened:
        for _ in range(100):
            connection = opened.enter_context(socket.socket())
            connection.settimeout(0.9)
            connection.connect(("127.0.0.1", port))
    node.kill()


@pytest.mark.parametrize(
    "node",
    [
        "bridge",  # all begin by the same function
        *(pytest.param(n, marks=pytest.mark.long) for n in ("communication", "record")),
        "mavros_fleet",
    ],
)
def test_without_a_master_a_node_says_so_in_one_line(node, tmp_path):
    processes = Processes(environment(free_port(), tmp_path))
    done = processes.run(NODES / node)
    assert done.returncode == 1
    assert done.stderr.count("\n") == 1 and "no ROS master" in done.stderr
    assert done.stdout == ""


@pytest.mark.parametrize(
    "node, words",
    [
        ("bridge", "no simulation answers"),
        ("communication", "/xtdrone/vehicles is not set"),
        pytest.param("record", "no simulation answers", marks=pytest.mark.long),
        ("mavros_fleet", "MAVROS is not installed"),
    ],
)
def test_without_a_simulation_a_node_says_so_in_one_line(ros, node, words):  # noqa: F811
    done = ros.run(NODES / node, "--wait", "0.1")
    assert done.returncode == 1
    assert words in done.stderr.splitlines()[-1]
    assert "Traceback" not in done.stderr


def test_nodes_wait_without_time_out_for_a_simulation_that_compiles(ros):  # noqa: F811
    """Its control socket is open and does not answer."""
    server = ControlServer(PORTS.control)
    try:
        bridge = ros.start(NODES / "bridge", "--link", "none", "--wait", "0.1")
        until(lambda: ros.ask("lookupNode", "/xtdrone_bridge"), "it runs", bridge)
        user = ros.start(NODES / "communication", "--wait", "0.1")
        time.sleep(1.0)
        assert bridge.poll() is None and user.poll() is None

        def started():
            server.poll(
                lambda op, request: {"vehicles": ["iris_0"], "namespaces": ["/iris_0"]}, 0.05
            )
            return ros.parameter("/xtdrone/vehicles")

        assert until(started, "the vehicles are known", bridge) == ["iris_0"]
        assert user.poll() is None
        watch = ros.start("rostopic", "echo", "-n1", "/clock")

        def ticked():
            server.tick(20_000, FleetState.zeros(1, 4))
            server.poll(lambda op, request: {}, 0.05)
            return watch.poll() is not None

        until(ticked, "the clock runs", bridge)
        # Ahead of the vehicles' clocks where they speak with a real MAVROS.
        assert "secs: 1\n  nsecs:  20000000" in watch.communicate()[0]
        bridge.send_signal(signal.SIGSTOP)  # so that the end comes in the midst of a tick
        for t_us in (40_000, 60_000):
            server.tick(t_us, FleetState.zeros(1, 4))
    finally:
        server.close()
    bridge.send_signal(signal.SIGCONT)
    assert "the simulation has ended" in bridge.communicate(timeout=LIMIT_S)[0]
    assert bridge.returncode == 0
