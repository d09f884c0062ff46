"""Flights of real ArduCopters; skipped where ARDUPILOT_BUILD does not name one."""

import os
import subprocess
import sys

import psutil
import pytest

from own_ports import LATEST
from square import check_square
from waiting import LIMIT_S
from xtdrone_core.command import main

pytestmark = [
    pytest.mark.px4,
    pytest.mark.skipif(
        not os.environ.get("ARDUPILOT_BUILD"),
        reason="needs real ArduPilot: set ARDUPILOT_BUILD to its build, see docs/ardupilot.md",
    ),
]


@pytest.mark.parametrize(
    "vehicles", ["iris", "solo,typhoon_h480,octorotor", "crazyflie,heavy_lifter"]
)
def test_offboard_square(runs, vehicles):
    """Armed, taken up, flown round a square within 0.5 m of the truth, landed; logs are there."""
    n = vehicles.count(",") + 1
    assert main(["fly", "square", "--autopilot", "ardupilot", "--vehicles", vehicles]) == 0
    folder = (runs / LATEST).resolve()
    check_square(folder, n, 0.5)
    assert len(list((folder / "dataflash").rglob("*.BIN"))) == n


def test_it_ends_with_a_killed_simulation(runs):
    """No ArduCopter is left where the simulation is killed."""
    process = subprocess.Popen(
        [sys.executable, "-m", "xtdrone_core.command", "sim", "--autopilot", "ardupilot"],
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        for line in process.stdout:
            if "run folder" in line:
                break
        found = [
            child
            for child in psutil.Process(process.pid).children()
            if child.name() == "arducopter"
        ]
        assert len(found) == 1
    finally:
        process.kill()
        process.wait()
    assert psutil.wait_procs(found, timeout=LIMIT_S)[1] == []
