"""The command line, nodes and launch files of a real ROS 2; skipped where ROS2_SETUP names none."""

import os
import signal
import time
from pathlib import Path

import pytest

pytest.importorskip("cyclonedds")

import real_ros2
from processes import SimulationProcess
from waiting import LIMIT_S, until
from xtdrone_core.runs.control_link import ControlClient
from xtdrone_core.runs.ports import Ports, in_use
from xtdrone_ros2.topics import pegasus, px4_out
from xtdrone_ros2.wire.types import ros2_name

ROOT = Path(__file__).parents[2]
LAUNCH = ROOT / "launch" / "ros2.launch.py"
PILOT = Path(__file__).with_name("real_ros2_pilot.py")
DOMAIN = 90 + Ports().instance
N = 2
STATE = "simulation_interfaces/srv/GetSimulationState"
SET_STATE = "simulation_interfaces/srv/SetSimulationState"

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not real_ros2.installed(), reason=real_ros2.MISSING),
]


def launched(*arguments):
    """A `ros2 launch`; before the simulation below, whose ports it has."""
    return real_ros2.started("ros2", "launch", LAUNCH, *arguments, domain=DOMAIN + 5, own=True)


@pytest.mark.parametrize(
    ("argument", "says"),
    [("nn:=2", "there is no argument 'nn', but 'n'"), ("n:=0", "n 0 is not allowed")],
)
def test_a_launch_refuses_a_wrong_argument(argument, says):
    process = launched(argument)
    said, _ = process.communicate(timeout=LIMIT_S)
    assert says in said and process.returncode == 1


def flown(*arguments):
    """A `ros2 launch` whose simulation has started, and what it has said."""
    process, said = launched(*arguments), ""
    for line in process.stdout:
        said += line
        if "run folder" in line:
            break
    return process, said


def test_a_launch_starts_the_simulation_and_ctrl_c_ends_it(tmp_path, monkeypatch):
    monkeypatch.setenv("XTDRONE_RUNS", str(tmp_path))
    process, said = flown("n:=3", "log:=none")
    assert "3 vehicles" in said and f"ROS 2: domain {DOMAIN + 5}" in said
    control = ControlClient(None, LIMIT_S)
    control.request("subscribe")
    while control.next_tick()[0] < 500_000:  # it flies
        pass
    control.close()
    process.send_signal(signal.SIGINT)  # without a terminal, it hands that on
    said, _ = process.communicate(timeout=LIMIT_S)
    assert "process has finished cleanly" in said and process.returncode == 0
    with pytest.raises(ProcessLookupError):
        os.killpg(process.pid, 0)


def test_a_simulation_ends_with_its_launch_even_if_that_is_killed(tmp_path, monkeypatch):
    monkeypatch.setenv("XTDRONE_RUNS", str(tmp_path))
    process, _ = flown("n:=1", "log:=none")
    process.kill()
    process.communicate(timeout=LIMIT_S)
    until(lambda: not in_use(Ports().control, tcp=True), "the simulation ends, too")


@pytest.fixture(scope="module")
def simulation(tmp_path_factory):
    made = SimulationProcess(
        tmp_path_factory.mktemp("real_ros2"),
        "--n",
        N,
        "--log",
        "none",
        "--gps",
        "rtk",
        "--ros2",
        "true",
        "--ros2_domain",
        DOMAIN,
    )
    yield made
    assert "ros2:" not in made.stop()  # no warning while real nodes came and went


@pytest.fixture
def ros2(simulation):
    return lambda *words: real_ros2.said("ros2", *words, domain=DOMAIN)


def test_nodes_topics_and_services_are_listed_with_their_types(ros2):
    assert ros2("node", "list", *real_ros2.FIND).split() == ["/iris_0", "/iris_1", "/xtdrone"]
    listed = set(ros2("topic", "list", "-t", *real_ros2.FIND).splitlines())
    wanted = {
        f"{begin(i)}/{row.name} [{ros2_name(row.type)}]"
        for rows, begin in (
            (pegasus.TOPICS, "/drone{}".format),
            (px4_out.TOPICS, lambda i: f"{px4_out.namespace(i)}/fmu/out"),
        )
        for row in rows
        for i in range(N)
    }
    assert wanted | {"/clock [rosgraph_msgs/msg/Clock]"} <= listed
    listed = ros2("service", "list", "-t", *real_ros2.FIND).splitlines()
    assert f"/get_simulation_state [{STATE}]" in listed
    assert "/iris_1/list_parameters [rcl_interfaces/srv/ListParameters]" in listed
    assert len(listed) == len(set(listed))


@pytest.mark.parametrize(
    ("topic", "kind", "says"),
    [
        ("/clock", "rosgraph_msgs/msg/Clock", "nanosec"),
        ("/tf_static", "tf2_msgs/msg/TFMessage", "map_ned"),
        ("/drone1/state/pose", "geometry_msgs/msg/PoseStamped", "frame_id: map"),
        ("/drone0/sensors/imu", "sensor_msgs/msg/Imu", "drone0_base_link_frd"),
    ],
)
def test_topics_are_echoed_with_their_quality(ros2, topic, kind, says):
    """`ros2 topic echo` asks for the quality that is offered."""
    assert says in ros2("topic", "echo", "--no-daemon", "--once", topic, kind)


def test_the_simulation_is_paused_and_goes_on(ros2, simulation):
    for number, paused in ((2, True), (1, False)):
        said = ros2(
            "service", "call", "/set_simulation_state", SET_STATE, f"{{state: {{state: {number}}}}}"
        )
        assert "result=1," in said
        assert simulation.control.request("status")["paused"] is paused
        assert f"(state={number})" in ros2("service", "call", "/get_simulation_state", STATE)


def test_parameters_are_listed_set_and_described(ros2):
    """The types of all parameters come in a response of many fragments."""
    find = real_ros2.FIND
    ros2("param", "list", "/iris_1", *find)
    kinds = ros2("param", "list", "/iris_1", "--param-type", *find)
    assert kinds.count("type: double") > 100 and kinds.count("type: integer") > 100
    assert "successful" in ros2("param", "set", "/iris_1", "MPC_XY_VEL_MAX", "9.5", *find)
    assert "9.5" in ros2("param", "get", "/iris_1", "MPC_XY_VEL_MAX", *find)
    assert "give a float" in ros2("param", "set", "/iris_1", "MPC_XY_VEL_MAX", "fast", *find)
    assert "Type: double" in ros2("param", "describe", "/xtdrone", "speed", *find)


def test_a_node_in_simulated_time_flies_a_vehicle(simulation):
    simulation.wait_until(6_000_000)
    said = real_ros2.said("/usr/bin/python3", PILOT, 3, domain=DOMAIN)
    assert float(said) == pytest.approx(3.0, abs=0.4)


@pytest.mark.long
def test_it_is_found_long_after_its_start(ros2):
    time.sleep(45.0)  # DDS gives up peers that it has not found; it must not
    assert "/xtdrone" in ros2("node", "list", *real_ros2.FIND)
