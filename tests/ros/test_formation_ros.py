"""Formation nodes over real ROS topics, in the simple simulator: launch file, single nodes."""

import json
import socket
import sys
from types import SimpleNamespace

import pytest

from own_ports import LATEST, PORTS
from ros_fixtures import ROOT, Processes, environment, free_port, needs_ros, ros  # noqa: F401
from waiting import LIMIT_S
from xtdrone_core import ControlError
from xtdrone_formation.evaluation import report

pytestmark = needs_ros
NODES = ROOT / "src" / "xtdrone_formation" / "nodes"

OWN_FOLLOWER = """
import sys
from xtdrone_formation.nodes.single import Follower

class Mine(Follower):
    def velocity(self, t_us, own, neighbours):
        error = neighbours.pos[0] + own.slot[0] - own.pos[0]
        return neighbours.vel[0] + own.slot_vel[0] + 1.5 * error

Mine("iris", int(sys.argv[1]), 3).loop()
"""


def summary_of(folder):
    return json.loads((folder / "runs" / LATEST / "summary.json").read_text())


def test_a_launch_beside_a_running_simulation_starts_nothing(tmp_path):
    master = free_port()
    processes = Processes(environment(master, tmp_path))
    with socket.socket() as running:
        running.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        running.bind(("127.0.0.1", PORTS.control))
        running.listen()
        done = processes.run(
            "roslaunch", "-p", str(master), ROOT / "launch" / "formation.launch", "n:=9"
        )
    assert done.returncode == 1
    assert f"roslaunch: control port {PORTS.control} (TCP) is in use" in done.stderr
    assert "instance:=" in done.stderr and "started roslaunch server" not in done.stdout


@pytest.mark.parametrize("starter, fits", [(None, True), (1, False)])
def test_the_nodes_of_a_launch_refuse_another_simulation(monkeypatch, starter, fits):
    from xtdrone_ros1 import discovery

    client = SimpleNamespace(
        ask=lambda op: None,
        ready=lambda timeout: True,
        close=lambda: None,
        answer=lambda: {"launch": starter},
    )
    monkeypatch.setattr(discovery, "ControlClient", lambda instance, wait: client)
    monkeypatch.setenv(discovery.OWN_SIMULATION, "1")
    if fits:  # no launch has started this process either
        assert discovery.connect(0, 1.0) is client
    else:
        with pytest.raises(ControlError, match="was not started by this launch.*--instance"):
            discovery.connect(0, 1.0)


@pytest.mark.slow
def test_the_launch_file_flies_formations_and_reports(tmp_path):
    processes = Processes(environment(free_port(), tmp_path))
    port = processes.env["ROS_MASTER_URI"].rsplit(":", 1)[1]
    done = processes.run(
        "roslaunch",
        "-p",
        port,
        ROOT / "launch" / "simple_formation.launch",
        "n:=3",
        "formations:=line,V",
        "speed:=4",
        "hold:=1",
        "record:=true",
    )
    assert "landed" in done.stdout and "run folder:" in done.stdout, done.stdout + done.stderr
    assert done.returncode == 0
    assert not {"REQUIRED", "Traceback"} & set((done.stdout + done.stderr).split())
    summary = summary_of(tmp_path)
    assert [row["name"] for row in summary["formations"]] == ["line", "V"]
    for row in summary["formations"]:
        assert row["settle_time_s"] < 15.0
        assert row["rms_slot_error_m"] < 0.2
    assert summary["landed"]
    assert summary["min_separation_m"] >= 1.0
    assert summary["messages_sent"] > 100 and summary["messages_lost"] == 0
    for name in ("trajectories.png", "formation_error.png"):
        assert (tmp_path / "runs" / LATEST / name).exists()
    from_bag = report.report(tmp_path / "runs" / LATEST, "rosbag")
    assert from_bag["min_separation_m"] == pytest.approx(summary["min_separation_m"], abs=0.02)
    for true, row in zip(summary["formations"], from_bag["formations"], strict=True):
        assert row["settle_time_s"] == pytest.approx(true["settle_time_s"], abs=0.06)
        assert row["rms_slot_error_m"] == pytest.approx(true["rms_slot_error_m"], abs=0.01)
    assert summary_of(tmp_path) == {**summary, "report_rosbag": from_bag}


@pytest.mark.slow
@pytest.mark.long  # the launch above has the same nodes in one process
def test_a_leader_and_an_own_follower_class_as_single_nodes(tmp_path, ros):  # noqa: F811
    script = tmp_path / "mine.py"
    script.write_text(OWN_FOLLOWER)
    simulator = ros.start(NODES / "simple_simulator", "--n", 3, "--speed", 3)
    ros.start(NODES / "leader", "iris", 3, "--instance", PORTS.instance)
    ros.start(NODES / "follower", "iris", 1, 3)
    ros.start(sys.executable, script, 2)
    ros.start(NODES / "avoid", "iris", 3)
    director = ros.run(NODES / "director", "--formations", "V", "--hold", 1)
    assert director.returncode == 0, director.stdout + director.stderr
    assert simulator.wait(LIMIT_S) == 0
    (row,) = summary_of(tmp_path)["formations"]
    assert row["name"] == "V"
    assert row["settle_time_s"] < 15.0


@pytest.mark.parametrize(
    "command, words",
    [
        (("follower", "iris", 0, 9), "follower 0 of 9 vehicles is not allowed"),
        (("formation", "--scheme", "centraal", "--wait", 1), "no ROS master"),
        pytest.param(("leader", "iris", 9), "no ROS master", marks=pytest.mark.long),
    ],
)
def test_what_is_refused_in_one_line(tmp_path, command, words):
    done = Processes(environment(free_port(), tmp_path)).run(NODES / command[0], *command[1:])
    assert done.returncode == 1
    assert words in done.stderr and done.stderr.count("\n") == 1
