"""Missions flown by the embedded stack against those that real PX4 v1.15.4 flew on this simulator.

The references in tests/data/missions/px4 were recorded from a ground station: vehicle iris, seed
1, calm and in wind. PX4 in wind against PX4 in calm air is 0.12 m off the path and 0.9 m at equal
times (RMS), which is what its estimator leaves to chance.
"""

import json

import pytest

from mission_comparison import differences, figures, load
from mission_records import DATA, fly_offboard, fly_plan

MISSIONS = DATA / "missions"
PX4 = MISSIONS / "px4"
FLIGHTS = sorted(str(path.relative_to(PX4).with_suffix("")) for path in PX4.glob("*/*.npz")
                 if path.parent.name != "offboard")


def scenario(stem):
    """Options of a reference's flight."""
    about = json.loads(stem.with_suffix(".json").read_text())
    wind = {"wind": about["wind"]} if about["wind"] else {}
    return {"gps": "", "seed": about["seed"], **wind}


@pytest.mark.parametrize("name", FLIGHTS)
def test_a_mission_is_flown_as_by_px4(name, tmp_path):
    reference = load(PX4 / name)
    fly_plan((MISSIONS / name).parent.with_suffix(".plan"), tmp_path / "flown",
             **scenario(PX4 / name))
    flown = load(tmp_path / "flown")
    assert differences(reference, flown) == []
    off = figures(reference, flown)
    assert off["path"] <= 0.3 and off["path_max"] <= 1.5, off
    assert off["same_time"] <= 2.0, off
    assert abs(off["duration"]) <= 0.01, off


def test_offboard_velocities_are_flown_as_by_px4(tmp_path):
    stem = PX4 / "offboard" / "calm"
    reference = load(stem)
    set_points = json.loads(stem.with_suffix(".json").read_text())["set_points"][1:]
    fly_offboard(tmp_path / "offboard", set_points, **scenario(stem))
    flown = load(tmp_path / "offboard")
    assert differences(reference, flown) == []
    off = figures(reference, flown)
    assert off["path"] <= 0.6 and off["same_time"] <= 2.0 and abs(off["duration"]) <= 0.01, off
