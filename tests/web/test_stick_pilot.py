"""A whole lap by the sticks of the page, which a program holds as a person would."""

import pytest

from stick_pilot import fly_laps
from xtdrone_core.runs import run_folder

pytestmark = pytest.mark.long


def test_a_lap_of_eight_by_the_sticks_of_the_page(context, tmp_path):
    summary = run_folder.read_summary(fly_laps(context, tmp_path, 1))
    assert summary["transport"] == "mavlink" and summary["collisions"] == 0
    (vehicle,) = summary["race"]["vehicles"]
    assert len(vehicle["laps"]) == 1 and len(vehicle["laps"][0]["splits"]) == 6
    assert vehicle["missed_gates"] == 0
    assert 13.0 < vehicle["laps"][0]["splits"][-1] < 60.0  # 39 m at no more than 3 m/s
