"""Flights of real Betaflight; skipped where BETAFLIGHT_BUILD does not name one."""

import os
import signal
from threading import Timer

import psutil
import pytest

from own_ports import LATEST
from square import check_square
from xtdrone_core.command import main

pytestmark = [
    pytest.mark.px4,
    pytest.mark.skipif(
        not os.environ.get("BETAFLIGHT_BUILD"),
        reason="needs real Betaflight: set BETAFLIGHT_BUILD to its folder (see docs/betaflight.md)",
    ),
]


@pytest.mark.parametrize("vehicle", ["iris", "solo"])
def test_offboard_square(runs, vehicle):
    """Armed, taken up, flown round a square within 0.5 m of the truth, landed."""
    assert (
        main(["fly", "square", "--autopilot", "betaflight", "--vehicles", vehicle, "--gps", "rtk"])
        == 0
    )
    folder = (runs / LATEST).resolve()
    check_square(folder, 1, 0.5)
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
