"""Bad input ends in one clear line, a non-zero status, and nothing left running."""

import contextlib
import json
import os
import re
import resource
import signal
import socket
import subprocess
import sys

import pytest

from own_ports import LATEST, PORTS
from waiting import LIMIT_S, until
from xtdrone_core import command
from xtdrone_core.command import main
from xtdrone_core.errors import CRASHED
from xtdrone_core.runs import run_folder
from xtdrone_core.runs.parent import tied
from xtdrone_sim.warm_up import ensure_warm

IRIS = "iris"


@pytest.fixture(scope="module", autouse=True)
def warm():
    """Kernels are compiled, which says a line of its own."""
    ensure_warm()


@pytest.mark.parametrize(
    "words, said",
    [
        (["--vehicle", "irish"], "unknown vehicle 'irish': choose one of"),
        (["--vehicle", "irish"], "did you mean 'iris'?"),
        (["--world", "moon"], "unknown world 'moon': choose one of calibration, corridor, empty"),
        (["--engine", "bullet"], "unknown engine 'bullet': choose one of embedded"),
        (["--autopilot", "inav"], "unknown autopilot 'inav': choose one of ardupilot"),
        (["--gps", "galileo"], "galileo"),
        (["--n", "0"], "n 0 is not allowed: give a whole number from 1 to 10000"),
        (["--n", "251"], "251 vehicles with MAVLink links are not allowed: give at most 250"),
        (["--speed", "-1"], "speed -1 is not allowed: give a number from 0"),
        (["--vehicles", "iris@0,0; iris@0.1,0"], "'iris_0' and 'iris_1' start 0.10 m apart"),
        (["--vehicles", "iris*x"], "cannot read vehicle 'iris*x'"),
        (["--vehicles", "iris@1"], "cannot read the pose in 'iris@1'"),
        (["--name", "../x"], "is not a folder name"),
        (["--name", "latest"], "name 'latest' is taken"),
        (["--seed", "1.5"], "seed 1.5 is not allowed: give a whole number from 0"),
        (["--instance", "5"], "instance 5 is not allowed: give a whole number from 0 to 4"),
        (["--instance", "x"], "instance x is not allowed: give a whole number from 0 to 4"),
        (["--gui", "maybe"], "gui 'maybe' is not allowed: give true or false"),
        (
            ["--log", "ful"],
            "unknown log 'ful': choose one of auto, fleet, full, identification, none; did you",
        ),
        (["--vehicle", "ground_plane"], "ground_plane"),
        (["--scenario", "nowhere.yaml"], "cannot read scenario 'nowhere.yaml'"),
        (["--vehicle", "/nowhere/model.sdf"], "no vehicle file '/nowhere/model.sdf'"),
    ],
)
def test_one_line_for_what_makes_no_sense(runs, capsys, words, said):
    assert main(["sim", "--duration", "0.1", *words]) == 1
    err = capsys.readouterr().err
    assert said in err and err.count("\n") == 1 and err.startswith("xtdrone: ")


@pytest.mark.parametrize(
    "words, said",
    [
        (["--duration", "nan"], "duration nan is not allowed: give a number from 0.004 to"),
        (["--duration", "-1"], "duration -1 is not allowed"),
        (["--duration", "soon"], "duration soon is not allowed"),
    ],
)
def test_one_line_for_an_option_that_makes_no_sense(runs, capsys, words, said):
    with pytest.raises(SystemExit) as end:
        main(["sim", *words])
    assert end.value.code == 2
    err = capsys.readouterr().err
    assert said in err and err.count("\n") == 1


@pytest.mark.parametrize(
    "yaml, said",
    [
        ("vehicles: [{type: iris, name: a}, {type: iris, name: a}]", "two vehicles are called 'a'"),
        ("vehicles: [{type: iris, name: '1a'}]", "is not a ROS name"),
        ("vehicels: iris", "did you mean 'vehicles'?"),
        ("vehicles: [{name: a}]", "has no type"),
        ("speed: fast", "speed fast is not allowed: give a number from 0"),
        ("seed: [1]", "seed [1] is not allowed"),
        ("world: 3", "world 3 is not allowed: give a string"),
        ("[", "is not YAML"),
        ("- 1", "a scenario is a mapping"),
    ],
)
def test_one_line_for_a_scenario_file_that_makes_no_sense(runs, capsys, yaml, said):
    (runs / "s.yaml").write_text(yaml)
    assert main(["sim", "--duration", "0.1", "--scenario", "s.yaml"]) == 1
    err = capsys.readouterr().err
    assert said in err and err.count("\n") == 1


def test_too_few_open_files_are_named(runs):
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "xtdrone",
            "sim",
            "--n",
            "50",
            "--no_run_folder",
            "--duration",
            "0.1",
        ],
        capture_output=True,
        text=True,
        timeout=LIMIT_S,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (20, 20)),
    )
    assert done.returncode == 1
    assert "too many open files: 20 are allowed here" in done.stderr
    assert "'ulimit -n 4096' allows more" in done.stderr and done.stderr.count("\n") == 1


def test_a_port_in_use_is_named(runs, capsys):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as taken:
        taken.bind(("127.0.0.1", PORTS.offboard_local(1)))
        assert main(["sim", "--n", "2", "--duration", "0.1"]) == 1
    said = capsys.readouterr().err
    assert f"port {PORTS.offboard_local(1)} (UDP, offboard link of vehicle 1) is in use" in said
    assert re.search(r"or give --instance \d \(instance:=\d\), which is free", said)


def test_a_second_simulation_is_refused(simulate, runs, capsys):
    simulate("--speed", "1")
    assert main(["sim", "--duration", "0.1"]) == 1
    assert "is in use: another simulation" in capsys.readouterr().err
    assert main(["control", "status", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["vehicles"] == ["iris_0"]


def test_ctrl_c_during_the_imports_is_silent():
    code = "import time, xtdrone.__main__; print('up', flush=True); time.sleep(600)"
    with subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout.readline() == "up\n"
        process.send_signal(signal.SIGINT)
        assert process.wait(LIMIT_S) == -signal.SIGINT
        assert process.stderr.read() == ""


def test_ctrl_c_that_a_module_turns_into_an_error_is_silent(monkeypatch, capsys):
    def ends():
        with contextlib.suppress(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
        raise ImportError("initialization failed")

    before = signal.getsignal(signal.SIGINT)
    monkeypatch.setattr(command, "main", ends)
    try:
        import xtdrone.__main__

        assert xtdrone.__main__.main() == 130
    finally:
        signal.signal(signal.SIGINT, before)
    assert capsys.readouterr().err == ""


def test_ctrl_c_before_the_first_step_leaves_no_run_folder(runs, monkeypatch, capsys):
    def interrupted(simulation, until_us=None):
        signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr("xtdrone_sim.simulation.Simulation.run", interrupted)
    assert main(["fly", "square"]) == 130
    assert capsys.readouterr().err.endswith("xtdrone: stopped by you\n")
    assert list(runs.iterdir()) == []


@pytest.mark.parametrize(
    "number",
    [
        signal.SIGINT,
        *(pytest.param(one, marks=pytest.mark.long) for one in (signal.SIGTERM, signal.SIGHUP)),
    ],
)
def test_a_signal_in_flight_ends_it_with_its_logs_readable(runs, number):
    from xtdrone_core.runs.truth_log import read_truth

    process = subprocess.Popen(
        [sys.executable, "-m", "xtdrone", "fly", "square", "--speed", "5"],
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        preexec_fn=tied(signal.SIGTERM),
        env={**os.environ, "XTDRONE_RUNS": str(runs)},
    )
    until(
        lambda: (
            (runs / LATEST / "truth.bin").exists() and (runs / LATEST / "truth.bin").stat().st_size
        ),
        "the flight has begun",
        process,
    )
    process.send_signal(number)
    out, err = process.communicate(timeout=LIMIT_S)
    assert process.returncode == 130
    assert "Traceback" not in err and "stopped by you" in out
    read_truth(runs / LATEST / "truth.bin", 1)
    assert (runs / LATEST / "summary.json").exists()


@pytest.mark.parametrize(
    "words",
    [
        ["fly", "square", "--set", "colour=red"],
        ["fly", "square", "--set", "height=-3"],
        ["fly", "square", "--wind", "gust=1"],
        ["sim", "--gps", "galileo"],
    ],
)
def test_an_error_before_the_flight_leaves_no_run_folder(runs, words):
    folder = run_folder.create("before")
    (folder / "truth.bin").write_bytes(b"flown")
    assert main(words) == 1
    assert sorted(path.name for path in runs.iterdir()) == ["before", LATEST]
    assert (runs / LATEST).resolve() == folder.resolve()


def test_a_killed_simulation_leaves_a_readable_log(simulate):
    from xtdrone_core.runs.truth_log import read_truth

    simulation = simulate("--speed", "5", "--name", "killed")
    simulation.wait_until(3_000_000)
    simulation.process.kill()
    simulation.process.wait()
    t_us, _ = read_truth(simulation.folder / "killed" / "truth.bin", 1)
    assert t_us[-1] >= 2_000_000


def test_a_flight_that_fails_tells_what_the_flight_stack_said(runs, capsys):
    """The Agent gives up after a crash, which is what the exit status tells."""
    assert main(["fly", "square", "--disturbances", "8: rotor iris_0 0 0"]) == CRASHED
    error = capsys.readouterr().err.splitlines()[-1]
    assert "vehicle 0 is not" in error and "last warning: iris_0 at " in error
    assert error.endswith(f"; run folder: {(runs / LATEST).resolve()}")


@pytest.mark.parametrize(
    "agent, said",
    [
        ("sqare", "did you mean 'square'?"),
        ("no_such_module:X", "cannot load agent"),
        ("json:nothing", "cannot load agent"),
    ],
)
def test_one_line_for_an_unknown_agent(runs, capsys, agent, said):
    assert main(["fly", agent]) == 1
    err = capsys.readouterr().err
    assert said in err and err.count("\n") == 1


@pytest.mark.parametrize(
    "words, said",
    [
        (["square", "--set", "side"], "write NAME=VALUE"),
        (
            ["square", "--set", "sid=3"],
            "agent 'square': unknown option 'sid': choose one of height, "
            "hold, side, time_out; did you mean 'side'?",
        ),
        (["square", "--set", "height=-3"], "height -3 is not allowed: give a number from 0.5 to"),
        (["square", "--set", "hold=long"], "hold long is not allowed: give a number"),
        (["formation", "--set", "topology=rings"], "unknown topology 'rings': choose one of chain"),
        (["formation", "--set", "scheme=consens"], "did you mean 'consensus'?"),
        (["formation_path"], "agent 'formation_path' needs --set waypoints=VALUE: of the leader"),
    ],
)
def test_one_line_for_a_wrong_argument_of_an_agent(runs, capsys, words, said):
    assert main(["fly", *words]) == 1
    err = capsys.readouterr().err
    assert said in err and err.count("\n") == 1 and not list(runs.iterdir())


@pytest.mark.parametrize(
    "words, name",
    [
        (["square", "--vehicle", "plane"], "plane_0"),
        (["square", "--vehicle", "rover"], "rover_0"),
        (["formation", "--vehicles", "iris, plane"], "plane_1"),
    ],
)
def test_one_line_for_a_vehicle_that_cannot_hover(runs, capsys, words, name):
    assert main(["fly", *words]) == 1
    err = capsys.readouterr().err
    assert f"{name} cannot hover, as all vehicles of agent '{words[0]}' must" in err
    assert "Traceback" not in err and err.count("xtdrone:") == 1


def test_one_line_for_vehicles_that_overlap_where_they_start(runs, capsys):
    assert main(["sim", "--vehicles", "boat*2", "--world", "lake", "--duration", "1"]) == 1
    err = capsys.readouterr().err
    assert "'boat_0' and 'boat_1' overlap where they start: give poses further apart" in err
    assert err.count("xtdrone:") == 1 and "Traceback" not in err
