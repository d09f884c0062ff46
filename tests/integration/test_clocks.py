"""A wall clock that jumps by an hour, back and forth: nothing is paced or timed out by it."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from own_ports import LATEST
from ros_fixtures import Processes, environment, free_port, needs_ros
from waiting import LIMIT_S, until
from xtdrone_core.runs.control_link import ControlClient
from xtdrone_core.runs.truth_log import read_truth

SOURCE = Path(__file__).parents[1] / "support" / "clock_jumps.c"


@pytest.fixture
def jumping(tmp_path):
    """Processes with such a clock; the machine's is left alone."""
    compiler = shutil.which("gcc")
    if compiler is None:
        pytest.skip("needs gcc")
    library = tmp_path / "clock_jumps.so"
    subprocess.run([compiler, "-shared", "-fPIC", "-O1", SOURCE, "-o", library, "-ldl"], check=True)
    processes = Processes({**environment(free_port(), tmp_path), "LD_PRELOAD": str(library)})
    yield processes
    processes.close()


def test_the_clock_jumps(jumping):
    """The other tests would otherwise show nothing."""
    code = (
        "import time; t = set()\n"
        "while len(t) < 2: t.add(round((time.time() - time.monotonic()) / 3600))\n"
        "print(max(t) - min(t))"
    )
    assert jumping.run(sys.executable, "-c", code).stdout == "2\n"


@pytest.mark.long  # no kernel counts as compiled: its source seems to come from the future
def test_a_paced_flight_keeps_its_speed(jumping, tmp_path):
    done = jumping.run("xtdrone", "sim", "--speed", 2, "--duration", 6)
    assert done.returncode == 0 and "Traceback" not in done.stderr, done.stderr
    summary = json.loads((tmp_path / "runs" / LATEST / "summary.json").read_text())
    assert summary["sim_time_s"] == 6.0 and 0.05 < summary["real_time_factor"] < 2.05
    assert read_truth(tmp_path / "runs" / LATEST / "truth.bin", 1)[0][-1] == 6_000_000


@needs_ros
@pytest.mark.long
def test_a_bridge_keeps_up(jumping, tmp_path):
    port = jumping.env["ROS_MASTER_URI"].rsplit(":", 1)[1]
    root = Path(os.environ.get("XTDRONE_ROOT") or SOURCE.parents[2])
    running = jumping.start(
        "roslaunch", "-p", port, root / "launch/single_vehicle.launch", "record:=true", "gps:=rtk"
    )
    jumping.await_vehicles(running)
    control = ControlClient(timeout=LIMIT_S)
    until(lambda: control.request("status")["t_us"] > 3_000_000, "it flies", running)
    control.close()
    said = jumping.stop(running)
    assert running.returncode == 0 and "Traceback" not in said, said
    assert (tmp_path / "runs" / LATEST / "bags/ros.bag").exists()
