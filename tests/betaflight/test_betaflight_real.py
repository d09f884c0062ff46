"""Flights of real Betaflight; skipped where BETAFLIGHT_BUILD does not name one."""

import json
import os
import signal
from threading import Timer

import numpy as np
import psutil
import pytest

from own_ports import LATEST
from xtdrone_core.command import main
from xtdrone_core.runs.truth_log import read_truth

pytestmark = [pytest.mark.px4, pytest.mark.skipif(
    not os.environ.get("BETAFLIGHT_BUILD"),
    reason="needs real Betaflight: set BETAFLIGHT_BUILD to its folder (see docs/betaflight.md)")]
SIDE = np.array([(4, 0), (4, 4), (0, 4), (0, 0)], dtype=float)


@pytest.mark.parametrize("vehicle", ["iris", "solo"])
def test_offboard_square(runs, vehicle):
    """Armed, taken up, flown round a square within 0.5 m of the truth, landed."""
    assert main(["fly", "square", "--autopilot", "betaflight", "--vehicles", vehicle,
                 "--gps", "rtk"]) == 0
    folder = (runs / LATEST).resolve()
    t_us, table = read_truth(folder / "truth.bin", 1)
    events = [json.loads(line) for line in (folder / "events.jsonl").read_text().splitlines()]
    corners = [event for event in events if event["event"] == "corner"]
    assert len(corners) == 4
    for corner, place in zip(corners, SIDE):
        k = np.searchsorted(t_us, corner["t_us"])
        assert np.linalg.norm(table[k, 0, :2] - table[0, 0, :2] - place) <= 0.5
    summary = json.loads((folder / "summary.json").read_text())
    assert summary["landed"] and summary["collisions"] == 0
    assert "Initialized motor count 4" in (folder / f"console/{vehicle}_0.log").read_text()


def test_one_that_is_killed_in_flight_is_named(runs, capsys):
    def kill():
        for child in psutil.Process().children():
            if "betaflight" in child.name():
                child.send_signal(signal.SIGKILL)
    timer = Timer(25.0, kill)
    timer.start()
    assert main(["fly", "square", "--autopilot", "betaflight"]) == 1
    timer.join()
    assert "Betaflight of 'iris_0' was ended by SIGKILL" in capsys.readouterr().err
    assert not [child for child in psutil.Process().children() if "betaflight" in child.name()]
