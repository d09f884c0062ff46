"""Teams that are programs: by MAVLink, ROS 1 and ROS 2, and what becomes of those that fail."""

import importlib.util
import os
import shlex
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from ros_fixtures import needs_ros
from waiting import until
from xtdrone_challenge import network, programs, result, run
from xtdrone_challenge.challenge import Challenge, Referee
from xtdrone_challenge.programs import Processes, program_of
from xtdrone_core import Scenario
from xtdrone_core.command import main
from xtdrone_core.runs.control_link import ControlClient, ControlServer
from xtdrone_core.runs.ports import Ports

HERE = f"{__name__}:Hop"
TEAM = Path(__file__).parents[1] / "support" / "challenge_team.py"
needs_dds = pytest.mark.skipif(
    importlib.util.find_spec("cyclonedds") is None, reason="cyclonedds is not installed here"
)

needs_root = pytest.mark.skipif(os.getuid() != 0, reason="only root becomes another user")


class Flown(Referee):
    """Half the points for being there, all for having been above half a metre."""

    _high = False

    def on_step(self, t_us, state, sensors):
        self._high |= bool(state.pos[0, 2] > 0.5)

    def points(self, collisions):
        return 100.0 if self._high else 50.0


class Hop(Challenge):
    """Take off."""

    baseline = "idle"
    longest_s = -12.0  # beside the time that programs have to start

    def scenario(self, seed, folder):
        return Scenario("iris", gps="rtk", seed=seed)

    def told(self, seed):
        return {"word": f"seed {seed}"}

    def referee(self, seed):
        return Flown()


class LongHop(Hop):
    """With more time."""

    longest_s = 30.0


def running():
    """Process ids of teams."""
    return [
        process.pid
        for process in psutil.process_iter(["cmdline"])
        if str(TEAM) in (process.info["cmdline"] or ())
    ]


@pytest.fixture
def flown(tmp_path, monkeypatch):
    """flown(door, what, challenge) judges a team of challenge_team.py."""
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(Path(__file__).parent), *sys.path]))

    def fly(door, what, challenge=HERE, patience=120.0):
        team = f"{door}:{shlex.quote(str(TEAM))} {door} {what}"
        (judged,) = run.flights(challenge, team, [7], tmp_path, patience)
        assert running() == []
        return judged

    return fly


@pytest.mark.parametrize(
    ("what", "status", "points", "reason"),
    [
        ("crash", "failed", 0.0, "ended with status 1: ValueError: seed 7"),
        pytest.param("abort", "failed", 0.0, "was ended by SIGABRT", marks=pytest.mark.long),
        ("hang", "done", 50.0, ""),
        pytest.param("flood", "done", 50.0, "", marks=pytest.mark.long),
    ],
)
@pytest.mark.slow
def test_a_program_that_fails_has_a_score_of_its_own(flown, what, status, points, reason):
    judged = flown("mavlink", what)
    assert (judged["status"], judged["points"]) == (status, points), judged
    assert reason in judged["reason"]


@pytest.mark.slow
def test_a_client_of_mavlink_sees_no_truth_and_no_control_socket(flown):
    judged = flown("mavlink", "peep", f"{__name__}:LongHop")
    assert (judged["status"], judged["points"]) == ("done", 50.0), judged


@pytest.mark.parametrize(
    "door",
    [
        "mavlink",
        pytest.param("ros1", marks=[needs_ros, pytest.mark.long]),
        pytest.param("ros2", marks=[needs_dds, pytest.mark.long]),
    ],
)
@pytest.mark.slow
def test_a_program_flies(flown, door):
    judged = flown(door, "hop", f"{__name__}:LongHop")
    assert (judged["status"], judged["points"]) == ("done", 100.0), judged
    assert judged["figures"]["real_time"] > 0.5


@pytest.mark.parametrize(
    ("door", "topic"),
    [
        pytest.param("ros1", "/gazebo/model_states", marks=needs_ros),
        pytest.param("ros2", "/drone0/state/pose", marks=[needs_dds, pytest.mark.long]),
    ],
)
@pytest.mark.slow
def test_a_program_that_subscribes_to_the_truth_is_refused(flown, door, topic):
    judged = flown(door, "cheat", f"{__name__}:LongHop")
    assert (judged["status"], judged["points"]) == ("refused", 0.0), judged
    assert f"subscribes to {topic}: the rules forbid the true state" in judged["reason"]


@needs_ros
@pytest.mark.parametrize("what", ["flood", "crash"])
@pytest.mark.long
def test_nodes_that_fail_have_a_score_of_their_own(flown, what):
    judged = flown("ros1", what)
    assert judged["status"] == {"flood": "done", "crash": "failed"}[what], judged


@needs_ros
@pytest.mark.long
def test_a_launch_file_flies(tmp_path, flown):
    launch = tmp_path / "team.launch"
    node = '<node name="agent" pkg="xtdrone_formation" type="agent" required="true" args="square"/>'
    launch.write_text(f"<launch>{node}</launch>")
    (judged,) = run.flights(f"{__name__}:LongHop", f"ros1:{launch}", [7], tmp_path, 120.0)
    assert (judged["status"], judged["points"]) == ("done", 100.0), judged


@pytest.mark.slow
def test_a_flight_without_an_end_is_ended_with_its_program(flown):
    judged = flown("mavlink", "hang", f"{__name__}:LongHop", patience=4.0)
    assert (judged["status"], judged["reason"]) == ("hung", "no end after 4 s of wall time")


@pytest.mark.long
def test_a_program_ends_with_who_has_it_judged(flown, tmp_path):
    code = f"""
from pathlib import Path
from xtdrone_challenge import run
team = "mavlink:'{TEAM}' mavlink hang"
list(run.flights("{__name__}:LongHop", team, [7], Path({str(tmp_path)!r}), 100.0))
"""
    judging = subprocess.Popen([sys.executable, "-c", code])
    until(running, "the team runs", judging)
    judging.kill()
    judging.wait()
    until(lambda: not running(), "nothing is left")


def test_what_a_program_leaves_behind_is_ended(tmp_path):
    processes = Processes()
    started = processes.start(
        [sys.executable, TEAM, "mavlink", "leave"], {"XTDRONE_CHALLENGE": "{}"}, tmp_path / "log"
    )
    started.wait()
    left = [
        child for child in psutil.Process().children() if "time.sleep(1000)" in child.cmdline()[-1]
    ]
    assert len(left) == 1
    processes.close()
    assert not left[0].is_running()


def test_a_team_is_limited(tmp_path):
    processes, log = Processes(), tmp_path / "log"
    code = "import os, resource as r; print(os.nice(0), r.getrlimit(r.RLIMIT_FSIZE)[1])"
    processes.start([sys.executable, "-c", code], {}, log, limited=True).wait()
    processes.close()
    niceness, largest = map(int, log.read_text().split())
    assert niceness >= min(os.nice(0) + programs.NICENESS, 19)
    assert largest == programs.LARGEST_FILE


def test_words_of_a_team_are_split_and_read_by_no_shell(tmp_path):
    program = program_of(f"mavlink:{sys.executable} -c 'print(1)' ; touch $HOME > {tmp_path}")
    assert program.door == "mavlink"
    assert program.words[1:] == ("-c", "print(1)", ";", "touch", "$HOME", ">", str(tmp_path))
    script = tmp_path / "a team.py"
    script.touch()
    assert program_of(f"ros2:'{script}' fast").words == (sys.executable, str(script), "fast")
    assert program_of(f"ros2:'{script}'").files == (script,)
    assert program_of("module:Class") is None
    assert program_of("race") is None


@pytest.mark.parametrize(
    ("team", "line"),
    [
        ("mavlink:", "has no command"),
        ("mavlink:nobody.py", "there is no file 'nobody.py'"),
        ("ros1:'team.launch", "cannot be split"),
        ("ros1:nobody_here", "there is no program 'nobody_here' here"),
    ],
)
def test_a_program_that_is_not_there_is_refused_in_one_line(runs, capsys, team, line):
    assert main(["challenge", "run", "gate_race", "--team", team]) == 1
    told = capsys.readouterr().err
    assert line in told
    assert told.count("\n") == 1


def test_a_flight_flown_again_by_a_program_is_compared_in_words(tmp_path):
    flight = {"seed": 1, "points": 80.0, "status": "done"}
    team = f"mavlink:{TEAM} mavlink hop"
    claimed = result.compose("gate_race", team, [flight], None)
    flown = result.compose("gate_race", team, [{**flight, "points": 82.0}], None)
    different, words = result.again(claimed, flown)
    assert different == []
    assert "score 82.0, claimed 80.0" in words and "not verified bit for bit" in words
    assert result.again({**claimed, "source": ""}, flown)[0] == ["source"]


def test_a_control_socket_that_admits_no_more_keeps_its_connections():
    server = ControlServer(Ports().control)
    try:
        client = ControlClient()
        server.poll(lambda op, request: {}, 1.0)
        server.admit_no_more()
        with pytest.raises(Exception, match="no simulation answers"):
            ControlClient()
        client.ask("status")
        server.poll(lambda op, request: {"known": True}, 1.0)
        assert client.answer()["known"] is True
    finally:
        server.close()


@pytest.mark.parametrize("user", [None, pytest.param(65534, marks=needs_root)])
def test_a_network_of_its_own_is_its_loopback_alone(user):
    if not network.allowed():
        pytest.skip("this machine does not allow it")
    code = (
        f"import os, runpy, socket; runpy.run_path({network.__file__!r})['isolate']();"
        "print(os.readlink('/proc/self/ns/net'), os.getuid());"
        "a = socket.socket(); a.bind(('127.0.0.1', 0)); a.listen();"
        "socket.create_connection(a.getsockname()); print('connected')"
    )
    python = sys.executable if user is None else "/usr/bin/python3"
    done = subprocess.run([python, "-c", code], capture_output=True, text=True, user=user)
    name, found, connected = done.stdout.split()
    assert connected == "connected"
    assert name != network.name()
    assert int(found) == (os.getuid() if user is None else user)
