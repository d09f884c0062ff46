"""Each example runs, and stays short.

Most run in this process, which has imported the package and loaded its kernels already; one begins
as a user begins it.
"""

import os
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

from ros_fixtures import needs_ros, ros  # noqa: F401
from waiting import LIMIT_S
from xtdrone_challenge.run import flights
from xtdrone_core.command import main
from xtdrone_core.runs import run_folder
from xtdrone_core.runs.truth_log import read_truth

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
FILES = sorted(EXAMPLES.glob("*.py"))
MAX_LINES = 75

# File: what it prints; other examples need another program, or are classes that a command names.
ALONE = {
    "first_flight": "landed after",
    "square": "corner 4",
    "formation_of_nine": "no two were nearer",
    "own_agent": "landed after",
    "mission_from_plan": "landed",
    "disturbances": "both",
    "record_stereo": "pairs of 752 x 480 pixels",
    "read_logs": "m RMS",
    "reset_and_save": "the same to the bit: True",
    "pegasus_relay": "RMS error of both [mm]: [12.",
    "pegasus_python_backend": "at most 2.0",
    "pegasus_world": "followed ann",
    "pegasus_px4": "landed after",
    "mpc_backend": "collisions: 0",
}
NEEDS = {"record_stereo": ("cv2",), "mpc_backend": ("casadi",), "calm_task": ("torch", "onnx")}
# What they do, other tests do, too: recording, faults of rotors, formations, parts of one's own.
LONG = {
    "calm_task",
    "disturbances",
    "first_flight",  # in a process of its own, below
    "formation_of_nine",
    "my_estimator",
    "my_velocity_control",
    "record_stereo",
    "square",
}
NAMED = {
    "my_scheme": "formation simulate --n 4 --formations line --scheme my_scheme:Cohesive",
    "my_estimator": "fly square --gps rtk --estimator my_estimator:Complementary",
    "own_agent_gates": "fly own_agent_gates:Gates --n 2 --set within=0.5",
    "own_agent_chase": "fly own_agent_chase:Chase --n 3 --set gap=3",
    "calm_task": "learn calm_task:TASK --environments 16 --steps 3000 --out calm",
    "my_velocity_control": "fly square --gps rtk --velocity_control my_velocity_control:Gentle",
}
WITH_OTHERS = {"mavsdk_square", "circle_node", "own_agent_ros", "challenge_deliver"}


def marked(names):
    """Their names, as parameters."""
    return [pytest.param(name, marks=pytest.mark.long if name in LONG else ()) for name in names]


def run(folder, *words, **variables):
    """What a Python program of these words prints."""
    path = os.pathsep.join([str(EXAMPLES), os.environ.get("PYTHONPATH", "")])
    done = subprocess.run(
        [sys.executable, *map(str, words)],
        cwd=folder,
        text=True,
        timeout=LIMIT_S,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        env={**os.environ, "PYTHONPATH": path, "XTDRONE_RUNS": str(folder / "runs"), **variables},
    )
    assert done.returncode == 0, done.stdout
    return done.stdout


def test_every_example_is_run_here_and_is_short():
    assert {file.stem for file in FILES} == {*ALONE, *NAMED, *WITH_OTHERS}
    for file in FILES:
        assert len(file.read_text().splitlines()) < MAX_LINES, file.name


@pytest.mark.parametrize("name", marked(ALONE))
def test_example_flies(name, runs, monkeypatch, capfd):
    for package in NEEDS.get(name, ()):
        pytest.importorskip(package)
    monkeypatch.setattr(sys, "argv", [str(EXAMPLES / f"{name}.py")])
    runpy.run_path(sys.argv[0], run_name="__main__")
    assert ALONE[name] in capfd.readouterr().out


def test_an_example_flies_in_a_process_of_its_own(tmp_path):
    assert ALONE["first_flight"] in run(tmp_path, EXAMPLES / "first_flight.py")


@pytest.mark.long
@pytest.mark.parametrize("name", marked(NAMED))
def test_example_is_named_on_the_command_line(name, runs, monkeypatch):
    for package in NEEDS.get(name, ()):
        pytest.importorskip(package)
    monkeypatch.syspath_prepend(EXAMPLES)
    assert main(NAMED[name].split()) == 0


@pytest.mark.long  # clients by MAVSDK fly in test_mavlink_clients.py
def test_mavsdk_client_flies_a_running_simulation(simulate, tmp_path):
    pytest.importorskip("mavsdk")
    simulate("--gps", "rtk", "--speed", 3)
    assert "landed" in run(tmp_path, EXAMPLES / "mavsdk_square.py")


@pytest.mark.long  # a user's node flies in tests/ros/test_bridge_ros.py
@needs_ros
def test_ros_node_flies_a_circle(ros):  # noqa: F811
    launch = ros.start(
        "roslaunch", EXAMPLES.parent / "launch" / "single_vehicle.launch", "gps:=rtk", "speed:=0"
    )
    ros.await_vehicles(launch)
    done = ros.run(sys.executable, EXAMPLES / "circle_node.py")
    assert done.returncode == 0 and "landed" in done.stdout, done.stderr


@pytest.mark.long  # programs fly in tests/challenge/test_challenge_programs.py
def test_client_of_mavlink_enters_a_challenge(tmp_path):
    team = f"mavlink:'{EXAMPLES / 'challenge_deliver.py'}'"
    (judged,) = flights("delivery_in_wind", team, [1], tmp_path, 200.0)
    assert (judged["status"], judged["points"]) == ("done", 100.0), judged


LISTENER = ("-m", "xtdrone_core.command", "fly", "own_agent_ros:Listener", "--gps", "rtk")


@pytest.mark.long
@needs_ros
def test_an_agent_listens_to_a_ros_topic(ros, tmp_path):  # noqa: F811
    ros.env["PYTHONPATH"] = f"{EXAMPLES}:{ros.env['PYTHONPATH']}"
    goals = ros.start(
        "rostopic", "pub", "-r", "5", "/goal", "geometry_msgs/Point", "{x: 6, y: 2, z: 5}"
    )
    more = ("--set", "duration=10", "--n", "2", "--name", "heard", "--speed", "8")
    done = ros.run(sys.executable, *LISTENER, *more)
    assert done.returncode == 0 and goals.poll() is None, done.stdout + done.stderr
    _, table = read_truth(tmp_path / "runs" / "heard" / run_folder.TRUTH, 2)
    begin, highest = table[0, :, :3], table[table[:, 0, 2].argmax(), :, :3]
    assert highest[0] == pytest.approx([6.0, 2.0, 5.0], abs=0.5)
    assert highest[1] - highest[0] == pytest.approx(begin[1] - begin[0], abs=0.5)


@needs_ros
def test_without_a_ros_master_that_agent_says_what_to_start(ros):  # noqa: F811
    ros.env |= {"PYTHONPATH": f"{EXAMPLES}:{ros.env['PYTHONPATH']}"}
    ros.env |= {"ROS_MASTER_URI": "http://127.0.0.1:9"}
    done = ros.run(sys.executable, *LISTENER)
    assert done.returncode == 1 and "start roscore" in done.stderr
    assert "Traceback" not in done.stderr
