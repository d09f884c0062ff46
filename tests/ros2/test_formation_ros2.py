"""The formation's nodes over ROS 2: a fleet that takes off, flies formations and lands."""

import json
import os
import subprocess
import sys

import pytest

pytest.importorskip("cyclonedds")

from own_ports import LATEST
from processes import SimulationProcess
from waiting import LIMIT_S
from xtdrone_core.runs.parent import tied
from xtdrone_core.runs.ports import Ports

DOMAIN = 95 + Ports().instance
TOOLS = sys.executable, "-m", "xtdrone_core.command", "ros2"

pytestmark = pytest.mark.slow


def start(*words, **options):
    return subprocess.Popen(
        [*TOOLS, *map(str, words), "--domain", str(DOMAIN)],
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        preexec_fn=tied(),
        env=dict(os.environ),
        **options,
    )


def ended(process):
    out, err = process.communicate(timeout=LIMIT_S)
    return process.returncode, out, err


@pytest.mark.long
def test_a_formation_flight(tmp_path):
    """Formation and director as two processes; the run's report has what was flown."""
    simulation = SimulationProcess(
        tmp_path,
        "--n",
        3,
        "--speed",
        4,
        "--gps",
        "rtk",
        "--log",
        "none",
        "--ros2",
        "true",
        "--ros2_mavros",
        "true",
        "--ros2_domain",
        DOMAIN,
    )
    formation = start("formation", "--transition_speed", 3)
    try:
        status, out, err = ended(start("director", "--formations", "V", "--hold", 1))
        assert status == 0, out + err
        assert "landed" in out and "run folder:" in out
        # Without the simulation, there is nobody to lead.
        status, told, err = ended(formation)
        assert status == 0 and not err, told + err
        assert [line.split()[1] for line in told.splitlines()] == ["V:", "waiting:"]
    finally:
        formation.kill()
        simulation.stop()
    summary = json.loads((tmp_path / LATEST / "summary.json").read_text())
    (row,) = summary["formations"]
    assert row["name"] == "V" and row["settle_time_s"] < 20.0 and row["rms_slot_error_m"] < 0.3
    assert summary["min_separation_m"] >= 1.0
    assert summary["messages_sent"] > 100 and summary["messages_lost"] == 0


@pytest.mark.long
@pytest.mark.parametrize(
    "words, line",
    [
        (
            ("formation", "--names", "iris_0,iris_1", "--wait", 0.2),
            "nobody publishes /iris_0/mavros/state in domain",
        ),
        (("director", "--wait", 0.2), "no simulation on this machine"),
        (("agent", "no_such", "--names", "iris_0", "--wait", 0.2), "nobody publishes"),
    ],
)
def test_what_is_refused_in_one_line(words, line):
    status, out, err = ended(start(*words))
    assert status == 1 and line in err and err.count("\n") == 1, out + err
